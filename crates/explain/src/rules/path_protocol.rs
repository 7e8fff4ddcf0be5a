//! `path-protocol`: does the path carry one of UDP and TCP, and drop or hold back the other?
//!
//! Providers police UDP alone, firewalls drop it as a flood, and shapers by class or port hold TCP
//! alone. Each looks like losses at random, a policer or a slower link. The other protocol over the
//! same path tells: datagrams are lost where TCP loses nothing at their pace, or come at a pace far
//! above what TCP is held at.
//!
//! What costs the receiver much for each packet loses datagrams too, and spares TCP, whose packets
//! are joined: from some packets a second on nothing is said.

use super::{path_capacity, path_policed, path_proxy};
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::other_streams::OtherStream;
use crate::{Case, Rule};
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "path-protocol",
    asks: "Does the path carry one of UDP and TCP, and drop or hold back the other?",
    of_host: false,
    judge,
};

/// Share of the datagrams that is lost at the least.
const LOST_SHARE: f64 = 0.05;
/// The other protocol loses less than this share of what the one loses.
const SPARED: f64 = 0.2;
/// TCP keeps a pace from this share of it on.
const KEPT: f64 = 0.9;
/// And has so many times what came of the datagrams: a slower link leaves both as much.
const MORE: f64 = 1.15;
/// The slowest stream of datagrams has so many times what the fastest TCP stream has.
const FASTER: f64 = 1.3;
/// Of datagrams sent far above TCP's rate so few may be lost.
const PASSED_SHARE: f64 = 0.02;
/// Two paces are the same from here on.
const SAME_PACE: std::ops::RangeInclusive<f64> = 0.98..=1.02;
/// Smaller datagrams are more packets than TCP's segments of the same pace, and larger ones go in
/// fragments, of which the loss of one is the loss of all.
const ONE_PACKET: std::ops::RangeInclusive<u64> = 1000..=1472;
/// Fewer packets a second cost no receiver much.
const PACKETS_MAX: f64 = 50_000.0;
/// Fewer segments say little of a share.
const SEGMENTS_MIN: u64 = 200;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::OverBothProtocols, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind == Workload::UDP_STREAM && cell.is_paced() {
        return of_datagrams(cell);
    }
    if cell.is_tcp_stream() && !cell.is_paced() {
        return of_tcp(cell);
    }
    Err(Blind::OtherKind)
}

/// Datagrams that are lost, beside TCP at their pace.
fn of_datagrams(cell: &Cell<'_>) -> Looked {
    let pace_bps = cell.trial.params.rate_bps.unwrap_or(0) as f64;
    let size = cell.trial.params.message_bytes.0;
    if !ONE_PACKET.contains(&size) || pace_bps / (8.0 * size as f64) > PACKETS_MAX {
        return Err(Blind::OtherKind);
    }
    let counted = cell.summary.loss.as_ref().ok_or_else(|| cell.lacks(Measure::DatagramsIn))?;
    let lost = counted.lost_datagrams as f64 / counted.all_datagrams().max(1) as f64;
    let others = OtherStream::of(cell, &Workload::TCP_STREAM);
    let other = others.iter().find(|other| is_at_pace(other, pace_bps) && is_alike(cell, other));
    let Some(other) = other else {
        // Beside a slower TCP stream it is what that one is judged by.
        let is_contrast =
            others.iter().any(|other| !other.is_paced() && other.low_bps() < pace_bps);
        let lacks = cell.lacks(Measure::OtherProtocol);
        return Err(if is_contrast { Blind::OtherKind } else { lacks });
    };
    let (sent, missing) = other.segments();
    if sent < SEGMENTS_MIN {
        return Err(cell.lacks(Measure::OtherProtocol));
    }
    let missing = missing as f64 / sent as f64;
    let kept = other.low_bps() / pace_bps;
    let came_bps = cell.rates().map_or(f64::MAX, |rates| rates.high);
    let seen = format!(
        "{:.1} % of the datagrams were lost; TCP kept {:.0} % of their pace at the least and lost \
         {:.2} % of its segments",
        100.0 * lost,
        100.0 * kept.min(1.0),
        100.0 * missing
    );
    let is_more = other.low_bps() >= MORE * came_bps;
    let is_spared = lost >= LOST_SHARE && kept >= KEPT && missing <= SPARED * lost && is_more;
    let wrong = (is_spared && !cell.is_lost_at_receiver()).then(|| {
        let says = format!(
            "Something on the way drops UDP and lets TCP pass in {}: {seen}",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Caution, says, seen.clone(), OF_UDP)
    });
    cell.saw(seen, wrong)
}

/// A TCP stream that the path holds, beside datagrams at a far higher pace.
fn of_tcp(cell: &Cell<'_>) -> Looked {
    let is_held = path_capacity::is_found(cell) || path_policed::is_found(cell);
    if !is_held || path_proxy::is_two_connections(cell) {
        return Err(Blind::OtherKind);
    }
    // A policer of everything lets a flow over a long round trip have a part of its rate: what TCP
    // had for a moment it let pass.
    let slices = cell.fastest_slices().ok_or_else(|| cell.lacks(Measure::Slices))?;
    let high_bps = cell.rates().map_or(0.0, |rates| rates.high).max(slices.high);
    let others = OtherStream::of(cell, &Workload::UDP_STREAM);
    let other = others.iter().find(|other| is_above(cell, other, high_bps));
    let other = other.ok_or_else(|| cell.lacks(Measure::OtherProtocol))?;
    let lost = other.lost_share().ok_or_else(|| cell.lacks(Measure::DatagramsIn))?;
    let seen = format!(
        "TCP had {:.1} Mb/s in its fastest slice, and datagrams over the same path {:.1} Mb/s at the least, \
         of which {:.2} % were lost",
        high_bps / 1e6,
        other.low_bps() / 1e6,
        100.0 * lost
    );
    let is_free = other.low_bps() >= FASTER * high_bps && lost <= PASSED_SHARE;
    let wrong = is_free.then(|| {
        let says = format!(
            "Something on the way holds back TCP and lets UDP pass in {}, or TCP of others gives way to \
             datagrams there: {seen}",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Caution, says, seen.clone(), OF_TCP)
    });
    cell.saw(seen, wrong)
}

/// One run has no range.
const RUNS_LEAST: usize = 2;

fn is_at_pace(other: &OtherStream<'_>, pace_bps: f64) -> bool {
    let own = other.trial.params.rate_bps.unwrap_or(0) as f64;
    other.each_bps.len() >= RUNS_LEAST && SAME_PACE.contains(&(own / pace_bps))
}

/// Whether a stream was sent at a pace far above a rate.
fn is_above(cell: &Cell<'_>, other: &OtherStream<'_>, rate_bps: f64) -> bool {
    let pace_bps = other.trial.params.rate_bps.unwrap_or(0) as f64;
    let is_told = other.each_bps.len() >= RUNS_LEAST;
    is_told && pace_bps >= FASTER * rate_bps && is_alike(cell, other)
}

/// Whether another stream has as many flows, of the same class.
fn is_alike(cell: &Cell<'_>, other: &OtherStream<'_>) -> bool {
    let [own, its] = [&cell.trial.params, &other.trial.params];
    let class = |params: &narrows_model::load::Params| {
        params.socket.as_ref().and_then(|socket| socket.dscp).unwrap_or(0)
    };
    own.streams == its.streams && class(own) == class(its)
}

const OF_UDP: &str = "look for a policer or filter of UDP between the ends (nft list ruleset, \
                      iptables: limit and hashlimit on udp, a router's or provider's flood \
                      protection) and raise its limit or exempt these ports; over TCP the path \
                      carries this rate";
const OF_TCP: &str = "look for a shaper, policer or accelerator of TCP or of these ports between \
                      the ends (tc -s filter and class on hosts between, a provider's traffic \
                      management) and raise its limit; where others use the link, their streams \
                      give way to datagrams, and this one has its share";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    const PACE_BPS: u64 = 100_000_000;

    /// A stream that moves so much, at a pace or as fast as it goes.
    fn of(kind: &str, moved_bps: u64, pace_bps: Option<u64>) -> StoredStudy {
        let mut study = stream(kind);
        let trial = &mut study.trials[0];
        (trial.id, trial.params.rate_bps) = (TrialId(kind.into()), pace_bps);
        trial.params.message_bytes.0 = 1250;
        for record in &mut study.records {
            record.trial = TrialId(kind.into());
            for flow in record.of_mut(Role::Receiver).flat_map(|end| &mut end.flows) {
                (flow.bytes.0, flow.messages) = (moved_bps / 8, moved_bps / 10_000);
            }
        }
        study
    }

    fn both(mut one: StoredStudy, other: StoredStudy) -> StoredStudy {
        one.trials.extend(other.trials);
        one.records.extend(other.records);
        one
    }

    /// Datagrams at a pace of which so many percent are lost.
    fn datagrams(lost: u64) -> StoredStudy {
        let mut study = of("udp-stream", PACE_BPS / 100 * (100 - lost), Some(PACE_BPS));
        for flow in study.records.iter_mut().flat_map(|one| one.of_mut(Role::Receiver)) {
            flow.flows[0].lost = PACE_BPS / 10_000 * lost / 100;
        }
        study
    }

    /// TCP that sends 10,000 segments, of which so many are lost.
    fn segments(moved_bps: u64, pace_bps: Option<u64>, lost: u64) -> StoredStudy {
        let mut study = of("tcp-stream", moved_bps, pace_bps);
        read(&mut study, "tcp-info", "flow0.sent_segments", 10_000);
        read(&mut study, "tcp-info", "flow0.retransmitted_segments", lost);
        study
    }

    #[test]
    fn datagrams_that_are_lost_where_tcp_is_spared_are_found() {
        let beside = |lost: u64, moved_bps: u64, tcp_lost: u64| {
            let tcp = segments(moved_bps, Some(PACE_BPS), tcp_lost);
            of_study(&RULE, &both(datagrams(lost), tcp))
        };
        let found = format!("{:?}", beside(30, PACE_BPS, 10));
        assert!(found.contains("drops UDP and lets TCP pass in udp-stream"), "{found}");
        assert!(found.contains("30.0 % of the datagrams were lost"), "{found}");
        assert!(found.contains("TCP kept 100 % of their pace at the least"), "{found}");
        assert!(found.contains("lost 0.10 % of its segments"), "{found}");
        assert!(is_clear(&beside(30, PACE_BPS, 2_000)), "a path that loses of both");
        assert!(is_clear(&beside(30, PACE_BPS / 100 * 88, 10)), "TCP slows down too");
        assert!(is_found(&beside(30, PACE_BPS / 100 * 92, 10)), "a sender that others disturb");
        assert!(is_clear(&beside(7, PACE_BPS / 100 * 93, 10)), "a link of 93 Mb/s, for both");
        assert!(is_clear(&beside(10, PACE_BPS, 0)), "TCP has hardly more");
        assert!(is_clear(&beside(2, PACE_BPS, 0)), "next to nothing is lost");
        assert!(is_unknown(&of_study(&RULE, &datagrams(30))), "nothing to compare with");
        let other = segments(PACE_BPS / 2, Some(PACE_BPS / 2), 0);
        assert!(is_unknown(&of_study(&RULE, &both(datagrams(30), other))), "another pace");
    }

    #[test]
    fn what_may_be_the_receivers_work_for_each_packet_is_no_protocols() {
        let changed = |change: fn(&mut StoredStudy)| {
            let mut study = both(datagrams(30), segments(PACE_BPS, Some(PACE_BPS), 0));
            change(&mut study);
            of_study(&RULE, &study)
        };
        assert!(is_found(&changed(|_| {})));
        let small = |study: &mut StoredStudy| study.trials[0].params.message_bytes.0 = 100;
        assert!(is_unknown(&changed(small)), "small");
        let large = |study: &mut StoredStudy| study.trials[0].params.message_bytes.0 = 8192;
        assert!(is_unknown(&changed(large)), "in fragments");
        let fast = |study: &mut StoredStudy| {
            study.trials[0].params.rate_bps = Some(10 * PACE_BPS);
        };
        assert!(is_unknown(&changed(fast)), "100,000 packets a second");
        let class = |study: &mut StoredStudy| {
            let socket = narrows_model::load::SocketParams { dscp: Some(8), ..Default::default() };
            study.trials[0].params.socket = Some(socket);
        };
        assert!(is_unknown(&changed(class)), "of another class");
    }

    #[test]
    fn a_rate_that_holds_tcp_and_not_datagrams_is_found() {
        let tcp = || {
            let mut tcp = segments(PACE_BPS, None, 0);
            slices(&mut tcp, &[PACE_BPS / 80; 10]);
            read(&mut tcp, "tcp-info", "flow0.rtt_min_ns", 20_000);
            read(&mut tcp, "tcp-info", "flow0.lowest:rtt_ns", 20_000_000);
            read(&mut tcp, "tcp-info", "flow0.rtt_ns", 20_000_500);
            read(&mut tcp, "tcp-info", "flow0.highest:rtt_ns", 20_000_900);
            read(&mut tcp, "tcp-info", "flow0.send_mss_bytes", 1448);
            tcp
        };
        let beside = |moved_bps: u64, lost: u64| {
            let mut udp = of("udp-stream", moved_bps, Some(2 * PACE_BPS));
            for end in udp.records.iter_mut().flat_map(|one| one.of_mut(Role::Receiver)) {
                end.flows[0].lost = lost;
            }
            of_study(&RULE, &both(tcp(), udp))
        };
        let found = format!("{:?}", beside(2 * PACE_BPS, 0));
        assert!(
            found.contains("holds back TCP and lets UDP pass in tcp-stream, or TCP of others"),
            "{found}"
        );
        assert!(found.contains("TCP had 100.0 Mb/s in its fastest slice"), "{found}");
        assert!(found.contains("datagrams over the same path 200.0 Mb/s at the least"), "{found}");
        assert!(is_clear(&beside(PACE_BPS, 10_000)), "the path carries no more");
        assert!(is_clear(&beside(2 * PACE_BPS, 1_000)), "one in twenty is lost");
        let mut bursts = both(tcp(), of("udp-stream", 2 * PACE_BPS, Some(2 * PACE_BPS)));
        for end in bursts.records.iter_mut().take(3).flat_map(|one| one.of_mut(Role::Receiver)) {
            end.intervals[2].bytes.0 = PACE_BPS / 80 * 19 / 10;
        }
        assert!(!is_found(&of_study(&RULE, &bursts)), "it passed as much for a moment");
        assert!(is_unknown(&of_study(&RULE, &tcp())), "nothing to compare with");
        let mut free = tcp();
        read(&mut free, "tcp-info", "flow0.lowest:rtt_ns", 20_000);
        read(&mut free, "tcp-info", "flow0.rtt_ns", 20_000);
        let udp = of("udp-stream", 2 * PACE_BPS, Some(2 * PACE_BPS));
        assert!(!is_found(&of_study(&RULE, &both(free, udp))), "no rate of the path");
    }
}
