//! Cores beside a device: rows with `cores` that load memory while a device moves `device_gb_s`,
//! and how many times slower each was than alone (`core_slowdown`, `device_slowdown`), beside what
//! credits and latencies of the processor's family make of it. Where the kernel copies what a NIC
//! wrote: the share of its time that this takes (`copy_share`), and lines read for each
//! (`copy_lines`).

use super::asked::Unasked;
use super::{Answer, Comparison, Kind, Row, Table};
use narrows_dimm::platform;
use narrows_model::result::ResourceName;
use narrows_predict::contention::{Contention, Copies, CoreWork, DeviceWork, HALF, Regime};
use narrows_predict::domains::{self, Domains};

const QUESTION: &str = "cores beside a device";
const FIGURES: [&str; 2] = ["core_slowdown", "device_slowdown"];

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let cells: Vec<Comparison> = table
        .rows()
        .filter(|row| row.has("cores") && row.number("device_gb_s").is_some())
        .flat_map(|row| cells(&row))
        .collect();
    Answer::with_median(table, QUESTION, cells)
}

fn cells(row: &Row<'_>) -> Vec<Comparison> {
    let solved = solve(row);
    let of = |name: &&str| row.own(name).is_some();
    let named = FIGURES.iter().enumerate().filter(|(_, name)| of(name));
    named.map(|(at, name)| cell(row, name, at, solved.as_ref())).collect()
}

fn cell(row: &Row<'_>, name: &str, at: usize, solved: Result<&Solved, &Unasked>) -> Comparison {
    let mut cell = Comparison::new(row, name, row.own(name));
    match solved {
        Ok(solved) => {
            let value = solved.slowdowns[at];
            let (low, high) = (value * (-HALF).exp(), value * HALF.exp());
            cell.predicted = Some(value);
            (cell.low, cell.high) = (Some(low), Some(high));
            cell.left_out = cell.predicted;
            cell.uncalibrated = Some((value, low, high));
            cell.bottleneck = solved.bottleneck.to_string();
            cell.kind = Kind::Prediction;
            cell.says = "credits over latency, which is memory's under load".to_owned();
        }
        Err(why) => cell.says = why.to_string(),
    }
    cell
}

/// What is predicted of a row.
struct Solved {
    /// Of the cores and of the device.
    slowdowns: [f64; 2],
    bottleneck: ResourceName,
}

/// What holds the device back, or the cores where nothing holds it.
fn bottleneck(all: &Contention, family: &Domains) -> ResourceName {
    if all.regime(family) == Regime::Red {
        ResourceName::DeviceWrites
    } else if all.copies.is_some() {
        ResourceName::Cpu
    } else {
        ResourceName::Memory
    }
}

fn solve(row: &Row<'_>) -> Result<Solved, Unasked> {
    let name = row.text("cpu").unwrap_or_default();
    let family = domains::of(platform::named(name));
    let family = family.ok_or_else(|| Unasked::Credits(name.to_owned()))?;
    let number = |key: &'static str| row.number(key).ok_or(Unasked::Field(key));
    let work = match row.text("cores_do") {
        Some("read") => CoreWork::Reads,
        Some("read-write") => CoreWork::ReadsAndWrites,
        _ => return Err(Unasked::Word("cores_do", ["read", "read-write"])),
    };
    let device = match row.text("device_does") {
        Some("read") => DeviceWork::Reads,
        Some("write") => DeviceWork::Writes,
        _ => return Err(Unasked::Word("device_does", ["read", "write"])),
    };
    let all = Contention {
        cores: number("cores")?,
        work,
        offered_gb_s: number("device_gb_s")?,
        device,
        copies: copies(row)?,
        peak_gb_s: number("peak_gb_s")?,
    };
    let (cores, device) = all.slowdowns(family);
    Ok(Solved { slowdowns: [cores, device], bottleneck: bottleneck(&all, family) })
}

/// What receivers in the kernel add: both numbers, or nothing.
fn copies(row: &Row<'_>) -> Result<Option<Copies>, Unasked> {
    match (row.number("copy_share"), row.number("copy_lines")) {
        (Some(share), Some(lines)) => Ok(Some(Copies { share, lines })),
        (None, None) => Ok(None),
        (None, _) => Err(Unasked::Field("copy_share")),
        (_, None) => Err(Unasked::Field("copy_lines")),
    }
}
