//! `super-packets`: does a software interface get packets that are too small?
//!
//! The kernel hands an interface that cuts segments itself (veth, a tunnel, virtio) up to 64 KiB at
//! once, and every part of the way is passed once for all of it. Where less is handed over although
//! segmentation is switched on, somebody bounded it (`gso_max_segs`, `gso_max_size`), or it is
//! undone again (a checksum that is not offloaded). Counters of a physical NIC may count what left
//! the wire, so only others are judged. An interface counts whoever's packets: where other sockets
//! of the sender's host sent a part of them, a mean of all says nothing of the stream's.

use super::congestion_marks;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Scope, keys};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "super-packets",
    asks: "Does a software interface get packets that are too small?",
    of_host: false,
    judge,
};

/// Up to so many segments in a packet are few: 20 to 44 are ordinary.
const SEGMENTS_MAX: f64 = 3.0;
/// A congestion window of so many segments is no room for larger packets.
const WINDOW_MAX: f64 = 4.0;
/// Messages from which on more could be handed over.
const MESSAGE_MIN_BYTES: u64 = 16 << 10;
/// Packets of others from this share of the interface's on change the mean of all.
const OTHERS_SHARE: f64 = 0.1;
/// Slower streams have no need of it.
const RATE_MIN_BPS: f64 = 500e6;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::UsesSoftwareInterface);
    measured::judge(case, Needed::SoftwareInterface, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let asked = cell.trial.params.socket.as_ref().is_some_and(|socket| socket.mss_bytes.is_some());
    let large = cell.trial.params.message_bytes.0 >= MESSAGE_MIN_BYTES;
    let fast = cell.rates().is_some_and(|rates| rates.middle >= RATE_MIN_BPS);
    let nic = cell.sender().and_then(|end| end.nic());
    let soft = nic.is_some_and(|nic| !nic.physical);
    if !cell.is_tcp_stream() || asked || !large || !fast || !soft || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    // A path that loses or marks much or is limited cuts its packets short by itself, and a window
    // of few segments lets no more of them go at once.
    let lossy = cell.losses().is_some_and(|losses| losses.lost >= 0.001);
    let marked = congestion_marks::is_found(cell);
    let tiny = cell.congestion_window().is_some_and(|window| window <= WINDOW_MAX);
    if lossy || marked || tiny || cell.is_limited_by_buffers() {
        return Err(Blind::OtherKind);
    }
    let segment = cell.segment_bytes().ok_or_else(|| cell.lacks(Measure::SegmentSize))?;
    let packet = cell.packet_bytes().ok_or_else(|| cell.lacks(Measure::SenderInterfacePackets))?;
    if cell.of_sender(others_share).is_some_and(|share| share >= OTHERS_SHARE) {
        return Err(cell.lacks(Measure::SenderInterfacePackets));
    }
    let segments = packet / segment.max(1.0);
    let seen = format!("{packet:.0} B a packet, {segments:.1} segments of {segment:.0} B");
    let wrong = (segments < SEGMENTS_MAX).then(|| {
        let name = nic.map_or("the sender's interface", |nic| nic.name.as_str());
        let says = format!(
            "{name} gets packets of {segments:.1} segments in {}: segmentation offload (GSO, TSO) \
             is off, bounded or undone",
            cell.trial.label
        );
        let remedy = format!(
            "see at the sender: ip -d link show {name} (gso_max_size, gso_max_segs), ethtool -k \
             {name} (tx-checksumming, scatter-gather, tso, gso); put back: ip link set {name} \
             gso_max_size 65536 gso_max_segs 65535"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Packets that other sockets of the sender's host may have sent, as a share of all of its
/// interface: datagrams, and TCP's segments beyond those of the measured flows, of which one
/// packet has several.
fn others_share(end: &EndReport) -> Option<f64> {
    let total = |counter| end.readings.total(counter);
    let interface = Scope::Nic(end.effective.interface.clone()?);
    let packets = end.readings.of(keys::TX_PACKETS, interface).filter(|packets| *packets > 0)?;
    let own = total(keys::SENT);
    let segments = total(keys::TCP_OUT).zip(own).map_or(0, |(all, own)| all.saturating_sub(own));
    Some((total(keys::UDP_OUT).unwrap_or(0) + segments) as f64 / packets as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::host::Nic;
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// A stream by an interface that was given so many packets.
    fn sends(packets: u64, physical: bool) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for record in &mut study.records {
            for end in record.of_mut(Role::Sender) {
                end.effective.interface = Some("v0".into());
            }
        }
        study.host.nics.push(Nic { name: "v0".into(), physical, ..Nic::default() });
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        read(&mut study, "interface", "v0.tx_bytes", 1_300_000_000);
        read(&mut study, "interface", "v0.tx_packets", packets);
        read(&mut study, "tcp-info", "flow0.sent_segments", 870_000);
        study
    }

    #[test]
    fn packets_of_one_segment_are_found() {
        let beside = |packets: u64, others: &[(&str, &str, u64)]| {
            let mut study = sends(packets, false);
            for (source, key, value) in others {
                read(&mut study, source, key, *value);
            }
            of_study(&RULE, &study)
        };
        let with = |packets: u64, physical: bool, key: &str, value: u64| {
            let mut study = sends(packets, physical);
            read(&mut study, "tcp-info", &format!("flow0.{key}_segments"), value);
            of_study(&RULE, &study)
        };
        let of = |packets, physical| with(packets, physical, "congestion_window", 90);
        assert!(is_idle(&with(870_000, false, "congestion_window", 2)), "no room for more");
        assert!(is_idle(&with(870_000, false, "delivered_marked", 869_000)), "marks");
        assert!(is_found(&with(870_000, false, "delivered_marked", 100)), "hardly a mark");
        assert!(is_found(&of(870_000, false)));
        assert!(is_clear(&of(30_000, false)));
        assert!(is_idle(&of(870_000, true)));
        assert!(is_unknown(&beside(870_000, &[("udp", "out_datagrams", 800_000)])), "datagrams");
        assert!(is_found(&beside(870_000, &[("udp", "out_datagrams", 800)])), "few of them");
        let all = |count| [("netstat", "Tcp.OutSegs_events", count)];
        assert!(is_unknown(&beside(870_000, &all(1_700_000))), "other TCP");
        assert!(is_found(&beside(870_000, &all(870_300))), "its own");
    }
}
