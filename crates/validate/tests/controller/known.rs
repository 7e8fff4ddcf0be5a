//! Simulations whose answer is arithmetic.

use crate::address::place;
use crate::load::{DeviceLoad, Load, What};
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::parameters::{CHANNELS, Parameters, Rules};
use std::collections::{BTreeMap, BTreeSet};

const MICROSECOND: u64 = 1_000_000;

/// Without refresh, so that nothing waits that need not.
pub fn calm() -> Parameters {
    let mut calm = Parameters::CASCADE_LAKE;
    calm.timing.refresh_every = u64::MAX / 4;
    calm
}

fn run(parameters: Parameters, load: Load) -> Outcome {
    Machine::new(parameters, load, 1).run(4 * MICROSECOND, 20 * MICROSECOND)
}

#[track_caller]
fn near(value: f64, wanted: f64, share: f64) {
    assert!((value / wanted - 1.0).abs() < share, "{value}, and arithmetic says {wanted}");
}

#[test]
fn one_line_at_a_time_takes_what_was_published() {
    let mut parameters = calm();
    parameters.core_credits = 1;
    // Now and then it opens a row.
    near(run(parameters, Load::readers(1)).cores.latency_ns(), 70.0, 0.01);
    near(run(parameters, Load::writers(1)).cores.latency_ns(), 80.0, 0.01);
    parameters.device_write_credits = 1;
    let written = writes(parameters, 50.0);
    near(written.device.latency_ns(), 300.0, 1e-6);
    let cached = run(parameters, device(What::Cached, 50.0));
    near(cached.device.latency_ns(), 205.0, 1e-6);
}

/// A device that writes, alone.
fn writes(parameters: Parameters, gb_s: f64) -> Outcome {
    run(parameters, device(What::Write, gb_s))
}

fn device(what: What, gb_s: f64) -> Load {
    Load::readers(0).beside(what, gb_s, 1)
}

#[test]
fn alone_each_has_its_credits_over_latency() {
    let core = run(calm(), Load::readers(1));
    near(core.cores_gb_s(), 11.0 * 64.0 / core.cores.latency_ns(), 0.01);
    near(core.cores_gb_s(), 11.0 * 64.0 / 70.0, 0.05);
    near(core.core_credits, 11.0, 1e-9);
    let mut few = calm();
    few.device_write_credits = 20;
    // Its link where that is less, else its credits.
    near(writes(calm(), 14.0).device_gb_s(), 14.0, 0.01);
    near(writes(calm(), 14.0).device_credits[1], 14.0 * 300.0 / 64.0, 0.01);
    near(writes(few, 14.0).device_gb_s(), 20.0 * 64.0 / 300.0, 0.01);
    near(writes(few, 2.0).device_gb_s(), 2.0, 0.01);
    let cached = run(calm(), device(What::Cached, 50.0));
    near(cached.device_gb_s(), 92.0 * 64.0 / 205.0, 0.01);
    assert_eq!(cached.memory_gb_s(), 0.0);
}

#[test]
fn lines_cross_the_channels_as_often_as_they_are_asked_for() {
    for (load, read, written) in [
        (Load::readers(2), 1.0, 0.0),
        (Load::writers(2), 1.0, 1.0),
        (Load { writes_a_read: 0.5, ..Load::readers(2) }, 1.0, 0.5),
        (device(What::Read, 10.0), 1.0, 0.0),
        (device(What::Write, 10.0), 0.0, 1.0),
        (device(What::Evicting, 10.0), 0.0, 1.0),
        (device(What::Flushed, 10.0), 0.0, 1.0),
    ] {
        let said = format!("{load:?}");
        let ran = run(calm(), load);
        let lines = ran.cores.lines.max(ran.device.lines) as f64;
        let reads = ran.sum(|each| each.read) / lines;
        let writes = ran.sum(|each| each.written) / lines;
        let is_so = (reads - read).abs() < 0.03 && (writes - written).abs() < 0.03;
        assert!(is_so, "{said}: {reads} {writes}");
    }
}

#[test]
fn every_credit_is_out_or_back_and_no_channel_is_faster_than_its_bus() {
    for cores in [1, 6, 16] {
        let load = Load::writers(cores).beside(What::Write, 14.0, 4);
        let ran = run(Parameters::CASCADE_LAKE, load);
        assert_eq!(ran.taken, ran.returned + ran.in_flight);
        assert!(ran.in_flight <= 11 * cores as u64 + 92 && ran.entries <= 230.0);
        assert!(ran.memory_gb_s() < 46.93, "{}", ran.memory_gb_s());
    }
    let many = run(Parameters::CASCADE_LAKE, Load::readers(16));
    assert!(many.memory_gb_s() > 0.85 * 46.93, "{}", many.memory_gb_s());
}

#[test]
fn a_seed_gives_one_answer_and_another_seed_another() {
    let load = Load::writers(4).beside(What::Write, 14.0, 4);
    let [one, again, other] = [7, 7, 8].map(|seed| {
        let machine = Machine::new(Parameters::CASCADE_LAKE, load.clone(), seed);
        machine.run(MICROSECOND, 4 * MICROSECOND)
    });
    assert_eq!(one, again);
    assert_ne!(one, other);
}

/// Writes that never leave their queues hold a device once it has used its credits; a core's are
/// the agent's as soon as it has them, and hold the core when the agent has no entry left.
#[test]
fn a_full_write_queue_holds_the_device_and_a_full_agent_the_cores() {
    let mut stuck = calm();
    stuck.rules = Rules { high: usize::MAX, low: usize::MAX, ..stuck.rules };
    let queued = (CHANNELS * stuck.rules.writes) as u64;
    let held = writes(stuck, 14.0);
    assert_eq!((held.returned, held.in_flight), (queued, 92));
    near(held.write_queue_full, 1.0, 1e-9);
    let cores = run(stuck, Load::writers(2));
    assert_eq!((cores.returned, cores.in_flight), (queued + stuck.entries as u64, 22));
    near(cores.entries, stuck.entries as f64, 1e-9);
    // Reads need an entry too.
    let mixed = run(stuck, Load::writers(2).beside(What::Read, 14.0, 1));
    assert_eq!(mixed.device.lines, 0);
    // Who only reads is not held up by writes that wait.
    let readers = run(stuck, Load::readers(2).beside(What::Write, 14.0, 1));
    near(readers.cores.latency_ns(), run(stuck, Load::readers(2)).cores.latency_ns(), 0.05);
}

#[test]
fn a_core_that_is_paced_reads_what_it_is_told() {
    let load = Load { cores_gb_s: Some(6.0), ..Load::writers(3) };
    near(run(calm(), load).cores_gb_s(), 6.0, 0.02);
}

#[test]
fn a_devices_lines_are_mixed_as_asked() {
    let mix = vec![(What::Read, 0.5), (What::Write, 0.3), (What::Cached, 0.2)];
    let device = DeviceLoad { gb_s: 8.0, link_gb_s: 8.0, mix, streams: 2 };
    let ran = run(calm(), Load { device: Some(device), ..Load::readers(0) });
    near(ran.sum(|each| each.read), 0.5 * ran.device.lines as f64, 0.02);
    near(ran.sum(|each| each.written), 0.3 * ran.device.lines as f64, 0.02);
}

#[test]
fn lines_are_spread_over_all_banks_alike() {
    let mut banks: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let lines = 1 << 17;
    for line in 0..lines {
        let place = place(line);
        assert_eq!((place.rank, place.group), (place.bank / 16, place.bank / 4 % 4));
        *banks.entry((place.channel, place.bank)).or_default() += 1;
    }
    let counts: BTreeSet<usize> = banks.values().copied().collect();
    assert_eq!((banks.len(), counts), (64, BTreeSet::from([lines as usize / 64])));
    // 4 MiB on is another bank, of which bit 18 makes the same again.
    let [one, other, again] = [0, 1 << 22, 1 << 22 | 1 << 18].map(|address| place(address / 64));
    assert_ne!((one.channel, one.bank), (other.channel, other.bank));
    assert_eq!(one.bank, again.bank);
    // In order, two bank groups of both channels take turns within 32 KiB.
    let near: BTreeSet<_> = (0..512).map(|line| (place(line).channel, place(line).bank)).collect();
    assert_eq!(near.len(), 4);
}
