//! What `lab/traffic` counted, bytes a payload byte by who asks for them, as the load of this
//! machine: the payload that its memory lets through.

use crate::load::{DeviceLoad, Load, What};
use crate::parameters::Parameters;
use crate::simulated::{Means, means};
use narrows_predict::domains::reached;
use std::collections::BTreeMap;
use std::path::Path;

/// Cores that copy; how long they take over it besides waiting for memory is not in it.
const CORES: usize = 4;
const SEEDS: u64 = 2;
/// Payload is tried in steps of this, up to 200 Gb/s.
const STEP_GB_S: f64 = 0.25;
const MOST_STEPS: usize = 100;
/// Who moves less than this share of what is asked does not keep up.
const KEPT: f64 = 0.97;
const PEAK_GB_S: f64 = 46.93;
/// Slots of both NICs together: never what limits.
const LINK_GB_S: f64 = 64.0;

/// Lines a line of payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    pub case: String,
    pub cache: String,
    pub read: f64,
    pub written: f64,
    pub device: Vec<(What, f64)>,
}

/// The most payload that goes through.
#[derive(Clone, Debug)]
pub struct Through {
    pub mix: Mix,
    pub gb_s: f64,
    /// What the peak alone would let through, at the share of it that such a mix reaches.
    pub by_peak_gb_s: f64,
    pub means: Means,
    /// Who did not keep up with the next step.
    pub limit: &'static str,
}

/// Counts of one host that sends to itself through two NICs.
pub fn mixes() -> Vec<Mix> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traffic.csv");
    let text = std::fs::read_to_string(path).expect("the counts");
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let rows = lines.map(|line| head.iter().copied().zip(line.split(',')).collect());
    rows.filter(is_asked).map(|row| mix(&row)).collect()
}

/// A row by its columns; the last, what was called, is cut at a comma of its own.
type Counts<'a> = BTreeMap<&'a str, &'a str>;

fn is_asked(row: &Counts<'_>) -> bool {
    row["part"] == "nics" && ["1M:16", "4M:16", "1M:16:io2", "4M:16:io2"].contains(&row["cache"])
}

/// Lines a line of payload.
fn lines(row: &Counts<'_>, key: &str) -> f64 {
    let payload = row["payload_bytes"].parse::<f64>().expect("bytes") / 64.0;
    row[key].parse::<f64>().expect("a count") / payload
}

fn mix(row: &Counts<'_>) -> Mix {
    let (read, written) = (lines(row, "fills"), lines(row, "write_backs") + lines(row, "streamed"));
    let cached = lines(row, "device_hits") + lines(row, "device_allocs");
    // A core of this machine writes back at most what it reads; what more is written made room for
    // a device's lines.
    let evicted = (written - read).clamp(0.0, cached);
    let device = vec![
        (What::Read, lines(row, "device_reads")),
        (What::Write, lines(row, "device_writes")),
        (What::Flushed, lines(row, "device_flushes")),
        (What::Cached, cached - evicted),
        (What::Evicting, evicted),
    ];
    let (case, cache) = (row["case"].to_owned(), row["cache"].to_owned());
    Mix { case, cache, read, written: written - evicted, device }
}

impl Mix {
    fn device_lines(&self) -> f64 {
        self.device.iter().map(|(_, lines)| lines).sum()
    }

    fn load(&self, payload_gb_s: f64) -> Load {
        let all = self.device_lines();
        let mix = self.device.iter().map(|(what, lines)| (*what, lines / all)).collect();
        Load {
            cores: CORES,
            writes_a_read: self.written / self.read,
            cores_gb_s: Some(self.read * payload_gb_s),
            device: Some(DeviceLoad {
                gb_s: all * payload_gb_s,
                link_gb_s: LINK_GB_S,
                mix,
                streams: 2,
            }),
        }
    }

    fn of_device(&self, wanted: &[What]) -> f64 {
        self.device.iter().filter(|(what, _)| wanted.contains(what)).map(|(_, n)| n).sum()
    }

    /// Lines over the channels, and those of them that are written.
    pub fn crossing(&self) -> (f64, f64) {
        let device = self.of_device(&[What::Write, What::Flushed, What::Evicting]);
        let written = self.written + device;
        (self.read + self.of_device(&[What::Read]) + written, written)
    }
}

/// Who does not keep up with a payload, if anybody.
fn behind(parameters: Parameters, mix: &Mix, payload_gb_s: f64) -> (Option<&'static str>, Means) {
    let means = means(parameters, &mix.load(payload_gb_s), SEEDS);
    let cores = means.cores_gb_s / (mix.read * payload_gb_s);
    let device = means.device_gb_s / (mix.device_lines() * payload_gb_s);
    let who = if cores < device { "cores" } else { "device" };
    ((cores.min(device) < KEPT).then_some(who), means)
}

/// The most payload at which both keep up; `None` where less crosses the channels than the payload,
/// so that a window has too few lines of the cores to tell whether they keep up.
pub fn through(parameters: Parameters, mix: Mix) -> Option<Through> {
    let (lines, written) = mix.crossing();
    if lines < 1.0 {
        return None;
    }
    let (mut least, mut most) = (0, MOST_STEPS + 1);
    let (mut kept, mut limit) = (Means::default(), "neither");
    while most - least > 1 {
        let middle = usize::midpoint(least, most);
        match behind(parameters, &mix, middle as f64 * STEP_GB_S) {
            (None, means) => (least, kept) = (middle, means),
            (Some(who), _) => (most, limit) = (middle, who),
        }
    }
    let by_peak_gb_s = PEAK_GB_S * reached(written / lines) / lines;
    Some(Through { mix, gb_s: least as f64 * STEP_GB_S, by_peak_gb_s, means: kept, limit })
}

#[test]
fn counts_become_lines_of_cores_and_devices() {
    let mixes = mixes();
    assert_eq!(mixes.len(), 24);
    // The ratios of docs/traffic.md.
    for (case, cache, ratio) in [
        ("tcp-hot", "4M:16", 3.92),
        ("tcp-cold", "1M:16", 9.39),
        ("tcp-cold-sendfile", "4M:16:io2", 3.16),
        ("udp", "4M:16", 3.72),
        ("tcp-hot", "1M:16:io2", 1.60),
    ] {
        let mix = mixes.iter().find(|mix| mix.case == case && mix.cache == cache);
        let lines = mix.expect("counted").crossing().0;
        assert!((lines - ratio).abs() < 0.01, "{case} {cache}: {lines}");
    }
}

#[test]
fn what_crosses_little_goes_through_and_what_crosses_much_does_not() {
    let (case, cache) = (String::new(), String::new());
    let device = vec![(What::Write, 1.0)];
    let little = Mix { case, cache, read: 0.5, written: 0.5, device };
    // 54 GB/s of 46.9.
    let much = Mix { read: 4.0, written: 4.0, ..little.clone() };
    assert_eq!(behind(Parameters::CASCADE_LAKE, &little, 6.0).0, None);
    assert!(behind(Parameters::CASCADE_LAKE, &much, 6.0).0.is_some());
}
