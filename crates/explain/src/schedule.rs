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
