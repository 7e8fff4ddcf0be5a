//! What TCP reached between two hosts: rows with `streams`, `tcp_gbps`, `cpu` and a link. Nothing
//! is fitted on such a table: beside a figure stands the engine's answer for a host of which only
//! this row's fields are known.

use super::{Answer, Cell, Kind, Row, Table, median_of_others};
use narrows_model::host::Host;
use narrows_predict::calibration::Calibration;
use narrows_predict::{Reach, Said, of_nic};

/// What this answers.
pub const QUESTION: &str = "TCP by processor and streams";

/// Whether a row asks this.
pub fn is_one(row: &Row<'_>) -> bool {
    row.has("streams") && row.has("tcp_gbps")
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let rows: Vec<Row<'_>> = table.rows().filter(is_one).collect();
    if rows.is_empty() {
        return None;
    }
    let cells: Vec<Cell> = rows.iter().map(cell).collect();
    let mut answer =
        Answer { question: QUESTION, files: vec![table.name.clone()], cells, ..Answer::default() };
    let published: Vec<f64> = answer.cells.iter().filter_map(|cell| cell.published).collect();
    if let Some(error) = median_of_others(&published) {
        answer.baselines.push(("median of the other rows", error));
    }
    Some(answer)
}

fn cell(row: &Row<'_>) -> Cell {
    let mut cell = Cell::new(row, "tcp_gbps", row.own("tcp_gbps"));
    match reach(row) {
        Ok(reach) => {
            cell.predicted = Some(reach.value);
            (cell.low, cell.high) = (Some(reach.low), Some(reach.high));
            cell.left_out = cell.predicted;
            cell.uncalibrated = Some((reach.value, reach.low, reach.high));
            cell.narrowest = reach.narrowest.unwrap_or_default();
            // A row with which a constant of the engine was chosen says so of itself.
            cell.kind = match row.flag("calibrates") {
                Some(true) => Kind::Calibration,
                _ => Kind::Prediction,
            };
            cell.says = reach.resources.first().map_or(String::new(), |one| one.says.clone());
        }
        Err(why) => cell.says = why,
    }
    cell
}

fn reach(row: &Row<'_>) -> Result<Reach, String> {
    let cpu = row.text("cpu").ok_or("no `cpu` says which processor this is")?;
    let link = row.link_bps().ok_or("no `link_gbps` and no `nic` such as 100GbE")?;
    let name = cpu.split('(').next().unwrap_or(cpu).trim();
    let mut said: Said = [("cpu", name.to_owned()), ("path", "tcp".to_owned())]
        .map(|(key, word)| (key.to_owned(), word))
        .into();
    said.insert("nic.gbps".to_owned(), (link / 1e9).to_string());
    let numbers = [
        ("streams", row.number("streams")),
        ("mtu", row.bytes("mtu")),
        ("message", row.bytes("message")),
        ("cpu.ghz", row.number("cpu_turbo_ghz")),
        ("cpu.count", row.number("cpus")),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            said.insert(key.to_owned(), number.to_string());
        }
    }
    if let (Some(generation), Some(lanes)) = (row.number("pcie_gen"), row.number("width")) {
        said.insert("nic.pcie".to_owned(), format!("{generation}x{lanes}"));
    }
    let server = of_nic(&Host::default(), None, &said, &Calibration::default())?;
    server.reaches().into_iter().next().ok_or_else(|| "no path".to_owned())
}
