//! `truncate`: the kernel drops what arrived without copying it (`MSG_TRUNC`, tcp(7)). No
//! application receives like this; beside an ordinary run it tells the cost of the copy.

use super::{Receiver, ReceiverKind};
use narrows_model::load::StreamParams;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: StreamParams::TRUNCATE,
    says: "the kernel drops what arrived, uncopied (MSG_TRUNC)",
    delivers: false,
    takes: |_| 0,
    make: |inward| Ok(Box::new(Truncate { message: inward.message })),
};

struct Truncate {
    message: usize,
}

impl Receiver for Truncate {
    fn receive(&mut self, flow: &Socket, _: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        // SAFETY: with MSG_TRUNC on a stream the kernel writes nothing and takes no address; the
        // descriptor is the socket's own.
        let n = unsafe {
            libc::recv(flow.as_raw_fd(), std::ptr::null_mut(), self.message, libc::MSG_TRUNC)
        };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
    }
}
