//! `packets-single`: does the receiver's host take TCP's packets one by one?
//!
//! The kernel joins what came in a row of one flow (GRO) and passes it through its stack once, up
//! to 44 packets at a time. Where that is off, bounded (`gro_max_size`) or undone (a program in
//! the driver's way, checksums that nobody verified), each packet costs what all of them would.
//! A socket counts segments as they were on the wire, and its namespace (`Tcp.InSegs`) what was
//! passed to it: one over the other is how many were joined. What leaves the sender singly, by an
//! interface of software, is the sender's.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "packets-single",
    asks: "Does the receiver's host take TCP's packets one by one?",
    of_host: false,
    judge,
};

/// Fewer a second cost no CPU much, and come too far apart to be joined.
const SEGMENTS_A_SECOND: f64 = 100e3;
/// Up to so many segments at a time are hardly joined: 31 were between namespaces, 5 to 20 are
/// usual at 10 Gb/s.
const JOINED_MAX: f64 = 1.5;
/// A namespace that was passed so many times more than its flows' segments has others' connections.
const OTHERS_TIMES: f64 = 1.1;
/// Segments that the sender's interface is handed at a time, from which on they left it together.
const TOGETHER_MIN: f64 = 3.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() || leave_singly(cell) {
        return Err(Blind::OtherKind);
    }
    // What older agents do not count is nothing that was looked at.
    let came_hz = cell.of_receiver(each_second).ok_or(Blind::OtherKind)?;
    let joined = cell.of_receiver(joined).ok_or(Blind::OtherKind)?;
    if joined < 1.0 / OTHERS_TIMES {
        return Err(Blind::OtherKind);
    }
    let thousands = came_hz / 1e3;
    let seen = format!("{thousands:.0} thousand segments a second came, {joined:.1} at a time");
    let name = cell.receiver().and_then(|end| end.nic()).map_or("IF", |nic| nic.name.as_str());
    let wrong = (came_hz >= SEGMENTS_A_SECOND && joined < JOINED_MAX).then(|| {
        let says = format!(
            "The receiver's kernel takes packets one by one in {}, {thousands:.0} thousand a second: \
             nothing joins them (GRO)",
            cell.trial.label
        );
        let remedy = format!(
            "at the receiver: ethtool -K {name} gro on, which needs rx checksums (ethtool -k {name}); \
             ip -d link show {name} (gro_max_size and gro_ipv4_max_size are 65536, no xdp program); \
             what cuts them on the way, as a router without tso, can be switched on there"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
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
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::host::Nic;
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
        assert!(is_unknown(&of(400_000, 900_000, 60_000)), "others have connections too");
    }

    #[test]
    fn what_an_older_agent_does_not_count_tells_nothing() {
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
