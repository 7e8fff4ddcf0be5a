//! Many things at once, each in a thread of its own.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

/// What each comes to, in their order, when all are done; `None` of one whose thread panicked.
pub fn all<T: Send, R: Send>(
    of: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<Option<R>> {
    thread::scope(|scope| {
        let work = &work;
        let begun: Vec<_> = of.into_iter().map(|one| scope.spawn(move || work(one))).collect();
        begun.into_iter().map(|thread| thread.join().ok()).collect()
    })
}

/// What `work` gives of each until a moment; `None` of one that takes longer and is left behind.
pub(crate) fn until<T: Send + 'static>(
    of: &[String],
    until: Instant,
    work: impl Fn(&str) -> T + Clone + Send + 'static,
) -> Vec<Option<T>> {
    let (say, said) = channel::<(usize, T)>();
    for (at, one) in of.iter().enumerate() {
        spawn(at, one.clone(), say.clone(), work.clone());
    }
    drop(say);
    let mut all: Vec<Option<T>> = of.iter().map(|_| None).collect();
    loop {
        match said.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((at, got)) => all[at] = Some(got),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return all,
        }
    }
}

/// A thread that cannot be had is an answer that does not come.
fn spawn<T: Send + 'static>(
    at: usize,
    one: String,
    say: Sender<(usize, T)>,
    work: impl Fn(&str) -> T + Send + 'static,
) {
    let thread = thread::Builder::new().name("reach".to_owned());
    let _ = thread.spawn(move || say.send((at, work(&one))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn all_run_at_once_and_one_that_panics_costs_no_other() {
        // Passed by all three together, or by none.
        let meet = Barrier::new(3);
        let done = all([1, 2, 3], |number| {
            meet.wait();
            assert!(number != 2, "a fault that was planted");
            10 * number
        });
        assert_eq!(done, [Some(10), None, Some(30)]);
    }

    #[test]
    fn who_takes_too_long_is_left_behind_and_each_answer_is_in_its_place() {
        let names = ["one", "slow", "three"].map(str::to_owned);
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Arc::new(std::sync::Mutex::new(held));
        let work = move |name: &str| {
            if name == "slow" {
                let _ = held.lock().expect("no panic").recv();
            }
            name.len()
        };
        let by = Instant::now() + std::time::Duration::from_millis(200);
        assert_eq!(until(&names, by, work.clone()), [Some(3), None, Some(5)]);
        assert!(Instant::now() >= by, "it was waited for");
        drop(hold);
        let by = Instant::now() + std::time::Duration::from_secs(60);
        assert_eq!(until(&names, by, work), [Some(3), Some(4), Some(5)]);
        assert!(Instant::now() < by, "nobody is waited for who has answered");
    }
}
