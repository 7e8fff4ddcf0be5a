//! `path-flow-limit`: does the path limit each flow by itself?
//!
//! Providers and firewalls police or shape each connection, and not what all of them carry: N flows
//! get N times the rate, and each gets the same in every run. A limit on all of them together
//! leaves each an Nth. So it is found only where a stream that a rate of the path holds was
//! measured with two numbers of flows.
//!
//! As much for each is not enough: a flow that its round trip and losses hold far below a limit on
//! all of them moves as much beside others. So each must have about the rate that packet trains
//! tell, which are a flow of their own. Where trains tell none, as before a large bucket, both
//! numbers of flows must be held at a rate of the path under a congestion control that losses do
//! not slow down: of a limit on all one such flow would take as much as several.
//!
//! Where each flow has a bucket that a short run empties late, several are not held at the same for
//! each. One that loses much and moves the same under a control that slows down at each loss as
//! under one that does not is held at a rate all the same, and more flows of which each moves as
//! much and more say that the rate is of each.

use super::{path_capacity, path_policed, path_proxy, path_volume};
use crate::beside::Beside;
use crate::controls;
use crate::evidence::evidence;
use crate::measured::{Cell, cells, finding, joined};
use crate::survey::Survey;
use crate::{Case, Rule};
use narrows_model::load::Params;
use narrows_model::result::{
    Activity, Finding, Inapplicable, Measure, Missing, Needed, Unmeasured, Verdict, Weight,
};
use narrows_stats::{Bursts, Range};

pub static RULE: Rule = Rule {
    name: "path-flow-limit",
    asks: "Does the path limit each flow by itself?",
    of_host: false,
    judge,
};

/// What each of more flows has of what each of fewer had. Under a limit on all flows four have a
/// quarter each, and two a half; behind policers of each flow between namespaces they had 0.9 to
/// 1.1.
const SAME_EACH: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// What a flow moves of the rate that trains tell, where that holds it. A limit of that rate on all
/// flows leaves each of two at most a half, and then one that moved as much had at most 0.63 of it.
const NEAR: std::ops::RangeInclusive<f64> = 0.7..=1.25;
/// Less is lost in other ways too.
const LOST_SHARE: f64 = 0.05;
/// Where no train tells a rate, flows must be as near to each other.
const ALIKE: f64 = 0.85;
/// The slowest flow of a run must have so much of what the fastest has.
const EVEN: f64 = 0.5;

fn judge(case: &Case<'_>) -> Verdict {
    let (mut survey, mut findings) = (Survey::default(), Vec::new());
    for cell in cells(case).filter(|one| is_held(case, one)) {
        let others = cell.beside(|params| Params { streams: 0, ..params });
        if others.is_empty() {
            survey.lacks(Unmeasured::Run(Needed::StreamWithOtherFlows).into());
        }
        for other in &others {
            match each(&cell, other) {
                Some(share)
                    if are_both_held(case, &cell, other, share)
                        || (is_held_under_both(case, &cell) && moves_more(&cell, other)) =>
                {
                    findings.push(found(&cell, other));
                }
                Some(share) if SAME_EACH.contains(&share) => match lacking(&cell, other) {
                    None => findings.push(found(&cell, other)),
                    Some(missing) => {
                        survey.fine(seen(&cell, other, share), cell.runs());
                        survey.lacks(missing);
                    }
                },
                Some(share) => survey.fine(seen(&cell, other, share), cell.runs()),
                None => {}
            }
        }
    }
    joined(findings).into_iter().for_each(|finding| survey.found(finding));
    survey.conclude(Inapplicable::NoRun { that: Activity::IsHeldAtRateOfPath })
}

/// Whether a rate of the path may hold a stream, and no proxy's window.
fn is_held(case: &Case<'_>, cell: &Cell<'_>) -> bool {
    let is_of_proxy = path_proxy::is_two_connections(cell) && cell.is_limited_by_buffers();
    !is_of_proxy && (is_held_at_a_rate(cell) || is_held_under_both(case, cell))
}

/// Whether the path holds both at a rate of which each flow has as much, in every run.
fn are_both_held(case: &Case<'_>, cell: &Cell<'_>, other: &Beside<'_>, share: f64) -> bool {
    let mut all = cells(case).filter(|one| one.trial.id == other.trial.id);
    let is_even = |runs: &[Vec<f64>]| runs.iter().all(|run| least_share(run) >= ALIKE);
    let control = cell.summary.congestion();
    control.and_then(controls::ignores_loss_below).is_some()
        && (ALIKE..=1.0 / ALIKE).contains(&share)
        && rate_of_one(cell).is_none()
        && all.any(|one| is_held_at_a_rate(&one) || loses_much(&one))
        && is_even(&cell.flows_bps(cell.trial))
        && is_even(&other.flows_bps)
}

/// Whether it loses what no queue holds back: two runs are too few to tell a policer by themselves.
fn loses_much(cell: &Cell<'_>) -> bool {
    cell.losses().is_some_and(|losses| losses.lost >= LOST_SHARE)
}

/// Whether a stream that loses much moves as much as the same under another sort of congestion
/// control: of losses without a rate one that slows down for them moves far less.
fn is_held_under_both(case: &Case<'_>, cell: &Cell<'_>) -> bool {
    if !cell.is_tcp_stream() || cell.is_paced() || !loses_much(cell) || cell.is_busy() {
        return false;
    }
    let others = cell.beside(|params| Params { congestion: None, ..params });
    cells(case).filter(|one| others.iter().any(|other| other.trial.id == one.trial.id)).any(|one| {
        let share = middle_bps(&one) / middle_bps(cell).max(1.0);
        let is_other_sort = match (minds_loss(cell), minds_loss(&one)) {
            (Some(own), Some(its)) => own != its,
            _ => false,
        };
        is_other_sort && loses_much(&one) && (ALIKE..=1.0 / ALIKE).contains(&share)
    })
}

/// Whether a stream's congestion control slows down at each loss; `None` of what is not known here.
fn minds_loss(cell: &Cell<'_>) -> Option<bool> {
    let name = cell.summary.congestion()?;
    let ignores = controls::ignores_loss_below(name).is_some();
    (ignores || controls::slows_down(name)).then_some(!ignores)
}

fn middle_bps(cell: &Cell<'_>) -> f64 {
    cell.rates().map_or(0.0, |rates| rates.middle)
}

/// Whether more flows move as much each in every run, and more while their buckets last.
fn moves_more(cell: &Cell<'_>, other: &Beside<'_>) -> bool {
    let [own, its] = [cell.trial, other.trial].map(|trial| flows(&trial.params));
    let each_bps = middle_bps(cell) / own;
    its > own && each_bps > 0.0 && other.low_bps() / its >= SAME_EACH.start() * each_bps
}

fn is_held_at_a_rate(cell: &Cell<'_>) -> bool {
    let is_own = cell.is_tcp_stream() && !cell.is_paced();
    let rules = [path_policed::is_found, path_capacity::is_found, path_volume::is_found];
    is_own && rules.iter().any(|is_found| is_found(cell))
}

/// What a flow of the other trial has, as a share of what one of the cell has.
fn each(cell: &Cell<'_>, other: &Beside<'_>) -> Option<f64> {
    let own = cell.rates()?.middle / flows(&cell.trial.params);
    (own > 0.0).then(|| other.middle_bps() / flows(&other.trial.params) / own)
}

/// What lacks to say that it is a limit which gives each flow as much: a rate of one flow, or flows
/// that keep to it in every run.
fn lacking(cell: &Cell<'_>, other: &Beside<'_>) -> Option<Missing> {
    let lacks = |lacks| Unmeasured::In { lacks, trial: cell.trial.label.clone() };
    let Some(limit) = rate_of_one(cell) else { return Some(lacks(Measure::TrainRate).into()) };
    let own = cell.flows_bps(cell.trial);
    let is_held = |runs: &[Vec<f64>], trial_flows: f64| {
        runs.iter().all(|run| {
            let near = cell.in_packets(run.iter().sum::<f64>() / trial_flows) / limit.middle;
            run.len() as f64 == trial_flows && NEAR.contains(&near) && is_even(run)
        })
    };
    let both = is_held(&own, flows(&cell.trial.params))
        && is_held(&other.flows_bps, flows(&other.trial.params));
    if both {
        return None;
    }
    // Still more flows would reach a limit on all of them.
    let more = Unmeasured::Run(Needed::StreamWithOtherFlows);
    Some(if cell.is_disturbed() { lacks(Measure::UndisturbedRuns) } else { more }.into())
}

/// The rate of IP packets that trains of one flow tell.
fn rate_of_one(cell: &Cell<'_>) -> Option<Range> {
    match cell.bursts() {
        Some(Bursts::Limited(limited)) => limited.rate_bps,
        _ => cell.carried(),
    }
    .filter(|rate| rate.middle > 0.0)
}

fn is_even(run: &[f64]) -> bool {
    least_share(run) >= EVEN
}

/// What the slowest flow of a run has of the fastest.
fn least_share(run: &[f64]) -> f64 {
    let [low, high] = run
        .iter()
        .fold([f64::INFINITY, 0.0_f64], |[low, high], bps| [low.min(*bps), high.max(*bps)]);
    low / high.max(1.0)
}

fn flows(params: &Params) -> f64 {
    f64::from(params.streams.max(1))
}

fn counted(params: &Params) -> String {
    match params.streams.max(1) {
        1 => "one flow".to_owned(),
        flows => format!("{flows} flows"),
    }
}

fn seen(cell: &Cell<'_>, other: &Beside<'_>, share: f64) -> String {
    format!(
        "each of {} moves {share:.2} times what each of {} does",
        counted(&other.trial.params),
        counted(&cell.trial.params)
    )
}

fn found(cell: &Cell<'_>, other: &Beside<'_>) -> Finding {
    let own = cell.rates().map_or(0.0, |rates| rates.middle);
    let each_bps = own / flows(&cell.trial.params);
    let share = each(cell, other).unwrap_or(1.0);
    let says = format!(
        "Something on the path limits each flow by itself to about {:.0} Mb/s of packets in {}: {} \
         moved {:.0} Mb/s in all, {} {:.0} Mb/s; a policer or shaper of each connection{}",
        cell.in_packets(each_bps) / 1e6,
        cell.trial.label,
        counted(&cell.trial.params),
        own / 1e6,
        counted(&other.trial.params),
        other.middle_bps() / 1e6,
        if share > *SAME_EACH.end() { ", of which short runs have a bucket more" } else { "" }
    );
    let remedy = "raise the rate of each flow where it is set (nft meter or limit of a set, tc \
                  flow or fq maxrate, a provider's limit of each connection); until then several \
                  flows (-P) move as many times as much, and one cannot";
    let seen = seen(cell, other, share);
    let mut found = finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy);
    found.evidence.push(evidence(seen, other.runs()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside::testing::with_beside;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::probes::testing::{way, with_probes};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::{EndReport, Role};
    use narrows_model::probe::PathProbe;
    use narrows_model::record::Record;
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    /// A stream that a policer holds: rows of losses, and no queue.
    fn policed() -> StoredStudy {
        let mut study = stream("tcp-stream");
        slices(&mut study, &[0, 250_000_000, 0, 251_000_000, 0, 250_500_000]);
        for (key, count) in [
            ("sent_segments", 100_000),
            ("retransmitted_segments", 9_000),
            ("rtt_min_ns", 10_000),
            ("rtt_ns", 100_000),
            ("lowest:rtt_ns", 100_000),
            ("highest:rtt_ns", 100_000),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), count);
        }
        for (key, count) in [("TCPSackRecovery", 300), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)] {
            read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
        }
        study
    }

    /// One flow at this rate, another trial of so many flows with so many times as much in all, and
    /// a probe whose trains a policer of 21 Mb/s drops.
    fn with_flows(mbps: u64, flows: u32, times: f64) -> StoredStudy {
        let mut study = policed();
        read(&mut study, "tcp-info", "flow0.send_mss_bytes", 1448);
        for end in study.records.iter_mut().flat_map(of_receiver) {
            end.flows[0].bytes.0 = 125_000 * mbps;
        }
        with_beside(&mut study, |params| params.streams = flows, times);
        let is_other = |record: &&mut Record| record.trial.0 == "beside";
        for end in study.records.iter_mut().filter(is_other).flat_map(of_receiver) {
            end.flows[0].bytes.0 /= u64::from(flows);
            end.flows = vec![end.flows[0].clone(); flows as usize];
        }
        let there = way(13, 60, 177);
        with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
        study
    }

    fn of_receiver(record: &mut Record) -> impl Iterator<Item = &mut EndReport> {
        record.of_mut(Role::Receiver)
    }

    #[test]
    fn flows_that_each_have_the_same_are_limited_each_by_itself() {
        let of = |flows: u32, times: f64| of_study(&RULE, &with_flows(20, flows, times));
        let four = of(4, 4.0);
        assert!(is_found(&four), "{four:?}");
        assert!(is_found(&of(4, 3.3)));
        assert!(is_clear(&of(4, 1.0)), "a limit on all of them");
        assert!(is_clear(&of(4, 3.0)), "neither the one nor the other");
        assert!(is_clear(&of(2, 1.5)));
        assert!(is_unknown(&of_study(&RULE, &policed())), "one number of flows");
        let free = of_study(&RULE, &stream("tcp-stream"));
        assert!(is_idle(&free), "nothing limits it at a rate: {free:?}");
    }

    #[test]
    fn flows_that_something_else_holds_below_a_limit_on_all_are_not_limited_each() {
        // One flow has a quarter of what trains pass, and four have nine tenths of it.
        let shared = of_study(&RULE, &with_flows(5, 4, 3.6));
        assert!(is_unknown(&shared), "{shared:?}");
        let mut untold = with_flows(20, 4, 4.0);
        untold.trials.retain(|trial| trial.id.0 != "probe");
        untold.records.retain(|record| record.trial.0 != "probe");
        assert!(is_unknown(&of_study(&RULE, &untold)), "no trains");
        for end in untold.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.effective.congestion = Some("bbr".into());
        }
        assert!(is_found(&of_study(&RULE, &untold)), "one flow would take all");
        for end in untold.records[3..].iter_mut().flat_map(of_receiver) {
            end.flows[0].bytes.0 /= 2;
        }
        assert!(is_unknown(&of_study(&RULE, &untold)), "uneven");
    }

    fn controlled(records: &mut [Record], name: &str) {
        for end in records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.effective.congestion = Some(name.into());
        }
    }

    /// A stream of cubic that loses a twentieth, the same under bbr with so many times its rate,
    /// and four flows with so many times as much.
    fn under_both(bbr: f64, four: f64, lost: u64) -> Verdict {
        let mut study = policed();
        read(&mut study, "tcp-info", "flow0.retransmitted_segments", lost);
        let set = |study: &mut StoredStudy, from: usize, name: &str| {
            for end in study.records.iter_mut().skip(from).flat_map(|run| run.of_mut(Role::Sender))
            {
                end.effective.congestion = Some(name.into());
            }
        };
        set(&mut study, 0, "cubic");
        let first = study.records.len();
        with_beside(&mut study, |params| params.streams = 4, four);
        (study.trials[1].id, study.trials[1].label) = (TrialId("four".into()), "four".into());
        study.records[first..].iter_mut().for_each(|run| run.trial = TrialId("four".into()));
        let own: Vec<Record> = study.records[..first].to_vec();
        let all = std::mem::replace(&mut study.records, own);
        with_beside(&mut study, |params| params.congestion = Some("bbr".into()), bbr);
        controlled(&mut study.records[first..], "bbr");
        study.records.extend(all.into_iter().skip(first));
        of_study(&RULE, &study)
    }

    #[test]
    fn a_rate_that_no_control_changes_and_more_flows_exceed_is_of_each() {
        assert!(is_found(&under_both(1.04, 8.6, 20_000)));
        assert!(!is_found(&under_both(3.0, 8.6, 20_000)), "cubic is slow for its losses");
        assert!(!is_found(&under_both(1.04, 1.0, 20_000)), "a limit on all");
        assert!(!is_found(&under_both(1.04, 1.5, 20_000)), "each has three eighths");
        assert!(!is_found(&under_both(1.04, 3.0, 20_000)), "neither the one nor the other");
        assert!(!is_found(&under_both(1.04, 8.6, 1_000)), "it loses little");
    }

    #[test]
    fn uneven_flows_and_runs_are_not_limited_each() {
        let mut uneven = with_flows(20, 4, 4.0);
        for end in uneven.records.iter_mut().flat_map(of_receiver) {
            if let [first, second, ..] = end.flows.as_mut_slice() {
                let moved = first.bytes.0 / 2;
                first.bytes.0 -= moved;
                second.bytes.0 += moved;
            }
        }
        assert!(is_unknown(&of_study(&RULE, &uneven)), "one has a third of another");
        let mut apart = with_flows(20, 4, 4.0);
        for flow in of_receiver(&mut apart.records[3]).flat_map(|end| &mut end.flows) {
            flow.bytes.0 /= 2;
        }
        assert!(is_unknown(&of_study(&RULE, &apart)), "a run at half of the rate");
    }

    #[test]
    fn the_rate_of_a_flow_and_both_sums_are_told() {
        let Verdict::Found { findings } = of_study(&RULE, &with_flows(20, 4, 4.0)) else {
            panic!("not found")
        };
        let says = &findings[0].says;
        assert!(says.contains("one flow moved 20 Mb/s in all, 4 flows 80 Mb/s"), "{says}");
    }
}
