//! Turns of which only so many are out at once: whoever has none waits for one.

use std::sync::{Condvar, Mutex, PoisonError};

/// So many turns.
pub(crate) struct Turns {
    left: Mutex<usize>,
    given_back: Condvar,
}

/// One of them; dropped, it is the next one's.
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// All of them are there.
    pub(crate) const fn of(count: usize) -> Self {
        Self { left: Mutex::new(count), given_back: Condvar::new() }
    }

    /// Waits for one.
    pub(crate) fn take(&self) -> Turn<'_> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left == 0 {
            left = self.given_back.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        *left -= 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    #[test]
    fn so_many_have_a_turn_at_once_and_each_gets_one() {
        let (turns, now, most) = (Turns::of(3), AtomicUsize::new(0), AtomicUsize::new(0));
        let had = thread::scope(|scope| {
            let all: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        let _turn = turns.take();
                        most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                        thread::sleep(std::time::Duration::from_millis(5));
                        now.fetch_sub(1, SeqCst);
                    })
                })
                .collect();
            all.into_iter().filter_map(|thread| thread.join().ok()).count()
        });
        assert_eq!((had, now.load(SeqCst)), (20, 0));
        assert!((2..=3).contains(&most.load(SeqCst)), "{most:?}");
    }
}
