//! What signals do, kept: a library's providers install handlers of their own as they are loaded,
//! and would end the program at the first Ctrl-C.

/// The standard signals, whose actions a program may choose.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=31;

/// What every signal did when this was made, and does again once it is dropped.
pub(crate) struct Signals(Vec<(i32, libc::sigaction)>);

impl Signals {
    pub fn keep() -> Self {
        Self(
            SIGNALS
                .filter_map(|signal| {
                    // SAFETY: all-zero is a valid empty action; the call only reads the signal's.
                    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
                    // SAFETY: the action is ours to write to.
                    let failed =
                        unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
                    (failed == 0).then_some((signal, action))
                })
                .collect(),
        )
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, action) in &self.0 {
            // SAFETY: an action that was in force; the kernel refuses those that cannot be set.
            unsafe { libc::sigaction(*signal, &raw const *action, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(signal: i32) -> usize {
        // SAFETY: as above.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            action.sa_sigaction
        }
    }

    #[test]
    fn what_somebody_else_installs_is_taken_back() {
        let before = action(libc::SIGUSR2);
        let kept = Signals::keep();
        // SAFETY: ignoring a signal that nobody sends here.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
        assert_eq!(action(libc::SIGUSR2), libc::SIG_IGN);
        drop(kept);
        assert_eq!(action(libc::SIGUSR2), before);
    }
}
