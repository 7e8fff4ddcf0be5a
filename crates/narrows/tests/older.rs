//! Files of older versions: they open, and mean what they meant.

mod common;

use common::{folder, narrows, out, run};

/// A run of two ends beside a background load, and one of memory, as narrows 0.1 stored them.
const OF_0_1: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/files/two-ends-0.1.narrows");
/// The head of its chain, as narrows 0.1 printed it.
const HEAD: &str = "bfcd7ad66c3e412ccbd4697058a135428f7a61f5cfd9a534cce8d8bf0e83b13a";

#[test]
fn a_study_of_0_1_means_what_it_meant() {
    let file = folder("older").join("older.narrows");
    std::fs::copy(OF_0_1, &file).expect("a copy");
    // Among what it looks at is whether each cell's id follows from the cell.
    let verified = run(narrows().arg("verify").arg(&file));
    assert_eq!(verified.status.code(), Some(0), "{}", out(&verified));
    assert!(out(&verified).contains(HEAD), "{}", out(&verified));
    let stored = narrows_store::read(&file).expect("a study");
    let mut seen = Vec::new();
    for (trial, summary) in stored.trials.iter().zip(narrows_stats::summarise(&stored)) {
        let median = |estimate: narrows_model::result::Estimate| estimate.value;
        let background = summary.background.map(median);
        let value = summary.estimate.map(median);
        seen.push((trial.kind.to_string(), trial.id.0.clone(), value, background));
    }
    // What narrows 0.1 reported of the same file.
    let of = |kind: &str, id: &str, value: f64, background: Option<f64>| {
        (kind.to_owned(), id.to_owned(), Some(value), background)
    };
    let stream = 6_397_530_516.100_613;
    let reads = 19_689_831_449.109_71;
    let told = [
        of("tcp-stream", "5070068655b83d33", stream, Some(reads)),
        of("memory-latency", "1467d5b8a9ac162c", 24.430_446_302_492_633, None),
    ];
    assert_eq!(seen, told);
}

#[test]
fn what_0_1_wrote_is_written_again_letter_by_letter() {
    let database = rusqlite::Connection::open(OF_0_1).expect("the file");
    let rows = |table: &str| -> Vec<String> {
        let mut all = database.prepare(&format!("SELECT json FROM {table}")).expect("a table");
        let rows = all.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("texts")
    };
    let (records, trials) = (rows("record"), rows("trial"));
    assert_eq!((records.len(), trials.len()), (2, 2));
    for text in &records {
        let record: narrows_model::record::Record = serde_json::from_str(text).expect("a record");
        assert_eq!(serde_json::to_string(&record).expect("text"), *text);
    }
    for text in &trials {
        let trial: narrows_model::trial::Trial = serde_json::from_str(text).expect("a trial");
        assert_eq!(serde_json::to_string(&trial).expect("text"), *text);
    }
}

#[test]
fn a_run_has_a_report_of_each_of_its_ends() {
    use narrows_model::load::{EndReport, FlowTally, Role};
    use narrows_model::record::Reported;
    use narrows_model::{Bytes, Nanos};
    let stored = narrows_store::read(OF_0_1.as_ref()).expect("a study");
    let trial = stored.trials.iter().find(|trial| trial.kind.is_tcp()).expect("a stream");
    let record = stored.records_of(trial).next().expect("a run");
    let roles: Vec<Role> = record.reports.iter().map(|one| one.role).collect();
    assert_eq!(roles, [Role::Receiver, Role::Sender, Role::Background]);
    // Two ends receive at once: what came is what came to both, each in its own window.
    let end = |bytes: u64, window_ns: u64| EndReport {
        window_ns: Nanos(window_ns),
        flows: vec![FlowTally { bytes: Bytes(bytes), ..FlowTally::default() }],
        ..EndReport::default()
    };
    let of = |role, report| Reported { role, report: Box::new(report), span: None };
    let mut many = record.clone();
    many.reports = vec![
        of(Role::Receiver, end(1000, 1_000_000_000)),
        of(Role::Sender, end(9, 1_000_000_000)),
        of(Role::Receiver, end(1000, 500_000_000)),
        of(Role::Sender, end(9, 1_000_000_000)),
    ];
    let (value, _) = narrows_stats::value_of(trial, &many).expect("a value");
    assert_eq!(value.value, 8.0 * (1000.0 + 2000.0));
    let text = serde_json::to_string(&many).expect("text");
    let read: narrows_model::record::Record = serde_json::from_str(&text).expect("a record");
    let bytes = |role| read.of(role).map(|end| end.window_ns.0).collect::<Vec<u64>>();
    assert_eq!(bytes(Role::Receiver), [1_000_000_000, 500_000_000]);
    assert_eq!(bytes(Role::Sender), [1_000_000_000, 1_000_000_000]);
}
