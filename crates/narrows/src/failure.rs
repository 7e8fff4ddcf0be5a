//! What the user sees when something cannot be done: one line of error, one hint, the exit code.

use crate::cause::{Cause, Exit};
use crate::said::say_error;
use narrows_bmc::BmcError;
use narrows_control::{ControlError, Denial, Gone, Refusal};
use narrows_hostctl::HostError;
use narrows_interop::iperf3::Iperf3Error;
use narrows_rdma::NativeError;
use narrows_runner::RunError;
use narrows_runner::launch::SshError;
use narrows_runner::launch::mpirun::LaunchError;
use narrows_runner::launch::srun::StepError;
use narrows_store::StoreError;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

/// The codes of [`Exit`], as commands give them back.
pub const VERDICT: u8 = Exit::Verdict.code();
/// The code of [`Exit::Precision`].
pub const PRECISION: u8 = Exit::Precision.code();
/// The code of [`Exit::Connect`].
pub const CONNECT: u8 = Exit::Connect.code();
/// The code of [`Exit::Machine`].
pub const MACHINE: u8 = Exit::Machine.code();
/// The code of [`Exit::Stopped`].
pub const STOPPED: u8 = Exit::Stopped.code();

/// Why a command could not be done.
#[derive(Debug)]
pub struct Failure {
    cause: Cause,
    says: String,
    /// What helps here, where that is more than the cause's hint can say.
    helps: Option<String>,
}

impl Failure {
    /// A failure for a cause, with what is particular to it.
    pub fn of(cause: Cause, says: impl Into<String>) -> Self {
        Self { cause, says: says.into(), helps: None }
    }

    /// The same with a hint of its own, of what was given and what there is.
    #[must_use]
    pub fn helped_by(self, hint: impl Into<String>) -> Self {
        Self { helps: Some(hint.into()), ..self }
    }

    fn hint(&self) -> &str {
        self.helps.as_deref().unwrap_or(self.cause.hint())
    }

    /// An input file that the system does not let us read.
    pub fn unread(path: &Path, error: &std::io::Error) -> Self {
        Self::of(unread(error.kind()), format!("{} cannot be read: {error}", path.display()))
    }

    /// Whether the user stopped it.
    pub fn is_stop(&self) -> bool {
        self.code() == STOPPED
    }

    /// Whether it is for want of an answer of other hosts: one that answers and refuses is another
    /// matter.
    pub fn is_no_answer(&self) -> bool {
        NO_ANSWER.contains(&self.cause)
    }

    /// Whether nobody was called, for want of a key.
    pub fn is_no_key(&self) -> bool {
        self.cause == Cause::NO_KEY
    }

    pub fn says(&self) -> &str {
        &self.says
    }

    /// What went wrong and what helps, as a part of what is printed.
    pub fn in_one_line(&self) -> String {
        format!("{} ({})", self.says, self.hint())
    }

    /// The program's exit code.
    pub fn code(&self) -> u8 {
        self.cause.exit().code()
    }

    /// Prints it with its hint on standard error; the exit code.
    pub fn print(self) -> ExitCode {
        say_error(&self.says, self.hint());
        ExitCode::from(self.code())
    }
}

/// Why an input file cannot be opened.
fn unread(kind: ErrorKind) -> Cause {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Cause::NOT_THERE,
        ErrorKind::PermissionDenied => Cause::FORBIDDEN,
        ErrorKind::IsADirectory => Cause::NOT_A_FILE,
        ErrorKind::InvalidData => Cause::NOT_TEXT,
        _ => Cause::DAMAGED,
    }
}

/// Why a port cannot be listened on.
fn unheard(kind: ErrorKind) -> Cause {
    match kind {
        ErrorKind::PermissionDenied => Cause::PORT_RESERVED,
        ErrorKind::AddrNotAvailable => Cause::NO_SUCH_ADDRESS,
        ErrorKind::AddrInUse => Cause::PORT_TAKEN,
        _ => Cause::MACHINE,
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let says = error.to_string();
        let cause = match error {
            RunError::Control(error) => return error.into(),
            RunError::Iperf3(error) => return error.into(),
            RunError::Store(error) => return error.into(),
            RunError::NoPeer | RunError::Workload(_) => Cause::ORDER,
            RunError::Pipe(_) => Cause::UNREACHABLE,
            RunError::Audience(_) => Cause::MACHINE,
        };
        Self::of(cause, says)
    }
}

impl From<SshError> for Failure {
    fn from(error: SshError) -> Self {
        let cause = match error {
            SshError::Destination(_) => Cause::SSH_DESTINATION,
            SshError::NoSsh { .. } => Cause::NO_SSH,
            SshError::Ended { .. } => Cause::SSH_ENDED,
            SshError::NoProgram { .. } => Cause::NO_PROGRAM,
            SshError::Program { .. } => Cause::NO_PROC,
            SshError::Panicked { .. } => Cause::FAULT,
        };
        Self::of(cause, error.to_string())
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        let cause = match error {
            StepError::NoJob
            | StepError::Nodes(_)
            | StepError::Count { .. }
            | StepError::NotOfJob(_) => Cause::SLURM_JOB,
            StepError::NoSrun(_) => Cause::NO_SRUN,
            StepError::NoAddress(_) | StepError::Ended { .. } | StepError::NoAgent { .. } => {
                Cause::SRUN_ENDED
            }
            StepError::Stopped => Cause::STOPPED,
        };
        Self::of(cause, error.to_string())
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        let cause = match error {
            LaunchError::NoAgent { .. } => Cause::MPI_HOSTS,
            LaunchError::Stopped => Cause::STOPPED,
        };
        Self::of(cause, error.to_string())
    }
}

impl From<BmcError> for Failure {
    fn from(error: BmcError) -> Self {
        let cause = match error {
            BmcError::Unreachable { .. } | BmcError::Silent { .. } => Cause::BMC_SILENT,
            BmcError::Certificate { .. } => Cause::BMC_CERTIFICATE,
            BmcError::Denied { .. } | BmcError::NeedsUser { .. } => Cause::BMC_DENIED,
            BmcError::NotRedfish { .. }
            | BmcError::CutShort { .. }
            | BmcError::TooMuch { .. }
            | BmcError::Elsewhere { .. } => Cause::BMC_ODD,
            BmcError::Stopped => Cause::STOPPED,
        };
        Self::of(cause, error.to_string())
    }
}

impl Failure {
    /// The same of an agent with which runs were being made: it turned nobody away.
    pub fn amid_runs(self) -> Self {
        match self.cause {
            Cause::TURNED_AWAY => Self { cause: Cause::CUT_OFF, ..self },
            _ => self,
        }
    }
}

/// Causes of hosts from which no answer came.
const NO_ANSWER: [Cause; 6] = [
    Cause::UNKNOWN_HOST,
    Cause::UNREACHABLE,
    Cause::NOTHING_LISTENS,
    Cause::NOTHING_BACK,
    Cause::NO_NEIGHBOUR,
    Cause::NO_ROUTE,
];

/// Why no connection to an agent was made.
fn unmet(kind: ErrorKind) -> Cause {
    match kind {
        ErrorKind::ConnectionRefused => Cause::NOTHING_LISTENS,
        ErrorKind::TimedOut => Cause::NOTHING_BACK,
        ErrorKind::HostUnreachable => Cause::NO_NEIGHBOUR,
        ErrorKind::NetworkUnreachable => Cause::NO_ROUTE,
        _ => Cause::UNREACHABLE,
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let says = error.to_string();
        let cause = match error {
            ControlError::UnknownHost { .. } => Cause::UNKNOWN_HOST,
            ControlError::HungUp { why: Refusal::NoAgent | Refusal::Gone(_), .. }
            | ControlError::Unreachable { why: Gone::Closed, .. } => Cause::TURNED_AWAY,
            ControlError::Unreachable { why: Gone::Connect(error), .. } => unmet(error.kind()),
            ControlError::Unreachable { .. } => Cause::UNREACHABLE,
            ControlError::Listen { error, .. } => unheard(error.kind()),
            ControlError::Vanished { .. } => Cause::VANISHED,
            ControlError::Refused { .. } | ControlError::HungUp { .. } => Cause::REFUSED,
            ControlError::Declined(Denial::MeetsNobody { .. }) => Cause::MEETS_NOBODY,
            ControlError::Declined(Denial::NotLent { .. } | Denial::NoInterface { .. }) => {
                Cause::NOT_LENT
            }
            ControlError::Declined(_) => Cause::DECLINED,
            ControlError::Key(_) => Cause::BAD_KEY,
            ControlError::Order(_) => Cause::ORDER,
            ControlError::Host(error) => return error.into(),
            ControlError::Machine(_)
            | ControlError::OutOfMemory(_)
            | ControlError::WorkerEnded(_)
            | ControlError::Halves(_) => Cause::MACHINE,
        };
        Self::of(cause, says)
    }
}

impl From<Iperf3Error> for Failure {
    fn from(error: Iperf3Error) -> Self {
        let says = error.to_string();
        let cause = match error {
            Iperf3Error::UnknownHost { .. } => Cause::UNKNOWN_HOST,
            Iperf3Error::NoRoute { .. } | Iperf3Error::Closed { .. } => Cause::NO_IPERF3,
            Iperf3Error::Busy { .. } | Iperf3Error::Refused { .. } => Cause::DECLINED,
            Iperf3Error::OutOfTurn { .. } | Iperf3Error::Nonsense(_) => Cause::ODD_IPERF3,
            Iperf3Error::Own(error) => return error.into(),
        };
        Self::of(cause, says)
    }
}

impl From<NativeError> for Failure {
    fn from(error: NativeError) -> Self {
        match &error {
            NativeError::Missing { packages, .. } => {
                let cause = Cause::NO_RDMA_LIBRARY.of_library(Cause::IS_STATIC);
                Self::of(cause, format!("{error}; Debian's packages: {packages}"))
            }
            NativeError::Call { source, .. } => {
                Self::of(without_rdma(source.kind()), error.to_string())
            }
            NativeError::Kernel => Self::of(Cause::RDMA_KERNEL, error.to_string()),
            NativeError::Cannot(_) => Self::of(Cause::NO_RDMA, error.to_string()),
        }
    }
}

/// Why a call to an RDMA library fails.
fn without_rdma(kind: ErrorKind) -> Cause {
    match kind {
        ErrorKind::PermissionDenied => Cause::RDMA_FORBIDDEN,
        ErrorKind::OutOfMemory => Cause::RDMA_MEMORY,
        ErrorKind::NotFound => Cause::RDMA_KERNEL,
        _ => Cause::NO_RDMA,
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let cause = match &error {
            HostError::Machine(_) => Cause::MACHINE,
            HostError::NoNamespace(_) => Cause::NO_NAMESPACE,
            HostError::NoUser(_) => Cause::NO_USER,
            HostError::Elsewhere(_) => Cause::ELSEWHERE,
            HostError::Order(_) => Cause::ORDER,
        };
        Self::of(cause, error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let cause = match &error {
            StoreError::Exists(_) => Cause::EXISTS,
            StoreError::Busy(_) => Cause::BEING_WRITTEN,
            StoreError::Unopened { error, .. } => unread(error.kind()),
            StoreError::Irregular(_) => Cause::NOT_A_FILE,
            StoreError::Foreign { .. } => Cause::NO_STUDY,
            StoreError::Unreadable { .. } => Cause::DAMAGED,
            StoreError::Unwritable { .. } => Cause::UNWRITABLE,
        };
        Self::of(cause, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error;

    #[test]
    fn what_rdma_lacks_has_the_hint_that_helps() {
        let call = |kind: ErrorKind| NativeError::Call {
            doing: "opening a device".to_owned(),
            source: Error::from(kind),
        };
        let missing = NativeError::Missing {
            library: "libibverbs.so.1",
            packages: "libibverbs1 ibverbs-providers",
            why: "no such file".to_owned(),
        };
        let failure = Failure::from(missing);
        assert_eq!(failure.cause, Cause::NO_RDMA_LIBRARY);
        assert!(failure.says().contains("libibverbs1 ibverbs-providers"), "{}", failure.says());
        for (error, cause) in [
            (call(ErrorKind::PermissionDenied), Cause::RDMA_FORBIDDEN),
            (call(ErrorKind::OutOfMemory), Cause::RDMA_MEMORY),
            (call(ErrorKind::NotFound), Cause::RDMA_KERNEL),
            (call(ErrorKind::TimedOut), Cause::NO_RDMA),
            (NativeError::Kernel, Cause::RDMA_KERNEL),
            (NativeError::Cannot("no device".to_owned()), Cause::NO_RDMA),
        ] {
            assert_eq!(Failure::from(error).cause, cause);
        }
    }

    /// Packages help no program that can load none of their libraries.
    #[test]
    fn a_static_build_is_not_told_to_install_libraries() {
        for cause in [Cause::NO_RDMA_LIBRARY, Cause::NO_MPI] {
            assert_eq!(cause.of_library(false), cause);
            assert_eq!(cause.of_library(true), Cause::STATIC);
        }
        assert_eq!(Cause::STATIC.exit().code(), 5);
    }

    #[test]
    fn what_the_system_says_has_the_cause_that_helps() {
        for (kind, file, port) in [
            (ErrorKind::NotFound, Cause::NOT_THERE, Cause::MACHINE),
            (ErrorKind::NotADirectory, Cause::NOT_THERE, Cause::MACHINE),
            (ErrorKind::PermissionDenied, Cause::FORBIDDEN, Cause::PORT_RESERVED),
            (ErrorKind::IsADirectory, Cause::NOT_A_FILE, Cause::MACHINE),
            (ErrorKind::InvalidData, Cause::NOT_TEXT, Cause::MACHINE),
            (ErrorKind::AddrNotAvailable, Cause::DAMAGED, Cause::NO_SUCH_ADDRESS),
            (ErrorKind::AddrInUse, Cause::DAMAGED, Cause::PORT_TAKEN),
        ] {
            assert_eq!((unread(kind), unheard(kind)), (file, port), "{kind:?}");
        }
        let failure = Failure::unread(Path::new("a/b"), &Error::from(ErrorKind::NotFound));
        assert!(failure.says().starts_with("a/b cannot be read: "), "{}", failure.says());
    }

    #[test]
    fn codes_are_those_that_the_docs_tell() {
        assert_eq!([VERDICT, PRECISION, CONNECT, MACHINE, STOPPED], [1, 4, 3, 5, 130]);
    }

    #[test]
    fn who_cannot_be_met_is_looked_for_where_the_kernel_says() {
        for (kind, words) in [
            (ErrorKind::ConnectionRefused, "start `narrows serve` there"),
            (ErrorKind::TimedOut, "the way back"),
            (ErrorKind::HostUnreachable, "nobody has the address"),
            (ErrorKind::NetworkUnreachable, "no route"),
            (ErrorKind::PermissionDenied, "is `narrows serve` running there"),
        ] {
            let why = Gone::Connect(kind.into());
            let failure = Failure::from(ControlError::Unreachable { peer: "p".to_owned(), why });
            assert!(failure.cause.hint().contains(words), "{kind:?}: {}", failure.cause.hint());
            assert_eq!(failure.cause.exit().code(), CONNECT);
        }
    }

    #[test]
    fn an_agent_that_is_lost_between_runs_turned_nobody_away() {
        let closed = |why| Failure::from(ControlError::Unreachable { peer: "p".to_owned(), why });
        let lost = closed(Gone::Closed).amid_runs();
        assert_eq!((lost.cause, lost.cause.exit().code()), (Cause::CUT_OFF, CONNECT));
        assert!(lost.cause.hint().contains("net.ipv4.tcp_retries2"), "{}", lost.cause.hint());
        assert_eq!(closed(Gone::Closed).cause, Cause::TURNED_AWAY);
        let refused = Gone::Connect(ErrorKind::ConnectionRefused.into());
        assert_eq!(closed(refused).amid_runs().cause, Cause::NOTHING_LISTENS);
    }

    #[test]
    fn a_failure_says_what_helps_and_whether_it_was_wished_for() {
        let of = |cause: Cause| Failure::of(cause, "it says");
        let kinds =
            |failure: &Failure| (failure.is_stop(), failure.is_no_answer(), failure.is_no_key());
        for (cause, is) in [
            (Cause::STOPPED, (true, false, false)),
            (Cause::UNREACHABLE, (false, true, false)),
            (unmet(ErrorKind::ConnectionRefused), (false, true, false)),
            (unmet(ErrorKind::NetworkUnreachable), (false, true, false)),
            (Cause::UNKNOWN_HOST, (false, true, false)),
            (Cause::NO_KEY, (false, false, true)),
            (Cause::ORDER, (false, false, false)),
        ] {
            assert_eq!(kinds(&of(cause)), is, "{}", of(cause).hint());
        }
        let helped = of(Cause::ORDER).helped_by("do this");
        assert_eq!(helped.in_one_line(), "it says (do this)");
        assert_eq!(of(Cause::ORDER).in_one_line(), format!("it says ({})", Cause::ORDER.hint()));
    }
}
