//! `narrows host --fleet`: many hosts at once, each file or controller a host.

use super::{bmc, described};
use crate::args::{BmcArgs, HostArgs};
use crate::cause::Cause;
use crate::failure::{Failure, VERDICT};
use crate::{output, screen};
use narrows_report::fleet::{Fleet, Member, Unread};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// More files than this are not one question.
const FILES_MAX: usize = 1_000_000;
/// Folders inside folders.
const DEPTH_MAX: usize = 16;

/// What was read so far.
#[derive(Default)]
struct Gathered {
    hosts: Vec<Member>,
    unread: Vec<Unread>,
}

/// Runs the command: a file that tells of no host is a line and does not end the run.
pub fn run(args: &HostArgs) -> Result<u8, Failure> {
    let (addresses, paths): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.from.iter().partition(|path| bmc::is_address(path));
    let mut files = Vec::new();
    for path in paths {
        gather(path, &mut files, 0)?;
    }
    let count = files.len() + addresses.len();
    if count == 0 {
        let text = "no file in any of these folders".to_owned();
        return Err(Failure::of(Cause::NO_HOST, text));
    }
    let asked = ask(&addresses, &args.bmc)?;
    let Gathered { mut hosts, mut unread } = read(&files);
    hosts.extend(asked.hosts);
    unread.extend(asked.unread);
    if hosts.is_empty() {
        let first = unread.first().map(|one| format!("; {}: {}", one.name, one.why));
        let first = first.unwrap_or_default();
        let text = format!("none of {count} sources describes a host{first}");
        return Err(Failure::of(Cause::NO_HOST, text));
    }
    let fleet = Fleet::of(hosts, unread);
    if args.json {
        let text = serde_json::to_string_pretty(&fleet)
            .map_err(|error| Failure::of(Cause::FAULT, error.to_string()))?;
        output::print_exact(&(text + "\n"))?;
    } else if args.csv {
        output::print_exact(&fleet.csv())?;
    } else {
        output::print(&fleet.text(&screen::of_output()))?;
    }
    Ok(if fleet.has_fault() { VERDICT } else { 0 })
}

/// Asks the controllers in turn; one that does not answer is a line, like a file that is no host.
fn ask(addresses: &[&PathBuf], args: &BmcArgs) -> Result<Gathered, Failure> {
    let mut own = Gathered::default();
    for address in addresses {
        let name = address.display().to_string();
        match described::open_together(std::slice::from_ref(*address), args) {
            Ok(host) => own.hosts.push(Member::of(name, &host)),
            Err(failure) if failure.is_stop() => return Err(failure),
            Err(failure) => {
                own.unread.push(Unread { why: failure.says().replace('\n', " "), name });
            }
        }
    }
    Ok(own)
}

/// The files of folders, sorted; a folder that is a host is one.
fn gather(path: &Path, into: &mut Vec<PathBuf>, depth: usize) -> Result<(), Failure> {
    let itself = [path.to_owned()];
    if !path.is_dir() || (depth > 0 && !narrows_host::is_fleet(&itself)) {
        into.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|error| Failure::unread(path, &error))?;
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    for one in inside {
        // Links inside a folder may lead round.
        if depth < DEPTH_MAX && into.len() < FILES_MAX && !one.is_symlink() {
            gather(&one, into, depth + 1)?;
        }
    }
    Ok(())
}

/// Reads every file on all CPUs.
fn read(files: &[PathBuf]) -> Gathered {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Gathered::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let own = read_some(files, &next);
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.hosts.extend(own.hosts);
                all.unread.extend(own.unread);
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Takes one file after the other until none is left.
fn read_some(files: &[PathBuf], next: &AtomicUsize) -> Gathered {
    let mut own = Gathered::default();
    while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
        let name = path.display().to_string();
        match narrows_host::open(path) {
            Ok(host) => own.hosts.push(Member::of(name, &host)),
            Err(error) => {
                let why = error.to_string().replace('\n', " ");
                // The name stands before it already.
                let why = why.strip_prefix(&name).unwrap_or(&why);
                own.unread
                    .push(Unread { why: why.trim_start_matches([':', ' ']).to_owned(), name });
            }
        }
    }
    own
}
