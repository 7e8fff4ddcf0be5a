//! Proof that a cable joins two ports of this host: a frame with the trial's token leaves each and
//! comes to the other before any is sent at a rate. A switch between them will do; frames go to the
//! other port's MAC address alone.

use super::frame::{Mac, at};
use super::link::Link;
use super::ring;
use crate::LoadError;
use crate::harness::meet::Token;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

/// What the frame says that it carries: IEEE 802's first number for local experiments.
const ETHERTYPE: u16 = 0x88b5;
/// Bytes of the smallest frame without its check sequence.
const BYTES: usize = 60;
/// After so long without it the frame is sent again.
const AGAIN: Duration = Duration::from_millis(100);
/// How long both directions may take: a port that was just switched on trains its link meanwhile.
const WITHIN: Duration = Duration::from_secs(5);

/// Whether frames of each port come to the other.
pub fn prove(one: &Link, other: &Link, token: &Token) -> Result<(), LoadError> {
    if one.index == other.index {
        return Err(LoadError::Order(format!("{0} and {0} are one port", one.name)));
    }
    let mut ends = [open(one)?, open(other)?];
    for (from, to) in [(0, 1), (1, 0)] {
        let (near, far) = if from == 0 { (one, other) } else { (other, one) };
        let frame = frame(near.mac, far.mac, token);
        let came = crosses(&frame, &mut ends, from, to).map_err(|why| match why.kind() {
            ErrorKind::NetworkDown => LoadError::Order(format!("{} is down", near.name)),
            _ => LoadError::system(format!("a frame from {} to {}", near.name, far.name))(why),
        })?;
        if !came {
            return Err(LoadError::Order(format!(
                "no frame of {} came to {} within {WITHIN:?}: a cable has to join the two ports, \
                 and both have to be up",
                near.name, far.name
            )));
        }
    }
    Ok(())
}

/// A packet socket of a port that takes such frames alone.
fn open(link: &Link) -> Result<File, LoadError> {
    let socket = ring::socket(link)?;
    ring::bind(&socket, link, ETHERTYPE)?;
    let socket = File::from(socket);
    // SAFETY: a plain call on a descriptor of ours.
    let done = unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let doing = "setting how a packet socket waits";
    if done == 0 { Ok(socket) } else { Err(LoadError::system(doing)(io::Error::last_os_error())) }
}

/// The frame from one port to the other.
fn frame(from: Mac, to: Mac, token: &Token) -> [u8; BYTES] {
    let mut frame = [0; BYTES];
    frame[..6].copy_from_slice(&to.0);
    frame[6..12].copy_from_slice(&from.0);
    frame[at::ETHERTYPE..at::IP].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[at::IP..at::IP + token.len()].copy_from_slice(token);
    frame
}

/// Sends the frame until it comes, or too long.
fn crosses(frame: &[u8; BYTES], ends: &mut [File; 2], from: usize, to: usize) -> io::Result<bool> {
    let began = Instant::now();
    while began.elapsed() < WITHIN {
        ends[from].write_all(frame)?;
        let sent = Instant::now();
        while sent.elapsed() < AGAIN {
            let mut heard = [0; BYTES];
            match ends[to].read(&mut heard) {
                Ok(length) if heard[..length] == *frame => return Ok(true),
                Ok(_) => continue,
                Err(why) if why.kind() == ErrorKind::WouldBlock => {}
                Err(why) => return Err(why),
            }
            let left = AGAIN.saturating_sub(sent.elapsed());
            let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            poll(&mut [PollFd::new(ends[to].as_fd(), PollFlags::POLLIN)], left)?;
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_goes_to_the_other_port_and_carries_the_token() {
        let [one, other]: [Mac; 2] =
            ["02:00:00:00:00:01", "02:00:00:00:00:02"].map(|mac| mac.parse().expect("a MAC"));
        let frame = frame(one, other, &[7; 16]);
        assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        assert_eq!(frame[12..30], [&[0x88, 0xb5][..], &[7; 16]].concat());
    }
}
