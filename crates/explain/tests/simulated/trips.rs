//! What is planted into round trips and connections beside the streams.

use super::Noise;
use super::causes::{Cause, beside, read};
use narrows_model::load::{EndReport, Params, Role, StreamParams, TripParams};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use narrows_model::trial::TrialId;
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};

/// Causes of round trips, and of datagrams.
pub const CAUSES: &[Cause] = &[
    Cause { name: "FINs that are dropped", rules: &["connections-not-closed"], plant: fins },
    Cause {
        name: "a program that stands still for 50 ms in 200",
        rules: &["round-trips-stall"],
        plant: stands_still,
    },
    Cause {
        name: "a long list of rules on the way out",
        rules: &["packet-cost"],
        plant: long_list,
    },
    Cause {
        name: "more requests due than a flow serves",
        rules: &["round-trip-time"],
        plant: overdue,
    },
    Cause { name: "answers that are lost", rules: &["round-trip-time"], plant: answers_lost },
    Cause {
        name: "a route with an MTU of 600 B",
        rules: &["segment-size"],
        plant: small_datagrams,
    },
    Cause {
        name: "datagrams by the dozen into a queue of ten packets",
        rules: &["bursts-lost", "datagrams-dropped"],
        plant: bursts,
    },
    Cause {
        name: "a filter that drops a third of all datagrams",
        rules: &["path-protocol", "datagrams-dropped"],
        plant: datagrams_dropped,
    },
    Cause { name: "a path that sleeps", rules: &["path-sleeps", "round-trip-time"], plant: sleeps },
    Cause { name: "a program that accepts late", rules: &["answers-late"], plant: late },
];

/// Datagrams at a pace that calls hand over by the dozen, and the same one by one.
fn bursts(study: &mut StoredStudy, noise: &mut Noise) {
    for (name, sender, times) in [("by the dozen", Some("gso"), 0.2), ("one by one", None, 1.0)] {
        let first = study.records.len();
        let change = |params: &mut Params| {
            params.rate_bps = Some(40_000_000_000);
            params.stream = sender.map(|name| StreamParams {
                sender: Some(name.to_owned()),
                ..StreamParams::default()
            });
        };
        beside(study, noise, "udp-stream", change, times);
        let id = TrialId(name.to_owned());
        let trial = study.trials.last_mut().expect("one");
        (trial.id, trial.label) = (id.clone(), id.0.clone());
        for run in study.records.iter_mut().skip(first) {
            run.trial = id.clone();
            for flow in run.of_mut(Role::Receiver).flat_map(|end| &mut end.flows) {
                flow.messages = (times * flow.messages as f64) as u64;
                flow.lost = ((1.0 - times) / times * flow.messages as f64) as u64;
            }
        }
    }
}

/// Datagrams at a pace of which a third is lost, and TCP at the same pace.
fn datagrams_dropped(study: &mut StoredStudy, noise: &mut Noise) {
    let change = |params: &mut Params| {
        params.rate_bps = Some(100_000_000);
        params.message_bytes = Bytes(1448);
    };
    for (kind, came) in [("udp-stream", 0.67), ("tcp-stream", 1.0)] {
        let first = study.records.len();
        beside(study, noise, kind, change, 1.0);
        let id = TrialId(format!("{kind} of both"));
        let trial = study.trials.last_mut().expect("one");
        (trial.id, trial.label) = (id.clone(), id.0.clone());
        for run in study.records.iter_mut().skip(first) {
            run.trial = id.clone();
            for end in run.of_mut(Role::Receiver) {
                let seconds = end.window_ns.0 as f64 / 1e9;
                let bytes = came * 12_500_000.0 * seconds;
                for flow in &mut end.flows {
                    (flow.bytes.0, flow.messages) = (bytes as u64, (bytes / 1448.0) as u64);
                    let lost = (1.0 - came) / came * flow.messages as f64;
                    flow.lost = if kind == "udp-stream" { noise.about(lost) } else { 0 };
                }
            }
            for end in run.of_mut(Role::Sender) {
                read(end, "tcp-info", "flow0.sent_segments", 8_600);
                read(end, "tcp-info", "flow0.retransmitted_segments", 0);
            }
        }
    }
}

/// Round trips twenty times a second, and one after the other.
fn sleeps(study: &mut StoredStudy, noise: &mut Noise) {
    let paused = TripParams { per_second: Some(20), ..TripParams::default() };
    for (trip, middle_ns, count) in [(Some(paused), 42e6, 20), (None, 1.2e6, 800)] {
        trips(study, noise, |end, noise| {
            end.round_trips = vec![(Nanos(noise.about(middle_ns)), count)];
            end.flows[0].messages = count;
            end.threads[0].system_ns = Nanos(noise.about(1e7));
            read(end, "tcp-info", "flow0.rtt_min_ns", noise.about(1.1e6));
        });
        study.trials.last_mut().expect("one").params.trip = trip;
    }
}

/// Connections that stand at once, and whose answers take 100 ms.
fn late(study: &mut StoredStudy, noise: &mut Noise) {
    connections(study, noise, |end, noise| {
        read(end, "netstat", "TcpExt.TCPTimeouts_events", 0);
        end.round_trips = vec![(Nanos(noise.about(1.01e8)), 10)];
        end.handshakes_ns = Some(Nanos(10 * noise.about(1e6)));
    });
}

/// Ten times as many requests due as one flow serves.
fn overdue(study: &mut StoredStudy, noise: &mut Noise) {
    trips(study, noise, |end, noise| {
        end.round_trips = vec![(Nanos(noise.about(4e8)), 15_000)];
        end.flows[0].messages = 15_000;
        read(end, "tcp-info", "flow0.rtt_min_ns", noise.about(4e4));
    });
    let trip = TripParams { response_bytes: None, per_second: Some(150_000) };
    study.trials.last_mut().expect("one").params.trip = Some(trip);
}

/// Six timers in each run, and requests that the other end had.
fn answers_lost(study: &mut StoredStudy, noise: &mut Noise) {
    trips(study, noise, |end, noise| {
        end.round_trips = vec![(Nanos(noise.about(4e6)), 40), (Nanos(noise.about(2.1e8)), 6)];
        read(end, "tcp-info", "flow0.rtt_min_ns", noise.about(3.9e6));
        read(end, "tcp-info", "flow0.retransmitted_segments", 6);
        read(end, "tcp-info", "flow0.timeouts_events", 6);
        read(end, "netstat", TWICE, 0);
    });
    answering(study).for_each(|end| read(end, "netstat", TWICE, 6));
}

const AGAIN: &str = "Tcp.RetransSegs_events";
const TWICE: &str = "TcpExt.TCPDSACKOldSent_events";

/// Datagrams that fill the packets of a small MTU.
fn small_datagrams(study: &mut StoredStudy, noise: &mut Noise) {
    let first = study.records.len();
    beside(study, noise, "udp-stream", |params| params.message_bytes = Bytes(572), 1.0);
    let id = TrialId("small datagrams".into());
    let trial = study.trials.last_mut().expect("one");
    (trial.id, trial.label) = (id.clone(), id.0.clone());
    for run in study.records.iter_mut().skip(first) {
        run.trial = id.clone();
        for end in run.of_mut(Role::Sender) {
            end.effective.path_mtu_bytes = Some(Bytes(600));
        }
    }
}

/// Connections whose FINs are sent again and again.
fn fins(study: &mut StoredStudy, noise: &mut Noise) {
    connections(study, noise, |end, noise| {
        read(end, "netstat", "TcpExt.TCPTimeouts_events", noise.about(9_000.0));
        end.round_trips = vec![(Nanos(noise.about(2e5)), 5_000)];
        end.handshakes_ns = Some(Nanos(5_000 * noise.about(1e5)));
    });
}

/// Adds connections beside the streams, changed at the end that makes them.
fn connections(
    study: &mut StoredStudy,
    noise: &mut Noise,
    change: impl Fn(&mut EndReport, &mut Noise),
) {
    let first = study.records.len();
    beside(study, noise, "tcp-stream", |_| {}, 1.0);
    let connect = study.trials.last_mut().expect("one");
    connect.kind = Workload::Connect;
    connect.id = TrialId(format!("connections {first}"));
    connect.label = connect.id.0.clone();
    let id = connect.id.clone();
    for run in study.records.iter_mut().skip(first) {
        run.trial = id.clone();
        run.of_mut(Role::Receiver).for_each(|end| read(end, "netstat", AGAIN, 0));
        for end in run.of_mut(Role::Sender) {
            read(end, "netstat", "TcpExt.TCPSynRetrans_events", 0);
            read(end, "netstat", AGAIN, 0);
            change(end, noise);
        }
    }
}

/// Five stalls in each run, in which the receiver's kernel acknowledges what came.
fn stands_still(study: &mut StoredStudy, noise: &mut Noise) {
    trips(study, noise, |end, noise| {
        end.round_trips = vec![(Nanos(noise.about(5e4)), 15_000), (Nanos(noise.about(5.2e7)), 5)];
        read(end, "netstat", DELAYED, 0);
    });
    answering(study).for_each(|end| read(end, "netstat", DELAYED, 5));
}

/// The sender's kernel works more than twice as long in the same calls.
fn long_list(study: &mut StoredStudy, noise: &mut Noise) {
    trips(study, noise, |end, noise| {
        end.round_trips = vec![(Nanos(noise.about(8e4)), 12_000)];
        end.flows[0].messages = 12_000;
        end.threads[0].system_ns = Nanos(noise.about(5.5e8));
    });
    for end in answering(study) {
        end.flows[0].messages = 12_000;
        end.threads[0].system_ns = Nanos(noise.about(2.2e8));
    }
}

const DELAYED: &str = "TcpExt.DelayedACKs_events";

/// Adds round trips beside the streams, changed at the end that asks.
fn trips(study: &mut StoredStudy, noise: &mut Noise, change: impl Fn(&mut EndReport, &mut Noise)) {
    let first = study.records.len();
    beside(study, noise, "tcp-stream", |_| {}, 1.0);
    let trips = study.trials.last_mut().expect("one");
    trips.kind = Workload::TCP_RR;
    trips.params.message_bytes = Bytes(64);
    // What is planted into other streams that are beside is not for these.
    trips.id = TrialId(format!("round trips {first}"));
    trips.label = trips.id.0.clone();
    let id = trips.id.clone();
    for run in study.records.iter_mut().skip(first) {
        run.trial = id.clone();
        run.of_mut(Role::Sender).for_each(|end| change(end, noise));
    }
}

/// The receiving ends of these.
fn answering(study: &mut StoredStudy) -> impl Iterator<Item = &mut EndReport> {
    let of_trips = |run: &&mut Record| run.trial.0.starts_with("round trips");
    study.records.iter_mut().filter(of_trips).flat_map(|run| run.of_mut(Role::Receiver).take(1))
}
