//! Pairs of one round begin together: each waits until all others have met, or have failed to.

use crate::steps::Broken;
use narrows_model::record::Stage;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long those who are ready wait for the others.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// How often a wait looks whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What all pairs of a round have in common.
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Pairs that have neither come nor failed.
    missing: usize,
    /// When the first came.
    first: Option<Instant>,
    /// When all were told to begin.
    began: Option<Instant>,
}

/// The place of one pair at the gate; dropped before it has passed, nobody waits for it.
pub struct Ticket<'a> {
    gate: &'a Gate,
    used: bool,
}

impl Gate {
    /// For so many pairs.
    pub fn of(pairs: usize) -> Self {
        let state = State { missing: pairs, first: None, began: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The place of one of its pairs.
    pub fn ticket(&self) -> Ticket<'_> {
        Ticket { gate: self, used: false }
    }

    fn with<T>(&self, call: impl FnOnce(&mut State) -> T) -> T {
        call(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One pair less to wait for.
    fn count_down(&self) {
        self.with(|state| {
            state.missing = state.missing.saturating_sub(1);
            if state.missing == 0 {
                state.began.get_or_insert_with(Instant::now);
            }
        });
        self.changed.notify_all();
    }
}

impl Ticket<'_> {
    /// Waits for the others; when all of them began. A pair that comes when the others have gone is
    /// refused: it would run by itself.
    pub fn pass(mut self, stop: &AtomicBool) -> Result<Instant, Broken> {
        let late = self.gate.with(|state| {
            state.first.get_or_insert_with(Instant::now);
            state.began.is_some()
        });
        if late {
            let why = "the other pairs of the round did not wait longer".to_owned();
            return Err(Broken::Failed(Stage::Prepare, why));
        }
        self.used = true;
        self.gate.count_down();
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if stop.load(SeqCst) {
                return Err(Broken::Stopped);
            }
            if state.first.is_some_and(|first| first.elapsed() > WAIT_MAX) {
                state.began.get_or_insert_with(Instant::now);
                self.gate.changed.notify_all();
            }
            if let Some(began) = state.began {
                return Ok(began);
            }
            let waited = self.gate.changed.wait_timeout(state, LOOK_UP);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.gate.count_down();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_begin_at_one_moment_and_nobody_waits_for_one_that_failed() {
        let (gate, stop) = (Gate::of(3), AtomicBool::new(false));
        let (failed, came) = (gate.ticket(), Instant::now());
        let began: Vec<Option<Instant>> = thread::scope(|scope| {
            let tickets = [gate.ticket(), gate.ticket()];
            let waiting = tickets.map(|ticket| scope.spawn(|| ticket.pass(&stop).ok()));
            thread::sleep(Duration::from_millis(60));
            assert!(waiting.iter().all(|one| !one.is_finished()), "one is missing yet");
            drop(failed);
            waiting.into_iter().map(|one| one.join().expect("a thread")).collect()
        });
        assert!(began[0].is_some() && began[0] == began[1], "{began:?}");
        assert!(came.elapsed() < WAIT_MAX / 2, "it was not the longest wait that ended it");
        assert!(matches!(gate.ticket().pass(&stop), Err(Broken::Failed(..))), "they have gone");
    }

    #[test]
    fn a_user_who_stops_is_heard() {
        let (gate, stop) = (Gate::of(2), AtomicBool::new(true));
        assert!(matches!(gate.ticket().pass(&stop), Err(Broken::Stopped)));
    }
}
