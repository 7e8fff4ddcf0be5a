//! What a direct measurement asks further where its answer is a symptom, or where a slow stream has
//! none: a probe of the path. That something is lost does not say whether at random, by a policer
//! or in a queue that is too short: the probe tells, and a UDP stream at half of its pace, with
//! datagrams of another size, and one by one; of a TCP stream that loses segments the same at half
//! of its rate and with another congestion control; of what is policed the same stream with another
//! number of flows; of datagrams that are lost TCP at their pace; of round trips after pauses the
//! same one after the other; and of each that has a class, where the path limits it in any way, the
//! same in best effort. Of a TCP stream that `--explain` finds held at a rate, datagrams at twice
//! that.

use super::measurement::{Measurement, Opened};
use super::variants::{
    at_once, best_effort, control, one_by_one, other_flows, other_size, over_tcp, over_udp, slower,
};
use crate::failure::Failure;
use crate::output::{self, Planned};
use narrows_explain::limits::{Limit, Sureness};
use narrows_explain::names;
use narrows_model::host::Host;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_plan::{Step, direct as plan};
use narrows_report::Analysis;
use narrows_runner::controller::Controller;
use narrows_runner::{CourseEnd, RunError};

/// Runs of each trial that is added. One probe has ten trains, of which six tell.
const REPEATS: u32 = 2;

/// What is said on standard error before it begins.
const SAYS: &str = "what limits it (loss, a policer or the like) is a symptom: probing the path \
                    for its cause";
/// The same where nothing is known to limit it.
const SAYS_NOTHING: &str = "nothing that was counted explains the rate: probing the path for what \
                            it carries";
/// The same where a rate of the path holds TCP.
const SAYS_TWICE: &str =
    "something on the path holds TCP at a rate: sending datagrams at twice that";
/// Packet trains come no faster than some Gb/s through any host: what a faster stream has of the
/// path they cannot tell.
const SLOW_BPS: f64 = 3e9;

/// Makes the runs of a measurement, and those that its answer calls for; how they ended.
pub fn course(
    measurement: &Measurement<'_>,
    opened: &mut Opened,
    steps: &[Step],
) -> Result<CourseEnd, Failure> {
    let mut ran = make(measurement, opened, steps)?;
    if matches!(ran, Ok(CourseEnd::Complete)) {
        let more = more(measurement, opened)?;
        if !more.trials.is_empty() {
            note!("{}", more.says);
            let more = more.trials;
            opened.store.put_more(&more, &[])?;
            let first = opened.trials.len();
            opened.trials.extend(more);
            ran = make(measurement, opened, &added(steps, first..opened.trials.len()))?;
        }
    }
    output::ended(&opened.store, ran, &opened.stop)
}

/// The runs of trials that were added, after all that were planned.
fn added(steps: &[Step], trials: std::ops::Range<usize>) -> Vec<Step> {
    let first = steps.iter().map(|step| step.block + 1).max().unwrap_or(0);
    (0..REPEATS)
        .flat_map(|repeat| {
            trials.clone().map(move |trial| Step { trial, repeat, block: first + repeat })
        })
        .collect()
}

fn make(
    measurement: &Measurement<'_>,
    opened: &mut Opened,
    steps: &[Step],
) -> Result<Result<CourseEnd, RunError>, Failure> {
    let Opened { far, study, trials, store, stop, .. } = opened;
    let launcher = measurement.launcher()?;
    let mut controller =
        Controller { launcher, ends: far.ends(), together: study.together, stop, onlooker: None };
    let planned = Planned { study, trials, steps, store };
    Ok(output::run_steps(&mut controller, &planned, &measurement.peer.out))
}

/// Trials that are added.
#[derive(Default)]
struct More {
    trials: Vec<Trial>,
    /// Why, on standard error before they begin.
    says: &'static str,
}

/// The trials that tell more, where there is one cell whose limit is a symptom or not known and
/// whose agent can run them. A program that reads a table has asked for these runs, in this time,
/// and a stream of JSON has named its trials before.
fn more(measurement: &Measurement<'_>, opened: &Opened) -> Result<More, Failure> {
    let Some(trial) = opened.trials.first() else { return Ok(More::default()) };
    let is_alone = opened.trials.len() == 1;
    let is_plain = trial.pairs().count() == 1 && trial.controllers().is_some();
    let out = &measurement.peer.out;
    let is_wanted = is_plain && (is_alone || measurement.explain);
    if !is_wanted || !out.is_for_people() || !opened.far.has_agents() {
        return Ok(More::default());
    }
    let stored = narrows_store::read(&opened.file)?;
    let analysis = Analysis::of(&stored);
    let reached = analysis.summaries.first().and_then(|summary| summary.estimate.as_ref());
    let reached_bps = reached.map_or(0.0, |estimate| estimate.value);
    let sender =
        if trial.params.is_reverse() { opened.peer_hosts.first() } else { Some(&opened.host) };
    let mut more = if is_alone {
        unasked(trial, &analysis.limits, reached_bps, sender)
    } else {
        // The rest was planned before there was a rate.
        let own: Vec<&Limit> =
            analysis.limits.iter().filter(|limit| limit.cell == trial.label).collect();
        let trials = of_rates(trial, &own, reached_bps).into_iter().collect();
        More { trials, says: SAYS_TWICE }
    };
    more.trials.retain(|trial| opened.far.can(std::slice::from_ref(trial)).is_ok());
    Ok(more)
}

/// What is asked where nobody asked for more than one trial.
fn unasked(trial: &Trial, limits: &[Limit], reached_bps: f64, sender: Option<&Host>) -> More {
    let mut trials = asked(trial, limits);
    trials.extend(of_losses(trial, limits, reached_bps, sender));
    if trials.is_empty() && is_unexplained(trial, limits, reached_bps) {
        return More { trials: vec![plan::probe(trial)], says: SAYS_NOTHING };
    }
    More { trials, says: SAYS }
}

/// Whether nothing is known to limit a stream that is as fast as it goes, and slow.
fn is_unexplained(trial: &Trial, limits: &[Limit], reached_bps: f64) -> bool {
    let is_free = trial.params.rate_bps.is_none_or(|rate| rate == 0);
    let is_stream = [Workload::TCP_STREAM, Workload::UDP_STREAM].contains(&trial.kind);
    // A window that opens slowly says nothing of the path.
    let is_told = |limit: &Limit| {
        limit.is_named() && (limit.rule.is_some() || limit.sureness != Sureness::Inferred)
    };
    is_stream && is_free && reached_bps < SLOW_BPS && !limits.iter().any(is_told)
}

/// What these limits of a trial call for.
fn asked(trial: &Trial, limits: &[Limit]) -> Vec<Trial> {
    let is_of = |rules: &[&str]| {
        limits.iter().any(|limit| limit.rule.as_deref().is_some_and(|rule| rules.contains(&rule)))
    };
    let probe = || [plan::probe(trial)];
    if !limits.iter().any(Limit::is_symptom) {
        // What carries so much of one class may carry more of another.
        let class = best_effort(trial).filter(|_| is_of(&CAPACITIES));
        // A path that sleeps makes round trips long after each pause alone.
        let trips = at_once(trial).filter(|_| is_of(&[names::ROUND_TRIP_TIME]));
        let more = class.into_iter().chain(trips);
        return more.flat_map(|one| [one].into_iter().chain(probe())).collect();
    }
    let is_policed = is_of(&[names::PATH_POLICED, names::PATH_VOLUME]);
    let flows = other_flows(trial).filter(|_| is_policed);
    let others = slower(trial).into_iter().chain(other_size(trial)).chain(one_by_one(trial));
    others.chain(over_tcp(trial)).chain(flows).chain(best_effort(trial)).chain(probe()).collect()
}

/// A slower stream sends too few segments at half of its rate to tell what becomes of them.
const HALVED_MIN_BPS: f64 = 1e6;

/// What tells a rate of the path, and a queue too short for bursts, from losses at random: the
/// stream at half of its rate, and with another congestion control.
fn of_losses(
    trial: &Trial,
    limits: &[Limit],
    reached_bps: f64,
    sender: Option<&Host>,
) -> Vec<Trial> {
    let is_lossy = limits.iter().any(|one| one.rule.as_deref() == Some(names::TCP_RETRANSMITS));
    let is_free = trial.params.rate_bps.is_none_or(|rate| rate == 0);
    if !is_lossy || !is_free || trial.kind != Workload::TCP_STREAM {
        return Vec::new();
    }
    let is_fast = reached_bps >= HALVED_MIN_BPS;
    let half = is_fast.then(|| plan::paced(trial, (reached_bps / 2.0) as u64));
    let senders: Vec<&Host> = sender.into_iter().collect();
    half.into_iter().chain(control(std::slice::from_ref(trial), &senders)).collect()
}

/// Datagrams at more than this cost the ends much.
const DOUBLED_MAX_BPS: f64 = 400e6;

/// What tells a rate of TCP alone from one of the path: datagrams at twice what TCP has. They give
/// way to nobody, so that they are sent where somebody has asked for what explains.
fn of_rates(trial: &Trial, limits: &[&Limit], reached_bps: f64) -> Option<Trial> {
    let rates: Vec<&str> = CAPACITIES.into_iter().chain([names::PATH_POLICED]).collect();
    let is_rate = |limit: &&Limit| limit.rule.as_deref().is_some_and(|rule| rates.contains(&rule));
    let is_held = limits.iter().any(is_rate) && 2.0 * reached_bps <= DOUBLED_MAX_BPS;
    is_held.then(|| over_udp(trial, reached_bps)).flatten()
}

/// Limits that are a capacity of the path.
const CAPACITIES: [&str; 3] =
    [names::PATH_CAPACITY, names::PATH_PACKET_RATE, names::PATH_RATE_LIMIT];

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, SocketParams};
    use narrows_model::workload::Workload;
    use narrows_model::{Bytes, Nanos};

    /// A trial between two hosts.
    fn between(kind: &Workload) -> Trial {
        let line = narrows_model::load::Timeline::new(Nanos(0), Nanos(1), Nanos(0));
        let params = Params::of_network(Bytes(65_536), 1);
        narrows_plan::mesh::trial((0, 1), kind, &params, line, &["n1".into(), "n2".into()])
    }

    /// A limit that a rule names.
    fn limit_by(rule: &str) -> Limit {
        Limit {
            cell: "tcp-stream".into(),
            rule: Some(rule.into()),
            what: String::new(),
            sureness: Sureness::Inferred,
            excludes: Vec::new(),
            next: None,
            action: None,
            worth: None,
            second: None,
        }
    }

    #[test]
    fn a_stream_of_a_class_that_the_path_limits_is_run_in_best_effort() {
        let of = |dscp: Option<u8>, rule: &str| {
            let mut trial = between(&Workload::TCP_STREAM);
            trial.params.socket = Some(SocketParams { dscp, ..SocketParams::default() });
            let all = asked(&trial, &[limit_by(rule)]);
            let class = |one: &Trial| one.params.socket.as_ref().and_then(|socket| socket.dscp);
            all.iter().map(|one| (one.kind.to_string(), class(one))).collect::<Vec<_>>()
        };
        let classes = |of: Vec<(String, Option<u8>)>| {
            of.into_iter()
                .filter(|(kind, _)| kind == "tcp-stream")
                .map(|(_, class)| class)
                .collect()
        };
        let best: Vec<Option<u8>> = classes(of(Some(8), names::PATH_CAPACITY));
        assert_eq!(best, [Some(0)]);
        assert!(of(Some(8), names::PATH_CAPACITY).iter().any(|(kind, _)| kind == "path-probe"));
        assert!(of(None, names::PATH_CAPACITY).is_empty(), "no class");
        assert!(of(Some(8), names::RECEIVE_WINDOW).is_empty(), "not of the path");
        assert_eq!(of(None, names::TCP_RETRANSMITS).len(), 1, "a symptom is probed");
        let best: Vec<Option<u8>> = classes(of(Some(8), names::TCP_RETRANSMITS));
        assert_eq!(best, [Some(0)]);
    }

    #[test]
    fn what_bursts_and_pauses_do_is_asked_by_runs_without_them() {
        use narrows_model::load::{StreamParams, TripParams};
        let mut bursts = between(&Workload::UDP_STREAM);
        bursts.params.rate_bps = Some(150_000_000);
        let sender = Some("gso".to_owned());
        bursts.params.stream = Some(StreamParams { sender, ..StreamParams::default() });
        let asked_by = |trial: &Trial, rule: &str| asked(trial, &[limit_by(rule)]);
        let sent_by = |one: &Trial| one.params.stream.as_ref()?.sender.clone();
        let all = asked_by(&bursts, names::DATAGRAMS_DROPPED);
        let single = all.iter().find(|one| sent_by(one).as_deref() == Some("send"));
        assert_eq!(single.and_then(|one| one.params.rate_bps), Some(150_000_000));
        let mut paused = between(&Workload::TCP_RR);
        paused.params.trip = Some(TripParams { per_second: Some(5), ..TripParams::default() });
        let all = asked_by(&paused, names::ROUND_TRIP_TIME);
        let [at_once, probe] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!(at_once.params.trip, None);
        assert_eq!(probe.kind, Workload::PathProbe);
        assert!(asked_by(&paused, names::PACKET_COST).is_empty());
    }

    #[test]
    fn the_other_protocol_is_asked_at_the_same_pace_or_twice_the_rate() {
        let mut datagrams = between(&Workload::UDP_STREAM);
        (datagrams.params.rate_bps, datagrams.params.message_bytes) =
            (Some(30_000_000), Bytes(1448));
        let tcp = |of: &Trial| {
            let all = asked(of, &[limit_by(names::DATAGRAMS_DROPPED)]);
            let tcp = all.into_iter().find(|one| one.kind == Workload::TCP_STREAM);
            tcp.map(|one| (one.params.rate_bps, one.params.message_bytes))
        };
        assert_eq!(tcp(&datagrams), Some((Some(30_000_000), Bytes(1448))));
        datagrams.params.message_bytes = Bytes(200);
        assert_eq!(tcp(&datagrams), None, "more packets than TCP's");
        let twice = |of: &Trial, rule: &str, reached_bps: f64| {
            let one = of_rates(of, &[&limit_by(rule)], reached_bps)?;
            assert_eq!(one.kind, Workload::UDP_STREAM);
            one.params.rate_bps
        };
        let mut stream = between(&Workload::TCP_STREAM);
        for rule in [names::PATH_POLICED, names::PATH_CAPACITY] {
            assert_eq!(twice(&stream, rule, 20e6), Some(40_000_000), "{rule}");
        }
        assert_eq!(twice(&stream, names::RECEIVE_WINDOW, 20e6), None, "not of the path");
        assert_eq!(twice(&stream, names::PATH_POLICED, 900e6), None, "it costs the ends much");
        stream.params.rate_bps = Some(20_000_000);
        assert_eq!(twice(&stream, names::PATH_POLICED, 20e6), None, "it was asked for");
    }

    #[test]
    fn a_stream_that_loses_runs_at_half_of_its_rate_and_with_another_control() {
        use narrows_model::Fact;
        let mut host = Host::default();
        for (name, value) in [
            ("net.ipv4.tcp_congestion_control", "cubic"),
            ("net.ipv4.tcp_available_congestion_control", "cubic bbr"),
        ] {
            host.tuning.insert(name.to_owned(), Fact::known(value.to_owned(), "test"));
        }
        let of = |kind: &Workload, rate_bps: Option<u64>, rule: &str, reached_bps: f64| {
            let mut trial = between(kind);
            trial.params.rate_bps = rate_bps;
            let more = of_losses(&trial, &[limit_by(rule)], reached_bps, Some(&host));
            let told = more.into_iter().map(|one| (one.params.rate_bps, one.params.congestion));
            told.collect::<Vec<(Option<u64>, Option<String>)>>()
        };
        let bbr = || (None, Some("bbr".to_owned()));
        let tcp = &Workload::TCP_STREAM;
        assert_eq!(of(tcp, None, names::TCP_RETRANSMITS, 4e6), [(Some(2_000_000), None), bbr()]);
        assert_eq!(of(tcp, None, names::TCP_RETRANSMITS, 4e5), [bbr()], "too few segments");
        assert!(of(tcp, Some(1), names::TCP_RETRANSMITS, 4e6).is_empty(), "a pace of its own");
        assert!(of(tcp, None, names::PATH_CAPACITY, 4e6).is_empty(), "nothing lost");
        assert!(of(&Workload::UDP_STREAM, None, names::TCP_RETRANSMITS, 4e6).is_empty());
    }

    #[test]
    fn a_slow_stream_that_nothing_explains_is_probed() {
        let of = |kind: &Workload, rate_bps: Option<u64>, sureness: Sureness, reached_bps: f64| {
            let mut trial = between(kind);
            trial.params.rate_bps = rate_bps;
            let limit = Limit { sureness, ..limit_by(names::SENDER_PACING) };
            is_unexplained(&trial, &[limit], reached_bps)
        };
        let (tcp, possible) = (&Workload::TCP_STREAM, Sureness::Possible);
        assert!(of(tcp, None, possible, 19e6));
        assert!(of(tcp, None, Sureness::Unexplained, 0.0), "nothing came");
        assert!(of(&Workload::UDP_STREAM, Some(0), possible, 19e6));
        assert!(!of(tcp, None, Sureness::Counted, 19e6), "it is known");
        let window = Limit { rule: None, ..limit_by(names::SENDER_PACING) };
        assert!(is_unexplained(&between(tcp), &[window], 19e6), "a window that opens slowly");
        assert!(!of(tcp, None, possible, 3e9), "no train is as fast");
        assert!(!of(tcp, Some(20_000_000), possible, 19e6), "it was asked for");
        assert!(!of(&Workload::TCP_RR, None, possible, 5e-6));
    }

    #[test]
    fn what_is_added_runs_after_all_that_was_planned() {
        let planned: Vec<Step> = (0..3).map(|n| Step { trial: 0, repeat: n, block: n }).collect();
        let steps = added(&planned, 1..3);
        let of: Vec<_> = steps.iter().map(|step| (step.trial, step.repeat, step.block)).collect();
        assert_eq!(of, [(1, 0, 3), (2, 0, 3), (1, 1, 4), (2, 1, 4)]);
    }
}
