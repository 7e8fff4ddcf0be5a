//! Round trips that are due at set times (`--per-second`), where they fall behind: each is timed
//! from when it was due, so that what they take is the wait for those before them, and tells
//! nothing of the path. What one takes by itself is what the flows need for each that was served.

use crate::measured::Cell;
use narrows_model::options::trips;
use narrows_stats::Label;

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
        let is_behind = cell.summary.labels.contains(&Label::BehindSchedule) && !overlaps;
        let served_hz = cell.summary.trips_per_second.map(|rate| rate.value);
        let served_hz = served_hz.filter(|hz| is_behind && *hz > 0.0)?;
        Some(Self { due_hz: due as f64, served_hz, flows: f64::from(params.streams.max(1)) })
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
