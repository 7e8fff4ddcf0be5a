//! Paths inside a host: which is slower than its like, what was read of both that differs, and
//! every path's figures.

pub mod page;
pub mod text;

use crate::{Analysis, words};
use narrows_explain::paths::{Beside, SlowPath};
use narrows_predict::pcie::links;
use narrows_stats::{Away, Compared, InsidePath, PathCell, PathTest, Standing};
use std::collections::BTreeSet;

/// Slow paths that are told in the verdict; how many more there are is counted.
const NAMED_MAX: usize = 2;

/// What loop-back is, and is not.
const NO_NETWORK: &str = "loop-back crosses a NIC's PCIe twice and no wire: not a network result";
const ACROSS: &str = "between two devices messages take what joins their ports, a wire or a switch \
                      where these are NICs";

const SOFTWARE: &str = "devices in software: no figure of hardware";

/// The verdict in five lines at most: what is slower than its like and what was read that differs,
/// else how many paths are as good as theirs; what is open; what was measured at all. None of a
/// study of anything else.
pub fn verdict(analysis: &Analysis<'_>) -> Vec<String> {
    if analysis.paths.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for slow in analysis.slow_paths.iter().take(NAMED_MAX) {
        lines.push(named(analysis, slow));
    }
    let more = analysis.slow_paths.len().saturating_sub(NAMED_MAX);
    lines.extend((more > 0).then(|| format!("{more} more paths are slower than their likes")));
    if analysis.slow_paths.is_empty() {
        lines.push(none_slow(analysis));
    }
    lines.extend(open(analysis));
    lines.push(about(analysis));
    lines
}

/// The first sentence of the verdict.
pub fn answer(analysis: &Analysis<'_>) -> Option<String> {
    verdict(analysis).into_iter().next()
}

/// `mlx5_1, node 1 is slower than its like mlx5_0, node 0: RDMA write -50.1 % (...); differs: ...`.
fn named(analysis: &Analysis<'_>, slow: &SlowPath) -> String {
    let tests = slow.tests.iter().filter_map(|(of, at)| {
        let test = analysis.paths.get(*of)?;
        let Standing::Slow { than, compared } = &test.cells.get(*at)?.standing else {
            return None;
        };
        // Of several likes each test has the one that it is slower than by most.
        let like = test.cells.get(*than).map(|cell| &cell.path).filter(|like| **like != slow.like);
        let than = like.map_or(String::new(), |like| format!(" beside {}", path_name(like)));
        Some(format!("{} {}{than}", test.name, change(compared)))
    });
    let tests = tests.collect::<Vec<_>>().join(", ");
    let (path, like) = (path_name(&slow.path), path_name(&slow.like));
    format!("{path} is slower than its like {like}: {tests}; {}", explained(&slow.beside))
}

/// `-50.1 % (-50.8 to -49.3 %)`.
fn change(compared: &Compared) -> String {
    let [value, low, high] = [compared.ratio.value, compared.ratio.low, compared.ratio.high]
        .map(|ratio| format!("{:+.1}", (ratio - 1.0) * 100.0));
    format!("{value} % ({low} to {high} %)")
}

/// What was read of both that differs, in words.
fn explained(beside: &Beside) -> String {
    let differs = beside
        .differs
        .iter()
        .map(|one| format!("{} {}, its like's {}", one.what, one.slow, one.like));
    let mut text = match differs.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => match beside.unread.len() {
            0 => "nothing read explains it".to_owned(),
            count => format!("nothing read explains it ({count} facts not read)"),
        },
        some => format!("differs: {some}"),
    };
    if let Some([slow, like]) = &beside.nodes {
        text += &format!("; nodes {slow}, its like's {like}");
    }
    text
}

fn none_slow(analysis: &Analysis<'_>) -> String {
    let good = count(analysis, |standing| matches!(standing, Standing::AsGood));
    match good {
        0 => "no path is shown to be slower than its like".to_owned(),
        all => format!(
            "no path is shown to be slower than its like: {} as good within 5 %",
            figures_are(all)
        ),
    }
}

fn figures_are(all: usize) -> String {
    if all == 1 { "1 figure is".to_owned() } else { format!("{all} figures are") }
}

/// What cannot be told, and why.
fn open(analysis: &Analysis<'_>) -> Option<String> {
    let alone = count(analysis, |standing| matches!(standing, Standing::Alone));
    let not_told = count(analysis, |standing| matches!(standing, Standing::NotTold { .. }));
    let none = count(analysis, |standing| matches!(standing, Standing::NoFigure));
    let whys = [
        (not_told, "runs differ too much, or are too few, for so many comparisons"),
        (alone, "no like path: another card of its sort as far from its memory"),
        (none, "no figure of it or of its like"),
    ];
    let whys = whys.into_iter().filter(|(count, _)| *count > 0);
    let whys: Vec<String> = whys.map(|(count, why)| format!("{count} ({why})")).collect();
    (!whys.is_empty()).then(|| format!("inconclusive: {}", whys.join(", ")))
}

fn count(analysis: &Analysis<'_>, is: fn(&Standing) -> bool) -> usize {
    let cells = analysis.paths.iter().flat_map(|test| &test.cells);
    cells.filter(|cell| is(&cell.standing)).count()
}

/// Whether a cell is of a sort.
type Is = fn(&PathCell) -> bool;

/// What the figures are of.
fn about(analysis: &Analysis<'_>) -> String {
    let all: [(Is, &str); 3] = [
        (|cell| matches!(cell.path, InsidePath::Loop { .. }), NO_NETWORK),
        (|cell| matches!(cell.path, InsidePath::Cable { .. }), "from port to port: no other host"),
        (|cell| cell.likeness.cards.iter().any(|card| card.software), SOFTWARE),
    ];
    let of = all.into_iter().filter(|(is, _)| has(analysis, *is));
    of.map(|(_, says)| says).collect::<Vec<_>>().join("; ")
}

fn has(analysis: &Analysis<'_>, is: Is) -> bool {
    analysis.paths.iter().flat_map(|test| &test.cells).any(is)
}

/// What stands below the tables: what is like what, what was not read of slow paths, what the model
/// says, and what joins two devices.
fn below(analysis: &Analysis<'_>) -> Vec<String> {
    let mut lines = sorts(analysis);
    for slow in analysis.slow_paths.iter().filter(|slow| !slow.beside.unread.is_empty()) {
        let (path, unread) = (path_name(&slow.path), slow.beside.unread.join(", "));
        lines.push(format!("{path}: not read of it or of its like: {unread}"));
    }
    lines.extend(modelled(analysis));
    let is_across = has(analysis, |cell| matches!(cell.path, InsidePath::Across { .. }));
    lines.extend(is_across.then(|| ACROSS.to_owned()));
    lines
}

/// A path by its level's name.
fn path_name(path: &InsidePath) -> String {
    match path {
        InsidePath::Loop { device, node: Some(node) } => format!("{device}, node {node}"),
        InsidePath::Loop { device, node: None } => device.clone(),
        InsidePath::Across { from, to } | InsidePath::Cable { from, to } => {
            format!("{from} > {to}")
        }
    }
}

/// Rows and columns of a test's table.
struct Matrix {
    /// What rows and columns are.
    title: String,
    columns: Vec<String>,
    /// A row's name, and its cell in each column.
    rows: Vec<(String, Vec<String>)>,
}

/// The row and the column of a path, where it is of a sort.
type Place = fn(&InsidePath) -> Option<[String; 2]>;

/// Tables of a test: devices by nodes, devices by devices, ports by ports.
fn matrices(analysis: &Analysis<'_>, test: &PathTest) -> Vec<Matrix> {
    let sorts: [(&str, Place); 3] = [
        ("from device to memory of node", |path| match path {
            InsidePath::Loop { device, node } => {
                let node = node.map_or("any".to_owned(), |node| node.to_string());
                Some([device.clone(), node])
            }
            _ => None,
        }),
        ("from device to device", |path| match path {
            InsidePath::Across { from, to } => Some([from.clone(), to.clone()]),
            _ => None,
        }),
        ("from port to port", |path| match path {
            InsidePath::Cable { from, to } => Some([from.clone(), to.clone()]),
            _ => None,
        }),
    ];
    let all = sorts.into_iter().map(|(title, place)| {
        let cells = test.cells.iter().filter_map(|cell| Some((place(&cell.path)?, cell)));
        matrix(analysis, format!("{}, {title}", test.name), cells.collect())
    });
    all.filter(|matrix| !matrix.rows.is_empty()).collect()
}

fn matrix(analysis: &Analysis<'_>, title: String, cells: Vec<([String; 2], &PathCell)>) -> Matrix {
    let (mut rows, mut columns): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for ([row, column], _) in &cells {
        for (known, name) in [(&mut rows, row), (&mut columns, column)] {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
    }
    rows.sort();
    columns.sort();
    let rows = rows.into_iter().map(|row| {
        let figures = columns.iter().map(|column| {
            let cell = cells.iter().find(|(place, _)| *place == [row.clone(), column.clone()]);
            cell.map_or("-".to_owned(), |(_, cell)| figure(analysis, cell))
        });
        let figures = figures.collect();
        (row, figures)
    });
    let rows = rows.collect();
    Matrix { title, columns, rows }
}

/// `97.1 Gb/s (96.8 to 97.4 Gb/s), SLOW`.
fn figure(analysis: &Analysis<'_>, cell: &PathCell) -> String {
    let estimate = analysis.summaries.get(cell.trial).and_then(|summary| summary.estimate);
    let Some(estimate) = estimate else { return "no figure".to_owned() };
    let value = words::value(estimate.value, estimate.unit);
    format!("{value} ({}), {}", words::range(&estimate), word(&cell.standing))
}

fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Alone => "no like path",
        Standing::NoFigure => "nothing to compare",
        Standing::Slow { .. } => "SLOW",
        Standing::NotTold { .. } => "inconclusive",
        Standing::AsGood => "as good",
    }
}

/// What paths are alike in, each sort once, with how many they are.
fn sorts(analysis: &Analysis<'_>) -> Vec<String> {
    let mut told: Vec<(String, usize)> = Vec::new();
    let mut seen: BTreeSet<&InsidePath> = BTreeSet::new();
    for cell in analysis.paths.iter().flat_map(|test| &test.cells) {
        if !seen.insert(&cell.path) {
            continue;
        }
        let likeness = &cell.likeness;
        let cards: Vec<String> = likeness
            .cards
            .iter()
            .map(|card| match &card.link {
                Some(link) => format!("{} ({link})", card.name),
                None => card.name.clone(),
            })
            .collect();
        let one = if cards.len() > 1 && likeness.one_card { ", of one card" } else { "" };
        let says = format!("{}{one}, {}", cards.join(" to "), away(likeness.away));
        match told.iter_mut().find(|(known, _)| *known == says) {
            Some((_, count)) => *count += 1,
            None => told.push((says, 1)),
        }
    }
    told.into_iter().map(|(says, n)| format!("{}: {says}", words::counted(n, "path"))).collect()
}

fn away(away: Away) -> String {
    match away {
        Away::Local => "its own node".to_owned(),
        Away::Distance(of) => format!("another node, distance {of}"),
        Away::Other => "another node, whose distance nobody tells".to_owned(),
        Away::Unknown(Some(node)) => format!("node {node}, and its own is not known"),
        Away::Unknown(None) => "no node is known".to_owned(),
    }
}

/// What the slowest link on each device's way leaves for payload, which loop-back needs in both
/// directions at once: the only thing that the model says of it.
fn modelled(analysis: &Analysis<'_>) -> Vec<String> {
    let host = &analysis.stored.host;
    let mut lines: Vec<String> = Vec::new();
    for cell in analysis.paths.iter().flat_map(|test| &test.cells) {
        let InsidePath::Loop { device: name, .. } = &cell.path else { continue };
        let device = host.rdma_device(name).filter(|device| device.address.is_some());
        let joints = device.map(|device| links(host.functions_of(device), None));
        let slowest = joints.into_iter().flatten().min_by(|a, b| a.raw_bps.total_cmp(&b.raw_bps));
        let line = match slowest {
            Some(link) => format!(
                "{name}: at most {} by its slowest PCIe link, {} (modelled)",
                words::value(link.payload_bps(), narrows_model::units::Unit::BitsPerSecond),
                link.says()
            ),
            None => format!("{name}: no prediction, since no PCIe link of it is known"),
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
