//! One study = one `.narrows` file: an SQLite database with its own application id and a versioned
//! schema, which every SQLite tool can read.
//!
//! Each record is one transaction: a file is valid after every run, whatever happens next. Facts
//! and records are stored as the JSON of their types; the views `run` and `goodput` show the common
//! figures as columns. Results are never stored.

#![forbid(unsafe_code)]

use crate::chain::Row;
use narrows_model::host::Host;
use narrows_model::record::Record;
use narrows_model::study::{Ended, Session, Study};
use narrows_model::trial::Trial;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::Serialize;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

mod chain;
mod draft;
mod layout;
mod read;

pub use chain::{Break, Chain, Noted, What};
pub use draft::Draft;
pub use layout::is_database;
pub use read::{Counts, chain, chain_head, counts, head, read};

/// How long a reader and a writer wait for each other. Going through the chain of a large file
/// takes seconds, and no run may be lost to somebody who looks.
const BUSY: Duration = Duration::from_secs(60);

/// Why a study could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file is there already.
    #[error("{0} exists already and is not overwritten")]
    Exists(PathBuf),
    /// It is some other file.
    #[error("{path} is not a narrows study: {why}")]
    Foreign {
        /// Path of the study file.
        path: PathBuf,
        why: String,
    },
    /// The system does not let us read it.
    #[error("{path} cannot be read: {error}")]
    Unopened {
        /// Path of the study file.
        path: PathBuf,
        /// The system's answer.
        error: std::io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("{0} cannot be read: it is not a regular file")]
    Irregular(PathBuf),
    /// It was a study and is damaged, or made by a version that this one does not know.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// Path of the study file.
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
        /// Path of the study file.
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
    /// Begins a new file, which appears under its name when it is published; an existing one is
    /// never touched.
    pub fn draft(path: &Path, study: &Study, host: &Host) -> Result<Draft, StoreError> {
        Draft::begin(path, study, host)
    }

    /// A new file with a study's head and nothing more.
    pub fn create(path: &Path, study: &Study, host: &Host) -> Result<Self, StoreError> {
        Self::draft(path, study, host)?.publish()
    }

    /// Opens a file to go on with it. One process at a time may.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        is_database(path)?;
        let unwritable = |why: String| StoreError::Unwritable { path: path.to_owned(), why };
        let lock = std::fs::OpenOptions::new().read(true).write(true).open(path);
        let lock = lock.map_err(|error| unwritable(error.to_string()))?;
        held(&lock, path)?;
        Self::under(lock, path)
    }

    /// Opens a file whose lock this process holds.
    fn under(lock: File, path: &Path) -> Result<Self, StoreError> {
        let unwritable = |why: String| StoreError::Unwritable { path: path.to_owned(), why };
        let (mut database, version) = layout::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let set = layout::unhurried(&mut database).and_then(|()| durable(&database));
        set.map_err(|error| unwritable(says(&error)))?;
        let store = Self { path: path.to_owned(), database, _lock: lock };
        match version {
            layout::VERSION => {}
            layout::VERSION_OLDEST => {
                let why = format!("its layout is version {version}, which is only read");
                return Err(StoreError::Unreadable { path: path.to_owned(), why });
            }
            _ => store.all(|database| {
                layout::upgrade(database, version)?;
                if version < layout::VERSION_CHAINED { chain::adopt(database) } else { Ok(()) }
            })?,
        }
        Ok(store)
    }

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

    /// Stores a session, or how it ended.
    pub fn put_session(&self, session: &Session) -> Result<(), StoreError> {
        let row = Row::Session { number: session.number, json: self.json(session)? };
        self.all(|database| chain::append(database, row))
    }

    /// Stores the cells, in order.
    pub fn put_trials(&mut self, trials: &[Trial]) -> Result<(), StoreError> {
        let rows: Vec<Row<'_>> = (0..)
            .zip(trials)
            .map(|(position, trial)| Ok(Row::Trial { trial, position, json: self.json(trial)? }))
            .collect::<Result<_, StoreError>>()?;
        self.all(|database| rows.into_iter().try_for_each(|row| chain::append(database, row)))
    }

    /// Stores cells after those that are there, and runs, all at once.
    pub fn put_more(&mut self, trials: &[Trial], records: &[Record]) -> Result<(), StoreError> {
        let count = "SELECT coalesce(max(position) + 1, 0) FROM trial";
        let first: rusqlite::Result<i64> = self.database.query_row(count, [], |row| row.get(0));
        let first = first.map_err(|error| self.unwritable(&error))?;
        let mut rows = Vec::with_capacity(trials.len() + records.len());
        for (position, trial) in (first..).zip(trials) {
            rows.push(Row::Trial { trial, position, json: self.json(trial)? });
        }
        for record in records {
            rows.push(Row::Record { record, json: self.json(record)? });
        }
        self.all(|database| rows.into_iter().try_for_each(|row| chain::append(database, row)))
    }

    /// Stores what was planned in place of what was planned before.
    pub fn put_study(&self, study: &Study) -> Result<(), StoreError> {
        self.put_part("study", study)
    }

    /// Stores one run; when this returns, the run is on disk.
    pub fn put_record(&self, record: &Record) -> Result<(), StoreError> {
        let row = Row::Record { record, json: self.json(record)? };
        self.all(|database| chain::append(database, row))
    }

    /// Stores many runs at once; either all are on disk when this returns, or none is.
    pub fn put_records(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let rows = records.iter().map(|record| (record, self.json(record)));
        self.all(|database| {
            let mut unwritten = Ok(());
            for (record, json) in rows {
                match json {
                    Ok(json) => chain::append(database, Row::Record { record, json })?,
                    Err(error) => unwritten = Err(error),
                }
            }
            Ok(unwritten)
        })?
    }

    /// Says how the study ended.
    pub fn put_ended(&self, ended: &Ended) -> Result<(), StoreError> {
        self.put_part("ended", ended)
    }

    fn put_part(&self, name: &str, part: &impl Serialize) -> Result<(), StoreError> {
        let row = Row::Part { name, json: self.json(part)? };
        self.all(|database| chain::append(database, row))
    }

    /// Does it all in one transaction: what fails has stored nothing.
    fn all<T>(
        &self,
        put: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let put = || {
            let transaction = self.database.unchecked_transaction()?;
            let done = put(&transaction)?;
            transaction.commit().map(|()| done)
        };
        put().map_err(|error| self.unwritable(&error))
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

/// A run that is told to be done is on disk, whatever happens to the power next: the folder is
/// synced too once the journal is gone. With less the journal can come back and undo the last run
/// (lab/study saw it do so).
fn durable(database: &Connection) -> rusqlite::Result<()> {
    database.pragma_update(None, "synchronous", "EXTRA")
}

/// The words of an SQLite error.
fn says(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "no room is left on the disk".to_owned(),
        Some(ErrorCode::ReadOnly) => "the folder or the disk is read-only".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged".to_owned(),
        Some(ErrorCode::OperationInterrupted) => {
            "reading it takes longer than any study of its size does".to_owned()
        }
        Some(ErrorCode::TooBig) => "a value is larger than any of a study".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::study::StoredStudy;

    #[test]
    fn a_stored_run_outlives_a_power_failure_and_writing_has_no_limit() {
        let path = std::env::temp_dir().join(format!("narrows-set-{}.narrows", std::process::id()));
        let of = StoredStudy::unmeasured(Host::default());
        let draft = Store::draft(&path, &of.study, &of.host).expect("a draft");
        let number = |store: &Store, pragma: &str| -> i64 {
            store.database.pragma_query_value(None, pragma, |row| row.get(0)).expect(pragma)
        };
        assert_eq!(number(&draft, "synchronous"), 0, "half a file is no file");
        let store = draft.publish().expect("a file");
        std::fs::remove_file(&path).expect("removed");
        let journal: String = store
            .database
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .expect("a journal");
        // EXTRA, and guarded against what a file's own schema may call.
        assert_eq!((number(&store, "synchronous"), journal.as_str()), (3, "delete"));
        assert_eq!(number(&store, "trusted_schema"), 0);
        assert_eq!(number(&store, "cell_size_check"), 1);
        assert_eq!(number(&store, "busy_timeout"), 60_000);
    }

    #[test]
    fn what_sqlite_says_is_told_in_plain_words() {
        let of = |code: i32| {
            says(&rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
        };
        // Of sqlite3.h: FULL, READONLY, CORRUPT, INTERRUPT, TOOBIG.
        let words =
            [(13, "no room"), (8, "read-only"), (11, "damaged"), (9, "longer"), (18, "larger")];
        for (code, word) in words {
            assert!(of(code).contains(word), "{code}: {}", of(code));
        }
        assert!(of(1).contains("SQL"), "{}", of(1));
    }
}
