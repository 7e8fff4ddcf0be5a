//! `nic-offloads`: does the CPU do what a NIC could do?
//!
//! Without segmentation offload the kernel cuts every segment itself, without receive offload it
//! handles every one by itself, and without checksums it reads every byte once more. Judged for
//! NICs of 10 Gb/s or more; of other interfaces that carried a measured flow only what they send,
//! since a veth hands packets over whole and has no use for receive offload. What cannot be
//! changed, as in many virtual NICs, is nobody's to switch on; nor is what waits for a feature that
//! cannot be changed, which `ethtool -k` shows as `off [requested on]`: the kernel cuts no segments
//! late for a device that takes no packet in pieces or computes no checksum
//! (`netdev_fix_features`).

use super::evidence;
use crate::measured::Cell;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::host::Nic;
use narrows_model::result::{Devices, Finding, Verdict, Weight};
use std::collections::BTreeMap;

pub static RULE: Rule = Rule {
    name: "nic-offloads",
    asks: "Does the CPU do work that a NIC could take over?",
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
/// What the kernel wants before it hands over packets to be cut: any one of each row.
const CUT_NEEDS: [&[(&str, &str)]; 2] = [
    &[("tx-scatter-gather", "sg")],
    &[("tx-checksum-ipv4", "tx"), ("tx-checksum-ip-generic", "tx")],
];
/// Slower interfaces are no trouble to a CPU.
const SPEED_BPS: f64 = 10e9;

/// What has to be switched on to have a feature that is off, the feature last; `None` where that
/// cannot be had.
fn to_have(
    nic: &Nic,
    features: &BTreeMap<String, bool>,
    (name, word): (&'static str, &'static str),
) -> Option<Vec<&'static str>> {
    let is_fixed = |name: &str| nic.fixed_offloads.contains(name);
    if is_fixed(name) {
        return None;
    }
    let mut words = Vec::new();
    for needed in CUT_NEEDS.iter().filter(|_| name.starts_with("tx-")) {
        let told =
            || needed.iter().filter_map(|(name, word)| Some((*features.get(*name)?, name, word)));
        // Of a feature that was not read nothing is known: it is not in the way.
        if told().next().is_none() || told().any(|(on, ..)| on) {
            continue;
        }
        words.push(*told().find(|(_, name, _)| !is_fixed(name))?.2);
    }
    words.push(word);
    Some(words)
}

/// Whether the kernel computes every checksum of what leaves, and need not: what is cut into
/// segments needs checksums too, so that segmentation goes with them.
fn sums_are_off(nic: &Nic, features: &BTreeMap<String, bool>) -> bool {
    let told = || CUT_NEEDS[1].iter().filter(|(name, _)| features.contains_key(*name));
    let is_on = told().any(|(name, _)| features.get(*name) == Some(&true));
    !is_on && told().any(|(name, _)| !nic.fixed_offloads.contains(*name))
}

/// Features of one end that are off and could be on; `None` where they were not read.
fn off(nic: &Nic, prefix: &str) -> Option<bool> {
    let features = nic.offloads.value()?;
    let wanted = WANTED.into_iter().filter(|(name, _)| name.starts_with(prefix));
    let mut missing = wanted.filter(|(name, _)| features.get(*name) == Some(&false));
    let sums = prefix == SENDS && sums_are_off(nic, features);
    Some(sums || missing.any(|wanted| to_have(nic, features, wanted).is_some()))
}

const SENDS: &str = "tx-";
const TAKES: &str = "rx-";

/// Whether what is off is work of a cell: segments are cut where they are sent, and joined where
/// they come in. What was not read may be.
pub fn is_of_cell(cell: &Cell<'_>) -> bool {
    let sends = cell.sender().and_then(|end| off(end.nic()?, SENDS));
    let takes = cell.receiver().and_then(|end| off(end.nic()?, TAKES));
    sends.unwrap_or(true) || takes.unwrap_or(true)
}

/// What the threads of an end take of a CPU where nothing would be faster for less work.
const IDLE_SHARE: f64 = 0.3;

/// Whether every run left its ends' CPUs idle: an interface of software has no other use than the
/// one that was measured.
fn costs_nothing(case: &Case<'_>) -> bool {
    let shares = case.summaries.iter().filter_map(|summary| summary.cpu.as_ref());
    let mut most = shares.map(|cpu| {
        [cpu.sender_share, cpu.receiver_share].into_iter().flatten().fold(0.0, f64::max)
    });
    let first = most.next();
    first.is_some_and(|share| share < IDLE_SHARE) && most.all(|share| share < IDLE_SHARE)
}

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    let used: Vec<&str> =
        case.summaries.iter().flat_map(|summary| summary.settings.interfaces()).collect();
    let host = &case.study.host;
    let fast = survey.fast_nics(host, SPEED_BPS);
    for nic in host
        .nics
        .iter()
        .filter(|nic| used.contains(&nic.name.as_str()) || fast.iter().any(|f| f.name == nic.name))
    {
        let name = format!("offloads of {}", nic.name);
        let Some(features) = survey.need(name, &nic.offloads) else { continue };
        let missing: Vec<(&str, Vec<&str>)> = WANTED
            .into_iter()
            .filter(|(name, _)| nic.physical || name.starts_with("tx-"))
            .filter(|(name, _)| features.get(*name) == Some(&false))
            .filter_map(|wanted| Some((wanted.1, to_have(nic, features, wanted)?)))
            .collect();
        let mut missing = missing;
        if sums_are_off(nic, features) {
            missing.insert(0, ("checksums (tx)", vec!["tx"]));
        }
        let off: Vec<&str> = missing.iter().map(|(word, _)| *word).collect();
        let mut switches: Vec<&str> = Vec::new();
        for word in missing.iter().flat_map(|(_, words)| words) {
            if !switches.contains(word) {
                switches.push(word);
            }
        }
        if off.is_empty() {
            let says =
                format!("{}: none of tso, gso, gro and rx that could be on is off", nic.name);
            survey.fine(says, nic.offloads.source().0.clone());
        } else if !nic.physical && costs_nothing(case) {
            let off = off.join(", ");
            let says = format!("{}: {off} off, and no run took much of a CPU", nic.name);
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
                remedy: format!("ethtool -K {} {} on", nic.name, switches.join(" on ")),
            });
        }
    }
    survey.conclude(no_device(Devices::FastNic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Host, Nic};

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
    fn what_is_off_is_of_the_end_whose_work_it_is_and_costs_an_idle_cpu_nothing() {
        use crate::measured::{cells, testing::stream};
        let of = |features: &[(&str, bool)], busy_ms: u64| {
            let mut study = stream("tcp-stream");
            let offloads = features.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
            let nic = Nic { name: "t0".into(), offloads: known(offloads), ..Nic::default() };
            study.host.nics = vec![nic];
            study.peer_hosts = vec![study.host.clone()];
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.effective.interface = Some("t0".into());
                end.report.threads[0].user_ns = narrows_model::Nanos(0);
                end.report.threads[0].system_ns = narrows_model::Nanos(busy_ms * 1_000_000);
            }
            let summaries = narrows_stats::summarise(&study);
            let case = Case { study: &study, summaries: &summaries, predictions: &[] };
            let is_of_cell = cells(&case).next().is_some_and(|cell| is_of_cell(&cell));
            (judge(&case), is_of_cell)
        };
        let (busy, is_of_cell) = of(&[("tx-tcp-segmentation", false)], 900);
        assert!(is_found(&busy) && is_of_cell, "{busy:?}");
        let (idle, _) = of(&[("tx-tcp-segmentation", false)], 20);
        assert!(is_clear(&idle), "{idle:?}");
        assert!(!of(&[("tx-tcp-segmentation", true), ("rx-gro", true)], 900).1);
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

    #[test]
    fn what_waits_for_another_feature_is_had_by_that_feature_or_not_at_all() {
        let with = |features: &[(&str, bool)], fixed: &[&str]| {
            let mut host = host(25e9, true);
            let features = features.iter().map(|(name, on)| ((*name).to_owned(), *on));
            host.nics[0].offloads = known(features.collect());
            host.nics[0].fixed_offloads = fixed.iter().map(|name| (*name).to_owned()).collect();
            of_host(&RULE, host)
        };
        let gso = ("tx-generic-segmentation", false);
        let pieces = ("tx-scatter-gather", false);
        let remedy = |verdict: &Verdict| match verdict {
            Verdict::Found { findings } => findings[0].remedy.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(remedy(&with(&[gso], &[])), "ethtool -K eth0 gso on");
        assert_eq!(remedy(&with(&[gso, pieces], &[])), "ethtool -K eth0 sg on gso on");
        assert!(is_clear(&with(&[gso, pieces], &["tx-scatter-gather"])));
        let sums = [gso, ("tx-scatter-gather", true), ("tx-checksum-ipv4", false)];
        assert!(is_clear(&with(&sums, &["tx-checksum-ipv4"])));
        // Checksums that could be computed by the NIC are named before what needs them.
        let sums = with(&sums, &[]);
        assert_eq!(remedy(&sums), "ethtool -K eth0 tx on gso on");
        assert!(format!("{sums:?}").contains("checksums (tx), gso off"), "{sums:?}");
        let generic = [gso, ("tx-checksum-ipv4", false), ("tx-checksum-ip-generic", true)];
        assert_eq!(remedy(&with(&generic, &["tx-checksum-ipv4"])), "ethtool -K eth0 gso on");
    }
}
