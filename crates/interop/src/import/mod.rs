//! What other tools print, read into records: one tool a file. Nothing is guessed: a figure that
//! the tool does not state is not there, and a run that it calls good without a figure has failed.

mod flent;
mod hpcc;
mod imb;
mod iperf;
mod iperf3;
mod likwid;
mod mbw;
mod mpi4py;
mod netperf;
mod numademo;
mod nuttcp;
mod osu;
mod perftest;
mod published;
mod qperf;
mod redis;
mod sockperf;
mod stream;

pub use crate::unusable::{Unrecognised, Unusable};

use narrows_model::record::Figure;
use narrows_model::trial::Level;
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use std::collections::{BTreeMap, BTreeSet};

/// A tool whose output can be read.
pub struct Tool {
    /// Name of the tool, as `import --as` takes it.
    pub name: &'static str,
    /// Whether a text looks like its output.
    pub recognises: fn(&str) -> bool,
    /// The runs in a text; an error says what is wrong with it.
    pub parse: fn(&str) -> Result<Output, Unusable>,
}

/// All tools, by name.
pub static TOOLS: &[&Tool] = &[
    &flent::TOOL,
    &hpcc::TOOL,
    &imb::TOOL,
    &iperf::TOOL,
    &iperf3::TOOL,
    &likwid::TOOL,
    &mbw::TOOL,
    &mpi4py::TOOL,
    &netperf::TOOL,
    &numademo::TOOL,
    &nuttcp::TOOL,
    &osu::TOOL,
    &perftest::TOOL,
    &published::TOOL,
    &qperf::TOOL,
    &redis::TOOL,
    &sockperf::TOOL,
    &stream::TOOL,
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Version of the tool, where it tells.
    pub version: Option<String>,
    /// Runs in the order of the text.
    pub runs: Vec<Run>,
}

/// A run that a tool printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The workload, in narrows' words where there are some: `tcp-stream`, `memory-copy`,
    /// `mpi-latency`.
    pub kind: Workload,
    /// What tells it from others of its kind: message size, streams.
    pub levels: Vec<Level>,
    /// What the source says of how it was made: factors, where runs that are imported together
    /// differ in them, and notes where all are alike.
    pub stated: Vec<Level>,
    /// What else the source says of it.
    pub notes: Vec<Level>,
    /// Its figures, the one that counts first.
    pub figures: Vec<Figure>,
    pub failed: Option<String>,
}

impl Run {
    fn new(kind: impl Into<Workload>) -> Self {
        let (levels, notes, figures) = (Vec::new(), Vec::new(), Vec::new());
        let stated = Vec::new();
        Self { kind: kind.into(), levels, stated, notes, figures, failed: None }
    }

    fn level(mut self, factor: &str, level: impl ToString) -> Self {
        self.levels.push(Level { factor: factor.to_owned(), level: level.to_string() });
        self
    }

    /// Adds a figure; one that is no number, or no positive one where it counts, fails the run.
    fn figure(mut self, name: &str, value: Option<f64>, unit: Unit) -> Self {
        let first = self.figures.is_empty();
        match value.filter(|value| value.is_finite() && (!first || *value > 0.0)) {
            Some(value) => self.figures.push(Figure { name: name.to_owned(), value, unit }),
            None if first => {
                self.failed.get_or_insert(format!("it states no {name}, or none above zero"));
            }
            None => {}
        }
        self
    }
}

/// What tells a run from others: its levels, and what else is stated of it.
pub struct RunFactors<'a> {
    /// What tells the run from the others.
    pub levels: Vec<&'a Level>,
    /// What may be a factor, what the user named first.
    pub stated: Vec<&'a Level>,
}

/// The factors that tell runs of the same levels apart. A factor that tells apart only what those
/// before it do already is none: files of two machines differ in all that is said of a machine.
pub fn telling(runs: &[RunFactors<'_>]) -> BTreeSet<String> {
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for one in runs.iter().flat_map(|run| &run.stated) {
        if seen.insert(&one.factor) {
            order.push(&one.factor);
        }
    }
    let by_factor = |levels: &[&'_ Level]| -> BTreeMap<String, String> {
        levels.iter().map(|one| (one.factor.clone(), one.level.clone())).collect()
    };
    let stated: Vec<_> = runs.iter().map(|run| by_factor(&run.stated)).collect();
    let mut classes = renumbered(runs.iter().map(|run| by_factor(&run.levels)));
    let mut telling = BTreeSet::new();
    for factor in order {
        let levels = stated.iter().map(|levels| levels.get(factor));
        let finer = renumbered(classes.iter().zip(levels));
        if finer.iter().max() > classes.iter().max() {
            telling.insert(factor.clone());
            classes = finer;
        }
    }
    telling
}

/// The same number for what is equal, from 0.
fn renumbered<T: Ord>(all: impl Iterator<Item = T>) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    all.map(|one| {
        let next = numbers.len();
        *numbers.entry(one).or_insert(next)
    })
    .collect()
}

impl Run {
    /// Makes levels of what it states of these factors, and notes of the rest.
    pub fn settle(&mut self, factors: &BTreeSet<String>) {
        for one in std::mem::take(&mut self.stated) {
            let to = if factors.contains(&one.factor) { &mut self.levels } else { &mut self.notes };
            to.push(one);
        }
    }
}

/// The tool by this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().copied().find(|tool| tool.name == name)
}

/// The only tool that a text can be from.
pub fn recognise(text: &str) -> Result<&'static Tool, Unrecognised> {
    let found = TOOLS.iter().copied().filter(|tool| (tool.recognises)(text));
    let found: Vec<&'static Tool> = found.collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(Unrecognised::Unknown),
        several => {
            let names = several.iter().map(|tool| tool.name).collect();
            Err(Unrecognised::Several(names))
        }
    }
}

/// A number with a unit behind it, such as `1.66 GB/sec`, as bytes or bits a second, nanoseconds or
/// events a second. Prefixes are powers of ten unless they say `i`.
fn quantity(number: &str, unit: &str) -> Option<(f64, Unit)> {
    let value: f64 = number.trim().parse().ok()?;
    let unit = unit.trim();
    let (what, kind) = match unit.trim_end_matches("ec").trim_end_matches("/s") {
        "ns" => return Some((value, Unit::Nanos)),
        "us" | "use" | "usec" => return Some((value * 1e3, Unit::Nanos)),
        "ms" => return Some((value * 1e6, Unit::Nanos)),
        rate if rate.ends_with("its") || rate.ends_with('b') => (rate, Unit::BitsPerSecond),
        rate if rate.ends_with("ytes") || rate.ends_with('B') => (rate, Unit::BytesPerSecond),
        rate => (rate, Unit::PerSecond),
    };
    let mut letters = what.chars();
    let power = match letters.next() {
        Some('K' | 'k') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        _ => 0,
    };
    let base: f64 = if power > 0 && letters.next() == Some('i') { 1024.0 } else { 1000.0 };
    Some((value * base.powi(power), kind))
}

/// The text without what colours it on a terminal.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => drop(chars.find(char::is_ascii_alphabetic)),
            '\n' | '\t' => plain.push(c),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

/// Rows of numbers under a heading, until a line that is none.
fn rows(text: &str, is_heading: impl Fn(&str) -> bool) -> Vec<(String, Vec<Vec<f64>>)> {
    let mut tables: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if is_heading(line) {
            tables.push((line.trim().to_owned(), Vec::new()));
            open = true;
            continue;
        }
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|w| w.parse().ok()).collect();
        match numbers.filter(|numbers| !numbers.is_empty()) {
            Some(numbers) if open => {
                if let Some((_, rows)) = tables.last_mut() {
                    rows.push(numbers);
                }
            }
            _ => open = open && line.trim().is_empty(),
        }
    }
    tables
}

fn nothing(runs: Vec<Run>, version: Option<String>) -> Result<Output, Unusable> {
    if runs.is_empty() { Err(Unusable::NoRun) } else { Ok(Output { version, runs }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(quantity("1.66", "GB/sec"), Some((1.66e9, Unit::BytesPerSecond)));
        assert_eq!(quantity("19.9", "Gbits/sec"), Some((19.9e9, Unit::BitsPerSecond)));
        assert_eq!(quantity("42.8", "us"), Some((42_800.0, Unit::Nanos)));
        assert_eq!(quantity("2", "MiB/s"), Some((2_097_152.0, Unit::BytesPerSecond)));
        assert_eq!(quantity("24.8", "K/sec"), Some((24_800.0, Unit::PerSecond)));
        assert_eq!(quantity("7", "bytes/sec"), Some((7.0, Unit::BytesPerSecond)));
        assert_eq!(quantity("x", "us"), None);
    }

    /// Of each run what tells it already, then what may; a word is a factor and its level.
    fn told_apart_by(runs: &[(&str, &str)]) -> Vec<String> {
        let levels = |words: &str| -> Vec<Level> {
            let pairs = words.split_whitespace().map(|word| word.split_once('=').expect("="));
            let of = |(factor, level): (&str, &str)| (factor.to_owned(), level.to_owned());
            pairs.map(of).map(|(factor, level)| Level { factor, level }).collect()
        };
        let owned: Vec<_> =
            runs.iter().map(|(own, stated)| (levels(own), levels(stated))).collect();
        let of = owned.iter().map(|(own, stated)| RunFactors {
            levels: own.iter().collect(),
            stated: stated.iter().collect(),
        });
        telling(&of.collect::<Vec<_>>()).into_iter().collect()
    }

    #[test]
    fn a_factor_is_what_tells_apart_runs_that_nothing_before_it_does() {
        assert!(told_apart_by(&[]).is_empty());
        let alike = [("size=8", "host=a"), ("size=8", "host=a"), ("size=9", "host=a")];
        assert!(told_apart_by(&alike).is_empty(), "one level tells nothing apart");
        // Machines differ in all that is said of them: the first that was named is enough.
        let machines = [("", "host=a cpu=x os=1"), ("", "host=b cpu=y os=1")];
        assert_eq!(told_apart_by(&machines), ["host"]);
        assert_eq!(told_apart_by(&[("", "cpu=x host=a"), ("", "cpu=y host=b")]), ["cpu"]);
        let three = [("", "cpu=x host=a"), ("", "cpu=x host=b"), ("", "cpu=y host=c")];
        assert_eq!(told_apart_by(&three), ["cpu", "host"], "two of one processor");
        // What their levels tell already needs no factor; one that only some state is one.
        assert!(told_apart_by(&[("size=8", "host=a"), ("size=9", "host=b")]).is_empty());
        assert_eq!(told_apart_by(&[("size=8", "host=a"), ("size=8", "")]), ["host"]);
    }

    #[test]
    fn nothing_is_taken_for_a_tools_output() {
        for text in ["", "hello", "{}", "\0\u{1b}[31m", "1,2,3", "name = 'x'"] {
            assert!(recognise(text).is_err(), "{text}");
            for tool in TOOLS {
                assert!((tool.parse)(text).is_err(), "{} takes {text:?}", tool.name);
            }
        }
    }
}
