//! `recvmmsg`: one call for all datagrams that are there, 64 at most.

use super::{In, Receiver, ReceiverKind, slot_bytes};
use crate::LoadError;
use crate::harness::buffer::{Buffer, Pages};
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: "recvmmsg",
    says: "one call for up to 64 datagrams",
    takes: |inward| (BATCH * slot_bytes(inward.message)) as u64,
    make: |_, inward| Ok(Box::new(Recvmmsg::new(inward)?)),
};

const BATCH: usize = 64;

struct Recvmmsg {
    buffer: Buffer,
    slot_bytes: usize,
    flags: libc::c_int,
}

impl Recvmmsg {
    fn new(inward: &In) -> Result<Self, LoadError> {
        let slot_bytes = slot_bytes(inward.message);
        let mut buffer = Buffer::with(BATCH * slot_bytes, Pages::Transparent, inward.node)?;
        buffer.touch();
        // It waits for the first one only.
        let flags = if inward.spins { libc::MSG_DONTWAIT } else { libc::MSG_WAITFORONE };
        Ok(Self { buffer, slot_bytes, flags })
    }
}

impl Receiver for Recvmmsg {
    fn receive(&mut self, flow: &Socket, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let slots = self.buffer.bytes_mut().chunks_exact_mut(self.slot_bytes).take(BATCH);
        let mut pieces: [libc::iovec; BATCH] =
            [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        for (piece, slot) in pieces.iter_mut().zip(slots) {
            *piece = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
        }
        // SAFETY: all zeroes is a valid mmsghdr; each points to one piece, which is a slot of the
        // buffer that nothing else refers to during the call. No timeout is given.
        let (received, messages) = unsafe {
            let mut messages: [libc::mmsghdr; BATCH] = std::mem::zeroed();
            for (message, piece) in messages.iter_mut().zip(&mut pieces) {
                message.msg_hdr.msg_iov = piece;
                message.msg_hdr.msg_iovlen = 1;
            }
            let none = std::ptr::null_mut();
            // C libraries differ in the sign of the flags.
            let (fd, flags) = (flow.as_raw_fd(), self.flags as _);
            (libc::recvmmsg(fd, messages.as_mut_ptr(), BATCH as u32, flags, none), messages)
        };
        if received < 0 {
            return Err(io::Error::last_os_error());
        }
        let slots = self.buffer.bytes().chunks_exact(self.slot_bytes);
        for (slot, message) in slots.zip(&messages[..received as usize]) {
            take(&slot[..(message.msg_len as usize).min(slot.len())]);
        }
        Ok(())
    }
}
