//! The timekeeper's sleep within a slice.

use std::time::{Duration, Instant};

/// What the timekeeper sleeps at a time. What that costs is in docs/performance.md.
const TICK: Duration = Duration::from_millis(20);
/// Timers and interrupts make a sleep longer by less than this.
const TICK_LATE: Duration = Duration::from_millis(5);

/// How a wait for the end of a slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Out,
    /// The window is to end.
    Told,
}

/// Sleeps in short steps, so that a process which is stopped for less than a slice is seen to read
/// its clock late.
pub struct Ticks<'a> {
    /// When the window opened.
    pub began: Instant,
    /// Sleeps so long, or until it is told.
    pub wait: &'a mut dyn FnMut(Duration) -> Waited,
    /// How late it woke, of all sleeps that were late.
    pub late: Duration,
}

impl Ticks<'_> {
    /// Sleeps until so long after the window opened, or until it is told.
    pub fn until(&mut self, due: Duration) -> Waited {
        let mut left = due.saturating_sub(self.began.elapsed());
        loop {
            let (step, before) = (left.min(TICK), self.began.elapsed());
            let told = (self.wait)(step);
            let now = self.began.elapsed();
            let late = (now - before).saturating_sub(step);
            if late >= TICK_LATE {
                self.late += late;
            }
            left = left.saturating_sub(step).min(due.saturating_sub(now));
            if told != Waited::Out || left.is_zero() {
                return told;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_clock_that_is_read_late_is_told_by_how_much() {
        let late = |over_ms: &[u64]| {
            let mut over_ms = over_ms.iter();
            let mut asked = Vec::new();
            let mut wait = |time: Duration| {
                asked.push(time);
                thread::sleep(time + Duration::from_millis(*over_ms.next().unwrap_or(&0)));
                Waited::Out
            };
            let mut ticks = Ticks { began: Instant::now(), wait: &mut wait, late: Duration::ZERO };
            assert!(ticks.until(Duration::from_millis(100)) == Waited::Out);
            let late = ticks.late;
            (late.as_millis() as u64, asked)
        };
        let (stopped, asked) = late(&[0, 30, 0, 40]);
        // A busy machine makes sleeps longer still, never shorter.
        assert!(stopped >= 70, "{stopped} ms");
        assert!(asked.iter().all(|step| *step <= TICK), "{asked:?}");
        assert_eq!(late(&[0, 150]).1.len(), 2, "a slice that is over is not slept on");
        let mut told = |_| Waited::Told;
        let mut ticks = Ticks { began: Instant::now(), wait: &mut told, late: Duration::ZERO };
        assert!(ticks.until(Duration::from_secs(600)) == Waited::Told, "at once");
    }
}
