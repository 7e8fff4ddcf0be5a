//! Settings of this host that a measurement changes and puts back, however it ends.
//!
//! Before a setting is changed, what it was is told to a process of its own, which waits for the
//! end of its input and then writes everything back: when the measurement is over, and also when it
//! was killed. What it notes it also writes to a journal under /run, which [`restore`] reads when
//! that process was killed too; after a reboot neither the settings nor the journal are left.

use crate::origin::Origin;
use crate::{HostError, coalescing, offloads};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Where journals are; only root, who changes settings, may look into it.
pub const JOURNALS: &str = "/run/narrows";
/// The only places that are written to.
const PLACES: [&str; 4] =
    ["/proc/irq/", "/proc/sys/net/", "/proc/sys/vm/nr_hugepages", "/sys/class/net/"];

/// Which files are settings, and where it is noted what they were.
struct Ground {
    journals: PathBuf,
    places: Vec<String>,
}

impl Default for Ground {
    fn default() -> Self {
        Self { journals: JOURNALS.into(), places: PLACES.map(str::to_owned).to_vec() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Was {
    path: String,
    value: String,
}

/// A guard; settings are put back when it is dropped.
pub struct Guard {
    ground: Ground,
    child: Child,
    tell: Option<ChildStdin>,
    heard: BufReader<ChildStdout>,
}

fn machine(what: &str, error: impl std::fmt::Display) -> HostError {
    HostError::Machine(format!("{what}: {error}"))
}

/// A setting's value: a file's text, or what ethtool says.
pub fn read(path: &str) -> Result<String, HostError> {
    if let Some((device, word)) = coalescing::parts(path) {
        return coalescing::get(device, word, None);
    }
    match offloads::parts(path) {
        Some((device, feature)) => {
            Ok(offloads::word(offloads::get(device, feature, None)?).to_owned())
        }
        None => {
            let text = std::fs::read_to_string(path).map_err(|error| machine(path, error))?;
            Ok(text.trim_end().to_owned())
        }
    }
}

fn write(path: &str, value: &str) -> Result<(), HostError> {
    if let Some((device, word)) = coalescing::parts(path) {
        return coalescing::set(device, word, value, None);
    }
    match offloads::parts(path) {
        Some((device, feature)) => offloads::set(device, feature, value == "on", None),
        None => std::fs::write(path, value).map_err(|error| machine(path, error)),
    }
}

impl Guard {
    /// Starts the process that puts back.
    pub fn start(binary: &Path) -> Result<Self, HostError> {
        Self::over(Ground::default(), binary)
    }

    fn over(ground: Ground, binary: &Path) -> Result<Self, HostError> {
        let started = crate::child::command(binary)
            .arg("guard")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C at the terminal must not end it before its work is done.
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|error| machine("starting the guard", error))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (tell, heard) = pipes.ok_or_else(|| machine("starting the guard", "no pipes"))?;
        Ok(Self { ground, child, tell: Some(tell), heard: BufReader::new(heard) })
    }

    /// Changes a setting.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), HostError> {
        if !self.ground.is_setting(path) {
            return Err(machine(path, "not a setting that is changed"));
        }
        let was = Was { path: path.to_owned(), value: read(path)? };
        let text = serde_json::to_string(&was).map_err(|error| machine(path, error))?;
        let tell = self.tell.as_mut().ok_or_else(|| machine(path, "the guard is gone"))?;
        writeln!(tell, "{text}").map_err(|error| machine("the guard", error))?;
        let mut noted = String::new();
        self.heard.read_line(&mut noted).map_err(|error| machine("the guard", error))?;
        if noted.trim() != "noted" {
            return Err(machine("the guard", "it did not note what a setting was"));
        }
        write(path, value)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tell = None;
        let _ = self.child.wait();
    }
}

/// Settings as they were, on disk while they are changed.
struct Journal {
    path: PathBuf,
    /// Locked as long as its guard lives.
    file: File,
}

impl Journal {
    /// `None` where there is no such place, or no right to it: the guard works all the same.
    fn begin(folder: &Path) -> Option<Self> {
        let _ = std::fs::DirBuilder::new().mode(0o700).create(folder);
        let path = folder.join(format!("settings-{}", std::process::id()));
        let opened = File::options().append(true).create_new(true).mode(0o600).open(&path);
        let file = opened.ok()?;
        file.try_lock().ok()?;
        let mut journal = Self { path, file };
        let origin = serde_json::to_string(&Origin::here().ok()?).ok()?;
        journal.note(&origin);
        Some(journal)
    }

    fn note(&mut self, line: &str) {
        let _ = writeln!(self.file, "{line}").and_then(|()| self.file.sync_data());
    }
}

/// Puts back what guards that were killed have left changed: how many settings. Those whose guard
/// still lives are left alone.
pub fn restore() -> Result<usize, HostError> {
    Ground::default().restore()
}

/// The process that puts back: notes settings until its input ends, then writes them, the last
/// change first.
pub fn serve(input: impl BufRead, output: impl Write) -> Result<(), HostError> {
    Ground::default().serve(input, output)
}

impl Ground {
    fn is_setting(&self, path: &str) -> bool {
        let file = self.places.iter().any(|place| path.starts_with(place)) && !path.contains("..");
        file || offloads::parts(path).is_some() || coalescing::parts(path).is_some()
    }

    fn restore(&self) -> Result<usize, HostError> {
        let entries = match std::fs::read_dir(&self.journals) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(machine(&self.journals.display().to_string(), error)),
        };
        let mut restored = 0;
        for path in entries.flatten().map(|entry| entry.path()) {
            let at = |error: std::io::Error| machine(&path.display().to_string(), error);
            let file = File::open(&path).map_err(at)?;
            if file.try_lock().is_err() {
                continue;
            }
            let lines: Vec<String> = BufReader::new(&file).lines().map_while(Result::ok).collect();
            let origin = lines.first().and_then(|line| serde_json::from_str::<Origin>(line).ok());
            // Killed before it changed anything: whoever it was, nothing is to be put back.
            if lines.is_empty() || (lines.len() == 1 && origin.is_some()) {
                std::fs::remove_file(&path).map_err(at)?;
                continue;
            }
            Origin::check(origin.as_ref(), &path.display().to_string())?;
            let was = lines.iter().filter_map(|line| serde_json::from_str::<Was>(line).ok());
            let settings: Vec<Was> = was.filter(|was| self.is_setting(&was.path)).collect();
            put_back(&settings)?;
            std::fs::remove_file(&path).map_err(at)?;
            restored += settings.len();
        }
        Ok(restored)
    }

    fn serve(&self, input: impl BufRead, mut output: impl Write) -> Result<(), HostError> {
        let mut settings: Vec<Was> = Vec::new();
        let mut journal = None;
        for line in input.lines() {
            let Ok(line) = line else { break };
            match serde_json::from_str::<Was>(&line) {
                Ok(was) if self.is_setting(&was.path) => {
                    if settings.is_empty() {
                        journal = Journal::begin(&self.journals);
                    }
                    // What it was before the first change is what it will be again.
                    if settings.iter().all(|known| known.path != was.path) {
                        settings.push(was);
                        if let Some(journal) = &mut journal {
                            journal.note(&line);
                        }
                    }
                }
                _ => continue,
            }
            // Whoever told it may be gone already; its settings are put back all the same.
            let _ = writeln!(output, "noted").and_then(|()| output.flush());
        }
        put_back(&settings)?;
        if let Some(journal) = journal {
            let _ = std::fs::remove_file(journal.path);
        }
        Ok(())
    }
}

/// Writes settings, the last change first.
fn put_back(settings: &[Was]) -> Result<(), HostError> {
    let mut failed = Vec::new();
    for was in settings.iter().rev() {
        // A change that was refused left nothing to put back.
        if read(&was.path).is_ok_and(|now| now == was.value) {
            continue;
        }
        if let Err(error) = write(&was.path, &was.value) {
            failed.push(format!("{} was {} and cannot be put back: {error}", was.path, was.value));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(HostError::Machine(failed.join("; "))) }
}

#[cfg(test)]
mod tests;
