//! Which phase of a run a request was due in: by when this host's ends opened their windows, all by
//! one clock.

use narrows_model::load::EndReport;
use narrows_model::options::trips;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::{Nanos, options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A phase of a run, in the order of time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before any load.
    Idle,
    /// This host sends.
    Up,
    /// Both hosts send.
    Both,
    /// The other host sends.
    Down,
    /// After the loads.
    After,
}

impl Phase {
    /// All phases, in the order of time.
    pub const ALL: [Self; 5] = [Self::Idle, Self::Up, Self::Both, Self::Down, Self::After];

    /// Its word in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Up => "up",
            Self::Both => "both",
            Self::Down => "down",
            Self::After => "after",
        }
    }

    /// Whether streams run beside its round trips.
    pub fn is_loaded(self) -> bool {
        matches!(self, Self::Up | Self::Both | Self::Down)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A stretch of a run, from the opening of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub from: u64,
    pub until: u64,
}

impl Span {
    fn has(self, at: u64) -> bool {
        (self.from..self.until).contains(&at)
    }
}

/// A load beside the round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// From its first byte until its queue should have drained.
    pub on: Span,
    /// While it counts: its streams have found their rate.
    pub counts: Span,
}

impl Load {
    fn of(record: &Record, trial: &Trial, probe: &EndReport) -> Option<Self> {
        let here = if trial.params.is_reverse() { record.receiver() } else { record.sender() };
        let here = here.filter(|end| end.opened_ns > Nanos(0))?;
        let settle = trial.timeline.warmup_ns.0;
        let from = here.opened_ns.0.checked_sub(probe.opened_ns.0)?;
        let until = from.saturating_add(here.window_ns.0);
        let on = Span { from: from.checked_sub(settle)?, until: until.saturating_add(settle) };
        Some(Self { on, counts: Span { from, until } })
    }
}

/// One run with its loads.
pub(super) struct Run<'a> {
    /// When each request was due, and how long its round trip took.
    pub each: &'a [(Nanos, Option<Nanos>)],
    pub window_ns: u64,
    pub up: Load,
    pub down: Load,
}

impl Run<'_> {
    /// When a phase was.
    pub fn span(&self, phase: Phase) -> Span {
        let (up, down) = (self.up, self.down);
        match phase {
            Phase::Idle => Span { from: 0, until: up.on.from.min(down.on.from) },
            Phase::Up => Span { from: up.counts.from, until: up.counts.until.min(down.on.from) },
            Phase::Both => Span {
                from: up.counts.from.max(down.counts.from),
                until: up.counts.until.min(down.counts.until),
            },
            Phase::Down => Span { from: up.on.until, until: down.counts.until },
            Phase::After => Span { from: up.on.until.max(down.on.until), until: self.window_ns },
        }
    }

    /// Times of the round trips of a phase that were answered, and how many were not.
    pub fn times(&self, phase: Phase) -> (Vec<Nanos>, u64) {
        let span = self.span(phase);
        let of = || self.each.iter().filter(move |(due, _)| span.has(due.0));
        let times: Vec<Nanos> = of().filter_map(|(_, took)| *took).collect();
        let unanswered = of().count() - times.len();
        (times, unanswered as u64)
    }
}

/// The runs of a study that were made to the end; empty for a study of anything else.
pub(super) fn runs(study: &StoredStudy) -> Vec<Run<'_>> {
    let overlaps = |trial: &&Trial| trips::OVERLAP.of(&trial.params).unwrap_or(false);
    let beside = |reverse: bool| {
        study.trials.iter().find(|trial| {
            options::runs::AFTER.of(&trial.params).is_some() && trial.params.is_reverse() == reverse
        })
    };
    let Some(((probe, up), down)) =
        study.trials.iter().find(overlaps).zip(beside(false)).zip(beside(true))
    else {
        return Vec::new();
    };
    study.records_of(probe).filter_map(|record| run(study, record, [up, down])).collect()
}

/// One run, with the loads of the same repeat.
fn run<'a>(study: &'a StoredStudy, record: &'a Record, loads: [&Trial; 2]) -> Option<Run<'a>> {
    let report = record.sender().filter(|_| record.outcome == Outcome::Done)?;
    let [up, down] = loads.map(|trial| {
        let beside = study.records_of(trial).find(|other| {
            (other.repeat, other.block) == (record.repeat, record.block)
                && other.outcome == Outcome::Done
        });
        Load::of(beside?, trial, report)
    });
    let each = report.each_round_trip.as_slice();
    Some(Run { each, window_ns: report.window_ns.0, up: up?, down: down? })
}
