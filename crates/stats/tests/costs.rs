//! What measuring cost, what became of single sends, and what each of many pairs reached, by hand.

mod told;

use narrows_model::load::{EndReport, FlowTally, Role, StreamParams, Unacknowledged, ZeroCopy};
use narrows_model::record::{Record, Reported};
use narrows_model::seating::{Axis, EndNodes, Seating};
use narrows_model::trial::{EndHost, EndSpec, Placement, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_model::{Bytes, Nanos};
use narrows_stats::{HostLoad, Move, Pairs, PlacedCell, PlacedTest, Slowest, pairs, summarise};

const SECOND: u64 = 1_000_000_000;

fn reported(role: Role, bytes: u64) -> Reported {
    let flow = FlowTally {
        bytes: Bytes(bytes),
        messages: 1,
        sends: role == Role::Sender,
        ..FlowTally::default()
    };
    let report = EndReport { window_ns: Nanos(SECOND), flows: vec![flow], ..EndReport::default() };
    Reported { role, report: Box::new(report), span: None }
}

#[test]
fn the_cost_of_measuring_is_the_most_of_any_run_and_counts_of_sends_add_up() {
    let trial = told::trial("tcp-stream", "t");
    let run = |block: u32, keeper_ms: [u64; 2], controller_ms: u64| {
        let mut ends = vec![reported(Role::Receiver, 8), reported(Role::Sender, 8)];
        for (end, ms) in ends.iter_mut().zip(keeper_ms) {
            end.report.keeper_ns = Some(Nanos(ms * 1_000_000));
            let (sent, received) = (10 * ms, 9 * ms);
            end.report.unacknowledged = Some(Unacknowledged { sent, received });
            end.report.zero_copy = Some(ZeroCopy { completed: 4 * ms, copied: ms });
            end.report.verified_bytes = Some(Bytes(100 * ms));
        }
        let mut record = told::record(&trial, block, ends);
        record.around.controller_ns = Some(Nanos(controller_ms * 1_000_000));
        record.around.took_ns = Nanos(2 * SECOND);
        record
    };
    let records = vec![run(0, [10, 20], 100), run(1, [40, 30], 50)];
    let of = summarise(&told::study(vec![trial], records)).remove(0);
    assert_eq!((of.overhead.keeper_cpus, of.overhead.controller_cpus), (Some(0.04), Some(0.05)));
    assert_eq!(of.unacknowledged, Some(Unacknowledged { sent: 1000, received: 900 }));
    assert_eq!(of.zero_copy, Some(ZeroCopy { completed: 400, copied: 100 }));
    assert_eq!(of.verified_bytes, Some(Bytes(10_000)));
}

/// The pairs of a trial in which this host sends to two peers, with one run of these ends.
fn two_pairs(kind: &str, bidirectional: bool, runs: Vec<Vec<Reported>>) -> Pairs {
    let end = |role, host| EndSpec::of(role, host, Placement::default());
    let ends = vec![
        end(Role::Receiver, EndHost::Peer(0)),
        end(Role::Sender, EndHost::Controller),
        end(Role::Receiver, EndHost::Peer(1)),
        end(Role::Sender, EndHost::Controller),
    ];
    let mut trial = Trial { ends, ..told::trial(kind, "t") };
    trial.params.stream = Some(StreamParams { bidirectional, ..StreamParams::default() });
    let records: Vec<Record> =
        (0..).zip(runs).map(|(block, ends)| told::record(&trial, block, ends)).collect();
    let one_pair = told::trial(kind, "one pair");
    let mut all = pairs(&told::study(vec![one_pair, trial], records));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn values(of: &Pairs) -> Vec<Option<(f64, Unit)>> {
    of.each.iter().map(|pair| pair.estimate.map(|of| (of.value, of.unit))).collect()
}

#[test]
fn the_pair_that_gets_less_is_the_slowest_and_the_share_of_each_is_its_fairness() {
    let run = |first, second| {
        vec![
            reported(Role::Receiver, first),
            reported(Role::Receiver, second),
            reported(Role::Sender, 9),
            reported(Role::Sender, 9),
        ]
    };
    let of = two_pairs("tcp-stream", false, vec![run(300, 100), run(300, 100), run(100, 300)]);
    let bits = |value| Some((value, Unit::BitsPerSecond));
    assert_eq!(values(&of), [bits(2400.0), bits(800.0)]);
    // (3 + 1)^2 / (2 (9 + 1)).
    assert_eq!(of.fairness, Some(0.8));
    assert_eq!(of.slowest, Some(Slowest { pair: 1, runs: 2, of: 3 }));
    let hosts: Vec<_> = of.each.iter().map(|pair| (pair.from, pair.to)).collect();
    let here = EndHost::Controller;
    assert_eq!(hosts, [(here, EndHost::Peer(0)), (here, EndHost::Peer(1))]);
    assert!(of.each.iter().all(|pair| pair.back.is_none()), "nothing was to go back");
    let even = two_pairs("tcp-stream", false, vec![run(100, 100)]);
    assert_eq!((even.fairness, even.slowest), (Some(1.0), None));
}

#[test]
fn what_goes_back_is_what_the_senders_receive() {
    let mut ends = vec![reported(Role::Receiver, 300), reported(Role::Receiver, 100)];
    for bytes in [50, 70] {
        let mut end = reported(Role::Sender, 9);
        end.report.flows.extend(reported(Role::Receiver, bytes).report.flows);
        ends.push(end);
    }
    let of = two_pairs("tcp-stream", true, vec![ends]);
    let back: Vec<_> = of.each.iter().map(|pair| pair.back.map(|of| of.value)).collect();
    assert_eq!(back, [Some(400.0), Some(560.0)]);
}

#[test]
fn the_slowest_of_round_trips_is_the_longest_and_connections_are_counted_by_who_asks() {
    let asks = |us: u64, messages: u64| {
        let mut end = reported(Role::Sender, 1);
        end.report.round_trips = vec![(Nanos(us * 1000), 100)];
        end.report.flows[0].messages = messages;
        end.report.window_ns = Nanos(2 * SECOND);
        end
    };
    let run = || {
        let answers = || reported(Role::Receiver, 1);
        vec![answers(), answers(), asks(20, 500), asks(10, 300)]
    };
    let trips = two_pairs("tcp-rr", false, vec![run()]);
    let ns = |value| Some((value, Unit::Nanos));
    assert_eq!(values(&trips), [ns(20_000.0), ns(10_000.0)]);
    assert_eq!(trips.fairness, None, "times have none");
    assert_eq!(trips.slowest, Some(Slowest { pair: 0, runs: 1, of: 1 }));
    let made = two_pairs("tcp-connect", false, vec![run()]);
    let per_second = |value| Some((value, Unit::PerSecond));
    assert_eq!(values(&made), [per_second(250.0), per_second(150.0)]);
    assert_eq!(made.slowest, Some(Slowest { pair: 1, runs: 1, of: 1 }));
}

/// A test with a first placement and others beside it.
fn placed(seatings: &[Seating]) -> PlacedTest {
    let load = HostLoad::default();
    let cell = |(trial, seating): (usize, &Seating)| PlacedCell {
        trial,
        seating: seating.clone(),
        against_first: None,
        sender: load,
        receiver: load,
    };
    let cells = seatings.iter().enumerate().map(cell).collect();
    PlacedTest { name: "t".to_owned(), metric: Metric::Goodput, cells, effects: Vec::new() }
}

#[test]
fn an_end_is_moved_as_a_whole_with_its_memory_where_that_is_placed() {
    let nodes = |process, memory| EndNodes { process: Some(process), memory, interrupts: None };
    let seat = |here, there| Seating { nic: None, here, there, floating: false };
    let wholes = |of: &PlacedTest| {
        of.wholes().into_iter().map(|(of, cell)| (of, cell.trial)).collect::<Vec<_>>()
    };
    let (near, away) = (nodes(0, Some(0)), nodes(1, Some(1)));
    let all = placed(&[
        seat(near, near),
        seat(away, near),
        seat(nodes(1, Some(0)), near),
        seat(near, away),
        seat(nodes(0, Some(1)), near),
        seat(away, away),
        Seating { floating: true, ..seat(near, near) },
    ]);
    let wanted = [(None, 0), (Some(Move::Here), 1), (Some(Move::There), 3), (Some(Move::Both), 5)];
    assert_eq!(wholes(&all), wanted);
    // All near another NIC is no move of an end, and only the first such placement is all near it.
    let second = |here| Seating { nic: Some("eth1".to_owned()), ..seat(here, near) };
    let nics = placed(&[seat(near, near), seat(away, near), second(away), second(near)]);
    assert_eq!(wholes(&nics), [(None, 0), (Some(Move::Here), 1), (None, 2)]);
    // Where memory is left to the kernel it follows the threads.
    let (near, away) = (nodes(0, None), nodes(1, None));
    let threads = placed(&[seat(near, near), seat(away, near), seat(near, away)]);
    let here = Some(Move::One(Axis::ProcessHere));
    let there = Some(Move::One(Axis::ProcessThere));
    assert_eq!(wholes(&threads), [(None, 0), (here, 1), (there, 2)]);
    assert!(placed(&[]).wholes().is_empty());
}
