//! The control channel between two hosts: length-prefixed JSON messages inside a Noise session with
//! a pre-shared key (`Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s`; the Noise specification, revision
//! 34).
//!
//! Before the handshake each side says eight bytes of magic and its protocol version in clear, so
//! that a wrong version is told from a wrong key. Nothing else is ever said in clear.

use crate::door::is_hang_up;
use crate::error::{ControlError, Gone, OrderError, Refusal};
use crate::key::Key;
use crate::listen::ReadBy;
use crate::offers::Offers;
use crate::session::{Answer, Order};
use narrows_model::host::Host;
use narrows_model::trial::Trial;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use snow::{Builder, StatelessTransportState};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Version of the words on the wire.
pub const PROTOCOL_VERSION: u32 = 4;
/// Port of an agent; no other tool's default.
pub const PORT: u16 = 7471;
const MAGIC: &[u8; 4] = b"NRRW";
const NOISE: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// A Noise message carries at most 65535 bytes, 16 of them the tag.
const PIECE_BYTES_MAX: usize = 65_535 - 16;
/// No message of ours is longer; a peer that announces more is not one of us.
const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// The longest look at the wire.
const LOOK: Duration = Duration::from_millis(500);
/// How long a handshake may take as a whole: a stranger, silent or slow, holds one thread that
/// long.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

/// From a controller to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "kebab-case")]
pub enum Request {
    /// Describe your host.
    Describe,
    /// Start a worker; orders follow.
    Start {
        /// Its number in the session; one that has it already ends.
        #[serde(default, skip_serializing_if = "is_first")]
        worker: u32,
    },
    /// An order to a worker.
    Order {
        /// Passed on to the worker as it is.
        order: Order,
        /// Number of the worker.
        #[serde(default, skip_serializing_if = "is_first")]
        worker: u32,
    },
    /// Start an outside tool's server for a trial.
    Tool {
        /// What the tool is called with is made of it.
        trial: Box<Trial>,
    },
    /// End all workers, and a tool's server.
    Stop,
}

/// Agents of before there were several workers know of this one alone.
fn is_first(worker: &u32) -> bool {
    *worker == 0
}

/// From an agent to a controller.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Reply {
    /// The agent's host.
    Host {
        /// As it read itself.
        host: Box<Host>,
        offers: Offers,
    },
    /// A worker runs.
    Started,
    /// An outside tool's server listens.
    Serving {
        /// The port that its clients come to.
        port: u16,
    },
    Answer {
        /// Passed on from the worker as it is.
        answer: Answer,
        /// Number of the worker.
        #[serde(default, skip_serializing_if = "is_first")]
        worker: u32,
    },
    /// The request was not met.
    Refused {
        /// Why it was refused, as a sentence for people.
        why: String,
    },
}

/// How soon a peer that says nothing is taken to be gone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Patience {
    /// How often each side says that it is still there.
    pub beat_every: Duration,
    /// How long a peer may be silent. It is far beyond what starving for CPU time or three packets
    /// lost in a row can explain; TCP says them again after 0.2, 0.6, 1.4, 3, 6, 13 and 25 seconds.
    pub silent_max: Duration,
    /// While a run goes on its own load may fill the link, so that silence proves nothing: it
    /// counts only from the end of the run's time line, or from this long into it.
    pub excused_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            beat_every: Duration::from_secs(5),
            silent_max: Duration::from_secs(45),
            excused_max: Duration::from_secs(300),
        }
    }
}

/// An encrypted channel.
pub struct Wire {
    stream: TcpStream,
    noise: Arc<StatelessTransportState>,
    heard: u64,
    peer: String,
    held: Vec<u8>,
    voice: Voice,
    silent: Duration,
    silent_max: Duration,
    excused: Option<Instant>,
}

/// The side of a channel that speaks; its copies may be used by several threads.
#[derive(Clone)]
pub struct Voice {
    peer: String,
    saying: Arc<Mutex<Saying>>,
}

struct Saying {
    stream: TcpStream,
    noise: Arc<StatelessTransportState>,
    said: u64,
    /// A message was cut off: what follows it could not be understood.
    broken: bool,
}

impl Voice {
    /// Sends one message.
    pub fn send(&self, message: &impl Serialize) -> Result<(), ControlError> {
        let text = serde_json::to_vec(message);
        self.say(&text.map_err(OrderError::Text)?)
    }

    /// Says that this side is still there: a message of no bytes.
    pub fn beat(&self) -> Result<(), ControlError> {
        self.say(&[])
    }

    fn say(&self, text: &[u8]) -> Result<(), ControlError> {
        let mut saying = self.saying.lock().unwrap_or_else(PoisonError::into_inner);
        if saying.broken {
            return Err(ControlError::gone(&self.peer, Gone::CutOff));
        }
        let mut plain = (text.len() as u32).to_be_bytes().to_vec();
        plain.extend(text);
        let mut sealed = vec![0; plain.len().min(PIECE_BYTES_MAX) + 16];
        for piece in plain.chunks(PIECE_BYTES_MAX) {
            let length = saying.noise.write_message(saying.said, piece, &mut sealed);
            let length = length.map_err(|error| refused_by_cipher(&self.peer, error))?;
            saying.said += 1;
            let mut frame = (length as u16).to_be_bytes().to_vec();
            frame.extend(&sealed[..length]);
            if let Err(error) = saying.stream.write_all(&frame) {
                saying.broken = true;
                return Err(ControlError::gone(&self.peer, Gone::Lost(error)));
            }
        }
        Ok(())
    }

    /// Closes the channel, for whoever listens to it too.
    pub fn hang_up(&self) {
        let saying = self.saying.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = saying.stream.shutdown(Shutdown::Both);
    }
}

impl Wire {
    /// Opens the channel as the controller.
    pub fn call(stream: TcpStream, key: &Key) -> Result<Self, ControlError> {
        Self::greet(stream, key, true)
    }

    /// Opens the channel as the agent.
    pub fn answer(stream: TcpStream, key: &Key) -> Result<Self, ControlError> {
        Self::greet(stream, key, false)
    }

    fn greet(mut stream: TcpStream, key: &Key, calling: bool) -> Result<Self, ControlError> {
        let peer = stream
            .peer_addr()
            .map_or("the peer".to_owned(), |at| crate::listen::canonical(at).to_string());
        let lost = |error| ControlError::gone(&peer, Gone::Lost(error));
        stream.set_nodelay(true).map_err(lost)?;
        let deadline = Instant::now() + HANDSHAKE_WITHIN;
        stream.set_write_timeout(Some(HANDSHAKE_WITHIN)).map_err(lost)?;
        let mut hello = MAGIC.to_vec();
        hello.extend(PROTOCOL_VERSION.to_be_bytes());
        // The caller speaks first: an agent says nothing to a port scan.
        if calling {
            stream.write_all(&hello).map_err(lost)?;
        }
        let mut theirs = [0; 8];
        let other = if calling { Refusal::NoAgent } else { Refusal::NoController };
        read_by(&stream, &mut theirs, deadline).map_err(|error| lost_or(&error, &peer, other))?;
        if theirs[..4] != *MAGIC {
            return Err(ControlError::refused(&peer, Refusal::Foreign));
        }
        if !calling {
            stream.write_all(&hello).map_err(lost)?;
        }
        let version = u32::from_be_bytes([theirs[4], theirs[5], theirs[6], theirs[7]]);
        if version != PROTOCOL_VERSION {
            return Err(ControlError::refused(
                &peer,
                Refusal::Version { theirs: version, ours: PROTOCOL_VERSION },
            ));
        }
        let noise = handshake(&mut stream, key, calling, deadline, &peer)?;
        let noise = Arc::new(noise);
        let saying = Saying {
            stream: stream.try_clone().map_err(lost)?,
            noise: noise.clone(),
            said: 0,
            broken: false,
        };
        let voice = Voice { peer: peer.clone(), saying: Arc::new(Mutex::new(saying)) };
        Ok(Self {
            stream,
            noise,
            heard: 0,
            peer,
            held: Vec::new(),
            voice,
            silent: Duration::ZERO,
            silent_max: Duration::MAX,
            excused: None,
        })
    }

    /// From now on a peer that is silent for so long is gone. It is counted by looks at the wire
    /// that found nothing, not by the clock: a process that was stopped itself, or starved, has not
    /// looked.
    pub fn expect_beats(&mut self, silent_max: Duration) {
        (self.silent, self.silent_max) = (Duration::ZERO, silent_max);
    }

    /// Silence does not count until then.
    pub fn excuse(&mut self, until: Option<Instant>) {
        self.excused = until;
    }

    /// Waits for the first message that only a holder of the key can have sealed; it may be a beat.
    pub fn hear_proof(&mut self, within: Duration) -> Result<(), ControlError> {
        let deadline = Instant::now() + within;
        while self.heard == 0 {
            if self.wait_readable(deadline)? {
                self.receive_piece()?;
            } else if Instant::now() >= deadline {
                return Err(ControlError::refused(&self.peer, Refusal::Unproved));
            }
        }
        Ok(())
    }

    /// The side that speaks.
    pub fn voice(&self) -> &Voice {
        &self.voice
    }

    /// Who is at the other end.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Sends one message.
    pub fn send(&self, message: &impl Serialize) -> Result<(), ControlError> {
        self.voice.send(message)
    }

    /// Receives one message; `None` when none has come in time.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        within: Duration,
    ) -> Result<Option<T>, ControlError> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(message) = self.whole_message()? {
                if message.is_empty() {
                    continue;
                }
                let message = serde_json::from_slice(&message).map(Some);
                return message.map_err(|error| {
                    ControlError::refused(&self.peer, Refusal::NotUnderstood(error))
                });
            }
            if self.wait_readable(deadline)? {
                self.receive_piece()?;
                self.silent = Duration::ZERO;
            } else if Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }

    fn whole_message(&mut self) -> Result<Option<Vec<u8>>, ControlError> {
        let Some(head) = self.held.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head) as usize;
        if length > MESSAGE_BYTES_MAX {
            return Err(ControlError::refused(&self.peer, Refusal::Announced(length)));
        }
        if self.held.len() < 4 + length {
            return Ok(None);
        }
        let rest = self.held.split_off(4 + length);
        let message = std::mem::replace(&mut self.held, rest).split_off(4);
        Ok(Some(message))
    }

    /// Waits until a byte is there; false when the time, or one look's share of it, is up.
    fn wait_readable(&mut self, deadline: Instant) -> Result<bool, ControlError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let look = left.clamp(Duration::from_millis(1), LOOK);
        let gone = |why| ControlError::gone(&self.peer, why);
        self.stream.set_read_timeout(Some(look)).map_err(|error| gone(Gone::Lost(error)))?;
        match self.stream.peek(&mut [0]) {
            Ok(0) => Err(gone(Gone::Closed)),
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if self.excused.is_some_and(|until| Instant::now() < until) {
                    self.silent = Duration::ZERO;
                    return Ok(false);
                }
                self.silent = self.silent.saturating_add(look);
                if self.silent > self.silent_max {
                    Err(ControlError::Vanished { peer: self.peer.clone(), silent: self.silent_max })
                } else {
                    Ok(false)
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(gone(Gone::Lost(error))),
        }
    }

    fn receive_piece(&mut self) -> Result<(), ControlError> {
        // The peer has proved the key, and its path may lose much: the rest of a message has as
        // long as the next one would.
        let within = self.silent_max.clamp(HANDSHAKE_WITHIN, Patience::default().silent_max);
        let frame = read_frame(&self.stream, Instant::now() + within, usize::from(u16::MAX));
        let sealed = frame.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                ControlError::Vanished { peer: self.peer.clone(), silent: within }
            }
            _ => ControlError::gone(&self.peer, Gone::MidMessage(error)),
        })?;
        let mut plain = vec![0; sealed.len()];
        let length = self
            .noise
            .read_message(self.heard, &sealed, &mut plain)
            .map_err(|_| ControlError::refused(&self.peer, Refusal::Undecryptable))?;
        self.heard += 1;
        self.held.extend(&plain[..length]);
        Ok(())
    }
}

fn handshake(
    stream: &mut TcpStream,
    key: &Key,
    calling: bool,
    deadline: Instant,
    peer: &str,
) -> Result<StatelessTransportState, ControlError> {
    let refused = |error| refused_by_cipher(peer, error);
    let pattern = NOISE.parse().map_err(refused)?;
    let version = PROTOCOL_VERSION.to_be_bytes();
    let builder = Builder::new(pattern).prologue(&version);
    let builder = builder.and_then(|builder| builder.psk(0, key.bytes()));
    let builder = builder.map_err(refused)?;
    let built = if calling { builder.build_initiator() } else { builder.build_responder() };
    let mut noise = built.map_err(refused)?;
    let mut buffer = [0; 1024];
    for ours in [calling, !calling] {
        if ours {
            let length = noise.write_message(&[], &mut buffer).map_err(refused)?;
            let mut frame = (length as u16).to_be_bytes().to_vec();
            frame.extend(&buffer[..length]);
            stream.write_all(&frame).map_err(|error| {
                let hung_up = is_hang_up(&error);
                not_met(peer, Refusal::Gone(Gone::Lost(error)), hung_up)
            })?;
        } else {
            // An agent that cannot read our first message hangs up: to the caller, the keys differ.
            let sealed = read_frame(stream, deadline, buffer.len())
                .map_err(|error| lost_or(&error, peer, Refusal::Keys))?;
            noise
                .read_message(&sealed, &mut buffer)
                .map_err(|_| ControlError::refused(peer, Refusal::Keys))?;
        }
    }
    noise.into_stateless_transport_mode().map_err(refused)
}

/// A hang-up, or a refusal.
fn lost_or(error: &std::io::Error, peer: &str, why: Refusal) -> ControlError {
    not_met(peer, why, is_hang_up(error))
}

fn not_met(peer: &str, why: Refusal, hung_up: bool) -> ControlError {
    let peer = peer.to_owned();
    if hung_up { ControlError::HungUp { peer, why } } else { ControlError::Refused { peer, why } }
}

fn refused_by_cipher(peer: &str, error: snow::Error) -> ControlError {
    ControlError::refused(peer, Refusal::Cipher(error))
}

/// One frame of at most so many bytes: nothing larger is held for who has proved nothing.
fn read_frame(stream: &TcpStream, deadline: Instant, most: usize) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    read_by(stream, &mut length, deadline)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > most {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut sealed = vec![0; length];
    read_by(stream, &mut sealed, deadline)?;
    Ok(sealed)
}

/// Fills the buffer before the deadline.
fn read_by(stream: &TcpStream, buffer: &mut [u8], deadline: Instant) -> std::io::Result<()> {
    ReadBy { stream, deadline }.read_exact(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        (near, listener.accept().expect("accept").0)
    }

    fn channel() -> (Wire, Wire) {
        let key = Key::random().expect("key");
        let (near, far) = pair();
        let theirs = key.clone();
        let answering = thread::spawn(move || Wire::answer(far, &theirs));
        let near = Wire::call(near, &key).expect("call");
        (near, answering.join().expect("thread").expect("answer"))
    }

    #[test]
    fn messages_longer_than_a_piece_arrive_whole_and_in_order() {
        let (near, mut far) = channel();
        let sent: Vec<String> = (0..4).map(|n| format!("{n}").repeat(70_000 * n + 1)).collect();
        let messages = sent.clone();
        let sending = thread::spawn(move || {
            messages.iter().for_each(|message| near.send(message).expect("send"));
            near
        });
        for want in &sent {
            let have: Option<String> = far.receive(Duration::from_secs(5)).expect("receive");
            assert_eq!(have.as_ref(), Some(want));
        }
        let _near = sending.join().expect("thread");
        let nothing: Option<String> = far.receive(Duration::from_millis(20)).expect("quiet");
        assert_eq!(nothing, None);
    }

    #[test]
    fn a_starved_peer_is_not_a_vanished_one_and_a_silent_one_is() {
        use crate::heart::Heart;
        let (mut near, far) = channel();
        let bound = Duration::from_millis(600);
        near.expect_beats(bound);
        let heart = Heart::start(far.voice().clone(), Duration::from_millis(50)).expect("heart");
        let look = |near: &mut Wire| near.receive::<String>(Duration::from_millis(20));
        // This side does not get to look for longer than the bound, again and again.
        for _ in 0..3 {
            thread::sleep(bound * 2);
            assert!(matches!(look(&mut near), Ok(None)));
        }
        // Beats are no messages, and keep the peer alive.
        let began = Instant::now();
        while began.elapsed() < bound * 2 {
            assert!(matches!(look(&mut near), Ok(None)));
        }
        drop(heart);
        // Its load may fill the link: until then silence proves nothing.
        let until = Instant::now() + bound * 2;
        near.excuse(Some(until));
        while Instant::now() < until - Duration::from_millis(50) {
            assert!(matches!(look(&mut near), Ok(None)), "while it is excused");
        }
        let gone = (0..1000).find_map(|_| look(&mut near).err());
        let gone = gone.expect("gone").to_string();
        assert!(Instant::now() > until + bound / 2, "counted from the end of the excuse");
        assert!(gone.ends_with("vanished: silent for 600ms"), "{gone}");
    }

    #[test]
    fn the_rest_of_a_message_may_be_late_and_its_end_says_what_it_was() {
        let (near, mut far) = channel();
        far.expect_beats(HANDSHAKE_WITHIN * 3 / 2);
        let sending = thread::spawn(move || {
            let mut stream = &near.stream;
            // A length, and nothing more.
            stream.write_all(&[0, 20]).expect("write");
            thread::sleep(HANDSHAKE_WITHIN * 2);
        });
        let began = Instant::now();
        let gone = far.receive::<String>(Duration::from_secs(1)).expect_err("half a message");
        assert!(matches!(gone, ControlError::Vanished { .. }), "{gone}");
        assert!(began.elapsed() > HANDSHAKE_WITHIN + HANDSHAKE_WITHIN / 4, "{gone}");
        sending.join().expect("thread");
    }

    #[test]
    fn what_is_tampered_with_is_refused() {
        let (mut near, mut far) = channel();
        // A piece that nobody sealed.
        near.stream.write_all(&[0, 20]).expect("write");
        near.stream.write_all(&[7; 20]).expect("write");
        let refused = far.receive::<String>(Duration::from_secs(1));
        assert!(matches!(refused, Err(ControlError::Refused { .. })), "{refused:?}");
    }

    #[test]
    fn a_stranger_who_drips_bytes_is_turned_away_in_time() {
        let (mut near, far) = pair();
        let began = Instant::now();
        let answering = thread::spawn(move || Wire::answer(far, &Key::random().expect("key")));
        for byte in b"NRRW" {
            let _ = near.write_all(&[*byte]);
            thread::sleep(Duration::from_millis(1500));
        }
        assert!(answering.join().expect("thread").is_err());
        assert!(began.elapsed() < HANDSHAKE_WITHIN + Duration::from_secs(3));
    }
}
