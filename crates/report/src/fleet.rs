//! Many hosts at once: how their memory is populated by maker and model, who differs from the
//! others of its model and in what, and which files told of no host.

use crate::drawn::Screen;
use crate::table::on_screen;
use crate::words::counted;
use narrows_dimm::population::{Balance, Population};
use narrows_explain::{findings, judge_host};
use narrows_model::host::Host;
use narrows_model::result::Weight;
use narrows_model::units::three_digits;
use narrows_model::{BitsPerSecond, Bytes, BytesPerSecond};
use narrows_predict::loss::Loss;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

/// Fewer hosts of one model have no usual one among them.
const SIBLINGS_LEAST: usize = 3;
/// Rows of a table in the terminal; CSV and JSON have all.
const SHOWN: usize = 40;

/// One host of many.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Member {
    /// File or folder that it was read from.
    pub name: String,
    /// Maker of the machine.
    pub maker: String,
    /// Product name of the machine.
    pub model: String,
    /// Model of the processors.
    pub processor: Option<String>,
    /// Processors, by firmware or else by the kernel.
    pub sockets: usize,
    /// DRAM modules that are fitted, all sockets together.
    pub modules: usize,
    /// Memory of the modules; `None` where one does not tell its size.
    pub memory_bytes: Option<Bytes>,
    /// Modules by size: `8 of 32 GiB`.
    pub sizes: String,
    /// Speed that the slowest runs at.
    pub slowest_mts: Option<u32>,
    /// Class of the population.
    pub balance: Option<Balance>,
    /// What is missing for a class.
    pub missing: Option<String>,
    /// Channels that the narrowest interleave set of any socket is spread over.
    pub narrowest_ways: Option<usize>,
    /// What the population costs, by the model: bytes a second of memory, and bits a second of the
    /// port that loses the largest share of its link.
    pub lost: Option<Lost>,
    /// Names of the rules that found a fault of the hardware.
    pub faults: Vec<String>,
}

/// What a population costs against one like module on every channel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    /// Peak of all channels less that of the narrowest interleave sets.
    pub memory_bytes_per_second: BytesPerSecond,
    /// The port that loses the largest share of its link; `None` where none tells its rate.
    pub port: Option<String>,
    /// What that port loses over TCP or UDP, whichever loses more.
    pub port_bits_per_second: Option<BitsPerSecond>,
}

impl Lost {
    /// In short of what the model says.
    pub fn of(loss: &Loss) -> Self {
        let worst = loss.worst();
        Self {
            memory_bytes_per_second: loss.bytes_per_second(),
            port: worst.map(|port| port.nic.clone()),
            port_bits_per_second: worst.map(|port| BitsPerSecond(port.lost.value)),
        }
    }

    /// Bits a second of the port first, then bytes a second of memory, the more the greater.
    fn weight(&self) -> [f64; 2] {
        let port = self.port_bits_per_second.map_or(0.0, |lost| lost.0);
        [port, self.memory_bytes_per_second.0]
    }

    /// `170 GB/s, eth0 12.3 Gb/s`.
    pub fn says(&self) -> String {
        let memory = three_digits(self.memory_bytes_per_second.gbytes());
        let port = self.port.as_ref().zip(self.port_bits_per_second);
        let port = port.map(|(name, lost)| format!(", {name} {lost}"));
        format!("{memory} GB/s{}", port.unwrap_or_default())
    }
}

impl Member {
    /// Looks at a host.
    pub fn of(name: String, host: &Host) -> Self {
        let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
        let dram = slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|m| m.is_dram);
        let dram: Vec<_> = dram.collect();
        let sizes: Option<Vec<u64>> =
            dram.iter().map(|m| m.size_bytes.map(|size| size.0)).collect();
        let population = Population::of(host);
        let sets = population.as_ref().ok().and_then(|known| known.sets.as_ref().ok());
        let ways = sets.map(|sets| sets.by_socket.values().flatten().map(|set| set.ways()));
        let rules = judge_host(host);
        let faults = findings(&rules).into_iter().filter(|found| found.weight == Weight::Fault);
        let identity = host.identity.value().cloned().unwrap_or_default();
        Self {
            name,
            maker: plain(&identity.maker),
            model: plain(&identity.product),
            processor: host.cpu.model.value().cloned(),
            sockets: populated(host),
            modules: dram.len(),
            memory_bytes: sizes
                .map(|sizes| Bytes(sizes.into_iter().fold(0, u64::saturating_add)))
                .filter(|_| !dram.is_empty()),
            sizes: by_size(dram.iter().map(|module| module.size_bytes)),
            slowest_mts: dram.iter().filter_map(|module| module.configured_mts).min(),
            narrowest_ways: ways.and_then(|ways| ways.min()),
            lost: population
                .as_ref()
                .ok()
                .and_then(|known| Some(Lost::of(&Loss::of(host, known).ok()?))),
            missing: population.as_ref().err().map(ToString::to_string),
            balance: population.ok().map(|known| known.balance),
            faults: faults.map(|found| found.rule.clone()).collect(),
        }
    }

    /// Where two stand among the worst: by what their memory is expected to cost; those of which
    /// that is not known by class, before those that lose nothing; then by the narrowest set.
    fn worse(&self, other: &Self) -> Ordering {
        let costs = |host: &Self| host.lost.as_ref().map_or([0.0; 2], Lost::weight);
        let (own, others) = (costs(self), costs(other));
        let by_cost = own[0].total_cmp(&others[0]).then(own[1].total_cmp(&others[1]));
        let narrow = |host: &Self| Reverse(host.narrowest_ways.unwrap_or(usize::MAX));
        let by_class = self.class_weight().cmp(&other.class_weight());
        by_cost.then(by_class).then(narrow(self).cmp(&narrow(other)))
    }

    /// How bad its class is where nothing tells what it costs.
    fn class_weight(&self) -> u8 {
        match self.balance {
            Some(Balance::Unbalanced) => 4,
            Some(Balance::SocketAsymmetric) => 3,
            Some(Balance::NearBalanced) => 2,
            None => 1,
            Some(Balance::Balanced) => 0,
        }
    }

    /// What hosts of one model are compared by.
    fn traits(&self) -> [(&'static str, String); 6] {
        [
            ("processors", self.sockets.to_string()),
            ("processor", shown(self.processor.clone())),
            ("memory", shown(self.memory_bytes.map(|bytes| bytes.to_string()))),
            ("modules", self.sizes.clone()),
            ("memory speed", shown(self.slowest_mts.map(|mts| format!("{mts} MT/s")))),
            ("population", class(self.balance).to_owned()),
        ]
    }
}

fn shown(value: Option<String>) -> String {
    value.unwrap_or_else(|| "unknown".to_owned())
}

fn populated(host: &Host) -> usize {
    let sockets = host.cpu.sockets.value().map(Vec::as_slice).unwrap_or_default();
    match sockets.iter().filter(|socket| socket.populated).count() {
        0 => {
            let packages = host.cpu.places.iter().filter_map(|place| place.package);
            packages.collect::<std::collections::BTreeSet<_>>().len()
        }
        count => count,
    }
}

fn by_size(modules: impl Iterator<Item = Option<Bytes>>) -> String {
    let mut sizes: BTreeMap<Option<Bytes>, usize> = BTreeMap::new();
    modules.for_each(|size| *sizes.entry(size).or_default() += 1);
    let each = sizes.iter().map(|(size, count)| match size {
        Some(size) => format!("{count} of {size}"),
        None => format!("{count} of unknown size"),
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

/// A name in one line.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() { "unknown".to_owned() } else { words.join(" ") }
}

/// The class in a word.
fn class(balance: Option<Balance>) -> &'static str {
    match balance {
        Some(Balance::Balanced) => "balanced",
        Some(Balance::NearBalanced) => "near-balanced",
        Some(Balance::SocketAsymmetric) => "socket-asymmetric",
        Some(Balance::Unbalanced) => "unbalanced",
        None => "unknown",
    }
}

/// A file that told of no host.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Unread {
    /// Path of the file that could not be read.
    pub name: String,
    /// Why, in a line.
    pub why: String,
}

/// How many hosts of a model have which population.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Classes {
    /// Maker of the machines.
    pub maker: String,
    /// Product name of the machines.
    pub model: String,
    /// Hosts of it.
    pub hosts: usize,
    /// Every channel holds the same.
    pub balanced: usize,
    /// One interleave set a socket, some channels empty.
    pub near_balanced: usize,
    /// The sockets differ.
    pub socket_asymmetric: usize,
    /// Several interleave sets in a socket.
    pub unbalanced: usize,
    /// No class is known.
    pub unknown: usize,
}

/// One thing in which a host differs from the others of its model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Odd {
    /// Name of the host, or of its file where it has none.
    pub name: String,
    /// Its maker and model.
    pub model: String,
    /// What differs from the siblings: `processor`, `memory`, `modules`, `population` and so on.
    pub what: String,
    /// What it has.
    pub has: String,
    /// What most have.
    pub usual: String,
    /// How many of its model have that.
    pub usual_hosts: usize,
    /// Hosts of its model.
    pub hosts: usize,
}

/// Many hosts, looked at together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fleet {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    /// Populations by maker and model, the model with the most unbalanced hosts first.
    pub classes: Vec<Classes>,
    /// Hosts that differ from their siblings, the worst first.
    pub odd: Vec<Odd>,
    /// All hosts, the worst first.
    pub hosts: Vec<Member>,
    /// Files that told of none.
    pub unread: Vec<Unread>,
}

impl Fleet {
    /// Puts hosts together; the order of what is given does not matter.
    pub fn of(mut hosts: Vec<Member>, mut unread: Vec<Unread>) -> Self {
        hosts.sort_by(|a, b| b.worse(a).then_with(|| a.name.cmp(&b.name)));
        unread.sort_by(|a, b| a.name.cmp(&b.name));
        let schema_version = narrows_model::SCHEMA_VERSION;
        Self { schema_version, classes: classes(&hosts), odd: odd(&hosts), hosts, unread }
    }

    /// True where a host has a fault of the hardware.
    pub fn has_fault(&self) -> bool {
        self.hosts.iter().any(|host| !host.faults.is_empty())
    }

    /// All hosts as CSV, a line each, and a line for each file that told of none.
    pub fn csv(&self) -> String {
        let mut lines = vec![
            "name,maker,model,processor,sockets,modules,memory_bytes,slowest_mts,population,\
             narrowest_ways,lost_memory_bytes_per_second,lost_port,lost_port_bits_per_second,\
             faults,missing"
                .to_owned(),
        ];
        for host in &self.hosts {
            let lost = host.lost.as_ref();
            let cells = [
                host.name.clone(),
                host.maker.clone(),
                host.model.clone(),
                host.processor.clone().unwrap_or_default(),
                host.sockets.to_string(),
                host.modules.to_string(),
                number(host.memory_bytes.map(|bytes| bytes.0)),
                number(host.slowest_mts.map(u64::from)),
                class(host.balance).to_owned(),
                number(host.narrowest_ways.map(|ways| ways as u64)),
                number(lost.map(|lost| lost.memory_bytes_per_second.0 as u64)),
                lost.and_then(|lost| lost.port.clone()).unwrap_or_default(),
                number(lost.and_then(|lost| Some(lost.port_bits_per_second?.0 as u64))),
                host.faults.join(" "),
                host.missing.clone().unwrap_or_default(),
            ];
            lines.push(cells.map(|cell| quoted(&cell)).join(","));
        }
        for file in &self.unread {
            lines.push(format!("{},,,,,,,,unread,,,,,,{}", quoted(&file.name), quoted(&file.why)));
        }
        lines.join("\n") + "\n"
    }

    /// The tables, laid out for the screen.
    pub fn text(&self, screen: &Screen) -> String {
        let mut out = format!("{}, {}\n\n", counted(self.hosts.len(), "host"), self.unread_says());
        out += &self.classes_text(screen);
        if !self.odd.is_empty() {
            out += "\nwho differs from the others of its model\n";
            let rows = self.odd.iter().take(SHOWN).map(|odd| {
                let usual = format!("{} ({} of {})", odd.usual, odd.usual_hosts, odd.hosts);
                vec![odd.name.clone(), odd.model.clone(), odd.what.clone(), odd.has.clone(), usual]
            });
            let rows: Vec<Vec<String>> = rows.collect();
            out += &on_screen(&["host", "model", "in", "has", "usual"], &rows, screen);
            out += &more(self.odd.len());
        }
        let bad = self.hosts.iter().filter(|host| host.class_weight() >= 2);
        let bad: Vec<&Member> = bad.collect();
        if !bad.is_empty() {
            out += "\nworst memory first, by what it is expected to cost\n";
            let rows = bad.iter().take(SHOWN).map(|host| {
                let ways = host.narrowest_ways.map_or("-".to_owned(), |ways| format!("{ways}-way"));
                let of = format!("{} {}", host.maker, host.model);
                vec![
                    host.name.clone(),
                    of,
                    class(host.balance).to_owned(),
                    host.lost.as_ref().map_or("-".to_owned(), Lost::says),
                    ways,
                    host.sizes.clone(),
                ]
            });
            let rows: Vec<Vec<String>> = rows.collect();
            out += &on_screen(
                &["host", "model", "population", "costs", "worst interleave set", "modules"],
                &rows,
                screen,
            );
            out += &more(bad.len());
        }
        for file in &self.unread {
            out += &screen.prose(&format!("not read: {}: {}", file.name, file.why), "  ");
        }
        out
    }

    fn unread_says(&self) -> String {
        match self.unread.len() {
            0 => "all files read".to_owned(),
            count => format!("{} not read", counted(count, "file")),
        }
    }

    fn classes_text(&self, screen: &Screen) -> String {
        let rows = self.classes.iter().map(|of| {
            let counts =
                [of.balanced, of.near_balanced, of.socket_asymmetric, of.unbalanced, of.unknown];
            let mut row = vec![of.maker.clone(), of.model.clone(), of.hosts.to_string()];
            row.extend(
                counts.map(|count| if count == 0 { "-".to_owned() } else { count.to_string() }),
            );
            row
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let head =
            ["maker", "model", "hosts", "balanced", "near", "asymmetric", "unbalanced", "unknown"];
        let shown = &rows[..rows.len().min(SHOWN)];
        format!("{}{}", on_screen(&head, shown, screen), more(rows.len()))
    }
}

fn number(value: Option<u64>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}

fn more(rows: usize) -> String {
    match rows.checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(rest) => format!("and {rest} more: --csv and --json have all\n"),
    }
}

/// A cell of CSV; programs that open it must not take text for a formula.
fn quoted(cell: &str) -> String {
    let guarded = if cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err() {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

fn classes(hosts: &[Member]) -> Vec<Classes> {
    let mut all: BTreeMap<(&str, &str), Classes> = BTreeMap::new();
    for host in hosts {
        let of = all.entry((&host.maker, &host.model)).or_default();
        (of.maker, of.model) = (host.maker.clone(), host.model.clone());
        of.hosts += 1;
        let count = match host.balance {
            Some(Balance::Balanced) => &mut of.balanced,
            Some(Balance::NearBalanced) => &mut of.near_balanced,
            Some(Balance::SocketAsymmetric) => &mut of.socket_asymmetric,
            Some(Balance::Unbalanced) => &mut of.unbalanced,
            None => &mut of.unknown,
        };
        *count += 1;
    }
    let mut all: Vec<Classes> = all.into_values().collect();
    let worst = |of: &Classes| (of.unbalanced, of.socket_asymmetric, of.near_balanced, of.hosts);
    all.sort_by(|a, b| worst(b).cmp(&worst(a)).then_with(|| a.model.cmp(&b.model)));
    all
}

/// What hosts have that most of their model have not. `hosts` are in order, the worst first.
fn odd(hosts: &[Member]) -> Vec<Odd> {
    let mut models: BTreeMap<(&str, &str), Vec<&Member>> = BTreeMap::new();
    for host in hosts {
        models.entry((&host.maker, &host.model)).or_default().push(host);
    }
    let models: BTreeMap<_, Vec<&Member>> =
        models.into_iter().filter(|(_, of)| of.len() >= SIBLINGS_LEAST).collect();
    let usual: BTreeMap<(&str, &str), Vec<(String, usize)>> =
        models.iter().map(|(model, of)| (*model, usual(of))).collect();
    let mut odd = Vec::new();
    for host in hosts {
        let key = (host.maker.as_str(), host.model.as_str());
        let Some((of, usual)) = models.get(&key).zip(usual.get(&key)) else { continue };
        for ((what, has), (most, count)) in host.traits().into_iter().zip(usual) {
            // Where not even half are alike, none of them is the odd one.
            if has != *most && count * 2 > of.len() {
                odd.push(Odd {
                    name: host.name.clone(),
                    model: format!("{} {}", host.maker, host.model),
                    what: what.to_owned(),
                    has,
                    usual: most.clone(),
                    usual_hosts: *count,
                    hosts: of.len(),
                });
            }
        }
    }
    odd
}

/// The most frequent value of each trait, with how many have it.
fn usual(hosts: &[&Member]) -> Vec<(String, usize)> {
    let rows: Vec<[(&str, String); 6]> = hosts.iter().map(|host| host.traits()).collect();
    (0..6)
        .map(|column| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            rows.iter().for_each(|row| *counts.entry(&row[column].1).or_default() += 1);
            let most = counts.into_iter().max_by_key(|(_, count)| *count);
            most.map_or((String::new(), 0), |(value, count)| (value.to_owned(), count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, balance: Option<Balance>, gib: u64) -> Member {
        Member {
            name: name.to_owned(),
            maker: "Dell Inc.".to_owned(),
            model: "PowerEdge R740".to_owned(),
            processor: Some("Xeon".to_owned()),
            sockets: 2,
            modules: 12,
            memory_bytes: Some(Bytes::gib(gib)),
            sizes: format!("12 of {} GiB", gib / 12),
            slowest_mts: Some(2666),
            balance,
            missing: None,
            narrowest_ways: Some(6),
            lost: None,
            faults: Vec::new(),
        }
    }

    fn fleet() -> Fleet {
        let hosts = vec![
            host("a", Some(Balance::Balanced), 384),
            host("b", Some(Balance::Balanced), 384),
            host("=c,\"", Some(Balance::Unbalanced), 384),
            host("d", Some(Balance::Balanced), 192),
            host("e", None, 384),
        ];
        let why = "it is text of another kind".to_owned();
        Fleet::of(hosts, vec![Unread { name: "z.txt".to_owned(), why }])
    }

    #[test]
    fn who_differs_from_its_siblings_is_named_the_worst_first() {
        let fleet = fleet();
        let first = &fleet.odd[0];
        assert_eq!((first.name.as_str(), first.what.as_str()), ("=c,\"", "population"));
        assert_eq!(
            (first.has.as_str(), first.usual.as_str(), first.usual_hosts),
            ("unbalanced", "balanced", 3)
        );
        let of_d: Vec<&str> =
            fleet.odd.iter().filter(|odd| odd.name == "d").map(|odd| odd.what.as_str()).collect();
        assert_eq!(of_d, ["memory", "modules"]);
        assert_eq!(
            (fleet.classes[0].balanced, fleet.classes[0].unbalanced, fleet.classes[0].unknown),
            (3, 1, 1)
        );
        assert_eq!(fleet.hosts[0].name, "=c,\"");
        // Of two hosts none is the usual one.
        let two = Fleet::of(vec![host("a", None, 12), host("b", None, 24)], Vec::new());
        assert!(two.odd.is_empty());
    }

    #[test]
    fn the_worst_is_the_host_that_loses_most() {
        let lost = |gbytes: f64, port: Option<f64>| Lost {
            memory_bytes_per_second: BytesPerSecond(gbytes * 1e9),
            port: port.map(|_| "eth0".to_owned()),
            port_bits_per_second: port.map(|gbps| BitsPerSecond(gbps * 1e9)),
        };
        let of = |name: &str, balance, lost| Member { lost, ..host(name, Some(balance), 384) };
        let hosts = vec![
            of("even", Balance::Balanced, Some(lost(0.0, Some(0.0)))),
            of("narrow", Balance::Unbalanced, Some(lost(40.0, None))),
            of("one channel", Balance::NearBalanced, Some(lost(120.0, None))),
            of("slow port", Balance::SocketAsymmetric, Some(lost(20.0, Some(30.0)))),
            of("not known", Balance::Unbalanced, None),
        ];
        let fleet = Fleet::of(hosts, Vec::new());
        let names: Vec<&str> = fleet.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["slow port", "one channel", "narrow", "not known", "even"]);
        assert!(fleet.csv().contains(",20000000000,eth0,30000000000,"), "{}", fleet.csv());
        let narrow = Screen { columns: Some(80), unicode: true };
        let text = fleet.text(&narrow);
        assert!(text.contains("20 GB/s, eth0 30 Gb/s") || text.contains("20.0 GB/s"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn every_host_and_every_unread_file_is_a_line() {
        let fleet = fleet();
        let csv = fleet.csv();
        assert_eq!(csv.lines().count(), 1 + 5 + 1);
        assert!(csv.contains("\"'=c,\"\"\",Dell Inc."), "{csv}");
        assert!(
            csv.lines()
                .last()
                .is_some_and(|line| line.starts_with("z.txt,") && line.contains("unread"))
        );
        let text = fleet.text(&Screen::FILE);
        assert!(text.starts_with("5 hosts, 1 file not read\n"), "{text}");
        assert!(text.contains("not read: z.txt: it is text of another kind"), "{text}");
    }
}
