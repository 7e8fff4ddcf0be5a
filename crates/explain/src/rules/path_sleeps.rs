//! `path-sleeps`: does a round trip take longer after a pause than right after the one before?
//!
//! Radio links and modems save power, and tunnels and firewalls state, while nothing is sent, and
//! the first packet after a pause waits until they are awake. Requests that are due at
//! set times meet that each time, and requests one after the other only once: the same round trips
//! without a schedule tell it from a path whose delay changes by itself.

use crate::measured::{self, Blind, Cell, Looked, cells, finding};
use crate::schedule::Behind;
use crate::{Case, Rule};
use narrows_model::load::{Params, TripParams};
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-sleeps",
    asks: "Does a round trip take longer after a pause than right after the one before?",
    of_host: false,
    judge,
};

/// What CPUs' own idle states and clocks add after a pause is shorter.
const LONGER_MIN_NS: f64 = 1e6;
/// What others that have the CPUs add to a thread that wakes is mostly shorter.
const LONGER_DISTURBED_NS: f64 = 10e6;
/// And it must be of some weight beside the round trip itself.
const LONGER_TIMES: f64 = 1.5;
/// Requests of a flow are so many round trips apart at the least: else there is no pause.
const APART_TIMES: f64 = 2.0;
/// A larger message sends more after a pause than a window holds, which `idle-slow-start` tells.
const SMALL_BYTES: u64 = 1448;

fn judge(case: &Case<'_>) -> Verdict {
    let others: Vec<Cell<'_>> = cells(case).collect();
    let idle = Some(Activity::PausesBetweenTrips);
    measured::judge(case, Needed::TripsAtTimes, idle, |cell| look(cell, &others))
}

fn look(cell: &Cell<'_>, others: &[Cell<'_>]) -> Looked {
    let params = &cell.trial.params;
    let is_small = params.message_bytes.max(params.response_bytes()).0 <= SMALL_BYTES;
    // What waits for those before it has no pause.
    if !cell.trial.kind.is_round_trip() || !is_due(cell) || !is_small || Behind::of(cell).is_some()
    {
        return Err(Blind::OtherKind);
    }
    let paused = cell.rates().ok_or_else(|| cell.lacks(Measure::RoundTrips))?;
    let beside = cell.beside(unpaused);
    let others = others.iter().filter(|one| beside.iter().any(|of| of.trial.id == one.trial.id));
    let at_once = others.filter(|other| !is_due(other)).find_map(Cell::rates);
    let at_once = at_once.ok_or_else(|| cell.lacks(Measure::TripsAtOnce))?;
    let seen = format!(
        "{:.2} ms in the median of those at set times, {:.2} ms of those one after the other",
        paused.middle / 1e6,
        at_once.middle / 1e6
    );
    let least_ns = if cell.is_disturbed() { LONGER_DISTURBED_NS } else { LONGER_MIN_NS };
    let is_longer = has_pauses(cell, at_once.middle)
        && paused.low - at_once.high >= least_ns
        && paused.low >= LONGER_TIMES * at_once.high;
    let wrong = is_longer.then(|| {
        let says = format!(
            "Something on the way sleeps while nothing is sent: round trips of {} take {seen}",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// Whether requests are due at set times.
fn is_due(cell: &Cell<'_>) -> bool {
    cell.trial.params.trip.as_ref().is_some_and(|trip| trip.per_second.is_some())
}

/// Whether each flow rests for a round trip (in nanoseconds) or more between requests.
fn has_pauses(cell: &Cell<'_>, round_trip_ns: f64) -> bool {
    let params = &cell.trial.params;
    let due_hz = params.trip.as_ref().and_then(|trip| trip.per_second).unwrap_or(0) as f64;
    let apart_ns = 1e9 * f64::from(params.streams.max(1)) / due_hz.max(1.0);
    apart_ns >= APART_TIMES * round_trip_ns
}

/// The same round trips one after the other.
fn unpaused(params: Params) -> Params {
    let trip = params.trip.clone().map(|trip| TripParams { per_second: None, ..trip });
    Params { trip, ..params }.tidied()
}

const REMEDY: &str = "switch off the power saving of a radio link or modem on the way, or send \
                      something more often than its pause (keep-alives); see tunnels and \
                      firewalls that forget idle flows, and neighbours that are asked for again \
                      (ip monitor neigh)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, trips};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    /// Round trips at set times that take so long, in microseconds.
    fn paused(p50_us: u64) -> StoredStudy {
        let mut study = trips(p50_us);
        let params = &mut study.trials[0].params;
        params.message_bytes = narrows_model::Bytes(64);
        params.trip = Some(TripParams { per_second: Some(5), ..TripParams::default() });
        study
    }

    /// The same beside those one after the other.
    fn beside(p50_us: u64, at_once_us: u64) -> StoredStudy {
        let mut study = paused(p50_us);
        let mut trial = study.trials[0].clone();
        (trial.id, trial.label) = (TrialId("b".into()), "tcp-rr one after the other".into());
        trial.params.trip = None;
        for mut record in study.records.clone() {
            record.trial = trial.id.clone();
            for end in record.of_mut(Role::Sender) {
                end.round_trips = vec![(Nanos(at_once_us * 1000), 1000)];
            }
            study.records.push(record);
        }
        study.trials.push(trial);
        study
    }

    #[test]
    fn what_takes_longer_after_a_pause_sleeps() {
        let found = of_study(&RULE, &beside(41_700, 1_200));
        assert!(is_found(&found));
        let found = format!("{found:?}");
        assert!(found.contains("41.70 ms in the median") && found.contains("1.20 ms"), "{found}");
        assert!(is_clear(&of_study(&RULE, &beside(41_700, 41_000))), "as long without a pause");
        assert!(is_clear(&of_study(&RULE, &beside(300, 40))), "what a CPU's idle state adds");
        assert!(is_clear(&of_study(&RULE, &beside(30_000, 25_000))), "little beside the path");
        assert!(is_unknown(&of_study(&RULE, &paused(41_700))), "nothing to compare with");
        assert!(is_idle(&of_study(&RULE, &trips(41_700))), "no pauses");
        let mut close = beside(2_100, 1_000);
        close.trials[0].params.trip =
            Some(TripParams { per_second: Some(900), ..TripParams::default() });
        assert!(is_clear(&of_study(&RULE, &close)), "hardly a pause between two");
        let mut large = beside(41_700, 1_200);
        for trial in &mut large.trials {
            trial.params.message_bytes = narrows_model::Bytes(65_536);
        }
        assert!(is_idle(&of_study(&RULE, &large)), "more than a window holds after a pause");
    }
}
