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
    while !is_last(&socket.recv_from_full()?.0, &mut take)? {}
    Ok(())
}

/// Hands the answers in one datagram over, and whether they were the last.
fn is_last(
    datagram: &[u8],
    mut take: impl FnMut(u16, &[u8]) -> io::Result<()>,
) -> io::Result<bool> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let message = NetlinkBuffer::new_checked(rest).map_err(unread)?;
        let length = message.length() as usize;
        match message.message_type() {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let number = message.payload().first_chunk().copied().unwrap_or_default();
                let number = i32::from_ne_bytes(number);
                return Err(io::Error::from_raw_os_error(number.saturating_neg()));
            }
            kind => take(kind, rest.get(..length).unwrap_or(rest))?,
        }
        rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn unread(why: impl ToString) -> io::Error {
    io::Error::other(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message as the kernel sends it: length, kind, flags, number, sender, payload.
    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(16, 0);
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    type Taken = Vec<(u16, Vec<u8>)>;

    fn taken(datagram: &[u8]) -> (Result<bool, Option<i32>>, Taken) {
        let mut all = Vec::new();
        let told = is_last(datagram, |kind, bytes| {
            all.push((kind, bytes[16..].to_vec()));
            Ok(())
        });
        (told.map_err(|error| error.raw_os_error()), all)
    }

    #[test]
    fn answers_are_handed_over_one_by_one_until_the_last() {
        let two = [message(24, b"first"), message(16, b"one")].concat();
        let both = vec![(24, b"first".to_vec()), (16, b"one".to_vec())];
        assert_eq!(taken(&two), (Ok(false), both.clone()), "more follows");
        let done = [two.clone(), message(3, &[0; 4]), message(24, b"late")].concat();
        assert_eq!(taken(&done), (Ok(true), both.clone()));
        let refused = [two, message(2, &(-95_i32).to_ne_bytes())].concat();
        assert_eq!(taken(&refused), (Err(Some(95)), both), "the kernel's own number");
        assert_eq!(taken(&[]), (Ok(false), Vec::new()));
        assert_eq!(taken(&[1, 2, 3]), (Err(None), Vec::new()), "cut off");
        let all = is_last(&message(24, b"x"), |_, _| Err(io::ErrorKind::InvalidData.into()));
        assert_eq!(all.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
    }
}
