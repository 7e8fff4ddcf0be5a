//! `stream-state`: were the runs of a stream in different states?
//!
//! A stream inside one machine costs half of the CPU time where its two ends take turns on one CPU:
//! what the sender copied is still in that CPU's cache, and the receiver reads all that waits
//! before it sleeps. With a CPU each, every packet goes from one cache to the other and is
//! acknowledged sooner. A scheduler that is free to choose does now this, now that, so that runs of
//! one cell lie two times apart, and their median is that of neither. Which it was shows in
//! counters: on one CPU each time that one end stops the other goes on, so both stop equally often,
//! and an acknowledgement goes for all that came in a turn.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role, ThreadUsage};
use narrows_model::reading::keys;
use narrows_model::record::Record;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_stats::median;
use std::fmt;

pub static RULE: Rule = Rule {
    name: "stream-state",
    asks: "Were the runs of a stream in different states?",
    of_host: false,
    judge,
};

/// Where the two ends of a run worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Both on one CPU, one after the other.
    InTurns,
    /// Each on a CPU of its own, at the same time.
    Apart,
    /// Now this, now that, or what the counters do not tell.
    Between,
}

/// What was counted of one run; counts are of a gigabyte (10^9 bytes) that was received.
struct Counted {
    state: State,
    /// CPU time of the threads of both ends, in seconds.
    cpu_s: f64,
    /// Segments that the receiver sent: acknowledgements.
    acks: f64,
    /// Times that the sender's thread was put aside.
    preempted: f64,
    /// Times that the receiver's thread slept.
    slept: f64,
    /// Times that the sender's thread stopped, for each time that the receiver's did.
    turns: f64,
}

/// Both ends stop equally often, within so much: on one CPU 0.96 to 1.25 in 30 runs, on two 0.03 to
/// 0.7 in 40 of 46.
const TURNS: std::ops::RangeInclusive<f64> = 0.8..=1.25;
/// Acknowledgements for each time that the receiver stops: 1.0 to 1.5 on one CPU, 5.7 to 143 on
/// two.
const ACKS_IN_TURNS: f64 = 2.5;
const ACKS_APART: f64 = 5.0;
/// On one CPU the two ends cannot run for longer than the window; clocks are read a little apart.
const ONE_CPU: f64 = 1.05;
/// Fewer stops tell nothing.
const STOPS_MIN: f64 = 20.0;
/// A run that costs so many times what those of its state do is in another, of which nothing tells.
const OF_ONE_STATE: f64 = 1.5;
/// States are told apart by cost where the dearer takes so much more CPU time.
const APART_RATIO: f64 = 1.3;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::IsOneFlowInside);
    measured::judge(case, Needed::TcpInside, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_one_flow = cell.trial.params.flows() == 1;
    if !cell.is_tcp_stream() || !cell.summary.is_one_host() || !is_one_flow || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let mut runs: Vec<Counted> =
        cell.done.iter().filter_map(|record| counted(cell, record)).collect();
    leave_out_dear(&mut runs);
    if runs.is_empty() {
        return Err(cell.lacks(Measure::SwitchesOfBoth));
    }
    let [turns, apart] = [State::InTurns, State::Apart].map(|state| of(&runs, state));
    let seen = [describe(State::InTurns, &turns), describe(State::Apart, &apart)];
    let rest = runs.len() - turns.len() - apart.len();
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    let seen = seen.join("; ") + &between(rest, runs.len());
    let (Some(cheap), Some(dear)) = (cost(&turns), cost(&apart)) else {
        // All told runs are in one state: the others may be what the counters do not tell.
        return if 2 * rest < runs.len() {
            cell.saw(seen, None)
        } else {
            Err(cell.lacks(Measure::StatesByCounters))
        };
    };
    if dear < APART_RATIO * cheap {
        return Err(cell.lacks(Measure::StatesByCpuTime));
    }
    let says = format!(
        "Runs of {} were in two states, {:.1} times apart in CPU time: {} of {} with both ends in \
         turns on one CPU, {} with a CPU each{}",
        cell.trial.label,
        dear / cheap,
        turns.len(),
        runs.len(),
        apart.len(),
        match rest {
            0 => String::new(),
            some => format!(", {some} in between"),
        }
    );
    let remedy = "hold one of them: -A 0,1 gives each end a CPU of its own, -A 0,0 one to both; a \
                  median over both states is that of neither";
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Caution, says, seen, remedy)))
}

/// Runs in turns that cost far more than the others were disturbed in a way that the counters do
/// not tell.
fn leave_out_dear(runs: &mut [Counted]) {
    let Some(middle) = cost(&of(runs, State::InTurns)) else { return };
    for run in runs.iter_mut().filter(|run| run.state == State::InTurns) {
        if run.cpu_s > OF_ONE_STATE * middle {
            run.state = State::Between;
        }
    }
}

fn of(runs: &[Counted], state: State) -> Vec<&Counted> {
    runs.iter().filter(|run| run.state == state).collect()
}

fn cost(runs: &[&Counted]) -> Option<f64> {
    median(&runs.iter().map(|run| run.cpu_s).collect::<Vec<f64>>())
}

fn between(rest: usize, all: usize) -> String {
    match rest {
        0 => String::new(),
        _ => format!("; {rest} of {all} runs in between, or not classified"),
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InTurns => "in turns on one CPU",
            Self::Apart => "on a CPU each",
            Self::Between => "in between",
        })
    }
}

/// The runs of a state in words; `None` where there are none.
fn describe(state: State, runs: &[&Counted]) -> Option<String> {
    let middle = |value: fn(&Counted) -> f64| {
        median(&runs.iter().map(|run| value(run)).collect::<Vec<f64>>())
    };
    Some(format!(
        "{} runs with the ends {state}: {:.3} s of CPU time a GB, {:.0} acknowledgements, the \
         sender put aside {:.0} times, the receiver blocked {:.0} times; {:.2} stops of the sender \
         for each of the receiver",
        runs.len(),
        middle(|run| run.cpu_s)?,
        middle(|run| run.acks)?,
        middle(|run| run.preempted)?,
        middle(|run| run.slept)?,
        middle(|run| run.turns)?,
    ))
}

/// What was counted of a run; `None` where it has not all of it.
fn counted(cell: &Cell<'_>, record: &Record) -> Option<Counted> {
    let (sender, receiver) = (record.sender()?, record.receiver()?);
    let ([sends], [takes]) = (&*sender.threads, &*receiver.threads) else { return None };
    let (sent_gb, gb) = (bytes_of(sender) / 1e9, bytes_of(receiver) / 1e9);
    if sent_gb <= 0.0 || gb <= 0.0 {
        return None;
    }
    let acks = receiver.readings.total(keys::SENT)? as f64 / gb;
    let stops = (stops(sends) / sent_gb, stops(takes) / gb);
    let ran = ran_share(sends) + ran_share(takes);
    let mut run = Counted {
        state: State::Between,
        cpu_s: ran_s(sends) / sent_gb + ran_s(takes) / gb,
        acks,
        preempted: sends.involuntary_switches as f64 / sent_gb,
        slept: takes.voluntary_switches as f64 / gb,
        turns: stops.0 / stops.1.max(f64::MIN_POSITIVE),
    };
    let is_told = stops.0.max(stops.1) * gb >= STOPS_MIN;
    let in_turn = acks / stops.1.max(f64::MIN_POSITIVE);
    // A turn ends as the receiver has read all and sleeps; who is put aside is put aside by others.
    let is_own = takes.voluntary_switches >= takes.involuntary_switches;
    run.state = match bound(cell) {
        Some(state) => state,
        None if ran > ONE_CPU => State::Apart,
        None if !is_told => State::Between,
        None if is_own && TURNS.contains(&run.turns) && in_turn <= ACKS_IN_TURNS => State::InTurns,
        None if run.turns < *TURNS.start() && in_turn >= ACKS_APART => State::Apart,
        None => State::Between,
    };
    Some(run)
}

fn bytes_of(end: &EndReport) -> f64 {
    end.flows.iter().map(|flow| flow.bytes.0 as f64).sum::<f64>()
}

/// What the ends were bound to, where that alone tells.
fn bound(cell: &Cell<'_>) -> Option<State> {
    let flows = cell.trial.params.flows();
    let [takes, sends] = [Role::Receiver, Role::Sender].map(|role| cell.trial.place(role));
    if takes.is_free() || sends.is_free() {
        return None;
    }
    match (takes.taken(flows), sends.taken(flows)) {
        ([one], [other]) if one == other => Some(State::InTurns),
        ([_], [_]) => Some(State::Apart),
        _ => None,
    }
}

fn stops(thread: &ThreadUsage) -> f64 {
    thread.voluntary_switches as f64 + thread.involuntary_switches as f64
}

fn ran_s(thread: &ThreadUsage) -> f64 {
    (thread.user_ns.0 as f64 + thread.system_ns.0 as f64) / 1e9
}

fn ran_share(thread: &ThreadUsage) -> f64 {
    ran_s(thread) * 1e9 / thread.wall_ns.0.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle};
    use narrows_model::study::StoredStudy;
    use narrows_model::{Bytes, Nanos};

    /// Counts of one run as they were seen, a GB: CPU seconds of an end, acknowledgements, stops of
    /// the sender (blocked, put aside), of the receiver.
    type Seen = (f64, u64, [u64; 2], [u64; 2]);
    const IN_TURNS: Seen = (0.06, 1690, [215, 1176], [1392, 11]);
    const APART: Seen = (0.115, 9830, [68, 37], [1000, 4]);
    const MOVED: Seen = (0.08, 4600, [160, 803], [1327, 30]);

    fn study(runs: &[Seen]) -> StoredStudy {
        let mut study = stream("tcp-stream");
        let record = study.records[0].clone();
        let one = |(seen, repeat): (&Seen, u32)| {
            let (cpu_s, acks, sender, receiver) = seen;
            let mut record = Record { repeat, ..record.clone() };
            for (role, [slept, aside]) in [(Role::Sender, sender), (Role::Receiver, receiver)] {
                let end = record.of_mut(role).next().expect("an end");
                end.effective.machine = Some("one".into());
                end.flows[0].bytes = Bytes(1_000_000_000);
                let thread = &mut end.threads[0];
                thread.system_ns = Nanos((cpu_s * 1e9) as u64);
                (thread.voluntary_switches, thread.involuntary_switches) = (*slept, *aside);
                end.readings.put_words("tcp-info", "flow0.sent_segments", *acks);
            }
            record
        };
        study.records = runs.iter().zip(0..).map(one).collect();
        study
    }

    #[test]
    fn runs_in_two_states_are_found_and_those_in_one_are_clear() {
        let verdict = of_study(&RULE, &study(&[IN_TURNS, APART, IN_TURNS, MOVED, IN_TURNS]));
        let Verdict::Found { findings } = &verdict else { panic!("{verdict:?}") };
        let says = &findings[0].says;
        assert!(says.contains("two states, 1.9 times apart"), "{says}");
        assert!(says.contains("3 of 5 with both ends in turns"), "{says}");
        assert!(says.contains("1 with a CPU each, 1 in between"), "{says}");
        assert!(findings[0].evidence[0].says.contains("9830 acknowledgements"));
        for (runs, word) in [([IN_TURNS; 4], "in turns on one CPU"), ([APART; 4], "a CPU each")] {
            let verdict = of_study(&RULE, &study(&runs));
            assert!(is_clear(&verdict), "{verdict:?}");
            assert!(format!("{verdict:?}").contains(word), "{verdict:?}");
        }
    }

    #[test]
    fn what_the_counters_do_not_tell_is_unknown() {
        let moved = of_study(&RULE, &study(&[MOVED, MOVED, IN_TURNS]));
        assert!(matches!(moved, Verdict::Unknown { .. }), "{moved:?}");
        // Counters that differ where the cost does not are no states.
        let dear: Seen = (0.06, APART.1, APART.2, APART.3);
        let alike = of_study(&RULE, &study(&[IN_TURNS, dear, IN_TURNS]));
        assert!(matches!(alike, Verdict::Unknown { .. }), "{alike:?}");
        // Two threads that ran for longer than the window had two CPUs.
        let both: Seen = (0.6, IN_TURNS.1, IN_TURNS.2, IN_TURNS.3);
        assert!(is_found(&of_study(&RULE, &study(&[IN_TURNS, both]))));
    }

    #[test]
    fn runs_that_others_disturbed_are_not_told() {
        let says = |seen: Seen| {
            let verdict = of_study(&RULE, &study(&[IN_TURNS, IN_TURNS, IN_TURNS, seen]));
            assert!(is_clear(&verdict), "{verdict:?}");
            format!("{verdict:?}").contains("1 of 4 runs in between")
        };
        assert!(!says(IN_TURNS));
        assert!(says((0.36, 11_575, [343, 9_136], [9_333, 57])), "six times the cost");
        assert!(says((0.06, 3_468, [355, 7_269], [0, 9_197])), "the receiver never slept");
    }

    #[test]
    fn two_hosts_share_no_cpu() {
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
