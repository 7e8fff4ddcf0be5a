//! `pcie-shared`: can the network ports behind one PCI Express link together carry more than it?
//!
//! Two ports of one card, cards behind one switch, and everything behind a chipset share a link.
//! Each port alone may reach its rate; together they cannot.

use super::evidence;
use crate::survey::{Survey, is_down, not_so};
use crate::{Case, Rule};
use narrows_model::result::{Finding, NotSo, Unclear, Verdict, Weight};
use narrows_predict::pcie_paths::{SharedLink, pcie_paths, shared};

/// Can the ports behind one link carry more than the link?
pub static RULE: Rule = Rule {
    name: "pcie-shared",
    asks: "Can the ports behind one PCIe link together carry more than it?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let paths = pcie_paths(host);
    let shared = shared(&paths);
    let mut survey = Survey::default();
    for nic in host.physical_nics().filter(|nic| !is_down(nic)) {
        if shared
            .iter()
            .any(|link| nic.path.last().is_some_and(|hop| link.devices.contains(&hop.address)))
        {
            survey.need(format!("speed of {}", nic.name), &nic.speed_bps);
        }
    }
    for link in shared.iter().filter(|link| link.ports_bps > 0.0) {
        match (over(link), link.payload_bps) {
            (Some(finding), _) => survey.found(finding),
            (None, None) => survey.lacks(Unclear::LinkPayload { link: link.says.clone() }.into()),
            (None, Some(left)) => {
                let says = format!(
                    "{}: ports of {:.0} Gb/s, {:.0} Gb/s of payload",
                    link.says,
                    link.ports_bps / 1e9,
                    left / 1e9
                );
                survey.fine(says, place(link));
            }
        }
    }
    survey.conclude(not_so(NotSo::NoSharedLink))
}

fn place(link: &SharedLink) -> &'static str {
    if link.lower.is_none() { "the chipset's data sheet" } else { "/sys/bus/pci/devices" }
}

fn over(link: &SharedLink) -> Option<Finding> {
    let left = link.payload_bps.filter(|left| link.ports_bps > *left)?;
    let uplink = link.lower.is_none();
    Some(Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!(
            "The ports on {} can carry {:.0} Gb/s together, the link {:.0} Gb/s of payload",
            link.says,
            link.ports_bps / 1e9,
            left / 1e9
        ),
        evidence: vec![evidence(format!("shared by {}", link.devices.join(", ")), place(link))],
        worth: None,
        remedy: if uplink {
            "move the card to a slot of the processor; the board's manual tells which"
        } else {
            "measure the ports together before you count on both, or spread them over two \
                      slots"
        }
        .into(),
    })
}
