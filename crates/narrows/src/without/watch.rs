//! The full-screen view of a study, in a build without it.

use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use narrows_runner::Progress;

/// Says how to have the view.
pub fn check_terminal() -> Result<(), Failure> {
    Err(left_out())
}

fn left_out() -> Failure {
    Failure::of(Cause::NO_TUI, "this narrows was built without the full-screen view")
}

/// A view that nobody has.
pub enum Watch {}

impl Watch {
    /// Says how to have one.
    pub fn begin(_: &str, _: u32, _: &[Trial], _: &[Record]) -> Result<Self, Failure> {
        Err(left_out())
    }

    /// Never called: nobody has a view.
    pub fn ran(&mut self, _trial: &Trial, _record: &Record) {
        match *self {}
    }

    /// Never called: nobody has a view.
    pub fn step(&mut self, _progress: &Progress<'_>) {
        match *self {}
    }
}
