//! `zerocopy`: `MSG_ZEROCOPY` (kernel, Documentation/networking/msg_zerocopy.rst). The kernel sends
//! from the buffer itself and says later whether it did, or copied all the same: on loopback and
//! between namespaces it always copies.

use super::{Out, Sender, SenderKind};
use crate::LoadError;
use crate::harness::{buffer::Buffer, payload, socket};
use narrows_model::load::ZeroCopy;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::ZEROCOPY,
    says: "MSG_ZEROCOPY: sent from the buffer itself, where the path can",
    takes: |out| out.span as u64,
    make: |flow, out| Ok(Box::new(Zerocopy::new(flow, out)?)),
};

/// Sends between two looks at the completions.
const LOOK_EVERY: u64 = 16;
/// How long there may be no room with nothing of this flow under way: completions of a user's other
/// flows make room too, where locked memory is what lacks.
const STUCK_WITHIN: Duration = Duration::from_millis(300);
/// Origin and code of a completion (linux/errqueue.h).
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

struct Zerocopy {
    buffer: Buffer,
    told: ZeroCopy,
    sends: u64,
    /// Sends that the kernel took, each of which it completes once.
    taken: u64,
    /// Since when it takes none, with none under way.
    stuck: Option<Instant>,
}

impl Zerocopy {
    fn new(flow: &Socket, out: &Out) -> Result<Self, LoadError> {
        socket::set_int(flow, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
            .map_err(LoadError::system("asking for MSG_ZEROCOPY"))?;
        let buffer = payload::pattern(out.span, out.node)?;
        Ok(Self { buffer, told: ZeroCopy::default(), sends: 0, taken: 0, stuck: None })
    }

    /// Takes all completions that are there.
    fn reap(&mut self, flow: &Socket) {
        while let Some((count, copied)) = completion(flow) {
            self.told.completed += count;
            self.told.copied += if copied { count } else { 0 };
        }
    }
}

impl Sender for Zerocopy {
    fn send(&mut self, flow: &Socket, at: usize, length: usize) -> io::Result<usize> {
        let sent = flow.send_with_flags(&self.buffer.bytes()[at..at + length], libc::MSG_ZEROCOPY);
        self.sends += 1;
        // Too many are not over yet: their completions make room.
        let full = matches!(&sent, Err(error) if error.raw_os_error() == Some(libc::ENOBUFS));
        // Before those are taken that make room.
        let is_under_way = self.taken > self.told.completed;
        if full || self.sends.is_multiple_of(LOOK_EVERY) {
            self.reap(flow);
        }
        self.taken += u64::from(sent.is_ok());
        if !full {
            self.stuck = None;
            return sent;
        }
        if is_under_way {
            self.stuck = None;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let since = *self.stuck.get_or_insert_with(Instant::now);
        Err(no_room(length, since.elapsed()))
    }

    fn zero_copy(&mut self, flow: &Socket) -> Option<ZeroCopy> {
        // The last ones complete once the other end has them.
        std::thread::sleep(Duration::from_millis(20));
        self.reap(flow);
        Some(self.told)
    }
}

/// What it means that the kernel has no room for a message: it locks the pages of each, and keeps a
/// note of it in the socket's option memory. Those under way make room as they complete; where
/// there have been none for so long, nothing will.
fn no_room(length: usize, stuck: Duration) -> io::Error {
    if stuck < STUCK_WITHIN {
        return io::ErrorKind::WouldBlock.into();
    }
    io::Error::other(format!(
        "MSG_ZEROCOPY has no room for a message of {length} B: more locked memory for this user \
         (ulimit -l) or a larger net.core.optmem_max helps, or smaller messages"
    ))
}

/// The next completion: how many sends it is about, and whether they were copied.
fn completion(flow: &Socket) -> Option<(u64, bool)> {
    let mut control = [0u64; 16];
    // SAFETY: all zeroes is a valid msghdr; the control buffer outlives the call, is aligned for
    // cmsghdr, and its size is given. The kernel fills it; CMSG_FIRSTHDR stays inside it, and the
    // length of what it holds is checked before it is read as a sock_extended_err.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        if libc::recvmsg(flow.as_raw_fd(), &mut message, flags) < 0 {
            return None;
        }
        let head = libc::CMSG_FIRSTHDR(&message);
        let length = libc::CMSG_LEN(size_of::<libc::sock_extended_err>() as u32) as usize;
        if head.is_null() || ((*head).cmsg_len as usize) < length {
            return Some((0, false));
        }
        let error = libc::CMSG_DATA(head).cast::<libc::sock_extended_err>().read_unaligned();
        if error.ee_origin != SO_EE_ORIGIN_ZEROCOPY {
            return Some((0, false));
        }
        let count = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
        Some((count, error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_message_for_which_there_is_never_room_is_an_error() {
        assert_eq!(no_room(65_536, STUCK_WITHIN / 2).kind(), ErrorKind::WouldBlock);
        let never = no_room(65_536, STUCK_WITHIN);
        assert_ne!(never.kind(), ErrorKind::WouldBlock);
        assert!(
            never.to_string().contains("of 65536 B") && never.to_string().contains("ulimit -l")
        );
    }
}
