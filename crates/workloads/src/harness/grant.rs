//! How the ends of two agents prove to each other that one controller brought them together.
//!
//! The end that listens opens a door; the end that connects sends nothing else to it, and no
//! datagram anywhere, until the door has answered with a seal that only a holder of the token can
//! make, of a number that was drawn for this connection:
//!
//! ```text
//! connects            listens
//!   nonce        ->
//!                <-   nonce, seal
//!   seal         ->
//!                <-   welcome
//! ```
//! A seal is of the token, the trial, the workload, who seals and both nonces: one that was made
//! for another run, or heard before, opens nothing. A door opens for one address, until the grant
//! is over.

use super::meet::{self, Token};
use super::{WorkerThreads, ends, socket};
use crate::{LoadError, Prepared, ThreadMeter};
use blake2::{Blake2s256, Digest};
use narrows_model::load::{Grant, Job};
use socket2::Socket;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// No grant is longer.
pub const VALID_MAX: Duration = Duration::from_secs(60);
/// How long one word of a proof may take: a stranger holds the door no longer.
const WORD_WITHIN: Duration = Duration::from_secs(1);
/// What the door says to an end that it lets in.
const WELCOME: u8 = 1;

/// Why two agents' ends do not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotGranted {
    /// It came, or was ordered to, too late.
    #[error("the grant to meet {peer} has expired")]
    Expired {
        /// The other agent.
        peer: IpAddr,
    },
    /// Who answered does not hold the token of this trial and workload.
    #[error("{peer} did not prove that it has this trial's token")]
    Unproved {
        /// The address that was asked.
        peer: IpAddr,
    },
    /// Nobody came with a proof.
    #[error("{peer} did not come with this trial's token in time")]
    NotSeen {
        /// The only address that may come.
        peer: IpAddr,
    },
    /// An order to meet somebody else.
    #[error("the grant is for {peer}, and not for {asked}")]
    OtherPeer {
        /// The other agent.
        peer: IpAddr,
        /// Where the order says to go.
        asked: IpAddr,
    },
    /// No door was named to an end that connects.
    #[error("{peer} named no port to meet at")]
    NoDoor {
        /// The other agent.
        peer: IpAddr,
    },
}

/// An end that meets another agent's: behind its door, an ordinary end.
struct Granted {
    end: Box<dyn Prepared>,
    job: Job,
    grant: Grant,
    token: Token,
    /// Of the end that listens.
    door: Option<Socket>,
    until: Instant,
}

/// The end, behind a door where its job has a grant.
pub fn guard(job: &Job, end: Box<dyn Prepared>) -> Result<Box<dyn Prepared>, LoadError> {
    let Some(grant) = job.grant.clone() else { return Ok(end) };
    let token = meet::token(&job.token)?;
    let address = job.address.filter(|_| ends::listens(job));
    let door = address.map(|address| meet::listen(address, job)).transpose()?;
    let valid = Duration::from_nanos(grant.valid_ns.0).min(VALID_MAX);
    let until = Instant::now() + valid;
    Ok(Box::new(Granted { end, job: job.clone(), grant, token, door, until }))
}

impl Prepared for Granted {
    /// The door's first.
    fn ports(&self) -> Vec<u16> {
        self.door.iter().map(meet::port).chain(self.end.ports()).collect()
    }

    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        if Instant::now() >= self.until {
            return Err(NotGranted::Expired { peer: self.grant.peer }.into());
        }
        match &self.door {
            Some(door) => {
                self.admit(door)?;
                self.end.arm(peer, meter)
            }
            None => {
                let (door, data) = self.aims(peer)?;
                self.prove(door)?;
                self.end.arm(data, meter)
            }
        }
    }
}

impl Granted {
    /// The door, and where data goes: all at the one address of the grant.
    fn aims<'a>(
        &self,
        peer: &'a [SocketAddr],
    ) -> Result<(SocketAddr, &'a [SocketAddr]), NotGranted> {
        let of = self.grant.peer;
        if let Some(other) = peer.iter().find(|at| at.ip().to_canonical() != of.to_canonical()) {
            return Err(NotGranted::OtherPeer { peer: of, asked: other.ip() });
        }
        let (door, data) = peer.split_first().ok_or(NotGranted::NoDoor { peer: of })?;
        Ok((*door, data))
    }

    /// Asks who is behind the door to prove itself, and proves this end.
    fn prove(&self, door: SocketAddr) -> Result<(), LoadError> {
        let peer = self.grant.peer;
        let unproved = || LoadError::from(NotGranted::Unproved { peer });
        let socket = meet::dial(door, &self.job)?;
        limit(&socket, WORD_WITHIN.max(self.left()))?;
        let own = nonce();
        let mut answer = [0; 48];
        (&socket).write_all(&own).map_err(|_| unproved())?;
        (&socket).read_exact(&mut answer).map_err(|_| unproved())?;
        let (theirs, seal) = answer.split_at(16);
        if *seal != self.seal(Part::Listens, &own, theirs) {
            return Err(unproved());
        }
        let mut welcome = [0];
        (&socket).write_all(&self.seal(Part::Connects, &own, theirs)).map_err(|_| unproved())?;
        (&socket).read_exact(&mut welcome).map_err(|_| unproved())?;
        if welcome == [WELCOME] { Ok(()) } else { Err(unproved()) }
    }

    /// Waits until the one who may come has proved itself. Others are heard one after the other,
    /// each for a moment, and are told nothing that they could use.
    fn admit(&self, door: &Socket) -> Result<(), LoadError> {
        let peer = self.grant.peer;
        door.set_nonblocking(true).map_err(LoadError::system("setting how the listener waits"))?;
        while Instant::now() < self.until {
            let Ok((socket, from)) = door.accept() else {
                thread::sleep(socket::LOOK_UP.min(self.left()));
                continue;
            };
            let from = from.as_socket().map(|from| from.ip().to_canonical());
            if from == Some(peer.to_canonical()) && self.hears_proof(&socket) {
                return Ok(());
            }
        }
        Err(NotGranted::NotSeen { peer }.into())
    }

    fn hears_proof(&self, socket: &Socket) -> bool {
        let mut stream = socket;
        let mut theirs = [0; 16];
        if socket.set_nonblocking(false).is_err() || limit(socket, WORD_WITHIN).is_err() {
            return false;
        }
        if stream.read_exact(&mut theirs).is_err() {
            return false;
        }
        let own = nonce();
        let answer = [&own[..], &self.seal(Part::Listens, &theirs, &own)].concat();
        let mut seal = [0; 32];
        let heard = stream.write_all(&answer).and_then(|()| stream.read_exact(&mut seal));
        let proved = heard.is_ok() && seal == self.seal(Part::Connects, &theirs, &own);
        proved && stream.write_all(&[WELCOME]).is_ok()
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn seal(&self, part: Part, connects: &[u8], listens: &[u8]) -> [u8; 32] {
        let mut digest = Blake2s256::new();
        let kind = self.job.kind.to_string();
        let parts: [&[u8]; 6] = [
            &self.token,
            &[part as u8],
            connects,
            listens,
            self.grant.trial.as_bytes(),
            kind.as_bytes(),
        ];
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

#[derive(Clone, Copy)]
enum Part {
    Listens = 1,
    Connects = 2,
}

fn limit(socket: &Socket, within: Duration) -> Result<(), LoadError> {
    let read = socket.set_read_timeout(Some(within));
    let both = read.and_then(|()| socket.set_write_timeout(Some(within)));
    both.map_err(LoadError::system("setting a timeout"))
}

/// A number for one connection, by chance.
fn nonce() -> [u8; 16] {
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&eight_random_bytes());
    nonce[8..].copy_from_slice(&eight_random_bytes());
    nonce
}

fn eight_random_bytes() -> [u8; 8] {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0u8).to_be_bytes()
}
