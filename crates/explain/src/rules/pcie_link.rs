//! `pcie-link`: does a PCI Express link on a NIC's path run below what both its ends can do, or is
//! the slot less than the card?

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::host::{Nic, PciLink};
use narrows_facts::result::{Finding, Verdict, Weight};
use narrows_predict::pcie::{Joint, joints, raw_bps};

pub static RULE: Rule =
    Rule { name: "pcie-link", asks: "Does every PCIe link to a NIC run at its best?", judge };

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let (mut findings, mut missing, mut seen) = (Vec::new(), Vec::new(), 0);
    for nic in host.physical_nics().filter(|nic| !nic.path.is_empty()) {
        let joints = joints(nic);
        if joints.is_empty() {
            missing.push(format!("link state on the path to {}", nic.name));
        }
        seen += joints.len();
        findings.extend(joints.iter().filter_map(|joint| below(nic, joint)));
    }
    match (findings.is_empty(), seen) {
        (false, _) => Verdict::Found { findings },
        (true, 0) if missing.is_empty() => Verdict::Clear { because: "no NIC is on PCI".into() },
        (true, 0) => Verdict::Unknown { missing },
        _ => Verdict::Clear { because: format!("all {seen} links run at what their ends can do") },
    }
}

fn below(nic: &Nic, joint: &Joint<'_>) -> Option<Finding> {
    let now = joint.now;
    let upper = joint.upper.and_then(|upper| upper.link.value().copied());
    let (speed, width) = match upper {
        Some(upper) => {
            (now.speed_max_gts.min(upper.speed_max_gts), now.width_max.min(upper.width_max))
        }
        None => (now.speed_max_gts, now.width_max),
    };
    let rate = |speed, width| raw_bps(speed, width) / 1e9;
    let runs = format!("runs at {} GT/s x{}", now.speed_gts, now.width);
    let place = format!("The PCIe link to {} ({})", joint.lower.address, nic.name);
    if now.speed_gts < speed || now.width < width {
        return Some(Finding {
            rule: RULE.name.into(),
            weight: Weight::Fault,
            says: format!(
                "{place} {runs}, {:.0} Gb/s, though both ends can do {speed} GT/s x{width}, {:.0} Gb/s",
                rate(now.speed_gts, now.width),
                rate(speed, width)
            ),
            evidence: ends(joint),
            worth: None,
            remedy: "reseat the card, look for damaged contacts or a riser that is too slow, and \
                     check the slot's speed setting in the firmware"
                .into(),
        });
    }
    let best = rate(now.speed_max_gts, now.width_max);
    let slot = rate(speed, width);
    let port = nic.speed_bps.value().map(|speed| speed.gbps());
    // A narrower slot matters only when it is less than the port's own rate.
    (slot < best && port.is_some_and(|port| slot < port)).then(|| Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!(
            "{place} {runs}, {slot:.0} Gb/s, because of the slot; the card can do {best:.0} Gb/s and its \
             port {:.0} Gb/s",
            port.unwrap_or(0.0)
        ),
        evidence: ends(joint),
        worth: None,
        remedy: "move the card to a slot with more or faster lanes".into(),
    })
}

fn ends(joint: &Joint<'_>) -> Vec<narrows_facts::result::Evidence> {
    let says = |link: &PciLink| {
        format!(
            "now {} GT/s x{}, at most {} GT/s x{}",
            link.speed_gts, link.width, link.speed_max_gts, link.width_max
        )
    };
    let ends = joint.upper.into_iter().chain([joint.lower]);
    ends.filter_map(|hop| {
        let link = hop.link.value()?;
        Some(evidence(format!("{}: {}", hop.address, says(link)), hop.link.source().0.clone()))
    })
    .collect()
}
