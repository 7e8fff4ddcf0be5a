//! Settings that are changed to stay, and put back when asked.
//!
//! Before a setting is written, what it was goes to a journal under /run, synced; `undo` reads it
//! from its end. The journal outlives a crash in the middle; after a reboot neither the settings
//! nor the journal are left. What somebody else has changed since is left as it is, and said.

use crate::HostError;
use crate::guard::JOURNALS;
use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The only places that are written to.
const PLACES: [&str; 3] =
    ["/proc/sys/", "/sys/devices/system/cpu/", "/sys/kernel/mm/transparent_hugepage/"];

/// One file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Change {
    setting: String,
    path: String,
    was: String,
    wrote: String,
    /// Where it was written; journals of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

/// What putting one file back came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is what it was.
    Back {
        /// Setting that was to be changed.
        setting: String,
        /// Path of the file that holds it.
        path: String,
        was: String,
    },
    /// Somebody changed it since.
    Left {
        /// Setting that was to be changed.
        setting: String,
        /// Path of the file that holds it.
        path: String,
        now: String,
        /// What it was before the first change.
        was: String,
    },
}

pub struct Ledger {
    path: PathBuf,
    places: Vec<String>,
}

impl Default for Ledger {
    fn default() -> Self {
        let path = Path::new(JOURNALS).join("tuned");
        Self { path, places: PLACES.map(str::to_owned).to_vec() }
    }
}

fn machine(what: impl std::fmt::Display, error: impl std::fmt::Display) -> HostError {
    HostError::Machine(format!("{what}: {error}"))
}

impl Ledger {
    /// Writes a setting's files. The first that is refused ends it; what was written until then is
    /// in the journal.
    pub fn apply(&self, setting: &str, files: &[String], value: &str) -> Result<(), HostError> {
        if let Some(folder) = self.path.parent() {
            let _ = std::fs::DirBuilder::new().mode(0o700).create(folder);
        }
        let opened = File::options().append(true).create(true).mode(0o600).open(&self.path);
        let origin = Origin::here()?;
        let mut journal = opened.map_err(|error| machine(self.path.display(), error))?;
        journal.lock().map_err(|error| machine(self.path.display(), error))?;
        for path in files {
            if !self.is_setting(path) {
                return Err(machine(path, "not a setting that is changed"));
            }
            let change = Change {
                setting: setting.to_owned(),
                path: path.clone(),
                was: value_of(path)?,
                wrote: value.to_owned(),
                origin: Some(origin.clone()),
            };
            let line = serde_json::to_string(&change).map_err(|error| machine(path, error))?;
            let noted = writeln!(journal, "{line}").and_then(|()| journal.sync_data());
            noted.map_err(|error| machine(self.path.display(), error))?;
            std::fs::write(path, value).map_err(|error| machine(path, error))?;
        }
        Ok(())
    }

    /// Puts one setting back, or all, the last change first.
    pub fn undo(&self, only: Option<&str>) -> Result<Vec<Undone>, HostError> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(machine(self.path.display(), error)),
        };
        // A line that a crash cut off was noted for a change that was never made.
        let changes: Vec<Change> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let (mine, others): (Vec<Change>, Vec<Change>) = changes
            .into_iter()
            .filter(|change| self.is_setting(&change.path))
            .partition(|change| only.is_none_or(|name| name == change.setting));
        // All or nothing: a half that is put back elsewhere helps nobody.
        let journal = self.path.display().to_string();
        mine.iter().try_for_each(|change| Origin::check(change.origin.as_ref(), &journal))?;
        let mut undone = Vec::new();
        for change in mine.iter().rev() {
            let end = put_back(change)?;
            // Of several changes of one file the first tells what it was.
            undone.retain(|had| path_of(had) != path_of(&end));
            undone.push(end);
        }
        self.keep(&others)?;
        Ok(undone)
    }

    /// The journal with only these changes, or none.
    fn keep(&self, changes: &[Change]) -> Result<(), HostError> {
        let at = |error: std::io::Error| machine(self.path.display(), error);
        if changes.is_empty() {
            return std::fs::remove_file(&self.path).map_err(at);
        }
        let lines = changes.iter().map(|change| serde_json::to_string(change).unwrap_or_default());
        let new = self.path.with_extension("new");
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(&new);
        let file = file.as_mut().map_err(|error| machine(new.display(), error))?;
        for line in lines {
            writeln!(file, "{line}").map_err(at)?;
        }
        file.sync_data().map_err(at)?;
        std::fs::rename(&new, &self.path).map_err(at)
    }

    fn is_setting(&self, path: &str) -> bool {
        self.places.iter().any(|place| path.starts_with(place)) && !path.contains("..")
    }
}

fn path_of(undone: &Undone) -> &str {
    match undone {
        Undone::Back { path, .. } | Undone::Left { path, .. } => path,
    }
}

/// A setting's value as it is written back; of several words the kernel's chosen one in brackets.
fn value_of(path: &str) -> Result<String, HostError> {
    let text = std::fs::read_to_string(path).map_err(|error| machine(path, error))?;
    Ok(match text.split(['[', ']']).nth(1) {
        Some(chosen) => chosen.to_owned(),
        None => text.trim_end().to_owned(),
    })
}

fn put_back(change: &Change) -> Result<Undone, HostError> {
    let now = value_of(&change.path)?;
    let Change { setting, path, was, wrote, .. } = change.clone();
    if !same(&now, &wrote) && !same(&now, &was) {
        return Ok(Undone::Left { setting, path, now, was });
    }
    if !same(&now, &was) {
        std::fs::write(&path, &was).map_err(|error| machine(&path, error))?;
    }
    Ok(Undone::Back { setting, path, was })
}

fn same(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;
    use std::os::unix::fs::PermissionsExt;

    fn ledger(folder: &Folder) -> Ledger {
        Ledger { path: folder.path().join("tuned"), places: vec![folder.place()] }
    }

    fn read(path: &str) -> String {
        std::fs::read_to_string(path).expect("read")
    }

    #[test]
    fn everything_comes_back_exactly_or_one_setting_alone() {
        let folder = Folder::new("back");
        let (one, two) = (folder.file("one", "1\n"), folder.file("two", "4096\t16384\t65536\n"));
        let ledger = ledger(&folder);
        ledger.apply("one", std::slice::from_ref(&one), "2").expect("written");
        ledger.apply("two", std::slice::from_ref(&two), "1 2 3").expect("written");
        ledger.apply("one", std::slice::from_ref(&one), "3").expect("written again");
        assert_eq!((read(&one), read(&two)), ("3".into(), "1 2 3".into()));
        let undone = ledger.undo(Some("one")).expect("undone");
        assert!(matches!(&undone[..], [Undone::Back { was, .. }] if was == "1"), "{undone:?}");
        assert_eq!((read(&one), read(&two)), ("1".into(), "1 2 3".into()));
        ledger.undo(None).expect("undone");
        assert_eq!(read(&two), "4096\t16384\t65536");
        assert!(ledger.undo(None).expect("nothing left").is_empty());
    }

    #[test]
    fn of_several_words_the_chosen_one_comes_back_and_only_settings_are_written() {
        let folder = Folder::new("chosen");
        let pages = folder.file("pages", "always [madvise] never\n");
        let ledger = ledger(&folder);
        ledger.apply("pages", std::slice::from_ref(&pages), "never").expect("written");
        let mode = std::fs::metadata(&ledger.path).expect("a journal").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let back =
            Undone::Back { setting: "pages".into(), path: pages.clone(), was: "madvise".into() };
        assert_eq!(ledger.undo(None).expect("undone"), [back]);
        assert_eq!(read(&pages), "madvise");
        let real = Ledger::default();
        assert_eq!(real.path, Path::new("/run/narrows/tuned"));
        for setting in [
            "/proc/sys/net/ipv4/tcp_rmem",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ] {
            assert!(real.is_setting(setting), "{setting}");
        }
        for other in ["/sys/kernel/mm/ksm/run", "/sys/devices/pci0000:00/remove", "/proc/sys"] {
            assert!(!real.is_setting(other), "{other}");
        }
    }

    #[test]
    fn a_journal_is_undone_only_where_it_was_written() {
        let folder = Folder::new("elsewhere");
        let one = folder.file("one", "1");
        let ledger = ledger(&folder);
        ledger.apply("one", std::slice::from_ref(&one), "2").expect("written");
        let journal = read(&ledger.path.display().to_string());
        let here = Origin::here().expect("origin");
        let elsewhere = |from: &str, to: &str, says: &str| {
            assert!(journal.contains(from), "{journal}");
            std::fs::write(&ledger.path, journal.replace(from, to)).expect("written");
            let refused = ledger.undo(None).expect_err("refused");
            assert!(matches!(refused, HostError::Elsewhere(_)), "{refused}");
            assert!(refused.to_string().contains(says), "{refused}");
            assert_eq!(read(&one), "2", "nothing was written");
            assert!(ledger.path.exists(), "the journal is kept");
        };
        elsewhere(&here.namespace.to_string(), "17", "written in network namespace net:[17]");
        elsewhere(&here.boot, "another", "was written before this boot");
        elsewhere("\"origin\"", "\"older\"", "does not say in which network namespace");
        std::fs::write(&ledger.path, &journal).expect("written");
        ledger.undo(None).expect("undone here");
        assert_eq!(read(&one), "1");
        if nix::unistd::geteuid().is_root() {
            ledger.apply("one", std::slice::from_ref(&one), "2").expect("written");
            let (path, places) = (ledger.path.clone(), ledger.places.clone());
            let there = std::thread::spawn(move || {
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("namespace");
                Ledger { path, places }.undo(None)
            });
            assert!(there.join().expect("thread").is_err(), "another namespace");
            assert_eq!(read(&one), "2");
        }
    }

    #[test]
    fn what_others_changed_since_is_left() {
        let folder = Folder::new("left");
        let one = folder.file("one", "1");
        ledger(&folder).apply("one", std::slice::from_ref(&one), "2").expect("written");
        std::fs::write(&one, "7").expect("somebody else");
        let undone = ledger(&folder).undo(None).expect("undone");
        let left = Undone::Left {
            setting: "one".into(),
            path: one.clone(),
            now: "7".into(),
            was: "1".into(),
        };
        assert_eq!(undone, [left]);
        assert_eq!(read(&one), "7");
    }

    #[test]
    fn a_crash_before_or_after_the_write_is_undone() {
        let folder = Folder::new("crash");
        let one = folder.file("one", "1");
        let ledger = ledger(&folder);
        ledger.apply("one", std::slice::from_ref(&one), "2").expect("written");
        // Noted and not written yet; and a line that was cut off.
        std::fs::write(&one, "1").expect("as before the write");
        let mut journal = File::options().append(true).open(&ledger.path).expect("journal");
        journal.write_all(b"{\"setting\":\"tw").expect("cut");
        assert!(matches!(&ledger.undo(None).expect("undone")[..], [Undone::Back { .. }]));
        assert_eq!(read(&one), "1");
    }

    #[test]
    fn nothing_else_is_written() {
        let folder = Folder::new("else");
        let ledger = Ledger { places: PLACES.map(str::to_owned).to_vec(), ..ledger(&folder) };
        for path in ["/etc/passwd", "/proc/sys/../../etc/passwd", "/proc/sysrq-trigger"] {
            assert!(ledger.apply("x", &[path.into()], "x").is_err(), "{path}");
        }
    }
}
