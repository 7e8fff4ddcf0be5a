//! The two regimes as they were published: blue, where cores are slower and the device is not, and
//! red, where the device is too.

use crate::load::{Load, What};
use crate::parameters::{Parameters, Rules};
use crate::simulated::{Experiment, Together, run, together};

/// A device that is slower by more than this is hindered.
pub const HINDERED: f64 = 1.1;
const SEEDS: u64 = 2;
/// gem5's turns, and those that come nearest to what was published.
const TURNS: [Rules; 2] = [Rules::turns(16, 16), Rules::turns(32, 48)];

/// Drives beside one core and six.
fn drives(rules: Rules, writers: bool, device: What) -> [Together; 2] {
    let parameters = Parameters { rules, ..Parameters::CASCADE_LAKE };
    let experiment = Experiment { writers, device, gb_s: 14.0, streams: 4 };
    [1, 6].map(|cores| together(parameters, &experiment, cores, SEEDS))
}

#[test]
fn blue_cores_are_slower_beside_a_device_that_is_not() {
    for rules in TURNS {
        for (writers, device) in [(false, What::Write), (false, What::Read), (true, What::Read)] {
            let [one, six] = drives(rules, writers, device);
            for each in [&one, &six] {
                assert!(each.device_slowdown < HINDERED, "{writers} {device:?}: {each:?}");
                assert!(each.core_slowdown > 1.08, "{writers} {device:?}: {each:?}");
            }
            assert!(six.core_slowdown > one.core_slowdown, "{writers} {device:?}");
            assert!(six.core_slowdown < 2.0, "{writers} {device:?}: {six:?}");
        }
    }
}

#[test]
fn red_begins_with_cores_that_write_and_takes_more_from_the_device() {
    for rules in TURNS {
        let [one, six] = drives(rules, true, What::Write);
        assert!(one.device_slowdown < HINDERED && one.both.device_credits < 80.0, "{one:?}");
        assert!(six.device_slowdown > 1.4 && six.core_slowdown > 1.15, "{six:?}");
        assert!(six.device_slowdown > six.core_slowdown, "{six:?}");
        assert!(six.both.device_credits > 0.95 * 92.0, "nearly all are out: {six:?}");
        assert!(six.both.entries > 0.95 * 230.0, "the agent is full: {six:?}");
        // Its writes wait far longer than the cores' reads do.
        let (writes, reads) = (six.both.device_ns - 300.0, six.both.core_ns - 80.0);
        assert!(writes > 1.5 * reads, "{six:?}");
    }
}

/// Why it is red: reads have turns of their own. Without them the write queue is emptied first,
/// the device loses nothing and the cores more.
#[test]
fn without_turns_for_reads_nothing_is_red() {
    let [_, marks] = drives(Rules::MARKS, true, What::Write);
    let [_, turns] = drives(TURNS[1], true, What::Write);
    assert!(marks.device_slowdown < HINDERED, "{marks:?}");
    assert!(marks.core_slowdown > turns.core_slowdown + 0.1, "{marks:?} {turns:?}");
    assert!(turns.both.core_ns < marks.both.core_ns, "{marks:?} {turns:?}");
    assert!(turns.both.device_ns > 2.0 * marks.both.device_ns, "{marks:?} {turns:?}");
}

/// Where the cache takes a device's writes they wait for the agent and not for the controller; what
/// has to leave the cache for them loads memory all the same, and the cores pay.
#[test]
fn through_the_cache_the_device_is_spared_and_the_cores_are_not() {
    let [_, past] = drives(TURNS[1], true, What::Write);
    let [_, held] = drives(TURNS[1], true, What::Cached);
    let [_, evicting] = drives(TURNS[1], true, What::Evicting);
    assert!((held.core_slowdown - 1.0).abs() < 1e-9, "nothing leaves the cache: {held:?}");
    assert!((held.both.device_ns - 205.0).abs() < 1e-6, "{held:?}");
    assert!(evicting.device_slowdown < HINDERED && past.device_slowdown > 1.4, "{evicting:?}");
    assert!(evicting.core_slowdown > past.core_slowdown + 0.2, "{past:?} {evicting:?}");
}

/// A core alone opens rows for under 4 % of its reads, and beside a device for up to four times as
/// many: the paper, section 5.1.
#[test]
fn a_device_makes_a_cores_reads_open_more_rows() {
    let core = Load::readers(1);
    let alone = run(Parameters::CASCADE_LAKE, &core, 1).rows_a_read();
    let drives = core.beside(What::Write, 14.0, 4);
    let beside = run(Parameters::CASCADE_LAKE, &drives, 1).rows_a_read();
    assert!(alone < 0.04 && beside > 2.0 * alone && beside < 0.16, "{alone} {beside}");
}
