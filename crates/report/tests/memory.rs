//! Memory traffic as the formats tell it: of planted counts, with the least of the path beside it.

mod planted;

use narrows_model::load::{EndReport, FlowTally, Role, StreamParams};
use narrows_model::memory_traffic::{Count, CountedBy, MemoryTraffic, Quantity, Uncounted};
use narrows_model::record::Reported;
use narrows_model::study::StoredStudy;
use narrows_model::trial::NetworkPath;
use narrows_model::{Bytes, Nanos};
use narrows_report::{Analysis, bus, explained, formats};

/// Twice in a second 10^9 bytes arrive, and the receiver's host reads and writes so many.
fn study(read: u64, written: u64, path: NetworkPath) -> StoredStudy {
    let mut study = planted::study("size", &[8.0], 2, None);
    study.study.cache_bytes = Bytes::mib(32);
    study.trials[0].path = path;
    for record in &mut study.records {
        record.external = None;
        let (receiver, sender) = (end(false, Some((read, written))), end(true, None));
        record.reports = Reported::list(Some(Box::new(receiver)), Some(Box::new(sender)), None);
    }
    study
}

fn end(sends: bool, counted: Option<(u64, u64)>) -> EndReport {
    let window_ns = Nanos(1_000_000_000);
    let flow = FlowTally { bytes: Bytes(1_000_000_000), sends, ..FlowTally::default() };
    let count = |(of, bytes)| Count {
        of,
        by: CountedBy::Uncore,
        package: Some(0),
        bytes,
        counters: 8,
        ran_thousandths: Some(500),
    };
    let mut memory = MemoryTraffic { span_ns: window_ns, ..MemoryTraffic::default() };
    match counted {
        Some((read, written)) => {
            memory.family = Some("Planted Lake".to_owned());
            let both = [(Quantity::Read, read), (Quantity::Written, written)];
            memory.counts.extend(both.map(count));
        }
        None => memory.gaps.push(Uncounted::Denied { paranoid: Some(2) }),
    }
    let memory = Some(Box::new(memory));
    EndReport { window_ns, flows: vec![flow], memory, ..EndReport::default() }
}

fn explained(study: &StoredStudy) -> String {
    let analysis = Analysis::of(study);
    explained::text(&analysis, &explained::cells(&analysis))
}

#[test]
fn what_was_counted_stands_beside_what_the_path_needs() {
    let mut study = study(2_600_000_000, 1_500_000_000, NetworkPath::Peer);
    let text = explained(&study);
    let host = "memory of the receiver's host: 4.1 GB/s (2.6 GB/s read, 1.5 GB/s written), 4.10";
    assert!(text.contains(host), "{text}");
    assert!(text.contains("this path needs 2 to 4 at least"), "{text}");
    assert!(text.contains("ran 50 % of the time"), "{text}");
    let missing = "memory traffic of the sender's host not counted: kernel.perf_event_paranoid";
    assert_eq!(text.matches(missing).count(), 1, "{text}");
    // A buffer beyond the caches, and a receiver that copies nothing.
    let span = |span_bytes, receiver: Option<&str>| {
        Some(StreamParams {
            span_bytes: Some(span_bytes),
            receiver: receiver.map(str::to_owned),
            ..StreamParams::default()
        })
    };
    study.trials[0].params.stream = span(Bytes::gib(1), None);
    assert!(explained(&study).contains("needs 4 at least"), "{}", explained(&study));
    study.trials[0].params.stream = span(Bytes::gib(1), Some("truncate"));
    assert!(explained(&study).contains("needs 1 at least"), "{}", explained(&study));
}

#[test]
fn inside_a_host_no_device_has_a_least() {
    let study = study(2_600_000_000, 1_500_000_000, NetworkPath::Namespaces);
    let text = explained(&study);
    assert!(text.contains("memory of this host: 4.1 GB/s"), "{text}");
    assert!(text.contains("no device carries it") && !text.contains("this path needs"), "{text}");
}

#[test]
fn every_format_has_the_figure_its_unit_and_its_source() {
    let study = study(2_600_000_000, 1_500_000_000, NetworkPath::Peer);
    let analysis = Analysis::of(&study);
    let written = |name: &str| {
        let format = formats::FORMATS.iter().find(|format| format.name == name).expect(name);
        (format.write)(&analysis)
    };
    let csv = written("csv");
    let lines: Vec<&str> = csv.lines().collect();
    let columns = ",source_memory_bytes_per_s,sink_memory_bytes_per_s,memory_counted_by";
    assert!(lines[0].ends_with(columns), "{csv}");
    assert!(lines[1].ends_with(",,4100000000,Planted Lake"), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&written("json")).expect("JSON");
    let memory = &json["results"][0]["memory"];
    assert_eq!(memory[1]["per_network_byte"]["value"], 4.1, "{memory}");
    assert_eq!(memory[0]["missing"][0]["why"], "denied", "{memory}");
    assert!(written("html").contains("4.10 bytes a network byte"));
    let traffic = bus::of(&study.host, None, Some(&analysis));
    assert!(traffic.counted[0].contains("4.10 bytes a network byte"), "{traffic:?}");
    assert_eq!(study.records[0].of(Role::Receiver).count(), 1);
}
