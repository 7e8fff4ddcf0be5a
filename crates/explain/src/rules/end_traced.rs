//! `end-traced`: does a debugger or strace hold up the program of an end?
//!
//! A traced thread stops at the entry and at the exit of each system call and waits until the
//! tracer lets it go (ptrace(2)): a call of a microsecond costs tens, and round trips become
//! several times as long. Forgotten strace, debuggers and agents that watch system calls do it. The
//! kernel says so of each thread (`TracerPid`). A tracer that lets calls pass costs nothing: that a
//! thread gave up its CPU for each of them, and again, shows that it stops.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role, Tracing};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

/// Whether something traces the program of an end.
pub static RULE: Rule = Rule {
    name: "end-traced",
    asks: "Does a debugger or strace hold up the program of an end?",
    of_host: false,
    judge,
};

/// A call that waits gives up the CPU once, one that is traced twice more.
const STOPS: f64 = 1.5;
const ENDS: [(Role, &str); 2] = [(Role::Receiver, "receiver"), (Role::Sender, "sender")];

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Network, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.is_probe() {
        return Err(Blind::OtherKind);
    }
    let all: Vec<Told<'_>> =
        ENDS.into_iter().filter_map(|(role, at)| told(cell, role, at)).collect();
    let traced = all.iter().find(|told| told.is_usual());
    let Some(told) = traced.or_else(|| all.first()) else {
        return Err(cell.lacks(Measure::Tracing));
    };
    if traced.is_none() && all.len() < ENDS.len() {
        return Err(cell.lacks(Measure::Tracing));
    }
    let seen = format!(
        "the {}'s process was traced in {} of {} runs (TracerPid of its threads)",
        told.at, told.runs, told.of
    );
    let wrong = traced.map(|told| {
        let by = told.by.map_or("another program".to_owned(), |by| format!("{by:?}"));
        let stops = told.stops.filter(|stops| *stops >= STOPS);
        let cost = stops.map_or("each of its system calls may stop it twice".to_owned(), |stops| {
            format!("it gave up its CPU {stops:.1} times for each system call")
        });
        let says =
            format!("The {}'s program is traced by {by} in {}: {cost}", told.at, cell.trial.label);
        let remedy = format!(
            "detach {by} from the {}'s program (TracerPid in /proc/PID/status names it): strace, a \
             debugger, an agent that watches system calls; what runs under strace runs slowly \
             whatever is tuned",
            told.at
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// What the runs tell of one end.
struct Told<'a> {
    at: &'static str,
    /// Runs in which it was traced.
    runs: usize,
    /// Runs that tell.
    of: usize,
    by: Option<&'a str>,
    /// Times that its threads gave up their CPUs for each system call, of the median run.
    stops: Option<f64>,
}

impl Told<'_> {
    /// What was attached for one run of several is not what the figure is of.
    fn is_usual(&self) -> bool {
        2 * self.runs > self.of
    }
}

fn told<'a>(cell: &Cell<'a>, role: Role, at: &'static str) -> Option<Told<'a>> {
    let runs = cell.done.iter();
    let ends = runs.filter_map(|record| record.of(role).next()?.tracing.as_ref());
    let all: Vec<&Tracing> = ends.collect();
    let traced: Vec<&&Tracing> = all.iter().filter(|look| look.traced > 0).collect();
    let by = traced.iter().find_map(|look| look.by.as_deref());
    let stops = match role {
        Role::Sender => cell.of_sender(stops),
        _ => cell.of_receiver(stops),
    };
    (!all.is_empty()).then_some(Told { at, runs: traced.len(), of: all.len(), by, stops })
}

/// Times that the threads of an end gave up their CPUs for each system call.
fn stops(end: &EndReport) -> Option<f64> {
    let calls: u64 = end.flows.iter().map(|flow| flow.calls).sum();
    let given_up: u64 = end.threads.iter().map(|thread| thread.voluntary_switches).sum();
    (calls > 0).then(|| given_up as f64 / calls as f64)
}

/// Whether an end is traced and stops at its calls.
pub fn is_stopped(cell: &Cell<'_>) -> bool {
    ENDS.into_iter()
        .filter_map(|(role, at)| told(cell, role, at))
        .any(|told| told.is_usual() && told.stops.is_some_and(|stops| stops >= STOPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_unknown};

    /// A study whose ends' programs were traced in so many of three runs; `None`: not read.
    fn of(receiver: Option<u32>, sender: Option<u32>) -> Verdict {
        let mut study = stream("tcp-rr");
        for (number, record) in (0..).zip(&mut study.records) {
            for (role, runs) in [(Role::Receiver, receiver), (Role::Sender, sender)] {
                let look = runs.map(|runs| Tracing {
                    threads: 3,
                    traced: if number < runs { 3 } else { 0 },
                    by: (number < runs).then(|| "strace".into()),
                });
                record.of_mut(role).for_each(|end| end.tracing = look.clone());
            }
        }
        of_study(&RULE, &study)
    }

    #[test]
    fn the_end_and_its_tracer_are_named() {
        let Verdict::Found { findings } = of(Some(3), Some(0)) else { panic!("found") };
        let says = &findings[0].says;
        assert!(says.contains("receiver's program is traced by \"strace\""), "{says}");
        assert!(findings[0].remedy.starts_with("detach \"strace\""), "{findings:?}");
        let sender = of(None, Some(3));
        assert!(format!("{sender:?}").contains("sender's program"), "{sender:?}");
        assert!(is_clear(&of(Some(0), Some(0))));
        assert!(is_clear(&of(Some(1), Some(0))), "one run of three");
        assert!(is_unknown(&of(Some(0), None)), "an older agent");
        assert!(is_unknown(&of(None, None)));
    }
}
