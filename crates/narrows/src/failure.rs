//! What the user sees when something cannot be done: one line of error, one hint, the exit code.

use crate::cause::{Cause, Exit};
use narrows_model::shown::line;
use narrows_run::RunError;
use narrows_store::StoreError;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

/// The codes of [`Exit`], as commands give them back.
pub const VERDICT: u8 = Exit::Verdict.code();
/// See [`Exit::Usage`].
pub const USAGE: u8 = Exit::Usage.code();
/// See [`Exit::Precision`].
pub const PRECISION: u8 = Exit::Precision.code();
/// See [`Exit::Machine`].
pub const MACHINE: u8 = Exit::Machine.code();
/// See [`Exit::Stopped`].
pub const STOPPED: u8 = Exit::Stopped.code();

/// Why a command could not be done.
pub struct Failure {
    says: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// A failure for a cause that several commands have.
    pub fn of(cause: Cause, says: impl Into<String>) -> Self {
        Self::new(cause.exit().code(), says, cause.hint())
    }

    /// An input file that the system does not let us read.
    pub fn unread(path: &Path, error: &std::io::Error) -> Self {
        Self::of(unread(error.kind()), format!("{} cannot be read: {error}", path.display()))
    }

    /// A failure of one command alone, with its hint and exit code.
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

/// Why an input file cannot be opened.
fn unread(kind: ErrorKind) -> Cause {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Cause::NotThere,
        ErrorKind::PermissionDenied => Cause::Forbidden,
        ErrorKind::IsADirectory => Cause::NotAFile,
        ErrorKind::InvalidData => Cause::NotText,
        _ => Cause::Damaged,
    }
}

/// Why a port cannot be listened on.
fn unheard(kind: ErrorKind) -> Cause {
    match kind {
        ErrorKind::PermissionDenied => Cause::PortReserved,
        ErrorKind::AddrNotAvailable => Cause::NoSuchAddress,
        ErrorKind::AddrInUse => Cause::PortTaken,
        _ => Cause::Machine,
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let says = error.to_string();
        let cause = match error {
            RunError::UnknownHost { .. } => Cause::UnknownHost,
            RunError::Unreachable(_) => Cause::Unreachable,
            RunError::NoIperf3(_) => Cause::NoIperf3,
            RunError::Listen { error, .. } => unheard(error.kind()),
            RunError::Vanished { .. } => Cause::Vanished,
            RunError::Refused(_) | RunError::HungUp(_) => Cause::Refused,
            RunError::Declined(_) => Cause::Declined,
            RunError::Elsewhere(_) => Cause::Elsewhere,
            RunError::Key(_) => Cause::BadKey,
            RunError::Order(_) => Cause::Order,
            RunError::Machine(_) | RunError::OutOfMemory(_) => Cause::Machine,
            RunError::Store(error) => return error.into(),
        };
        Self::of(cause, says)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let cause = match &error {
            StoreError::Exists(_) => Cause::Exists,
            StoreError::Busy(_) => Cause::BeingWritten,
            StoreError::Unopened { error, .. } => unread(error.kind()),
            StoreError::Irregular(_) => Cause::NotAFile,
            StoreError::Foreign { .. } => Cause::NoStudy,
            StoreError::Unreadable { .. } => Cause::Damaged,
            StoreError::Unwritable { .. } => Cause::Unwritable,
        };
        Self::of(cause, error.to_string())
    }
}
