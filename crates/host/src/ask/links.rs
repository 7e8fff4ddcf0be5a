//! What the kernel tells of all interfaces by rtnetlink (`RTM_GETLINK`): kind, root queueing
//! discipline, and the largest segment that the stack hands over, which no file has.

use super::dump::dump;
use narrows_model::Fact;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkInfo, LinkMessage};
use std::io;

/// Lines of `NAME KIND QDISC GSO_MAX_BYTES`, with `-` for what is not told.
pub fn ask() -> Fact<String> {
    match lines() {
        Ok(lines) => Fact::known(lines.join("\n"), "rtnetlink"),
        Err(error) => Fact::absent(format!("rtnetlink ({error})")),
    }
}

fn lines() -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
        if let RouteNetlinkMessage::NewLink(link) = message {
            lines.extend(row(&link));
        }
    })?;
    Ok(lines)
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
