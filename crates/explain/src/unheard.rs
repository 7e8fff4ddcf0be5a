//! Cells whose ends did not find each other in any run, though the same traffic in another class of
//! packets passes: what the path does with a class that it drops. No run of such a cell has
//! counters.

use crate::Case;
use crate::beside::factors_apart;
use narrows_model::load::{Params, SocketParams};
use narrows_model::record::{Fault, Outcome, Stage};
use narrows_model::trial::Trial;

/// A cell that lost all of its runs, and the class in which the same traffic passes.
pub struct Unheard<'a> {
    pub trial: &'a Trial,
    /// Runs that were lost.
    pub runs: usize,
    /// The class that was asked for (RFC 2474).
    pub dscp: u8,
    /// The class that passes.
    pub passes: u8,
}

/// The cells of which none of several runs, or the only one, came to be.
pub fn unheard<'a>(case: &Case<'a>) -> Vec<Unheard<'a>> {
    let trials = &case.study.trials;
    let found = trials.iter().filter_map(|trial| {
        let runs = lost(case, trial)?;
        let dscp = class(&trial.params);
        let alike = |other: &&Trial| {
            other.kind == trial.kind
                && other.ends == trial.ends
                && other.path == trial.path
                && other.timeline == trial.timeline
                && other.engine.is_none()
                && factors_apart(other, trial) <= 1
                && by_hand(case).all(|factor| other.level(factor) == trial.level(factor))
                && class(&other.params) != dscp
                && bare(&other.params) == bare(&trial.params)
                && passes(case, other)
        };
        let passes = class(&trials.iter().find(alike)?.params);
        Some(Unheard { trial, runs, dscp, passes })
    });
    found.collect()
}

/// Factors that are changed by hand, whose levels leave no other trace.
fn by_hand<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    case.study.sessions.iter().flat_map(|session| session.levels.keys().map(String::as_str))
}

/// Runs of a cell in which the ends did not meet before its start; `None` where one ended in any
/// other way, or there is none.
fn lost(case: &Case<'_>, trial: &Trial) -> Option<usize> {
    let is_apart = |outcome: &Outcome| {
        matches!(
            outcome,
            Outcome::Failed { fault: Fault::Apart, at: Stage::Start | Stage::Prepare, .. }
        )
    };
    let mut runs = 0;
    for record in case.study.records_of(trial) {
        is_apart(&record.outcome).then_some(())?;
        runs += 1;
    }
    (runs > 0).then_some(runs)
}

/// Whether runs of a cell were made, and none was lost.
fn passes(case: &Case<'_>, trial: &Trial) -> bool {
    let mut records = case.study.records_of(trial).peekable();
    records.peek().is_some() && records.all(|record| record.outcome == Outcome::Done)
}

/// The class that packets have: 0, best effort, where none was asked for.
pub fn class(params: &Params) -> u8 {
    params.socket.as_ref().and_then(|socket| socket.dscp).unwrap_or(0)
}

/// The same in no class.
pub fn bare(params: &Params) -> Params {
    let socket = SocketParams { dscp: None, ..params.socket.clone().unwrap_or_default() };
    Params { socket: Some(socket), ..params.clone() }
}
