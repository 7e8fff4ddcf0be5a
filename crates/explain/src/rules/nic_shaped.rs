//! `nic-shaped`: does a queueing discipline hold an interface back?
//!
//! A token bucket, a class of a shaper or an emulated delay limits what leaves, whatever the link
//! could do. Judged for NICs and for every interface that carried a measured flow.

use super::{evidence, other_traffic};
use crate::measured::Cell;
use crate::survey::{Survey, is_down, no_device};
use crate::{Case, Rule};
use narrows_model::host::Nic;
use narrows_model::load::EndReport;
use narrows_model::reading::{Moment, Scope, keys};
use narrows_model::result::{Devices, Finding, Verdict, Weight};
use std::fmt;

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
    let bucket = end.report.and_then(|report| SmallBucket::of(report, &nic.name));
    let bucket = bucket.map_or(String::new(), |bucket| format!(": {bucket}"));
    let others = other_traffic::shares(cell).map_or(String::new(), |shares| {
        format!(
            ", which other traffic shares: {:.0} Mb/s of {:.0}",
            shares.others_bps / 1e6,
            shares.all_bps / 1e6
        )
    });
    Some(format!("{qdisc} on {} {}{rate}{others}{bucket}", nic.name, end.at))
}

/// A token bucket that holds too little for its rate: tokens that come while it is full are lost,
/// so that each timer that fires late costs rate (tc-tbf(8), burst).
struct SmallBucket {
    bytes: u64,
    rate_bps: f64,
    sent_bps: f64,
}

/// A bucket that is filled in so long or longer is not called small (assumed): timers that fire
/// tens of microseconds late cost it little. With 2000 B at 1 Gb/s, 16 us, 0.4 of it left.
const FILLS_NS: f64 = 1e6;
/// What leaves by a bucket of a sound size is nearer to its rate.
const FILLED_SHARE: f64 = 0.9;

impl SmallBucket {
    /// The bucket of an interface that a run sent by, where less left by that than its rate is.
    fn of(end: &EndReport, name: &str) -> Option<Self> {
        let at = Scope::Nic(name.to_owned());
        let state = |gauge| {
            let mut all = end.readings.each(gauge, Moment::Closing);
            all.find_map(|(of, value)| (*of == at).then_some(value))
        };
        let (bytes, filled) = (state(keys::BUCKET)?, state(keys::BUCKET_FILLED)?);
        let waits = end.readings.of(keys::QDISC_OVERLIMITS, at.clone())?;
        let sent = end.readings.of(keys::TX_BYTES, at.clone())? as f64;
        let sent_bps = 8e9 * sent / end.window_ns.0.max(1) as f64;
        let rate_bps = 8.0 * filled as f64;
        let is_small = (bytes as f64) < filled as f64 * FILLS_NS / 1e9;
        (is_small && waits > 0 && sent_bps < FILLED_SHARE * rate_bps).then_some(Self {
            bytes,
            rate_bps,
            sent_bps,
        })
    }

    /// The one of which most left, in all runs that sent by an interface.
    fn of_all(case: &Case<'_>, name: &str) -> Option<Self> {
        let ends = case.study.records.iter().flat_map(|record| record.measured());
        let of = ends.filter(|end| end.effective.interface.as_deref() == Some(name));
        let all = of.filter_map(|end| Self::of(end, name));
        all.max_by(|a, b| a.sent_bps.total_cmp(&b.sent_bps))
    }
}

impl fmt::Display for SmallBucket {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, rate) = (self.bytes, self.rate_bps / 1e6);
        write!(to, "its bucket holds {bytes} B (burst), too few for its rate of {rate:.0} Mb/s")
    }
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
            survey.found(shaped(case, nic, qdisc));
        }
    }
    survey.conclude(no_device(Devices::NicUp))
}

fn shaped(case: &Case<'_>, nic: &Nic, qdisc: &str) -> Finding {
    let name = &nic.name;
    let bucket = SmallBucket::of_all(case, name);
    let small = bucket.as_ref().map_or(String::new(), |bucket| format!("; {bucket}"));
    let raise = bucket.map_or_else(
        || match is_of_classes(qdisc) {
            true => format!(
                "raise the rate and priority of the class that this traffic falls into (tc -s class \
                 show dev {name}; tc filter show dev {name})"
            ),
            false => "raise its rate".to_owned(),
        },
        |bucket| {
            let enough = bucket.rate_bps / 8.0 * FILLS_NS / 1e9;
            format!(
                "give it a larger bucket: a burst of {enough:.0} B is 1 ms of its rate (tc qdisc \
                 change dev {name} root tbf rate ... burst {enough:.0} latency ...)"
            )
        },
    );
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!("What leaves {name} passes {qdisc}, which limits or delays it{small}"),
        evidence: vec![evidence(format!("qdisc {qdisc}"), nic.qdisc.source().0.clone())],
        worth: None,
        remedy: format!(
            "tc qdisc del dev {name} root, if nobody needs it (see it with: tc -s qdisc show dev \
             {name}), or {raise}"
        ),
    }
}

/// Disciplines that share a rate among classes.
fn is_of_classes(qdisc: &str) -> bool {
    matches!(qdisc, "cbq" | "hfsc" | "htb")
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
    use narrows_model::host::Host;

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

    #[test]
    fn a_bucket_too_small_for_its_rate_is_told_with_what_would_do() {
        use crate::measured::testing::{of_study, read, stream};
        let of = |bucket: u64, sent_bytes: u64| {
            let mut study = stream("tcp-stream");
            let nic = Nic { name: "e0".into(), qdisc: known("tbf".into()), ..Nic::default() };
            study.host = Host { nics: vec![nic], ..Host::default() };
            for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
                end.report.effective.interface = Some("e0".into());
                end.report.window_ns = narrows_model::Nanos(1_000_000_000);
            }
            read(&mut study, "qdisc", "e0.overlimits_events", 9000);
            read(&mut study, "qdisc", "e0.bucket_bytes", bucket);
            read(&mut study, "qdisc", "e0.bucket_filled_a_second_bytes", 125_000_000);
            read(&mut study, "interface", "e0.tx_bytes", sent_bytes);
            read(&mut study, "interface", "e0.tx_packets", 10_000);
            format!("{:?}", of_study(&RULE, &study))
        };
        let small = of(2000, 53_000_000);
        assert!(small.contains("holds 2000 B (burst), too few for its rate of 1000 Mb/s"));
        assert!(small.contains("a burst of 125000 B is 1 ms of its rate"), "{small}");
        assert!(!of(200_000, 53_000_000).contains("burst"), "the bucket is large enough");
        assert!(!of(2000, 120_000_000).contains("burst"), "its rate is reached");
    }
}
