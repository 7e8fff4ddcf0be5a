//! Figures of runs whose every count is known: rates of the window that was measured and not of the
//! one that was ordered, bits of a network and bytes of memory, CPU of the busiest thread.

mod told;

use narrows_model::host::Host;
use narrows_model::load::{EndReport, FlowTally, StreamParams, ThreadUsage};
use narrows_model::record::{Fault, Lost, LostBy, Outcome, Record, Reported, Stage, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, MemoryLoad, Placement, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_model::{Bytes, Nanos};
use narrows_stats::{Label, Summary, copy_share, summarise, together};
use told::trial;

const MS: u64 = 1_000_000;

fn flow(bytes: u64, messages: u64) -> FlowTally {
    FlowTally { bytes: Bytes(bytes), messages, ..FlowTally::default() }
}

fn thread(user_ms: u64, system_ms: u64, wall_ms: u64) -> ThreadUsage {
    ThreadUsage {
        user_ns: Nanos(user_ms * MS),
        system_ns: Nanos(system_ms * MS),
        wall_ns: Nanos(wall_ms * MS),
        ..ThreadUsage::default()
    }
}

/// An end whose window was half as long as ordered.
fn end(flows: Vec<FlowTally>, threads: Vec<ThreadUsage>) -> EndReport {
    EndReport { window_ns: Nanos(500 * MS), flows, threads, ..EndReport::default() }
}

fn record(trial: &Trial, repeat: u32, receiver: EndReport, sender: Option<EndReport>) -> Record {
    Record {
        trial: trial.id.clone(),
        repeat,
        block: repeat,
        outcome: Outcome::Done,
        reports: Reported::list(Some(Box::new(receiver)), sender.map(Box::new), None),
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

fn study(trials: Vec<Trial>, records: Vec<Record>) -> StoredStudy {
    let mut study = StoredStudy { trials, records, ..StoredStudy::unmeasured(Host::default()) };
    study.study.repeats = 3;
    study
}

fn one(trial: Trial, records: Vec<Record>) -> Summary {
    let mut all = summarise(&study(vec![trial], records));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn middle(summary: &Summary) -> (f64, Unit) {
    let estimate = summary.estimate.expect("an estimate");
    (estimate.value, estimate.unit)
}

#[test]
fn a_stream_is_told_in_bits_of_its_own_window() {
    let trial = trial("tcp-stream", "tcp-stream");
    let of = |bytes: u64, repeat: u32| {
        // Two flows, of which 3/4 GB and 1/4 GB for each `bytes`; the sender sent more.
        let receiver = end(
            vec![flow(bytes * 3, 30), flow(bytes, 10)],
            vec![thread(50, 100, 500), thread(25, 25, 500)],
        );
        let mut sender =
            end(vec![flow(bytes * 9, 99)], vec![thread(100, 150, 500), thread(1, 1, 500)]);
        for thread in &mut sender.threads {
            thread.cycles = Some(bytes);
        }
        let mut receiver = receiver;
        for thread in &mut receiver.threads {
            thread.cycles = Some(3 * bytes);
        }
        receiver.readings.put_words("cpu", "cpu0.softirq_ns", 100 * MS);
        receiver.readings.put_words("cpu", "cpu1.softirq_ns", MS * 50);
        sender.readings.put_words("tcp-info", "flow0.retransmitted_segments", 7);
        record(&trial, repeat, receiver, Some(sender))
    };
    let mut records = vec![of(250_000_000, 1), of(100_000_000, 0), of(300_000_000, 2)];
    let mut failed = of(900_000_000, 3);
    failed.outcome =
        Outcome::Failed { at: Stage::Run, why: "it broke".into(), fault: Fault::default() };
    records.push(failed);
    let summary = one(trial.clone(), records);
    assert_eq!((summary.done, summary.failed.clone()), (3, vec!["it broke".to_owned()]));
    assert_eq!(summary.metric, Metric::Goodput);
    // 4 x 250 MB in half a second.
    assert_eq!(middle(&summary), (16e9, Unit::BitsPerSecond));
    let values: Vec<(u32, f64)> = summary.values.iter().map(|v| (v.repeat, v.value)).collect();
    assert_eq!(values, [(0, 6.4e9), (1, 16e9), (2, 19.2e9)]);
    assert_eq!(summary.retransmitted_segments, Some(21));
    let cpu = summary.cpu.expect("CPU");
    assert_eq!((cpu.sender_share, cpu.receiver_share), (Some(0.5), Some(0.3)));
    assert_eq!((cpu.softirq_cpus, cpu.steal_cpus), (Some(0.3), None));
    // 200 ms at the receiver and 252 ms at the sender for 1 GB.
    assert!((cpu.seconds_per_gigabyte.expect("cost") - 0.452).abs() < 1e-12);
    // 8 cycles for 4 bytes.
    assert_eq!(cpu.cycles_per_byte, Some(2.0));
}

#[test]
fn memory_is_told_in_bytes_and_latency_in_time_a_load() {
    let copy = trial("memory-copy", "memory-copy");
    let run = |bytes, repeat| record(&copy, repeat, end(vec![flow(bytes, 0)], vec![]), None);
    let summary = one(copy.clone(), vec![run(1_000_000, 0), run(3_000_000, 1), run(2_000_000, 2)]);
    assert_eq!(middle(&summary), (4e6, Unit::BytesPerSecond));
    assert!(summary.cpu.is_none() && summary.background.is_none());

    let latency = trial("memory-latency", "memory-latency");
    let run = |loads| {
        // The first thread chases; the others are the load.
        let flows = vec![flow(0, loads), flow(600_000, 0), flow(400_000, 0)];
        record(&latency, 0, end(flows, vec![]), None)
    };
    let summary = one(latency.clone(), vec![run(5_000_000)]);
    assert_eq!(middle(&summary), (100.0, Unit::Nanos));
    let load = summary.background.expect("a load");
    assert_eq!((load.value, load.unit), (2e6, Unit::BytesPerSecond));
    assert!(one(latency.clone(), vec![run(0)]).estimate.is_none());
}

#[test]
fn round_trips_and_connections_are_the_askers() {
    let rr = trial("tcp-rr", "tcp-rr");
    let sender = EndReport {
        round_trips: vec![(Nanos(1000), 120), (Nanos(2000), 60), (Nanos(9000), 20)],
        ..end(vec![flow(0, 100)], vec![])
    };
    let summary =
        one(rr.clone(), vec![record(&rr, 0, end(vec![flow(0, 7)], vec![]), Some(sender))]);
    assert_eq!(middle(&summary), (1000.0, Unit::Nanos));
    let trips = summary.round_trips.expect("round trips");
    assert_eq!((trips.count, trips.min_ns, trips.max_ns), (200, Nanos(1000), Nanos(9000)));
    // Twenty samples lie beyond 90 %, two beyond 99 %.
    assert_eq!(
        (trips.p50_ns, trips.p90_ns, trips.p99_ns),
        (Some(Nanos(1000)), Some(Nanos(2000)), None)
    );
    let rate = summary.trips_per_second.expect("a rate");
    assert_eq!((rate.value, rate.unit), (200.0, Unit::PerSecond));

    let connect = trial("tcp-connect", "tcp-connect");
    let ends = |n| end(vec![flow(0, n)], vec![]);
    let summary = one(connect.clone(), vec![record(&connect, 0, ends(1), Some(ends(30)))]);
    assert_eq!(middle(&summary), (60.0, Unit::PerSecond));
}

#[test]
fn datagrams_are_counted_by_the_receiver() {
    let udp = trial("udp-stream", "udp-stream");
    let arrived = FlowTally { lost: 5, jitter_ns: Some(Nanos(300)), ..flow(45_000, 45) };
    let summary = one(
        udp.clone(),
        vec![record(
            &udp,
            0,
            end(vec![arrived], vec![]),
            Some(end(vec![flow(50_000, 50)], vec![])),
        )],
    );
    assert_eq!(middle(&summary), (720_000.0, Unit::BitsPerSecond));
    let rate = summary.datagrams_per_second.expect("a rate");
    assert_eq!((rate.value, rate.unit), (90.0, Unit::DatagramsPerSecond));
    assert_eq!(summary.jitter.expect("jitter").value, 300.0);
    assert!(summary.loss.is_some() && summary.lost_round_trips.is_none());

    let rr = trial("udp-rr", "udp-rr");
    let asker = end(vec![FlowTally { lost: 3, ..flow(0, 9) }], vec![]);
    let summary = one(rr.clone(), vec![record(&rr, 0, end(vec![flow(0, 9)], vec![]), Some(asker))]);
    assert_eq!((summary.lost_round_trips, summary.loss.is_none()), (Some(3), true));
    // Nothing came back: no longer window would give a figure.
    let asker = end(vec![FlowTally { lost: 3, ..flow(0, 0) }], vec![]);
    let summary = one(rr.clone(), vec![record(&rr, 0, end(vec![flow(0, 0)], vec![]), Some(asker))]);
    assert!(summary.labels.contains(&Label::Nothing), "{:?}", summary.labels);
    assert!(!summary.labels.contains(&Label::ShortWindow), "{:?}", summary.labels);
}

#[test]
fn datagrams_of_both_directions_are_not_joined_for_being_two() {
    let mut udp = trial("udp-stream", "udp-stream");
    udp.params.stream = Some(StreamParams { bidirectional: true, ..StreamParams::default() });
    let joined = |came: u64| {
        // Each end gets `came` datagrams in 50 packets, and sends 50.
        let sent = FlowTally { sends: true, ..flow(50_000, 50) };
        let mut receiver = end(vec![flow(50_000, came), sent.clone()], vec![]);
        receiver.effective.interface = Some("eth0".into());
        receiver.readings.put_words("interface", "eth0.rx_packets", 50);
        let sender = end(vec![sent, flow(50_000, came)], vec![]);
        let summary = one(udp.clone(), vec![record(&udp, 0, receiver, Some(sender))]);
        summary.labels.contains(&Label::Joined)
    };
    let nothing = |there: u64, back: u64| {
        let sent = FlowTally { sends: true, ..flow(50_000, 50) };
        let receiver = end(vec![flow(there * 1000, there), sent.clone()], vec![]);
        let sender = end(vec![sent, flow(back * 1000, back)], vec![]);
        let summary = one(udp.clone(), vec![record(&udp, 0, receiver, Some(sender))]);
        let bad: Vec<Label> =
            summary.labels.iter().copied().filter(|label| label.is_bad()).collect();
        bad
    };
    assert_eq!(nothing(50, 50), []);
    assert_eq!(nothing(50, 0), [Label::NothingOneWay]);
    assert_eq!(nothing(0, 50), [Label::NothingOneWay]);
    assert_eq!(nothing(0, 0), [Label::Nothing]);
    assert!(!joined(50), "a packet each");
    assert!(joined(100), "two a packet");
}

#[test]
fn a_memory_kernel_whose_thread_had_no_cpu_at_times_is_labelled() {
    let of = |kind: &str, worked_ms: &[u64]| {
        let trial = trial(kind, kind);
        let run = |(repeat, worked): (u32, &u64)| {
            let thread = ThreadUsage {
                wall_ns: Nanos(500 * MS),
                user_ns: Nanos(worked * MS),
                ..ThreadUsage::default()
            };
            record(&trial, repeat, end(vec![flow(1000, 1)], vec![thread]), None)
        };
        let summary = one(trial.clone(), (0..).zip(worked_ms).map(run).collect());
        summary.labels.contains(&Label::Starved)
    };
    assert!(!of("memory-read", &[500, 480]), "what ticks and interrupts take");
    assert!(of("memory-read", &[500, 300]), "one of two runs");
    assert!(of("memory-latency", &[470]));
    assert!(!of("tcp-stream", &[100, 100]), "a stream waits for its peer");
}

fn background() -> EndSpec {
    let kind = "memory-read".into();
    let load = MemoryLoad { kind, threads: 1, working_set_bytes: Bytes(4096) };
    EndSpec::background(load, Placement::default())
}

#[test]
fn a_run_whose_background_load_did_not_last_is_labelled() {
    let mut trial = trial("tcp-stream", "tcp-stream");
    trial.ends.push(background());
    let of = |loads: [Option<u64>; 2]| {
        let run = |(repeat, load_ms): (u32, Option<u64>)| {
            let load = |ms: u64| EndReport {
                window_ns: Nanos(ms * MS),
                ..end(vec![flow(ms * 1000, 1)], vec![])
            };
            let ends = || end(vec![flow(1000, 1)], vec![]);
            let mut run = record(&trial, repeat, ends(), Some(ends()));
            run.reports.extend(Reported::list(None, None, load_ms.map(load).map(Box::new)));
            run
        };
        let summary = one(trial.clone(), [0, 1].into_iter().zip(loads).map(run).collect());
        let labelled = summary.labels.contains(&Label::BackgroundEnded);
        assert_eq!(summary.values.len(), 2, "their figures stay");
        (summary.background.map(|rate| rate.value), summary.background_ended, labelled)
    };
    assert_eq!(of([Some(500), Some(800)]), (Some(1e6), 0, false));
    assert_eq!(of([Some(499), Some(800)]), (Some(1e6), 1, true));
    assert_eq!(of([Some(499), None]), (None, 2, true));
}

#[test]
fn why_background_loads_were_lost_is_told_once_for_each_cause() {
    let mut trial = trial("tcp-stream", "tcp-stream");
    trial.ends.push(background());
    let killed = Lost { at: Stage::Run, cause: LostBy::Killed { signal: 9 } };
    let group = "/x".to_owned();
    let limit_bytes = Some(Bytes(64 << 20));
    let full = Lost { at: Stage::Run, cause: LostBy::OutOfMemory { group, limit_bytes } };
    let run = |(repeat, lost): (u32, &Lost)| {
        // What it counted before says nothing of the run, however long its window seems.
        let load = EndReport { lost: Some(lost.clone()), ..end(vec![flow(9, 1)], vec![]) };
        let ends = || end(vec![flow(1000, 1)], vec![]);
        let mut run = record(&trial, repeat, ends(), Some(ends()));
        run.reports.extend(Reported::list(None, None, Some(Box::new(load))));
        run
    };
    let summary = one(trial.clone(), (0..).zip([&killed, &full, &killed]).map(run).collect());
    assert_eq!((summary.background, summary.background_ended), (None, 3));
    assert_eq!(summary.background_lost, [killed.clone(), full]);
    let says: Vec<String> = summary.background_lost.iter().map(|l| l.cause.to_string()).collect();
    assert!(says[1].ends_with("out of memory in cgroup /x, limit 64 MiB"), "{says:?}");
}

#[test]
fn what_runs_at_once_is_summed_run_by_run() {
    let trials = vec![trial("tcp-stream", "a"), trial("tcp-stream", "b")];
    let run = |trial: &Trial, repeat: u32, bytes: u64, opened: u64| {
        let sender = EndReport { opened_ns: Nanos(opened * MS), ..end(vec![], vec![]) };
        record(trial, repeat, end(vec![flow(bytes, 1)], vec![]), Some(sender))
    };
    let mut records = Vec::new();
    for repeat in 0..3 {
        let more = u64::from(repeat) * 1000;
        records.push(run(&trials[0], repeat, 10_000 + more, 1000));
        // The second opens a tenth of the window later, in one run a fifth.
        let late = if repeat == 1 { 100 } else { 50 };
        records.push(run(&trials[1], repeat, 30_000, 1000 + late));
    }
    let mut study = study(trials, records);
    let summaries = summarise(&study);
    assert!(together(&study, &summaries).is_none(), "one after the other");
    study.study.together = true;
    let all = together(&study, &summaries).expect("together");
    assert_eq!((all.estimate.value, all.estimate.unit), (656_000.0, Unit::BitsPerSecond));
    assert_eq!(all.overlap_share, Some(0.8));
    assert!(together(&study, &[]).is_none());
}

#[test]
fn the_copy_costs_what_leaving_it_out_saves() {
    let plain = trial("tcp-stream", "tcp-stream");
    let mut uncopied = trial("tcp-stream", "tcp-stream uncopied");
    let receiver = Some("truncate".to_owned());
    uncopied.params.stream = Some(StreamParams { receiver, ..StreamParams::default() });
    let run = |trial: &Trial, cpu_ms: u64| {
        let sender = end(vec![flow(1, 1)], vec![thread(0, 100, 500)]);
        let receiver = end(vec![flow(1_000_000_000, 1)], vec![thread(0, cpu_ms, 500)]);
        record(trial, 0, receiver, Some(sender))
    };
    let records = vec![run(&plain, 300), run(&uncopied, 100)];
    let study = study(vec![plain, uncopied], records);
    let share = copy_share(&study, &summarise(&study)).expect("a share");
    assert_eq!(share.trial, "tcp-stream");
    assert!((share.copied_seconds_per_gigabyte - 0.4).abs() < 1e-12);
    assert!((share.dropped_seconds_per_gigabyte - 0.2).abs() < 1e-12);
    assert!((share.share - 0.5).abs() < 1e-12);
}

#[test]
fn what_another_tool_states_is_the_value_of_its_run_in_the_cells_unit() {
    let trial = trial("tcp-stream", "tcp-stream");
    let of =
        |repeat: u32, value: f64, unit| Record { repeat, ..told::told(&trial, 9, value, unit) };
    let bits = Unit::BitsPerSecond;
    let mut broken = of(4, 8e9, bits);
    broken.outcome =
        Outcome::Failed { at: Stage::Run, why: "it broke".into(), fault: Fault::default() };
    // Out of order; one in another unit, and one that failed, state nothing.
    let other = of(3, 7.0, Unit::Nanos);
    let records = vec![of(2, 3e9, bits), of(0, 1e9, bits), broken, of(1, 2e9, bits), other];
    let summary = one(trial.clone(), records);
    let values: Vec<(u32, f64)> = summary.values.iter().map(|v| (v.repeat, v.value)).collect();
    assert_eq!(values, [(0, 1e9), (1, 2e9), (2, 3e9)]);
    assert_eq!(middle(&summary), (2e9, bits));
}
