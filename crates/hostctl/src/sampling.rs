//! The leave of an agent's owner to sample where CPU time goes: it shows what else the host does,
//! and needs a capability that no other workload does.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::process::Command;
use std::sync::Arc;

/// The variable by which a worker of an agent is given leave; its value is the number of a
/// descriptor, or nothing.
const LEAVE: &str = "NARROWS_WORKER_SAMPLES";
/// The kernel's functions. Who opens this decides whether addresses are shown, not who reads.
const SYMBOLS: &str = "/proc/kallsyms";

/// Leave to sample, with the kernel's symbols as the process saw them that opened them.
#[derive(Clone, Debug)]
pub struct Leave(Option<Arc<File>>);

impl Leave {
    /// Opens the kernel's symbols with the rights that this process has now.
    pub fn take() -> Self {
        Self(File::open(SYMBOLS).ok().map(Arc::new))
    }

    /// Gives it to a worker, and to all that are started from now on: the listener, which speaks
    /// with strangers, must have been started before.
    pub fn give(&self, worker: &mut Command) {
        let kept = self
            .0
            .as_ref()
            .filter(|file| fcntl(file.as_ref(), FcntlArg::F_SETFD(FdFlag::empty())).is_ok());
        worker.env(LEAVE, kept.map_or(String::new(), |file| file.as_raw_fd().to_string()));
    }
}

/// Whether a worker may sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// As far as the kernel lets it: a worker of its own user.
    Free,
    /// An agent's, whose owner lets it, with the kernel's symbols at this descriptor.
    Given(Option<RawFd>),
    /// An agent's, whose owner does not.
    NotGiven,
}

/// What this worker was given.
pub fn sampling() -> Sampling {
    read(crate::child::is_confined(), std::env::var(LEAVE).ok().as_deref())
}

fn read(is_confined: bool, leave: Option<&str>) -> Sampling {
    match leave {
        Some(number) => Sampling::Given(number.parse().ok()),
        None if is_confined => Sampling::NotGiven,
        None => Sampling::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leave_lets_an_agents_worker_sample() {
        assert_eq!(read(true, None), Sampling::NotGiven);
        assert_eq!(read(false, None), Sampling::Free);
        assert_eq!(read(true, Some("")), Sampling::Given(None));
        assert_eq!(read(true, Some("9")), Sampling::Given(Some(9)));
    }

    #[test]
    fn a_child_can_read_what_it_is_given() {
        let mut child = crate::child::command("sh");
        // Not by <&: a shell need not know descriptors of two digits.
        child.args(["-c", "head -c 16 /dev/fd/$NARROWS_WORKER_SAMPLES"]);
        // Dropped, it would close the descriptor that the child is told of.
        let leave = Leave::take();
        leave.give(&mut child);
        let read = child.output().expect("sh runs");
        assert_eq!(read.stdout.len(), 16, "{read:?}");
    }
}
