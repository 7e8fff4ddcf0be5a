//! The 54 published slowdowns beside those that the simulation and the arithmetic of
//! `narrows predict` give. No parameter is fitted to them.

use crate::load::What;
use crate::parameters::Parameters;
use crate::simulated::{Experiment, SEEDS, Together, together};
use narrows_dimm::platform;
use narrows_predict::contention::{Contention, CoreWork, DeviceWork};
use narrows_predict::domains::{self, Domains, reached};
use std::path::Path;

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub server: String,
    pub cores: usize,
    pub experiment: Experiment,
    /// Of cores, and of the device where it was published.
    pub published: [Option<f64>; 2],
    pub arithmetic: [f64; 2],
    /// The arithmetic, with turns of three writes for two reads where memory is full.
    pub with_turns: [f64; 2],
}

/// A row, simulated.
#[derive(Clone, Debug)]
pub struct Compared {
    pub row: Row,
    pub simulated: Together,
}

/// How far figures are off: how many, mean and median of absolute errors, and the least and most
/// with their sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    pub figures: usize,
    pub mean: f64,
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

/// The rows of `tables/contention.toml`.
pub fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tables/contention.toml");
    let text = std::fs::read_to_string(path).expect("the table");
    let table: toml::Table = text.parse().expect("a table");
    let peak = number(&table["system"], "peak_gb_s").expect("a peak");
    table["row"].as_array().expect("rows").iter().map(|each| row(each, peak)).collect()
}

fn number(of: &toml::Value, key: &str) -> Option<f64> {
    let value = of.get(key)?;
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn word<'a>(of: &'a toml::Value, key: &str) -> &'a str {
    of[key].as_str().expect("a word")
}

fn row(row: &toml::Value, peak_gb_s: f64) -> Row {
    let writers = word(row, "cores_do") == "read-write";
    let device = if word(row, "device_does") == "write" { What::Write } else { What::Read };
    let server = word(row, "server").to_owned();
    // Four drives, or one NIC.
    let streams = if server.starts_with("drives") { 4 } else { 1 };
    let gb_s = number(row, "device_gb_s").expect("a rate");
    let cores = number(row, "cores").expect("cores");
    let contention = Contention {
        cores,
        work: if writers { CoreWork::ReadsAndWrites } else { CoreWork::Reads },
        offered_gb_s: gb_s,
        device: if device == What::Write { DeviceWork::Writes } else { DeviceWork::Reads },
        copies: None,
        peak_gb_s,
    };
    let family = domains::of(platform::named("Xeon Gold 6234")).expect("published");
    let (of_cores, of_device) = contention.slowdowns(family);
    Row {
        server,
        cores: cores as usize,
        experiment: Experiment { writers, device, gb_s, streams },
        published: [number(row, "core_slowdown"), number(row, "device_slowdown")],
        arithmetic: [of_cores, of_device],
        with_turns: with_turns(&contention, family),
    }
}

/// The law that the simulation has where both queues always hold lines: so many writes a read, so
/// that a device's writes have what the cores' write-backs leave of them. Where memory is not full,
/// or the arithmetic leaves the device less, it is the arithmetic.
fn with_turns(contention: &Contention, family: &Domains) -> [f64; 2] {
    const WRITES_A_READ: f64 = 1.5;
    let (of_cores, of_device) = contention.slowdowns(family);
    let left = contention.left(family);
    let reads = contention.cores * left.core_gb_s;
    let total = 2.0 * reads + left.device_gb_s;
    let full = contention.peak_gb_s * reached((reads + left.device_gb_s) / total);
    let is_asked = contention.work == CoreWork::ReadsAndWrites
        && contention.device == DeviceWork::Writes
        && total > 0.999 * full;
    let reads_then = contention.peak_gb_s * reached(1.0) / (1.0 + WRITES_A_READ);
    let device = (WRITES_A_READ - 1.0) * reads_then;
    if !is_asked || device > left.device_gb_s {
        return [of_cores, of_device];
    }
    [of_cores * reads / reads_then, contention.offered_gb_s / device]
}

pub fn compared(parameters: Parameters) -> Vec<Compared> {
    let rows = rows().into_iter();
    rows.map(|row| {
        let simulated = together(parameters, &row.experiment, row.cores, SEEDS);
        Compared { row, simulated }
    })
    .collect()
}

impl Compared {
    /// Slowdowns of cores and device.
    pub fn slowdowns(&self) -> [f64; 2] {
        [self.simulated.core_slowdown, self.simulated.device_slowdown]
    }
}

/// Errors of what is said of rows, of both sides or of one (0 cores, 1 device).
pub fn errors(said: &[(&Row, [f64; 2])], side: Option<usize>) -> Errors {
    let mut off = Vec::new();
    for (row, says) in said {
        for at in [0, 1] {
            if side.is_none_or(|side| side == at)
                && let Some(published) = row.published[at]
            {
                off.push(says[at] / published - 1.0);
            }
        }
    }
    off.sort_by(f64::total_cmp);
    let (least, most) = (off[0], off[off.len() - 1]);
    let mut sizes: Vec<f64> = off.iter().map(|each| each.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let middle = sizes.len() / 2;
    let median = (sizes[middle] + sizes[(sizes.len() - 1) / 2]) / 2.0;
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    Errors { figures: sizes.len(), mean, median, least, most }
}

/// What docs/no-link-full.md says of the arithmetic.
#[test]
fn the_table_is_the_one_that_predict_is_scored_on() {
    let rows = rows();
    let said: Vec<_> = rows.iter().map(|row| (row, row.arithmetic)).collect();
    let all = errors(&said, None);
    assert_eq!((rows.len(), all.figures), (30, 54));
    assert!((all.mean - 0.064).abs() < 5e-4 && (all.median - 0.027).abs() < 5e-4, "{all:?}");
    // Memory is full with and without the device: cores read half of what crosses, then two fifths.
    let six = rows.iter().rfind(|row| row.with_turns[1] > 2.0).expect("drives beside six cores");
    assert_eq!(six.cores, 6);
    assert!((six.with_turns[0] - 2.5 / 2.0).abs() < 1e-3, "{six:?}");
    assert!((six.with_turns[1] - 14.0 / (0.71 * 46.93 / 5.0)).abs() < 1e-3, "{six:?}");
    let mut twice = said;
    for (row, says) in &mut twice {
        *says = row.published.map(|of| 2.0 * of.unwrap_or(1.0));
    }
    let off = errors(&twice, Some(1));
    assert_eq!((off.figures, off.mean, off.median, off.least, off.most), (24, 1.0, 1.0, 1.0, 1.0));
}
