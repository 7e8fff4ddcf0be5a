//! A dump of rtnetlink: one request, and answers until the kernel says that they are all.

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// Kinds of answers that are none (linux/netlink.h).
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// Hands every answer to `take`, in the kernel's order.
pub(super) fn dump(
    request: RouteNetlinkMessage,
    mut take: impl FnMut(RouteNetlinkMessage),
) -> io::Result<()> {
    each(request, |_, bytes| {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes).map_err(unread)?;
        if let NetlinkPayload::InnerMessage(message) = message.payload {
            take(message);
        }
        Ok(())
    })
}

/// Hands the kind and the bytes of every answer to `take`, its head included: some have what the
/// netlink crate does not read.
pub(super) fn each(
    request: RouteNetlinkMessage,
    mut take: impl FnMut(u16, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut request = NetlinkMessage::from(request);
    request.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    loop {
        let (answer, _) = socket.recv_from_full()?;
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest).map_err(unread)?;
            let length = message.length() as usize;
            match message.message_type() {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => {
                    let number = message.payload().first_chunk().copied().unwrap_or_default();
                    let number = i32::from_ne_bytes(number);
                    return Err(io::Error::from_raw_os_error(number.saturating_neg()));
                }
                kind => take(kind, rest.get(..length).unwrap_or(rest))?,
            }
            rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
        }
    }
}

fn unread(why: impl ToString) -> io::Error {
    io::Error::other(why.to_string())
}
