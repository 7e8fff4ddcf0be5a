//! What a study would run here, and what it cannot: in words, before anything is run.

use crate::failure::Failure;
use crate::output;
use narrows_model::Bytes;
use narrows_model::study::Spread;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_plan::study::Left;
use narrows_report::words;
use narrows_runner::{Defined, Schedule, SessionPlan};
use std::collections::{BTreeMap, BTreeSet};

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
    let path = inside(&plan.trials).unwrap_or(path);
    let (runs, seconds) = schedule.runs_left();
    let cut = schedule.cut();
    let mut text = format!(
        "{}: {}, {runs} runs fit this machine, {}, about {}; network cells go {path}; seed \
         {}\n",
        defined.definition.name,
        counted(defined, plan.trials.iter()),
        output::lasting(seconds),
        Bytes(bytes(plan, schedule)),
        cut.seed,
    );
    let block = schedule.next_block();
    for step in &block {
        let trial = &plan.trials[step.trial];
        text += &format!("  block {}, run {}: {}\n", step.block, step.repeat, trial.label);
    }
    if !block.is_empty() {
        text += &format!("then again, in another order, up to {} runs a cell\n", cut.repeats);
    }
    if let Some(Spread { sessions, apart_minutes }) = &cut.spread {
        text += &format!("in {sessions} sessions, at least {apart_minutes} minutes apart\n");
    }
    text += &cannot(defined, plan);
    let elsewhere = schedule.elsewhere(plan);
    for unread in &plan.unread {
        text += &format!("not known: {}: {}\n", unread.factor, unread.why);
    }
    text += &after_changes(defined, plan, schedule, &elsewhere);
    for change in plan.changes(defined, &elsewhere, &BTreeMap::new()) {
        text += &format!("by hand: {change}\n");
    }
    output::print(&text)?;
    Ok(0)
}

/// What joins the ends of network cells that all have devices or ports of this host of their own,
/// whatever joins others.
fn inside(trials: &[Trial]) -> Option<&'static str> {
    let mut network = trials.iter().map(|trial| trial.path).filter(|at| *at != NetworkPath::Memory);
    let first = network.next()?;
    let is_own = matches!(first, NetworkPath::Devices | NetworkPath::Cable);
    (is_own && network.all(|path| path == first)).then(|| words::path(first))
}

/// What cells take that fit only a machine which is changed by hand.
fn after_changes(
    defined: &Defined,
    plan: &SessionPlan,
    schedule: &Schedule<'_>,
    elsewhere: &[usize],
) -> String {
    if elsewhere.is_empty() {
        return String::new();
    }
    let (mut runs, mut seconds) = (0, 0.0);
    for cell in elsewhere {
        if let Left::Runs(n) = schedule.left(*cell) {
            runs += n;
            seconds += f64::from(n) * narrows_plan::run_ns(&plan.trials[*cell]).seconds();
        }
    }
    let lasting = output::lasting(seconds);
    let cells = counted(defined, elsewhere.iter().filter_map(|cell| plan.trials.get(*cell)));
    format!("at other states of the machine: {cells}, {runs} runs, {lasting}\n")
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
pub fn cannot(defined: &Defined, plan: &SessionPlan) -> String {
    let mut whys = BTreeMap::<&str, Vec<&Trial>>::new();
    for (trial, why) in plan.trials.iter().zip(&plan.missing) {
        if let Some(why) = why {
            whys.entry(why).or_default().push(trial);
        }
    }
    whys.into_iter()
        .map(|(why, trials)| {
            let first = trials.first().map_or("", |trial| trial.label.as_str());
            let cells = counted(defined, trials.iter().copied());
            format!("cannot run: {cells} such as '{first}': {why}\n")
        })
        .collect()
}

/// Cells that are repeated, and searches, each of which has a cell for every rate.
fn counted<'a>(defined: &Defined, trials: impl Iterator<Item = &'a Trial>) -> String {
    let search = defined.definition.search;
    let (searched, repeated): (Vec<&Trial>, Vec<&Trial>) =
        trials.partition(|trial| search.is_some_and(|search| search.has(&trial.levels)));
    let searches: BTreeSet<_> = searched
        .into_iter()
        .map(|trial| {
            let levels = narrows_stats::others(trial).into_iter();
            levels.map(|level| (&level.factor, &level.level)).collect::<Vec<_>>()
        })
        .collect();
    let words = [(repeated.len(), "cell"), (searches.len(), "search")];
    let told = words.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told
        .map(|(count, what)| match (count, what) {
            (2.., "search") => format!("{count} searches"),
            _ => narrows_report::words::counted(count, what),
        })
        .collect();
    told.join(" and ")
}
