//! `numactl -H`: nodes, their CPUs, memory and distances.

use super::{BadText, Reader, short};
use crate::parts::PartialHost;
use narrows_model::host::Node;
use narrows_model::{Bytes, Fact};

const PROGRAM: &str = "numactl";

/// More nodes than any machine has.
const NODES_MAX: usize = 4096;

/// Nodes with their CPUs, memory in bytes and distances.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("available: ") && line.contains(" nodes ("))
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let mut part = PartialHost::of(PROGRAM, from);
    let mut wanted: Vec<u32> = Vec::new();
    let mut columns: Vec<u32> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(list) = line.strip_prefix("available: ") {
            wanted = available(list)?;
        } else if let Some(rest) = line.strip_prefix("node ") {
            match rest.split_once(':') {
                Some((head, value)) => of_node(&mut part.host.nodes, head, value, from)?,
                None if rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
                    columns = numbers(rest)?;
                }
                None => {}
            }
        } else if let Some((node, row)) = line.split_once(':')
            && let Ok(id) = node.trim().parse::<u32>()
            && let Some(node) = part.host.nodes.iter_mut().find(|node| node.id == id)
        {
            let row = numbers(row)?;
            if row.len() != columns.len() {
                return Err(cut(format!("the distances of node {id}")));
            }
            node.distances = Fact::known(row, from);
        }
    }
    for id in wanted {
        let node = part.host.nodes.iter().find(|node| node.id == id);
        let node = node.ok_or_else(|| cut(format!("node {id}")))?;
        if node.memory_bytes.value().is_none() {
            return Err(cut(format!("the size of node {id}")));
        }
        if node.distances.value().is_none() {
            return Err(cut(format!("the distances of node {id}")));
        }
    }
    Ok(part)
}

fn cut(missing: String) -> BadText {
    BadText::CutShort { program: PROGRAM, missing }
}

/// `2 nodes (0-1)`, or `2 nodes (0,8)`.
fn available(text: &str) -> Result<Vec<u32>, BadText> {
    let bad = || BadText::Value { program: PROGRAM, what: "list of nodes", text: short(text) };
    let (count, list) = text.split_once(" nodes (").ok_or_else(bad)?;
    let nodes = crate::list::parse(list.trim_end_matches(')')).map_err(|_| bad())?;
    if count.parse() == Ok(nodes.len()) && nodes.len() <= NODES_MAX {
        Ok(nodes)
    } else {
        Err(bad())
    }
}

/// `0 cpus: 0 1 2`, `0 size: 65436 MB`; free memory changes and is not kept.
fn of_node(nodes: &mut Vec<Node>, head: &str, value: &str, from: &str) -> Result<(), BadText> {
    let Some((id, what)) = head.trim().split_once(' ') else { return Ok(()) };
    let Ok(id) = id.parse::<u32>() else { return Ok(()) };
    let at = nodes.iter().position(|node| node.id == id).unwrap_or_else(|| {
        nodes.push(Node { id, ..Node::default() });
        nodes.len() - 1
    });
    match what {
        "cpus" => nodes[at].cpus = numbers(value)?,
        "size" => {
            let mib = value.trim().strip_suffix(" MB").and_then(|mib| mib.parse::<u64>().ok());
            let bytes = mib.and_then(|mib| mib.checked_mul(1 << 20)).map(Bytes);
            let bad = BadText::Value { program: PROGRAM, what: "size", text: short(value) };
            nodes[at].memory_bytes = Fact::known(bytes.ok_or(bad)?, from);
        }
        _ => {}
    }
    Ok(())
}

fn numbers(text: &str) -> Result<Vec<u32>, BadText> {
    let bad = |word: &str| BadText::Value { program: PROGRAM, what: "number", text: short(word) };
    text.split_whitespace().map(|word| word.parse().map_err(|_| bad(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "available: 2 nodes (0-1)\nnode 0 cpus: 0 2\nnode 0 size: 65436 MB\n\
        node 0 free: 1 MB\nnode 1 cpus: 1 3\nnode 1 size: 65536 MB\nnode 1 free: 2 MB\n\
        node distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n";

    #[test]
    fn nodes_are_read_and_a_shorter_output_is_refused() {
        assert!(is(TEXT));
        let nodes = read(TEXT, "numactl").expect("nodes").host.nodes;
        assert_eq!((nodes.len(), nodes[1].cpus.as_slice()), (2, [1, 3].as_slice()));
        assert_eq!(nodes[0].memory_bytes.value(), Some(&Bytes::mib(65436)));
        assert_eq!(nodes[1].distances.value(), Some(&vec![21, 10]));
        let lines: Vec<&str> = TEXT.lines().collect();
        for cut in 1..lines.len() {
            let error = read(&lines[..cut].join("\n"), "cut").expect_err("cut short");
            assert!(matches!(error, BadText::CutShort { .. }), "{cut}: {error}");
        }
        assert!(read(&TEXT.replace("2 nodes", "3 nodes"), "count").is_err());
    }
}
