//! `round-trips-vary`: do round trips take one time for a while, and another afterwards?
//!
//! A route that changes, a radio link or an interface that sleeps, a shaper or a job that comes and
//! goes: for seconds each round trip takes 40 ms, and for seconds 0.3. Asked one after another,
//! hundreds come in the fast seconds for one in the slow ones, so that the median tells nothing of
//! half of the time. The slices of the window do: each has its own mean, and those that are slow
//! stand side by side.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::median;

/// Whether round trips have two times in turn.
pub static RULE: Rule = Rule {
    name: "round-trips-vary",
    asks: "Do round trips take one time for a while, and another afterwards?",
    of_host: false,
    judge,
};

/// Slices of the window below which nothing is told.
const SLICES_LEAST: usize = 10;
/// Two times are at least so far apart.
const APART: f64 = 3.0;
/// Each of the two is seen for this share of the time.
const EACH_SHARE: f64 = 0.15;
/// Slices in a row that are slow, or not: what strikes single ones is no second level.
const ROW_SLICES: usize = 3;
/// Share of the slow slices, and of the others, that stand in such rows.
const IN_ROWS_SHARE: f64 = 0.7;
/// Share of the slow slices that may be without any answer.
const SILENT_SHARE: f64 = 0.5;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TripsToPeer, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let is_asked_in_turn = cell.trial.kind.is_round_trip() && !cell.is_paced();
    if cell.is_probe() || !is_asked_in_turn {
        return Err(Blind::OtherKind);
    }
    let turns = Turns::of(&trips(cell)).ok_or_else(|| cell.lacks(Measure::Slices))?;
    // A CPU that others take for a while looks the same.
    if cell.is_disturbed() {
        return Err(cell.lacks(Measure::UndisturbedRuns));
    }
    let [fast, slow] = [turns.fast_ns, turns.slow_ns].map(|ns| ns / 1e6);
    let percent = 100.0 * turns.slow_share;
    let seen = format!(
        "of {} slices of the window {percent:.0} % have round trips of {APART:.0} times the \
         others' and more: {slow:.2} ms beside {fast:.2} ms in the median",
        turns.slices
    );
    let wrong = turns.is_two.then(|| {
        let says = format!(
            "Round trips take two times in turn in {}: {fast:.2} ms, and {slow:.2} ms for \
             {percent:.0} % of the time; few are asked in the slow time, so that the median does \
             not show it",
            cell.trial.label
        );
        let remedy = "see what changes every few seconds: a route or bond that flaps (ip monitor), \
                      a radio link or an interface that sleeps, a shaper that is adapted, a job or \
                      a snapshot on either host or on what is between; measure for longer than it \
                      lasts (-t), and judge by the slices";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Whether round trips have two times in turn, on a host that nobody else uses.
pub fn is_found(cell: &Cell<'_>) -> bool {
    let turns = Turns::of(&trips(cell));
    !cell.is_disturbed() && turns.is_some_and(|turns| turns.is_two)
}

/// The round trips in one slice of a window.
#[derive(Clone, Copy)]
struct Slice {
    /// Mean time of a round trip.
    ns: f64,
    /// None came back.
    is_silent: bool,
}

/// The slices of each run's window.
fn trips(cell: &Cell<'_>) -> Vec<Vec<Slice>> {
    let bytes = cell.trial.params.message_bytes.0.max(1) as f64;
    let ends = cell.done.iter().filter_map(|record| record.sender());
    ends.map(|end| of_end(end, bytes)).filter(|slices| slices.len() >= SLICES_LEAST).collect()
}

/// A slice in which none came back is one of its own length at least.
fn of_end(end: &EndReport, message_bytes: f64) -> Vec<Slice> {
    let longest = end.intervals.iter().map(|slice| slice.length_ns.0).max().unwrap_or(0);
    let whole = end.intervals.iter().filter(|slice| 2 * slice.length_ns.0 >= longest);
    let flows = end.flows.len().max(1) as f64;
    whole
        .map(|slice| {
            let trips = slice.bytes.0 as f64 / message_bytes;
            let ns = flows * slice.length_ns.0 as f64 / trips.max(1.0);
            Slice { ns, is_silent: slice.bytes.0 == 0 }
        })
        .collect()
}

/// The two times of round trips.
struct Turns {
    fast_ns: f64,
    slow_ns: f64,
    slow_share: f64,
    slices: usize,
    is_two: bool,
}

impl Turns {
    /// `None` where no run has slices enough.
    fn of(runs: &[Vec<Slice>]) -> Option<Self> {
        let mut all: Vec<f64> = runs.iter().flatten().map(|slice| slice.ns).collect();
        all.sort_by(f64::total_cmp);
        // The least that each of the two must have is fast in any case.
        let few = (EACH_SHARE * all.len() as f64).ceil() as usize;
        let bound = APART * median(all.get(..few)?)?;
        let (fast, slow): (Vec<f64>, Vec<f64>) = all.iter().partition(|ns| **ns < bound);
        let share = slow.len() as f64 / all.len() as f64;
        let in_rows: usize = runs.iter().map(|slices| in_rows(slices, bound)).sum();
        // Where no answer comes that is no second time, but an outage.
        let is_late = |slice: &&Slice| slice.ns >= bound && slice.is_silent;
        let silent = runs.iter().flatten().filter(is_late).count();
        Some(Self {
            fast_ns: median(&fast)?,
            slow_ns: median(&slow).unwrap_or(bound),
            slow_share: share,
            slices: all.len(),
            is_two: (EACH_SHARE..=1.0 - EACH_SHARE).contains(&share)
                && in_rows as f64 >= IN_ROWS_SHARE * all.len() as f64
                && silent as f64 <= SILENT_SHARE * slow.len() as f64,
        })
    }
}

/// Slices that stand beside others of their kind, slow or not.
fn in_rows(slices: &[Slice], bound: f64) -> usize {
    let rows = slices.chunk_by(|one, next| (one.ns < bound) == (next.ns < bound));
    rows.map(<[Slice]>::len).filter(|length| *length >= ROW_SLICES).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_unknown};
    use narrows_model::load::{Interval, Role};
    use narrows_model::{Bytes, Nanos};

    /// Round trips of so many microseconds in each of twenty slices of a second.
    fn of(slices_us: [u64; 20]) -> Verdict {
        let mut study = stream("tcp-rr");
        let bytes = study.trials[0].params.message_bytes.0;
        let length_ns = Nanos(50_000_000);
        for record in &mut study.records {
            for end in record.of_mut(Role::Sender) {
                end.flows.truncate(1);
                end.intervals = (0..)
                    .zip(slices_us)
                    .map(|(number, us)| Interval {
                        start_ns: Nanos(number * length_ns.0),
                        length_ns,
                        bytes: Bytes(bytes * (50_000 / us)),
                    })
                    .collect();
            }
        }
        of_study(&RULE, &study)
    }

    #[test]
    fn two_times_in_turn_are_told_with_their_share_of_the_time() {
        let mut slices = [260; 20];
        slices[4..10].fill(40_000);
        slices[16..18].fill(40_000);
        let Verdict::Found { findings } = of(slices) else { panic!("found") };
        let says = &findings[0].says;
        // Of slices of 50 ms one has one trip of 40 ms, which leaves 10 ms.
        assert!(says.contains("0.26 ms, and 50.00 ms for 40 % of the time"), "{says}");
    }

    #[test]
    fn a_path_that_answers_nothing_for_a_while_has_no_second_time() {
        let mut slices = [260; 20];
        slices[4..10].fill(600_000);
        slices[16..18].fill(600_000);
        assert!(is_clear(&of(slices)), "no trip of 600 ms ends in a slice of 50");
    }

    #[test]
    fn one_time_single_slices_and_a_slow_rise_are_no_second_time() {
        assert!(is_clear(&of([260; 20])));
        let mut single = [260; 20];
        for slice in single.iter_mut().step_by(3) {
            *slice = 40_000;
        }
        assert!(is_clear(&of(single)), "a third of the slices, each alone");
        let mut once = [260; 20];
        once[..2].fill(40_000);
        assert!(is_clear(&of(once)), "a tenth of the time");
        let mut twice = [260; 20];
        twice[10..].fill(520);
        assert!(is_clear(&of(twice)), "twice as long");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-rr"))));
    }
}
