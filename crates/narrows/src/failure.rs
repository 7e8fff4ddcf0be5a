//! What the user sees when something cannot be done: one line of error, one hint, the exit code.

use narrows_facts::shown::line;
use narrows_run::RunError;
use narrows_store::StoreError;
use std::process::ExitCode;

/// Ran, and the verdict is bad.
pub const VERDICT: u8 = 1;
/// The command line or an input file cannot be used.
pub const USAGE: u8 = 2;
/// The other side cannot be reached, or a port not be listened on.
pub const CONNECT: u8 = 3;
/// A study did not reach the precision that it wants.
pub const PRECISION: u8 = 4;
/// The machine does not allow it: privilege, hardware, package, room on the disk.
pub const MACHINE: u8 = 5;
/// Stopped by the user; what was measured is kept (128 + SIGINT, as shells count).
pub const STOPPED: u8 = 130;

/// Why a command could not be done.
pub struct Failure {
    says: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// A failure with its hint and exit code.
    pub fn new(code: u8, says: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { says: says.into(), hint: hint.into(), code }
    }

    /// What went wrong.
    pub fn says(&self) -> &str {
        &self.says
    }

    /// Prints it.
    pub fn print(self) -> ExitCode {
        anstream::eprintln!("\x1b[31merror:\x1b[0m {}", line(&self.says));
        anstream::eprintln!("\x1b[33mhint:\x1b[0m {}", line(&self.hint));
        ExitCode::from(self.code)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let says = error.to_string();
        match error {
            RunError::Unreachable(_) => Self::new(
                CONNECT,
                says,
                "is `narrows serve` running there, and does the firewall let its port through?",
            ),
            RunError::Vanished { .. } => Self::new(
                CONNECT,
                says,
                "is that host still up, and the network between? What was measured is kept",
            ),
            RunError::Refused(_) | RunError::HungUp(_) => Self::new(
                CONNECT,
                says,
                "paste the command that `narrows serve` printed there; it holds the key",
            ),
            RunError::Declined(_) => {
                Self::new(CONNECT, says, "try again when it is free, or look at what it printed")
            }
            RunError::Elsewhere(_) => Self::new(
                USAGE,
                says,
                "go where it was applied (`nsenter --net=FILE`, `ip netns exec NAME`); after a \
                 reboot, or where that namespace is gone, remove the journal",
            ),
            RunError::Order(_) => Self::new(USAGE, says, "see `narrows help`"),
            RunError::Machine(_) => {
                Self::new(MACHINE, says, "try as root, or without what limits this process")
            }
            RunError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (code, hint) = match &error {
            StoreError::Exists(_) => (USAGE, "name another folder with --out"),
            StoreError::Busy(_) => (USAGE, "wait for it, or stop it: what it measured is kept"),
            StoreError::Foreign { .. } => {
                (USAGE, "give a .narrows file that `narrows check`, `tcp` or `udp` has written")
            }
            StoreError::Unreadable { .. } => {
                (USAGE, "restore the file from a copy, or read it with the narrows that wrote it")
            }
            StoreError::Unwritable { .. } => (
                MACHINE,
                "name a folder with room that you may write to: --out DIR; finished runs are kept",
            ),
        };
        Self::new(code, error.to_string(), hint)
    }
}
