//! `sendmmsg`: one call for many datagrams, each a packet of its own from the start.

use super::{BATCH, Sender, SenderKind};
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::SENDMMSG,
    says: "one call for 32 datagrams",
    batch: |_| BATCH,
    make: |_, _| Ok(Box::new(Sendmmsg)),
};

struct Sendmmsg;

impl Sender for Sendmmsg {
    fn send(&mut self, flow: &Socket, bytes: &[u8], message: usize) -> io::Result<usize> {
        let mut pieces: Vec<libc::iovec> = bytes
            .chunks(message)
            .map(|piece| libc::iovec {
                iov_base: piece.as_ptr().cast_mut().cast(),
                iov_len: piece.len(),
            })
            .collect();
        // SAFETY: all zeroes is a valid mmsghdr; each points to one piece, which points into
        // `bytes`, and the kernel only reads them.
        let sent = unsafe {
            let mut messages = vec![std::mem::zeroed::<libc::mmsghdr>(); pieces.len()];
            for (message, piece) in messages.iter_mut().zip(&mut pieces) {
                message.msg_hdr.msg_iov = piece;
                message.msg_hdr.msg_iovlen = 1;
            }
            let count = messages.len() as libc::c_uint;
            libc::sendmmsg(flow.as_raw_fd(), messages.as_mut_ptr(), count, 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}
