//! What is stored is what is read: every part, every order, and files that are in the way.

mod common;

use common::{change, folder, record, study, trials};
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::record::{Outcome, Stage};
use narrows_model::study::{Ended, Found, Session, StoredStudy};
use narrows_model::trial::NetworkPath;
use narrows_store::{Chain, Counts, Store, StoreError, chain, counts, head, is_database, read};
use std::path::Path;
use std::time::{Duration, SystemTime};

fn named(name: &str) -> Host {
    Host { name: narrows_model::Fact::known(name.to_owned(), "test"), ..Host::default() }
}

fn session(number: u32) -> Session {
    Session {
        number,
        began_unix_ns: Nanos(u64::from(number) + 5),
        narrows_version: "1".into(),
        host: Host::default(),
        peer_hosts: Vec::new(),
        path: NetworkPath::Loopback,
        levels: [("f".to_owned(), Found { level: "a".into(), read: true })].into(),
        cannot: Default::default(),
        ended: None,
    }
}

#[test]
fn every_part_is_read_back() {
    let file = study(&folder("kept-parts"));
    let mut store = Store::open(&file).expect("a study");
    assert_eq!(store.path(), file);
    let plain = read(&file).expect("a study");
    assert_eq!((plain.ended, plain.definition, plain.sessions.len()), (None, None, 0));
    store.put_peer_hosts(&[named("b"), named("c")]).expect("hosts");
    store.put_definition("name = 'x'").expect("a definition");
    // Put in another order than their numbers.
    store.put_session(&session(10)).expect("a session");
    store.put_session(&session(2)).expect("a session");
    store.put_session(&Session { ended: Some(Ended::Complete), ..session(10) }).expect("again");
    store.put_ended(&Ended::Interrupted { why: "by hand".into() }).expect("an end");
    let mut planned = plain.study.clone();
    planned.repeats = 77;
    store.put_study(&planned).expect("a plan");
    let mut more = trials();
    more[0].id.0 = "c".into();
    more[1].id.0 = "d".into();
    let mut failed = record("c", 0);
    failed.outcome =
        Outcome::Failed { at: Stage::Run, why: "it broke".into(), fault: Default::default() };
    store.put_more(&more, &[failed.clone(), record("d", 0)]).expect("more");
    store.put_records(&[record("d", 1), record("d", 2)]).expect("runs");
    let stored = read(&file).expect("a study");
    assert_eq!(stored.peer_hosts, [named("b"), named("c")]);
    assert_eq!((stored.definition.as_deref(), stored.study.repeats), (Some("name = 'x'"), 77));
    assert_eq!(
        stored.sessions,
        [session(2), Session { ended: Some(Ended::Complete), ..session(10) }]
    );
    assert_eq!(stored.ended, Some(Ended::Interrupted { why: "by hand".into() }));
    let ids: Vec<&str> = stored.trials.iter().map(|trial| trial.id.0.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    let runs: Vec<(&str, u32)> =
        stored.records.iter().map(|run| (run.trial.0.as_str(), run.repeat)).collect();
    let wanted = [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("c", 0), ("d", 0), ("d", 1), ("d", 2)];
    assert_eq!(runs, wanted, "in the order in which they were made");
    assert_eq!(stored.records[4], failed);
    let of = |done, failed| Counts { done, failed, skipped: 0 };
    let each = [("a", of(2, 0)), ("b", of(2, 0)), ("c", of(0, 1)), ("d", of(3, 0))];
    assert_eq!(counts(&file).expect("counts"), each.map(|(id, n)| (id.to_owned(), n)).into());
    assert_eq!(head(&file).expect("a head"), StoredStudy { records: Vec::new(), ..stored });
    assert!(matches!(chain(&file, None), Ok(Chain::Whole { links: 21, .. })));
    // All at once or not at all: the second is there already.
    let twice = store.put_more(&[], &[record("e", 0), record("d", 0)]).expect_err("it is there");
    assert!(twice.to_string().contains("x.narrows cannot be written"), "{twice}");
    store.put_records(&[record("e", 0), record("d", 1)]).expect_err("it is there");
    assert_eq!(read(&file).expect("a study").records.len(), 8);
}

#[test]
fn a_precision_that_stands_in_a_definition_only_is_taken_from_there() {
    let file = study(&folder("kept-precision"));
    let store = Store::open(&file).expect("a study");
    let text = "name = 'x'\n[precision]\nwithin_percent = 3\nrepeats_max = 9\n";
    store.put_definition(text).expect("a definition");
    let precision = |file: &Path| head(file).expect("a head").study.precision;
    let told = precision(&file).expect("a precision");
    assert_eq!((told.within_percent, told.confidence_percent, told.repeats_max), (3.0, 95.0, 9));
    let mut quick = head(&file).expect("a head").study;
    (quick.precision, quick.quick) = (None, true);
    store.put_study(&quick).expect("a plan");
    assert_eq!(precision(&file), None, "a quick try has none");
}

#[test]
fn one_writes_at_a_time_and_readers_read() {
    let dir = folder("kept-busy");
    let file = study(&dir);
    let store = Store::open(&file).expect("a study");
    let busy = Store::open(&file).err().expect("another writes");
    assert!(matches!(&busy, StoreError::Busy(at) if *at == file), "{busy}");
    assert_eq!(read(&file).expect("a reader").records.len(), 4);
    drop(store);
    Store::open(&file).expect("it is free");
    let of = StoredStudy::unmeasured(Host::default());
    let create = |path: &Path| Store::create(path, &of.study, &of.host).map(drop);
    assert!(matches!(create(&file), Err(StoreError::Exists(_))), "never overwritten");
    create(&dir.join("new.narrows")).expect("a file");
    assert_eq!(read(&dir.join("new.narrows")).expect("a study"), of);
    // What takes its name while it is made stays.
    let late = dir.join("late.narrows");
    let draft = Store::draft(&late, &of.study, &of.host).expect("a draft");
    assert!(!late.exists(), "nobody sees it yet");
    std::fs::write(&late, "another's").expect("a file");
    assert!(matches!(draft.publish().map(drop), Err(StoreError::Exists(_))));
    assert_eq!(std::fs::read_to_string(&late).expect("a file"), "another's");
    // Of two that begin in one second both have a file, and neither the other's.
    let both = dir.join("tcp-1.narrows");
    let drafts = [(); 2].map(|()| Store::draft(&both, &of.study, &of.host).expect("a draft"));
    let stores = drafts.map(|draft| draft.publish_numbered().expect("a file"));
    let names = stores.each_ref().map(|store| store.path().to_owned());
    assert_eq!(names, [both.clone(), dir.join("tcp-1-2.narrows")]);
    assert!(matches!(create(&dir.join("no/x.narrows")), Err(StoreError::Unwritable { .. })));
    drop(Store::draft(&dir.join("never.narrows"), &of.study, &of.host).expect("a draft"));
    let names: Vec<String> = std::fs::read_dir(&dir)
        .expect("folder")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().all(|name| !name.contains(".making")), "{names:?}");
}

#[test]
fn old_drafts_without_a_maker_are_removed_and_no_others() {
    let dir = folder("kept-stale");
    let aged = |name: &str, seconds: u64| {
        let path = dir.join(name);
        let file = std::fs::File::create(&path).expect("a file");
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
        (path, file)
    };
    let (stale, unheld) = aged(".x.narrows.1-0.making", 600);
    let (held, lock) = aged(".x.narrows.2-0.making", 600);
    drop(unheld);
    lock.try_lock().expect("a lock");
    let others = [
        aged(".x.narrows.3-0.making", 5).0,
        aged(".y.narrows.1-0.making", 600).0,
        aged(".x.narrows.1-0.other", 600).0,
        aged("x.narrows.1-0.making", 600).0,
    ];
    study(&dir);
    assert!(!stale.exists() && held.exists());
    assert!(others.iter().all(|other| other.exists()), "{others:?}");
}

#[test]
fn what_is_no_study_is_told_in_plain_words() {
    let dir = folder("kept-foreign");
    let file = study(&dir);
    let good = std::fs::read(&file).expect("bytes");
    let told = |bytes: &[u8]| {
        let other = dir.join("other.narrows");
        std::fs::write(&other, bytes).expect("a file");
        is_database(&other).map_err(|error| error.to_string())
    };
    let says = |bytes: &[u8], words: &str| {
        let why = told(bytes).expect_err(words);
        assert!(
            why.contains("other.narrows is not a narrows study") && why.contains(words),
            "{why}"
        );
    };
    says(b"", "the file is empty");
    says(b"hello", "not an SQLite database");
    says(&good[..99], "ends within its header");
    assert_eq!(told(&good[..100]), Ok(()));
    for at in [18, 19] {
        let mut log = good.clone();
        log[at] = 2;
        says(&log, "write-ahead log");
    }
    let letters = |encoding: u8| {
        let mut other = good.clone();
        other[59] = encoding;
        told(&other)
    };
    assert!(letters(0).is_ok() && letters(1).is_ok() && letters(2).is_err());
    let missing = is_database(&dir.join("none")).expect_err("nothing").to_string();
    assert!(missing.contains("none cannot be read"), "{missing}");
    let changed = |sql: &str| {
        change(&file, sql);
        read(&file).expect_err(sql).to_string()
    };
    assert!(changed("PRAGMA user_version = 6").contains("version 6, this narrows knows 5"));
    assert!(changed("PRAGMA user_version = 0").contains("version 0"));
    change(&file, "PRAGMA user_version = 5");
    read(&file).expect("as it was");
    assert!(changed("PRAGMA application_id = 5").contains("another program's SQLite database"));
    // SQLite's header has it as four letters.
    assert_eq!(&good[68..72], b"NRRW");
}
