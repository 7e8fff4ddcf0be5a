//! One study = one `.narrows` file: an SQLite database with its own application id and a versioned
//! schema, which every SQLite tool can read.
//!
//! Each record is one transaction: a file is valid after every run, whatever happens next. Facts
//! and records are stored as the JSON of their types; the views `run` and `goodput` show the common
//! figures as columns. Results are never stored.

#![forbid(unsafe_code)]

use narrows_facts::host::Host;
use narrows_facts::record::Record;
use narrows_facts::study::{Ended, StoredStudy, Study};
use narrows_facts::trial::Trial;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// "NRRW": the file belongs to narrows (SQLite header, offset 68).
const APPLICATION_ID: i64 = 0x4e52_5257;
/// Version of the tables.
const LAYOUT_VERSION: i64 = 1;
/// Text that every SQLite database begins with.
const SQLITE_HEADER: &[u8] = b"SQLite format 3\0";

const LAYOUT: &str = "
CREATE TABLE part(name TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE trial(
  id TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  label TEXT NOT NULL,
  json TEXT NOT NULL);
CREATE TABLE record(
  number INTEGER PRIMARY KEY,
  trial TEXT NOT NULL REFERENCES trial(id),
  repeat INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  json TEXT NOT NULL,
  UNIQUE(trial, repeat));
CREATE VIEW run AS
  SELECT record.number, trial.label, record.repeat, record.outcome,
    json_extract(record.json, '$.around.began_unix_ns') AS began_unix_ns,
    json_extract(record.json, '$.sink.window_ns') AS window_ns
  FROM record JOIN trial ON trial.id = record.trial;
CREATE VIEW goodput AS
  SELECT record.number, trial.label, record.repeat,
    sum(json_extract(flow.value, '$.bytes')) * 8e9
      / json_extract(record.json, '$.sink.window_ns') AS goodput_bps
  FROM record JOIN trial ON trial.id = record.trial,
    json_each(record.json, '$.sink.flows') AS flow
  WHERE record.outcome = 'done'
  GROUP BY record.number;
";

/// Why a study could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file is there already.
    #[error("{0} exists already and is not overwritten")]
    Exists(PathBuf),
    /// It is some other file.
    #[error("{path} is not a narrows study: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// It was a study and is damaged, or made by a version that this one does not know.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No room is left, or the folder cannot be written.
    #[error("{path} cannot be written: {why}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        why: String,
    },
}

/// A study that is being written.
pub struct Store {
    path: PathBuf,
    database: Connection,
}

impl Store {
    /// Makes a new file; an existing one is never touched.
    pub fn create(path: &Path, study: &Study, host: &Host) -> Result<Self, StoreError> {
        let unwritable = |why: String| StoreError::Unwritable { path: path.to_owned(), why };
        // The system's own words are clearer than SQLite's "unable to open database file".
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
        match made {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists(path.to_owned()));
            }
            made => drop(made.map_err(|error| unwritable(error.to_string()))?),
        }
        let database = Connection::open(path).map_err(|error| unwritable(says(&error)))?;
        let store = Self { path: path.to_owned(), database };
        let laid_out = store.lay_out();
        laid_out.map_err(|error| unwritable(says(&error)))?;
        store.put_part("study", study)?;
        store.put_part("host", host)?;
        Ok(store)
    }

    fn lay_out(&self) -> rusqlite::Result<()> {
        self.database.pragma_update(None, "application_id", APPLICATION_ID)?;
        self.database.pragma_update(None, "user_version", LAYOUT_VERSION)?;
        self.database.execute_batch(&format!("BEGIN;{LAYOUT}COMMIT;"))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores the host at the other end.
    pub fn put_peer_hosts(&self, hosts: &[Host]) -> Result<(), StoreError> {
        self.put_part("peer-hosts", &hosts)
    }

    /// Stores the cells, in order.
    pub fn put_trials(&mut self, trials: &[Trial]) -> Result<(), StoreError> {
        let rows: Result<Vec<_>, _> =
            trials.iter().map(|trial| self.json(trial).map(|json| (trial, json))).collect();
        let rows = rows?;
        let put = |database: &mut Connection| {
            let all = database.transaction()?;
            for (position, (trial, json)) in rows.iter().enumerate() {
                all.execute(
                    "INSERT INTO trial VALUES(?1, ?2, ?3, ?4)",
                    (&trial.id.0, position as i64, &trial.label, json),
                )?;
            }
            all.commit()
        };
        put(&mut self.database).map_err(|error| self.unwritable(&error))
    }

    /// Stores one run; when this returns, the run is on disk.
    pub fn put_record(&self, record: &Record) -> Result<(), StoreError> {
        use narrows_facts::record::Outcome;
        let outcome = match record.outcome {
            Outcome::Done => "done",
            Outcome::Failed { .. } => "failed",
        };
        let json = self.json(record)?;
        let row = (&record.trial.0, record.repeat, outcome, json);
        let put = self.database.execute(
            "INSERT INTO record(trial, repeat, outcome, json) VALUES(?1, ?2, ?3, ?4)",
            row,
        );
        put.map(drop).map_err(|error| self.unwritable(&error))
    }

    /// Says how the study ended.
    pub fn put_ended(&self, ended: &Ended) -> Result<(), StoreError> {
        self.put_part("ended", ended)
    }

    fn put_part(&self, name: &str, part: &impl Serialize) -> Result<(), StoreError> {
        let json = self.json(part)?;
        let put = self.database.execute("INSERT OR REPLACE INTO part VALUES(?1, ?2)", (name, json));
        put.map(drop).map_err(|error| self.unwritable(&error))
    }

    fn json(&self, value: &impl Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|error| StoreError::Unwritable {
            path: self.path.clone(),
            why: error.to_string(),
        })
    }

    fn unwritable(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::Unwritable { path: self.path.clone(), why: says(error) }
    }
}

/// Reads a whole study. The file is not changed.
pub fn read(path: &Path) -> Result<StoredStudy, StoreError> {
    is_database(path)?;
    let unreadable = |why: String| StoreError::Unreadable { path: path.to_owned(), why };
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| unreadable(says(&error)))?;
    belongs(&database, path)?;
    let whole: String = database
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| unreadable(says(&error)))?;
    if whole != "ok" {
        return Err(unreadable(format!("the database is damaged: {whole}")));
    }
    let reader = Reader { path, database: &database };
    Ok(StoredStudy {
        study: reader.part("study")?.ok_or_else(|| unreadable("it has no study".into()))?,
        host: reader.part("host")?.ok_or_else(|| unreadable("it has no host".into()))?,
        peer_hosts: reader.part("peer-hosts")?.unwrap_or_default(),
        ended: reader.part("ended")?,
        trials: reader.all("SELECT json FROM trial ORDER BY position")?,
        records: reader.all("SELECT json FROM record ORDER BY number")?,
    })
}

/// Tells "not there" and "not a database" apart before SQLite does, in plainer words.
fn is_database(path: &Path) -> Result<(), StoreError> {
    use std::io::Read;
    let unreadable = |why: std::io::Error| StoreError::Unreadable {
        path: path.to_owned(),
        why: why.to_string(),
    };
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(SQLITE_HEADER.len() as u64).read_to_end(&mut head).map_err(unreadable)?;
    if head == SQLITE_HEADER {
        return Ok(());
    }
    let why = if head.is_empty() { "the file is empty" } else { "it is no SQLite database" };
    Err(StoreError::Foreign { path: path.to_owned(), why: why.to_owned() })
}

fn belongs(database: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |pragma: &str| {
        database
            .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::Unreadable { path: path.to_owned(), why: says(&error) })
    };
    if number("application_id")? != APPLICATION_ID {
        let why = "it is another program's SQLite database".to_owned();
        return Err(StoreError::Foreign { path: path.to_owned(), why });
    }
    match number("user_version")? {
        LAYOUT_VERSION => Ok(()),
        version => Err(StoreError::Unreadable {
            path: path.to_owned(),
            why: format!("its layout is version {version}, this narrows knows {LAYOUT_VERSION}"),
        }),
    }
}

struct Reader<'a> {
    path: &'a Path,
    database: &'a Connection,
}

impl Reader<'_> {
    fn part<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let json: Option<String> = self
            .database
            .query_row("SELECT json FROM part WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|error| self.unreadable(says(&error)))?;
        json.map(|json| self.parse(&json, name)).transpose()
    }

    fn all<T: DeserializeOwned>(&self, query: &str) -> Result<Vec<T>, StoreError> {
        let rows = || {
            let mut statement = self.database.prepare(query)?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        };
        let rows = rows().map_err(|error| self.unreadable(says(&error)))?;
        rows.iter().map(|json| self.parse(json, query)).collect()
    }

    fn parse<T: DeserializeOwned>(&self, json: &str, what: &str) -> Result<T, StoreError> {
        serde_json::from_str(json).map_err(|error| self.unreadable(format!("{what}: {error}")))
    }

    fn unreadable(&self, why: String) -> StoreError {
        StoreError::Unreadable { path: self.path.to_owned(), why }
    }
}

/// The words of an SQLite error.
fn says(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "no room is left on the disk".to_owned(),
        Some(ErrorCode::ReadOnly) => "the folder or the disk is read-only".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged".to_owned(),
        _ => error.to_string(),
    }
}
