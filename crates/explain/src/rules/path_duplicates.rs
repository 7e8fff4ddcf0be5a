//! `path-duplicates`: does the path deliver packets twice?
//!
//! A loop that is being broken, a mirror port or a bond in broadcast mode does. The receiver
//! reports what it had already (duplicate SACK, RFC 2883); where that is clearly more than the
//! sender sent again, somebody else made the copies. Over a queue of seconds TCP's own timers make
//! them, before the window opens as well as in it, so that such paths are unknown.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::timers;
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

/// Whether copies come that nobody sent.
pub static RULE: Rule = Rule {
    name: "path-duplicates",
    asks: "Does the path deliver packets twice?",
    of_host: false,
    judge,
};

/// Copies that nobody sent, as a share of the segments or datagrams.
const COPIES_SHARE: f64 = 0.001;
/// Fewer copies than this are an accident, or of what was sent again before the window.
const COPIES_MIN: f64 = 3.0;
const REMEDY: &str = "look for a switching loop, a mirror port that feeds back, or a bond in \
                      broadcast mode on the way";

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpOrUdp, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind == Workload::UDP_STREAM {
        return datagrams(cell);
    }
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let losses = cell.losses().ok_or_else(|| cell.lacks(Measure::TcpSegments))?;
    let copies = (losses.had - losses.again).max(0.0);
    let is_many = copies >= COPIES_SHARE && copies * losses.sent >= COPIES_MIN;
    if is_many && (timers::is_late(cell) || are_of_timeouts(cell, copies * losses.sent)) {
        return Err(cell.lacks(Measure::TripsBelowTimers));
    }
    let seen = format!(
        "{:.3} % of the segments came twice, {:.3} % had been sent again",
        100.0 * losses.had,
        100.0 * losses.again
    );
    let wrong = is_many.then(|| {
        let says = format!(
            "The path delivers packets twice in {}: {:.1} % of the segments more than were sent \
             again",
            cell.trial.label,
            100.0 * copies
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

/// Whether timeouts that the sender found to have been in vain (RFC 5682) account for the copies: a
/// congestion window for each at the most.
fn are_of_timeouts(cell: &Cell<'_>, copies: f64) -> bool {
    let in_vain = cell.sent_count(keys::SPURIOUS_TIMEOUTS).unwrap_or(0.0);
    copies <= in_vain * cell.congestion_window().unwrap_or(0.0)
}

/// Copies that nobody sent, for each segment or datagram.
pub fn copies(cell: &Cell<'_>) -> Option<f64> {
    if cell.is_tcp_stream() {
        cell.losses().map(|losses| (losses.had - losses.again).max(0.0))
    } else {
        of_datagrams(cell)
    }
}

/// The receiver numbers datagrams, so that it counts copies itself.
fn of_datagrams(cell: &Cell<'_>) -> Option<f64> {
    cell.of_receiver(|end| {
        let copies: u64 = end.flows.iter().map(|flow| flow.duplicates).sum();
        let came: u64 = end.flows.iter().map(|flow| flow.messages).sum();
        (came > 0).then(|| copies as f64 / came as f64)
    })
}

fn datagrams(cell: &Cell<'_>) -> Looked {
    let share = of_datagrams(cell);
    let share = share.ok_or_else(|| cell.lacks(Measure::DatagramsIn))?;
    let seen = format!("{:.3} % of the datagrams came twice", 100.0 * share);
    let wrong = (share >= COPIES_SHARE).then(|| {
        let says = format!(
            "The path delivers datagrams twice in {}: {:.1} % of them",
            cell.trial.label,
            100.0 * share
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn datagrams_that_come_twice_are_found() {
        let of = |copies: u64| {
            let mut study = stream("udp-stream");
            for record in &mut study.records {
                for end in record.of_mut(Role::Receiver) {
                    end.flows[0].duplicates = copies;
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(9_000)));
        assert!(is_clear(&of(1)));
    }

    #[test]
    fn copies_that_nobody_sent_are_found() {
        let of = |had: u64, again: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.sent_segments", 100_000);
            read(&mut study, "tcp-info", "flow0.retransmitted_segments", again);
            read(&mut study, "tcp-info", "flow0.duplicates_reported_segments", had);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(5_000, 100)));
        assert!(is_clear(&of(5_000, 5_000)), "sent again in vain");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    /// 67 segments, of which some were reported as had already, over round trips of so long.
    fn slow(had: u64, highest_ms: u64, in_vain: u64) -> Verdict {
        let mut study = stream("tcp-stream");
        for (key, value) in [
            ("sent_segments", 67),
            ("retransmitted_segments", 0),
            ("duplicates_reported_segments", had),
            ("rtt_ns", highest_ms * 1_000_000),
            ("congestion_window_segments", 61),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        read(&mut study, "netstat", "TcpExt.TCPSpuriousRTOs_events", in_vain);
        of_study(&RULE, &study)
    }

    #[test]
    fn copies_that_tcps_own_timers_make_are_not_the_paths() {
        // A queue of seconds before 300 kb/s, as it was measured: one copy of 67 segments.
        assert!(is_clear(&slow(1, 604, 0)), "one copy is an accident");
        assert!(is_unknown(&slow(9, 604, 0)), "round trips longer than the timer");
        assert!(is_unknown(&slow(9, 205, 0)));
        assert!(is_found(&slow(9, 20, 0)), "round trips far below it");
        assert!(is_unknown(&slow(9, 20, 1)), "a timeout in vain sends a window again");
    }
}
