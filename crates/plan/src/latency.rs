//! What `narrows latency` runs at once: round trips, and beside them streams up and streams down.
//! Each direction is loaded over one stretch of time, and the two stretches overlap, so that there
//! are five phases:
//!
//! ```text
//! up            ############
//! down                ############
//!         idle    up  both  down   after
//! ```
//!
//! Between two phases a moment is left out, in which streams find their rate and queues drain.

use crate::trial;
use narrows_model::load::{Params, StreamParams, Timeline, TripParams};
use narrows_model::options::{runs, trips};
use narrows_model::trial::{EndSpec, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use thiserror::Error;

/// Left out between two phases: slow start of streams that begin, and the queue of those that end.
pub const SETTLE: Nanos = Nanos::from_millis(1000);
/// Before the first round trip that counts.
const WARMUP: Nanos = Nanos::from_millis(500);
/// After a stream's window, in which the other end's window ends too.
const STREAM_COOLDOWN: Nanos = Nanos::from_millis(200);
/// After the last request, so that its answer can come from the end of a long queue.
const TRIPS_COOLDOWN: Nanos = Nanos::from_millis(2000);
/// Bytes of a request and of its answer.
const REQUEST: Bytes = Bytes(64);
/// Phases, one after the other.
const PHASES: u64 = 5;
/// Requests of a run that are kept one by one; an end takes no more than a few beyond that.
const REQUESTS_MAX: f64 = 50_000.0;
/// The last load begins after three phases at most, and an end waits no longer than this.
const AFTER_SECONDS_MAX: f64 = 120.0;

/// What the user asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What round trips are over: `udp-rr` or `tcp-rr`.
    pub trips: Workload,
    /// Streams in each direction.
    pub streams: u32,
    /// Length of each phase.
    pub phase: Nanos,
    /// Time from one request to the next.
    pub every: Nanos,
    /// Congestion control of the streams; `None` is the default.
    pub congestion: Option<String>,
}

/// Why there is nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum NoLatency {
    /// More requests than are kept.
    #[error("{requests:.0} requests in a run, at most {REQUESTS_MAX}")]
    ManyRequests {
        /// How many there would be.
        requests: f64,
    },
    /// Phases that are too long.
    #[error(
        "phases of {seconds} s: the last load would begin after {after:.0} s, at most {AFTER_SECONDS_MAX}"
    )]
    LongPhases {
        seconds: f64,
        /// When the last load would begin.
        after: f64,
    },
}

/// The three trials of one run: round trips, streams up, streams down. `ends` makes the two ends of
/// a trial; in reverse the far one sends.
pub fn trials(
    wanted: &Wanted,
    path: NetworkPath,
    ends: impl Fn(bool) -> Vec<EndSpec>,
) -> Result<[Trial; 3], NoLatency> {
    let (phase, settle) = (wanted.phase.0, SETTLE.0);
    // From the signal to go, by which all ends begin at once.
    let up = WARMUP.0 + phase;
    let down = up + phase + settle;
    let after = down as f64 / 1e9;
    if after > AFTER_SECONDS_MAX {
        return Err(NoLatency::LongPhases { seconds: wanted.phase.seconds(), after });
    }
    let window = Nanos(PHASES * phase + (PHASES - 1) * settle);
    let requests = window.0 as f64 / wanted.every.0.max(1) as f64;
    if requests > REQUESTS_MAX {
        return Err(NoLatency::ManyRequests { requests });
    }
    let mut params = Params::of_network(REQUEST, 1);
    let per_second = (1e9 / wanted.every.0.max(1) as f64).round().max(1.0) as u64;
    params.trip = Some(TripParams { response_bytes: None, per_second: Some(per_second) });
    params.told.tell(&trips::OVERLAP, true);
    let line = Timeline::new(WARMUP, window, TRIPS_COOLDOWN);
    let probe = trial("round trips", wanted.trips.clone(), params, ends(false), path, line);
    let stream = |label: &str, reverse: bool, after: u64| {
        let params = stream(wanted, reverse, after);
        let line = Timeline::new(SETTLE, Nanos(2 * phase + settle), STREAM_COOLDOWN);
        trial(label, Workload::TCP_STREAM, params, ends(reverse), path, line)
    };
    Ok([probe, stream("streams up", false, up), stream("streams down", true, down)])
}

/// What the streams of a direction are told.
fn stream(wanted: &Wanted, reverse: bool, after_ns: u64) -> Params {
    let message = Workload::TCP_STREAM.message_bytes(None);
    let mut params = Params::of_network(message, wanted.streams);
    params.congestion.clone_from(&wanted.congestion);
    let told = StreamParams { reverse, ..StreamParams::default() };
    params.stream = Some(told).filter(|_| reverse);
    params.told.tell(&runs::AFTER, after_ns as f64 / 1e9);
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::trial::EndHost;

    fn wanted() -> Wanted {
        let (phase, every) = (Nanos::from_millis(5000), Nanos::from_millis(5));
        Wanted { trips: Workload::UDP_RR, streams: 4, phase, every, congestion: None }
    }

    fn made(wanted: &Wanted) -> Result<[Trial; 3], NoLatency> {
        trials(wanted, NetworkPath::Peer, EndSpec::anywhere)
    }

    #[test]
    fn loads_begin_and_end_within_the_round_trips() {
        let [probe, up, down] = made(&wanted()).expect("trials");
        assert_eq!(probe.timeline.window_ns, Nanos::from_millis(29_000));
        assert_eq!(probe.params.trip.as_ref().and_then(|trip| trip.per_second), Some(200));
        let after = |trial: &Trial| runs::AFTER.of(&trial.params);
        assert_eq!([after(&probe), after(&up), after(&down)], [None, Some(5.5), Some(11.5)]);
        assert_eq!((up.params.is_reverse(), down.params.is_reverse()), (false, true));
        // Both have 5 s alone, 5 s together and the moment between.
        assert_eq!(up.timeline, down.timeline);
        assert_eq!(up.timeline.window_ns, Nanos::from_millis(11_000));
        // The last ends with a moment and a phase left: 11.5 + 1 + 11 s, of 29.5.
        let ends = 11.5 + down.timeline.warmup_ns.seconds() + down.timeline.window_ns.seconds();
        assert!((ends - 23.5).abs() < 1e-9, "{ends}");
    }

    #[test]
    fn streams_up_leave_this_host_and_streams_down_come_to_it() {
        let wanted = Wanted { congestion: Some("bbr".into()), ..wanted() };
        let [probe, up, down] = made(&wanted).expect("trials");
        let sender = |trial: &Trial| trial.pairs().next().map(|pair| pair.sender.host);
        assert_eq!(sender(&probe), Some(EndHost::Controller));
        assert_eq!(sender(&up), Some(EndHost::Controller));
        assert_eq!(sender(&down), Some(EndHost::Peer(0)));
        assert_eq!([&probe, &up, &down].map(|trial| trial.params.streams), [1, 4, 4]);
        assert_eq!(
            [&probe, &up, &down].map(|trial| trial.params.message_bytes.0),
            [64, 65_536, 65_536]
        );
        let control = |trial: &Trial| trial.params.congestion.clone();
        assert_eq!([control(&probe), control(&up)], [None, Some("bbr".to_owned())]);
        // An answer may stand in a queue for longer than a stream's end lasts.
        assert_eq!(probe.timeline.cooldown_ns, Nanos::from_millis(2000));
        assert_eq!(up.timeline.cooldown_ns, Nanos::from_millis(200));
    }

    #[test]
    fn the_last_load_may_begin_after_two_minutes_and_not_later() {
        // 0.5 s, two phases and a moment of 1 s.
        let with = |millis| Wanted {
            phase: Nanos::from_millis(millis),
            every: Nanos::from_millis(20),
            ..wanted()
        };
        assert!(made(&with(59_250)).is_ok());
        assert!(made(&with(59_251)).is_err());
        // 5 phases of 49.2 s and 4 s are 250 s: 50,000 requests each 5 ms.
        let phase = Nanos::from_millis(49_200);
        assert!(made(&Wanted { phase, ..wanted() }).is_ok());
        let phase = Nanos::from_millis(49_201);
        assert!(made(&Wanted { phase, ..wanted() }).is_err());
    }

    #[test]
    fn what_would_not_fit_an_end_is_refused() {
        let long = Wanted { phase: Nanos::from_millis(60_000), ..wanted() };
        assert!(made(&long).is_err_and(|why| matches!(why, NoLatency::LongPhases { .. })));
        let many =
            Wanted { every: Nanos::from_millis(1), phase: Nanos::from_millis(10_000), ..wanted() };
        assert!(made(&many).is_err_and(|why| why.to_string().contains("54000 requests")));
    }

    #[test]
    fn a_run_has_at_most_fifty_thousand_requests() {
        // 29 s of requests every 580 us are 50,000.
        let of = |us: u64| made(&Wanted { every: Nanos(1000 * us), ..wanted() });
        assert!(of(580).is_ok());
        let Err(NoLatency::ManyRequests { requests }) = of(579) else { panic!("refused") };
        assert!((requests - 29e6 / 579.0).abs() < 1e-6, "{requests}");
    }
}
