//! What is known of a study before its first run: which of its programs are not here, what would be
//! run, and for how long at most.

use super::rig;
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_app::cells::{AppCell, cells, curves};
use narrows_app::definition::Definition;
use narrows_app::filled::filled;
use narrows_report::words::counted;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Refuses a study one of whose programs is not here, before anything is run or written.
pub fn check(definition: &Definition) -> Result<(), Failure> {
    let missing = missing(definition);
    if missing.is_empty() {
        return Ok(());
    }
    let (names, verb) = (missing.join(", "), if missing.len() == 1 { "is" } else { "are" });
    let says = format!("{names} {verb} not installed, or not in a folder of PATH");
    let failure = Failure::of(Cause::APP_PROGRAM, says);
    Err(match packages(definition) {
        Some(install) => failure.helped_by(install),
        None => failure,
    })
}

/// How the study's packages are installed, where it names them.
fn packages(definition: &Definition) -> Option<String> {
    let packages = &definition.packages;
    (!packages.is_empty()).then(|| format!("Debian has it: apt install {}", packages.join(" ")))
}

/// Programs that a run would look for in PATH on this host and not find, each once.
fn missing(definition: &Definition) -> Vec<String> {
    let own = definition.places.iter().any(|place| place.hosts.is_empty());
    let makers = definition.prepare.iter().filter_map(|words| words.first());
    let programs = makers.chain(definition.command.first().filter(|_| own));
    let all: BTreeSet<String> = programs
        .flat_map(|word| definition.ranks.iter().map(|ranks| filled(word, *ranks)))
        .collect();
    let path = path_of(definition);
    all.into_iter().filter(|name| is_missing(name, &path)).collect()
}

/// The PATH that runs have: the study's, else this process's.
fn path_of(definition: &Definition) -> OsString {
    let told = definition.environment.get("PATH").map(OsString::from);
    told.or_else(|| std::env::var_os("PATH")).unwrap_or_default()
}

/// Of a path only its run knows: it may begin in the run's folder, or be made by `prepare`.
fn is_missing(name: &str, path: &OsString) -> bool {
    !name.contains('/') && found(name, path).is_none()
}

fn found(name: &str, path: &OsString) -> Option<PathBuf> {
    let runs = |file: &Path| {
        let about = file.metadata();
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| runs(file))
}

/// A time of so many seconds, in the unit that has few digits.
fn lasting(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// What a run of the study would be, as `--dry-run` has it.
pub fn outlook(definition: &Definition, with_fabrics: bool) -> String {
    let cells = cells(definition);
    let runs = cells.len() * definition.repeats as usize;
    let limit = u64::from(definition.limit_seconds);
    let mut text = format!(
        "{}: {} of {}, {} each, in shuffled blocks\na run is ended after {}: {} at most\n",
        definition.name,
        counted(runs, "run"),
        counted(cells.len(), "cell"),
        definition.repeats,
        lasting(limit),
        lasting(limit.saturating_mul(runs as u64)),
    );
    if with_fabrics {
        let named = |curve: &AppCell| rig::name(definition, curve);
        let fabrics: Vec<String> = curves(definition).iter().map(named).collect();
        if !fabrics.is_empty() {
            text += "two ranks measure these fabrics before (--without-fabrics leaves it out):\n";
            fabrics.iter().for_each(|fabric| text += &format!("  {fabric}\n"));
        }
    }
    text += "cells:\n";
    cells.iter().for_each(|cell| text += &format!("  {}\n", rig::name(definition, cell)));
    let missing = missing(definition);
    if !missing.is_empty() {
        let install = packages(definition).map(|how| format!(" ({how})")).unwrap_or_default();
        text += &format!("not installed: {}{install}\n", missing.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_one_that_can_be_run_in_a_folder_of_the_path() {
        let path = OsString::from("/nowhere:/usr/bin:/bin");
        assert!(!is_missing("sh", &path));
        assert!(is_missing("no-such-program", &path));
        assert!(is_missing("sh", &OsString::from("/nowhere")));
        // A folder is no program, and a path is looked at by its run.
        assert!(is_missing("bin", &OsString::from("/usr")));
        assert!(!is_missing("./made", &path) && !is_missing("/nowhere/x", &path));
    }
}
