//! What the ends tell each other over the flow's TCP connection: a kind, a length, and so many
//! bytes. The kind `failed` carries a reason in words, so that each end can say why the other gave
//! up.

use crate::LoadError;
use socket2::Socket;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// How long an answer may take before the run.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// The longest message.
const LENGTH_MAX: usize = 512;

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// How the listening end connects.
    Hello = 1,
    /// Where a queue pair and its memory are.
    Card = 2,
    /// This end is over and out; how many messages it sent.
    Done = 3,
    Failed = 4,
}

/// The TCP connection on which two ends agree on queue pairs.
pub struct Talk {
    socket: Socket,
}

impl Talk {
    pub fn new(socket: Socket) -> Result<Self, LoadError> {
        let set = || {
            socket.set_nonblocking(false)?;
            socket.set_tcp_nodelay(true)
        };
        set().map_err(LoadError::system("setting how the ends talk"))?;
        Ok(Self { socket })
    }

    pub fn say(&mut self, word: Word, bytes: &[u8]) -> Result<(), LoadError> {
        let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
        let mut text = vec![word as u8];
        text.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        text.extend_from_slice(bytes);
        let timeout = self.socket.set_write_timeout(Some(ANSWER_WITHIN));
        timeout
            .and_then(|()| self.socket.write_all(&text))
            .map_err(|error| LoadError::Peer(format!("writing to the other end: {error}")))
    }

    /// The next message, which must be of this kind.
    pub fn hear(&mut self, word: Word) -> Result<Vec<u8>, LoadError> {
        match self.hear_within(ANSWER_WITHIN)? {
            Some((kind, bytes)) if kind == word as u8 => Ok(bytes),
            Some((kind, bytes)) if kind == Word::Failed as u8 => {
                let why = String::from_utf8_lossy(&bytes).into_owned();
                Err(LoadError::Peer(format!("the other end: {why}")))
            }
            Some(_) => Err(LoadError::Peer("the other end spoke out of turn".into())),
            None => Err(LoadError::Peer("the other end said nothing in time".into())),
        }
    }

    /// The next message, when one begins in time.
    pub fn hear_within(&mut self, within: Duration) -> Result<Option<(u8, Vec<u8>)>, LoadError> {
        let mut head = [0; 3];
        if !self.fill(&mut head[..1], within)? {
            return Ok(None);
        }
        if !self.fill(&mut head[1..], ANSWER_WITHIN)? {
            return Err(cut());
        }
        let length = usize::from(u16::from_be_bytes([head[1], head[2]]));
        if length > LENGTH_MAX {
            return Err(LoadError::Peer(format!("the other end announced {length} bytes")));
        }
        let mut bytes = vec![0; length];
        if self.fill(&mut bytes, ANSWER_WITHIN)? { Ok(Some((head[0], bytes))) } else { Err(cut()) }
    }

    /// Whether there is a word to hear, or nobody to speak it any more; does not wait.
    pub fn is_heard(&self) -> Result<bool, LoadError> {
        let mut first = [std::mem::MaybeUninit::uninit(); 1];
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        match self.socket.recv_with_flags(&mut first, flags) {
            Ok(_) => Ok(true),
            Err(error) if crate::harness::socket::is_pause(&error) => Ok(false),
            Err(error) => Err(LoadError::Peer(format!("reading from the other end: {error}"))),
        }
    }

    /// Reads so many bytes; false when there were not enough in time.
    fn fill(&mut self, bytes: &mut [u8], within: Duration) -> Result<bool, LoadError> {
        let deadline = Instant::now() + within;
        let mut done = 0;
        while done < bytes.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = left.max(Duration::from_millis(1));
            let timeout = self.socket.set_read_timeout(Some(left));
            timeout.map_err(LoadError::system("setting a timeout"))?;
            match self.socket.read(&mut bytes[done..]) {
                Ok(0) => return Err(LoadError::Peer("the other end is gone".into())),
                Ok(n) => done += n,
                Err(error) if crate::harness::socket::is_pause(&error) => {
                    if Instant::now() >= deadline {
                        return Ok(false);
                    }
                }
                Err(error) => {
                    return Err(LoadError::Peer(format!("reading from the other end: {error}")));
                }
            }
        }
        Ok(true)
    }
}

/// Once it has begun the rest is there, or the other end is gone.
fn cut() -> LoadError {
    LoadError::Peer("the other end stopped in the middle of a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (Talk, Talk) {
        let door = TcpListener::bind("127.0.0.1:0").expect("door");
        let near = TcpStream::connect(door.local_addr().expect("address")).expect("connect");
        let far = door.accept().expect("accept").0;
        (Talk::new(near.into()).expect("talk"), Talk::new(far.into()).expect("talk"))
    }

    #[test]
    fn words_arrive_and_reasons_are_told() {
        let (mut near, mut far) = pair();
        near.say(Word::Card, b"card").expect("say");
        assert_eq!(far.hear(Word::Card).expect("hear"), b"card");
        near.say(Word::Failed, b"no such device").expect("say");
        let error = far.hear(Word::Card).expect_err("failed").to_string();
        assert_eq!(error, "the other end: no such device");
        assert_eq!(far.hear_within(Duration::from_millis(5)).expect("quiet"), None);
        near.say(Word::Done, &[]).expect("say");
        assert!(far.hear(Word::Card).is_err(), "out of turn");
        drop(near);
        assert!(far.hear(Word::Card).expect_err("gone").to_string().contains("gone"));
    }

    #[test]
    fn a_liar_is_not_believed() {
        let door = TcpListener::bind("127.0.0.1:0").expect("door");
        let mut near = TcpStream::connect(door.local_addr().expect("address")).expect("connect");
        let mut far = Talk::new(door.accept().expect("accept").0.into()).expect("talk");
        near.write_all(&[Word::Card as u8, 255, 255]).expect("write");
        let error = far.hear(Word::Card).expect_err("too long").to_string();
        assert!(error.contains("announced 65535 bytes"), "{error}");
    }
}
