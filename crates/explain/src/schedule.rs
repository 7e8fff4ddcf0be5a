//! Round trips that are due at set times (`--per-second`), where they fall behind: each is timed
//! from when it was due, so that what they take is the wait for those before them, and tells
//! nothing of the path. What one takes by itself is what the flows need for each that was served.

use crate::measured::Cell;
use narrows_model::options::trips;
use narrows_stats::Label;

/// A count of a window is less exact than this.
const SERVED_SHARE: f64 = 0.995;
/// What keeps up takes about as long from when it is due as from when it is sent.
const LATE_TIMES: f64 = 1.5;

/// Round trips behind their schedule.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// Requests a second that are due.
    pub due_hz: f64,
    /// Requests a second that were served.
    pub served_hz: f64,
    /// Flows, each of which asks when its last request is answered.
    pub flows: f64,
}

impl Behind {
    /// How far a cell's round trips fall behind; `None` where they keep up, have no schedule, or do
    /// not wait for those before them.
    pub fn of(cell: &Cell<'_>) -> Option<Self> {
        let params = &cell.trial.params;
        let due = params.trip.as_ref()?.per_second?;
        let overlaps = trips::OVERLAP.of(params).unwrap_or(false);
        let served_hz = cell.summary.trips_per_second?.value;
        let behind =
            Self { due_hz: due as f64, served_hz, flows: f64::from(params.streams.max(1)) };
        let is_late = cell.summary.labels.contains(&Label::BehindSchedule) || behind.grows(cell);
        (is_late && !overlaps && served_hz > 0.0).then_some(behind)
    }

    /// Whether a little more is due than is served, so that each is later than the one before: what
    /// half of them waited is a round trip and more.
    fn grows(&self, cell: &Cell<'_>) -> bool {
        let median = cell.summary.round_trips.as_ref().and_then(|trips| trips.p50_ns);
        self.served_hz < SERVED_SHARE * self.due_hz
            && median.is_some_and(|ns| ns.0 as f64 >= LATE_TIMES * self.each_ns())
    }

    /// What a round trip takes in the mean from when it was sent, in nanoseconds.
    pub fn each_ns(&self) -> f64 {
        1e9 * self.flows / self.served_hz
    }

    /// Whether no path of such a round trip (in nanoseconds) could serve what is due.
    pub fn is_beyond(&self, shortest_ns: f64) -> bool {
        self.due_hz * shortest_ns >= 1e9 * self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;
    use crate::measured::cells;
    use crate::measured::testing;
    use narrows_model::load::TripParams;
    use narrows_model::study::StoredStudy;

    fn behind(study: &StoredStudy) -> Option<Behind> {
        let summaries = narrows_stats::summarise(study);
        let case = Case { study, summaries: &summaries, predictions: &[] };
        let answer = cells(&case).next().map(|cell| Behind::of(&cell));
        answer.expect("a cell")
    }

    /// Twenty thousand round trips a second, of which so many are due; half of them take so long
    /// from when they are due.
    fn due(per_second: Option<u64>, p50_us: u64) -> StoredStudy {
        let mut study = testing::trips(p50_us);
        study.trials[0].params.trip = Some(TripParams { response_bytes: None, per_second });
        study
    }

    #[test]
    fn twice_as_many_as_are_served_fall_behind_whatever_each_took() {
        let told = behind(&due(Some(40_000), 50)).expect("behind");
        assert_eq!((told.due_hz, told.served_hz, told.flows), (40e3, 20e3, 1.0));
        assert_eq!(told.each_ns(), 50e3, "one after the other in a second");
        // A flow serves forty thousand over a path of 25 us at the most.
        assert!(told.is_beyond(25e3) && !told.is_beyond(24.9e3));
        let mut four = due(Some(40_000), 50);
        four.trials[0].params.streams = 4;
        let told = behind(&four).expect("behind");
        assert_eq!(told.each_ns(), 200e3, "four at a time");
        assert!(told.is_beyond(100e3) && !told.is_beyond(99e3));
    }

    #[test]
    fn a_little_more_than_is_served_falls_behind_where_half_waited_for_those_before() {
        let is_behind = |per_second, p50_us| behind(&due(per_second, p50_us)).is_some();
        // 99 % of what is due is served, and each takes 50 us.
        assert!(is_behind(Some(20_200), 75));
        assert!(!is_behind(Some(20_200), 74), "about as long as one takes");
        assert!(!is_behind(Some(20_050), 900), "a count is no more exact than that");
        assert!(!is_behind(Some(20_000), 900), "kept");
        assert!(!is_behind(None, 900), "no schedule");
    }

    #[test]
    fn requests_that_leave_when_they_are_due_wait_for_none_before_them() {
        let mut study = due(Some(40_000), 50);
        study.trials[0].params.told.tell(&trips::OVERLAP, true);
        assert!(behind(&study).is_none());
        let mut none = due(Some(40_000), 50);
        for end in none.records.iter_mut().flat_map(|run| &mut run.reports) {
            end.report.flows[0].messages = 0;
        }
        assert!(behind(&none).is_none(), "none was served: nothing tells what one takes");
    }
}
