//! Files that somebody made to hang a reader, to fill its memory or to lose its runs.

mod common;

use common::{change, folder, record, study};
use narrows_store::{Store, StoreError, counts, head, read};
use std::path::Path;
use std::time::{Duration, Instant};

/// Every way to open a file refuses it, soon.
fn refused(file: &Path) -> String {
    let began = Instant::now();
    let ways: [&dyn Fn() -> Result<(), StoreError>; 4] =
        [&|| read(file).map(drop), &|| head(file).map(drop), &|| counts(file).map(drop), &|| {
            Store::open(file).map(drop)
        }];
    let words = ways.map(|way| way().expect_err("it is refused").to_string());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert!(words.iter().all(|said| *said == words[0]), "{words:?}");
    words[0].clone()
}

#[test]
fn what_is_in_a_schema_beside_a_studys_own_is_refused() {
    let endless = "WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n) \
                   SELECT number, 'a' AS trial, 0 AS repeat, 'done' AS outcome, '{}' AS json FROM n";
    for (sql, named) in [
        (
            format!("DROP VIEW run; DROP TABLE record; CREATE VIEW record AS {endless}"),
            "view 'record'",
        ),
        (
            "CREATE TRIGGER lost BEFORE INSERT ON record BEGIN SELECT raise(IGNORE); END".into(),
            "trigger 'lost'",
        ),
        ("CREATE TABLE more(a)".into(), "table 'more'"),
        ("CREATE INDEX slow ON record(json)".into(), "index 'slow'"),
        (format!("CREATE VIEW runs AS {endless}"), "view 'runs'"),
        ("DROP VIEW goodput".into(), "view 'goodput' is missing"),
        ("DROP VIEW run; CREATE VIEW run AS SELECT 1 AS number".into(), "view 'run'"),
        ("ALTER TABLE record ADD COLUMN x AS (zeroblob(900000000))".into(), "table 'record'"),
        ("CREATE VIRTUAL TABLE words USING fts5(a)".into(), "'words"),
        ("ANALYZE".into(), "table 'sqlite_stat"),
    ] {
        let file = study(&folder("hostile-schema"));
        change(&file, &sql);
        let said = refused(&file);
        assert!(said.contains(named), "{sql}: {said}");
    }
}

#[test]
fn pipes_logs_and_other_letters_are_refused() {
    let dir = folder("hostile-file");
    let pipe = dir.join("pipe.narrows");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(refused(&pipe).contains("not a regular file"));
    }
    let file = study(&dir);
    change(&file, "PRAGMA journal_mode=WAL");
    assert!(refused(&file).contains("write-ahead log"));
    change(&file, "PRAGMA journal_mode=DELETE");
    read(&file).expect("as it was");
}

/// A table's only page made to lead back to itself.
#[test]
fn pages_that_lead_back_to_themselves_end_in_an_error() {
    let dir = folder("hostile-pages");
    let file = study(&dir);
    let store = Store::open(&file).expect("a study");
    // So many that the table has an inner page.
    (2..300).for_each(|repeat| store.put_record(&record("a", repeat)).expect("a run"));
    drop(store);
    let database = rusqlite::Connection::open(&file).expect("database");
    let root: i64 = database
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'record'", [], |row| row.get(0))
        .expect("a root");
    drop(database);
    let mut bytes = std::fs::read(&file).expect("file");
    let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let page = &mut bytes[(root as usize - 1) * page_bytes..root as usize * page_bytes];
    assert_eq!(page[0], 5, "an inner page");
    // All its children are the first.
    let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
    let at = |page: &[u8], cell: usize| {
        usize::from(u16::from_be_bytes([page[12 + 2 * cell], page[13 + 2 * cell]]))
    };
    let first: [u8; 4] = page[at(page, 0)..][..4].try_into().expect("a child");
    for cell in 1..cells {
        let at = at(page, cell);
        page[at..at + 4].copy_from_slice(&first);
    }
    page[8..12].copy_from_slice(&first);
    std::fs::write(&file, bytes).expect("file");
    let said = read(&file).expect_err("it is refused").to_string();
    assert!(said.contains("damaged") || said.contains("not in order"), "{said}");
    narrows_store::chain(&file, None).expect_err("it is damaged");
}

#[test]
fn values_beyond_reason_are_errors() {
    let dir = folder("hostile-values");
    for (sql, says) in [
        ("UPDATE record SET json = zeroblob(70000000) WHERE number = 2", "larger than any"),
        ("UPDATE record SET json = zeroblob(1000) WHERE number = 2", "Blob"),
        ("UPDATE record SET json = 5 WHERE number = 2", ""),
        ("UPDATE part SET json = replace(hex(zeroblob(50000)), '0', '[') WHERE name = 'host'", ""),
        ("UPDATE trial SET position = 'first'", ""),
        ("UPDATE part SET name = 'other' WHERE name = 'study'", "no study"),
    ] {
        let file = study(&dir);
        change(&file, sql);
        let said = read(&file).expect_err(sql).to_string();
        assert!(said.contains("x.narrows") && said.contains(says), "{sql}: {said}");
        std::fs::remove_file(&file).expect("removed");
    }
}
