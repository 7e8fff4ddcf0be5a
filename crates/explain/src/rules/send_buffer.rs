//! `send-buffer`: did the sender's buffer hold TCP back?
//!
//! What is not acknowledged yet must stay in the send buffer. The kernel counts the time in which
//! the buffer was full and the network would have taken more (`tcpi_sndbuf_limited`,
//! include/uapi/linux/tcp.h). With a CPU full at either end the buffer is not the cause.
//!
//! It counts none of the time in which a segment waits to be sent beside the full buffer, so that
//! over a long path it may count little. There what was under way, rate x round trip, tells: where
//! that is about the largest buffer, and both windows would let far more travel, it is the buffer.

use crate::measured::{self, Cell, LONG_PATH_NS, Limit, Looked, Why, finding};
use crate::rules::tcp_send_buffers;
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Moment, keys};
use narrows_model::result::{Needed, Verdict, Weight};

/// Whether this buffer held TCP back.
pub static RULE: Rule = Rule {
    name: "send-buffer",
    asks: "Did the sender's buffer hold TCP back?",
    of_host: false,
    judge,
};

const LIMIT: Limit = Limit {
    counter: keys::LIMITED_BY_BUFFER,
    means: "the send buffer was full and the window open",
    whose: "sender",
    why,
    buffer: |summary| summary.settings.senders().filter_map(|end| end.send_buffer_bytes).min(),
};

const BUFFERS: &str = "net.ipv4.tcp_wmem";

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCountersOfSender, None, look)
}

/// What was under way, in largest buffers: the kernel's own bookkeeping takes a part of each.
const FILLED: std::ops::Range<f64> = 0.6..1.1;
/// Either window lets so many times as much travel.
const OPEN_TIMES: f64 = 1.5;
/// What stands in a queue is none of the path's.
const QUEUED_SHARE: f64 = 0.25;
/// More than that sent again, and losses may hold a stream.
const FREE_OF_LOSS: f64 = 1e-4;
/// The sender always has something under way.
const ENGAGED_MIN: f64 = 0.9;

/// Bytes that were under way, where the largest buffer alone can have kept it to that.
pub fn filled(cell: &Cell<'_>) -> Option<f64> {
    let is_free = cell.is_tcp_stream()
        && !cell.is_paced()
        && cell.trial.params.socket_buffer_bytes.is_none()
        && cell.trial.params.streams <= 1
        && !cell.is_busy()
        && cell.losses()?.again <= FREE_OF_LOSS
        && cell.engaged_share()? >= ENGAGED_MIN;
    let trips = cell.trips().filter(|trips| is_free && trips.shortest_ns >= LONG_PATH_NS)?;
    let times = tcp_send_buffers::times_full(cell)?;
    let bytes = cell.rates()?.middle / 8.0 * trips.least_ns / 1e9;
    let congestion = cell.congestion_window()? * cell.segment_bytes()?;
    let offered = cell.of_sender(|end: &EndReport| {
        let all = end.readings.each(keys::SEND_WINDOW, Moment::Closing);
        all.map(|(_, bytes)| bytes as f64).reduce(f64::min)
    })?;
    (FILLED.contains(&times)
        && trips.waited_ns() <= QUEUED_SHARE * trips.shortest_ns
        && congestion.min(offered) >= OPEN_TIMES * bytes)
        .then_some(bytes)
}

fn look(cell: &Cell<'_>) -> Looked {
    let Some(bytes) = filled(cell) else { return measured::look_at_limit(cell, &RULE, &LIMIT) };
    let trip_ms = cell.trips().map_or(0.0, |trips| trips.least_ns / 1e6);
    let seen = format!(
        "{:.1} MB were under way in a round trip of {trip_ms:.0} ms, and both windows would let \
         {OPEN_TIMES} times as much travel",
        bytes / 1e6
    );
    let why = why(cell);
    let says = format!(
        "The sender's buffer held TCP back in {}: {seen}, but what is not acknowledged stays in \
         the buffer, and {}",
        cell.trial.label, why.says
    );
    let remedy = format!("{}; or several flows (-P)", why.remedy);
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, &remedy)))
}

/// What keeps the buffer small, where no size was asked for.
pub fn why(cell: &Cell<'_>) -> Why {
    let end = cell.sender();
    let at = end.map_or("at the sender", |end| end.at);
    let most_bytes = end.and_then(|end| end.largest_bytes(BUFFERS));
    Why::at_its_largest(BUFFERS, at, most_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{is_found_by_its_time, of_study, read, stream};
    use crate::setting::testing::known;
    use narrows_model::load::Role;

    #[test]
    fn time_at_the_limit_is_found_and_a_busy_end_is_another_matter() {
        is_found_by_its_time(&RULE, LIMIT.counter);
    }

    #[test]
    fn what_fills_the_largest_buffer_under_open_windows_is_held_by_it() {
        // 676 Mb/s over 40 ms are 3.4 MB, of 4 MiB; a window of 5,900 segments has 8.5 MB.
        let of = |mbps: u64, segments: u64, rtt_us: u64, again: u64| {
            let mut study = stream("tcp-stream");
            study.host.tuning.insert(BUFFERS.into(), known("4096 16384 4194304".to_owned()));
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
                end.flows[0].bytes.0 = mbps * 125_000;
            }
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.threads[0].system_ns.0 = 50_000_000;
            }
            for (key, value) in [
                ("busy_ns", 1_000_000_000),
                ("limited_by_send_buffer_ns", 50_000_000),
                ("rtt_min_ns", 40_000_000),
                ("rtt_ns", 1000 * rtt_us),
                ("send_mss_bytes", 1448),
                ("send_window_bytes", 18_000_000),
                ("congestion_window_segments", segments),
                ("sent_segments", 60_000),
                ("retransmitted_segments", again),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            format!("{:?}", of_study(&RULE, &study))
        };
        let found = of(676, 5901, 40_300, 0);
        assert!(found.contains("3.4 MB were under way in a round trip of 40 ms"), "{found}");
        assert!(found.contains("now 4194304 B"), "{found}");
        for other in [
            of(300, 5901, 40_300, 0),
            of(676, 2600, 40_300, 0),
            of(400, 5901, 80_000, 0),
            of(676, 5901, 40_300, 600),
        ] {
            assert!(!other.contains("under way"), "{other}");
        }
    }
}
