//! `gro`: one call for datagrams of one size that the kernel joined (`UDP_GRO`, udp(7)); the size
//! comes beside the bytes.

use super::{In, Receiver, ReceiverKind};
use crate::LoadError;
use crate::harness::buffer::{Buffer, Pages};
use crate::harness::socket::set_int;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

/// The most that the kernel joins: what one IP packet can hold.
const COALESCED_BYTES: usize = 1 << 16;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: narrows_model::calls::GRO,
    says: "one call for datagrams that the kernel joined (UDP_GRO)",
    takes: |_| COALESCED_BYTES as u64,
    make: |flow, inward| Ok(Box::new(Gro::new(flow, inward)?)),
};

struct Gro {
    buffer: Buffer,
}

impl Gro {
    fn new(flow: &Socket, inward: &In) -> Result<Self, LoadError> {
        set_int(flow, libc::SOL_UDP, libc::UDP_GRO, 1)
            .map_err(LoadError::system("asking for joined datagrams (UDP_GRO)"))?;
        let mut buffer = Buffer::with(COALESCED_BYTES, Pages::Transparent, inward.node)?;
        buffer.touch();
        Ok(Self { buffer })
    }
}

impl Receiver for Gro {
    fn receive(&mut self, flow: &Socket, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let bytes = self.buffer.bytes_mut();
        let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut control = [0u64; 8];
        // SAFETY: all zeroes is a valid msghdr; piece and control outlive the call, their sizes are
        // given, and control is aligned for cmsghdr. The header that CMSG_FIRSTHDR finds lies
        // inside it, and holds an int when its level and type say so.
        let (length, size) = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut piece;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let length = libc::recvmsg(flow.as_raw_fd(), &mut message, 0);
            if length < 0 {
                return Err(io::Error::last_os_error());
            }
            let head = libc::CMSG_FIRSTHDR(&message);
            let joined = !head.is_null()
                && (*head).cmsg_level == libc::SOL_UDP
                && (*head).cmsg_type == libc::UDP_GRO;
            let size = joined.then(|| libc::CMSG_DATA(head).cast::<libc::c_int>().read_unaligned());
            (length as usize, size)
        };
        let size = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
        self.buffer.bytes()[..length].chunks(size.unwrap_or(length).max(1)).for_each(take);
        Ok(())
    }
}
