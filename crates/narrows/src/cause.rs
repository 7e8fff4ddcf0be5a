//! How a command ends, and why it cannot be done: each cause has its exit code and its hint. The
//! help, the manual page and the README have their tables from here.

/// How a command ends.
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
    /// Stopped by the user (128 + SIGINT, as shells count).
    Stopped = 130,
}

impl Exit {
    /// All of them.
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

    /// What it means.
    pub const fn says(self) -> &'static str {
        match self {
            Self::Ok => "ok, advice and cautions included",
            Self::Verdict => {
                "ran, and the verdict is bad: a fault of the hardware, something worse than before"
            }
            Self::Usage => "the command line or an input file cannot be used",
            Self::Connect => "cannot connect, or cannot listen on the port",
            Self::Precision => "a study did not reach its precision",
            Self::Machine => "this machine does not allow it: privilege, hardware, package, disk",
            Self::Stopped => "stopped with Ctrl-C; what was measured is kept",
        }
    }
}

/// The table of exit codes, as the help and the README show it.
pub fn exit_codes() -> String {
    let line = |exit: Exit| format!("    {:<5}{}\n", exit.code(), exit.says());
    format!("Exit codes:\n\n{}", Exit::ALL.map(line).concat())
}

/// Why a command could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A path at which there is nothing.
    NotThere,
    /// A folder or a device where a file is wanted.
    NotAFile,
    /// A file of bytes where text is wanted.
    NotText,
    /// A file that this user may not read.
    Forbidden,
    /// A file that is no study.
    NoStudy,
    /// A study that is damaged, or that a later version wrote.
    Damaged,
    /// Something that is no description of a host.
    NoHost,
    /// A new file whose name is taken.
    Exists,
    /// A study that another narrows writes.
    BeingWritten,
    /// A folder to write to that is none.
    NoFolder,
    /// A file or folder that cannot be written.
    Unwritable,
    /// A name without an address.
    UnknownHost,
    /// No agent answers.
    Unreachable,
    /// No iperf3 server answers.
    NoIperf3,
    /// The agent is not heard any more.
    Vanished,
    /// The other side is no agent, or has another key or version.
    Refused,
    /// The agent will not measure now.
    Declined,
    /// Something else listens on the port.
    PortTaken,
    /// A port that only root may listen on.
    PortReserved,
    /// An address that this host does not have.
    NoSuchAddress,
    /// The two ends of every run did not find each other.
    Apart,
    /// Every run failed on one of the hosts.
    RunsFailed,
    /// A key that is none.
    BadKey,
    /// A journal of another boot or network namespace.
    Elsewhere,
    /// An order that makes no sense.
    Order,
    /// The machine does not allow it.
    Machine,
}

impl Cause {
    /// How the command ends.
    pub const fn exit(self) -> Exit {
        match self {
            Self::NotThere
            | Self::NotAFile
            | Self::NotText
            | Self::NoStudy
            | Self::Damaged
            | Self::NoHost
            | Self::Exists
            | Self::BeingWritten
            | Self::NoFolder
            | Self::BadKey
            | Self::Elsewhere
            | Self::Order => Exit::Usage,
            Self::UnknownHost
            | Self::Unreachable
            | Self::NoIperf3
            | Self::Vanished
            | Self::Refused
            | Self::Declined
            | Self::PortTaken
            | Self::NoSuchAddress
            | Self::Apart => Exit::Connect,
            Self::Forbidden
            | Self::Unwritable
            | Self::PortReserved
            | Self::RunsFailed
            | Self::Machine => Exit::Machine,
        }
    }

    /// What to do about it. It names no option: not every command has the same.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::NotThere => "is the path spelt right? A relative one begins in this folder",
            Self::NotAFile => "name a file; `narrows list FOLDER` shows the studies in a folder",
            Self::NotText => "name a text file in UTF-8: what is wanted here is TOML",
            Self::Forbidden => "run as a user who may read it, or give yourself the right to",
            Self::NoStudy => {
                "give a .narrows file that `narrows check`, `tcp` or `udp` has written"
            }
            Self::Damaged => {
                "restore the file from a copy, or read it with the narrows that wrote it"
            }
            Self::NoHost => {
                "give a capture, a folder with sys and proc, a table DMI, dmidecode's text or \
                 hwloc's XML"
            }
            Self::Exists => "name another file, or move that one away",
            Self::BeingWritten => "wait for it, or stop it: what it measured is kept",
            Self::NoFolder => "make the folder first, or name another",
            Self::Unwritable => {
                "name a folder with room that you may write to; finished runs are kept"
            }
            Self::UnknownHost => {
                "is the name spelt right, and has it an address of that family? \
                 `getent ahosts NAME` shows what this host knows"
            }
            Self::Unreachable => {
                "is `narrows serve` running there, and does the firewall let its port through?"
            }
            Self::NoIperf3 => {
                "is `iperf3 -s` running there, and does the firewall let its port through?"
            }
            Self::Vanished => {
                "is that host still up, and the network between? What was measured is kept"
            }
            Self::Refused => {
                "paste the command that `narrows serve` printed there; it holds the key"
            }
            Self::Declined => "try again when it is free, or look at what it printed",
            Self::PortTaken => {
                "`ss -lptn` shows what listens there: end it, or take another port with -p"
            }
            Self::PortReserved => "take a port from 1024 on with -p, or run as root",
            Self::NoSuchAddress => "name an address of this host; `ip address` lists them",
            Self::Apart => {
                "does a firewall let only the control port through? Data takes free ports"
            }
            Self::RunsFailed => "leave out the option that this names, or try as root",
            Self::BadKey => {
                "`narrows serve` prints the key; a file that holds it is for its owner alone \
                 (chmod 600)"
            }
            Self::Elsewhere => {
                "go where it was applied (`nsenter --net=FILE`, `ip netns exec NAME`); after a \
                 reboot, or where that namespace is gone, remove the journal"
            }
            Self::Order => "see `narrows help`",
            Self::Machine => "try as root, or without what limits this process",
        }
    }
}
