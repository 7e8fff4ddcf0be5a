//! The views of a study's file: what they say of a run is what its report says.

mod common;

use common::folder;
use narrows_model::host::Host;
use narrows_model::load::{EndReport, FlowTally, IpVersion, Params, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use rusqlite::Connection;

/// A run of a workload of this kind, by number, with the reports of its ends.
fn run_of(number: usize, kind: &str, receiver: StoredEnd, sender: StoredEnd) -> (Trial, Record) {
    let id = TrialId(number.to_string());
    let timeline = Timeline {
        warmup_ns: Nanos(0),
        window_ns: Nanos(1_000_000_000),
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    let trial = Trial {
        id: id.clone(),
        label: format!("{number} {kind}"),
        kind: kind.into(),
        params: Params::of_network(Bytes(1400), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline,
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    };
    let record = Record {
        trial: id,
        repeat: 0,
        block: 0,
        outcome: Outcome::Done,
        reports: Reported::list(receiver, sender, None),
        around: Stamp::default(),
        session: 0,
        external: None,
    };
    (trial, record)
}

/// A file of these runs.
fn stored(name: &str, runs: &[(Trial, Record)]) -> Connection {
    let study = StoredStudy::unmeasured(Host::default());
    let file = folder(name).join("all.narrows");
    let (trials, records): (Vec<Trial>, Vec<Record>) = runs.iter().cloned().unzip();
    let mut draft = narrows_store::Store::draft(&file, &study.study, &study.host).expect("draft");
    draft.put_trials(&trials).expect("trials");
    draft.put_records(&records).expect("records");
    drop(draft.publish().expect("a file"));
    Connection::open(&file).expect("database")
}

/// What a view says of a run, by its number from 1; `None` where it says nothing.
fn column(database: &Connection, view: &str, column: &str, number: usize) -> Option<f64> {
    let query = format!("SELECT {column} FROM {view} WHERE number = ?1");
    let mut statement = database.prepare(&query).expect("a view");
    let mut rows = statement.query([number as i64]).expect("rows");
    rows.next().expect("a row").and_then(|row| row.get(0).expect("a number"))
}

/// An end that moved so many bytes by flows that send, that are one-sided.
fn end_of(flows: &[(u64, bool, bool)], window_ns: u64) -> Option<Box<EndReport>> {
    let flow = |(bytes, sends, one_sided): &(u64, bool, bool)| FlowTally {
        bytes: Bytes(*bytes),
        messages: *bytes / 10,
        sends: *sends,
        one_sided: *one_sided,
        ..FlowTally::default()
    };
    let flows: Vec<FlowTally> = flows.iter().map(flow).collect();
    let round_trips = vec![(Nanos(900), 3), (Nanos(1000), 9), (Nanos(1200), 12), (Nanos(9000), 1)];
    Some(Box::new(EndReport {
        window_ns: Nanos(window_ns),
        flows,
        round_trips,
        ..Default::default()
    }))
}

/// A flow: its bytes, whether it sends, whether it is one-sided.
type Flow = (u64, bool, bool);

/// Kinds of workload with the flows of the end that receives and of the end that sends.
fn ends_of_kinds() -> Vec<(&'static str, Vec<Flow>, Vec<Flow>)> {
    let (yes, no) = (true, false);
    let (sends, receives) = ((700, yes, no), (611, no, no));
    vec![
        ("tcp-stream", vec![receives, receives], vec![sends, sends]),
        // Both ways, in windows of different length.
        ("tcp-stream", vec![receives, (555, yes, no)], vec![sends, (444, no, no)]),
        // A file of an old narrows: its sender did not say that it sends.
        ("udp-stream", vec![receives], vec![(700, no, no)]),
        ("rdma-write-stream", vec![(0, no, yes)], vec![(811, yes, yes)]),
        ("rdma-read-stream", vec![(31, yes, yes)], vec![(811, yes, yes)]),
        ("memory-copy", vec![receives, receives], vec![]),
        ("memory-latency", vec![receives], vec![]),
        ("tcp-rr", vec![receives], vec![sends]),
        ("udp-rr", vec![receives], vec![sends]),
        ("tcp-connect", vec![receives], vec![sends]),
    ]
}

/// What an end's interface carried in a window of a second, what TCP received, and the memory of
/// the datagrams that waited as it opened and closed.
#[derive(Clone, Copy, Default)]
struct Around {
    carried: u64,
    tcp: Option<u64>,
    waited: Option<(u64, u64)>,
}

/// An end that counted so much and had this around it.
fn end_around(counted: u64, sends: bool, around: Around) -> Option<Box<EndReport>> {
    let mut end = end_of(&[(counted, sends, false)], 1_000_000_007)?;
    end.looked_ns = Some(Nanos(1_002_000_000));
    end.effective.interface = Some("v0.7".into());
    end.effective.ip = Some(IpVersion::V6);
    end.effective.receive_buffer_bytes = Some(Bytes(4_000_001));
    let way = if sends { "tx" } else { "rx" };
    let packets = around.carried / 1400;
    let mut put = |source: &str, key: String, value: u64| {
        end.readings.put_words(source, &key, value);
    };
    put("interface", format!("v0.7.{way}_packets"), packets);
    put("interface", format!("v0.7.{way}_bytes"), around.carried + packets * 60);
    // Acknowledgements, with their timestamps, go the other way, past an end that receives nothing.
    let back = if sends { "rx" } else { "tx" };
    put("interface", format!("v0.7.{back}_packets"), packets / 2);
    put("interface", format!("v0.7.{back}_bytes"), packets / 2 * 72);
    if let Some(bytes) = around.tcp {
        put("tcp-info", "flow0.received_bytes".into(), bytes);
    }
    if let Some((opening, closing)) = around.waited {
        put("socket", "flow0.opening:waiting_bytes".into(), opening);
        put("socket", "flow0.waiting_bytes".into(), closing);
    }
    Some(end)
}

/// An end's report as a record has it.
type StoredEnd = Option<Box<EndReport>>;

/// Runs whose figures are corrected, refused or left alone: kind, receiver's end, sender's end.
fn runs_with_backlogs() -> Vec<(&'static str, StoredEnd, StoredEnd)> {
    let sends = |carried| end_around(1_000_000, true, Around { carried, ..Around::default() });
    let mut runs = Vec::new();
    for (counted, tcp) in
        [(10_000_000, 9_990_000), (11_000_000, 10_000_000), (30_000_000, 29_000_000)]
    {
        let around = Around { carried: 10_000_000, tcp: Some(tcp), waited: None };
        runs.push(("tcp-stream", end_around(counted, false, around), sends(10_000_000)));
    }
    // Nothing waited, a little, enough, and as much at both edges.
    for waited in [(0, 0), (500_000, 0), (3_000_000, 200_000), (3_999_999, 3_999_999)] {
        for counted in [10_000_000, 10_450_000, 11_300_000] {
            let around = Around { carried: 10_000_000, tcp: None, waited: Some(waited) };
            runs.push(("udp-stream", end_around(counted, false, around), sends(10_000_000)));
        }
    }
    // The receiver's counters are not there: the sender's interface is what its word is held to.
    for counted in [10_000_000, 10_800_000, 11_500_000] {
        let mut receiver = end_around(counted, false, Around::default());
        receiver.iter_mut().for_each(|end| {
            end.readings.clear();
            end.looked_ns = None;
        });
        runs.push(("udp-stream", receiver, sends(10_000_000)));
    }
    runs
}

/// A figure that is corrected or refused is that in the views too.
#[test]
fn the_views_correct_and_refuse_what_the_report_does() {
    let runs = runs_with_backlogs().into_iter().enumerate();
    let runs: Vec<(Trial, Record)> =
        runs.map(|(at, (kind, receiver, sender))| run_of(at, kind, receiver, sender)).collect();
    let database = stored("views-backlog", &runs);
    let mut seen = [0, 0, 0];
    for (at, (trial, record)) in runs.iter().enumerate() {
        let value = narrows_stats::value_of(trial, record).map(|(value, _)| value.value);
        let said = column(&database, "goodput", "goodput_bps", at + 1);
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let same = match (said, value) {
            (Some(said), Some(value)) => near(said, value),
            (said, value) => said.is_none() && value.is_none(),
        };
        let run = narrows_stats::reconciled(trial, record).expect("reconciled");
        assert!(same, "{}: the view {said:?}, the report {value:?}: {run:?}", trial.label);
        seen[match (run.is_impossible(), run.is_without_backlog()) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        }] += 1;
    }
    // Left alone, corrected, refused: each kind is among them.
    assert_eq!(seen, [11, 3, 4], "of {} runs", runs.len());
}

/// What the views of a file say is what the report says, for every kind of workload.
#[test]
fn the_views_of_a_file_say_what_its_report_says() {
    let of = |(at, (kind, receiver, sender)): (usize, (&str, Vec<Flow>, Vec<Flow>))| {
        let sender = if sender.is_empty() { None } else { end_of(&sender, 1_300_000_000) };
        run_of(at, kind, end_of(&receiver, 1_000_000_007), sender)
    };
    let runs: Vec<(Trial, Record)> = ends_of_kinds().into_iter().enumerate().map(of).collect();
    let database = stored("views", &runs);
    for (at, (trial, record)) in runs.iter().enumerate() {
        let value = narrows_stats::value_of(trial, record).map(|(value, _)| value.value);
        let network = trial.kind.is_stream();
        for (view, name, its) in [
            ("goodput", "goodput_bps", network),
            ("memory_bandwidth", "bytes_per_second", trial.kind.as_str() == "memory-copy"),
            ("round_trip", "p50_ns", trial.kind.is_round_trip()),
            ("round_trip", "trips_per_second", trial.kind.as_str() == "tcp-connect"),
        ] {
            let said = column(&database, view, name, at + 1);
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            match its {
                true => assert!(
                    said.zip(value).is_some_and(|(said, value)| near(said, value)),
                    "{}: {view} says {said:?}, the report {value:?}",
                    trial.label
                ),
                false if name == "trips_per_second" => {}
                false if name == "p50_ns" && trial.kind.as_str() == "tcp-connect" => {}
                false => assert_eq!(said, None, "{} is no {view}", trial.label),
            }
        }
    }
    let back = column(&database, "goodput", "back_bps", 2).expect("the way back");
    assert!((back / (8e9 * 444.0 / 1.3e9) - 1.0).abs() < 1e-9, "{back}");
}
