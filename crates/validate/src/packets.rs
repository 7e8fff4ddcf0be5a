//! Smallest packets by poll mode: rows with `mem_mb_s` (a copy's rate, as numademo prints it) or
//! `cpu_turbo_ghz`, and `mpps`, or only a verdict `wire_rate`.
//!
//! A packet takes `c / clock + B / memory`: so many cycles, and so many bytes' worth of waiting for
//! memory, for which the copy's rate stands. Never less than the wire takes for it.

use super::fit::{Bound, fit};
use super::{Answer, Comparison, Kind, Parameter, Row, Table};
use crate::servers::ServerRow;
use narrows_predict::wire_rate::Verdict;
use narrows_predict::{framing, pcie};

/// Rate of the wire where none is given.
const LINK_GBPS: f64 = 10.0;
/// Frame where none is given.
const FRAME_BYTES: f64 = 64.0;
/// A rate this close to the wire's is called the wire's.
const FULL: f64 = 0.995;
/// Cycles and bytes of waiting a packet, before anything is fitted.
const CYCLES: f64 = 200.0;
const WAIT_BYTES: f64 = 200.0;

struct Ask {
    mpps: Option<f64>,
    clock_ghz: f64,
    memory_gb_s: f64,
    wire_mpps: f64,
}

impl Ask {
    fn mpps(&self, cycles: f64, wait_bytes: f64) -> f64 {
        self.unheld_mpps(cycles, wait_bytes).min(self.wire_mpps)
    }

    /// The same over a wire that holds nothing back.
    fn unheld_mpps(&self, cycles: f64, wait_bytes: f64) -> f64 {
        1e3 / (cycles / self.clock_ghz + wait_bytes / self.memory_gb_s)
    }
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    if !table.rows().any(|row| is_of_packets(&row)) {
        return None;
    }
    let mut answer = Answer {
        question: "smallest packets by poll mode",
        files: vec![table.name.clone()],
        ..Answer::default()
    };
    let rows: Vec<Row<'_>> = table.rows().filter(is_of_packets).collect();
    let asks: Vec<Option<Ask>> = rows.iter().map(ask).collect();
    let known = |without: usize| -> Vec<&Ask> {
        let all = asks.iter().enumerate().filter(|(at, _)| *at != without);
        all.filter_map(|(_, ask)| ask.as_ref().filter(|ask| ask.mpps.is_some())).collect()
    };
    let all = known(usize::MAX);
    let enough = all.len() >= 4;
    let (cycles, wait) = if enough { fitted(&all) } else { (CYCLES, WAIT_BYTES) };
    for (at, (row, ask)) in rows.iter().zip(&asks).enumerate() {
        let mut cell = Comparison::new(row, "mpps", row.own("mpps"));
        match ask {
            Some(ask) => {
                let value = ask.mpps(cycles, wait);
                cell.predicted = Some(value);

                cell.uncalibrated = Some((
                    ask.mpps(CYCLES, WAIT_BYTES),
                    ask.mpps(1.5 * CYCLES, 1.5 * WAIT_BYTES),
                    ask.mpps(0.6 * CYCLES, 0.6 * WAIT_BYTES),
                ));
                if enough && ask.mpps.is_some() {
                    let (cycles, wait) = fitted(&known(at));
                    cell.left_out = Some(ask.mpps(cycles, wait));
                }
                cell.kind =
                    if cell.published.is_some() { Kind::Fitted } else { Kind::NotPredicted };
                let full = value >= FULL * ask.wire_mpps;
                cell.bottleneck = if full { "wire" } else { "CPU waiting for memory" }.to_owned();
            }
            None => cell.says = "neither clock nor rate of memory is given".to_owned(),
        }
        answer.cells.push(cell);
    }
    let sure = ranges(&mut answer, &asks, (cycles, wait));
    let mut right = Right::default();
    for (cell, row) in answer.cells.iter_mut().zip(&rows) {
        answer.servers.push(verdicts(cell, row, sure, &mut right));
    }
    if let Some((cell, server)) = chipset(table, &mut right) {
        answer.cells.push(cell);
        answer.servers.push(server);
    }
    conclude(&mut answer, &rows, &asks, (cycles, wait, enough));
    answer.remarks.push(right.says());
    Some(answer)
}

fn is_of_packets(row: &Row<'_>) -> bool {
    row.has("mem_mb_s") && (row.has("mpps") || row.has("wire_rate") || row.has("mpps_below"))
}

/// The range in which a left-out row fell four times out of five; whether there are rows enough to
/// tell. What the wire takes is cut off last: a server that could do half as much again does it.
fn ranges(answer: &mut Answer, asks: &[Option<Ask>], (cycles, wait): (f64, f64)) -> bool {
    let off =
        answer.cells.iter().filter_map(|cell| Some((cell.left_out? / cell.published?).ln().abs()));
    let half = narrows_stats::quantile(&off.collect::<Vec<f64>>(), 0.8);
    let Some(half) = half else { return false };
    for (cell, ask) in answer.cells.iter_mut().zip(asks) {
        let Some(ask) = ask else { continue };
        let value = ask.unheld_mpps(cycles, wait);
        cell.low = Some((value * (-half).exp()).min(ask.wire_mpps));
        cell.high = Some((value * half.exp()).min(ask.wire_mpps));
    }
    true
}

fn ask(row: &Row<'_>) -> Option<Ask> {
    let link = row.link_bps().unwrap_or(LINK_GBPS * 1e9);
    let frame = row.number("frame_bytes").unwrap_or(FRAME_BYTES);
    Some(Ask {
        mpps: row.own("mpps"),
        // Both clocks are of the processor: the faster is what it runs at.
        clock_ghz: row.number("cpu_turbo_ghz").or(row.number("cpu_base_ghz"))?,
        memory_gb_s: row.number("mem_mb_s")? / 1e3,
        wire_mpps: framing::packets_per_second(link, frame) / 1e6,
    })
}

fn fitted(asks: &[&Ask]) -> (f64, f64) {
    let bounds = [
        Bound { start: CYCLES, low: 0.0, high: 2000.0 },
        Bound { start: WAIT_BYTES, low: 0.0, high: 2000.0 },
    ];
    let cost = |x: &[f64]| {
        let each = asks.iter().map(|ask| {
            let off = (ask.mpps(x[0], x[1]) / ask.mpps.unwrap_or(1.0)).ln();
            0.02f64.hypot(off)
        });
        each.sum::<f64>()
    };
    let found = fit(&bounds, cost);
    (found[0], found[1])
}

/// What the model says of wire rate: by the range, where there is one, else by the middle alone.
fn model_of(cell: &Comparison, wire_mpps: f64, ranged: bool) -> Option<Verdict> {
    let value = cell.predicted?;
    let range = cell.low.zip(cell.high).filter(|_| ranged).unwrap_or((value, value));
    Some(Verdict::of_range(&cell.bottleneck, range, wire_mpps))
}

/// What a rule of thumb says of a rate of memory: that of the table, in GB/s.
fn rule_of(table: &Table, memory_mb_s: Option<f64>) -> Option<bool> {
    let rule = table.extra.get("rule_gb_s").and_then(toml::Value::as_float);
    rule.zip(memory_mb_s).map(|(rule, memory)| memory / 1e3 >= rule)
}

/// Verdicts that are published, and what was said of them.
#[derive(Default)]
struct Right {
    rule: Vec<bool>,
    model: Vec<bool>,
    unknown: usize,
}

impl Right {
    fn see(&mut self, published: &str, rule: Option<bool>, model: Option<&Verdict>) {
        let is_yes = match published {
            "yes" => true,
            "no" => false,
            _ => return,
        };
        self.rule.extend(rule.map(|rule| rule == is_yes));
        match model {
            Some(Verdict::Unknown { .. }) => self.unknown += 1,
            model => self.model.extend(model.map(|model| (*model == Verdict::Yes) == is_yes)),
        }
    }

    fn says(&self) -> String {
        let unknown = match self.unknown {
            0 => String::new(),
            some => format!(", {some} unknown"),
        };
        let (rule, model) = (right_of(&self.rule), right_of(&self.model));
        format!("verdicts on wire rate that are right: rule {rule}, model {model}{unknown}")
    }
}

fn right_of(all: &[bool]) -> String {
    format!("{} of {}", all.iter().filter(|right| **right).count(), all.len())
}

/// What a rule of thumb and the model say of wire rate, beside what is published, and the server's
/// row. The model's word has its range where rows enough tell one, and what binds or is needed.
fn verdicts(cell: &mut Comparison, row: &Row<'_>, ranged: bool, right: &mut Right) -> ServerRow {
    let published = row.text("wire_rate").unwrap_or("-");
    let rule = rule_of(row.table, row.number("mem_mb_s"));
    let asked = ask(row);
    let model = asked.as_ref().and_then(|ask| model_of(cell, ask.wire_mpps, ranged));
    right.see(published, rule, model.as_ref());
    let told = match &model {
        Some(verdict) if ranged => verdict.to_string(),
        Some(verdict) => verdict.word().to_owned(),
        None => "-".to_owned(),
    };
    let gap = if cell.says.is_empty() { String::new() } else { format!("{}; ", cell.says) };
    cell.says = format!(
        "{gap}wire rate: published {published}, rule {}, model {told}",
        rule.map_or("-", word)
    );
    let unasked = Verdict::Unknown { needs: "clock of a core and memory's rate".to_owned() };
    let wire_mpps = asked.map(|ask| ask.wire_mpps);
    ServerRow { rule, wire_mpps, ..ServerRow::of(row, cell, model.unwrap_or(unasked)) }
}

fn word(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// A slot behind the chipset, of one of the servers: what four lanes of the second generation carry
/// to it and from it.
fn chipset(table: &Table, right: &mut Right) -> Option<(Comparison, ServerRow)> {
    let published = table.extra.get("pch_slot_mpps").and_then(toml::Value::as_float)?;
    let row = of_slot(table)?;
    let mut cell = Comparison::new(&row, "pch_slot_mpps", Some(published));
    cell.row = "a slot behind the chipset".to_owned();
    let can = pcie::smallest_packets(pcie::packet_bps(5.0, 4, 128.0), FRAME_BYTES);
    (cell.low, cell.high) = (Some(can.received.min(can.sent)), Some(can.sent_batched));
    // What is published was sent.
    cell.predicted = Some(can.sent);
    cell.kind = Kind::Prediction;
    cell.uncalibrated = cell.low.zip(cell.high).map(|(low, high)| (can.sent, low, high));
    cell.left_out = cell.predicted;
    cell.bottleneck = "chipset's uplink".to_owned();
    let wire = framing::packets_per_second(LINK_GBPS * 1e9, FRAME_BYTES) / 1e6;
    let verdict = Verdict::of_range("chipset slot", (can.received, can.sent), wire);
    // The rule asks for the same server's memory, wherever its card is.
    let rule = of_server(table).and_then(|row| rule_of(table, row.number("mem_mb_s")));
    let published = Verdict::of_range("", (published, published), wire);
    right.see(published.word(), rule, Some(&verdict));
    cell.says = format!(
        "four lanes at 5 GT/s: {:.1} M packets/s received, {:.1} sent with a doorbell each; wire \
         rate: {verdict}",
        can.received, can.sent
    );
    let server = ServerRow::of(&of_server(table).unwrap_or(row), &cell, verdict);
    let named = table.extra.get("pch_slot_server").and_then(toml::Value::as_str);
    let said = published.word().to_owned();
    let row = ServerRow {
        server: named.unwrap_or(&cell.row).to_owned(),
        slot: "behind the chipset".to_owned(),
        rule,
        said,
        wire_mpps: Some(wire),
        // What is said of the server's own row is of its better slot.
        note: None,
        ..server
    };
    Some((cell, row))
}

/// The first row, of which the cell of a slot has its table.
fn of_slot(table: &Table) -> Option<Row<'_>> {
    Some(Row { table, at: 0, fields: table.rows.first()? })
}

/// The row of the server that has the slot: its name begins as that one's does, up to the comma.
fn of_server(table: &Table) -> Option<Row<'_>> {
    let named = table.extra.get("pch_slot_server").and_then(toml::Value::as_str)?;
    let name = named.split(',').next()?.trim();
    table.rows().find(|row| row.text("server").is_some_and(|server| server.starts_with(name)))
}

fn conclude(
    answer: &mut Answer,
    rows: &[Row<'_>],
    asks: &[Option<Ask>],
    (cycles, wait, enough): (f64, f64, bool),
) {
    let from = if enough { "fitted on these rows" } else { "assumed" };
    let one =
        |name, value, unit, says| Parameter { name, value, unit, says, from: from.to_owned() };
    answer.parameters = vec![
        one("c", cycles, "cycles", "a packet"),
        one("B", wait, "bytes", "of a copy that a packet waits as long as"),
    ];
    let published: Vec<f64> = rows.iter().filter_map(|row| row.own("mpps")).collect();
    answer.guess_the_median(&published);
    let wire = rows
        .iter()
        .zip(asks)
        .filter_map(|(row, ask)| Some((ask.as_ref()?.wire_mpps / row.own("mpps")? - 1.0).abs()));
    let wire: Vec<f64> = wire.collect();
    if !wire.is_empty() {
        let mean = wire.iter().sum::<f64>() / wire.len() as f64;
        answer.baselines.push(("rate of the wire", mean));
    }
    for cell in answer.cells.iter().filter(|cell| cell.kind == Kind::Prediction) {
        let outside = |p: f64| cell.low.zip(cell.high).is_some_and(|(l, h)| !(l..=h).contains(&p));
        if let Some(published) = cell.published.filter(|p| outside(*p)) {
            let predicted = cell.predicted.unwrap_or_default();
            let says = format!("not explained: {}: {published} and not {predicted:.1}", cell.row);
            answer.remarks.push(says);
        }
    }
    let below = rows.iter().zip(asks).filter_map(|(row, ask)| {
        let limit = row.own("mpps_below")?;
        let value = ask.as_ref()?.mpps(cycles, wait);
        (value > limit).then(|| {
            format!("not explained: {}: below {limit} and not {value:.1} M packets/s", row.label())
        })
    });
    answer.remarks.extend(below);
}
