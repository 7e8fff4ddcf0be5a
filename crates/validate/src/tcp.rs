//! What TCP and UDP reached between two hosts: rows with `streams`, `tcp_gbps` or `udp_gbps`, and
//! a link. Nothing is fitted on such a table: beside a figure stands the engine's answer for a host
//! of which only this row's fields are known.

use super::asked::{self, Unasked};
use super::{Answer, Comparison, Kind, Row, Table};
use narrows_predict::{Reach, Said};

pub const QUESTION: &str = "TCP by processor and streams";
/// The same where a row tells nothing of the processor: the model takes one in the middle.
pub const UNNAMED: &str = "TCP by streams, processor not stated";

/// Datagrams of as many streams, whether or not a row tells its processor.
const DATAGRAMS: &str = "UDP by processor and streams";

/// The columns that rates stand in, with the path that they are asked of.
const TCP: Column = Column { name: "tcp_gbps", path: "tcp" };
const UDP: Column = Column { name: "udp_gbps", path: "udp" };

/// A column of rates.
#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    path: &'static str,
}

/// The words of `offloads` in a row, with what they are to the engine.
const OFFLOADS: [(&str, &str); 3] = [("none", "no"), ("kernel", "yes"), ("hardware", "hardware")];

/// The largest usual MTU, which a row that gives none may have had.
const JUMBO_BYTES: f64 = 9_000.0;

/// Whether a row asks this.
pub fn is_one(row: &Row<'_>) -> bool {
    row.has("streams") && [TCP, UDP].iter().any(|column| row.has(column.name))
}

/// Whether a row tells which processor it was, or its clock.
fn tells_processor(row: &Row<'_>) -> bool {
    row.has("cpu") || row.has("cpu_turbo_ghz")
}

/// The answer for a table's rows that tell their processor.
pub fn answer(table: &Table) -> Option<Answer> {
    answer_of(table, QUESTION, TCP, tells_processor)
}

/// The answer for those that do not.
pub fn answer_unnamed(table: &Table) -> Option<Answer> {
    answer_of(table, UNNAMED, TCP, |row| !tells_processor(row))
}

/// The answer for a table's rows of datagrams.
pub fn answer_datagrams(table: &Table) -> Option<Answer> {
    answer_of(table, DATAGRAMS, UDP, |_| true)
}

fn answer_of(
    table: &Table,
    question: &'static str,
    column: Column,
    has: fn(&Row<'_>) -> bool,
) -> Option<Answer> {
    let is_one = |row: &Row<'_>| row.has("streams") && row.has(column.name) && has(row);
    let rows = table.rows().filter(is_one);
    Answer::with_median(table, question, rows.map(|row| cell(&row, column)).collect())
}

fn cell(row: &Row<'_>, column: Column) -> Comparison {
    let mut cell = Comparison::new(row, column.name, row.own(column.name));
    match reach(row, column) {
        Ok(reach) => {
            asked::answered(&mut cell, &reach);
            // A row with which a constant of the engine was chosen says so of itself.
            cell.kind = match row.flag("calibrates") {
                Some(true) => Kind::Calibration,
                _ => Kind::Prediction,
            };
            cell.says = reach.resources.first().map_or(String::new(), |one| one.says.clone());
        }
        Err(why) => cell.says = why.to_string(),
    }
    cell
}

fn reach(row: &Row<'_>, column: Column) -> Result<Reach, Unasked> {
    let link = row.link_bps().ok_or(Unasked::Link)?;
    let mut said = Said::from([("path".to_owned(), column.path.to_owned())]);
    asked::processor(row, &mut said);
    if let Some(irq) = row.text("irq") {
        said.insert("irq".to_owned(), irq.to_owned());
    }
    if let Some(word) = row.text("offloads") {
        let known = OFFLOADS.iter().find(|(name, _)| *name == word);
        let (_, means) = known.ok_or(Unasked::Offloads)?;
        said.insert("offloads".to_owned(), (*means).to_owned());
    }
    said.insert("nic.gbps".to_owned(), (link / 1e9).to_string());
    let numbers = [
        ("streams", row.number("streams")),
        ("mtu", row.bytes("mtu")),
        ("message", row.bytes("message")),
        ("cpu.ghz", row.number("cpu_turbo_ghz")),
        ("cpu.count", row.number("cpus")),
        ("threads", row.number("threads")),
    ];
    asked::numbers(numbers, &mut said);
    if let (Some(generation), Some(lanes)) = (row.number("pcie_gen"), row.number("width")) {
        said.insert("nic.pcie".to_owned(), format!("{generation}x{lanes}"));
    }
    let mut reach = reach_of(&said)?;
    if row.bytes("mtu").is_none() {
        // It may as well have been jumbo frames.
        said.insert("mtu".to_owned(), JUMBO_BYTES.to_string());
        reach.high = reach.high.max(reach_of(&said)?.high);
    }
    Ok(reach)
}

fn reach_of(said: &Said) -> Result<Reach, Unasked> {
    asked::engine(said)?.reaches().into_iter().next().ok_or(Unasked::Path)
}
