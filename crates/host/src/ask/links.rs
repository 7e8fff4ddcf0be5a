//! What the kernel tells of all interfaces by rtnetlink (`RTM_GETLINK`): kind root queueing
//! discipline, and the largest segment that the stack hands over, which no file has.

use narrows_model::Fact;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkInfo, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// Lines of `NAME KIND QDISC GSO_MAX_BYTES`, with `-` for what is not told.
pub fn ask() -> Fact<String> {
    match dump() {
        Ok(lines) => Fact::known(lines.join("\n"), "rtnetlink"),
        Err(error) => Fact::absent(format!("rtnetlink ({error})")),
    }
}

fn dump() -> io::Result<Vec<String>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::GetLink(LinkMessage::default()));
    request.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut lines = Vec::new();
    loop {
        let (answer, _) = socket.recv_from_full()?;
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|error| io::Error::other(error.to_string()))?;
            let length = (message.header.length as usize).next_multiple_of(4);
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(lines),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                    lines.extend(row(&link));
                }
                _ => {}
            }
            rest = rest.get(length.max(4)..).unwrap_or_default();
        }
    }
}

fn row(link: &LinkMessage) -> Option<String> {
    let (mut name, mut kind, mut qdisc) = (None, "-".to_owned(), "-".to_owned());
    let mut segment = "-".to_owned();
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text.clone()),
            LinkAttribute::Qdisc(text) => qdisc = text.clone(),
            LinkAttribute::GsoMaxSize(bytes) => segment = bytes.to_string(),
            LinkAttribute::LinkInfo(infos) => {
                let found = infos.iter().find_map(|info| match info {
                    LinkInfo::Kind(kind) => Some(kind.to_string()),
                    _ => None,
                });
                kind = found.unwrap_or(kind);
            }
            _ => {}
        }
    }
    Some(format!("{} {kind} {qdisc} {segment}", name?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_lists_the_loopback_device() {
        let links = ask();
        let Some(text) = links.value() else { panic!("{links:?}") };
        assert!(text.lines().any(|line| line.starts_with("lo - ")), "{text}");
        let segments = text.lines().filter_map(|line| line.split(' ').nth(3)?.parse::<u64>().ok());
        assert!(segments.count() > 0, "every kernel since 4.16 tells it: {text}");
    }
}
