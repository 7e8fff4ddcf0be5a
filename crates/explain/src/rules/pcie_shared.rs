//! `pcie-shared`: can the network ports behind one PCI Express link together carry more than it?
//!
//! Two ports of one card, cards behind one switch, and everything behind a chipset share a link.
//! Each port alone may reach its rate; together they cannot.

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};
use narrows_predict::roads::{SharedLink, roads, shared};

/// The rule.
pub static RULE: Rule = Rule {
    name: "pcie-shared",
    asks: "Can the ports behind one PCIe link together carry more than it?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let roads = roads(host);
    let shared = shared(&roads);
    let ported = shared.iter().filter(|link| link.ports_bps > 0.0);
    let (known, unknown): (Vec<&SharedLink>, Vec<&SharedLink>) =
        ported.partition(|link| link.payload_bps.is_some());
    let findings: Vec<Finding> = known.iter().filter_map(|link| over(link)).collect();
    match (findings.is_empty(), unknown.is_empty()) {
        (false, _) => Verdict::Found { findings },
        (true, false) => {
            let missing = unknown.iter().map(|link| format!("what {} carries", link.says));
            Verdict::Unknown { missing: missing.collect() }
        }
        (true, true) if known.is_empty() => {
            Verdict::Clear { because: "no link with a network port is shared".into() }
        }
        _ => Verdict::Clear {
            because: format!("each of {} shared links carries the ports behind it", known.len()),
        },
    }
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
        evidence: vec![evidence(
            format!("shared by {}", link.devices.join(", ")),
            if uplink { "the chipset's data sheet" } else { "/sys/bus/pci/devices" },
        )],
        worth: None,
        remedy: match uplink {
            true => "move the card to a slot of the processor; the board's manual tells which",
            false => {
                "measure the ports together before you count on both, or spread them over two \
                      slots"
            }
        }
        .into(),
    })
}
