//! `packets-single`: does the receiver's host take TCP's packets one by one?
//!
//! The kernel joins what came in a row of one flow (GRO) and passes it through its stack once, up
//! to 44 packets at a time. Where that is off, bounded (`gro_max_size`) or undone (a program in
//! the driver's way, checksums that nobody verified), each packet costs what all of them would.
//! A socket counts segments as they were on the wire, and its namespace (`Tcp.InSegs`) what was
//! passed to it: one over the other is how many were joined. Both are of the stream alone where
//! the receiver's interface was given nothing but its full segments. What leaves the sender singly,
//! by an interface of software, is the sender's; many flows come in too few packets of each to be
//! joined.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::host::Nic;
use narrows_model::load::EndReport;
use narrows_model::reading::{Scope, keys};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "packets-single",
    asks: "Does the receiver's host take TCP's packets one by one?",
    of_host: false,
    judge,
};

/// Fewer a second cost no CPU much, and come too far apart to be joined.
const SEGMENTS_A_SECOND: f64 = 100e3;
/// Up to so many segments at a time are hardly joined: between namespaces it was 1.0 without GRO,
/// and 31 with it.
const JOINED_MAX: f64 = 1.5;
/// More flows than these take turns packet by packet.
const FLOWS_MAX: u32 = 16;
/// Headers of a frame beside a segment: Ethernet, IP and TCP, 54 to 94 B.
const HEADERS_BYTES: f64 = 66.0;
/// Packets of the receiver's interface are full segments of the stream where they are as large, and
/// as many, within this share: larger ones were joined before, smaller ones are others'.
const ALIKE_SHARE: f64 = 0.1;
/// Segments that the sender's interface is handed at a time, from which on they left it together.
const TOGETHER_MIN: f64 = 3.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_crowd = cell.trial.params.streams > FLOWS_MAX;
    if !cell.is_tcp_stream() || cell.is_paced() || is_crowd || leave_singly(cell) {
        return Err(Blind::OtherKind);
    }
    let lacks = || cell.lacks(Measure::SegmentsPassed);
    let came_hz = cell.of_receiver(each_second).ok_or_else(lacks)?;
    let joined = cell.of_receiver(joined).ok_or_else(lacks)?;
    let is_single = joined < JOINED_MAX;
    if is_single && !comes_in_full_segments(cell) {
        return Err(lacks());
    }
    let thousands = came_hz / 1e3;
    let seen = format!("{thousands:.0} thousand segments a second came, {joined:.1} at a time");
    let name = cell.receiver().and_then(|end| end.nic()).map_or("IF", |nic| nic.name.as_str());
    let wrong = (came_hz >= SEGMENTS_A_SECOND && is_single).then(|| {
        let says = format!(
            "The receiver's kernel takes packets one by one in {}, {thousands:.0} thousand a second: \
             hardly any are joined (GRO)",
            cell.trial.label
        );
        let switch = match cell.receiver().and_then(|end| is_on(end.nic()?)) {
            Some(true) => format!("ethtool -k {name} has gro on: see its rx-checksumming, and"),
            _ => format!("ethtool -K {name} gro on, which needs rx-checksumming (ethtool -k {name});"),
        };
        let remedy = format!(
            "at the receiver: {switch} ip -d link show {name} (gro_max_size and gro_ipv4_max_size are \
             65536, no xdp program); or tso at the router that cuts them on the way"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Whether its receive offload joins packets, as far as was read.
fn is_on(nic: &Nic) -> Option<bool> {
    nic.offloads.value()?.get("rx-gro").copied()
}

/// Whether the receiver's interface was given full segments of the stream, one in each packet, and
/// hardly anything else.
fn comes_in_full_segments(cell: &Cell<'_>) -> bool {
    let Some(segment) = cell.segment_bytes() else { return false };
    let is_alike = |is: f64, of: f64| (is / of - 1.0).abs() <= ALIKE_SHARE;
    let packet = cell.of_receiver(|end| {
        let of = |counter| end.readings.of(counter, Scope::Nic(end.effective.interface.clone()?));
        let packets = of(keys::RX_PACKETS).filter(|packets| *packets > 0)? as f64;
        let own = end.readings.total(keys::SEGMENTS_IN)? as f64;
        is_alike(packets, own).then_some(of(keys::RX_BYTES)? as f64 / packets)
    });
    packet.is_some_and(|packet| is_alike(packet, segment + HEADERS_BYTES))
}

/// Whether the sender's own interface, one of software, is handed packets of few segments.
fn leave_singly(cell: &Cell<'_>) -> bool {
    let is_soft = cell.sender().and_then(|end| end.nic()).is_some_and(|nic| !nic.physical);
    let segments = cell.packet_bytes().zip(cell.segment_bytes());
    is_soft && segments.is_some_and(|(packet, segment)| packet < TOGETHER_MIN * segment)
}

/// Segments a second that came, as they were on the wire.
fn each_second(end: &EndReport) -> Option<f64> {
    let came = end.readings.total(keys::SEGMENTS_IN)? as f64;
    (end.window_ns.0 > 0).then(|| came / end.window_ns.seconds())
}

/// How many were passed up the stack at a time.
fn joined(end: &EndReport) -> Option<f64> {
    let passed = end.readings.total(keys::TCP_IN).filter(|passed| *passed > 0)?;
    Some(end.readings.total(keys::SEGMENTS_IN)? as f64 / passed as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::host::{Host, Nic};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// Seconds of a window in which so many segments came, so many at a time were passed on, and
    /// the sender handed its interface packets of so many bytes.
    fn study(segments: u64, passed: u64, packet_bytes: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.effective.interface = Some("v0".into());
        }
        study.host.nics.push(Nic { name: "v0".into(), ..Nic::default() });
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        read(&mut study, "interface", "v0.tx_bytes", 1000 * packet_bytes);
        read(&mut study, "interface", "v0.tx_packets", 1000);
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
            end.effective.interface = Some("v1".into());
        }
        for (key, value) in [("rx_packets", segments), ("rx_bytes", 1514 * segments)] {
            read_receiver(&mut study, "interface", &format!("v1.{key}"), value);
        }
        read_receiver(&mut study, "tcp-info", "flow0.received_segments", segments);
        read_receiver(&mut study, "netstat", "Tcp.InSegs_events", passed);
        study
    }

    #[test]
    fn packets_that_nobody_joins_are_found() {
        let of = |segments, passed, bytes| of_study(&RULE, &study(segments, passed, bytes));
        let found = of(400_000, 400_000, 60_000);
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("gro on"), "{found:?}");
        assert!(is_found(&of(400_000, 290_000, 60_000)), "1.4 at a time");
        assert!(is_clear(&of(400_000, 250_000, 60_000)), "1.6 at a time");
        assert!(is_clear(&of(400_000, 13_000, 60_000)), "31 at a time");
        assert!(is_clear(&of(20_000, 20_000, 60_000)), "too few to cost much");
        assert!(is_unknown(&of(400_000, 400_000, 1500)), "they left one by one");
    }

    #[test]
    fn packets_that_are_joined_before_or_others_tell_nothing() {
        let of = |packets: u64, bytes: u64| {
            let mut study = study(400_000, 313_000, 60_000);
            for (key, value) in [("rx_packets", packets), ("rx_bytes", bytes)] {
                read_receiver(&mut study, "interface", &format!("v1.{key}"), value);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(400_000, 1514 * 400_000)));
        // Another 300,000 small ones of others, which are what is passed on singly.
        assert!(is_unknown(&of(700_000, 1514 * 400_000 + 66 * 300_000)));
        // Of a virtual NIC that is handed 14 kB at a time, which TCP counts as one segment each.
        assert!(is_unknown(&of(400_000, 14_000 * 400_000)));
        let mut crowd = study(400_000, 400_000, 60_000);
        crowd.trials[0].params.streams = 17;
        assert!(is_unknown(&of_study(&RULE, &crowd)), "of each flow too few come in a row");
    }

    #[test]
    fn what_is_switched_on_already_is_not_advised() {
        let mut study = study(400_000, 400_000, 60_000);
        let offloads = [("rx-gro".to_owned(), true)].into_iter().collect();
        let far = Nic { name: "v1".into(), offloads: known(offloads), ..Nic::default() };
        study.peer_hosts = vec![Host { nics: vec![far], ..Host::default() }];
        let says = format!("{:?}", of_study(&RULE, &study));
        assert!(says.contains("has gro on") && !says.contains("-K"), "{says}");
    }

    #[test]
    fn what_an_older_agent_does_not_count_tells_nothing() {
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
