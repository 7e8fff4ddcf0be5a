//! Tables of the kernel whose header line names the columns: `/proc/net/snmp`.

/// The values under a name's header line: `Udp: InDatagrams NoPorts ...` then `Udp: 5 0 ...`.
pub fn headed<'a>(text: &'a str, name: &str) -> Option<Vec<(&'a str, u64)>> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let (header, values) = (lines.next()?, lines.next()?);
    let pairs = header.split_whitespace().zip(values.split_whitespace());
    Some(pairs.filter_map(|(key, value)| Some((key, value.parse().ok()?))).collect())
}
