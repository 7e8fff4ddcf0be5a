//! What a study would run here, and what it cannot: in words, before anything is run.

use crate::failure::Failure;
use crate::output;
use narrows_model::Bytes;
use narrows_model::study::Spread;
use narrows_model::trial::Trial;
use narrows_plan::study::Left;
use narrows_runner::{Defined, Schedule, SessionPlan};
use std::collections::BTreeMap;

/// Bytes of a stored run, about, with one flow and tenths of a second of a second's window (as
/// files of this version are).
const RECORD_BYTES: u64 = 6_000;
/// Bytes more for each flow or slice.
const SLICE_BYTES: u64 = 150;

/// Says what would be run; `path` is what joins the ends, in words.
pub fn print(
    defined: &Defined,
    plan: &SessionPlan,
    schedule: &Schedule<'_>,
    path: &str,
) -> Result<u8, Failure> {
    let (runs, seconds) = schedule.runs_left();
    let cut = schedule.cut();
    let mut text = format!(
        "{}: {} cells, {runs} runs fit this machine, {}, about {}; network cells go {path}; seed \
         {}\n",
        defined.definition.name,
        defined.cells.len(),
        output::lasting(seconds),
        Bytes(bytes(plan, schedule)),
        cut.seed,
    );
    for step in schedule.next_block() {
        let trial = &plan.trials[step.trial];
        text += &format!("  block {}, run {}: {}\n", step.block, step.repeat, trial.label);
    }
    text += &format!("then again, in another order, up to {} runs a cell\n", cut.repeats);
    if let Some(Spread { sessions, apart_minutes }) = &cut.spread {
        text += &format!("in {sessions} sessions, at least {apart_minutes} minutes apart\n");
    }
    text += &cannot(plan);
    let elsewhere = schedule.elsewhere(plan);
    for change in plan.changes(defined, &elsewhere, &BTreeMap::new()) {
        text += &format!("by hand: {change}\n");
    }
    output::print(&text)?;
    Ok(0)
}

/// Bytes that the runs left will take on disk.
fn bytes(plan: &SessionPlan, schedule: &Schedule<'_>) -> u64 {
    let cells = plan.trials.iter().zip(schedule.all_left()).enumerate();
    let fitting = cells.filter(|(cell, _)| schedule.fits(*cell));
    fitting
        .map(|(_, (trial, left))| match left {
            Left::Runs(n) => u64::from(n) * record_bytes(trial),
            _ => 0,
        })
        .sum()
}

fn record_bytes(trial: &Trial) -> u64 {
    let slices = trial.timeline.window_ns.0 / 100_000_000;
    let pairs = trial.pairs().count().max(1) as u64;
    pairs * (RECORD_BYTES + SLICE_BYTES * (2 * slices + 4 * u64::from(trial.params.flows())))
}

/// Cells that cannot run whatever is done by hand, each reason once.
pub fn cannot(plan: &SessionPlan) -> String {
    let mut whys = BTreeMap::<&str, Vec<&str>>::new();
    for (trial, why) in plan.trials.iter().zip(&plan.missing) {
        if let Some(why) = why {
            whys.entry(why).or_default().push(&trial.label);
        }
    }
    whys.into_iter()
        .map(|(why, labels)| {
            let first = labels.first().copied().unwrap_or_default();
            let cells = narrows_report::words::counted(labels.len(), "cell");
            format!("cannot run: {cells} such as '{first}': {why}\n")
        })
        .collect()
}
