//! How the two ends of a trial find and know each other.
//!
//! A TCP connection opens with the trial's token and the number of the flow. Over UDP the end that
//! connects says hello, the end that listens sends a challenge no longer than that hello, and only
//! an address that repeats it has proved itself: nothing else is ever sent to an address that has
//! not, and the sink's socket is then tied to it, so that the kernel drops strangers' datagrams.

use super::socket::{LOOK_UP, is_pause, make, settle};
use crate::LoadError;
use narrows_facts::load::Job;
use socket2::{SockAddr, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long the ends may take to find each other.
const MEET_WITHIN: Duration = Duration::from_secs(10);
/// How long a stranger may hold the sink's attention without saying the token.
const TOKEN_WITHIN: Duration = Duration::from_millis(500);
/// After so long without an answer a word over UDP is said again.
const SAY_AGAIN: Duration = Duration::from_millis(100);
/// The first word to an iperf3 server over UDP.
const IPERF3_HELLO: u32 = 123_456_789;
/// Bytes of each word over UDP.
const WORD: usize = 32;

/// A trial's secret: it opens each connection and, in part, each datagram.
pub type Token = [u8; 16];

/// Reads a token from 32 hexadecimal digits.
pub fn token(text: &str) -> Result<Token, LoadError> {
    let wrong = || LoadError::Order("the token is not 32 hexadecimal digits".into());
    let mut token = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return Err(wrong());
    }
    for (byte, pair) in token.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(token)
}

/// A TCP socket that listens on a port of `address`.
pub fn listen(address: IpAddr, job: &Job) -> Result<Socket, LoadError> {
    let socket = make(address, Type::STREAM, job)?;
    bind(&socket, address, job)?;
    socket.listen(1024).map_err(LoadError::system(format!("listening on {address}")))?;
    Ok(socket)
}

/// A UDP socket bound to a port of `address`.
pub fn open(address: IpAddr, job: &Job) -> Result<Socket, LoadError> {
    let socket = make(address, Type::DGRAM, job)?;
    bind(&socket, address, job)?;
    Ok(socket)
}

/// Binds to the first free port of those that may be used.
fn bind(socket: &Socket, address: IpAddr, job: &Job) -> Result<(), LoadError> {
    let (first, last) = job.ports.unwrap_or((0, 0));
    for port in first..=last {
        match socket.bind(&SockAddr::from(SocketAddr::new(address, port))) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AddrInUse && port < last => {}
            Err(error) => {
                let doing = format!("binding to {address} port {port}");
                return Err(LoadError::system(doing)(error));
            }
        }
    }
    Err(LoadError::Order(format!("no ports from {first} to {last}")))
}

/// The local port of a bound socket.
pub fn port(socket: &Socket) -> u16 {
    socket.local_addr().ok().and_then(|at| at.as_socket()).map_or(0, |at| at.port())
}

/// A socket of the end that connects, leaving from where it was told to.
fn leaving(to: SocketAddr, kind: Type, job: &Job) -> Result<Socket, LoadError> {
    let socket = make(to.ip(), kind, job)?;
    let from = job.bind.clone().unwrap_or_default();
    if let Some(device) = &from.device {
        let doing = format!("binding to the interface {device}");
        socket.bind_device(Some(device.as_bytes())).map_err(LoadError::system(doing))?;
    }
    if let Some(address) = from.address {
        let any_port = SockAddr::from(SocketAddr::new(address, 0));
        socket.bind(&any_port).map_err(LoadError::system(format!("binding to {address}")))?;
    }
    Ok(socket)
}

/// A bare connection, without a greeting.
pub fn dial(to: SocketAddr, job: &Job) -> Result<Socket, LoadError> {
    let socket = leaving(to, Type::STREAM, job)?;
    let connected = socket.connect_timeout(&SockAddr::from(to), MEET_WITHIN);
    connected.map_err(LoadError::system(format!("connecting to {to}")))?;
    Ok(socket)
}

/// Connects one flow: TCP, token and number said first.
pub fn connect(to: SocketAddr, job: &Job, token: &Token, flow: u32) -> Result<Socket, LoadError> {
    let socket = dial(to, job)?;
    let words = match &job.iperf3 {
        Some(cookie) => [cookie.as_bytes(), &[0]].concat(),
        None => [&token[..], &flow.to_be_bytes()].concat(),
    };
    (&socket).write_all(&words).map_err(LoadError::system(format!("greeting {to}")))?;
    settle(&socket, true, job)?;
    Ok(socket)
}

/// Accepts all flows of a job, in order of their numbers; who does not say the token is dropped and
/// does not count.
pub fn accept(listener: &Socket, job: &Job, token: &Token) -> Result<Vec<Socket>, LoadError> {
    let count = job.params.flows() as usize;
    let deadline = Instant::now() + MEET_WITHIN;
    listener.set_read_timeout(Some(LOOK_UP)).map_err(LoadError::system("setting a timeout"))?;
    let mut flows: Vec<Option<Socket>> = (0..count).map(|_| None).collect();
    while flows.iter().any(Option::is_none) {
        if Instant::now() > deadline {
            let have = flows.iter().flatten().count();
            return Err(LoadError::Peer(format!(
                "{have} of {count} connections arrived within {MEET_WITHIN:?}"
            )));
        }
        let Ok((socket, _)) = listener.accept() else { continue };
        let Some(flow) = greets(&socket, token) else { continue };
        if let Some(place) = flows.get_mut(flow as usize) {
            settle(&socket, true, job)?;
            *place = Some(socket);
        }
    }
    Ok(flows.into_iter().flatten().collect())
}

/// The number of the flow, when the stranger says the token first.
fn greets(socket: &Socket, token: &Token) -> Option<u32> {
    let mut said = [0; 20];
    let by = Instant::now() + TOKEN_WITHIN;
    let mut done = 0;
    while done < said.len() {
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        socket.set_read_timeout(Some(left)).ok()?;
        let mut stream = socket;
        done += stream.read(&mut said[done..]).ok().filter(|n| *n > 0)?;
    }
    let number = said.strip_prefix(token)?;
    Some(u32::from_be_bytes(number.try_into().ok()?))
}

/// What is said over UDP before the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// From the end that connects: a first word.
    Hello = 1,
    /// From the end that listens: repeat this.
    Challenge = 2,
    /// From the end that connects: the repetition.
    Proof = 3,
    /// From the end that listens: proved.
    Welcome = 4,
}

/// A word with its nonce. The token's halves change places, so that a word that comes late is not
/// taken for a datagram of the run.
fn word(token: &Token, word: Word, nonce: u64) -> [u8; WORD] {
    let mut bytes = [0; WORD];
    bytes[..8].copy_from_slice(&token[8..]);
    bytes[8..16].copy_from_slice(&token[..8]);
    bytes[16] = word as u8;
    bytes[24..].copy_from_slice(&nonce.to_be_bytes());
    bytes
}

/// The nonce of a word of this kind.
fn nonce_of(bytes: &[u8], token: &Token, wanted: Word) -> Option<u64> {
    let nonce = u64::from_be_bytes(bytes.get(24..WORD)?.try_into().ok()?);
    (bytes == word(token, wanted, nonce)).then_some(nonce)
}

/// A UDP socket of the end that connects; the listening end has answered.
pub fn call(to: SocketAddr, job: &Job, token: &Token) -> Result<Socket, LoadError> {
    let socket = leaving(to, Type::DGRAM, job)?;
    socket.connect(&SockAddr::from(to)).map_err(LoadError::system(format!("opening {to}")))?;
    let wait = socket.set_read_timeout(Some(SAY_AGAIN));
    wait.map_err(LoadError::system("setting a timeout"))?;
    if job.iperf3.is_some() {
        return call_iperf3(socket, to, job);
    }
    let deadline = Instant::now() + MEET_WITHIN;
    let mut say = word(token, Word::Hello, 0);
    let mut proved = false;
    let mut heard = [0; WORD];
    while Instant::now() < deadline {
        // A refusal is an answer to an earlier word: the other end may not be there yet.
        let _ = (&socket).write(&say);
        let Ok(length) = (&socket).read(&mut heard) else { continue };
        if let Some(nonce) = nonce_of(&heard[..length], token, Word::Challenge) {
            say = word(token, Word::Proof, nonce);
            proved = true;
        } else if proved && nonce_of(&heard[..length], token, Word::Welcome).is_some() {
            settle(&socket, false, job)?;
            return Ok(socket);
        }
    }
    Err(LoadError::Peer(format!("connecting to {to} over UDP: no answer within {MEET_WITHIN:?}")))
}

/// Opens a stream of an iperf3 server: four bytes each way.
fn call_iperf3(socket: Socket, to: SocketAddr, job: &Job) -> Result<Socket, LoadError> {
    let deadline = Instant::now() + MEET_WITHIN;
    let mut heard = [0; 4];
    // Said once: its server takes each word for a new stream.
    let said = (&socket).write(&IPERF3_HELLO.to_ne_bytes());
    said.map_err(LoadError::system(format!("greeting {to}")))?;
    while Instant::now() < deadline {
        if let Ok(4) = (&socket).read(&mut heard) {
            settle(&socket, false, job)?;
            return Ok(socket);
        }
    }
    Err(LoadError::Peer(format!("connecting to {to} over UDP: no answer within {MEET_WITHIN:?}")))
}

/// Waits until an address has proved itself, and ties the socket to it.
pub fn answer(socket: &Socket, job: &Job, token: &Token) -> Result<(), LoadError> {
    let wait = socket.set_read_timeout(Some(LOOK_UP));
    wait.map_err(LoadError::system("setting a timeout"))?;
    let deadline = Instant::now() + MEET_WITHIN;
    let mut heard = [std::mem::MaybeUninit::<u8>::uninit(); WORD + 1];
    while Instant::now() < deadline {
        let (length, from) = match socket.recv_from(&mut heard) {
            Ok(heard) => heard,
            Err(error) if is_pause(&error) => continue,
            Err(error) => return Err(LoadError::system("waiting for a word")(error)),
        };
        // SAFETY: the kernel has written the first `length` bytes.
        let bytes = unsafe { &*(&raw const heard[..length] as *const [u8]) };
        // Another address gets another challenge.
        let nonce = hash(&from);
        if nonce_of(bytes, token, Word::Hello).is_some() {
            let _ = socket.send_to(&word(token, Word::Challenge, nonce), &from);
        } else if nonce_of(bytes, token, Word::Proof) == Some(nonce) {
            let tied = socket.connect(&from);
            tied.map_err(LoadError::system("tying a socket to the other end"))?;
            // Said three times: each may be lost, and nobody listens for the proof any more.
            for _ in 0..3 {
                let _ = socket.send(&word(token, Word::Welcome, nonce));
            }
            return settle(socket, false, job);
        }
    }
    Err(LoadError::Peer(format!("0 of 1 connections arrived over UDP within {MEET_WITHIN:?}")))
}

/// A hash with a random key of this process.
fn hash(address: &SockAddr) -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    use std::sync::LazyLock;
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let mut hasher = KEY.build_hasher();
    hasher.write(format!("{:?}", address.as_socket()).as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_by_token_and_kind() {
        let token = [7; 16];
        let hello = word(&token, Word::Hello, 5);
        assert_eq!(nonce_of(&hello, &token, Word::Hello), Some(5));
        assert_eq!(nonce_of(&hello, &token, Word::Proof), None);
        assert_eq!(nonce_of(&hello, &[8; 16], Word::Hello), None);
        assert_eq!(nonce_of(&hello[..31], &token, Word::Hello), None);
        assert_eq!(nonce_of(&[], &token, Word::Hello), None);
    }
}
