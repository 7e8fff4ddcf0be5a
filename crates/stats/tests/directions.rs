//! Which end's count is the figure: the end that receives, both ends where both do, and the end
//! that asks where the other's NIC alone takes part.

use narrows_model::load::{EndReport, FlowTally, Params, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use narrows_stats::value_of;

/// An end over a second: (bytes, sends, one-sided) of each flow.
fn end(flows: &[(u64, bool, bool)]) -> Option<Box<EndReport>> {
    let flow = |&(bytes, sends, one_sided): &(u64, bool, bool)| FlowTally {
        bytes: Bytes(bytes),
        sends,
        one_sided,
        ..FlowTally::default()
    };
    Some(Box::new(EndReport {
        window_ns: Nanos(1_000_000_000),
        flows: flows.iter().map(flow).collect(),
        ..EndReport::default()
    }))
}

/// Bytes a second of a run with these ends.
fn rate(kind: &str, receiver: &[(u64, bool, bool)], sender: &[(u64, bool, bool)]) -> f64 {
    let none = Nanos(0);
    let trial = Trial {
        id: TrialId("a".into()),
        label: kind.into(),
        kind: kind.into(),
        params: Params::of_network(Bytes(64), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline: Timeline {
            warmup_ns: none,
            window_ns: none,
            cooldown_ns: none,
            interval_ns: None,
        },
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    };
    let record = Record {
        trial: trial.id.clone(),
        repeat: 0,
        block: 0,
        outcome: Outcome::Done,
        reports: Reported::list(end(receiver), end(sender), None),
        around: Stamp::default(),
        session: 0,
        external: None,
    };
    value_of(&trial, &record).expect("a value").0.value / 8.0
}

#[test]
fn what_was_received_counts_and_what_was_sent_does_not() {
    assert_eq!(rate("tcp-stream", &[(90, false, false)], &[(100, true, false)]), 90.0);
    let receiver = [(90, false, false), (50, true, false)];
    let sender = [(100, true, false), (45, false, false)];
    assert_eq!(rate("tcp-stream", &receiver, &sender), 135.0, "both ways");
}

#[test]
fn where_only_one_end_takes_part_its_count_is_the_figure() {
    let kind = "rdma-write-stream";
    assert_eq!(rate(kind, &[(0, false, true)], &[(100, true, true)]), 100.0);
    let receiver = [(0, false, true), (70, true, true)];
    let sender = [(100, true, true), (0, false, true)];
    assert_eq!(rate(kind, &receiver, &sender), 170.0, "both ways");
    // A send is taken by the other end's program, which counts it.
    assert_eq!(rate("rdma-send-stream", &[(90, false, false)], &[(100, true, false)]), 90.0);
}
