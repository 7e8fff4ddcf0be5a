//! A study file that is being made. It has another name, with a dot before it, until it is whole:
//! whoever finds a file under the study's own name finds a study, whenever its maker was killed.

use crate::{Store, StoreError, held, layout, says};
use narrows_model::host::Host;
use narrows_model::study::Study;
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// What the name of a draft ends with.
const ENDING: &str = ".making";
/// A draft without an owner is removed when it is older.
const STALE: Duration = Duration::from_secs(60);

/// A study that nobody sees yet.
pub struct Draft {
    store: Store,
    path: PathBuf,
    /// Removed unless it is published.
    unseen: Unseen,
}

/// The file under its first name.
struct Unseen(PathBuf);

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Draft {
    pub(crate) fn begin(path: &Path, study: &Study, host: &Host) -> Result<Self, StoreError> {
        let unwritable = |why: String| StoreError::Unwritable { path: path.to_owned(), why };
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::Exists(path.to_owned()));
        }
        let name = path.file_name().ok_or_else(|| unwritable("it has no file name".to_owned()))?;
        let name = name.to_string_lossy();
        remove_stale(&folder(path), &name);
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Relaxed);
        let unseen = format!(".{name}.{}-{count}{ENDING}", std::process::id());
        let unseen = path.with_file_name(unseen);
        // The system's own words are clearer than SQLite's "unable to open database file".
        let lock = OpenOptions::new().write(true).create_new(true).open(&unseen);
        let lock = lock.map_err(|error| unwritable(error.to_string()))?;
        let removed_unless_published = Unseen(unseen.clone());
        held(&lock, path)?;
        let database = Connection::open(&unseen).map_err(|error| unwritable(says(&error)))?;
        let laid_out = prepared(&database).and_then(|()| layout::lay_out(&database));
        laid_out.map_err(|error| unwritable(says(&error)))?;
        let store = Store { path: unseen, database, _lock: lock };
        store.put_part("study", study)?;
        store.put_part("host", host)?;
        Ok(Self { store, path: path.to_owned(), unseen: removed_unless_published })
    }

    /// Puts the file, with all that was stored in it, on disk under its name, where nothing may be.
    pub fn publish(self) -> Result<Store, StoreError> {
        let path = self.path.clone();
        self.place(std::iter::once(path))
    }

    /// The same, under a numbered name (`NAME-2.narrows`) where another process took the name
    /// meanwhile: names of measurements are of the second in which they began.
    pub fn publish_numbered(self) -> Result<Store, StoreError> {
        let path = self.path.clone();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let numbered = (2..100).map(|n| path.with_file_name(format!("{stem}-{n}.narrows")));
        self.place(std::iter::once(path.clone()).chain(numbered))
    }

    /// Puts the file under the first of these names that nothing has.
    fn place(self, names: impl Iterator<Item = PathBuf>) -> Result<Store, StoreError> {
        let Self { store, path, unseen } = self;
        let Store { database, _lock: lock, .. } = store;
        let wrong = |why: String| StoreError::Unwritable { path: path.clone(), why };
        // What belongs to an open database goes by the name that it was opened under.
        database.close().map_err(|(_, error)| wrong(says(&error)))?;
        lock.sync_all().map_err(|error| wrong(error.to_string()))?;
        let placed = first_free(&unseen.0, names).map_err(|error| wrong(error.to_string()))?;
        let Some(path) = placed else { return Err(StoreError::Exists(path)) };
        drop(unseen);
        // Without it a power failure may take the name away again.
        let synced = File::open(folder(&path)).and_then(|folder| folder.sync_all());
        match synced {
            // Some file systems cannot sync a folder.
            Err(error) if error.kind() != ErrorKind::InvalidInput => {
                return Err(wrong(error.to_string()));
            }
            _ => {}
        }
        // The lock is not let go: a process that is being started has a copy of it for a moment.
        Store::under(lock, &path)
    }
}

impl Deref for Draft {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}

/// No journal: until it is published, half a file is no file.
fn prepared(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;")
}

/// Gives a file the first of these names that nothing has; `None` where all are taken.
fn first_free(unseen: &Path, names: impl Iterator<Item = PathBuf>) -> io::Result<Option<PathBuf>> {
    for name in names {
        match appear(unseen, &name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            appeared => return appeared.map(|()| Some(name)),
        }
    }
    Ok(None)
}

/// Gives a file its name, if nothing has it.
fn appear(unseen: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(unseen, path) {
        Err(error)
            if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) =>
        {
            // File systems without links: the name is taken first, then the file put over it.
            OpenOptions::new().write(true).create_new(true).open(path)?;
            std::fs::rename(unseen, path)
        }
        linked => linked,
    }
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Removes what killed makers of the same study have left.
fn remove_stale(folder: &Path, name: &str) {
    let begins = format!(".{name}.");
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let file = file.to_string_lossy();
        if file.starts_with(&begins) && file.ends_with(ENDING) && is_stale(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_stale(path: &Path) -> bool {
    let old = path.metadata().and_then(|data| data.modified());
    let old = old.ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age > STALE);
    // Its maker holds it locked for as long as it lives.
    old && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}
