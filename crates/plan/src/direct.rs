//! One direct measurement against a peer: `narrows tcp HOST`, `narrows udp HOST`.

use crate::diagnose::turned_round;
use crate::trial;
use narrows_model::load::{Params, SocketParams, StreamParams, Timeline, TripParams};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use std::time::Duration;

/// Window of a direct measurement where none is told.
pub const WINDOW: Nanos = Nanos::from_millis(1500);

/// Round trips that a window of round trips has room for: a median takes twenty.
const TRIPS: u32 = 24;
/// Longest window that nobody asked for: one of a path with round trips of half a second.
const WINDOW_MAX: Nanos = Nanos::from_millis(12_000);

/// Longest window of requests that are due so many a second, where nobody asked for another.
const DUE_MAX: Nanos = Nanos::from_millis(30_000);

/// The window where none is told, over a path whose round trip takes about so long.
pub fn window(kind: &Workload, params: &Params, round_trip: Duration) -> Nanos {
    if !kind.is_round_trip() {
        return WINDOW;
    }
    let of = |each: Duration| Nanos(u64::try_from((each * TRIPS).as_nanos()).unwrap_or(u64::MAX));
    let due = params.trip.as_ref().and_then(|trip| u32::try_from(trip.per_second?).ok());
    let due = due.and_then(|requests| Duration::from_secs(1).checked_div(requests));
    let due = due.map_or(Nanos(0), |every| of(every).min(DUE_MAX));
    WINDOW.max(of(round_trip).min(WINDOW_MAX)).max(due)
}

/// Most bytes of a packet that datagrams of the usual size take: on paths of larger packets they
/// stay comparable with those of others.
const PACKET_BYTES: u64 = 1500;
/// Headers of a datagram, without options.
const UDP_OVER_IPV4: u64 = 28;
const UDP_OVER_IPV6: u64 = 48;

/// The payload of a datagram whose size nobody told: as much of the usual one as fits a packet of
/// the path. In fragments every loss costs a whole datagram, and what waits for the rest fills the
/// receiver's memory for fragments.
pub fn datagram_bytes(usual: Bytes, path_mtu: Option<Bytes>, is_ipv6: bool) -> Bytes {
    let packet = path_mtu.map_or(PACKET_BYTES, |mtu| mtu.0.min(PACKET_BYTES));
    let headers = if is_ipv6 { UDP_OVER_IPV6 } else { UDP_OVER_IPV4 };
    usual.min(Bytes(packet.saturating_sub(headers).max(headers)))
}

/// The trial of one direct measurement. The warm-up covers slow start on long paths; the cool-down
/// covers the delay of the control channel between the two ends' windows.
pub fn trial_of(
    kind: Workload,
    params: Params,
    ends: Vec<EndSpec>,
    path: NetworkPath,
    window: Nanos,
) -> Trial {
    let timeline = Timeline {
        warmup_ns: Nanos::from_millis(500),
        window_ns: window,
        cooldown_ns: Nanos::from_millis(300),
        interval_ns: None,
    };
    trial(kind.clone().as_str(), kind, params, ends, path, timeline)
}

/// The same against an iperf3 server. As its own client does, the sender stops when the window
/// ends; a receiver goes on for a moment. TCP warms up a second, which the server leaves out; UDP
/// needs no warm-up, and some servers count what came in one.
pub fn trial_of_iperf3(
    kind: Workload,
    params: Params,
    ends: Vec<EndSpec>,
    path: NetworkPath,
    window: Nanos,
) -> Trial {
    let cooldown_ns = Nanos::from_millis(if params.is_reverse() { 600 } else { 0 });
    let warm = kind.is_tcp() || params.is_reverse();
    let warmup_ns = Nanos::from_millis(if warm { 1000 } else { 0 });
    let timeline = Timeline { warmup_ns, window_ns: window, cooldown_ns, interval_ns: None };
    trial(kind.clone().as_str(), kind, params, ends, path, timeline)
}

/// The same trial, with bytes told for slices of another length.
pub fn sliced(of: Trial, interval_ns: Option<Nanos>) -> Trial {
    let timeline = Timeline { interval_ns, ..of.timeline };
    trial(&of.label, of.kind, of.params, of.ends, of.path, timeline)
}

/// The same trial, with another warm-up.
pub fn warmed(of: Trial, warmup_ns: Nanos) -> Trial {
    let timeline = Timeline { warmup_ns, ..of.timeline };
    trial(&of.label, of.kind, of.params, of.ends, of.path, timeline)
}

/// The same trial, with another cool-down.
pub fn cooled(of: Trial, cooldown_ns: Nanos) -> Trial {
    let timeline = Timeline { cooldown_ns, ..of.timeline };
    trial(&of.label, of.kind, of.params, of.ends, of.path, timeline)
}

/// The same trial by another label, which its id is of too.
pub fn labelled(of: Trial, label: &str) -> Trial {
    trial(label, of.kind, of.params, of.ends, of.path, of.timeline)
}

/// The same trial, of one peer among several.
pub fn with(of: Trial, peer: &str) -> Trial {
    let label = format!("{} {peer}", of.label);
    trial(&label, of.kind, of.params, of.ends, of.path, of.timeline)
}

/// The same trial with messages of another size.
pub fn sized(of: &Trial, message_bytes: Bytes) -> Trial {
    let label = format!("{} {message_bytes}", of.label);
    let params = Params { message_bytes, ..of.params.clone() };
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// The same trial at another pace, in bits a second.
pub fn paced(of: &Trial, rate_bps: u64) -> Trial {
    let label = format!("{} at {:.0} Mb/s", of.label, rate_bps as f64 / 1e6);
    let params = Params { rate_bps: Some(rate_bps), ..of.params.clone() };
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// The same trial with a congestion control that is asked for.
pub fn controlled(of: &Trial, congestion: &str) -> Trial {
    let label = format!("{} {congestion}", of.label);
    let params = Params { congestion: Some(congestion.to_owned()), ..of.params.clone() };
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// The same trial with another number of flows.
pub fn with_flows(of: &Trial, streams: u32) -> Trial {
    let flows = if streams == 1 { "1 flow".to_owned() } else { format!("{streams} flows") };
    let label = format!("{} {flows}", of.label);
    let params = Params { streams, ..of.params.clone() };
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// The same stream, handed to the kernel by another sort of call.
pub fn sent_by(of: &Trial, sender: &str) -> Trial {
    let label = format!("{} by {sender}", of.label);
    let stream = of.params.stream.clone().unwrap_or_default();
    let stream = Some(StreamParams { sender: Some(sender.to_owned()), ..stream });
    let params = Params { stream, ..of.params.clone() };
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// Payload of a datagram that passes any path without fragments: IPv6 carries 1280 B everywhere.
const PLAIN_DATAGRAM: Bytes = Bytes(1200);

/// A stream over TCP, or over UDP, at a pace between the same ends: the other protocol of this one.
pub fn over(of: &Trial, kind: Workload, rate_bps: u64) -> Trial {
    let label = format!("{kind} at {:.0} Mb/s", rate_bps as f64 / 1e6);
    let was = &of.params;
    // TCP that is handed as much at a time as a datagram has is as even.
    let size = if kind.is_udp() { PLAIN_DATAGRAM } else { was.message_bytes };
    let stream = was.is_reverse().then(|| StreamParams { reverse: true, ..Default::default() });
    let params = Params {
        rate_bps: Some(rate_bps),
        socket: was.socket.clone(),
        stream,
        ..Params::of_network(size, was.streams)
    };
    trial(&label, kind, params, of.ends.clone(), of.path, of.timeline)
}

/// Round trips at set times, each as soon as the one before is back.
pub fn one_after_the_other(of: &Trial) -> Trial {
    let label = format!("{} one after the other", of.label);
    let trip = of.params.trip.clone().map(|trip| TripParams { per_second: None, ..trip });
    let params = Params { trip, ..of.params.clone() }.tidied();
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// The same trial in another class (DSCP).
pub fn in_class(of: &Trial, dscp: u8) -> Trial {
    let label = format!("{} DSCP {dscp}", of.label);
    let socket = of.params.socket.clone().unwrap_or_default();
    let socket = Some(SocketParams { dscp: Some(dscp), ..socket });
    let params = Params { socket, ..of.params.clone() };
    trial(&label, of.kind.clone(), params, of.ends.clone(), of.path, of.timeline)
}

/// The same stream the other way, and round trips between the same ends, over a path whose round
/// trip takes about so long.
pub fn both_ways(of: &Trial, round_trip: Duration) -> [Trial; 2] {
    let back = turned_round(of, &of.params.stream.clone().unwrap_or_default());
    let kind = Workload::TCP_RR;
    let params = Params::of_network(kind.message_bytes(None), 1);
    let label = kind.as_str().to_owned();
    let window_ns = of.timeline.window_ns.max(window(&kind, &params, round_trip));
    let timeline = Timeline { window_ns, ..of.timeline };
    let trips = trial(&label, kind, params, of.ends.clone(), of.path, timeline);
    [back, trips]
}

/// The longest that a probe of the path may take; on a short path it is over in about one second.
const PROBE_WINDOW: Nanos = Nanos::from_millis(9000);

/// A probe of the path that a trial's flows take, before it carries any load. With the trial's pace
/// it sends no trains.
pub fn probe(of: &Trial) -> Trial {
    let kind = Workload::PathProbe;
    // In the class of the traffic that it is asked about.
    let dscp = of.params.socket.as_ref().and_then(|socket| socket.dscp);
    let params = Params {
        rate_bps: of.params.rate_bps,
        socket: dscp.map(|dscp| SocketParams { dscp: Some(dscp), ..SocketParams::default() }),
        ..Params::of_network(kind.message_bytes(None), 1)
    };
    let near = of.controllers();
    let (bind, container) =
        (near.and_then(|end| end.bind.clone()), near.and_then(|end| end.container.clone()));
    let ends = EndSpec::anywhere(false).into_iter().map(|end| match end.host {
        EndHost::Controller => EndSpec { bind: bind.clone(), container: container.clone(), ..end },
        EndHost::Peer(_) => end,
    });
    let timeline = Timeline {
        warmup_ns: Nanos(0),
        window_ns: PROBE_WINDOW,
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    trial(kind.as_str(), kind.clone(), params, ends.collect(), of.path, timeline)
}

/// The same trial with a receiver that lets the kernel drop what arrives.
pub fn uncopied(of: &Trial) -> Trial {
    let stream = of.params.stream.clone().unwrap_or_default();
    let receiver = Some(StreamParams::TRUNCATE.to_owned());
    let stream = Some(StreamParams { receiver, ..stream });
    let params = Params { stream, ..of.params.clone() };
    trial(
        &format!("{} uncopied", of.label),
        of.kind.clone(),
        params,
        of.ends.clone(),
        of.path,
        of.timeline,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::TripParams;

    #[test]
    fn a_window_of_round_trips_has_room_for_those_that_a_median_takes() {
        let ms = Duration::from_millis;
        let params = Params::of_network(Bytes(65_536), 1);
        let of = |kind: Workload, trip: u64| window(&kind, &params, ms(trip));
        assert_eq!(of(Workload::TCP_RR, 160), Nanos::from_millis(3840));
        assert_eq!(of(Workload::UDP_RR, 20), WINDOW, "75 fit anyway");
        assert_eq!(of(Workload::TCP_STREAM, 160), WINDOW);
        assert_eq!(of(Workload::TCP_RR, 4000), WINDOW_MAX);
        let due = |requests: u64, trip: u64| {
            let trips = TripParams { response_bytes: None, per_second: Some(requests) };
            let params = Params { trip: Some(trips), ..params.clone() };
            window(&Workload::TCP_RR, &params, ms(trip))
        };
        assert_eq!(due(1, 40), Nanos::from_millis(24_000), "a request a second");
        assert_eq!(due(5, 40), Nanos::from_millis(4_800));
        assert_eq!(due(1000, 160), Nanos::from_millis(3840), "the path's trips are longer");
        assert_eq!(due(0, 20), WINDOW);
        let ends = EndSpec::anywhere(false);
        let of = trial_of(Workload::TCP_STREAM, params, ends, NetworkPath::Peer, WINDOW);
        let windows = both_ways(&of, ms(160)).map(|trial| trial.timeline.window_ns);
        assert_eq!(windows, [WINDOW, Nanos::from_millis(3840)]);
    }

    #[test]
    fn datagrams_fit_a_packet_of_the_path() {
        let of = |mtu: Option<u64>, is_ipv6| datagram_bytes(Bytes(1472), mtu.map(Bytes), is_ipv6).0;
        assert_eq!((of(None, false), of(None, true)), (1472, 1452));
        assert_eq!((of(Some(1500), false), of(Some(1500), true)), (1472, 1452));
        assert_eq!((of(Some(9000), false), of(Some(65_536), true)), (1472, 1452));
        assert_eq!((of(Some(1400), false), of(Some(1280), true)), (1372, 1232));
        assert_eq!(of(Some(20), true), 48, "no path is so narrow");
    }

    #[test]
    fn a_trial_that_is_made_of_another_differs_in_one_thing() {
        let ms = Nanos::from_millis;
        let params = Params::of_network(Bytes(65_536), 4);
        let ends = EndSpec::anywhere(false);
        let of = trial_of(Workload::TCP_STREAM, params, ends, NetworkPath::Peer, WINDOW);
        let slow = paced(&of, 250_000_000);
        assert_eq!(slow.label, format!("{} at 250 Mb/s", of.label));
        assert_eq!(slow.params, Params { rate_bps: Some(250_000_000), ..of.params.clone() });
        let bbr = controlled(&of, "bbr");
        assert_eq!(bbr.label, format!("{} bbr", of.label));
        assert_eq!(bbr.params, Params { congestion: Some("bbr".into()), ..of.params.clone() });
        let large = sized(&of, Bytes(1 << 20));
        assert_eq!(large.params, Params { message_bytes: Bytes(1 << 20), ..of.params.clone() });
        let times = cooled(warmed(sliced(of.clone(), Some(ms(100))), ms(700)), ms(300)).timeline;
        let wanted = Timeline {
            warmup_ns: ms(700),
            window_ns: WINDOW,
            cooldown_ns: ms(300),
            interval_ns: Some(ms(100)),
        };
        assert_eq!(times, wanted);
        let ids = [&of, &slow, &bbr, &large].map(|trial| trial.id.clone());
        let all: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(all.len(), 4, "what differs has an identity of its own");
    }

    #[test]
    fn a_probe_goes_where_its_trial_goes_in_the_same_class() {
        let dscp = Some(46);
        let params = Params {
            rate_bps: Some(1_000_000),
            socket: Some(SocketParams { dscp, mss_bytes: Some(1000), ..SocketParams::default() }),
            congestion: Some("bbr".into()),
            ..Params::of_network(Bytes(65_536), 4)
        };
        let mut ends = EndSpec::anywhere(false);
        for end in ends.iter_mut().filter(|end| end.host == EndHost::Controller) {
            end.container = Some("box".into());
        }
        let of = trial_of(Workload::TCP_STREAM, params, ends, NetworkPath::Peer, WINDOW);
        let probe = probe(&of);
        assert_eq!(probe.kind, Workload::PathProbe);
        assert_eq!((probe.params.rate_bps, probe.params.flows()), (Some(1_000_000), 1));
        assert_eq!(probe.params.socket, Some(SocketParams { dscp, ..SocketParams::default() }));
        assert_eq!(probe.params.congestion, None);
        for end in &probe.ends {
            let container = (end.host == EndHost::Controller).then_some("box");
            assert_eq!(end.container.as_deref(), container, "{:?}", end.host);
        }
        // Nothing is sent beside it, and it ends by itself within nine seconds.
        let wanted = Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(9_000_000_000),
            cooldown_ns: Nanos(0),
            interval_ns: None,
        };
        assert_eq!(probe.timeline, wanted);
    }
}
