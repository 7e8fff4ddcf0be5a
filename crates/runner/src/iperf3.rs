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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::trial::{EndSpec, NetworkPath};
    use narrows_model::workload::Workload;
    use narrows_model::{Bytes, Nanos};

    fn trial(line: Timeline) -> Trial {
        let (params, ends) = (Params::of_network(Bytes(1), 1), EndSpec::anywhere(false));
        narrows_plan::trial("a", Workload::TCP_STREAM, params, ends, NetworkPath::Peer, line)
    }

    #[test]
    fn a_wait_lasts_to_the_middle_of_the_cool_down_or_until_a_stop() {
        let ms = Nanos::from_millis;
        let (stop, began) = (AtomicBool::new(false), Instant::now());
        let short = trial(Timeline::new(ms(10), ms(20), ms(40)));
        assert!(wait(&short, &stop).is_ok());
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(50), "{took:?}");
        let long = trial(Timeline::new(ms(0), ms(60_000), ms(0)));
        let began = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                stop.store(true, SeqCst);
            });
            assert!(matches!(wait(&long, &stop), Err(Broken::Stopped)));
        });
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }

    #[test]
    fn a_connection_that_breaks_loses_the_other_end() {
        let at = ([127, 0, 0, 1], 5201).into();
        let error = std::io::Error::other("x");
        let closed = broken_test(Iperf3Error::Closed { at, error });
        assert!(matches!(closed, Broken::Told(Stage::Run, _, Fault::Apart)));
        let nonsense = broken_test(Iperf3Error::Busy { at });
        assert!(matches!(nonsense, Broken::Failed(Stage::Run, _)));
    }
}
