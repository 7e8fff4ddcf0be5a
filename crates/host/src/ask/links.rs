//! What the kernel tells of all interfaces by rtnetlink (`RTM_GETLINK`): kind, root queueing
//! discipline, and the largest segment that the stack hands over, which no file has; and how often
//! each lost its link, which `/sys` tells of the namespace that it was mounted in alone.

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

/// How often each interface of the calling thread's network namespace lost its link since it was
/// made; those are left out of which the kernel does not tell (Linux before 4.16).
pub fn carriers_lost() -> io::Result<Vec<(String, u64)>> {
    let mut all = Vec::new();
    dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
        if let RouteNetlinkMessage::NewLink(link) = message {
            all.extend(carrier_lost(&link));
        }
    })?;
    Ok(all)
}

fn carrier_lost(link: &LinkMessage) -> Option<(String, u64)> {
    let (mut name, mut lost) = (None, None);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text.clone()),
            LinkAttribute::CarrierDownCount(count) => lost = Some((*count).into()),
            _ => {}
        }
    }
    Some((name?, lost?))
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
    use netlink_packet_route::link::InfoKind;

    #[test]
    fn a_link_that_was_lost_is_counted_apart_from_one_that_came_back() {
        let mut link = LinkMessage::default();
        link.attributes = vec![
            LinkAttribute::CarrierUpCount(4),
            LinkAttribute::CarrierDownCount(3),
            LinkAttribute::CarrierChanges(7),
        ];
        assert_eq!(carrier_lost(&link), None, "no name");
        link.attributes.push(LinkAttribute::IfName("e0".into()));
        assert_eq!(carrier_lost(&link), Some(("e0".into(), 3)));
        link.attributes.remove(1);
        assert_eq!(carrier_lost(&link), None, "an older kernel");
        let all = carriers_lost().expect("the kernel answers");
        assert!(all.iter().any(|(name, _)| name == "lo"), "{all:?}");
    }

    #[test]
    fn the_kernel_lists_the_loopback_device() {
        let links = ask();
        let Some(text) = links.value() else { panic!("{links:?}") };
        assert!(text.lines().any(|line| line.starts_with("lo - ")), "{text}");
        let segments = text.lines().filter_map(|line| line.split(' ').nth(3)?.parse::<u64>().ok());
        assert!(segments.count() > 0, "every kernel since 4.16 tells it: {text}");
    }

    #[test]
    fn a_link_is_a_line_with_a_dash_for_what_is_not_told() {
        let mut link = LinkMessage::default();
        assert_eq!(row(&link), None, "no name");
        link.attributes = vec![LinkAttribute::IfName("e0".into())];
        assert_eq!(row(&link).as_deref(), Some("e0 - - -"));
        link.attributes.extend([
            LinkAttribute::Qdisc("fq".into()),
            LinkAttribute::GsoMaxSize(65_536),
            LinkAttribute::GsoMaxSegs(64),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]),
        ]);
        assert_eq!(row(&link).as_deref(), Some("e0 veth fq 65536"));
        link.attributes.push(LinkAttribute::LinkInfo(Vec::new()));
        assert_eq!(row(&link).as_deref(), Some("e0 veth fq 65536"), "nothing takes its place");
    }
}
