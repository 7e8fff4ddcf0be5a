//! What tells two machines apart, so that parts of two are never made one.

use super::PartialHost;
use narrows_model::cpu_list;
use narrows_model::host::CpuCounts;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// What in a part names its machine.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Name of the host.
    pub name: Option<String>,
    /// Serial number of the system.
    pub serial: Option<String>,
    /// UUID of the system.
    pub uuid: Option<String>,
    /// Hardware addresses of its interfaces, by name.
    pub macs: BTreeMap<String, String>,
    /// What is at each address of PCI.
    pub functions: BTreeMap<String, Function>,
    /// Who made the processors, by the functions that are inside them: `Intel`, `AMD`, `Arm`.
    pub processor_maker: Option<&'static str>,
}

/// A function of PCI as far as a listing tells what it is.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Class and subclass, without the programming interface that only registers tell.
    pub class: Option<u32>,
    /// Numbers of vendor and device; none in a listing of names.
    pub ids: Option<(u16, u16)>,
    /// Vendor and device in the words of the PCI id list; empty in a listing of numbers.
    pub words: String,
}

impl Function {
    /// Whether both can be one: what only one of them tells contradicts nothing.
    fn may_be(&self, other: &Self) -> bool {
        let same_class = self.class.zip(other.class).is_none_or(|(a, b)| a == b);
        let same_name = match self.ids.zip(other.ids) {
            Some((a, b)) => a == b,
            None => !self.is_named() || !other.is_named() || self.words == other.words,
        };
        same_class && same_name
    }

    /// False where the list of names lacks the device, as an older one does.
    fn is_named(&self) -> bool {
        !self.words.is_empty() && !self.words.contains("Device ")
    }

    fn shown(&self, address: &str) -> String {
        match self.ids {
            Some((vendor, device)) => {
                format!("{address} {} [{vendor:04x}:{device:04x}]", self.words)
            }
            None => format!("{address} {}", self.words),
        }
    }
}

/// Two sources that are of two machines.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "these are of two hosts: the {what} is '{a}' in {a_from} and '{b}' in {b_from}; give them one \
     by one, or all with --fleet"
)]
pub struct TwoHosts {
    /// The mark in which they differ: `host name`, `serial number`, `UUID`, `processor` and so on.
    pub what: &'static str,
    pub a: String,
    /// The first source.
    pub a_from: String,
    pub b: String,
    /// The second source.
    pub b_from: String,
}

/// Words that firmware and masks put where nothing is known.
const PLACEHOLDERS: [&str; 16] = [
    "",
    "0",
    "0123456789",
    "123456789",
    "1234567890",
    "asset-1234567890",
    "default string",
    "empty",
    "localhost",
    "masked",
    "none",
    "not applicable",
    "not settable",
    "not specified",
    "system serial number",
    "to be filled by o.e.m.",
];

/// An error for two parts that cannot be of one machine.
pub fn check(parts: &[PartialHost]) -> Result<(), TwoHosts> {
    for (index, a) in parts.iter().enumerate() {
        for b in &parts[index + 1..] {
            check_pair(a, b)?;
        }
    }
    Ok(())
}

fn check_pair(a: &PartialHost, b: &PartialHost) -> Result<(), TwoHosts> {
    let pairs = [
        ("host name", short(&a.marks.name), short(&b.marks.name)),
        ("serial number", plain(&a.marks.serial), plain(&b.marks.serial)),
        ("UUID", uuid(&a.marks.uuid), uuid(&b.marks.uuid)),
    ];
    for (what, x, y) in pairs {
        let pair = x.zip(y).filter(|(x, y)| differ(x, y));
        if let Some((x, y)) = pair {
            return Err(two(what, (x, a), (y, b)));
        }
    }
    let models = (a.host.cpu.model.value(), b.host.cpu.model.value());
    if let (Some(x), Some(y)) = models
        && !may_be_one_model(x, y)
    {
        return Err(two("processor", (x.clone(), a), (y.clone(), b)));
    }
    check_makers(a, b)?;
    check_functions(a, b)?;
    check_counts(a, b)?;
    check_macs(a, b)
}

fn short(name: &Option<String>) -> Option<String> {
    let name = name.as_deref()?.split('.').next()?.to_lowercase();
    told(&name).then_some(name)
}

fn plain(text: &Option<String>) -> Option<String> {
    let text = text.as_deref()?.trim().to_lowercase();
    told(&text).then_some(text)
}

fn differ(x: &str, y: &str) -> bool {
    x != y
}

/// Programs that count a host's processors and nodes, and name no host.
const COUNTING: [&str; 2] = ["lscpu", "numactl"];

/// Two outputs of one program that counts are of one machine only where they count the same: a CPU
/// that was taken offline in between is one that is offline in the later.
fn check_counts(a: &PartialHost, b: &PartialHost) -> Result<(), TwoHosts> {
    if a.program != b.program || !COUNTING.contains(&a.program) {
        return Ok(());
    }
    if let Some((x, y)) = all_cpus(a).zip(all_cpus(b)).filter(|(x, y)| x != y) {
        return Err(two("number of CPUs", (x.to_string(), a), (y.to_string(), b)));
    }
    let counts = (a.host.cpu.counts.value(), b.host.cpu.counts.value());
    if let (Some(x), Some(y)) = counts
        && x != y
    {
        return Err(two("number of cores", (shown(x), a), (shown(y), b)));
    }
    let (of_a, of_b) = (&a.host.nodes, &b.host.nodes);
    if !of_a.is_empty() && !of_b.is_empty() && of_a.len() != of_b.len() {
        let [x, y] = [of_a.len().to_string(), of_b.len().to_string()];
        return Err(two("number of nodes", (x, a), (y, b)));
    }
    let pairs = of_a.iter().filter_map(|x| Some((x, of_b.iter().find(|y| y.id == x.id)?)));
    for (x, y) in pairs {
        // A node goes on without the CPUs that are offline.
        let is_told = [a, b].iter().all(|part| offline(part) == 0)
            && !x.cpus.is_empty()
            && !y.cpus.is_empty();
        if is_told && x.cpus != y.cpus {
            let [x, y] = [x, y].map(|node| cpu_list::show(&node.cpus));
            return Err(two("list of a node's CPUs", (x, a), (y, b)));
        }
        let sizes = x.memory_bytes.value().zip(y.memory_bytes.value());
        if let Some((x, y)) = sizes.filter(|(x, y)| x != y) {
            return Err(two("size of a node", (x.to_string(), a), (y.to_string(), b)));
        }
    }
    Ok(())
}

fn shown(one: &CpuCounts) -> String {
    format!("{} on {} sockets", one.cores, one.sockets)
}

/// CPUs that a part counts, those that are offline included.
fn all_cpus(part: &PartialHost) -> Option<usize> {
    part.host.cpu.online.value().map(|online| online.len() + offline(part))
}

fn offline(part: &PartialHost) -> usize {
    part.host.cpu.offline.value().map_or(0, Vec::len)
}

/// The processors that a listing of PCI is inside of are those of the names.
fn check_makers(a: &PartialHost, b: &PartialHost) -> Result<(), TwoHosts> {
    let [of_a, of_b] = [a, b].map(|part| {
        let model = part.host.cpu.model.value();
        part.marks.processor_maker.or_else(|| maker_of(model?))
    });
    match of_a.zip(of_b).filter(|(x, y)| x != y) {
        Some((x, y)) => Err(two("maker of the processor", (x.into(), a), (y.into(), b))),
        None => Ok(()),
    }
}

/// Two listings have the same function at an address that is in both.
fn check_functions(a: &PartialHost, b: &PartialHost) -> Result<(), TwoHosts> {
    for (address, x) in &a.marks.functions {
        if let Some(y) = b.marks.functions.get(address).filter(|y| !x.may_be(y)) {
            return Err(two("PCI function", (x.shown(address), a), (y.shown(address), b)));
        }
    }
    Ok(())
}

fn two(
    what: &'static str,
    (a, of_a): (String, &PartialHost),
    (b, of_b): (String, &PartialHost),
) -> TwoHosts {
    TwoHosts { what, a, a_from: of_a.from.clone(), b, b_from: of_b.from.clone() }
}

/// False for words that stand for nothing, and for what a mask left: dots, stars, x, zeros.
fn told(text: &str) -> bool {
    !PLACEHOLDERS.contains(&text)
        && !text.contains("localhost")
        && !text.chars().all(|c| matches!(c, 'x' | '*' | '.' | '-' | '0' | '#' | ' ' | '_' | 'f'))
}

/// A UUID as its digits; some programs write the first three groups with their bytes turned round
/// (DSP0134, 7.2.1), so that only the last two, which nobody turns, are compared.
fn uuid(text: &Option<String>) -> Option<String> {
    let lower = text.as_deref()?.to_lowercase();
    let digits: String = lower.chars().filter(char::is_ascii_hexdigit).collect();
    (digits.len() == 32 && told(&digits)).then(|| digits[16..].to_owned())
}

/// The maker of a processor by its name.
fn maker_of(name: &str) -> Option<&'static str> {
    const MAKERS: [(&str, &[&str]); 3] = [
        ("Intel", &["intel", "xeon"]),
        ("AMD", &["amd", "epyc", "opteron", "ryzen"]),
        ("Arm", &["ampere", "kunpeng", "neoverse", "graviton", "thunderx"]),
    ];
    let lower = name.to_lowercase();
    let of = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    MAKERS.iter().find(|(_, words)| of(words)).map(|(maker, _)| *maker)
}

/// True unless the names are of two makers, or both have a model number and share none.
fn may_be_one_model(a: &str, b: &str) -> bool {
    if maker_of(a).zip(maker_of(b)).is_some_and(|(a, b)| a != b) {
        return false;
    }
    let (of_a, of_b) = (numbers(a), numbers(b));
    of_a.is_empty()
        || of_b.is_empty()
        || of_a.iter().any(|one| inside(one, &of_b))
        || of_b.iter().any(|one| inside(one, &of_a))
}

fn numbers(name: &str) -> BTreeSet<String> {
    let lower = name.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    // `E5-2680v3` and `E5-2680 v3` are one; so is `E52680`.
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| !is_clock(word))
        .map(|word| -> String { word.chars().filter(char::is_ascii_digit).collect() })
        .filter(|n| n.len() >= 3)
        .collect()
}

fn is_clock(word: &str) -> bool {
    word.ends_with("ghz") || word.ends_with("mhz")
}

fn inside(one: &str, all: &BTreeSet<String>) -> bool {
    all.iter().any(|n| n.contains(one))
}

/// Two sets of hardware addresses that have none in common are of two machines.
fn check_macs(a: &PartialHost, b: &PartialHost) -> Result<(), TwoHosts> {
    let (of_a, of_b) = (all(a), all(b));
    match (of_a.first(), of_b.first()) {
        (Some(x), Some(y)) if of_a.is_disjoint(&of_b) => {
            Err(two("hardware address", (x.clone(), a), (y.clone(), b)))
        }
        _ => Ok(()),
    }
}

fn all(part: &PartialHost) -> BTreeSet<String> {
    let lower = part.marks.macs.values().map(|mac| mac.to_lowercase());
    lower.filter(|mac| mac.len() == 17 && told(&mac.replace(':', ""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_is_known_under_its_several_names() {
        for (a, b) in [
            ("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", "Intel Xeon E5-2680v3"),
            ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
            ("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", "Xeon Gold 6230"),
            ("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", "CPU1"),
        ] {
            assert!(may_be_one_model(a, b) && may_be_one_model(b, a), "{a} {b}");
        }
        for (a, b) in [
            (
                "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
                "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz",
            ),
            ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7742 64-Core Processor"),
            ("AMD EPYC", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"),
        ] {
            assert!(!may_be_one_model(a, b), "{a} {b}");
        }
    }

    #[test]
    fn fillers_name_no_machine() {
        let part = |serial: &str| {
            let mut part = PartialHost::of("dmidecode", serial);
            part.marks.serial = Some(serial.to_owned());
            part.marks.uuid = Some("03000200-0400-0500-0006-000700080009".to_owned());
            part
        };
        assert!(check(&[part("Not Specified"), part("CZ3")]).is_ok());
        assert!(check(&[part("CZ3"), part("cz3")]).is_ok());
        let error = check(&[part("CZ3"), part("X*X*"), part("CZ4")]).expect_err("two");
        assert_eq!(
            (error.what, error.a.as_str(), error.b.as_str()),
            ("serial number", "cz3", "cz4")
        );
        // The same UUID, its first groups turned round.
        let mut turned = part("CZ3");
        turned.marks.uuid = Some("00020003-0004-0005-0006-000700080009".to_owned());
        assert!(check(&[part("CZ3"), turned]).is_ok());
    }

    #[test]
    fn two_counts_by_one_program_are_of_two_hosts_where_they_differ() {
        let lscpu = |cpus: u32, offline: &str| {
            let text = format!(
                "Architecture: x86_64\nCPU(s): 8\nOn-line CPU(s) list: 0-{}\n{offline}\
                 Model name: AMD EPYC 7763 64-Core Processor\nThread(s) per core: 1\n\
                 Core(s) per socket: 8\nSocket(s): 1\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-{}\n",
                cpus - 1,
                cpus - 1
            );
            part("lscpu", &text)
        };
        let numactl = |mib: u32| {
            let text = format!(
                "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: {mib} MB\nnode 0 free: 1 MB\n\
                 node distances:\nnode   0 \n  0:  10 \n"
            );
            part("numactl", &text)
        };
        let what = |a: PartialHost, b: PartialHost| check(&[a, b]).expect_err("two").what;
        assert_eq!(what(lscpu(8, ""), lscpu(6, "")), "number of CPUs");
        let offline = "Off-line CPU(s) list: 6-7\n";
        assert!(check(&[lscpu(8, ""), lscpu(6, offline)]).is_ok());
        let moved = |text: &str| part("lscpu", text);
        let two = "Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-3\nSocket(s): 2\n\
                   NUMA node(s): 2\nNUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 2,3\n";
        let other = two.replace("0,1", "0,2").replace("2,3", "1,3");
        assert_eq!(what(moved(two), moved(&other)), "list of a node's CPUs");
        assert!(check(&[lscpu(8, ""), lscpu(8, "")]).is_ok());
        assert_eq!(what(numactl(65436), numactl(128_000)), "size of a node");
        assert!(check(&[numactl(65436), numactl(65436)]).is_ok());
    }

    fn part(program: &str, text: &str) -> PartialHost {
        let reader = crate::readers::of(text).expect("a known output");
        assert_eq!(reader.name, program);
        (reader.read)(text, program).expect("whole")
    }
}
