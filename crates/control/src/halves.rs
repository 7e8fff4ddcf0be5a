//! The two processes of an agent, and the words between them.
//!
//! ```text
//! strangers, controllers --TCP--> listener --socketpair--> starter --pipes--> worker
//!                                 parses                   checks again       one at a time
//!                                 no capability,           CAP_NET_ADMIN      CAP_NET_ADMIN
//!                                 file, program            for workers
//! ```
//! The [`listener`](crate::agent) can ask the [`starter`](crate::starter) for what a controller can
//! ask for and for nothing else: a description of this host, a worker, orders within the owner's
//! limits.

use crate::error::{ControlError, HalvesError, OrderError};
use crate::limits::Limits;
use crate::listen::ReadBy;
use crate::wire::{Patience, Reply, Request};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// No call of the listener is longer. An order is a few hundred bytes.
pub const CALL_BYTES_MAX: u32 = 64 << 10;
/// No word of the starter is longer: a report of many flows and intervals has some hundred KiB.
pub const SAID_BYTES_MAX: u32 = 16 << 20;
/// How long the other half may take with a word that it has begun, or to take one.
const WORD_WITHIN: Duration = Duration::from_secs(10);

/// From the starter to the listener, before anything else.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    /// The key of controllers, as hexadecimal digits.
    pub key: String,
    /// What a peer may order.
    pub limits: Limits,
    /// How soon a silent controller is taken to be gone.
    pub patience: Patience,
    /// Whether sessions that begin and end are told to whoever looks on.
    pub tells_sessions: bool,
}

/// From the listener to the starter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case")]
pub enum Call {
    /// A controller's session begins; nothing is left of the one before.
    Begin {
        /// Number of the session, which its answers carry.
        session: u64,
        /// This host's address that the controller called; workers listen there.
        address: IpAddr,
    },
    /// What the controller asks for.
    Ask {
        /// What the listener asks of the starter.
        request: Request,
    },
    /// The session is over, and its worker with it.
    End,
}

/// From the starter to the listener.
#[derive(Debug, Serialize, Deserialize)]
pub struct Said {
    /// Number of the session that it belongs to.
    pub session: u64,
    /// What the controller is told.
    pub reply: Reply,
}

/// One half's end of the socketpair.
pub struct Link {
    stream: UnixStream,
    /// Longest word that is taken from the other half, in bytes.
    heard_bytes_max: u32,
}

impl Link {
    /// A link on which no longer words than that are taken.
    pub fn over(stream: UnixStream, heard_bytes_max: u32) -> Result<Self, ControlError> {
        stream.set_write_timeout(Some(WORD_WITHIN)).map_err(failed)?;
        Ok(Self { stream, heard_bytes_max })
    }

    /// Another handle of the same end, so that one thread hears while another sends.
    pub fn handle(&self) -> Result<Self, ControlError> {
        let stream = self.stream.try_clone().map_err(failed)?;
        Ok(Self { stream, heard_bytes_max: self.heard_bytes_max })
    }

    /// Sends one word of at most so many bytes; a longer one is an order that makes no sense.
    pub fn send(&mut self, word: &impl Serialize, bytes_max: u32) -> Result<(), ControlError> {
        let text = serde_json::to_vec(word).map_err(OrderError::Text)?;
        let length = u32::try_from(text.len()).ok().filter(|length| *length <= bytes_max);
        let Some(length) = length else {
            return Err(OrderError::Long { bytes: text.len(), most: bytes_max }.into());
        };
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend(text);
        self.stream.write_all(&bytes).map_err(failed)
    }

    /// The next word, if it begins in time.
    pub fn hear<T: DeserializeOwned>(
        &mut self,
        within: Duration,
    ) -> Result<Option<T>, ControlError> {
        let mut waited = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        let within = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
        match poll(&mut waited, within) {
            Ok(0) | Err(nix::Error::EINTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(failed(error.into())),
        }
        let (stream, deadline) = (&self.stream, Instant::now() + WORD_WITHIN);
        let mut rest = ReadBy { stream, deadline };
        let mut length = [0; 4];
        rest.read_exact(&mut length).map_err(failed)?;
        let length = u32::from_be_bytes(length);
        if length > self.heard_bytes_max {
            return Err(HalvesError::Long(length).into());
        }
        let mut text = vec![0; length as usize];
        rest.read_exact(&mut text).map_err(failed)?;
        let word = serde_json::from_slice(&text);
        word.map(Some).map_err(|error| HalvesError::Garbled(error).into())
    }
}

fn failed(error: std::io::Error) -> ControlError {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            HalvesError::Ended.into()
        }
        _ => HalvesError::Socket(error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ends of a link on which words of so many bytes are heard.
    fn pair(heard_bytes_max: u32) -> (Link, Link) {
        let (one, other) = UnixStream::pair().expect("a socketpair");
        let link = |stream| Link::over(stream, heard_bytes_max).expect("a link");
        (link(one), link(other))
    }

    #[test]
    fn a_word_may_be_as_long_as_its_limit_and_no_longer() {
        // With its quotes ten bytes.
        let word = "a".repeat(8);
        let (mut one, mut other) = pair(10);
        let long = Duration::from_secs(20);
        one.send(&word, 10).expect("ten may be sent");
        assert_eq!(other.hear::<String>(long).expect("and heard"), Some(word.clone()));
        assert!(matches!(one.send(&word, 9), Err(ControlError::Order(_))), "nine may not");
        let (mut one, mut other) = pair(9);
        one.send(&word, 10).expect("sent");
        let why = other.hear::<String>(long).expect_err("too long").to_string();
        assert!(why.contains("10 bytes in one message"), "{why}");
    }

    #[test]
    fn silence_is_no_word_and_an_end_is_told() {
        let (one, mut other) = pair(10);
        assert!(matches!(other.hear::<String>(Duration::from_millis(1)), Ok(None)));
        let second = one.handle().expect("a handle");
        drop(one);
        assert!(matches!(other.hear::<String>(Duration::from_millis(1)), Ok(None)), "one is open");
        drop(second);
        let why = other.hear::<String>(Duration::from_secs(20)).expect_err("over").to_string();
        assert!(why.contains("the other process ended"), "{why}");
        assert!(other.send(&"late", 10).is_err());
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        let (one, mut other) = pair(10);
        (&one.stream).write_all(&[0, 0, 0, 2, b'{', b'x']).expect("sent");
        assert!(matches!(
            other.hear::<String>(Duration::from_secs(20)),
            Err(ControlError::Halves(_))
        ));
    }
}
