//! What a direct measurement asks further where its answer is a symptom: that something is lost
//! does not say whether at random, by a policer or in a queue that is too short. A probe of the
//! path tells, and a UDP stream at half of its pace and with datagrams of another size; of what is
//! policed the same stream with another number of flows; and of each that has a class the same in
//! best effort.

use super::measurement::{Measurement, Opened};
use super::variants::{best_effort, other_flows, other_size, slower};
use crate::failure::Failure;
use crate::output::{self, Planned};
use narrows_explain::names;
use narrows_model::trial::Trial;
use narrows_plan::{Step, direct as plan};
use narrows_report::Analysis;
use narrows_runner::controller::Controller;
use narrows_runner::{CourseEnd, RunError};

/// Runs of each trial that is added. One probe has ten trains, of which six tell.
const REPEATS: u32 = 2;

/// What is said on standard error before it begins.
const SAYS: &str = "what limits it (loss, a policer or the like) is a symptom: probing the path \
                    for its cause";

/// Makes the runs of a measurement, and those that its answer calls for; how they ended.
pub fn course(
    measurement: &Measurement<'_>,
    opened: &mut Opened,
    steps: &[Step],
) -> Result<CourseEnd, Failure> {
    let mut ran = make(measurement, opened, steps)?;
    if matches!(ran, Ok(CourseEnd::Complete)) {
        let more = more(measurement, opened)?;
        if !more.is_empty() {
            note!("{SAYS}");
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

/// The trials that tell more, where there is one cell whose limit is a symptom and whose agent can
/// run them. A program that reads a table has asked for these runs, in this time, and a stream of
/// JSON has named its trials before.
fn more(measurement: &Measurement<'_>, opened: &Opened) -> Result<Vec<Trial>, Failure> {
    let [trial] = opened.trials.as_slice() else { return Ok(Vec::new()) };
    let is_plain = trial.pairs().count() == 1 && trial.controllers().is_some();
    let out = &measurement.peer.out;
    let is_read_by_people = out.format() == "text" && !out.json_stream;
    if !is_plain || !is_read_by_people || !opened.far.has_agents() {
        return Ok(Vec::new());
    }
    let stored = narrows_store::read(&opened.file)?;
    let limits = Analysis::of(&stored).limits;
    let is_symptom = limits.iter().any(|limit| limit.is_symptom());
    let mut rules = limits.iter().filter_map(|limit| limit.rule.as_deref());
    let is_policed = rules.any(|rule| [names::PATH_POLICED, names::PATH_VOLUME].contains(&rule));
    let flows = other_flows(trial).filter(|_| is_policed);
    let others = slower(trial).into_iter().chain(other_size(trial)).chain(flows);
    let all = others.chain(best_effort(trial)).chain([plan::probe(trial)]);
    let can = |trial: &Trial| opened.far.can(std::slice::from_ref(trial)).is_ok();
    Ok(all.filter(|trial| is_symptom && can(trial)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_runs_after_all_that_was_planned() {
        let planned: Vec<Step> = (0..3).map(|n| Step { trial: 0, repeat: n, block: n }).collect();
        let steps = added(&planned, 1..3);
        let of: Vec<_> = steps.iter().map(|step| (step.trial, step.repeat, step.block)).collect();
        assert_eq!(of, [(1, 0, 3), (2, 0, 3), (1, 1, 4), (2, 1, 4)]);
    }
}
