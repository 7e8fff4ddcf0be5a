//! `gso`: one large send that the kernel, or the NIC, cuts into datagrams (`UDP_SEGMENT`, udp(7)).
//! Where the path cuts nothing on the way (loopback, a veth pair) the packet arrives whole and is
//! cut only for the receiver: interface counters beside the datagrams show which it was.

use super::{Sender, SenderKind};
use crate::LoadError;
use crate::harness::socket::set_int;
use socket2::Socket;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::OnceLock;

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::GSO,
    says: "one send that the kernel or the NIC cuts into datagrams (UDP_SEGMENT)",
    batch: |message| (BYTES_MAX / message.max(1)).clamp(1, segments_max()),
    make: |flow, message| {
        let doing = format!("asking for segments of {message} bytes (UDP_SEGMENT)");
        set_int(flow, libc::SOL_UDP, libc::UDP_SEGMENT, message as libc::c_int)
            .map_err(LoadError::system(doing))?;
        Ok(Box::new(Gso))
    },
};

/// Payload of one send: the largest datagram.
const BYTES_MAX: usize = 65_507;
/// Segments of one send that every kernel with this option takes (linux/udp.h).
const SEGMENTS_LEAST: usize = 64;
/// What newer ones may take, the most first: 128 since Linux 6.9.
const SEGMENTS_MORE: [usize; 2] = [256, 128];

/// Segments of one send that this kernel takes, found out by sending them to a socket of one's own.
fn segments_max() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    let found = || SEGMENTS_MORE.into_iter().find(|segments| takes(*segments).is_ok());
    *MAX.get_or_init(|| found().unwrap_or(SEGMENTS_LEAST))
}

/// Sends so many segments of a byte over the loopback device.
fn takes(segments: usize) -> io::Result<()> {
    let own = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    own.connect(own.local_addr()?)?;
    let own = Socket::from(own);
    set_int(&own, libc::SOL_UDP, libc::UDP_SEGMENT, 1)?;
    own.send(&vec![0; segments]).map(drop)
}

struct Gso;

impl Sender for Gso {
    fn send(&mut self, flow: &Socket, bytes: &[u8], message: usize) -> io::Result<usize> {
        flow.send(bytes).map(|_| bytes.len() / message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_has_as_many_segments_as_the_kernel_takes_and_no_more() {
        let most = segments_max();
        assert!(takes(most).is_ok(), "{most}");
        // Twice as many are refused, unless the list ends before the kernel does.
        let beyond = takes(2 * most).expect_err("no kernel is known to take more");
        assert_eq!(beyond.raw_os_error(), Some(libc::EINVAL), "{most}: {beyond}");
        assert_eq!((SENDER.batch)(18), most);
        assert_eq!((SENDER.batch)(1472), 44);
    }
}
