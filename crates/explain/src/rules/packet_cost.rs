//! `packet-cost`: does the kernel work long on each packet?
//!
//! Filters with long lists of rules, bridges, tunnels and encryption are paid by the packet, in
//! software interrupts. Linux counts both: their time, and the packets that it took from devices.
//! Where handling one takes many times what it takes without them, that is the work, although no
//! CPU need be full of it: on one machine the sender itself pays for the packets that it sends.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "packet-cost",
    asks: "Does the kernel work long on each packet?",
    of_host: false,
    judge,
};

/// Nanoseconds of a packet that are ordinary. Streams between namespaces took 600 to 2,400, beside
/// 3,000 rules of a filter 19,000 to 30,000.
const PACKET_NS: f64 = 8000.0;
/// What each segment of a packet that was joined may add: a driver handled it before.
const SEGMENT_NS: f64 = 500.0;
/// The kernel counts by its ticks: less time than this share of a CPU is too coarse.
const SOFTIRQ_MIN: f64 = 0.1;
/// Where TCP always had something under way, the sender did not wait for its own work.
const ENGAGED_MAX: f64 = 0.8;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "a TCP stream whose ends read the time of each CPU", None, look)
}

/// What packets cost at one end.
struct Cost {
    /// Time in software interrupts, as a share of one CPU.
    softirq: f64,
    /// The same for each packet that the kernel took from a device, in nanoseconds.
    packet_ns: f64,
    /// Bytes of the flows for each of these packets.
    packet_bytes: f64,
}

impl Cost {
    /// Medians over the runs; `median` takes them of one of the ends.
    fn of(median: impl Fn(fn(&EndReport) -> Option<f64>) -> Option<f64>) -> Option<Self> {
        Some(Self {
            softirq: median(softirq)?,
            packet_ns: median(|end| Some(softirq_ns(end)? / packets(end)?))?,
            packet_bytes: median(|end| Some(bytes(end) / packets(end)?))?,
        })
    }
}

fn softirq(end: &EndReport) -> Option<f64> {
    (end.window_ns.0 > 0).then_some(softirq_ns(end)? / end.window_ns.0 as f64)
}

fn softirq_ns(end: &EndReport) -> Option<f64> {
    end.readings.total(keys::SOFTIRQ).map(|ns| ns as f64)
}

fn packets(end: &EndReport) -> Option<f64> {
    end.readings.total(keys::PROCESSED).map(|count| count as f64).filter(|count| *count > 0.0)
}

fn bytes(end: &EndReport) -> f64 {
    end.flows.iter().map(|flow| flow.bytes.0 as f64).sum()
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let sends = Cost::of(|value| cell.of_sender(value));
    let takes = Cost::of(|value| cell.of_receiver(value));
    let dearest = match (sends, takes) {
        (None, None) => return Err(cell.lacks("time in software interrupts, and packets")),
        (Some(sends), Some(takes)) if sends.packet_ns < takes.packet_ns => ("receiver", takes),
        (Some(sends), _) => ("sender", sends),
        (None, Some(takes)) => ("receiver", takes),
    };
    let (end, cost) = dearest;
    let segment = cell.segment_bytes().unwrap_or(1448.0).max(1.0);
    let ordinary_ns = PACKET_NS + SEGMENT_NS * cost.packet_bytes / segment;
    let seen = format!(
        "each packet took {:.1} us of software interrupts at the {end}, {:.0} % of a CPU in all",
        cost.packet_ns / 1e3,
        100.0 * cost.softirq
    );
    let is_held = cell.is_busy() || cell.engaged_share().is_some_and(|share| share < ENGAGED_MAX);
    let dear = cost.softirq >= SOFTIRQ_MIN && cost.packet_ns >= ordinary_ns && is_held;
    let wrong = dear.then(|| {
        let says = format!(
            "The kernel works {:.0} us on each packet at the {end}'s host in {}, where 1 to 3 are \
             ordinary: long lists of filter rules, bridges, tunnels or encryption on the way",
            cost.packet_ns / 1e3,
            cell.trial.label
        );
        let remedy = "see what is done for each packet: nft list ruleset and iptables -S (long \
                      lists of rules: sets and maps in their place, established connections \
                      first), bridges, tunnels, tc filters; perf top names it";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::study::StoredStudy;

    /// A stream of 10 Gb/s in packets of 20 kB, with so much time in software interrupts.
    fn study(softirq_ms: u64, busy_ms: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        read(&mut study, "cpu", "cpu0.softirq_ns", softirq_ms * 1_000_000);
        read(&mut study, "softnet", "processed_packets", 62_500);
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        read(&mut study, "tcp-info", "flow0.busy_ns", busy_ms * 1_000_000);
        study
    }

    #[test]
    fn packets_that_cost_much_are_found() {
        let found = of_study(&RULE, &study(1300, 300));
        let Verdict::Found { findings } = &found else { panic!("{found:?}") };
        assert!(findings[0].says.contains("works 21 us on each packet"), "{}", findings[0].says);
        assert!(is_clear(&of_study(&RULE, &study(120, 300))), "2 us a packet");
        assert!(is_clear(&of_study(&RULE, &study(1300, 1000))), "TCP never waited for its sender");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn few_ticks_are_too_coarse() {
        let mut study = study(60, 300);
        read(&mut study, "softnet", "processed_packets", 2000);
        assert!(is_clear(&of_study(&RULE, &study)));
    }
}
