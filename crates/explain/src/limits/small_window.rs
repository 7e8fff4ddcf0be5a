//! A congestion window that was made small before a run's window began, and opens slowly.

use super::Answer;
use super::of_ends::ENGAGED_MIN;
use crate::controls;
use crate::measured::Cell;
use crate::rules::slow_start_unfinished;
use narrows_model::reading::keys;

/// Rate times round trip is about what a window lets travel.
const FILLS_WINDOW: std::ops::Range<f64> = 0.6..1.6;
/// Of a window that has grown by a segment each round trip the mean is what travelled.
const FILLS_GROWN: std::ops::Range<f64> = 0.3..1.6;
/// Below so many segments no delay ends slow start (Linux: `hystart_low_window`), and losses or
/// what was saved of earlier connections do.
const BY_DELAY_MIN: f64 = 16.0;
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
    let grown = cell.of_sender(slow_start_unfinished::grown).filter(|grown| *grown >= OPENS)?;
    let filled = travels / window.max(1.0);
    if let Some(threshold) = saved(cell).filter(|_| FILLS_GROWN.contains(&filled)) {
        let early = format!(
            "slow start, which ended at {threshold:.0} segments though nothing was sent again"
        );
        return Some(if uses_saved(cell) {
            let what = format!("{early}: what TCP saved of an earlier connection,");
            Answer::inferred(what, SAVED_ACTION)
        } else {
            Answer::inferred(format!("{early} (why is not known),"), EARLY_ACTION)
        });
    }
    (grown >= OPENS && FILLS_WINDOW.contains(&filled)).then(|| {
        // Nothing was sent again in the window: what was lost before it left it small.
        let why = match cell.has_never_lost() {
            Some(false) => " after losses before that",
            _ => "",
        };
        let by = cell.summary.congestion().map_or(String::new(), |by| format!(" under {by}"));
        let what = format!(
            "TCP's congestion window ({segments:.0} segments), which was small as the window \
             began{why} and opens slowly{by},"
        );
        Answer::inferred(what, SMALL_WINDOW_ACTION)
    })
}

/// Where slow start ended, in segments, before anything was lost and too early for delay to end it.
fn saved(cell: &Cell<'_>) -> Option<f64> {
    let threshold = cell.slow_start_threshold().filter(|at| *at < BY_DELAY_MIN)?;
    cell.has_never_lost()?.then_some(threshold)
}

/// Whether the sender's TCP begins with what it saved, as kernels before 5.6 do and later ones
/// where they are told to. Marks end slow start as well.
fn uses_saved(cell: &Cell<'_>) -> bool {
    let is_on = cell.sender().is_some_and(|end| end.setting(NOT_SAVED) == Some("0"));
    is_on && cell.agreed(keys::OPTION_ECN) != Some(true)
}

const NOT_SAVED: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";
/// What to do about a threshold that is older than the connection.
const SAVED_ACTION: &str = "at the sender: ip tcp_metrics flush all, and sysctl -w \
                            net.ipv4.tcp_no_ssthresh_metrics_save=1, which keeps it from coming back";
/// And about one of which nobody knows who set it.
const EARLY_ACTION: &str = "at the sender: ip tcp_metrics show, ip route show (ssthresh), tc -s qdisc (drops of its \
                            own queue, which are not sent again); measure longer, after a longer \
                            warm-up (--warm-up 10 -t 10)";

/// What to do about a window that was made small before any run's window began.
const SMALL_WINDOW_ACTION: &str = "measure longer, after a longer warm-up (--warm-up 10 -t 10); see what drops \
                                   packets as a stream begins: tc -s qdisc at the sender's \
                                   interface (dropped, a limit of few packets), short queues on \
                                   the way, delay that jumps";
