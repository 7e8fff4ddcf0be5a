//! `path-mtu-black-hole`: do full packets vanish where small ones pass?
//!
//! A router that cannot pass a packet of TCP on tells the sender so (ICMP, "fragmentation needed").
//! A firewall that drops those messages, or a tunnel that sends none, leaves a connection that is
//! made and then stands still: the handshake is small, the first full segment never arrives, and is
//! sent again and again (RFC 2923, section 2.1).

use super::{datagrams_dropped, path_volume};
use crate::measured::{self, Blind, Cell, Looked, cells, finding};
use crate::{Case, Rule};
use narrows_model::load::IpVersion;
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "path-mtu-black-hole",
    asks: "Do full packets vanish where small ones pass?",
    of_host: false,
    judge,
};

/// Smaller segments pass any path (RFC 9293, section 3.7.1).
const LARGE_BYTES: f64 = 1000.0;
/// Header of a datagram (RFC 768).
const UDP_BYTES: u64 = 8;
/// Loss of half or more of what is too large is no chance.
const MOST: f64 = 0.5;

/// So many segments' bytes before the window show that full ones pass; fewer may be small.
const PASSED: f64 = 10.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, |cell| look(case, cell))
}

fn look(case: &Case<'_>, cell: &Cell<'_>) -> Looked {
    if cell.is_probe() {
        // A probe does not see a filter of the receiver's own; a stream beside it does.
        let all: Vec<Cell<'_>> = cells(case).collect();
        let is_filtered = all.iter().any(|other| {
            let by_size = datagrams_dropped::filtered_by_size(other, &all);
            cell.is_beside(other.trial) && by_size.is_some()
        });
        return match is_filtered {
            true => cell.saw("the receiver's own host drops large datagrams", None),
            false => look_at_probe(cell),
        };
    }
    if cell.trial.kind == Workload::UDP_STREAM {
        return look_at_datagrams(cell);
    }
    if !cell.is_tcp_stream() || cell.trial.params.is_bidirectional() {
        return Err(Blind::OtherKind);
    }
    let sent = cell.sent_count(keys::DATA_OUT);
    let came = cell.received_count(keys::DATA_IN);
    let timeouts = cell.sent_count(keys::TIMEOUTS).or(cell.sent_count(keys::KERNEL_TIMEOUTS));
    let segment = cell.segment_bytes();
    let (Some(sent), Some(came), Some(timeouts), Some(segment)) = (sent, came, timeouts, segment)
    else {
        return Err(cell.lacks(Measure::PayloadSegmentsOfBoth));
    };
    cell.apart_share().ok_or_else(|| cell.lacks(Measure::WindowsAtOnce))?;
    let seen = format!(
        "{sent:.0} segments of up to {segment:.0} B sent in the median run, {came:.0} came; the \
         sender's timer ran out {timeouts:.0} times"
    );
    // A burst of loss may take all of one run, and not of every.
    let all_came = cell.done.iter().filter_map(|record| record.receiver());
    let all_came = all_came.filter_map(|end| end.readings.total(keys::DATA_IN)).sum::<u64>();
    let none_came = sent >= 1.0 && all_came == 0 && timeouts >= 1.0;
    // What passed before the window was full segments too.
    let passed = path_volume::passed_before(cell).is_some_and(|bytes| bytes >= PASSED * segment);
    // A bridge lets pass what is cut into segments behind it, and not one such segment alone.
    let sizes = probed(cell);
    let vanish = none_came && (!passed || sizes.is_some());
    let wrong = (vanish && segment >= LARGE_BYTES).then(|| {
        let mtu = cell.path_mtu_bytes().unwrap_or(segment + 52.0);
        let vanish = match sizes {
            Some((passes, vanishes)) => {
                format!("packets of {passes} B pass, those of {vanishes} B")
            }
            None => format!("packets of {mtu:.0} B"),
        };
        let says = format!(
            "Connections are made and no full segment arrives in {}: a path MTU black hole, \
             {vanish} vanish and nobody tells the sender",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy(sizes))
    });
    cell.saw(seen, wrong)
}

/// The interface of the sender and that of the receiver, with the MTU of each in bytes, where they
/// differ.
fn unlike(cell: &Cell<'_>) -> Option<[(String, u64); 2]> {
    let ends = [cell.sender(), cell.receiver()].map(|end| {
        let (name, mtu) = end?.nic().map(|nic| (&nic.name, nic.mtu_bytes.value()))?;
        Some((name.clone(), mtu?.0))
    });
    let [Some(near), Some(far)] = ends else { return None };
    (near.1 != far.1).then_some([near, far])
}

/// Datagrams that are larger than what the receiver's interface takes, where nobody sent a probe.
fn look_at_mtus(cell: &Cell<'_>) -> Looked {
    let Some([(near, own), (far, takes)]) = unlike(cell) else { return Err(Blind::OtherKind) };
    let loss = cell.summary.loss.as_ref().ok_or(Blind::OtherKind)?;
    let lost = loss.lost_datagrams as f64 / loss.all_datagrams().max(1) as f64;
    let packet = cell.trial.params.message_bytes.0.saturating_add(headers_bytes(cell));
    let seen = format!(
        "{:.1} % of datagrams in packets of {packet} B lost; {near} sends packets of up to {own} B, \
         {far} takes {takes} B",
        100.0 * lost
    );
    let is_on_the_way = !cell.is_lost_at_receiver();
    let is_too_large = packet > takes && packet <= own;
    let wrong = (lost >= MOST && is_too_large && is_on_the_way).then(|| {
        let says = format!(
            "Datagrams in packets of {packet} B vanish in {}: the ends' interfaces do not agree, {near} \
             sends packets of up to {own} B, {far} takes {takes} B",
            cell.trial.label
        );
        let remedy = mtu_remedy(&far, own, takes, headers_bytes(cell));
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Headers of a datagram's packet, without options or extensions.
fn headers_bytes(cell: &Cell<'_>) -> u64 {
    let version = cell.done.iter().find_map(|record| record.sender()?.effective.ip);
    version.map_or(20, IpVersion::header_bytes) + UDP_BYTES
}

fn mtu_remedy(far: &str, own: u64, takes: u64, headers_bytes: u64) -> String {
    format!(
        "give both ends of one network the same MTU: ip link set dev {far} mtu {own} at the \
         receiver and on the switches between, or {takes} at the sender; till then send datagrams \
         of at most {} B (-l)",
        takes.saturating_sub(headers_bytes)
    )
}

/// Datagrams that are larger than what a probe saw pass, and of which most are lost.
fn look_at_datagrams(cell: &Cell<'_>) -> Looked {
    let Some((passes, vanishes)) = probed(cell) else { return look_at_mtus(cell) };
    let loss = cell.summary.loss.as_ref().ok_or(Blind::OtherKind)?;
    let lost = loss.lost_datagrams as f64 / loss.all_datagrams().max(1) as f64;
    let packet = cell.trial.params.message_bytes.0.saturating_add(headers_bytes(cell));
    let seen = format!(
        "{:.1} % of datagrams in packets of {packet} B lost; packets of {passes} B pass, \
         none of {vanishes} B",
        100.0 * lost
    );
    // What the receiver's interface took is dropped behind it, by a filter of its own.
    let is_on_the_way = !cell.is_lost_at_receiver();
    let wrong = (lost >= MOST && packet >= vanishes && is_on_the_way).then(|| {
        let unlike = unlike(cell);
        let differ = unlike.as_ref().map_or(String::new(), |[(here, own), (there, far)]| {
            format!(
                "; the ends' interfaces do not agree: {here} sends packets of up to {own} B, \
                 {there} takes {far} B"
            )
        });
        let says = format!(
            "Datagrams in packets of {packet} B vanish in {} and those of {passes} B pass{differ}",
            cell.trial.label
        );
        // A driver takes some bytes more than its MTU says: no number to set.
        let remedy = match &unlike {
            Some([(_, own), (there, far)]) if own > far => {
                mtu_remedy(there, *own, *far, headers_bytes(cell))
            }
            _ => format!(
                "send datagrams of at most {} B (-l); or: {}",
                passes.saturating_sub(headers_bytes(cell)),
                remedy(Some((passes, vanishes)))
            ),
        };
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Black holes that a probe saw, either way, whatever the traffic's segments were.
fn look_at_probe(cell: &Cell<'_>) -> Looked {
    let ways = cell.probes().flat_map(|probe| [(&probe.there, "there"), (&probe.back, "back")]);
    let told: Vec<_> = ways.filter_map(|(way, name)| Some((way.mtu?, name))).collect();
    if told.is_empty() {
        return Err(cell.lacks(Measure::PassingSizes));
    }
    let hole = told.iter().find_map(|(mtu, name)| Some((mtu.black_hole()?, *name)));
    let Some(((passes, vanishes), name)) = hole else {
        // Of the two ways the one that takes less.
        let least = told.iter().filter_map(|(mtu, _)| mtu.passes_bytes).min();
        let seen = least
            .map_or("no packet of any size that was tried passes".to_owned(), |bytes| {
                format!("packets of up to {bytes} pass")
            });
        return cell.saw(seen, None);
    };
    let (passes, vanishes) = (passes.0, vanishes.0);
    let seen =
        format!("packets of {passes} B pass {name}, none of {vanishes} B, and nobody says so");
    let says = format!(
        "Packets of more than {passes} B vanish on the way {name} and nobody tells the sender: a \
         path MTU black hole"
    );
    let remedy = remedy(Some((passes, vanishes)));
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, &remedy)))
}

/// Bytes of the largest packet that passes the way of a cell's segments and of the smallest that
/// does not, by a probe between the same hosts; `None` where there was none, or it saw no black
/// hole.
fn probed(cell: &Cell<'_>) -> Option<(u64, u64)> {
    let hole = cell.ways().into_iter().find_map(|way| way.mtu?.black_hole());
    hole.map(|(passes, vanishes)| (passes.0, vanishes.0))
}

fn remedy(sizes: Option<(u64, u64)>) -> String {
    let first = match sizes {
        Some((passes, _)) => format!(
            "ip route change ... mtu {passes} at the sender, or interfaces of that MTU; better, let"
        ),
        None => "find the size that passes: narrows tcp HOST --explain, or ping -M do -s SIZE in \
                 both directions. Lower the MTU of the interfaces or routes to it, or let"
            .to_owned(),
    };
    format!(
        "{first} ICMP \"fragmentation needed\" (IPv6: \"packet too big\") pass the firewalls \
         between; sysctl -w net.ipv4.tcp_mtu_probing=1 at the sender lets TCP find it by itself"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn full_segments_that_never_arrive_are_found() {
        let of = |came: u64, timeouts: u64, segment: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_data_segments", 3);
            read(&mut study, "tcp-info", "flow0.timeouts_events", timeouts);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", segment);
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", came);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(0, 2, 1448)));
        assert!(is_clear(&of(3, 2, 1448)));
        assert!(is_clear(&of(0, 2, 536)), "a smaller one passes every path");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn what_passed_before_the_window_shows_that_full_segments_pass() {
        let of = |before_bytes: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_data_segments", 3);
            read(&mut study, "tcp-info", "flow0.timeouts_events", 2);
            read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
            let before = "flow0.opening:acknowledged_so_far_bytes";
            read(&mut study, "tcp-info", before, before_bytes);
            read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", 0);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(200)), "a greeting");
        assert!(is_clear(&of(20_000_000)), "an allowance of 20 MB");
    }

    #[test]
    fn a_probe_gives_the_sizes_and_the_remedy_its_number() {
        use narrows_model::Bytes;
        use narrows_model::probe::{PathMtu, PathProbe};
        use narrows_model::result::Verdict;
        let mut study = stream("tcp-stream");
        read(&mut study, "tcp-info", "flow0.sent_data_segments", 3);
        read(&mut study, "tcp-info", "flow0.timeouts_events", 2);
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", 0);
        let mut probe = PathProbe::default();
        probe.there.mtu = Some(PathMtu {
            interface_bytes: Bytes(1500),
            passes_bytes: Some(Bytes(1234)),
            vanishes_bytes: Some(Bytes(1235)),
            told_bytes: None,
            used_bytes: Bytes(1500),
        });
        let sender = study.records.iter_mut().flat_map(|record| &mut record.reports);
        let mut sender = sender.filter(|end| end.role == narrows_model::load::Role::Sender);
        sender.next().expect("a sender").report.probe = Some(Box::new(probe));
        let Verdict::Found { findings, .. } = of_study(&RULE, &study) else { panic!("found") };
        let (says, remedy) = (&findings[0].says, &findings[0].remedy);
        assert!(says.contains("packets of 1234 B pass, those of 1235 B vanish"), "{says}");
        assert!(remedy.contains("mtu 1234"), "{remedy}");
    }

    #[test]
    fn only_a_filter_by_size_at_the_receiver_clears_a_black_hole() {
        use super::datagrams_dropped::testing::sized;
        use crate::probes::testing::with_probes;
        use narrows_model::Bytes;
        use narrows_model::probe::{PathMtu, PathProbe};
        use narrows_stats::LossPlace;
        let of = |place: LossPlace, small: Option<(u64, u64)>| {
            let mut probe = PathProbe::default();
            probe.there.mtu = Some(PathMtu {
                interface_bytes: Bytes(1500),
                passes_bytes: Some(Bytes(1300)),
                vanishes_bytes: Some(Bytes(1301)),
                told_bytes: None,
                used_bytes: Bytes(1500),
            });
            let mut study = sized(place, small);
            with_probes(&mut study, &[probe]);
            format!("{:?}", of_study(&RULE, &study))
        };
        let hole = "Packets of more than 1300 B vanish on the way there";
        let came = Some((20_000, 20_000));
        let filtered = of(LossPlace::ReceiverHost, came);
        assert!(!filtered.contains(hole), "{filtered}");
        assert!(of(LossPlace::ReceiverHost, None).contains(hole), "of no size known");
        assert!(of(LossPlace::ReceiverHost, Some((20_000, 0))).contains(hole), "of any size");
        assert!(of(LossPlace::ReceiverSocket, came).contains(hole), "a socket that is not read");
        let path = of(LossPlace::Path, came);
        assert!(path.contains("vanish"), "the path's MTU: {path}");
    }

    #[test]
    fn a_probe_of_another_peer_says_nothing_of_this_ones_path() {
        use crate::probes::testing::with_probes;
        use narrows_model::Bytes;
        use narrows_model::load::Role;
        use narrows_model::probe::{PathMtu, PathProbe};
        use narrows_model::trial::EndHost;
        let of = |peer: u32| {
            let mut probe = PathProbe::default();
            probe.there.mtu = Some(PathMtu {
                interface_bytes: Bytes(9000),
                passes_bytes: Some(Bytes(1500)),
                vanishes_bytes: Some(Bytes(1501)),
                told_bytes: None,
                used_bytes: Bytes(9000),
            });
            let mut study = stream("udp-stream");
            study.trials[0].params.message_bytes = Bytes(4000);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                (end.flows[0].messages, end.flows[0].lost) = (10, 9_990);
            }
            with_probes(&mut study, &[probe]);
            let ends = &mut study.trials.last_mut().expect("the probe's").ends;
            ends.iter_mut().find(|end| end.host == EndHost::Peer(0)).expect("a peer").host =
                EndHost::Peer(peer);
            format!("{:?}", of_study(&RULE, &study))
        };
        let says = "packets of 4028 B vanish";
        assert!(of(0).contains(says), "{}", of(0));
        assert!(!of(1).contains(says), "{}", of(1));
    }

    #[test]
    fn a_probe_alone_names_a_black_hole_of_either_way() {
        use crate::probes::testing::with_probes;
        use narrows_model::Bytes;
        use narrows_model::probe::{PathMtu, PathProbe};
        let of = |vanishes: Option<u64>| {
            let mut probe = PathProbe::default();
            probe.back.mtu = Some(PathMtu {
                interface_bytes: Bytes(1500),
                passes_bytes: Some(Bytes(vanishes.map_or(1500, |bytes| bytes - 1))),
                vanishes_bytes: vanishes.map(Bytes),
                told_bytes: None,
                used_bytes: Bytes(1500),
            });
            let mut study = stream("udp-stream");
            with_probes(&mut study, &[probe]);
            of_study(&RULE, &study)
        };
        let Verdict::Found { findings } = of(Some(1301)) else { panic!("found") };
        assert!(findings[0].says.contains("more than 1300 B vanish on the way back"));
        assert!(is_clear(&of(None)));
    }

    #[test]
    fn datagrams_that_are_too_large_for_what_passes_are_found() {
        use crate::probes::testing::with_probes;
        use narrows_model::Bytes;
        use narrows_model::load::Role;
        use narrows_model::probe::{PathMtu, PathProbe};
        let of = |message: u64, lost: u64| {
            let mut probe = PathProbe::default();
            probe.there.mtu = Some(PathMtu {
                interface_bytes: Bytes(9000),
                passes_bytes: Some(Bytes(1500)),
                vanishes_bytes: Some(Bytes(1501)),
                told_bytes: None,
                used_bytes: Bytes(9000),
            });
            let mut study = stream("udp-stream");
            study.trials[0].params.message_bytes = Bytes(message);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.flows[0].messages = 10_000 - lost;
                end.flows[0].lost = lost;
            }
            with_probes(&mut study, &[probe]);
            let verdict = of_study(&RULE, &study);
            format!("{verdict:?}")
        };
        let found = of(4000, 9_990);
        assert!(found.contains("packets of 4028 B vanish"), "{found}");
        assert!(found.contains("at most 1472 B (-l)"), "{found}");
        assert!(!of(1400, 9_990).contains("packets of 1428 B vanish"), "they pass");
        assert!(!of(4000, 10).contains("packets of 4028 B vanish"), "most come");
    }

    #[test]
    fn datagrams_that_the_receivers_interface_does_not_take_need_no_probe() {
        use crate::setting::testing::known;
        use narrows_model::Bytes;
        use narrows_model::host::{Host, Nic};
        use narrows_model::load::Role;
        let of = |[own, takes]: [u64; 2], lost: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.message_bytes = Bytes(1450);
            let host = |name: &str, mtu: u64| Host {
                nics: vec![Nic {
                    name: name.into(),
                    mtu_bytes: known(Bytes(mtu)),
                    ..Nic::default()
                }],
                ..Host::default()
            };
            study.host = host("e0", own);
            study.peer_hosts = vec![host("p0", takes)];
            for (role, name) in [(Role::Sender, "e0"), (Role::Receiver, "p0")] {
                for end in study.records.iter_mut().flat_map(|run| run.of_mut(role)) {
                    end.effective.interface = Some(name.into());
                }
            }
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                (end.flows[0].messages, end.flows[0].lost) = (10_000 - lost, lost);
            }
            format!("{:?}", of_study(&RULE, &study))
        };
        let found = of([1500, 1400], 10_000);
        assert!(found.contains("packets of 1478 B vanish"), "{found}");
        assert!(found.contains("e0 sends packets of up to 1500 B, p0 takes 1400 B"), "{found}");
        assert!(found.contains("ip link set dev p0 mtu 1500"), "{found}");
        assert!(found.contains("at most 1372 B"), "{found}");
        for (mtus, lost, why) in [
            ([1500, 1400], 10, "most come"),
            ([1500, 1480], 10_000, "they fit"),
            ([1500, 1500], 10_000, "equal MTUs"),
            ([1400, 1300], 10_000, "they leave in fragments, which are smaller"),
        ] {
            assert!(!of(mtus, lost).contains("vanish"), "{why}");
        }
    }
}
