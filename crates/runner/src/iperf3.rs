//! Runs with an iperf3 server in place of the end that listens. It is no end of ours: it has one
//! test at a time, hears no word to hold its load, and says by itself when a test is over.

use crate::error::RunError;
use crate::pairs::{Two, finish_within, job};
use crate::steps::{Broken, arm, armed, fatal, finished, go, prepare};
use narrows_control::End;
use narrows_control::key;
use narrows_interop::iperf3::Iperf3Error;
use narrows_interop::iperf3::client::Iperf3Server;
use narrows_model::load::Job;
use narrows_model::record::{Fault, Stage};
use narrows_model::trial::Trial;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// How often a wait looks whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Takes this host's end and an iperf3 server through one run; the reports of receiver and sender.
pub fn run(
    server: &Iperf3Server,
    trial: &Trial,
    near: &mut dyn End,
    stop: &AtomicBool,
) -> Result<Two, Broken> {
    let (reverse, finish) = (trial.params.is_reverse(), finish_within(trial));
    let own = trial.controllers().ok_or_else(|| fatal(RunError::NoPeer))?;
    let test = server.begin(trial).map_err(fatal)?;
    let own = Job {
        address: Some(server.at().ip()),
        iperf3: Some(test.cookie().to_owned()),
        ..job(trial, own, &key::token().map_err(fatal)?)
    };
    prepare(near, own, stop)?;
    arm(near, vec![server.at(); trial.params.streams as usize])?;
    armed(near, stop)?;
    test.running().map_err(broken_test)?;
    go(near)?;
    let ours = if reverse {
        // A server that sends must be told before our end closes its connections: in its cool-down.
        wait(trial, stop)?;
        test.over().map_err(broken_test)?;
        finished(near, finish, stop)?
    } else {
        let ours = finished(near, finish, stop)?;
        test.over().map_err(broken_test)?;
        ours
    };
    let theirs = test.results(trial, &ours).map_err(broken_test)?;
    Ok(if reverse { (ours, theirs) } else { (theirs, ours) })
}

/// A test that broke off is a failed run; one whose connection broke lost its other end.
fn broken_test(error: Iperf3Error) -> Broken {
    match error {
        Iperf3Error::Closed { .. } => Broken::Told(Stage::Run, error.to_string(), Fault::Apart),
        other => Broken::Failed(Stage::Run, other.to_string()),
    }
}

/// Waits from the word to go until the middle of the cool-down.
fn wait(trial: &Trial, stop: &AtomicBool) -> Result<(), Broken> {
    let line = &trial.timeline;
    let line_ns = line.warmup_ns.0 + line.window_ns.0 + line.cooldown_ns.0 / 2;
    let until = Instant::now() + Duration::from_nanos(line_ns);
    while Instant::now() < until {
        if stop.load(SeqCst) {
            return Err(Broken::Stopped);
        }
        thread::sleep(until.saturating_duration_since(Instant::now()).min(LOOK_UP));
    }
    Ok(())
}
