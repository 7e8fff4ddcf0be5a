//! `nic-offloads`: does the CPU do what a NIC could do?
//!
//! Without segmentation offload the kernel cuts every segment itself, without receive offload it
//! handles every one by itself, and without checksums it reads every byte once more. Judged for
//! NICs of 10 Gb/s or more; of other interfaces that carried a measured flow only what they send,
//! since a veth hands packets over whole and has no use for receive offload. What cannot be
//! changed, as in many virtual NICs, is nobody's to switch on.

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_facts::host::Nic;
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "nic-offloads",
    asks: "Does the CPU do what a NIC could do?",
    of_host: true,
    judge,
};

/// Features by the kernel's names, and ethtool's words for them.
const WANTED: [(&str, &str); 4] = [
    ("tx-tcp-segmentation", "tso"),
    ("tx-generic-segmentation", "gso"),
    ("rx-gro", "gro"),
    ("rx-checksum", "rx"),
];
/// Slower interfaces are no trouble to a CPU.
const SPEED_BPS: f64 = 10e9;

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    let used: Vec<&str> =
        case.summaries.iter().filter_map(|s| s.effective.interface.as_deref()).collect();
    let host = &case.study.host;
    let fast = survey.fast_nics(host, SPEED_BPS);
    let is_meant =
        |nic: &&Nic| used.contains(&nic.name.as_str()) || fast.iter().any(|f| f.name == nic.name);
    for nic in host.nics.iter().filter(is_meant) {
        let name = format!("offloads of {}", nic.name);
        let Some(features) = survey.need(name, &nic.offloads) else { continue };
        let off: Vec<&str> = WANTED
            .iter()
            .filter(|(name, _)| nic.physical || name.starts_with("tx-"))
            .filter(|(name, _)| features.get(*name) == Some(&false))
            .filter(|(name, _)| !nic.fixed_offloads.contains(*name))
            .map(|(_, word)| *word)
            .collect();
        if off.is_empty() {
            let says =
                format!("{}: none of tso, gso, gro and rx that could be on is off", nic.name);
            survey.fine(says, nic.offloads.source().0.clone());
        } else {
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("{} leaves work to the CPU: {} off", nic.name, off.join(", ")),
                evidence: vec![evidence(
                    format!("features of {}: {} off", nic.name, off.join(", ")),
                    nic.offloads.source().0.clone(),
                )],
                worth: None,
                remedy: format!("ethtool -K {} {} on", nic.name, off.join(" on ")),
            });
        }
    }
    survey.conclude(no_device("NIC of 10 Gb/s or more that is up"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_facts::BitsPerSecond;
    use narrows_facts::host::{Host, Nic};

    fn host(speed: f64, gro: bool) -> Host {
        let features = [("rx-gro".to_owned(), gro), ("tx-tcp-segmentation".to_owned(), true)];
        let nic = Nic {
            name: "eth0".into(),
            physical: true,
            speed_bps: known(BitsPerSecond(speed)),
            offloads: known(features.into()),
            ..Nic::default()
        };
        Host { nics: vec![nic], ..Host::default() }
    }

    #[test]
    fn a_fast_nic_without_them_is_found_and_others_are_not() {
        assert!(is_found(&of_host(&RULE, host(25e9, false))));
        assert!(is_clear(&of_host(&RULE, host(25e9, true))));
        assert!(is_idle(&of_host(&RULE, host(1e9, false))));
        assert!(is_idle(&of_host(&RULE, Host::default())));
        let mut fixed = host(25e9, false);
        fixed.nics[0].fixed_offloads.insert("rx-gro".into());
        assert!(is_clear(&of_host(&RULE, fixed)));
    }
}
