//! Runs that follow from those before them, and how such a course ends before its time.

use crate::failure::Failure;
use narrows_runner::{CourseEnd, RunError};

/// Why a course ends early.
pub enum EndedEarly {
    /// The user stopped it.
    Stopped,
    /// A run could not be made, or not be stored.
    Broken(RunError),
    /// Something else failed.
    Failed(Failure),
}

impl From<Failure> for EndedEarly {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// How the runs ended, as one course that was planned beforehand tells it.
pub fn course(ran: Result<(), EndedEarly>) -> Result<Result<CourseEnd, RunError>, Failure> {
    match ran {
        Ok(()) => Ok(Ok(CourseEnd::Complete)),
        Err(EndedEarly::Stopped) => Ok(Ok(CourseEnd::Stopped)),
        Err(EndedEarly::Broken(error)) => Ok(Err(error)),
        Err(EndedEarly::Failed(failure)) => Err(failure),
    }
}
