//! Smallest packets by poll mode: rows with `mem_mb_s` (a copy's rate, as numademo prints it) or
//! `cpu_turbo_ghz`, and `mpps`, or only a verdict `wire_rate`.
//!
//! A packet takes `c / clock + B / memory`: so many cycles, and so many bytes' worth of waiting for
//! memory, for which the copy's rate stands. Never less than the wire takes for it.

use super::fit::{Bound, fit};
use super::{Answer, Cell, Kind, Parameter, Row, Table, median_of_others};
use narrows_predict::{framing, pcie};

/// Rate of the wire where none is given.
const LINK_GBPS: f64 = 10.0;
/// Frame where none is given.
const FRAME_BYTES: f64 = 64.0;
/// A rate this close to the wire's is it: what is published is rounded.
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
        let ns = cycles / self.clock_ghz + wait_bytes / self.memory_gb_s;
        (1e3 / ns).min(self.wire_mpps)
    }
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let is_one = |row: &Row<'_>| {
        row.has("mem_mb_s") && (row.has("mpps") || row.has("wire_rate") || row.has("mpps_below"))
    };
    if !table.rows().any(|row| is_one(&row)) {
        return None;
    }
    let mut answer = Answer {
        question: "smallest packets by poll mode",
        files: vec![table.name.clone()],
        ..Answer::default()
    };
    let rows: Vec<Row<'_>> = table.rows().filter(is_one).collect();
    let asks: Vec<Option<Ask>> = rows.iter().map(ask).collect();
    let known = |without: usize| -> Vec<&Ask> {
        let all = asks.iter().enumerate().filter(|(at, _)| *at != without);
        all.filter_map(|(_, ask)| ask.as_ref().filter(|ask| ask.mpps.is_some())).collect()
    };
    let all = known(usize::MAX);
    let enough = all.len() >= 4;
    let (cycles, wait) = if enough { fitted(&all) } else { (CYCLES, WAIT_BYTES) };
    for (at, (row, ask)) in rows.iter().zip(&asks).enumerate() {
        let mut cell = Cell::new(row, "mpps", row.own("mpps"));
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
        verdicts(&mut cell, row, ask.as_ref());
        answer.cells.push(cell);
    }
    ranges(&mut answer, &asks);
    answer.cells.extend(chipset(table));
    conclude(&mut answer, &rows, &asks, (cycles, wait, enough));
    Some(answer)
}

/// The range in which a left-out row fell four times out of five.
fn ranges(answer: &mut Answer, asks: &[Option<Ask>]) {
    let off =
        answer.cells.iter().filter_map(|cell| Some((cell.left_out? / cell.published?).ln().abs()));
    let Some(half) = narrows_stats::quantile(&off.collect::<Vec<f64>>(), 0.8) else { return };
    for (cell, ask) in answer.cells.iter_mut().zip(asks) {
        let wire = ask.as_ref().map_or(f64::INFINITY, |ask| ask.wire_mpps);
        cell.low = cell.predicted.map(|value| value * (-half).exp());
        cell.high = cell.predicted.map(|value| (value * half.exp()).min(wire));
    }
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

/// What a rule of thumb and the model say of wire rate, beside what is published.
fn verdicts(cell: &mut Cell, row: &Row<'_>, ask: Option<&Ask>) {
    let published = row.text("wire_rate").unwrap_or("-");
    let rule = row.table.extra.get("rule_gb_s").and_then(toml::Value::as_float);
    let rule = rule.zip(row.number("mem_mb_s")).map(|(rule, memory)| memory / 1e3 >= rule);
    let model = ask.zip(cell.predicted).map(|(ask, value)| value >= FULL * ask.wire_mpps);
    cell.says = format!(
        "{}wire rate: published {published}, rule {}, model {}",
        if cell.says.is_empty() { String::new() } else { format!("{}; ", cell.says) },
        word(rule),
        word(model)
    );
}

fn word(is: Option<bool>) -> &'static str {
    is.map_or("-", |is| if is { "yes" } else { "no" })
}

/// A slot behind the chipset: what four lanes of the second generation carry to it and from it.
fn chipset(table: &Table) -> Option<Cell> {
    let published = table.extra.get("pch_slot_mpps").and_then(toml::Value::as_float)?;
    let row = Row { table, at: 0, fields: table.rows.first()? };
    let mut cell = Cell::new(&row, "pch_slot_mpps", Some(published));
    cell.row = "a slot behind the chipset".to_owned();
    let can = pcie::smallest_packets(pcie::packet_bps(5.0, 4, 128.0), FRAME_BYTES);
    (cell.low, cell.high) = (Some(can.received.min(can.sent)), Some(can.sent_batched));
    // What is published was sent.
    cell.predicted = Some(can.sent);
    cell.kind = Kind::Prediction;
    cell.uncalibrated = cell.low.zip(cell.high).map(|(low, high)| (can.sent, low, high));
    cell.left_out = cell.predicted;
    cell.bottleneck = "chipset's uplink".to_owned();
    cell.says = format!(
        "four lanes at 5 GT/s: {:.1} M packets/s received, {:.1} sent with a doorbell each",
        can.received, can.sent
    );
    Some(cell)
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
    if let Some(error) = median_of_others(&published) {
        answer.baselines.push(("median of the other rows", error));
    }
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
    let right = |verdict: &dyn Fn(&Cell) -> Option<bool>| {
        let told = rows.iter().zip(&answer.cells).filter_map(|(row, cell)| {
            let published = match row.text("wire_rate")? {
                "yes" => true,
                "no" => false,
                _ => return None,
            };
            Some(verdict(cell)? == published)
        });
        let told: Vec<bool> = told.collect();
        format!("{} of {}", told.iter().filter(|right| **right).count(), told.len())
    };
    let said =
        |cell: &Cell, who: &str| match cell.says.split(who).nth(1)?.split([',', ';']).next()? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
    let (rule, model) = (right(&|cell| said(cell, "rule ")), right(&|cell| said(cell, "model ")));
    answer
        .remarks
        .push(format!("verdicts on wire rate that are right: rule {rule}, model {model}"));
}
