//! `pcie-link`: does a PCI Express link on a NIC's path run below what both its ends can do, or is
//! the slot less than the card?

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::host::{Host, Nic, PciLink};
use narrows_model::result::{Devices, Finding, Unclear, Verdict, Weight};
use narrows_predict::pcie::{Joint, Limit, joints, raw_bps};

pub static RULE: Rule = Rule {
    name: "pcie-link",
    asks: "Does every PCIe link to a NIC run at its best?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let mut survey = Survey::default();
    for nic in host.physical_nics().filter(|nic| !nic.path.is_empty()) {
        let joints = joints(nic);
        if joints.is_empty() {
            survey.lacks(Unclear::PathLinks { nic: nic.name.clone() }.into());
        }
        for joint in &joints {
            match (below(host, nic, joint), joint.best()) {
                (Some(finding), _) => survey.found(finding),
                (None, Some(_)) => {
                    ends(joint).into_iter().for_each(|e| survey.fine(e.says, e.from))
                }
                (None, None) => {
                    let address = joint.lower.address.clone();
                    survey.lacks(Unclear::LinkLimit { address }.into());
                }
            }
        }
    }
    survey.conclude(no_device(Devices::NicOnPci))
}

fn below(host: &Host, nic: &Nic, joint: &Joint<'_>) -> Option<Finding> {
    let (speed, width) = joint.best()?;
    let rate = |speed, width| raw_bps(speed, width) / 1e9;
    let place = format!("The PCIe link to {} ({})", joint.lower.address, nic.name);
    let runs = joint.says();
    let (weight, says, remedy) = match joint.limit()? {
        Limit::Training => (
            Weight::Fault,
            format!(
                "{place} runs at {runs}, {:.0} Gb/s, though both ends can do {speed} GT/s x{width}, \
                 {:.0} Gb/s",
                joint.raw_bps / 1e9,
                rate(speed, width)
            ),
            format!(
                "reseat the card{}, look for damaged contacts or a riser that is too slow, and check \
                 the slot's speed setting in the firmware",
                host.slot_of(&nic.path).map_or(String::new(), |slot| format!(" in {}", slot.name))
            ),
        ),
        // A narrower slot matters only when it is less than the port's own rate.
        Limit::Slot => {
            let port = nic.speed_bps.value().filter(|port| joint.raw_bps < port.0)?;
            let now = joint.now?;
            (
                Weight::Advice,
                format!(
                    "{place} runs at {runs}, {:.0} Gb/s, because of the slot; the card can do {:.0} \
                     Gb/s and its port {:.0} Gb/s",
                    joint.raw_bps / 1e9,
                    rate(now.speed_max_gts, now.width_max),
                    port.gbps()
                ),
                format!(
                    "move the card to a slot with more or faster lanes{}",
                    free(host, now.width)
                ),
            )
        }
        Limit::Device | Limit::Neither => return None,
    };
    Some(Finding {
        rule: RULE.name.into(),
        weight,
        says,
        evidence: ends(joint),
        worth: None,
        remedy,
    })
}

/// Free slots with more lanes than this, by the board's names.
fn free(host: &Host, lanes: u32) -> String {
    let slots = host.expansion_slots.value().map(Vec::as_slice).unwrap_or_default();
    let wide = slots.iter().filter(|slot| slot.in_use == Some(false));
    let wide = wide.filter_map(|slot| Some((slot, slot.lanes.filter(|have| *have > lanes)?)));
    let names: Vec<String> = wide.map(|(slot, have)| format!("{} (x{have})", slot.name)).collect();
    if names.is_empty() { String::new() } else { format!("; free are {}", names.join(", ")) }
}

fn ends(joint: &Joint<'_>) -> Vec<narrows_model::result::Evidence> {
    let ends = joint.upper.into_iter().chain([joint.lower]);
    ends.filter_map(|hop| {
        let link = hop.link.value()?;
        Some(evidence(format!("{}: {}", hop.address, says(link)), hop.link.source().0.clone()))
    })
    .collect()
}

fn says(link: &PciLink) -> String {
    format!(
        "now {} GT/s x{}, at most {} GT/s x{}",
        link.speed_gts, link.width, link.speed_max_gts, link.width_max
    )
}
