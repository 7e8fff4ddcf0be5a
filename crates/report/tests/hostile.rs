//! Studies with absurd numbers in them, as a damaged file or a hostile peer could bring: every
//! format must come out, without a panic, and without markup that was not written by narrows.

use narrows_host::{Root, read};
use narrows_model::study::StoredStudy;
use narrows_report::{Analysis, formats::FORMATS};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn study() -> Value {
    let host = serde_json::to_value(read(&Root::at("/nowhere/at/all"))).expect("host");
    let trial = |label: &str, kind: &str, path: &str| {
        json!({
            "id": label, "label": label, "kind": kind, "path": path,
            "params": {"message_bytes": 64, "streams": 1, "socket_buffer_bytes": null,
                "congestion": null, "rate_bps": 5, "working_set_bytes": 9},
            "place": {"sink": [1], "source": [0]},
            "timeline": {"warmup_ns": 1, "window_ns": 2, "cooldown_ns": 3}
        })
    };
    let end = json!({
        "window_ns": 1000, "intervals": [{"start_ns": 0, "length_ns": 5, "bytes": 6}],
        "flows": [{"bytes": 10, "messages": 2, "lost": 1, "reordered": 1, "refused": 1}],
        "threads": [{"cpu": 0, "wall_ns": 9, "user_ns": 3, "system_ns": 4,
            "voluntary_switches": 1, "involuntary_switches": 1}],
        "round_trips": [[5, 100], [7, 1000]],
        "effective": {"congestion": "bbr", "send_buffer_bytes": 1, "receive_buffer_bytes": 2,
            "buffer_span_bytes": 3, "variant": "x", "bus_percent_of_counted": 150},
        "readings": {"cpu": {"cpu0.softirq_ns": 3, "cpu0.steal_ns": 4},
            "socket": {"flow0.dropped_packets": 2}, "tcp-info": {"flow0.retransmitted_segments": 1}}
    });
    let record = |trial: &str, repeat: u32| {
        json!({
            "trial": trial, "repeat": repeat, "block": repeat, "outcome": {"outcome": "done"},
            "sink": end, "source": end,
            "around": {"began_unix_ns": 1, "took_ns": 2, "load_hundredths": 3, "own_cpu_ns": 4,
                "host": {"cpu": {"cpu0.user_ns": 5, "cpu0.system_ns": 6, "cpu0.idle_ns": 7,
                    "cpu0.steal_ns": 1}}}
        })
    };
    let labels = ["memory-copy", "memory-read", "tcp-rr", "tcp-stream", "udp-stream"];
    let path = |label: &str| if label.starts_with("memory") { "memory" } else { "namespaces" };
    json!({
        "study": {"schema_version": 1, "narrows_version": "x", "command": "check", "seed": 1,
            "repeats": 2, "path": "namespaces", "peer": null, "interface": null,
            "began_unix_ns": 1, "path_mtu_bytes": 1500, "cache_bytes": 1, "memory_node": 0},
        "ended": null, "host": host, "peer_hosts": [],
        "trials": labels.map(|label| trial(label, label, path(label))),
        "records": labels.iter().flat_map(|l| [record(l, 0), record(l, 1)]).collect::<Vec<_>>(),
    })
}

/// The leaves that are to be changed: the second run of a cell is like its first, and the leaves of
/// one are enough.
fn leaves(document: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    collect(document, String::new(), &mut paths);
    let second =
        |path: &String| (1..10).step_by(2).any(|n| path.starts_with(&format!("/records/{n}/")));
    paths.retain(|path| !second(path));
    paths
}

/// Applies `change` to every leaf in turn, and counts the changed documents that are studies, each
/// of them written in every format. The document is changed in place: copying it for each of its
/// leaves takes longer than writing it.
fn write_each(change: &dyn Fn(&Value) -> Option<Value>) -> usize {
    let mut document = study();
    let paths = leaves(&document).into_iter();
    let of = |path: String| {
        let changed = change(document.pointer(&path).expect("a leaf"))?;
        Some(usize::from(writes_with(&mut document, &[(&path, changed)])))
    };
    paths.filter_map(of).sum()
}

/// Writes the document with these leaves changed, and changes them back; true when it was a study.
fn writes_with(document: &mut Value, changes: &[(&String, Value)]) -> bool {
    let swap = |document: &mut Value, path: &str, value: Value| {
        std::mem::replace(document.pointer_mut(path).expect("a leaf"), value)
    };
    let was: Vec<Value> =
        changes.iter().map(|(path, value)| swap(document, path, value.clone())).collect();
    let is_study = writes(document);
    for ((path, _), value) in changes.iter().zip(was) {
        swap(document, path, value);
    }
    is_study
}

/// A path without its numbers of cells: `/records/4/sink/window_ns` is `/records/*/sink/window_ns`.
fn of_any_cell(path: &str) -> String {
    let mut words: Vec<&str> = path.split('/').collect();
    if let [_, "records" | "trials", cell, ..] = words.as_mut_slice() {
        *cell = "*";
    }
    words.join("/")
}

fn collect(value: &Value, at: String, paths: &mut Vec<String>) {
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| collect(item, format!("{at}/{index}"), paths));
        }
        Value::Object(items) => {
            items.iter().for_each(|(key, item)| {
                collect(item, format!("{at}/{}", escape(key)), paths);
            });
        }
        _ => paths.push(at),
    }
}

/// Writes every format of a document that is a study; true when it was one.
fn writes(document: &Value) -> bool {
    let Ok(stored) = StoredStudy::deserialize(document) else { return false };
    let analysis = Analysis::of(&stored);
    for format in FORMATS {
        let text = (format.write)(&analysis);
        assert!(!text.is_empty(), "{}", format.name);
        if format.name == "html" {
            // The page's own: the runs, where there are few enough, and what sorts its tables.
            let scripts = text.matches("<script").count();
            assert!((1..=2).contains(&scripts), "markup of the data");
            assert_eq!(text.matches("</script").count(), scripts, "markup of the data");
        }
        assert!(!text.contains("\u{1b}[2J"), "{}: a control code of the data", format.name);
        if format.name != "json" {
            assert!(!text.contains("NaN") && !text.contains("inf "), "{}: {text}", format.name);
        }
    }
    true
}

#[test]
fn the_document_itself_is_a_study() {
    assert!(writes(&study()));
}

/// Numbers that a damaged file may have; `None` leaves one as it is.
const ABSURD: [Option<u64>; 5] = [Some(0), Some(1), Some(u32::MAX as u64), Some(u64::MAX), None];

/// Writes one document a turn, in which the same leaf of each cell has another of the numbers, so
/// that each leaf has each of them after all turns, beside cells with others and one without. What
/// is no study so, since a number does not fit a field, is tried leaf by leaf. Counts the leaves
/// with their numbers.
fn write_in_turns(document: &mut Value, leaves: &[String]) -> usize {
    let mut written = 0;
    for turn in 0..ABSURD.len() {
        let numbers = (turn..).map(|at| ABSURD[at % ABSURD.len()]);
        let changes = leaves.iter().zip(numbers);
        let changes: Vec<(&String, Value)> =
            changes.filter_map(|(leaf, number)| Some((leaf, json!(number?)))).collect();
        written += match writes_with(document, &changes) {
            true => changes.len(),
            false => {
                let alone = changes.chunks(1).filter(|one| writes_with(document, one));
                alone.count()
            }
        };
    }
    written
}

#[test]
fn absurd_numbers_do_not_panic() {
    let document = study();
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in leaves(&document) {
        if document.pointer(&path).is_some_and(Value::is_number) {
            alike.entry(of_any_cell(&path)).or_default().push(path);
        }
    }
    let all: Vec<Vec<String>> = alike.into_values().collect();
    let write = |part: &[Vec<String>]| -> usize {
        let mut document = study();
        part.iter().map(|leaves| write_in_turns(&mut document, leaves)).sum()
    };
    let written: usize = std::thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(4));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || write(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert!(written > 1400, "{written}");
}

#[test]
fn hostile_text_stays_text() {
    let evil = "</style><script>alert(1)</script>\u{1b}[2J";
    let change = |leaf: &Value| leaf.is_string().then(|| json!(evil));
    let studies = write_each(&change);
    assert!(studies > 50, "{studies}");
}
