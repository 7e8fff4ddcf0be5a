//! Makes runs one after the other and stores each at once.

use crate::error::RunError;
use crate::hosts::Hosts;
use crate::outside::{Clock, Disk, Ends, HostSettings, Progress};
use crate::setting::SettingError;
use crate::settings::AppliedSettings;
use crate::steps::Broken;
use crate::unmet::Unmet;
use narrows_model::record::{Fault, Outcome, Record, Stage};
use narrows_model::trial::Trial;
use narrows_plan::Step;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// What to run, and with what.
pub struct Course<'a> {
    /// The study's cells, in the order of its file.
    pub trials: &'a [Trial],
    pub ends: &'a mut dyn Ends,
    /// Where runs go on without the agents that are gone; without it the first ends them all, and
    /// runs whose ends would not find each other are left out.
    pub hosts: Option<&'a mut Hosts>,
    /// What trials vary on the host, and how it is set.
    pub settings: Option<(&'a mut AppliedSettings, &'a mut dyn HostSettings)>,
    pub disk: &'a dyn Disk,
    /// For the time left.
    pub clock: &'a dyn Clock,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Number of the study's session.
    pub session: u32,
    /// Runs that were not made because ends like theirs did not find each other, counted here.
    pub left_out: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CourseEnd {
    Complete,
    /// The user stopped it.
    Stopped,
    /// Cells are left that need a host which is gone.
    HostsGone,
}

/// Seconds that runs should take together.
pub fn expected_seconds(trials: &[Trial], steps: &[Step]) -> f64 {
    steps.iter().map(|step| narrows_plan::run_ns(&trials[step.trial]).seconds()).sum()
}

impl Course<'_> {
    /// Runs every step, in order. Each run is on disk before the next begins, and before `made` is
    /// told.
    pub fn run(
        &mut self,
        steps: &[Step],
        mut progress: impl FnMut(&Progress<'_>),
        mut made: impl FnMut(&Trial, &Record),
    ) -> Result<CourseEnd, RunError> {
        let (all, began) = (expected_seconds(self.trials, steps), self.clock.elapsed());
        let mut unmet = Unmet::default();
        for (done, step) in steps.iter().enumerate() {
            let left = expected_seconds(self.trials, &steps[done..]);
            let past = self.clock.elapsed().saturating_sub(began).as_secs_f64();
            // As long as the rest was expected to take, times how wrong that was so far.
            let pace = if done == 0 { 1.0 } else { past / (all - left) };
            let trial = &self.trials[step.trial];
            let is_left_out = match &self.hosts {
                Some(hosts) => hosts.missing(trial).is_some(),
                None => unmet.is_in_vain(trial, self.trials),
            };
            if is_left_out {
                self.left_out += usize::from(self.hosts.is_none());
                continue;
            }
            progress(&Progress {
                done,
                total: steps.len(),
                label: &trial.label,
                left: Duration::from_secs_f64((left * pace).clamp(0.0, 1e7)),
            });
            let records = match self.step(step) {
                Ok(records) => records,
                Err(Broken::Stopped) => return Ok(CourseEnd::Stopped),
                Err(Broken::Fatal(error)) => return Err(error),
                Err(Broken::Gone(_, error)) => return Err(error.into()),
                Err(Broken::Failed(..) | Broken::Told(..) | Broken::Lost(_)) => Vec::new(),
            };
            for record in &records {
                self.disk.put_record(record)?;
                let of = self.trials.iter().find(|trial| trial.id == record.trial);
                let of = of.unwrap_or(trial);
                unmet.learn(of, record);
                made(of, record);
            }
            if self.stop.load(SeqCst) {
                return Ok(CourseEnd::Stopped);
            }
        }
        Ok(CourseEnd::Complete)
    }

    /// Makes the host ready and runs one step.
    fn step(&mut self, step: &Step) -> Result<Vec<Record>, Broken> {
        let mut records = match self.make_ready(&self.trials[step.trial]) {
            Ok(()) => self.measure(step)?,
            Err(why) => {
                let why = why.to_string();
                let outcome = Outcome::Failed { at: Stage::Start, why, fault: Fault::Machine };
                vec![self.ends.unmade(&self.trials[step.trial], step, outcome)]
            }
        };
        for record in &mut records {
            record.session = self.session;
        }
        Ok(records)
    }

    /// A run that is broken off because an agent is gone is skipped, where others may go on.
    fn measure(&mut self, step: &Step) -> Result<Vec<Record>, Broken> {
        match (self.ends.measure(self.trials, step), &mut self.hosts) {
            (Err(Broken::Gone(peer, why)), Some(hosts)) => {
                let outcome = Outcome::Skipped { missing: vec![hosts.lose(peer, why)] };
                Ok(vec![self.ends.unmade(&self.trials[step.trial], step, outcome)])
            }
            (ran, _) => ran,
        }
    }

    fn make_ready(&mut self, trial: &Trial) -> Result<(), SettingError> {
        match &mut self.settings {
            Some((settings, host)) => settings.make(trial, *host),
            None => Ok(()),
        }
    }
}
