//! Round trips: rows with `transport` (`tcp`, `udp`, `rdma`) and `rr_us`, microseconds there and
//! back, beside the engine's answer for hosts of which only the row's fields are known.

use super::{Answer, Cell, Kind, Row, Table, median_of_others};
use narrows_dimm::platform;
use narrows_model::host::Host;
use narrows_predict::calibration::Calibration;
use narrows_predict::{Reach, Said, TRIPS, Trip, of_nic};

/// What this answers.
const QUESTION: &str = "round trips";

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let cells: Vec<Cell> = table
        .rows()
        .filter(|row| row.has("transport") && row.has("rr_us"))
        .map(|row| cell(&row))
        .collect();
    if cells.is_empty() {
        return None;
    }
    let mut answer =
        Answer { question: QUESTION, files: vec![table.name.clone()], cells, ..Answer::default() };
    let published: Vec<f64> = answer.cells.iter().filter_map(|cell| cell.published).collect();
    if let Some(error) = median_of_others(&published) {
        answer.baselines.push(("median of the other rows", error));
    }
    Some(answer)
}

fn cell(row: &Row<'_>) -> Cell {
    let mut cell = Cell::new(row, "rr_us", row.own("rr_us"));
    match trip(row) {
        Ok(reach) => {
            cell.predicted = Some(reach.value);
            (cell.low, cell.high) = (Some(reach.low), Some(reach.high));
            cell.left_out = cell.predicted;
            cell.uncalibrated = Some((reach.value, reach.low, reach.high));
            cell.bottleneck = reach.bottleneck.unwrap_or_default();
            cell.kind = Kind::Prediction;
            let parts =
                reach.resources.iter().map(|part| format!("{} {:.1}", part.name, part.value));
            cell.says = parts.collect::<Vec<_>>().join(", ");
        }
        Err(why) => cell.says = why,
    }
    cell
}

fn trip(row: &Row<'_>) -> Result<Reach, String> {
    let word = row.text("transport").unwrap_or_default();
    let named = |trip: &&Trip| trip.name().split('-').next() == Some(word);
    let trip = TRIPS.iter().find(named).ok_or("`transport` is none of tcp, udp, rdma")?;
    let mut said = Said::new();
    let name = row.text("cpu").and_then(|cpu| cpu.split('(').next()).map(str::trim);
    if let Some(name) = name.filter(|name| platform::named(name).is_some()) {
        said.insert("cpu".to_owned(), name.to_owned());
    }
    if row.flag("busy_poll") == Some(true) {
        said.insert("busy-poll".to_owned(), "yes".to_owned());
    }
    for (key, number) in [
        ("nic.gbps", row.number("link_gbps")),
        ("message", row.bytes("message")),
        ("switches", row.number("switches")),
        ("cpu.ghz", row.number("cpu_turbo_ghz")),
    ] {
        if let Some(number) = number {
            said.insert(key.to_owned(), number.to_string());
        }
    }
    let engine = of_nic(&Host::default(), None, &said, &Calibration::default());
    let engine = engine.map_err(|why| why.to_string())?;
    engine.round_trip(*trip).ok_or_else(|| "there is no NIC".to_owned())
}
