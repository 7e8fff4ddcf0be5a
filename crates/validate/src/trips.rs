//! Round trips: rows with `transport` (`tcp`, `udp`, `rdma`) and `rr_us`, microseconds there and
//! back, beside the engine's answer for hosts of which only the row's fields are known.

use super::asked::{self, Unasked};
use super::{Answer, Comparison, Kind, Row, Table};
use narrows_predict::{Reach, Said, TRIPS};

const QUESTION: &str = "round trips";

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let cells: Vec<Comparison> = table
        .rows()
        .filter(|row| row.has("transport") && row.has("rr_us"))
        .map(|row| cell(&row))
        .collect();
    Answer::with_median(table, QUESTION, cells)
}

fn cell(row: &Row<'_>) -> Comparison {
    let mut cell = Comparison::new(row, "rr_us", row.own("rr_us"));
    match trip(row) {
        Ok(reach) => {
            asked::answered(&mut cell, &reach);
            cell.kind = Kind::Prediction;
            let parts =
                reach.resources.iter().map(|part| format!("{} {:.1}", part.name, part.value));
            cell.says = parts.collect::<Vec<_>>().join(", ");
        }
        Err(why) => cell.says = why.to_string(),
    }
    cell
}

fn trip(row: &Row<'_>) -> Result<Reach, Unasked> {
    let word = row.text("transport").unwrap_or_default();
    let trip = TRIPS
        .iter()
        .find(|trip| trip.name().split('-').next() == Some(word))
        .ok_or(Unasked::Transport)?;
    let mut said = Said::new();
    asked::processor(row, &mut said);
    if row.flag("busy_poll") == Some(true) {
        said.insert("busy-poll".to_owned(), "yes".to_owned());
    }
    let numbers = [
        ("nic.gbps", row.number("link_gbps")),
        ("message", row.bytes("message")),
        ("switches", row.number("switches")),
        ("cpu.ghz", row.number("cpu_turbo_ghz")),
    ];
    asked::numbers(numbers, &mut said);
    asked::engine(&said)?.round_trip(*trip).ok_or(Unasked::Nic)
}
