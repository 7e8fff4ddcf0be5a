//! `receiver-host-drops`: does the receiver's own host drop what its interface took?
//!
//! A filter on the way in (nftables, iptables, connection tracking, rp_filter, a program at the
//! interface) drops packets after the interface has counted them and before TCP has. To the sender
//! that is loss of the path. At the receiver two counts of one moment tell: the payload that its
//! interface took, and the segments that its TCP was given. What is missing is found only where it
//! is about as much as the sender had to send again, so that other traffic by that interface is not
//! taken for it.

use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Moment, Scope, keys};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;
use narrows_stats::way_in;

pub static RULE: Rule = Rule {
    name: "receiver-host-drops",
    asks: "Does the receiver's own host drop what its interface took?",
    of_host: false,
    judge,
};

/// Ethernet, IP and TCP with timestamps: of IPv4, and what IPv6 has more.
const HEADERS_BYTES: f64 = 66.0;
const HEADERS_V6_BYTES: f64 = 20.0;
/// Share of what TCP was given; headers that are not as assumed are less.
const DROPPED_SHARE: f64 = 0.003;
/// Segments in all runs: fewer are an accident.
const DROPPED_MIN: f64 = 8.0;
/// What was dropped beside what was sent again: between these it is the same.
const OF_RESENT: std::ops::Range<f64> = 0.5..1.6;
/// Of what a run sent again so much at the least is missing in that run.
const OF_EACH: f64 = 0.3;
/// Of fewer runs all may be so by chance.
const RUNS_MIN: usize = 3;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::LosesSegmentsToPeer);
    measured::judge(case, Needed::ReceiverInterface, idle, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    let of_one_way = cell.is_tcp_stream() && !cell.trial.params.is_bidirectional();
    if !of_one_way || cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    let size = cell.segment_bytes().ok_or_else(|| cell.lacks(Measure::SegmentSize))?;
    let runs = cell.done.iter().filter_map(|record| {
        let (sender, receiver) = (record.sender()?, record.receiver()?);
        let again = sender.readings.total(keys::RETRANSMITTED)? as f64;
        let had = sender.readings.total(keys::DUPLICATES).unwrap_or(0) as f64;
        let checksum = receiver.readings.total(keys::TCP_CHECKSUM).unwrap_or(0) as f64;
        let (took, given) = payload(receiver, size)?;
        Some([took / size, given, (again - had).max(0.0), checksum])
    });
    let runs: Vec<[f64; 4]> = runs.collect();
    let all = runs.iter().copied().reduce(|a, b| std::array::from_fn(|at| a[at] + b[at]));
    let [took, given, again, checksum] =
        all.ok_or_else(|| cell.lacks(Measure::ReceiverInterfaceBytes))?;
    let dropped = (took - given - checksum).max(0.0);
    let seen = format!(
        "the receiver's interface took the payload of {took:.0} segments, its TCP {given:.0}; \
         {again:.0} were sent again"
    );
    let is_much = dropped >= DROPPED_MIN && dropped >= DROPPED_SHARE * given;
    // The two counts are read some milliseconds apart, in one run more than in another.
    let is_in_each = |run: &[f64; 4]| run[0] - run[1] - run[3] >= OF_EACH * run[2];
    let is_much = is_much && runs.len() >= RUNS_MIN && runs.iter().all(is_in_each);
    let wrong = (is_much && OF_RESENT.contains(&(dropped / again.max(1.0)))).then(|| {
        let at = cell.receiver().map_or("at the receiver", |end| end.at);
        let says = format!(
            "The receiver's own host ({at}) drops {:.1} % of the segments in {} after its interface \
             took them and before TCP has them: a filter or a limit on the way in, and no loss of \
             the path",
            100.0 * dropped / took.max(1.0),
            cell.trial.label
        );
        let remedy = format!(
            "{at}: nft list ruleset and iptables -S INPUT (limit, quota, drop; prerouting too), \
             nstat -az IpInDiscards TcpExtIPReversePathFilter, conntrack -S, XDP and tc ingress \
             programs (ip link, tc filter); take the limit off or raise it"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Payload that the interface of a receiver took, and segments that its TCP was given.
fn payload(end: &EndReport, size: f64) -> Option<(f64, f64)> {
    let of = || way_in(end).map(|name| Scope::Nic(name.to_owned()));
    let bytes = end.readings.of(keys::RX_BYTES, of()?)? as f64;
    let packets = end.readings.of(keys::RX_PACKETS, of()?)? as f64;
    let given = end.readings.total(keys::DATA_IN).filter(|given| *given > 0)? as f64;
    let mtu = end.readings.each(keys::PATH_MTU, Moment::Closing).map(|(_, bytes)| bytes).min();
    // With IPv6 a segment of the same packet is 20 B shorter.
    let is_v6 = mtu.is_some_and(|mtu| mtu as f64 - size > HEADERS_BYTES);
    let headers = HEADERS_BYTES + if is_v6 { HEADERS_V6_BYTES } else { 0.0 };
    Some((bytes - headers * packets, given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn what_the_interface_took_and_tcp_was_not_given_is_found() {
        let of = |took: u64, given: u64, again: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.effective.interface = Some("e0".into());
            }
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            read_receiver(&mut study, "interface", "e0.rx_packets", took);
            read_receiver(&mut study, "interface", "e0.rx_bytes", took * 1514);
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", given);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(1_000, 986, 14)));
        assert!(is_clear(&of(986, 986, 14)), "lost on the path");
        assert!(is_clear(&of(1_000, 986, 1)), "other traffic");
        assert!(is_clear(&of(1_000, 999, 1)), "an accident");
        // What came by another interface than answers leave by is counted there.
        let two_ways = |interface_in: Option<&str>| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.effective.interface = Some("e0".into());
                end.effective.interface_in = interface_in.map(str::to_owned);
            }
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", 14);
            for (name, took) in [("e0", 10), ("e1", 1_000_u64)] {
                read_receiver(&mut study, "interface", &format!("{name}.rx_packets"), took);
                read_receiver(&mut study, "interface", &format!("{name}.rx_bytes"), took * 1514);
            }
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", 986);
            of_study(&RULE, &study)
        };
        assert!(is_found(&two_ways(Some("e1"))));
        assert!(is_clear(&two_ways(None)));
        // Read 30 ms later than the other in one run, and 10 ms earlier in two.
        let mut apart = stream("tcp-stream");
        read(&mut apart, "tcp-info", "flow0.send_mss_bytes", 1448);
        read(&mut apart, "tcp-info", "flow0.retransmitted_segments", 100);
        read_receiver(&mut apart, "tcp-info", "flow0.received_data_segments", 25_000);
        for (record, took) in apart.records.iter_mut().zip([25_600_u64, 24_900, 24_850]) {
            for end in record.of_mut(Role::Receiver) {
                end.effective.interface = Some("e0".into());
                end.readings.put_words("interface", "e0.rx_packets", took);
                end.readings.put_words("interface", "e0.rx_bytes", took * 1514);
            }
        }
        assert!(is_clear(&of_study(&RULE, &apart)), "two counts of two moments");
        let mut lacks = stream("tcp-stream");
        assert!(is_unknown(&of_study(&RULE, &lacks)));
        lacks.trials[0].path = NetworkPath::Loopback;
        assert!(is_idle(&of_study(&RULE, &lacks)));
    }
}
