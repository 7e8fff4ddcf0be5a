//! One channel's commands, whose times are the data sheet's and whose order is that of the rules.

use crate::address::Place;
use crate::channel::{Channel, Next};
use crate::known::calm;
use crate::load::What;
use crate::machine::{Line, Who};
use crate::parameters::{Rules, Timing};

/// When nothing holds a command any more.
const NOW: u64 = 1_000_000;

/// What is done, and in which rank, bank of it, and row.
type Asked = (What, usize, usize, u64);

fn line((what, rank, bank, row): Asked) -> Line {
    let bank = rank * 16 + bank;
    let place = Place { channel: 0, rank, group: bank / 4 % 4, bank, row };
    Line { who: Who::Cache, what, place, taken: 0 }
}

fn put(channel: &mut Channel, line: Line) {
    let queue = if line.what.is_write() { &mut channel.writes } else { &mut channel.reads };
    queue.push_back(line);
}

/// Gives what it can from a time on: each command, and when.
fn given(channel: &mut Channel, mut now: u64) -> Vec<(What, u64)> {
    let mut all = Vec::new();
    loop {
        match channel.step(now) {
            Next::Gave(line, _) => all.push((line.what, now)),
            Next::At(time) => now = time,
            Next::Idle => return all,
        }
    }
}

/// When a channel gives each of these, one after the other, in picoseconds.
fn times(lines: &[Asked]) -> Vec<u64> {
    let mut channel = Channel::new(calm().timing, Rules::MARKS);
    let mut now = NOW;
    let mut all = Vec::new();
    for asked in lines {
        // More writes than the low mark, so that they are begun.
        for _ in 0..if asked.0.is_write() { 18 } else { 1 } {
            put(&mut channel, line(*asked));
        }
        now = given(&mut channel, now).last().expect("a command").1;
        all.push(now);
    }
    all
}

fn apart(first: Asked, second: Asked) -> u64 {
    let given = times(&[first, second]);
    given[1] - given[0]
}

#[test]
fn commands_are_as_far_apart_as_the_data_sheet_has_it() {
    let Timing { open, close, open_least, same_group, burst, write, read, .. } = calm().timing;
    let Timing { write_to_read, write_to_read_same, write_to_close, turn, .. } = calm().timing;
    let first = (What::Read, 0, 0, 5);
    assert_eq!(times(&[first])[0], NOW + open);
    assert_eq!(apart(first, (What::Read, 0, 0, 5)), same_group);
    // Another row of the bank: as soon as the first may be closed.
    assert_eq!(apart(first, (What::Read, 0, 0, 6)), open_least - open + close + open);
    assert_eq!(apart(first, (What::Read, 0, 4, 5)), open, "another group opens its own");
    let opened = times(&[first, (What::Read, 0, 4, 5), first, (What::Read, 0, 4, 5)]);
    assert_eq!(opened[3] - opened[2], burst);
    let wrote = (What::Write, 0, 0, 5);
    assert_eq!(apart(wrote, first), write + burst + write_to_read_same);
    let rewritten = write + burst + write_to_close + close + open;
    assert_eq!(apart(wrote, (What::Read, 0, 0, 6)), rewritten);
    let opened = times(&[first, (What::Read, 0, 4, 5), wrote, (What::Read, 0, 4, 5)]);
    assert_eq!(opened[3] - opened[2], write + burst + write_to_read);
    let ranks = times(&[first, (What::Read, 1, 0, 5), wrote, (What::Read, 1, 0, 5)]);
    assert_eq!(ranks[3] - ranks[2], write + burst + turn - read);
}

/// Five rows of one rank are opened as close to each other as they may be.
#[test]
fn rows_are_opened_no_closer_than_the_data_sheet_has_it() {
    let Timing { opens_apart, four_opens, .. } = calm().timing;
    let mut channel = Channel::new(calm().timing, Rules::MARKS);
    for bank in [0, 4, 8, 12, 1] {
        put(&mut channel, line((What::Read, 0, bank, 5)));
    }
    let times: Vec<u64> = given(&mut channel, NOW).iter().map(|(_, time)| time - NOW).collect();
    assert_eq!((times[1] - times[0], times[3] - times[0]), (opens_apart, 3 * opens_apart));
    assert_eq!(times[4] - times[0], four_opens);
}

#[test]
fn a_refresh_closes_a_ranks_rows_for_its_time() {
    let mut timing = calm().timing;
    timing.refresh_every = 3 * NOW;
    let (close, refresh, open) = (timing.close, timing.refresh, timing.open);
    let mut channel = Channel::new(timing, Rules::MARKS);
    let refreshed = close + refresh + open;
    for (rank, now, wanted) in [
        (0, NOW, open),
        (1, NOW + 100_000, open),
        (0, 2 * NOW, 0),
        (0, 3 * NOW + 200_000, refreshed),
        // The other rank has a time of its own.
        (1, 4 * NOW, 0),
        (1, 5 * NOW, refreshed),
    ] {
        put(&mut channel, line((What::Read, rank, 0, 5)));
        let took = given(&mut channel, now)[0].1 - now;
        assert_eq!(took, wanted, "rank {rank} at {now}");
    }
}

/// Turns of 40 reads and 34 writes that all wait: how many of each, in order.
fn turns(rules: Rules) -> Vec<(What, usize)> {
    let mut channel = Channel::new(calm().timing, rules);
    for _ in 0..40 {
        put(&mut channel, line((What::Read, 0, 0, 5)));
    }
    for _ in 0..34 {
        put(&mut channel, line((What::Write, 0, 4, 5)));
    }
    let mut turns: Vec<(What, usize)> = Vec::new();
    for (what, _) in given(&mut channel, NOW) {
        match turns.last_mut() {
            Some((last, lines)) if *last == what => *lines += 1,
            _ => turns.push((what, 1)),
        }
    }
    turns
}

#[test]
fn turns_go_by_marks_and_counts() {
    use What::{Read, Write};
    // Down to the low mark; what is not above it waits for more.
    assert_eq!(turns(Rules::MARKS), [(Write, 17), (Read, 40)]);
    assert_eq!(turns(Rules::turns(16, 24)), [(Read, 16), (Write, 17), (Read, 24)]);
    // Cut short: 24 writes are left, which is below the high mark and above the low one.
    assert_eq!(turns(Rules::turns(16, 10)), [(Read, 16), (Write, 10), (Read, 24), (Write, 24)]);
    let low = Rules { high: 20, ..Rules::turns(8, 10) };
    let cut = [(Read, 8), (Write, 10), (Read, 8), (Write, 7), (Read, 24)];
    assert_eq!(turns(low), cut);
}
