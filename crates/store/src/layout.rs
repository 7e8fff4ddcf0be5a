//! What a study file is made of. A file is opened only if its tables, indices and views are those
//! of a layout that narrows has written, word for word: nothing in a file is run or trusted.

use crate::{StoreError, says};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// "NRRW": the file belongs to narrows (SQLite header, offset 68).
const APPLICATION_ID: i64 = 0x4e52_5257;
/// Version of the tables.
pub const VERSION: i64 = 5;
/// The oldest version that is read: it has no sessions.
pub const VERSION_OLDEST: i64 = 1;
/// The first version whose rows are chained.
pub const VERSION_CHAINED: i64 = 3;

/// Text that every SQLite database begins with.
const SQLITE_HEADER: &[u8] = b"SQLite format 3\0";
/// Where the header says which journal readers and writers keep, and in what letters text is.
const HEADER_WRITER: usize = 18;
const HEADER_READER: usize = 19;
const HEADER_LETTERS: usize = 59;

/// No value of a study is longer: runs of a day in slices of a tenth of a second are far below.
const VALUE_BYTES_MAX: i32 = 64 << 20;
/// How long reading may take, and how much longer for each MiB of the file.
const READ_WITHIN: Duration = Duration::from_secs(60);
const READ_WITHIN_MIB: Duration = Duration::from_secs(1);
/// Steps of SQLite from one look at the clock to the next.
const STEPS: i32 = 100_000;

const TABLES: &str = include_str!("layouts/2-tables.sql");
const VIEWS_2: &str = include_str!("layouts/2-views.sql");
const CHAIN: &str = include_str!("layouts/3-chain.sql");
const VIEWS_3: &str = include_str!("layouts/3-views.sql");
const VIEWS_4: &str = include_str!("layouts/4-views.sql");
const VIEWS: &str = include_str!("layouts/5-views.sql");

/// Every layout that was ever written, with its version.
fn layouts() -> [(i64, String); 6] {
    [
        (1, include_str!("layouts/1-early.sql").to_owned()),
        (1, include_str!("layouts/1.sql").to_owned()),
        (2, TABLES.to_owned() + VIEWS_2),
        (3, TABLES.to_owned() + CHAIN + VIEWS_3),
        (4, TABLES.to_owned() + CHAIN + VIEWS_4),
        (VERSION, TABLES.to_owned() + CHAIN + VIEWS),
    ]
}

/// Lays a new database out.
pub fn lay_out(database: &Connection) -> rusqlite::Result<()> {
    database.pragma_update(None, "application_id", APPLICATION_ID)?;
    database.execute_batch(TABLES)?;
    database.execute_batch(CHAIN)?;
    database.execute_batch(VIEWS)?;
    database.pragma_update(None, "user_version", VERSION)
}

/// Gives a database of version 2, 3 or 4 what it lacks; within a transaction of the caller's.
pub fn upgrade(database: &Connection, version: i64) -> rusqlite::Result<()> {
    for name in names_of_views(database)? {
        database.execute_batch(&format!("DROP VIEW {name};"))?;
    }
    if version < VERSION_CHAINED {
        database.execute_batch(CHAIN)?;
    }
    database.execute_batch(VIEWS)?;
    database.pragma_update(None, "user_version", VERSION)
}

/// The views of a database that is laid out as a study: their names are ours.
fn names_of_views(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Opens a database to read it, or to write to it as well: on guard, within limits, and only if it
/// is laid out as a study. Tells the version too.
pub fn open(path: &Path, flags: OpenFlags) -> Result<(Connection, i64), StoreError> {
    is_database(path)?;
    let unreadable = |why: String| StoreError::Unreadable { path: path.to_owned(), why };
    let mut database = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| unreadable(says(&error)))?;
    guard(&mut database, path).map_err(|error| unreadable(says(&error)))?;
    let version = belongs(&database, path)?;
    Ok((database, version))
}

/// Lets a file's schema call nothing, and ends what goes on for too long.
fn guard(database: &mut Connection, path: &Path) -> rusqlite::Result<()> {
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    database.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    database.busy_timeout(crate::BUSY)?;
    database.execute_batch("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;")?;
    let mib = std::fs::metadata(path).map_or(0, |data| data.len() >> 20);
    let within = READ_WITHIN + READ_WITHIN_MIB * u32::try_from(mib).unwrap_or(u32::MAX);
    let until = Instant::now().checked_add(within);
    database.progress_handler(STEPS, Some(move || until.is_some_and(|at| Instant::now() > at)))
}

/// Ends the limit of time: a study is written for as long as it takes.
pub fn unhurried(database: &mut Connection) -> rusqlite::Result<()> {
    database.progress_handler(0, None::<fn() -> bool>)
}

/// Tells "not there" and "not a database" apart before SQLite does, in plainer words.
pub fn is_database(path: &Path) -> Result<(), StoreError> {
    use std::io::Read;
    let unopened = |error| StoreError::Unopened { path: path.to_owned(), error };
    let foreign =
        |why: &str| Err(StoreError::Foreign { path: path.to_owned(), why: why.to_owned() });
    // A pipe would be waited for without end.
    let data = std::fs::metadata(path).map_err(unopened)?;
    if !data.is_file() {
        return Err(StoreError::Irregular(path.to_owned()));
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(unopened)?;
    file.take(100).read_to_end(&mut head).map_err(unopened)?;
    match head.as_slice() {
        [] => foreign("the file is empty"),
        head if !head.starts_with(SQLITE_HEADER) => foreign("it is not an SQLite database"),
        head if head.len() < 100 => foreign("it ends within its header"),
        // Studies keep a rollback journal and UTF-8.
        head if head[HEADER_WRITER] != 1 || head[HEADER_READER] != 1 => {
            foreign("it keeps a write-ahead log")
        }
        // A file whose first transaction never ended says 0.
        head if head[HEADER_LETTERS] > 1 => foreign("its text is not UTF-8"),
        _ => Ok(()),
    }
}

/// One line of a database's schema.
type Object = (String, String, String, Option<String>);

fn objects(database: &Connection) -> rusqlite::Result<BTreeSet<Object>> {
    let mut statement = database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Option<String>>(3)?))
    })?;
    rows.collect()
}

/// The objects of a layout, as SQLite itself notes them down.
fn objects_of(layout: &str) -> rusqlite::Result<BTreeSet<Object>> {
    let database = Connection::open_in_memory()?;
    database.execute_batch(layout)?;
    objects(&database)
}

/// The version of the tables, if they are ours and nothing else is there.
fn belongs(database: &Connection, path: &Path) -> Result<i64, StoreError> {
    let unreadable = |error: rusqlite::Error| StoreError::Unreadable {
        path: path.to_owned(),
        why: says(&error),
    };
    let foreign = |why: String| StoreError::Foreign { path: path.to_owned(), why };
    let number = |pragma: &str| {
        database.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(unreadable)
    };
    if number("application_id")? != APPLICATION_ID {
        return Err(foreign("it is another program's SQLite database".to_owned()));
    }
    let version = number("user_version")?;
    if !(VERSION_OLDEST..=VERSION).contains(&version) {
        let why = format!("its layout is version {version}, this narrows knows {VERSION}");
        return Err(StoreError::Unreadable { path: path.to_owned(), why });
    }
    let found = objects(database).map_err(unreadable)?;
    let mut nearest: Option<BTreeSet<Object>> = None;
    for (_, layout) in layouts().iter().filter(|(of, _)| *of == version) {
        let wanted = objects_of(layout).map_err(unreadable)?;
        if wanted == found {
            return Ok(version);
        }
        nearest = Some(wanted);
    }
    Err(foreign(difference(&nearest.unwrap_or_default(), &found)))
}

/// The first object that a study does not have, or that is missing.
fn difference(wanted: &BTreeSet<Object>, found: &BTreeSet<Object>) -> String {
    match (found.difference(wanted).next(), wanted.difference(found).next()) {
        (Some(other), _) => format!("its {} is not one that narrows makes", named(other)),
        (None, Some(missing)) => format!("its {} is missing", named(missing)),
        (None, None) => "its tables are not those of a study".to_owned(),
    }
}

fn named((kind, name, ..): &Object) -> String {
    format!("{kind} '{}'", name.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgraded_database_is_laid_out_like_a_new_one() {
        for (version, layout) in layouts().iter().filter(|(version, _)| [2, 3, 4].contains(version))
        {
            let old = Connection::open_in_memory().expect("database");
            old.execute_batch(layout).expect("layout");
            upgrade(&old, *version).expect("upgrade");
            let new = Connection::open_in_memory().expect("database");
            lay_out(&new).expect("layout");
            assert_eq!(objects(&old).expect("objects"), objects(&new).expect("objects"));
            assert_eq!(objects(&new).expect("objects").len(), 17);
        }
    }
}
