//! Memory traffic as the formats tell it: of planted counts, with the least of the path beside it.

mod kept;
mod planted;

use narrows_model::load::{EndReport, FlowTally, Role, StreamParams};
use narrows_model::memory_queues::{QueueCount, QueueEvent};
use narrows_model::memory_traffic::{Count, CountedBy, MemoryTraffic, Quantity, Uncounted};
use narrows_model::record::Reported;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Level, NetworkPath, TrialId};
use narrows_model::{Bytes, Fact, Nanos};
use narrows_report::{Analysis, bus, explained, formats};

/// The processor whose credits are published.
const CASCADE_LAKE: &str = "Intel(R) Xeon(R) Gold 6234 CPU @ 3.30GHz";

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
    assert!(text.contains("per network byte (4.10 to 4.10)"), "two runs have a range: {text}");
    let mut once = study.clone();
    once.records.truncate(1);
    assert!(!explained(&once).contains("per network byte ("), "one run has none");
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
        end.memory.as_mut().expect("counts").span_ns = Nanos(1_220_000_000);
    }
    let late = explained(&study);
    assert!(late.contains("counted for a time that differs from the window's by 22 %"), "{late}");
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
    assert!(lines[0].contains(columns), "{csv}");
    assert!(lines[1].contains(",,4100000000,Planted Lake,"), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&written("json")).expect("JSON");
    let memory = &json["results"][0]["memory"];
    assert_eq!(memory[1]["per_network_byte"]["value"], 4.1, "{memory}");
    assert_eq!(memory[0]["missing"][0]["why"], "denied", "{memory}");
    assert!(written("html").contains("4.10 bytes per network byte"));
    let traffic = bus::of(&study.host, None, Some(&analysis));
    assert!(traffic.counted[0].contains("4.10 bytes per network byte"), "{traffic:?}");
    assert_eq!(study.records[0].of(Role::Receiver).count(), 1);
}

#[test]
fn rates_stand_beside_what_channels_and_links_can_carry_and_own_threads_apart() {
    use narrows_model::host::{Module, Slot, SlotPlace};
    let mut study = study(2_600_000_000, 1_500_000_000, NetworkPath::Peer);
    // Two channels of 3200 MT/s: 51.2 GB/s, of which 4.1 are 8 %.
    let slot = |channel: &str| Slot {
        at: Some(SlotPlace { socket: 0, channel: channel.into(), ..SlotPlace::default() }),
        module: Some(Module {
            is_dram: true,
            size_bytes: Some(Bytes::gib(16)),
            configured_mts: Some(3200),
            ..Module::default()
        }),
        ..Slot::default()
    };
    let host = &mut study.host;
    host.memory.slots = Fact::known(vec![slot("A"), slot("B")], "made");
    host.cpu.model = Fact::known("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz".into(), "made");
    study.peer_hosts = vec![host.clone()];
    for record in &mut study.records {
        for end in record.of_mut(Role::Receiver) {
            let memory = end.memory.as_mut().expect("counts");
            let count = |(of, by, bytes)| Count {
                of,
                by,
                package: Some(0),
                bytes,
                counters: 1,
                ran_thousandths: None,
            };
            let missed = [(0, 1_200_000_000), (1, 400_000_000)].map(|(socket, bytes)| Count {
                package: Some(socket),
                ..count((Quantity::CacheMissed, CountedBy::Uncore, bytes))
            });
            memory.counts.extend(missed);
            memory.counts.extend(
                [
                    (Quantity::SocketLinkSent, CountedBy::Uncore, 9_600_000_000),
                    (Quantity::OwnThreads, CountedBy::Resctrl, 4_000_000_000),
                    (Quantity::OwnThreadsLocal, CountedBy::Resctrl, 1_000_000_000),
                ]
                .map(count),
            );
        }
    }
    let text = explained(&study);
    for says in [
        "4.1 GB/s (2.6 GB/s read, 1.5 GB/s written), 8 % of the 51.2 GB/s of its 2 populated",
        "9.6 GB/s sent over the busiest socket's links, 25 % of the 38.4 GB/s of 2 links at 9.6",
        "; 1.6 GB/s missed in the last-level cache by its cores (socket 0: 1.2 GB/s, socket 1: 0.4 \
         GB/s); ",
        "memory of the receiver's threads alone: 4.0 GB/s, 75 % of it with memory of another node",
    ] {
        assert!(text.contains(says), "{says}:\n{text}");
    }
    // More than two such channels carry is no traffic, in words, tables and figures.
    let mut wild = study.clone();
    for end in wild.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
        end.memory.as_mut().expect("counts").counts[0].bytes = 4_585_000_000_000;
    }
    let text = explained(&wild);
    let says = "memory traffic of the receiver's host not counted: the counts are impossible and \
                not used: 4586.5 GB/s, where the populated channels carry 51.2 GB/s";
    assert!(text.contains(says) && !text.contains("per network byte ("), "{text}");
    // Of a family whose links are not known no share is made up.
    study.peer_hosts[0].cpu.model = Fact::known("Some other processor".into(), "made");
    study.host = study.peer_hosts[0].clone();
    let text = explained(&study);
    assert!(text.contains("busiest socket's links; 1.6 GB/s missed"), "{text}");
}

/// Two tests at four sizes of which each byte crosses the memory of the sender twice and of the
/// receiver four times, beside a copy of 20 GB/s on this host.
fn by_size() -> StoredStudy {
    let mut study = planted::study("size", &[8.0; 8], 6, None);
    study.study.cache_bytes = Bytes::mib(32);
    for (at, trial) in study.trials.iter_mut().enumerate() {
        trial.params.message_bytes = Bytes(64 << (2 * (at % 4)));
        trial.levels[0].level = (at % 4).to_string();
        let test = if at < 4 { "a stream" } else { "both ways" };
        trial.levels.push(Level { factor: "test".into(), level: test.into() });
        trial.label = format!("{} at {}", test, at % 4);
    }
    for record in &mut study.records {
        record.external = None;
        let counts = [(1_500_000_000, 500_000_000), (2_000_000_000, 2_000_000_000)];
        let [sender, receiver] = counts.map(Some);
        let (receiver, sender) = (end(false, receiver), end(true, sender));
        record.reports = Reported::list(Some(Box::new(receiver)), Some(Box::new(sender)), None);
    }
    let mut copy = study.trials[0].clone();
    (copy.id, copy.label, copy.kind) =
        (TrialId("m".into()), "memory-copy".into(), "memory-copy".into());
    (copy.path, copy.levels) =
        (NetworkPath::Memory, vec![Level { factor: "test".into(), level: "copy".into() }]);
    let mut run = study.records[0].clone();
    let mut end = end(false, None);
    end.flows[0].bytes = Bytes(20_000_000_000);
    end.effective.buffer_span_bytes = Bytes::gib(1);
    run.trial = copy.id.clone();
    run.reports = Reported::list(Some(Box::new(end)), None, None);
    study.trials.push(copy);
    study.records.push(run);
    study
}

#[test]
fn memory_traffic_is_drawn_by_size_beside_what_a_copy_reaches() {
    let study = by_size();
    kept::is_as_kept("memory", &study);
    let analysis = Analysis::of(&study);
    let files = narrows_report::data::all(&analysis);
    let drawn = narrows_report::figures::all(&analysis);
    let rows = |name: &str| {
        let names: Vec<&String> = drawn.iter().map(|(file, _)| file).collect();
        assert!(names.iter().any(|file| file.starts_with(name)), "{name}: {names:?}");
        let (_, csv) = files.iter().find(|(file, _)| file.starts_with(name)).expect(name);
        csv.lines().skip(1).map(str::to_owned).collect::<Vec<String>>()
    };
    let bytes = rows("by-size-the-receiver-s-host-memory-bytes-per-");
    assert_eq!(bytes.len(), 8, "{bytes:?}");
    assert!(bytes.iter().all(|row| row.contains(",4,4,4,share,")), "{bytes:?}");
    let bytes = rows("by-size-the-sender-s-host-memory-bytes-per-");
    assert!(bytes.iter().all(|row| row.contains(",2,2,2,share,")), "{bytes:?}");
    let both = ["sender", "receiver"];
    let both = both.map(|end| rows(&format!("by-size-the-{end}-s-host-memory-traffic-by-message")));
    // The copy was measured on one of the two hosts.
    let copies: Vec<&String> =
        both.iter().flatten().filter(|row| row.contains("a copy of this host")).collect();
    assert_eq!(copies.len(), 2, "{both:?}");
    assert!(copies.iter().all(|row| row.contains(",20000000000,")), "{copies:?}");
    let text = (formats::format("text").expect("a format").write)(&analysis);
    assert!(text.contains("2.00 / 4.00"), "{text}");
    let row = text.lines().find(|line| line.contains("4.00 GB/s")).expect("a row of both hosts");
    assert!(row.contains("2.00 GB/s (10 %) / 4.00 GB/s"), "{row}");
    assert!(!row.contains("4.00 GB/s ("), "no copy was measured on the other host: {row}");
}

#[test]
fn a_study_that_asks_for_memory_traffic_says_once_why_it_has_none() {
    let written = |study: &StoredStudy, name: &str| {
        (formats::format(name).expect("a format").write)(&Analysis::of(study))
    };
    let (head, why) = ("not counted: memory traffic, use of the link", "perf_event_paranoid is 2");
    let mut study = by_size();
    // Of what is counted only the links are missing, and no reason is known.
    assert!(!written(&study, "text").contains(head));
    for record in &mut study.records {
        record.reports.iter_mut().for_each(|one| one.report.memory = end(false, None).memory);
    }
    for name in ["text", "html"] {
        let told = written(&study, name);
        assert_eq!(told.matches(head).count(), 1, "{told}");
        let (_, after) = told.split_once(head).expect("once");
        assert!(after.contains(why), "{told}");
    }
    // Without a copy or a load beside its traffic a study is about something else.
    study.trials.pop();
    study.records.pop();
    assert!(!written(&study, "text").contains(head));
}

/// What a host's counters told of a second, whose processors are of a model.
fn queued(model: &str, device: u64, full: u64) -> StoredStudy {
    let mut study = study(4_000_000_000, 9_000_000_000, NetworkPath::Peer);
    study.host.cpu.model = Fact::known(model.into(), "made");
    study.peer_hosts = vec![study.host.clone()];
    let count = |(of, count)| QueueCount {
        of,
        package: Some(0),
        count,
        busiest: count,
        counters: 1,
        ran_thousandths: Some(400),
    };
    let counts = [
        (QueueEvent::MemoryCycles, 1_500_000_000),
        (QueueEvent::WriteFull, full),
        (QueueEvent::WriteOccupancy, 30_000_000_000),
        (QueueEvent::WriteInserts, 100_000_000),
        (QueueEvent::ReadOccupancy, 4_500_000_000),
        (QueueEvent::ReadInserts, 60_000_000),
        (QueueEvent::RowsOpened, 50_781_250),
        (QueueEvent::RootCycles, 500_000_000),
        (QueueEvent::RootOccupancy, device * 500_000_000),
        (QueueEvent::RootWrites, 120_000_000),
        (QueueEvent::RootReads, 1_000_000),
    ];
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
        let memory = end.memory.as_mut().expect("counts");
        memory.queues = counts.map(count).to_vec();
        if model.contains("Gold 6234") {
            memory.family = Some("Intel Skylake-SP and Cascade Lake-SP".into());
        }
    }
    study
}

#[test]
fn what_waited_is_told_with_the_regime_by_counters() {
    let red = explained(&queued(CASCADE_LAKE, 92, 1_425_000_000));
    for says in [
        "queues of the receiver's host: 34 lines or more in the write queue in 95 % of cycles, \
         200 ns a line in it, 50 ns a line in the read queue, a row opened for 25 % of lines, 92 \
         lines in the busiest root complex, 767 ns a device write there",
        "by counters device writes (red): 92 of the busiest root complex's 92 credits in use; \
         at this latency all of them carry at most 61 Gb/s, and the write queue full; thresholds \
         of one Cascade Lake machine with DDIO and prefetch off",
        "the counters took turns and ran 40 % of the time",
    ] {
        assert!(red.contains(says), "{says}:\n{red}");
    }
    // As long in the queues, with credits to spare; which needs the peak of memory to be told.
    let open = explained(&queued(CASCADE_LAKE, 60, 150_000_000));
    assert!(open.contains("by counters no regime told: the peak of its memory"), "{open}");
    assert!(!open.contains("not told by counters"), "{open}");
    let ice_lake = "Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz";
    let ice_lake = explained(&queued(ice_lake, 92, 1_425_000_000));
    assert!(ice_lake.contains("host: write queue full in 95 % of cycles"), "{ice_lake}");
    assert!(ice_lake.contains("92 lines in the busiest root complex"), "{ice_lake}");
    assert!(!ice_lake.contains("(red)") && !ice_lake.contains("(blue)"), "{ice_lake}");
    let why = "not told by counters: nobody has published credits and latencies of Ice Lake-SP";
    assert_eq!(ice_lake.matches(why).count(), 1, "{ice_lake}");
}

#[test]
fn one_socket_with_a_regime_is_enough_and_else_the_socket_is_named() {
    let mut study = queued(CASCADE_LAKE, 92, 1_425_000_000);
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
        let queues = &mut end.memory.as_mut().expect("counts").queues;
        let mut other = queues.clone();
        other.retain(|one| one.of != QueueEvent::WriteFull);
        other.iter_mut().for_each(|one| one.package = Some(1));
        queues.extend(other);
    }
    let text = explained(&study);
    assert!(text.contains("host, socket 0: 34 lines or more") && text.contains("(red)"), "{text}");
    assert!(!text.contains("not told by counters"), "{text}");
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Receiver)) {
        let queues = &mut end.memory.as_mut().expect("counts").queues;
        queues.retain(|one| one.of != QueueEvent::WriteFull);
    }
    let why = "regime of the receiver's host, socket 0 (memory latency or device writes) not told \
               by counters: not counted: cycles with a full write queue, or a count that it is computed from";
    let text = explained(&study);
    assert_eq!(text.matches(why).count(), 1, "{text}");
}
