//! A study of many runs: what it takes to store one more, and to read it again.
//!
//! `cargo bench --bench records -- 1000000` makes a file of so many runs (a million without a
//! number) in a temporary folder, each with one figure and no ends of ours, as imported runs have.
//! `-- 100000 STUDY.narrows` makes it of the runs of a study that was measured, over and over.

use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::record::{External, Figure, Outcome, Record, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::NetworkPath;
use narrows_model::units::Unit;
use narrows_plan::study::{Definition, Ends, cells, trials};
use narrows_store::Store;
use nix::sys::resource::{UsageWho, getrusage};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const LEVELS: usize = 18;

fn main() {
    let runs = std::env::args().filter_map(|arg| arg.parse::<usize>().ok()).next();
    let runs = runs.unwrap_or(1_000_000);
    let dir = std::env::temp_dir().join(format!("narrows-records-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("folder");
    let file = dir.join("many.narrows");
    let each = match std::env::args().find(|arg| arg.ends_with(".narrows")) {
        Some(measured) => repeat(Path::new(&measured), &file, runs),
        None => make(&file, runs),
    };
    let bytes = std::fs::metadata(&file).expect("file").len();
    println!("{runs} runs, {} MiB; one more run is on disk after {each:.2} ms", bytes >> 20);
    for words in [&["list"][..], &["study", "status"], &["report"], &["compare"], &["verify"]] {
        time(words, &file);
    }
    std::fs::remove_dir_all(&dir).expect("removed");
}

/// Makes the file; milliseconds that a single run takes to be stored at its end.
fn make(file: &Path, runs: usize) -> f64 {
    let levels: Vec<String> = (1..=LEVELS).map(|level| format!("'{level}'")).collect();
    let text = format!(
        "name = 'many'\nrepeats = {}\n[base]\nload = 'memory-copy'\n[[factor]]\nname = 'level'\n\
         levels = [{}]\n",
        (runs / LEVELS).clamp(1, 100_000),
        levels.join(", ")
    );
    let cells = cells(&Definition::parse(&text).expect("a study")).expect("cells");
    let host = Host::default();
    let ends = Ends { host: &host, peers: &[], path: NetworkPath::Loopback, interface: None };
    let trials: Vec<_> =
        trials(&cells, &ends).expect("trials").into_iter().map(|(trial, _)| trial).collect();
    let study = StoredStudy::unmeasured(host.clone()).study;
    let mut store = Store::create(file, &study, &host).expect("a file");
    store.put_definition(&text).expect("definition");
    store.put_trials(&trials).expect("trials");
    let record = |at: usize| Record {
        trial: trials[at % LEVELS].id.clone(),
        repeat: (at / LEVELS) as u32,
        block: (at / LEVELS) as u32,
        outcome: Outcome::Done,
        reports: Vec::new(),
        around: Stamp { began_unix_ns: Nanos(at as u64 * 1_000_000_000), ..Stamp::default() },
        session: 0,
        external: Some(External {
            tool: "bench".into(),
            version: None,
            command: None,
            file: None,
            figures: vec![Figure {
                name: "rate".into(),
                value: 1e10 * (1.0 + (at % 97) as f64 / 1000.0),
                unit: Unit::BytesPerSecond,
            }],
            output: String::new(),
            client: None,
            packets: None,
        }),
    };
    for chunk in (0..runs).collect::<Vec<_>>().chunks(20_000) {
        let records: Vec<Record> = chunk.iter().map(|at| record(*at)).collect();
        store.put_records(&records).expect("records");
    }
    singly(&store, runs, record)
}

/// Makes the file of the runs of another, each as often as it takes; the same.
fn repeat(measured: &Path, file: &Path, runs: usize) -> f64 {
    let of = narrows_store::read(measured).expect("a study");
    let mut store = Store::create(file, &of.study, &of.host).expect("a file");
    if let Some(text) = &of.definition {
        store.put_definition(text).expect("definition");
    }
    of.sessions.iter().for_each(|session| store.put_session(session).expect("a session"));
    store.put_trials(&of.trials).expect("trials");
    let count = of.records.len();
    let record = |at: usize| {
        let mut record = of.records[at % count].clone();
        record.repeat += ((at / count) * count) as u32;
        record.block = record.repeat;
        record.around.began_unix_ns = Nanos(record.around.began_unix_ns.0 + (at / count) as u64);
        record
    };
    for chunk in (0..runs).collect::<Vec<_>>().chunks(2_000) {
        let records: Vec<Record> = chunk.iter().map(|at| record(*at)).collect();
        store.put_records(&records).expect("records");
    }
    singly(&store, runs, record)
}

/// Milliseconds that each of a hundred runs more takes to be stored.
fn singly(store: &Store, from: usize, record: impl Fn(usize) -> Record) -> f64 {
    let (began, more) = (Instant::now(), 100);
    for at in from..from + more {
        store.put_record(&record(at)).expect("a record");
    }
    began.elapsed().as_secs_f64() * 1e3 / more as f64
}

fn time(words: &[&str], file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.args(words).arg(file);
    if words[0] == "compare" {
        command.arg(file);
    }
    let began = Instant::now();
    let status = command.stdout(Stdio::null()).status().expect("runs");
    let took = began.elapsed().as_secs_f64();
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.user_time().tv_sec());
    // The most that any child had so far: the commands are in order of their hunger.
    let most = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    let words = words.join(" ");
    println!("{words}: {took:.2} s, {used} s of CPU and {} MiB so far, {status}", most >> 10);
}
