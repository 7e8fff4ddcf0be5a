//! Reading studies. What is stored is never changed by it; a run that a killed writer had stored
//! half is taken back.
//!
//! A file may be anybody's: its layout is checked before it is asked anything ([`crate::layout`]),
//! and what is taken from it is at most what can be in a file of its size, so that pages that lead
//! back to themselves or hold one text many times end in an error and not in all memory.

use crate::chain::{self, Chain};
use crate::{StoreError, layout, says};
use narrows_model::record::Record;
use narrows_model::study::{Precision, StoredStudy, Study};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;

/// Bytes of records that are parsed in one go. Some such chunks wait for the parsers.
const CHUNK_BYTES: usize = 1 << 20;
/// Threads that parse; reading keeps no more of them busy.
const PARSERS_MAX: usize = 4;

/// Reads a whole study.
pub fn read(path: &Path) -> Result<StoredStudy, StoreError> {
    let (database, version) = open(path)?;
    let reader = Reader::new(path, &database, version);
    // Of a large file the check takes as long as the reading: both at once.
    let (whole, records) = thread::scope(|scope| {
        let check = scope.spawn(|| is_whole(path));
        let records = reader.records();
        (check.join(), records)
    });
    whole.map_err(|_| reader.unreadable("checking it failed".to_owned()))??;
    Ok(StoredStudy { records: records?, ..reader.head()? }.without_untried())
}

/// Has SQLite go through all pages of a file.
fn is_whole(path: &Path) -> Result<(), StoreError> {
    let (database, _) = open(path)?;
    checked(path, &database, "PRAGMA quick_check(1)")
}

fn checked(path: &Path, database: &Connection, pragma: &str) -> Result<(), StoreError> {
    let unreadable = |why: String| StoreError::Unreadable { path: path.to_owned(), why };
    let whole: String = database
        .query_row(pragma, [], |row| row.get(0))
        .map_err(|error| unreadable(says(&error)))?;
    match whole.as_str() {
        "ok" => Ok(()),
        _ => Err(unreadable(format!("the database is damaged: {whole}"))),
    }
}

/// Goes through the chain of a file; `noted` is a head that the user has kept.
pub fn chain(path: &Path, noted: Option<&str>) -> Result<Chain, StoreError> {
    let (database, version) = open(path)?;
    // Indices too, and before anything is followed from page to page.
    checked(path, &database, "PRAGMA integrity_check(1)")?;
    if version < layout::VERSION_CHAINED {
        return Ok(Chain::None);
    }
    let all = || {
        // One state of the file, whatever is written to it meanwhile.
        let still = database.unchecked_transaction()?;
        chain::check(&still, noted)
    };
    all().map_err(|error: rusqlite::Error| StoreError::Unreadable {
        path: path.to_owned(),
        why: says(&error),
    })
}

/// Reads all of a study but its records, however many those are.
pub fn head(path: &Path) -> Result<StoredStudy, StoreError> {
    let (database, version) = open(path)?;
    Reader::new(path, &database, version).head()
}

/// Hash of the last link of a file's chain; `None` for one without.
pub fn chain_head(path: &Path) -> Result<Option<String>, StoreError> {
    let (database, version) = open(path)?;
    if version < layout::VERSION_CHAINED {
        return Ok(None);
    }
    let head = chain::head(&database)
        .map_err(|error| StoreError::Unreadable { path: path.to_owned(), why: says(&error) })?;
    Ok(Some(head.1))
}

/// The precision in the text of a definition, from when it stood there only.
fn precision(definition: &str) -> Option<Precision> {
    let table: toml::Table = definition.parse().ok()?;
    table.get("precision")?.clone().try_into().ok()
}

/// Runs of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Made to the end.
    pub done: u32,
    /// Ended before anything was measured.
    pub failed: u32,
    /// Broken off for want of something.
    pub skipped: u32,
}

/// Runs of every trial that has any, by its id.
pub fn counts(path: &Path) -> Result<BTreeMap<String, Counts>, StoreError> {
    let (database, version) = open(path)?;
    let reader = Reader::new(path, &database, version);
    let mut counts = BTreeMap::<String, Counts>::new();
    // In the order of the index, which has all that is asked for.
    let query = "SELECT trial, outcome FROM record ORDER BY trial, outcome";
    reader.rows(query, |row| {
        let (trial, outcome): (String, String) = (row.get(0)?, row.get(1)?);
        let bytes = trial.len() + outcome.len();
        let of = counts.entry(trial).or_default();
        *match outcome.as_str() {
            "done" => &mut of.done,
            "skipped" => &mut of.skipped,
            _ => &mut of.failed,
        } += 1;
        Ok(bytes)
    })?;
    Ok(counts)
}

/// The database, and the version of its tables.
fn open(path: &Path) -> Result<(Connection, i64), StoreError> {
    // What a killed writer had not finished has to be taken back first, which only a writer may.
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    layout::open(
        path,
        if Path::new(&journal).exists() {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        },
    )
}

struct Reader<'a> {
    path: &'a Path,
    database: &'a Connection,
    version: i64,
    /// Bytes of rows that were taken, and those that the file has.
    taken: Cell<u64>,
    file_bytes: Cell<u64>,
}

impl<'a> Reader<'a> {
    fn new(path: &'a Path, database: &'a Connection, version: i64) -> Self {
        Self { path, database, version, taken: Cell::new(0), file_bytes: Cell::new(0) }
    }

    /// Counts what was taken. A table is read once, and no text is shorter in the file than here.
    fn take(&self, bytes: usize) -> Result<(), StoreError> {
        let taken = self.taken.get().saturating_add(bytes as u64);
        self.taken.set(taken);
        if taken > self.file_bytes.get() {
            // It grows while it is written.
            self.file_bytes.set(std::fs::metadata(self.path).map_or(0, |data| data.len()));
        }
        if taken > self.file_bytes.get() {
            Err(self.unreadable("its tables hold more than its bytes can".to_owned()))
        } else {
            Ok(())
        }
    }

    /// Hands each row over, to a function that says how many bytes it took of it.
    fn rows(
        &self,
        query: &str,
        mut each: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<usize>,
    ) -> Result<(), StoreError> {
        let wrong = |error: rusqlite::Error| self.unreadable(says(&error));
        let mut statement = self.database.prepare(query).map_err(wrong)?;
        let mut rows = statement.query([]).map_err(wrong)?;
        while let Some(row) = rows.next().map_err(wrong)? {
            // Each row has at least a head of two bytes.
            self.take(each(row).map_err(wrong)? + 2)?;
        }
        Ok(())
    }

    fn head(&self) -> Result<StoredStudy, StoreError> {
        let sessions = match self.version {
            layout::VERSION_OLDEST => Vec::new(),
            _ => self.all("SELECT number, json FROM session", "a session")?,
        };
        let missing = |what: &str| self.unreadable(format!("it has no {what}"));
        let mut study: Study = self.part("study")?.ok_or_else(|| missing("study"))?;
        let definition: Option<String> = self.part("definition")?;
        if study.precision.is_none() && !study.quick {
            study.precision = definition.as_deref().and_then(precision);
        }
        Ok(StoredStudy {
            study,
            ended: self.part("ended")?,
            definition,
            sessions,
            host: self.part("host")?.ok_or_else(|| missing("host"))?,
            peer_hosts: self.part("peer-hosts")?.unwrap_or_default(),
            trials: self.all("SELECT position, json FROM trial", "a cell")?,
            records: Vec::new(),
        })
    }

    /// All records in order. One thread takes them from the file, the others parse them.
    fn records(&self) -> Result<Vec<Record>, StoreError> {
        let parsed = Mutex::new(BTreeMap::new());
        let (send, receive) = mpsc::sync_channel::<(usize, Vec<String>)>(4);
        let receive = Mutex::new(receive);
        let path = self.path;
        let work = || {
            loop {
                let next = receive.lock().map(|receive| receive.recv());
                let Ok(Ok((at, texts))) = next else { break };
                let records: Result<Vec<Record>, StoreError> =
                    texts.iter().map(|json| parse(path, json, "a record")).collect();
                let Ok(mut parsed) = parsed.lock() else { break };
                parsed.insert(at, records);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(PARSERS_MAX);
        let read = thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
            // The channel must be gone before the threads are waited for.
            let send = send;
            self.chunks(|at, texts| send.send((at, texts)).is_ok())
        });
        read?;
        let chunks = parsed.into_inner().unwrap_or_default();
        let chunks = chunks.into_values().collect::<Result<Vec<_>, _>>()?;
        let mut all = Vec::with_capacity(chunks.iter().map(Vec::len).sum());
        chunks.into_iter().for_each(|records| all.extend(records));
        Ok(all)
    }

    /// Hands the texts of all records over in order, many at a time, while `take` says so.
    fn chunks(&self, take: impl Fn(usize, Vec<String>) -> bool) -> Result<(), StoreError> {
        let (mut at, mut texts, mut last, mut wanted) = (0, Vec::new(), i64::MIN, true);
        let (mut backwards, mut waiting_bytes) = (false, 0);
        self.rows("SELECT number, json FROM record ORDER BY number", |row| {
            let (number, json): (i64, String) = (row.get(0)?, row.get(1)?);
            backwards |= number <= last;
            last = number;
            let bytes = json.len();
            // A short text takes the room of its head, too.
            waiting_bytes += bytes + size_of::<String>();
            if wanted {
                texts.push(json);
            }
            if wanted && waiting_bytes >= CHUNK_BYTES {
                wanted = take(at, std::mem::take(&mut texts));
                (at, waiting_bytes) = (at + 1, 0);
            }
            Ok(bytes)
        })?;
        if backwards {
            return Err(self.unreadable("its runs are not in order".to_owned()));
        }
        take(at, texts);
        Ok(())
    }

    fn part<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let json: Option<String> = self
            .database
            .query_row("SELECT json FROM part WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|error| self.unreadable(says(&error)))?;
        json.map(|json| self.parse(&json, name)).transpose()
    }

    /// All of a table, by the number that stands first. Put in order here: SQLite would have gone
    /// through the whole table before the first row is counted.
    fn all<T: DeserializeOwned>(&self, query: &str, what: &str) -> Result<Vec<T>, StoreError> {
        let mut texts: Vec<(i64, String)> = Vec::new();
        self.rows(query, |row| {
            let (number, json): (i64, String) = (row.get(0)?, row.get(1)?);
            let bytes = json.len();
            texts.push((number, json));
            Ok(bytes)
        })?;
        texts.sort_by_key(|(number, _)| *number);
        texts.iter().map(|(_, json)| self.parse(json, what)).collect()
    }

    fn parse<T: DeserializeOwned>(&self, json: &str, what: &str) -> Result<T, StoreError> {
        parse(self.path, json, what)
    }

    fn unreadable(&self, why: String) -> StoreError {
        StoreError::Unreadable { path: self.path.to_owned(), why }
    }
}

fn parse<T: DeserializeOwned>(path: &Path, json: &str, what: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Unreadable {
        path: path.to_owned(),
        why: format!("{what}: {error}"),
    })
}
