//! What a user sees of a study while it runs.

use super::outlook;
use crate::failure::Failure;
use crate::live::Live;
use crate::output;
use crate::progress::Shown;
use crate::said;
use crate::watch::Watch;
use narrows_model::record::{Need, Record};
use narrows_model::trial::Trial;
use narrows_runner::outside::Audience;
use narrows_runner::{Defined, Progress, RunError, SessionPlan, SettingError};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The user at a terminal, or a log.
pub struct Onlooker<'a> {
    pub defined: &'a Defined,
    pub plan: &'a SessionPlan,
    pub file: &'a Path,
    /// Fill the terminal.
    pub tui: bool,
    /// What is shown during a run.
    pub live: Option<Rc<Live>>,
    pub shown: Option<Shown>,
    /// Why the terminal could not be filled.
    pub failure: Option<Failure>,
}

impl Onlooker<'_> {
    /// The view of the study, with the runs that it has already.
    fn watch(&self) -> Result<Watch, Failure> {
        let records = narrows_store::read(self.file)?.records;
        let definition = &self.defined.definition;
        Watch::begin(&definition.name, definition.repeats, &self.plan.trials, &records)
    }
}

impl Audience for Onlooker<'_> {
    fn begins(&mut self) -> Result<(), RunError> {
        outlook::cannot(self.defined, self.plan).lines().for_each(said::note);
        if !self.tui {
            self.shown = Some(Shown::new(self.live.clone()));
            return Ok(());
        }
        match self.watch() {
            Ok(watch) => {
                self.shown = Some(Shown::watching(watch));
                Ok(())
            }
            Err(failure) => {
                let says = failure.says().to_owned();
                self.failure = Some(failure);
                Err(RunError::Audience(says))
            }
        }
    }

    fn step(&mut self, progress: &Progress<'_>) {
        if let Some(shown) = &mut self.shown {
            shown.step(progress);
        }
    }

    fn ran(&mut self, trial: &Trial, record: &Record) {
        if let Some(shown) = &mut self.shown {
            shown.ran(trial, record);
        }
    }

    fn gone(&mut self, host: &Need) {
        note!("{host}; the cells that need it are left out");
    }

    fn not_put_back(&mut self, why: &SettingError) {
        note!("not put back: {why}");
    }

    fn ends(&mut self) {
        if let Some(mut shown) = self.shown.take() {
            shown.clear();
        }
    }

    fn waits(&mut self, left: Duration) {
        note!(
            "this session is done; the next begins in {}. Ctrl-C stops here, and then: narrows \
             study resume {}",
            output::lasting(left.as_secs_f64()),
            self.file.display()
        );
    }
}
