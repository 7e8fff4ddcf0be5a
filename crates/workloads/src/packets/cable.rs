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
pub(super) const BYTES: usize = 60;
/// A frame of a proof.
pub(super) type Frame = [u8; BYTES];
/// After so long without it the frame is sent again.
pub(super) const AGAIN: Duration = Duration::from_millis(100);
/// How long both directions may take: a port that was just switched on trains its link meanwhile.
pub(super) const WITHIN: Duration = Duration::from_secs(5);

/// Whether frames of each port come to the other.
pub fn prove(one: &Link, other: &Link, token: &Token) -> Result<(), LoadError> {
    if one.index == other.index {
        return Err(LoadError::Order(format!("{0} and {0} are one port", one.name)));
    }
    let ends = [open(one)?, open(other)?];
    for (from, to) in [(0, 1), (1, 0)] {
        let (near, far) = if from == 0 { (one, other) } else { (other, one) };
        let frame = frame(near.mac, far.mac, token);
        let came = crosses(&frame, &frame, &ends[from], &ends[to]).map_err(|why| {
            not_sent(near, format!("a frame from {} to {}", near.name, far.name), why)
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

/// Why no frame left an interface.
pub(super) fn not_sent(from: &Link, doing: String, why: io::Error) -> LoadError {
    match why.kind() {
        ErrorKind::NetworkDown => LoadError::Order(format!("{} is down", from.name)),
        _ => LoadError::system(doing)(why),
    }
}

/// A packet socket of a port that takes such frames alone.
pub(super) fn open(link: &Link) -> Result<File, LoadError> {
    let socket = ring::socket(link)?;
    ring::bind(&socket, link, ETHERTYPE)?;
    let socket = File::from(socket);
    // SAFETY: a plain call on a descriptor of ours.
    let done = unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let doing = "setting how a packet socket waits";
    if done == 0 { Ok(socket) } else { Err(LoadError::system(doing)(io::Error::last_os_error())) }
}

/// The frame from one port to the other.
pub(super) fn frame(from: Mac, to: Mac, token: &Token) -> Frame {
    let mut frame = [0; BYTES];
    frame[..6].copy_from_slice(&to.0);
    frame[6..12].copy_from_slice(&from.0);
    frame[at::ETHERTYPE..at::IP].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[at::IP..at::IP + token.len()].copy_from_slice(token);
    frame
}

/// Sends a frame by one socket until the one that is wanted comes to the other, or too long.
pub(super) fn crosses(
    frame: &Frame,
    wanted: &Frame,
    mut from: &File,
    to: &File,
) -> io::Result<bool> {
    let began = Instant::now();
    while began.elapsed() < WITHIN {
        from.write_all(frame)?;
        let sent = Instant::now();
        while let Some(left) = AGAIN.checked_sub(sent.elapsed()) {
            if hear(to, left)?.is_some_and(|heard| heard == *wanted) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The next frame of a proof's length, if one comes in time.
pub(super) fn hear(mut socket: &File, within: Duration) -> io::Result<Option<Frame>> {
    let mut heard = [0; BYTES];
    let left = PollTimeout::try_from(within).unwrap_or(PollTimeout::ZERO);
    poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], left)?;
    match socket.read(&mut heard) {
        Ok(length) => Ok((length == BYTES).then_some(heard)),
        Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(why) => Err(why),
    }
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
