//! `own-host-drops`: is what TCP sends dropped before it leaves the host?
//!
//! A filter on the way out (nftables, iptables, an agent's program at the socket) drops packets
//! after TCP has counted them and before the interface has. TCP is told at once and tries again, so
//! that nothing is retransmitted and no round trip grows: the stream is slow, and no counter of the
//! path says why. What TCP handed to IP is counted in bytes (`tcpi_bytes_sent`): segments are not
//! all full where a window is small.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Scope, keys};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;

pub static RULE: Rule = Rule {
    name: "own-host-drops",
    asks: "Is what TCP sends dropped before it leaves the host?",
    of_host: false,
    judge,
};

/// The interface may have carried so much less payload than TCP sent, in the median run: both are
/// counted at the edges of one window, a moment apart. On starved hosts single runs were 1.1 %
/// apart, either way; a filter drops in each.
const PASSED_MIN: f64 = 0.988;
/// A smaller part than this is told of several runs alone.
const FEW_SHARE: f64 = 0.05;
const RUNS_LEAST: usize = 3;
/// What may lie between the two counts at an edge of a window, in nanoseconds.
const EDGES_NS: f64 = 5e6;
/// The shortest headers of a packet as the interface counts it: Ethernet and TCP without options,
/// beside those of IP.
const OTHER_HEADERS_BYTES: u64 = 14 + 20;
/// Segments of a message whose headers are few.
const SEGMENTS_A_MESSAGE: f64 = 4.0;
/// An interface that carried less of what all did carries these packets no more.
const ELSEWHERE_SHARE: f64 = 0.1;
/// Of what did not leave a queue must have dropped so much by its own count to be what dropped it.
const BY_QUEUE_SHARE: f64 = 0.3;
/// Fewer packets are an accident.
const DROPPED_LEAST: f64 = 5.0;
/// Less payload says nothing.
const SENT_MIN_BYTES: f64 = 300e3;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::SendsLargeMessages);
    measured::judge(case, Needed::TcpToPeer, idle, look)
}

/// Whether it looked at a cell, and nothing is missing there.
pub fn is_clear(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Fine(_)))
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    let segment = cell.segment_bytes().unwrap_or(f64::MAX);
    // The headers of short ones would hide what is missing.
    let is_long = cell.trial.params.message_bytes.0 as f64 >= SEGMENTS_A_MESSAGE * segment;
    if !cell.is_tcp_stream() || cell.trial.path != NetworkPath::Peer || !is_long {
        return Err(Blind::OtherKind);
    }
    let sent = cell.of_sender(sent_bytes).ok_or_else(|| cell.lacks(Measure::TcpBytesSent))?;
    let passed = cell.of_sender(passed_bytes);
    let passed = passed.ok_or_else(|| cell.lacks(Measure::SenderInterfaceBytes))?;
    let seen = format!(
        "TCP sent {:.2} MB, and at most {:.2} MB of payload left by the interface",
        sent / 1e6,
        passed / 1e6
    );
    // Counts of two moments are less apart in one run than in another; a filter drops in each. A
    // whole congestion window may leave between the two.
    let flows = f64::from(cell.trial.params.streams.max(1));
    let window = cell.under_way().map_or(0.0, |segments| flows * segments * segment);
    let is_in_each = cell.done.iter().filter_map(|record| record.sender()).all(|end| {
        let sent = sent_bytes(end).unwrap_or(0.0);
        let edges = (sent * EDGES_NS / (end.window_ns.0 as f64).max(1.0)).max(window);
        passed_bytes(end).is_none_or(|passed| sent - passed > edges)
    });
    let left = cell.of_sender(passed_share).unwrap_or(1.0);
    let is_enough = cell.done.len() >= RUNS_LEAST || left < 1.0 - FEW_SHARE;
    let wrong = (is_in_each && is_enough && left < PASSED_MIN).then(|| {
        let (by, remedy) = place(cell, sent - passed);
        let says = format!(
            "The sender's own host drops {:.1} % of what TCP sends in {} before it leaves: {by}",
            100.0 * (1.0 - left),
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// What drops so many bytes, and what to do about it: the queueing discipline of the interface
/// where it counted as many packets, else a filter.
fn place(cell: &Cell<'_>, bytes: f64) -> (String, String) {
    if let Some((name, packets)) = dropped_by(cell, bytes, keys::QDISC_DROPPED) {
        let by = format!("the queue of {name} has no room, and dropped {packets:.0} packets a run");
        let remedy = format!(
            "at the sender: a longer queue under its rate (tc -s qdisc show dev {name}: limit, or \
             latency and burst of tbf), or take the discipline off (tc qdisc del dev {name} root)"
        );
        return (by, remedy);
    }
    if let Some((name, packets)) = dropped_by(cell, bytes, keys::TX_DROPPED) {
        let by = format!(
            "{name} itself dropped {packets:.0} packets a run, for want of room or since what is \
             behind it takes none of that size"
        );
        let remedy = format!(
            "at the sender: room for more packets in {name} (ip -s link; ethtool -G {name} tx N; of \
             a TUN device ip link set {name} txqueuelen 1000), and of a veth pair one MTU at both ends"
        );
        return (by, remedy);
    }
    let remedy = "at the sender: nft list ruleset and iptables -S OUTPUT (limits, quotas, drops), \
                  bpftool cgroup tree (programs at sockets); take the limit off, or shape with a \
                  queue (tc) in its place";
    ("a filter on the way out".to_owned(), remedy.to_owned())
}

/// The interface of the sender that dropped most of so many bytes, by its own count or its queue's,
/// and how many packets. A super-packet that it drops counts once.
fn dropped_by(cell: &Cell<'_>, bytes: f64, counter: Counter) -> Option<(String, f64)> {
    let name = cell
        .done
        .iter()
        .filter_map(|record| record.sender())
        .find_map(|end| end.effective.interface.clone())?;
    let at = Scope::Nic(name.clone());
    let packets =
        cell.of_sender(|end| end.readings.of(counter, at.clone()).map(|packets| packets as f64))?;
    let each = cell.packet_bytes().or(cell.segment_bytes())?;
    (packets >= DROPPED_LEAST && packets * each >= BY_QUEUE_SHARE * bytes)
        .then_some((name, packets))
}

/// The part of a run's payload that left its host.
fn passed_share(end: &EndReport) -> Option<f64> {
    Some(passed_bytes(end)? / sent_bytes(end)?)
}

/// Payload that TCP handed to IP, what it sent again included.
fn sent_bytes(end: &EndReport) -> Option<f64> {
    let bytes = end.readings.total(keys::TCP_SENT)? as f64;
    (bytes >= SENT_MIN_BYTES).then_some(bytes)
}

/// Payload that left by the interface of the sender's address, at the most: each packet that it
/// counted had headers. Where next to nothing did, a route leads over another one: then what left
/// by all of them.
fn passed_bytes(end: &EndReport) -> Option<f64> {
    let headers = OTHER_HEADERS_BYTES + end.effective.ip.map_or(20, |ip| ip.header_bytes());
    let payload = |name: Option<&str>| {
        let of = |counter| match name {
            Some(name) => end.readings.of(counter, Scope::Nic(name.to_owned())),
            None => end.readings.total(counter),
        };
        let packets = of(keys::TX_PACKETS).unwrap_or(0);
        Some(of(keys::TX_BYTES)?.saturating_sub(packets.saturating_mul(headers)) as f64)
    };
    let own = payload(Some(end.effective.interface.as_deref()?))?;
    let all = payload(None)?;
    let inside = payload(Some("lo")).unwrap_or(0.0);
    let is_elsewhere = own < ELSEWHERE_SHARE * (all - inside);
    Some(if is_elsewhere { all - inside } else { own })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::Bytes;
    use narrows_model::load::Role;

    #[test]
    fn what_tcp_sent_and_no_interface_carried_is_found() {
        let of = |passed: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for end in record.of_mut(Role::Sender) {
                    end.effective.interface = Some("e0".into());
                }
            }
            read(&mut study, "tcp-info", "flow0.sent_bytes", 14_480_000);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            // Ten thousand packets, each with 54 B of headers at the least.
            read(&mut study, "interface", "e0.tx_packets", 10_000);
            read(&mut study, "interface", "e0.tx_bytes", passed + 540_000);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(1_600_000)));
        assert!(is_found(&of(13_000_000)), "a tenth, of 14.48 MB");
        assert!(is_found(&of(14_190_000)), "two in a hundred");
        assert!(is_clear(&of(14_560_000)));
        assert!(is_clear(&of(14_330_000)), "counted a moment apart");
        // One run, or windows of a tenth of a second, whose edges are as far apart.
        let brief = |runs: usize, window_ns: u64, congestion: u64| {
            let mut study = stream("tcp-stream");
            study.records.truncate(runs);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                end.effective.interface = Some("e0".into());
                end.window_ns = narrows_model::Nanos(window_ns);
            }
            read(&mut study, "tcp-info", "flow0.sent_bytes", 14_480_000);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            read(&mut study, "interface", "e0.tx_bytes", 14_190_000);
            read(&mut study, "tcp-info", "flow0.congestion_window_segments", congestion);
            of_study(&RULE, &study)
        };
        assert!(is_found(&brief(3, 1_000_000_000, 200)));
        assert!(is_clear(&brief(1, 1_000_000_000, 200)), "one run");
        assert!(is_clear(&brief(3, 100_000_000, 200)), "the edges are a twentieth");
        assert!(is_clear(&brief(3, 1_000_000_000, 201)), "a congestion window of 291 kB");
        // A route leads over another interface.
        let mut other = stream("tcp-stream");
        for end in other.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.effective.interface = Some("e0".into());
        }
        for (key, value) in [("e0.tx_bytes", 500), ("e1.tx_bytes", 15_100_000)] {
            read(&mut other, "interface", key, value);
        }
        read(&mut other, "tcp-info", "flow0.sent_bytes", 14_480_000);
        read(&mut other, "tcp-info", "flow0.send_mss_bytes", 1448);
        assert!(is_clear(&of_study(&RULE, &other)));
        let mut lacks = stream("tcp-stream");
        read(&mut lacks, "tcp-info", "flow0.send_mss_bytes", 1448);
        assert!(is_unknown(&of_study(&RULE, &lacks)));
        lacks.trials[0].params.message_bytes = Bytes(100);
        assert!(is_idle(&of_study(&RULE, &lacks)), "segments of 100 B");
    }

    #[test]
    fn what_the_interfaces_own_queue_counted_is_no_filters() {
        // 1.29 MB sent and 1.24 MB left: 35 packets of 1500 B are missing.
        let by = |counted: &str, key: &str, dropped: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                end.effective.interface = Some("e0".into());
            }
            for (source, key, value) in [
                ("tcp-info", "flow0.sent_bytes", 1_290_000),
                ("tcp-info", "flow0.send_mss_bytes", 1448),
                ("interface", "e0.tx_packets", 830),
                ("interface", "e0.tx_bytes", 1_283_000),
                (counted, key, dropped),
            ] {
                read(&mut study, source, key, value);
            }
            format!("{:?}", of_study(&RULE, &study))
        };
        let of = |dropped| by("qdisc", "e0.dropped_packets", dropped);
        let ring = by("interface", "e0.tx_dropped_packets", 25);
        assert!(ring.contains("e0 itself dropped 25 packets a run"), "{ring}");
        assert!(ring.contains("txqueuelen") && !ring.contains("nft"), "{ring}");
        let queue = of(25);
        assert!(queue.contains("the queue of e0 has no room, and dropped 25 packets"), "{queue}");
        assert!(queue.contains("tc -s qdisc show dev e0") && !queue.contains("nft"), "{queue}");
        for few in [0, 4, 9] {
            let filter = of(few);
            assert!(filter.contains("a filter on the way out"), "{few}: {filter}");
        }
    }
}
