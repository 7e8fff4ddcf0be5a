//! The steps of one end through one run, each an order and its answer.

use crate::error::RunError;
use narrows_control::ControlError;
use narrows_control::session::{Answer, Order, Part};
use narrows_control::{End, WorkerProcess};
use narrows_hostctl::container::Launcher;
use narrows_interop::engines;
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Job};
use narrows_model::options::runs;
use narrows_model::record::{Fault, Lost, LostBy, Stage};
use narrows_model::trial::Trial;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// How long an end may take to make its buffers or meet the other end.
const PREPARE_WITHIN: Duration = Duration::from_secs(90);
/// How long an end may take beyond its time line.
pub const FINISH_SPARE: Duration = Duration::from_secs(30);
/// How often a wait looks whether the user wants to stop.
pub const LOOK_UP: Duration = Duration::from_millis(50);

/// How one run ended before its end.
pub enum Broken {
    /// It failed: a record.
    Failed(Stage, String),
    /// The same, and an end said of what kind.
    Told(Stage, String, Fault),
    /// The same: an end died, or was not heard any more.
    Lost(Lost),
    /// The agent of this number cannot be spoken with any more.
    Gone(usize, ControlError),
    /// The user stopped it: no record, nothing was measured.
    Stopped,
    /// Nothing can run any more.
    Fatal(RunError),
}

impl From<engines::Ended> for Broken {
    fn from(ended: engines::Ended) -> Self {
        match ended {
            engines::Ended::Failed(at, why) => Self::Failed(at, why),
            engines::Ended::Stopped => Self::Stopped,
        }
    }
}

impl Broken {
    /// The same of the agent of a number: where that is gone, it is said of which it is.
    #[must_use]
    pub fn at_agent(self, peer: usize) -> Self {
        match self {
            Self::Fatal(RunError::Control(error)) if error.is_gone() => Self::Gone(peer, error),
            other => other,
        }
    }
}

/// Nothing can run any more.
pub fn fatal(why: impl Into<RunError>) -> Broken {
    Broken::Fatal(why.into())
}

pub fn start(launcher: &Launcher) -> Result<WorkerProcess, Broken> {
    WorkerProcess::start(launcher).map_err(fatal)
}

pub fn prepare(end: &mut dyn End, job: Job, stop: &AtomicBool) -> Result<Vec<u16>, Broken> {
    say(end, &Order::Prepare { job: Box::new(job) }, Stage::Prepare)?;
    match hear(end, PREPARE_WITHIN, Stage::Prepare, stop)? {
        Answer::Prepared { ports } => Ok(ports),
        other => Err(out_of_turn(&other, Stage::Prepare)),
    }
}

pub fn arm(end: &mut dyn End, peer: Vec<SocketAddr>) -> Result<(), Broken> {
    say(end, &Order::Arm { peer }, Stage::Prepare)
}

pub fn armed(end: &mut dyn End, stop: &AtomicBool) -> Result<(), Broken> {
    match hear(end, PREPARE_WITHIN, Stage::Prepare, stop)? {
        Answer::Armed => Ok(()),
        other => Err(out_of_turn(&other, Stage::Prepare)),
    }
}

pub fn go(end: &mut dyn End) -> Result<(), Broken> {
    say(end, &Order::Go { hold: false, tell_ns: None }, Stage::Run)
}

/// Lets an end of a pair go. One that begins after the others ends by its own time line; any other
/// holds its load for windows that are still open, until it is told to [`release`] it, and says
/// what it moved after each so long.
pub fn go_as_told(end: &mut dyn End, trial: &Trial, tell_ns: Option<Nanos>) -> Result<(), Broken> {
    match runs::AFTER.of(&trial.params) {
        Some(_) => go(end),
        None => say(end, &Order::Go { hold: true, tell_ns }, Stage::Run),
    }
}

/// Waits until an end's window is over; its report where it is one of an older narrows, which
/// holds nothing.
pub fn closed(
    end: &mut dyn End,
    within: Duration,
    stop: &AtomicBool,
) -> Result<Option<EndReport>, Broken> {
    match hear(end, within, Stage::Run, stop)? {
        Answer::Closed => Ok(None),
        Answer::Finished { report } => Ok(Some(*report)),
        other => Err(out_of_turn(&other, Stage::Run)),
    }
}

/// What was heard of an end whose window may be open.
pub enum Heard {
    Nothing,
    /// What it moved in a part of its window.
    Moved(Part),
    /// Its window is over; its report where it holds nothing.
    Closed(Option<Box<EndReport>>),
}

/// Listens for so long to an end that says what it moved.
pub fn told(end: &mut dyn End, within: Duration, stop: &AtomicBool) -> Result<Heard, Broken> {
    if stop.load(SeqCst) {
        return Err(Broken::Stopped);
    }
    match end.answer(within).map_err(|error| broken(error, Stage::Run))? {
        None => Ok(Heard::Nothing),
        Some(Answer::Moved { part }) => Ok(Heard::Moved(part)),
        Some(Answer::Closed) => Ok(Heard::Closed(None)),
        Some(Answer::Finished { report }) => Ok(Heard::Closed(Some(report))),
        Some(Answer::Failed { at, why, fault }) => Err(Broken::Told(at, why, fault)),
        Some(other) => Err(out_of_turn(&other, Stage::Run)),
    }
}

/// An end was silent for longer than its run can last.
pub fn silent(within: Duration) -> Broken {
    let waited_ns = Nanos(within.as_nanos() as u64);
    Broken::Lost(Lost { at: Stage::Run, cause: LostBy::Silent { waited_ns } })
}

/// Lets an end stop its load, now that every window is over. All ends are told before the report
/// of any is waited for: what is under way between two of them completes while both are there.
pub fn release(end: &mut dyn End, early: Option<&EndReport>) -> Result<(), Broken> {
    match early {
        Some(_) => Ok(()),
        None => say(end, &Order::Release, Stage::Run),
    }
}

/// The report of an end that was told to stop, or the one that it gave [`closed`] early.
pub fn released(
    end: &mut dyn End,
    early: Option<EndReport>,
    stop: &AtomicBool,
) -> Result<EndReport, Broken> {
    early.map_or_else(|| finished(end, FINISH_SPARE, stop), Ok)
}

/// Lets a load go that lasts until it is told, and waits until its window is open.
pub fn go_until_told(end: &mut dyn End, stop: &AtomicBool) -> Result<(), Broken> {
    say(end, &Order::GoUntilTold, Stage::Run)?;
    match hear(end, PREPARE_WITHIN, Stage::Run, stop)? {
        Answer::Running => Ok(()),
        other => Err(out_of_turn(&other, Stage::Run)),
    }
}

pub fn finished(
    end: &mut dyn End,
    within: Duration,
    stop: &AtomicBool,
) -> Result<EndReport, Broken> {
    match hear(end, within, Stage::Run, stop)? {
        Answer::Finished { report } => Ok(*report),
        other => Err(out_of_turn(&other, Stage::Collect)),
    }
}

fn out_of_turn(answer: &Answer, at: Stage) -> Broken {
    Broken::Failed(at, format!("an end answered out of turn: {answer:?}"))
}

fn say(end: &mut dyn End, order: &Order, at: Stage) -> Result<(), Broken> {
    end.order(order).map_err(|error| broken(error, at))
}

/// Waits for an answer, looking up now and then whether the user wants to stop. Time is counted in
/// looks that heard nothing, so that it needs no clock.
fn hear(
    end: &mut dyn End,
    within: Duration,
    at: Stage,
    stop: &AtomicBool,
) -> Result<Answer, Broken> {
    let mut waited = Duration::ZERO;
    while waited < within {
        if stop.load(SeqCst) {
            return Err(Broken::Stopped);
        }
        match end.answer(LOOK_UP).map_err(|error| broken(error, at))? {
            Some(Answer::Failed { at, why, fault }) => {
                return Err(Broken::Told(at, why, fault));
            }
            Some(answer) => return Ok(answer),
            None => waited += LOOK_UP,
        }
    }
    let waited_ns = Nanos(within.as_nanos() as u64);
    Err(Broken::Lost(Lost { at, cause: LostBy::Silent { waited_ns } }))
}

/// A worker that dies is one failed run; a peer that goes away ends the course.
fn broken(error: ControlError, at: Stage) -> Broken {
    match error {
        ControlError::Machine(why) => Broken::Failed(at, why.to_string()),
        ControlError::OutOfMemory(killed) => Broken::Lost(Lost { at, cause: (&killed).into() }),
        ControlError::WorkerEnded(cause) => Broken::Lost(Lost { at, cause }),
        other => fatal(other),
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
