//! One study = one `.narrows` file: an SQLite database with its own application id and a versioned
//! schema, which every SQLite tool can read.
//!
//! Each record is one transaction: a file is valid after every run, whatever happens next. Facts
//! and records are stored as the JSON of their types; the views `run` and `goodput` show the common
//! figures as columns. Results are never stored.

#![forbid(unsafe_code)]

use narrows_facts::host::Host;
use narrows_facts::record::Record;
use narrows_facts::study::{Ended, Session, Study};
use narrows_facts::trial::Trial;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::Serialize;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

pub mod import;
mod read;

pub use read::{Counts, counts, head, is_database, read};

/// "NRRW": the file belongs to narrows (SQLite header, offset 68).
const APPLICATION_ID: i64 = 0x4e52_5257;
/// Version of the tables.
const LAYOUT_VERSION: i64 = 2;
/// The oldest version that is read: it has no sittings.
const LAYOUT_VERSION_OLDEST: i64 = 1;
/// How long a reader and a writer wait for each other.
const BUSY: Duration = Duration::from_secs(5);

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
CREATE INDEX record_outcome ON record(trial, outcome);
CREATE TABLE session(number INTEGER PRIMARY KEY, json TEXT NOT NULL);
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
    /// Another narrows is measuring into it.
    #[error("{0} is being written by another narrows")]
    Busy(PathBuf),
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
    /// Held as long as the file is written, and closed after the database: closing any descriptor
    /// of a file drops the locks that SQLite has on it.
    _lock: File,
}

impl Store {
    /// Makes a new file; an existing one is never touched.
    pub fn create(path: &Path, study: &Study, host: &Host) -> Result<Self, StoreError> {
        let unwritable = |why: String| StoreError::Unwritable { path: path.to_owned(), why };
        // The system's own words are clearer than SQLite's "unable to open database file".
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
        let lock = match made {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists(path.to_owned()));
            }
            made => made.map_err(|error| unwritable(error.to_string()))?,
        };
        held(&lock, path)?;
        let database = Connection::open(path).map_err(|error| unwritable(says(&error)))?;
        durable(&database).map_err(|error| unwritable(says(&error)))?;
        let store = Self { path: path.to_owned(), database, _lock: lock };
        let laid_out = store.lay_out();
        laid_out.map_err(|error| unwritable(says(&error)))?;
        store.put_part("study", study)?;
        store.put_part("host", host)?;
        Ok(store)
    }

    /// Opens a file to go on with it. One process at a time may.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        read::is_database(path)?;
        let unwritable = |why: String| StoreError::Unwritable { path: path.to_owned(), why };
        let lock = std::fs::OpenOptions::new().read(true).write(true).open(path);
        let lock = lock.map_err(|error| unwritable(error.to_string()))?;
        held(&lock, path)?;
        let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| unwritable(says(&error)))?;
        let set = database.busy_timeout(BUSY).and_then(|()| durable(&database));
        set.map_err(|error| unwritable(says(&error)))?;
        let version = read::belongs(&database, path)?;
        if version != LAYOUT_VERSION {
            let why = format!("its layout is version {version}, which is only read");
            return Err(StoreError::Unreadable { path: path.to_owned(), why });
        }
        Ok(Self { path: path.to_owned(), database, _lock: lock })
    }

    fn lay_out(&self) -> rusqlite::Result<()> {
        self.database.busy_timeout(BUSY)?;
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

    /// Stores the text of a study's definition.
    pub fn put_definition(&self, text: &str) -> Result<(), StoreError> {
        self.put_part("definition", &text)
    }

    /// Stores a sitting, or how it ended.
    pub fn put_session(&self, session: &Session) -> Result<(), StoreError> {
        let json = self.json(session)?;
        let row = (session.number, json);
        let put = self.database.execute("INSERT OR REPLACE INTO session VALUES(?1, ?2)", row);
        put.map(drop).map_err(|error| self.unwritable(&error))
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

    /// Stores many runs at once; either all are on disk when this returns, or none is.
    pub fn put_records(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let begin = self.database.execute_batch("BEGIN");
        begin.map_err(|error| self.unwritable(&error))?;
        let put = records.iter().try_for_each(|record| self.put_record(record));
        let end = self.database.execute_batch(if put.is_ok() { "COMMIT" } else { "ROLLBACK" });
        put.and(end.map_err(|error| self.unwritable(&error)))
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

/// Takes the file for this process alone, until it is closed.
fn held(file: &File, path: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(path.to_owned())),
        // Some network file systems have no locks; measuring there works all the same.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// The words of an SQLite error.
/// A run that is told to be done is on disk, whatever happens to the power next: the folder is
/// synced too once the journal is gone. With less the journal can come back and undo the last run
/// (lab/study saw it do so).
fn durable(database: &Connection) -> rusqlite::Result<()> {
    database.pragma_update(None, "synchronous", "EXTRA")
}

fn says(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "no room is left on the disk".to_owned(),
        Some(ErrorCode::ReadOnly) => "the folder or the disk is read-only".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged".to_owned(),
        _ => error.to_string(),
    }
}
