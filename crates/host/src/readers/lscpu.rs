//! `lscpu`: its summary as text and as JSON (`-J`), and its table of CPUs (`-e`, `-p`, `-e -J`).
//!
//! The summary counts sockets and cores and lists the CPUs of each node. Which CPUs share a core it
//! does not say, and which node is of which socket only where there is one socket.

use super::{BadText, Reader, json, short};
use crate::parts::PartialHost;
use crate::{cpu, list};
use narrows_model::Fact;
use narrows_model::host::{CpuCounts, CpuPlace, Node};
use serde_json::Value;
use std::collections::BTreeMap;

const PROGRAM: &str = "lscpu";

/// Counts of processors, and which CPUs share a core where a table is given.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

/// Makers of processors for servers, by their names for themselves.
const MAKERS: [&str; 5] = ["ARM", "Ampere", "AuthenticAMD", "GenuineIntel", "HygonGenuine"];
/// The line that no summary in English is without.
const ONLINE: &str = "On-line CPU(s) list";
/// The same as a mask (`lscpu -x`).
const MASK: &str = "On-line CPU(s) mask";
/// Those that were taken offline; the line is there only where there are any.
const OFFLINE: &str = "Off-line CPU(s) list";

/// What `uname -m` says, and the first line of the summary, in any language.
const MACHINES: [&str; 10] = [
    "x86_64",
    "aarch64",
    "ppc64le",
    "ppc64",
    "s390x",
    "riscv64",
    "i686",
    "i586",
    "armv7l",
    "loongarch64",
];

fn is(text: &str) -> bool {
    if text.trim_start().starts_with('{') {
        return [r#""lscpu""#, r#""cpus""#].iter().any(|key| begins_with(text, key));
    }
    text.lines().take(6).any(|line| is_first(line) || counted(line)) || is_table(text)
}

/// Whether a document's first key is this one; others have it further in.
fn begins_with(text: &str, key: &str) -> bool {
    let inside = text.trim_start().strip_prefix('{').unwrap_or_default();
    inside.trim_start().starts_with(key)
}

/// An orphaned line before it, such as the command that was typed, does no harm.
fn counted(line: &str) -> bool {
    halves(line).is_some_and(|(key, _)| key == ONLINE)
}

/// `Architecture:  x86_64`, `Architektur: x86_64`.
fn is_first(line: &str) -> bool {
    let Some((key, value)) = halves(line) else { return false };
    MACHINES.contains(&value) && !key.trim().is_empty() && !key.contains(['=', '/'])
}

/// A line's name and value; some languages put a wide colon between them.
fn halves(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':').or_else(|| line.split_once('：'))?;
    Some((key.trim(), value.trim()))
}

fn is_table(text: &str) -> bool {
    let mut lines = text.lines().take(6);
    lines.any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.first() == Some(&"CPU") && words.contains(&"CORE"))
            || line.to_ascii_lowercase().starts_with("# cpu,")
    })
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    if text.trim_start().starts_with('{') {
        let document = json::document(text, PROGRAM)?;
        if let Some(cpus) = document.get("cpus").and_then(Value::as_array) {
            return of_rows(cpus.iter().map(of_json_row).collect(), from);
        }
        let mut fields = Vec::new();
        flatten(json::members(&document, "lscpu"), &mut fields, 0);
        return Summary { fields }.part(from);
    }
    if is_table(text) {
        return of_rows(rows(text)?, from);
    }
    let first = text.lines().find(|line| is_first(line)).unwrap_or_default();
    if !first.is_empty() && !first.trim_start().starts_with("Architecture:") {
        return Err(BadText::Translated { program: PROGRAM, line: short(first) });
    }
    let lines = text.lines().filter_map(halves);
    let fields: Vec<(String, String)> =
        lines.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Summary { fields }.part(from)
}

/// Fields inside fields, as `lscpu -J` nests them since 2.37.
fn flatten(of: &[Value], into: &mut Vec<(String, String)>, depth: usize) {
    for field in of.iter().filter(|_| depth < 8) {
        if let Some(name) = json::text(field, "field") {
            let data = json::text(field, "data").unwrap_or_default();
            into.push((name.trim_end_matches(':').to_owned(), data.to_owned()));
        }
        flatten(json::members(field, "children"), into, depth + 1);
    }
}

/// The lines of the summary.
struct Summary {
    fields: Vec<(String, String)>,
}

impl Summary {
    fn value(&self, key: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn number(&self, key: &'static str) -> Result<Option<u32>, BadText> {
        // `-` stands for what is not known.
        let Some(text) = self.value(key).filter(|text| *text != "-") else { return Ok(None) };
        text.parse().map(Some).map_err(|_| BadText::Value {
            program: PROGRAM,
            what: key,
            text: short(text),
        })
    }

    fn part(self, from: &str) -> Result<PartialHost, BadText> {
        if self.value("CPU(s)").is_none() {
            return Err(cut("CPU(s)"));
        }
        let mut part = PartialHost::of(PROGRAM, from);
        let model = self.value("Model name").or(self.value("BIOS Model name"));
        part.host.cpu.model = match model {
            Some(text) => Fact::known(text.split_whitespace().collect::<Vec<_>>().join(" "), from),
            None => Fact::absent(from),
        };
        part.host.virtualised = match self.value("Hypervisor vendor") {
            Some(vendor) => Fact::known(format!("virtual machine ({vendor})"), from),
            None => Fact::absent(from),
        };
        let online = self.online()?.ok_or_else(|| cut("On-line CPU(s) list"))?;
        // Versions up to 2.36 say sockets, s390x has books and drawers above them.
        let sockets = self.number("Socket(s)")?.or(self.number("Socket(s) per book")?);
        let per = self.number("Core(s) per socket")?.or(self.number("Core(s) per cluster")?);
        if sockets.is_none() && self.number("Cluster(s)")?.is_none() {
            return Err(cut("Socket(s)"));
        }
        part.host.nodes = self.nodes()?;
        let last = self.fields.last().map(|(name, _)| name.as_str());
        // Kernels of other machines than these are often built without NUMA.
        let several = sockets.is_some_and(|sockets| sockets > 1)
            && self.value("Architecture").is_none_or(|machine| MACHINES[..2].contains(&machine))
            && self.value("Vendor ID").is_none_or(|vendor| MAKERS.contains(&vendor));
        if part.host.nodes.is_empty() && (several || last == Some("Socket(s)")) {
            return Err(cut("NUMA node(s)"));
        }
        if let Some((sockets, cores)) = sockets.zip(per).filter(|(sockets, _)| *sockets > 0) {
            let counts = CpuCounts { sockets, cores: sockets.saturating_mul(cores) };
            part.host.cpu.counts = Fact::known(counts, from);
        }
        let threads = self.number("Thread(s) per core")?;
        let nodes = part.host.nodes.iter();
        let homes: BTreeMap<u32, u32> =
            nodes.flat_map(|node| node.cpus.iter().map(|cpu| (*cpu, node.id))).collect();
        part.host.cpu.places = online
            .iter()
            .map(|cpu| CpuPlace {
                cpu: *cpu,
                package: (sockets == Some(1)).then_some(0),
                die: None,
                // Without threads a CPU is a core.
                core: (threads == Some(1)).then_some(*cpu),
                node: homes.get(cpu).copied(),
            })
            .collect();
        part.host.cpu.online = Fact::known(online, from);
        if let Some(text) = self.value(OFFLINE) {
            part.host.cpu.offline = Fact::known(
                list::parse(text).map_err(|_| BadText::Value {
                    program: PROGRAM,
                    what: "list of CPUs",
                    text: short(text),
                })?,
                from,
            );
        }
        Ok(part)
    }

    fn online(&self) -> Result<Option<Vec<u32>>, BadText> {
        if let Some(text) = self.value(ONLINE) {
            return list::parse(text).map(Some).map_err(|_| BadText::Value {
                program: PROGRAM,
                what: "list of CPUs",
                text: short(text),
            });
        }
        if let Some(text) = self.value(MASK) {
            let read = if text.contains(',') { list::parse_mask } else { list::parse_long_mask };
            return read(text).map(Some).map_err(|_| bad("mask of CPUs", text));
        }
        Ok(None)
    }

    fn nodes(&self) -> Result<Vec<Node>, BadText> {
        let mut nodes: Vec<Node> = Vec::new();
        for (key, value) in &self.fields {
            let Some(id) =
                key.strip_prefix("NUMA node").and_then(|rest| rest.strip_suffix(" CPU(s)"))
            else {
                continue;
            };
            let id: u32 = id.parse().map_err(|_| bad("node", id))?;
            // With -x all are masks, those of the nodes too.
            let read = match self.value(MASK) {
                Some(_) => list::parse_long_mask,
                None => list::parse,
            };
            let cpus = read(value).map_err(|_| bad("list of CPUs", value))?;
            nodes.push(Node { id, cpus, ..Node::default() });
        }
        match self.number("NUMA node(s)")? {
            Some(count) if count as usize > nodes.len() => {
                let missing =
                    format!("the CPUs of {} of {count} nodes", count as usize - nodes.len());
                Err(BadText::CutShort { program: PROGRAM, missing })
            }
            _ => Ok(nodes),
        }
    }
}

fn cut(what: &str) -> BadText {
    BadText::CutShort { program: PROGRAM, missing: format!("no line {what}") }
}

fn bad(what: &'static str, text: &str) -> BadText {
    BadText::Value { program: PROGRAM, what, text: short(text) }
}

/// A line of the table, by the heads of its columns in capitals.
type Row = BTreeMap<String, String>;

fn rows(text: &str) -> Result<Vec<Row>, BadText> {
    let mut heads: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parsable = line.contains(',');
        let split = |line: &str| -> Vec<String> {
            let cells: Vec<&str> = if parsable {
                line.split(',').collect()
            } else {
                line.split_whitespace().collect()
            };
            cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
        };
        if let Some(comment) = line.strip_prefix('#') {
            if comment.trim_start().to_ascii_lowercase().starts_with("cpu,") {
                heads = split(&comment.trim().to_ascii_uppercase());
            }
        } else if line.starts_with("CPU ") {
            heads = split(&line.to_ascii_uppercase());
        } else if !heads.is_empty() {
            rows.push(heads.iter().cloned().zip(split(line)).collect::<Row>());
        }
    }
    let short = rows.last().filter(|row| row.len() < heads.len().min(4));
    match short {
        Some(_) => {
            let missing = "columns of the last CPU".to_owned();
            Err(BadText::CutShort { program: PROGRAM, missing })
        }
        None => Ok(rows),
    }
}

fn of_json_row(row: &Value) -> Row {
    let cells = row.as_object().into_iter().flatten();
    cells.map(|(key, value)| (key.to_ascii_uppercase(), text(value))).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn of_rows(rows: Vec<Row>, from: &str) -> Result<PartialHost, BadText> {
    let mut part = PartialHost::of(PROGRAM, from);
    for row in &rows {
        let number = |key: &str| row.get(key).and_then(|text| text.parse::<u32>().ok());
        let off =
            row.get("ONLINE").is_some_and(|word| ["no", "false", "N"].contains(&word.as_str()));
        let Some(cpu) = number("CPU").filter(|_| !off) else { continue };
        let (package, core, node) = (number("SOCKET"), number("CORE"), number("NODE"));
        part.host.cpu.places.push(CpuPlace { cpu, package, die: None, core, node });
        if let Some(id) = node {
            let nodes = &mut part.host.nodes;
            match nodes.iter_mut().find(|node| node.id == id) {
                Some(node) => node.cpus.push(cpu),
                None => nodes.push(Node { id, cpus: vec![cpu], ..Node::default() }),
            }
        }
    }
    if part.host.cpu.places.is_empty() {
        return Err(BadText::Nothing { program: PROGRAM, why: "no CPU in the table" });
    }
    part.host.nodes.sort_by_key(|node| node.id);
    // The table numbers cores through all sockets: the first CPU of each number is its lead.
    let cores: BTreeMap<u32, Option<u32>> =
        part.host.cpu.places.iter().map(|place| (place.cpu, place.core)).collect();
    // Backwards, so that the lowest CPU of a core stays.
    let leads: BTreeMap<u32, u32> =
        cores.iter().rev().filter_map(|(cpu, core)| Some(((*core)?, *cpu))).collect();
    cpu::number_cores(&mut part.host.cpu.places, |cpu: u32| {
        leads.get(&(*cores.get(&cpu)?)?).copied()
    });
    let online = part.host.cpu.places.iter().map(|place| place.cpu).collect();
    part.host.cpu.online = Fact::known(online, from);
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Architecture:          x86_64\nCPU op-mode(s):        32-bit, 64-bit\n\
        CPU(s):                4\nOn-line CPU(s) list:   0-3\nThread(s) per core:    2\n\
        Core(s) per socket:    1\nSocket(s):             2\nNUMA node(s):          2\n\
        Model name:            Intel(R) Xeon(R)  Gold 6230 CPU\nNUMA node0 CPU(s):     0,2\n\
        NUMA node1 CPU(s):     1,3\n";

    #[test]
    fn masks_are_read_however_long_they_are() {
        let text = "Architecture: x86_64\nCPU(s): 96\n\
                    On-line CPU(s) mask: 0xffffffffffffffffffffffff\nThread(s) per core: 1\n\
                    Core(s) per socket: 48\nSocket(s): 2\nNUMA node(s): 2\n\
                    NUMA node0 CPU(s): 0x555555555555555555555555\n\
                    NUMA node1 CPU(s): 0xaaaaaaaaaaaaaaaaaaaaaaaa\n";
        let host = read(text, "lscpu").expect("whole").host;
        assert_eq!(host.cpu.online.value().map(Vec::len), Some(96));
        assert_eq!((host.nodes[0].cpus.len(), host.nodes[1].cpus[..2].to_vec()), (48, vec![1, 3]));
        let bad = text.replace("0x555", "0xg55");
        assert!(matches!(read(&bad, "lscpu"), Err(BadText::Value { .. })));
    }

    #[test]
    fn the_summary_counts_what_it_does_not_place() {
        assert!(is(TEXT));
        let host = read(TEXT, "lscpu").expect("summary").host;
        assert_eq!(host.cpu.counts.value(), Some(&CpuCounts { sockets: 2, cores: 2 }));
        assert_eq!(
            host.cpu.model.value().map(String::as_str),
            Some("Intel(R) Xeon(R) Gold 6230 CPU")
        );
        let places = &host.cpu.places;
        assert_eq!(
            (places.len(), places[1].node, places[1].core, places[1].package),
            (4, Some(1), None, None)
        );
        assert_eq!(host.nodes[0].cpus, [0, 2]);
    }

    #[test]
    fn json_nested_or_flat_is_the_same_summary() {
        let flat: Vec<String> = TEXT
            .lines()
            .filter_map(halves)
            .map(|(key, value)| format!(r#"{{"field":"{key}:","data":"{value}"}}"#))
            .collect();
        let nested = format!(
            r#"{{"lscpu":[{{"field":"Architecture:","data":"x86_64","children":[{}]}}]}}"#,
            flat[1..].join(",")
        );
        let flat = format!(r#"{{"lscpu":[{}]}}"#, flat.join(","));
        let want = read(TEXT, "one").expect("text").host;
        for text in [flat, nested] {
            assert!(is(&text));
            assert_eq!(read(&text, "one").expect("JSON").host, want);
            assert!(matches!(read(&text[..60], "cut"), Err(BadText::Json { .. })));
        }
    }

    #[test]
    fn the_table_places_every_cpu() {
        let tables = [
            "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n0 0 0 0 0:0:0:0 yes\n1 1 1 1 1:1:1:1 yes\n\
             2 0 0 0 0:0:0:0 yes\n3 - - - - no\n",
            "# The following is the parsable format.\n# CPU,Core,Socket,Node,,L1d\n0,0,0,0,,0\n\
             1,1,1,1,,1\n2,0,0,0,,0\n",
        ];
        for table in tables {
            assert!(is(table), "{table}");
            let host = read(table, "lscpu").expect("table").host;
            let places: Vec<_> =
                host.cpu.places.iter().map(|p| (p.cpu, p.package, p.core, p.node)).collect();
            let want = [(0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 0, 0)];
            assert_eq!(places, want.map(|(c, p, k, n)| (c, Some(p), Some(k), Some(n))));
        }
    }

    #[test]
    fn translated_and_cut_short_are_refused_by_name() {
        for first in ["Architektur:    x86_64", "Architecture : x86_64", "架构：    x86_64"] {
            let text = TEXT.replacen("Architecture:          x86_64", first, 1);
            assert!(is(&text), "{first}");
            let error = read(&text, "translated").expect_err(first);
            assert!(matches!(error, BadText::Translated { .. }), "{error}");
        }
        let lines: Vec<&str> = TEXT.lines().collect();
        for cut in 1..lines.len() {
            let error = read(&lines[..cut].join("\n"), "cut").expect_err("cut short");
            assert!(matches!(error, BadText::CutShort { .. }), "{cut}: {error}");
        }
    }
}
