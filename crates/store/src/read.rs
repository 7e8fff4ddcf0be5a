//! Reading studies. What is stored is never changed by it; a run that a killed writer had stored
//! half is taken back.

use crate::{APPLICATION_ID, BUSY, LAYOUT_VERSION, LAYOUT_VERSION_OLDEST, StoreError, says};
use narrows_facts::record::Record;
use narrows_facts::study::StoredStudy;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;

/// Text that every SQLite database begins with.
const SQLITE_HEADER: &[u8] = b"SQLite format 3\0";

/// Records that are parsed in one go.
const CHUNK: usize = 4096;
/// Threads that parse; reading keeps no more of them busy.
const PARSERS_MAX: usize = 4;

/// Reads a whole study.
pub fn read(path: &Path) -> Result<StoredStudy, StoreError> {
    let (database, version) = open(path)?;
    let reader = Reader { path, database: &database, version };
    // Of a large file the check takes as long as the reading: both at once.
    let (whole, records) = thread::scope(|scope| {
        let check = scope.spawn(|| is_whole(path));
        let records = reader.records();
        (check.join(), records)
    });
    whole.map_err(|_| reader.unreadable("checking it failed".to_owned()))??;
    Ok(StoredStudy { records: records?, ..reader.head()? })
}

/// Has SQLite go through all pages of a file.
fn is_whole(path: &Path) -> Result<(), StoreError> {
    let (database, _) = open(path)?;
    let unreadable = |why: String| StoreError::Unreadable { path: path.to_owned(), why };
    let whole: String = database
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| unreadable(says(&error)))?;
    match whole.as_str() {
        "ok" => Ok(()),
        _ => Err(unreadable(format!("the database is damaged: {whole}"))),
    }
}

/// Reads all of a study but its records, however many those are.
pub fn head(path: &Path) -> Result<StoredStudy, StoreError> {
    let (database, version) = open(path)?;
    Reader { path, database: &database, version }.head()
}

/// Runs of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Made to the end.
    pub done: u32,
    /// Failed.
    pub failed: u32,
}

/// Runs of every trial that has any, by its id.
pub fn counts(path: &Path) -> Result<BTreeMap<String, Counts>, StoreError> {
    let (database, _) = open(path)?;
    let count = || {
        let text = "SELECT trial, outcome, count(*) FROM record GROUP BY trial, outcome";
        let mut statement = database.prepare(text)?;
        let mut rows = statement.query([])?;
        let mut counts = BTreeMap::<String, Counts>::new();
        while let Some(row) = rows.next()? {
            let (trial, outcome, runs): (String, String, u32) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let of = counts.entry(trial).or_default();
            *(if outcome == "done" { &mut of.done } else { &mut of.failed }) += runs;
        }
        Ok(counts)
    };
    count().map_err(|error: rusqlite::Error| StoreError::Unreadable {
        path: path.to_owned(),
        why: says(&error),
    })
}

/// The database, and the version of its tables.
fn open(path: &Path) -> Result<(Connection, i64), StoreError> {
    is_database(path)?;
    let unreadable = |why: String| StoreError::Unreadable { path: path.to_owned(), why };
    // What a killed writer had not finished has to be taken back first, which only a writer may.
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    let flags = match Path::new(&journal).exists() {
        true => OpenFlags::SQLITE_OPEN_READ_WRITE,
        false => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let database =
        Connection::open_with_flags(path, flags).map_err(|error| unreadable(says(&error)))?;
    database.busy_timeout(BUSY).map_err(|error| unreadable(says(&error)))?;
    let version = belongs(&database, path)?;
    Ok((database, version))
}

/// Tells "not there" and "not a database" apart before SQLite does, in plainer words.
pub fn is_database(path: &Path) -> Result<(), StoreError> {
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

/// The version of the tables, if they are ours.
pub fn belongs(database: &Connection, path: &Path) -> Result<i64, StoreError> {
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
        version @ LAYOUT_VERSION_OLDEST..=LAYOUT_VERSION => Ok(version),
        version => Err(StoreError::Unreadable {
            path: path.to_owned(),
            why: format!("its layout is version {version}, this narrows knows {LAYOUT_VERSION}"),
        }),
    }
}

struct Reader<'a> {
    path: &'a Path,
    database: &'a Connection,
    version: i64,
}

impl Reader<'_> {
    fn head(&self) -> Result<StoredStudy, StoreError> {
        let sessions = match self.version {
            LAYOUT_VERSION_OLDEST => Vec::new(),
            _ => self.all("SELECT json FROM session ORDER BY number")?,
        };
        let missing = |what: &str| self.unreadable(format!("it has no {what}"));
        Ok(StoredStudy {
            study: self.part("study")?.ok_or_else(|| missing("study"))?,
            ended: self.part("ended")?,
            definition: self.part("definition")?,
            sessions,
            host: self.part("host")?.ok_or_else(|| missing("host"))?,
            peer_hosts: self.part("peer-hosts")?.unwrap_or_default(),
            trials: self.all("SELECT json FROM trial ORDER BY position")?,
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
        read.map_err(|error| self.unreadable(says(&error)))?;
        let chunks = parsed.into_inner().unwrap_or_default();
        let mut all = Vec::with_capacity(CHUNK * chunks.len());
        for records in chunks.into_values() {
            all.extend(records?);
        }
        Ok(all)
    }

    /// Hands the texts of all records over in order, some thousands at a time, while `take` says
    /// so.
    fn chunks(&self, take: impl Fn(usize, Vec<String>) -> bool) -> rusqlite::Result<()> {
        let mut statement = self.database.prepare("SELECT json FROM record ORDER BY number")?;
        let mut rows = statement.query([])?;
        let (mut at, mut texts) = (0, Vec::new());
        while let Some(row) = rows.next()? {
            texts.push(row.get::<_, String>(0)?);
            if texts.len() == CHUNK {
                if !take(at, std::mem::take(&mut texts)) {
                    return Ok(());
                }
                at += 1;
            }
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
