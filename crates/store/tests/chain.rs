//! The chain: what was altered in a file is noticed, whatever of it that was.

mod common;

use common::{change, folder, record, study};
use narrows_model::study::{Ended, StoredStudy};
use narrows_store::{Break, Chain, Noted, Store, What, chain, chain_head, read};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn broken(sql: &str) -> Vec<Break> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let file = study(&folder(&format!("chain-broken-{}", COUNT.fetch_add(1, Relaxed))));
    change(&file, sql);
    match chain(&file, None).expect("a chain") {
        Chain::Broken(breaks) => breaks,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn every_part_of_every_row_is_under_the_chain() {
    let whole = study(&folder("chain"));
    let Chain::Whole { links, head, adopted: 0, noted: None } = chain(&whole, None).expect("chain")
    else {
        panic!("{:?}", chain(&whole, None))
    };
    // Study, host, two cells, four runs.
    assert_eq!((links, Some(head)), (8, chain_head(&whole).expect("a head")));
    let changed = |what, key: &str| vec![Break::Changed(what, key.to_owned())];
    let began = "UPDATE record SET json = replace(json, '\"began_unix_ns\":7', \
                 '\"began_unix_ns\":8') WHERE number = 3";
    assert_eq!(broken(began), changed(What::Record, "3"));
    let outcome = "UPDATE record SET outcome = 'failed' WHERE number = 4";
    assert_eq!(broken(outcome), changed(What::Record, "4"));
    assert_eq!(broken("UPDATE record SET repeat = 9 WHERE number = 1"), changed(What::Record, "1"));
    let moved = "UPDATE record SET trial = 'a', repeat = 7 WHERE number = 2";
    assert_eq!(broken(moved), changed(What::Record, "2"));
    let cell = "UPDATE trial SET json = replace(json, '64', '65') WHERE id = 'a'";
    assert_eq!(broken(cell), changed(What::Trial, "a"));
    assert_eq!(broken("UPDATE trial SET label = 'c' WHERE id = 'b'"), changed(What::Trial, "b"));
    let order = "UPDATE trial SET position = 1 - position";
    assert_eq!(broken(order).len(), 2);
    let host = "UPDATE part SET json = json || ' ' WHERE name = 'host'";
    assert_eq!(broken(host), changed(What::Part, "host"));
}

#[test]
fn what_is_taken_out_put_in_or_put_elsewhere_is_noticed() {
    let gone = |key: &str| Break::Gone(What::Record, key.to_owned());
    assert_eq!(broken("DELETE FROM record WHERE number = 2"), [gone("2")]);
    // With its link, in the middle and at the end.
    let middle = "DELETE FROM record WHERE number = 2; DELETE FROM link WHERE number = 6";
    assert_eq!(broken(middle), [Break::Link(7)]);
    let closed = "DELETE FROM record WHERE number = 2; DELETE FROM link WHERE number = 6; \
                  UPDATE link SET number = number - 1 WHERE number > 6";
    assert!(broken(closed).contains(&Break::Link(6)), "{:?}", broken(closed));
    let end = "DELETE FROM record WHERE number = 4; DELETE FROM link WHERE number = 8";
    assert_eq!(broken(end), [Break::Head]);
    let order = "UPDATE record SET number = 10 WHERE number = 1; \
                 UPDATE record SET number = 1 WHERE number = 2; \
                 UPDATE record SET number = 2 WHERE number = 10";
    assert_eq!(broken(order).len(), 2);
    let more = "INSERT INTO record(trial, repeat, outcome, json) \
                SELECT 'a', 5, outcome, json FROM record WHERE number = 1";
    assert_eq!(broken(more), [Break::Added(What::Record, "5".to_owned())]);
    assert!(broken("DELETE FROM link; DELETE FROM head").len() > 4);
    assert_eq!(broken("DELETE FROM head"), [Break::Head]);
    let claimed = "INSERT INTO link SELECT 9, 'adopted', '3', digest, hash FROM link LIMIT 1";
    assert!(broken(claimed).contains(&Break::Link(9)));
}

#[test]
fn a_noted_head_shows_that_a_chain_was_made_anew_and_that_a_study_went_on() {
    let file = study(&folder("chain-noted"));
    let noted = chain_head(&file).expect("a head").expect("a chain");
    let where_is = |noted: &str| match chain(&file, Some(noted)).expect("a chain") {
        Chain::Whole { links, noted, .. } => (links, noted),
        broken => panic!("{broken:?}"),
    };
    assert_eq!(where_is(&noted), (8, Some(Noted::Link(8))));
    let store = Store::open(&file).expect("a study");
    store.put_record(&record("a", 2)).expect("a run");
    store.put_ended(&Ended::Interrupted { why: "by hand".to_owned() }).expect("an end");
    store.put_ended(&Ended::Complete).expect("another end");
    drop(store);
    assert_eq!(where_is(&noted), (11, Some(Noted::Link(8))), "what is replaced breaks nothing");
    assert_eq!(where_is(&"0".repeat(64)), (11, Some(Noted::Nowhere)));
}

/// A study that an older narrows has written.
fn older(name: &str, version: i64) -> std::path::PathBuf {
    let dir = folder(name);
    let new = study(&dir);
    let file = dir.join("old.narrows");
    let layout = match version {
        1 => include_str!("../src/layouts/1.sql").to_owned(),
        3 | 4 => {
            include_str!("../src/layouts/2-tables.sql").to_owned()
                + include_str!("../src/layouts/3-chain.sql")
                + if version == 3 {
                    include_str!("../src/layouts/3-views.sql")
                } else {
                    include_str!("../src/layouts/4-views.sql")
                }
        }
        _ => {
            include_str!("../src/layouts/2-tables.sql").to_owned()
                + include_str!("../src/layouts/2-views.sql")
        }
    };
    let chained = if version < 3 { &[][..] } else { &["session", "link", "head"] };
    let rows: String = ["part", "trial", "record"]
        .iter()
        .chain(chained)
        .map(|table| format!("INSERT INTO {table} SELECT * FROM new.{table};"))
        .collect();
    let set = format!(
        "PRAGMA application_id = 0x4e525257; PRAGMA user_version = {version}; {layout} \
         ATTACH '{}' AS new; {rows} DETACH new;",
        new.display()
    );
    change(&file, &set);
    assert_eq!(read(&file).expect("old"), read(&new).expect("new"));
    file
}

#[test]
fn a_file_of_layout_3_keeps_its_chain_and_gets_the_views_of_today() {
    goes_on_with_todays_views(3);
}

#[test]
fn a_file_of_layout_4_keeps_its_chain_and_gets_the_views_of_today() {
    goes_on_with_todays_views(4);
}

/// Stores a run in a file of this layout: its chain goes on, and its views are those of today.
fn goes_on_with_todays_views(version: i64) {
    let file = older(&format!("chain-{version}"), version);
    let head = chain_head(&file).expect("a head").expect("a chain");
    let Chain::Whole { links, .. } = chain(&file, Some(&head)).expect("a chain") else {
        panic!("{:?}", chain(&file, None))
    };
    let side = || -> Option<String> {
        let database = rusqlite::Connection::open(&file).expect("database");
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = 'side'";
        database.query_row(sql, [], |row| row.get(0)).ok()
    };
    let old = side();
    assert_eq!(old.is_some(), version == 4);
    let store = Store::open(&file).expect("it goes on");
    store.put_record(&record("a", 2)).expect("a run");
    drop(store);
    assert!(side().is_some() && side() != old, "{version}");
    let Chain::Whole { links: more, adopted, .. } = chain(&file, Some(&head)).expect("a chain")
    else {
        panic!("{:?}", chain(&file, None))
    };
    assert_eq!((more, adopted), (links + 1, 0));
    assert_eq!(read(&file).expect("a study").records.len(), 5);
}

#[test]
fn a_file_without_a_chain_is_read_and_gets_one_when_it_goes_on() {
    assert_eq!(chain(&older("chain-oldest", 1), None).expect("read"), Chain::None);
    let file = older("chain-old", 2);
    assert_eq!(chain(&file, None).expect("read"), Chain::None);
    assert_eq!(chain_head(&file).expect("read"), None);
    let store = Store::open(&file).expect("it goes on");
    store.put_record(&record("a", 2)).expect("a run");
    drop(store);
    let Chain::Whole { links, adopted, .. } = chain(&file, None).expect("a chain") else {
        panic!("{:?}", chain(&file, None))
    };
    assert_eq!((links, adopted), (10, 4));
    let stored: StoredStudy = read(&file).expect("a study");
    assert_eq!(stored.records.len(), 5);
    change(&file, "UPDATE record SET repeat = 8 WHERE number = 2");
    let changed = Break::Changed(What::Record, "2".to_owned());
    assert_eq!(chain(&file, None).expect("a chain"), Chain::Broken(vec![changed]));
}
