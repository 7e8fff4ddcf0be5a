//! `gso`: one large send that the kernel, or the NIC, cuts into datagrams (`UDP_SEGMENT`, udp(7)).
//! Where the path cuts nothing on the way (loopback, a veth pair) the packet arrives whole and is
//! cut only for the receiver: interface counters beside the datagrams show which it was.

use super::{Sender, SenderKind};
use crate::LoadError;
use crate::harness::socket::set_int;
use socket2::Socket;
use std::io;

pub static SENDER: SenderKind = SenderKind {
    name: "gso",
    says: "one send that the kernel or the NIC cuts into datagrams (UDP_SEGMENT)",
    batch: |message| (BYTES_MAX / message.max(1)).clamp(1, SEGMENTS_MAX),
    make: |flow, message| {
        let doing = format!("asking for segments of {message} bytes (UDP_SEGMENT)");
        set_int(flow, libc::SOL_UDP, libc::UDP_SEGMENT, message as libc::c_int)
            .map_err(LoadError::system(doing))?;
        Ok(Box::new(Gso))
    },
};

/// Payload of one send: the largest datagram.
const BYTES_MAX: usize = 65_507;
/// Segments of one send (linux/udp.h).
const SEGMENTS_MAX: usize = 64;

struct Gso;

impl Sender for Gso {
    fn send(&mut self, flow: &Socket, bytes: &[u8], message: usize) -> io::Result<usize> {
        flow.send(bytes).map(|_| bytes.len() / message)
    }
}
