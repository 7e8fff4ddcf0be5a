//! Why a peer or a worker cannot be had.

use crate::not_granted::not_lent;
use crate::offers::NotOffered;
use crate::oom::OutOfMemory;
use narrows_hostctl::HostError;
use narrows_model::peer_name::BadPort;
use narrows_model::record::LostBy;
use std::error::Error as StdError;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// Why the other side of a conversation, at a peer or in a worker process, cannot be had or kept.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The other side cannot be reached, or closed.
    #[error("{peer} {why}")]
    Unreachable {
        /// Host or address, and port.
        peer: String,
        why: Gone,
    },
    /// A name has no address that could be reached.
    #[error("{host}: {why}")]
    UnknownHost {
        /// The name that was looked up.
        host: String,
        why: NoAddress,
    },
    /// A port cannot be listened on.
    #[error("cannot listen on {at} port {port}: {error}")]
    Listen {
        /// The address, in words.
        at: String,
        /// The TCP port that was to be listened on.
        port: u16,
        /// The system's answer.
        error: io::Error,
    },
    /// A key, or a file that holds one, cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The other side was there, did not close, and is not heard any more.
    #[error("{peer} vanished: silent for {silent:?}")]
    Vanished {
        /// Address and port of the peer.
        peer: String,
        /// For how long it was listened to in vain.
        silent: Duration,
    },
    /// The other side is reached and is not to be talked to: wrong key, wrong version, wrong words.
    #[error("{peer} {why}")]
    Refused {
        /// Host or address, and port.
        peer: String,
        why: Refusal,
    },
    /// The other side closed the connection before it had proved the key: the keys differ, or it
    /// has no room now.
    #[error("{peer} {why}")]
    HungUp {
        /// Address and port of the peer.
        peer: String,
        why: Refusal,
    },
    /// Who holds the key, or this host's own agent, does not do what it was asked.
    #[error(transparent)]
    Declined(#[from] Denial),
    /// This machine does not allow it.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// This process cannot be confined, or be made to run as somebody else.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The two processes of an agent do not understand each other, or one of them ended.
    #[error("between the listener and the starter of workers: {0}")]
    Halves(#[from] HalvesError),
    /// The kernel killed a worker for want of memory.
    #[error("{0}")]
    OutOfMemory(OutOfMemory),
    /// A worker process ended before its run did.
    #[error("{0}")]
    WorkerEnded(LostBy),
    /// The order makes no sense.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// How the other side came to be gone, in words that follow its name.
#[derive(Debug, Error)]
pub enum Gone {
    /// No connection was made.
    #[error("cannot be reached: {0}")]
    Connect(io::Error),
    /// A connection that was there failed.
    #[error("is gone: {0}")]
    Lost(io::Error),
    #[error("closed the connection")]
    Closed,
    /// What follows half a message could not be understood.
    #[error("is gone: a message to it was cut off")]
    CutOff,
    #[error("stopped in mid-message: {0}")]
    MidMessage(io::Error),
    #[error("did not answer within {0:?}")]
    NoAnswer(Duration),
    /// Whoever listened to it has ended.
    #[error("is gone: the connection is over")]
    Over,
    /// An agent made room for others.
    #[error("was dropped to make room for others")]
    Dropped,
    #[error("ordered nothing for {0:?}")]
    Idle(Duration),
}

/// Why a name leads to no address.
#[derive(Debug, Error)]
pub enum NoAddress {
    /// The resolver's answer.
    #[error("{0}")]
    Lookup(io::Error),
    /// None of the family that was asked for.
    #[error("the name has no such address")]
    OfFamily,
    #[error(transparent)]
    Name(BadPort),
}

/// Why a key cannot be used.
#[derive(Debug, Error)]
pub enum KeyError {
    #[error("a key is 64 hexadecimal digits")]
    Digits,
    #[error("key file {}: {why}", path.display())]
    File {
        /// The file that was to be read.
        path: PathBuf,
        why: KeyFile,
    },
}

/// What is wrong with a file that should hold a key.
#[derive(Debug, Error)]
pub enum KeyFile {
    #[error("{0}")]
    Unread(io::Error),
    /// A folder, a device, or a file far longer than a key.
    #[error("not a file of 64 hexadecimal digits")]
    NoFile,
    #[error("not 64 hexadecimal digits")]
    Digits,
    /// Its mode lets the group or others read it.
    #[error("others can read it; `chmod 600` it")]
    Open,
}

/// Why a peer that was reached is not talked to, in words that follow its name.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Told to a controller.
    #[error(
        "is not a narrows agent, admits nobody from this address (--allow), or has no CPU time to \
         answer"
    )]
    NoAgent,
    /// Told to an agent.
    #[error("is not a narrows controller")]
    NoController,
    #[error("does not speak narrows' protocol")]
    Foreign,
    #[error("speaks protocol version {theirs}, this narrows speaks {ours}")]
    Version {
        /// What the peer speaks.
        theirs: u32,
        /// What this program speaks.
        ours: u32,
    },
    #[error("cannot be talked to: the keys do not match")]
    Keys,
    #[error("cannot be talked to: {0}")]
    Cipher(snow::Error),
    #[error("said nothing that proves its key")]
    Unproved,
    #[error("said what this narrows does not understand: {0}")]
    NotUnderstood(serde_json::Error),
    /// Bytes of one message, more than any has.
    #[error("announced {0} bytes")]
    Announced(usize),
    #[error("sent a message that cannot be decrypted")]
    Undecryptable,
    #[error("asked for nothing")]
    AskedNothing,
    #[error("answered out of turn: {0:?}")]
    OutOfTurn(Box<dyn Debug + Send + Sync>),
    #[error("does not offer {0}: is it an older narrows?")]
    NotOffered(NotOffered),
    #[error("is the same agent as {other}, {address}")]
    SameAgent {
        /// The name by which it was reached first.
        other: String,
        /// Where both names lead.
        address: SocketAddr,
    },
    /// It went before it had said anything.
    #[error(transparent)]
    Gone(Gone),
}

/// Why what was asked is not done, though whoever asked holds the key.
#[derive(Debug, Error)]
pub enum Denial {
    /// In the peer's own words.
    #[error("{peer} declined: {why}")]
    Told {
        /// Address and port of the peer.
        peer: String,
        /// A sentence for people, as it came.
        why: String,
    },
    /// Ends at this agent are to exchange data with another agent's.
    #[error("{peer} declined: it was started without --peers, so its ends meet no other agent's")]
    MeetsNobody {
        /// Address and port of the peer.
        peer: String,
    },
    /// Frames are to go by an interface that the agent's owner does not lend.
    #[error("{peer} declined: {}", not_lent(asked, lent))]
    NotLent {
        /// Address and port of the peer.
        peer: String,
        /// Name of the interface.
        asked: String,
        /// Those that the owner lends.
        lent: Vec<String>,
    },
    /// The interface is lent, and the agent's host does not have it now.
    #[error("{peer} declined: its interface {name}, which is lent, is gone or has no MAC address")]
    NoInterface {
        /// Address and port of the peer.
        peer: String,
        /// Name of the interface.
        name: String,
    },
    /// An outside tool that is not lent, or that cannot run the trial.
    #[error(transparent)]
    Tool(Box<dyn StdError + Send + Sync>),
}

/// What this machine does not allow, or how a process on it failed.
#[derive(Debug, Error)]
pub enum MachineError {
    #[error("starting a thread: {0}")]
    Thread(io::Error),
    #[error("the system gave no random bytes: {0}")]
    Random(getrandom::Error),
    #[error("{}: {error}", program.display())]
    Program {
        /// What was to be started.
        program: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    #[error("starting the listener, {}: {error}", program.display())]
    Listener {
        /// What was to be started.
        program: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// A socket or its copy.
    #[error("{0}")]
    Socket(io::Error),
    #[error("the worker process is gone: {0}")]
    WorkerGone(io::Error),
    #[error("the worker takes no orders any more")]
    NoOrders,
    #[error("the worker sent an invalid message: {0}")]
    Garbled(Garbled),
    /// A tool's server, as the room of the tools has it.
    #[error(transparent)]
    Tool(Box<dyn StdError + Send + Sync>),
    #[error("the server of {tool} ended early ({status})")]
    ToolEnded {
        /// Name of the tool.
        tool: &'static str,
        /// How it ended.
        status: ExitStatus,
    },
}

/// Why what a worker said is no answer.
#[derive(Debug, Error)]
pub enum Garbled {
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("{0}")]
    Words(#[from] serde_json::Error),
    /// Longer than any answer, in bytes.
    #[error("more than {0} bytes in one answer")]
    Long(u64),
}

/// Why the two processes of an agent do not understand each other.
#[derive(Debug, Error)]
pub enum HalvesError {
    #[error("no setup came")]
    NoSetup,
    #[error("the starter of workers ended")]
    StarterEnded,
    #[error("the listener ended early ({0})")]
    ListenerEnded(ExitStatus),
    #[error("the other process ended")]
    Ended,
    /// Bytes, more than the other half may say.
    #[error("{0} bytes in one message")]
    Long(u32),
    #[error("{0}")]
    Garbled(serde_json::Error),
    #[error("{0}")]
    Socket(io::Error),
}

/// Why a word cannot be said.
#[derive(Debug, Error)]
pub enum OrderError {
    #[error("{0}")]
    Text(serde_json::Error),
    #[error("{bytes} bytes in one message, at most {most}")]
    Long {
        /// Length of the word as text.
        bytes: usize,
        /// What the other half takes.
        most: u32,
    },
    /// What an end that is not a process says of an order.
    #[error(transparent)]
    Turn(Box<dyn StdError + Send + Sync>),
}

impl ControlError {
    /// Whether nothing was heard of the other side: it has no address, or nobody answers there.
    pub fn is_no_answer(&self) -> bool {
        matches!(self, Self::UnknownHost { .. } | Self::Unreachable { .. })
    }

    /// Whether the other side was spoken with and cannot be any more: its process or its host
    /// ended, or the way to it.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Vanished { .. })
    }

    pub(crate) fn gone(peer: &str, why: Gone) -> Self {
        Self::Unreachable { peer: peer.to_owned(), why }
    }

    pub(crate) fn refused(peer: &str, why: Refusal) -> Self {
        Self::Refused { peer: peer.to_owned(), why }
    }

    pub(crate) fn thread(error: io::Error) -> Self {
        MachineError::Thread(error).into()
    }

    pub(crate) fn socket(error: io::Error) -> Self {
        MachineError::Socket(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_answered_and_who_is_gone_are_told_apart() {
        let io = || io::Error::other("x");
        let peer = || "p".to_owned();
        let silent = Duration::from_millis(1500);
        let unreachable = |why| ControlError::gone("p", why);
        let refused = |why| ControlError::refused("p", why);
        let ended = LostBy::Exited { code: 3 };
        for (error, no_answer, gone, says) in [
            (unreachable(Gone::Connect(io())), true, true, "p cannot be reached: x"),
            (unreachable(Gone::Lost(io())), true, true, "p is gone: x"),
            (unreachable(Gone::Closed), true, true, "p closed the connection"),
            (unreachable(Gone::NoAnswer(silent)), true, true, "p did not answer within 1.5s"),
            (unreachable(Gone::Idle(silent)), true, true, "p ordered nothing for 1.5s"),
            (
                ControlError::UnknownHost { host: peer(), why: NoAddress::OfFamily },
                true,
                false,
                "p: the name has no such address",
            ),
            (
                ControlError::Vanished { peer: peer(), silent },
                false,
                true,
                "p vanished: silent for 1.5s",
            ),
            (refused(Refusal::Keys), false, false, "p cannot be talked to: the keys do not match"),
            (refused(Refusal::Announced(17)), false, false, "p announced 17 bytes"),
            (
                ControlError::HungUp { peer: peer(), why: Refusal::NoController },
                false,
                false,
                "p is not a narrows controller",
            ),
            (
                Denial::Told { peer: peer(), why: "no".into() }.into(),
                false,
                false,
                "p declined: no",
            ),
            (
                Denial::MeetsNobody { peer: peer() }.into(),
                false,
                false,
                "p declined: it was started without --peers, so its ends meet no other agent's",
            ),
            (ControlError::WorkerEnded(ended.clone()), false, false, &ended.to_string()),
            (
                HalvesError::Long(9).into(),
                false,
                false,
                "between the listener and the starter of workers: 9 bytes in one message",
            ),
            (
                OrderError::Long { bytes: 10, most: 9 }.into(),
                false,
                false,
                "10 bytes in one message, at most 9",
            ),
        ] {
            assert_eq!(error.to_string(), says);
            assert_eq!((error.is_no_answer(), error.is_gone()), (no_answer, gone), "{says}");
        }
    }
}
