//! `nic-shaped`: does a queueing discipline hold an interface back?
//!
//! A token bucket, a class of a shaper or an emulated delay limits what leaves, whatever the link
//! could do. Judged for NICs and for every interface that carried a measured flow.

use super::{evidence, other_traffic};
use crate::measured::Cell;
use crate::survey::{Survey, is_down, no_device};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Moment, Scope, keys};
use narrows_model::result::{Devices, Finding, Verdict, Weight};

/// Whether an interface is shaped.
pub static RULE: Rule = Rule {
    name: "nic-shaped",
    asks: "Does a queueing discipline hold an interface back?",
    of_host: true,
    judge,
};

/// Disciplines that limit or delay by themselves (tc(8)).
const SHAPERS: [&str; 7] = ["cbq", "cbs", "hfsc", "htb", "netem", "taprio", "tbf"];

/// Whether a discipline limits or delays by itself.
pub fn is_shaper(qdisc: &str) -> bool {
    SHAPERS.contains(&qdisc)
}

/// The shaper that a cell's data leaves by, where it is, the rate that came and what others have
/// of it: `htb on eth0 at the peer, 50 Mb/s of packets`.
pub fn of_sender(cell: &Cell<'_>) -> Option<String> {
    let end = cell.sender()?;
    let nic = end.nic()?;
    let qdisc = nic.qdisc.value().filter(|qdisc| is_shaper(qdisc))?;
    let rate = cell.rates().map_or(String::new(), |rates| {
        format!(", {:.0} Mb/s of packets", cell.in_packets(rates.middle) / 1e6)
    });
    let others = other_traffic::shares(cell).map_or(String::new(), |shares| {
        format!(
            ", which other traffic shares: {:.0} Mb/s of {:.0}",
            shares.others_bps / 1e6,
            shares.all_bps / 1e6
        )
    });
    Some(format!("{qdisc} on {} {}{rate}{others}", nic.name, end.at))
}

fn judge(case: &Case<'_>) -> Verdict {
    let used: Vec<&str> =
        case.summaries.iter().flat_map(|summary| summary.settings.interfaces()).collect();
    let mut survey = Survey::default();
    for nic in &case.study.host.nics {
        let meant = (nic.physical && !is_down(nic)) || used.contains(&nic.name.as_str());
        if !meant {
            continue;
        }
        let name = format!("queueing discipline of {}", nic.name);
        let Some(qdisc) = survey.need(name, &nic.qdisc) else { continue };
        if !is_shaper(qdisc) {
            let says = format!("qdisc {qdisc} on {}", nic.name);
            survey.fine(says, nic.qdisc.source().0.clone());
        } else if is_idle(case, &nic.name) && is_of_rate(qdisc) {
            let says = format!("{qdisc} on {} made few packets wait in any run", nic.name);
            survey.fine(says, "the discipline's overlimits, in all runs");
        } else {
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("What leaves {} passes {qdisc}, which limits or delays it", nic.name),
                evidence: vec![evidence(format!("qdisc {qdisc}"), nic.qdisc.source().0.clone())],
                worth: None,
                remedy: format!(
                    "tc qdisc del dev {0} root, if nobody needs it (see it with: tc -s qdisc show \
                     dev {0}), or raise its rate",
                    nic.name
                ),
            });
        }
    }
    survey.conclude(no_device(Devices::NicUp))
}

/// Disciplines that count each packet that has to wait for their rate; others delay without.
fn is_of_rate(qdisc: &str) -> bool {
    matches!(qdisc, "cbq" | "hfsc" | "htb" | "tbf")
}

/// A rate that holds a stream has packets waiting as windows close. Where none has, so many of them
/// may have waited in bursts.
const WAITS_SHARE: f64 = 0.1;

/// Whether an interface's queue held nothing as an end's window closed; unknown is no.
fn is_empty(end: &EndReport, name: &str) -> bool {
    let mut waiting = end.readings.each(keys::QDISC_WAITING, Moment::Closing);
    waiting.any(|(of, packets)| *of == Scope::Nic(name.to_owned()) && packets == 0)
}

/// Whether few of the packets of the measured flows, and of others with them, had to wait
/// for the rate of an interface by this name, at either end, in runs that used and counted it.
fn is_idle(case: &Case<'_>, name: &str) -> bool {
    let ends = case.study.records.iter().flat_map(|record| record.measured());
    let of = ends.filter(|end| end.effective.interface.as_deref() == Some(name));
    let counts = of.filter_map(|end| {
        let at = Scope::Nic(name.to_owned());
        let packets = end.readings.of(keys::TX_PACKETS, at.clone()).unwrap_or(0);
        let waits = end.readings.of(keys::QDISC_OVERLIMITS, at)?;
        Some((waits, packets, is_empty(end, name)))
    });
    let sums = counts.reduce(|all, one| (all.0 + one.0, all.1 + one.1, all.2 && one.2));
    sums.is_some_and(|(waits, packets, is_empty)| {
        waits == 0 || (is_empty && waits as f64 <= WAITS_SHARE * packets as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::host::{Host, Nic};

    #[test]
    fn a_token_bucket_is_found() {
        let host = |qdisc: &str, physical: bool| {
            let nic = Nic { physical, qdisc: known(qdisc.into()), ..Nic::default() };
            Host { nics: vec![nic], ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host("tbf", true))));
        assert!(is_clear(&of_host(&RULE, host("mq", true))));
        assert!(is_clear(&of_host(&RULE, host("fq_codel", true))));
        assert!(is_idle(&of_host(&RULE, host("tbf", false))));
    }

    #[test]
    fn a_bucket_that_made_no_packet_wait_is_none() {
        use crate::measured::testing::{of_study, read, stream};
        let of = |qdisc: &str, waits: u64, waiting: Option<u64>| {
            let mut study = stream("tcp-stream");
            let nic = Nic { name: "e0".into(), qdisc: known(qdisc.into()), ..Nic::default() };
            study.host = Host { nics: vec![nic], ..Host::default() };
            for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
                end.report.effective.interface = Some("e0".into());
            }
            read(&mut study, "qdisc", "e0.overlimits_events", waits);
            read(&mut study, "interface", "e0.tx_packets", 10_000);
            if let Some(waiting) = waiting {
                read(&mut study, "qdisc", "e0.waiting_packets", waiting);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of("tbf", 1001, Some(0))));
        assert!(is_clear(&of("tbf", 1000, Some(0))), "one packet in ten, and none at the end");
        assert!(is_found(&of("tbf", 1000, Some(9))), "its queue is full");
        assert!(is_found(&of("tbf", 9, None)), "nobody counted what waits");
        assert!(is_clear(&of("tbf", 0, None)));
        assert!(is_found(&of("netem", 0, None)), "a delay counts none");
    }
}
