//! How a command ends, and why it cannot be done: each cause has its exit code and its hint, in one
//! place. The help, the manual page and the README have their tables from here.

mod files;
mod machine;
mod mpi;
mod network;
mod options;
mod parts;
mod studies;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything was done, and no verdict is bad.
    Ok = 0,
    /// It ran, and the verdict is bad.
    Verdict = 1,
    /// The command line or an input file cannot be used.
    Usage = 2,
    /// The other side cannot be reached, or a port not be listened on.
    Connect = 3,
    /// A study did not reach the precision that it wants.
    Precision = 4,
    /// The machine does not allow it.
    Machine = 5,
    /// Stopped by a signal (128 + SIGINT, as shells count).
    Stopped = 130,
}

impl Exit {
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Verdict,
        Self::Usage,
        Self::Connect,
        Self::Precision,
        Self::Machine,
        Self::Stopped,
    ];

    /// The exit status, 0 to 255.
    pub const fn code(self) -> u8 {
        self as u8
    }

    pub const fn says(self) -> &'static str {
        match self {
            Self::Ok => "ok, advice and cautions included",
            Self::Verdict => {
                "ran, and the verdict is bad: a hardware fault, something got worse, --fail-if"
            }
            Self::Usage => "the command line or an input file cannot be used",
            Self::Connect => "cannot connect, or cannot listen on the port",
            Self::Precision => "a study did not reach its precision, or a condition is undecided",
            Self::Machine => "this machine does not allow it: privilege, hardware, package, disk",
            Self::Stopped => {
                "stopped with Ctrl-C or SIGTERM; what was measured is kept (serve: 0, its normal end)"
            }
        }
    }
}

/// The table of exit codes, as the help and the README show it.
pub fn exit_codes() -> String {
    format!("Exit codes:\n\n{}", Exit::ALL.map(row).concat())
}

fn row(exit: Exit) -> String {
    format!("    {:<5}{}\n", exit.code(), exit.says())
}

/// Why a command could not be done. Only the files of this folder make one, so that a failure has
/// an exit code and a hint that somebody has thought of, and the same failure the same everywhere.
/// What is particular to one failure, such as the names that there are, is in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    exit: Exit,
    hint: &'static str,
}

impl Cause {
    const fn usage(hint: &'static str) -> Self {
        Self { exit: Exit::Usage, hint }
    }

    const fn connect(hint: &'static str) -> Self {
        Self { exit: Exit::Connect, hint }
    }

    const fn machine(hint: &'static str) -> Self {
        Self { exit: Exit::Machine, hint }
    }

    pub const fn exit(self) -> Exit {
        self.exit
    }

    /// What to do about it. It names no option that not every command with this cause has.
    pub const fn hint(self) -> &'static str {
        self.hint
    }
}
