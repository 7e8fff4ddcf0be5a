//! What the tests of the store share.
#![allow(dead_code)]

use narrows_model::host::Host;
use narrows_model::load::{Params, Timeline};
use narrows_model::record::{Outcome, Record, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use narrows_store::Store;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A fresh folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("folder");
    dir
}

/// Two cells of a TCP stream.
pub fn trials() -> Vec<Trial> {
    let line = Timeline {
        warmup_ns: Nanos(0),
        window_ns: Nanos(1_000_000_000),
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    let trial = |name: &str| Trial {
        id: TrialId(name.to_owned()),
        label: name.to_owned(),
        kind: "tcp-stream".into(),
        params: Params::of_network(Bytes(64), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Loopback,
        timeline: line,
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    };
    vec![trial("a"), trial("b")]
}

/// A run of one of them.
pub fn record(trial: &str, repeat: u32) -> Record {
    Record {
        trial: TrialId(trial.to_owned()),
        repeat,
        block: repeat,
        outcome: Outcome::Done,
        reports: Vec::new(),
        around: Stamp { began_unix_ns: Nanos(7), ..Stamp::default() },
        session: 0,
        external: None,
    }
}

/// A file with two cells and four runs.
pub fn study(dir: &Path) -> PathBuf {
    let file = dir.join("x.narrows");
    let study = StoredStudy::unmeasured(Host::default());
    let mut draft = Store::draft(&file, &study.study, &study.host).expect("a draft");
    draft.put_trials(&trials()).expect("trials");
    let store = draft.publish().expect("a file");
    for (trial, repeat) in [("a", 0), ("b", 0), ("b", 1), ("a", 1)] {
        store.put_record(&record(trial, repeat)).expect("a run");
    }
    file
}

/// Does something to a file behind its back.
pub fn change(file: &Path, sql: &str) {
    let database = Connection::open(file).expect("database");
    database.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}
