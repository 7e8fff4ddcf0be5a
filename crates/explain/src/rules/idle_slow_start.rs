//! `idle-slow-start`: does TCP begin anew after every pause?
//!
//! With `tcp_slow_start_after_idle` a connection that pauses for one timeout has its window reset
//! (RFC 2861; on unless somebody switched it off). That hurts senders in bursts on long paths. Of
//! settings alone narrows only says so when the host also asks for busy polling, which only short
//! round trips are for; where a window was seen to fall in each pause, `round-trip-time` tells it.

use crate::measured::Cell;
use crate::setting::{Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::reading::{Moment, keys};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "idle-slow-start",
    asks: "Does TCP go back to slow start after every pause?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.tcp_slow_start_after_idle", |value| {
        let polls = case.study.host.tuning.get("net.core.busy_read");
        let polls = polls.and_then(|fact| fact.value()).is_some_and(|value| value.trim() != "0");
        (value == "1" && polls).then(|| Trouble {
            says: "Sockets busy-poll for short round trips, and lose their window at every pause"
                .into(),
            remedy: "sysctl -w net.ipv4.tcp_slow_start_after_idle=0".into(),
        })
    })
}

/// How far TCP cuts its window in a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// Segments that it held before.
    pub from_segments: u64,
    /// And those that it held after.
    pub to_segments: u64,
}

/// The least timer of TCP (`TCP_RTO_MIN`): a shorter pause costs no window.
const PAUSE_MIN_NS: f64 = 2e8;
/// Each timer that a pause lasts halves the window; what is sent next makes a part of that good
/// before it is read.
const CUT: f64 = 1.5;

/// How far the window falls in the pauses of requests that are due so many a second, and take so
/// long, at the end that sends the larger part, requests or responses; `None` where nothing shows
/// it. What was sent again has cut it as well.
pub fn restart(cell: &Cell<'_>, took_ns: f64) -> Option<Restart> {
    let due = cell.trial.params.trip.as_ref()?.per_second.filter(|requests| *requests > 0)?;
    let pause_ns = 1e9 / due as f64 - took_ns;
    let params = &cell.trial.params;
    let (asked, answered) = (params.message_bytes, params.response_bytes());
    let is_answer = answered > asked;
    let end = if is_answer { cell.receiver() } else { cell.sender() };
    let is_off =
        end.is_some_and(|end| end.setting("net.ipv4.tcp_slow_start_after_idle") == Some("0"));
    let again = if is_answer {
        cell.received_count(keys::RETRANSMITTED)
    } else {
        cell.sent_count(keys::RETRANSMITTED)
    };
    let is_repaired = again.is_none_or(|again| again > 0.0);
    if pause_ns < PAUSE_MIN_NS || is_off || is_repaired {
        return None;
    }
    let at = |moment| {
        let of = |end: &narrows_model::load::EndReport| {
            let all = end.readings.each(keys::CONGESTION_WINDOW, moment);
            all.map(|(_, segments)| segments as f64).reduce(f64::min)
        };
        let segments = if is_answer { cell.of_receiver(of) } else { cell.of_sender(of) };
        segments.map(|segments| segments as u64)
    };
    // A window that grows is small at first; one that was larger before has fallen.
    let fell = [(Moment::Opening, Moment::Lowest), (Moment::Highest, Moment::Closing)];
    let fallen = fell.into_iter().find_map(|(before, after)| {
        let found = Restart { from_segments: at(before)?, to_segments: at(after)? };
        (found.from_segments as f64 >= CUT * found.to_segments as f64).then_some(found)
    })?;
    let holds = fallen.to_segments as f64 * cell.segment_bytes()?;
    (holds < asked.max(answered).0 as f64).then_some(fallen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, trips};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known, of_host, of_setting};

    /// What the rule of round trips says of 1 MiB that is due so often and takes 165 ms over a path
    /// of 40 ms, with these windows.
    fn of_pauses(per_second: u64, windows: [u64; 4], again: u64, setting: &str) -> String {
        let mut study = trips(165_000);
        let params = &mut study.trials[0].params;
        params.message_bytes = narrows_model::Bytes(1 << 20);
        params.trip.get_or_insert_default().per_second = Some(per_second);
        study
            .host
            .tuning
            .insert("net.ipv4.tcp_slow_start_after_idle".into(), known(setting.to_owned()));
        for (key, value) in [
            ("flow0.rtt_min_ns", 40_000_000),
            ("flow0.opening:congestion_window_segments", windows[0]),
            ("flow0.highest:congestion_window_segments", windows[1]),
            ("flow0.lowest:congestion_window_segments", windows[2]),
            ("flow0.congestion_window_segments", windows[3]),
            ("flow0.send_mss_bytes", 1448),
            ("flow0.retransmitted_segments", again),
        ] {
            read(&mut study, "tcp-info", key, value);
        }
        format!("{:?}", of_study(&crate::rules::round_trip_time::RULE, &study))
    }

    #[test]
    fn a_window_that_falls_in_each_pause_is_told_from_a_narrow_path() {
        const FALLS: [u64; 4] = [735, 828, 91, 828];
        let found = of_pauses(1, FALLS, 0, "1");
        assert!(found.contains("falls from 735 to 91 segments"), "{found}");
        assert!(found.contains("tcp_slow_start_after_idle=0"), "{found}");
        // Read as it had begun, and before it fell again.
        assert!(of_pauses(2, [367, 1405, 367, 697], 0, "1").contains("from 1405 to 697"));
        // The one that answers sends the larger part.
        let answers = |response: u64| {
            let mut study = trips(165_000);
            let params = &mut study.trials[0].params;
            params.message_bytes = narrows_model::Bytes(1024);
            let trip = params.trip.get_or_insert_default();
            trip.per_second = Some(1);
            trip.response_bytes = Some(narrows_model::Bytes(response));
            for (key, value) in [
                ("flow0.rtt_min_ns", 40_000_000),
                ("flow0.send_mss_bytes", 1448),
                ("flow0.retransmitted_segments", 0),
            ] {
                read(&mut study, "tcp-info", key, value);
            }
            for (key, value) in [
                ("flow0.opening:congestion_window_segments", 96),
                ("flow0.highest:congestion_window_segments", 353),
                ("flow0.lowest:congestion_window_segments", 96),
                ("flow0.congestion_window_segments", 176),
                ("flow0.retransmitted_segments", 0),
            ] {
                read_receiver(&mut study, "tcp-info", key, value);
            }
            format!("{:?}", of_study(&crate::rules::round_trip_time::RULE, &study))
        };
        assert!(answers(1 << 20).contains("from 353 to 176"), "{}", answers(1 << 20));
        assert!(!answers(64).contains("from 353"), "the request is the larger part");
        for other in [
            of_pauses(1, [91, 828, 91, 828], 0, "1"),
            of_pauses(1, [1600, 1600, 800, 1600], 0, "1"),
            of_pauses(1, FALLS, 3, "1"),
            of_pauses(1, FALLS, 0, "0"),
            of_pauses(5, FALLS, 0, "1"),
        ] {
            assert!(other.contains("wait 125.0 ms for their own length"), "{other}");
        }
    }

    #[test]
    fn the_planted_value_is_found_and_others_are_not() {
        let of = |value: &str| of_setting(&RULE, "net.ipv4.tcp_slow_start_after_idle", value);
        let mut host = narrows_model::host::Host::default();
        for (name, value) in
            [("net.ipv4.tcp_slow_start_after_idle", "1"), ("net.core.busy_read", "50")]
        {
            host.tuning.insert(name.into(), known(value.into()));
        }
        assert!(is_found(&of_host(&RULE, host)));
        for value in ["0", "1"] {
            assert!(is_clear(&of(value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
