//! A congestion window that was made small before a run's window began, and opens slowly.

use super::{Answer, ENGAGED_MIN};
use crate::controls;
use crate::measured::Cell;
use crate::rules::slow_start_unfinished;

/// Rate times round trip is about what a window lets travel.
const FILLS_WINDOW: std::ops::Range<f64> = 0.6..1.6;
/// By how much a window grows at the least that TCP opens.
const OPENS: f64 = 1.05;
/// What of the segments may be lost in a window that TCP opens all the while.
const FREE_OF_LOSS: f64 = 1e-4;

/// The congestion window of a stream that loses nothing while it is measured, and that nothing else
/// holds: it was made small before the window began, and TCP opens it by a segment each round trip.
pub fn small_window(cell: &Cell<'_>) -> Option<Answer> {
    let minds_loss = cell.summary.congestion().is_none_or(controls::slows_down);
    let is_free = minds_loss
        && cell.is_tcp_stream()
        && cell.losses()?.again <= FREE_OF_LOSS
        && cell.engaged_share()? >= ENGAGED_MIN
        && !cell.is_limited_by_buffers()
        && !cell.is_busy();
    let segments = cell.congestion_window().filter(|_| is_free)?;
    let window = segments * cell.segment_bytes()? * f64::from(cell.trial.params.streams.max(1));
    let travels = cell.rates()?.middle / 8.0 * cell.trips()?.middle_ns / 1e9;
    // One that TCP makes smaller again and again is held by what makes it so.
    let grown = cell.of_sender(slow_start_unfinished::grown)?;
    (grown >= OPENS && FILLS_WINDOW.contains(&(travels / window.max(1.0)))).then(|| {
        let what = format!(
            "TCP's congestion window ({segments:.0} segments), which was small as the window began \
             and opens slowly,"
        );
        Answer::inferred(what, SMALL_WINDOW_ACTION)
    })
}

/// What to do about a window that was made small before any run's window began.
const SMALL_WINDOW_ACTION: &str = "measure longer, after a longer warm-up (--warm-up 10 -t 10); see what drops \
                                   packets as a stream begins: tc -s qdisc at the sender's \
                                   interface (dropped, a limit of few packets), short queues on \
                                   the way, delay that jumps";
