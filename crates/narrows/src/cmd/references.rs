//! What `--reference` names: another study, a published table, or a tool's output that can be
//! imported, whose figures stand beside one's own.

use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::study::StoredStudy;
use narrows_report::beside;
use narrows_report::joint::{self, Part};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Another study with the file that it is of: `NAME=FILE` says so, or its own name does.
fn reference(named: &Path, parts: &[Part]) -> Result<StoredStudy, Failure> {
    let text = named.to_string_lossy();
    let Some((name, file)) = text.split_once('=').filter(|_| !named.exists()) else {
        let reference = study_of(named)?;
        return Ok(match joint::whose(parts, &stem(named)) {
            Some(name) => joint::of_file(reference, name),
            None => reference,
        });
    };
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    if !names.contains(&name) {
        let says = format!("--reference {text}: no file is called {name}");
        let mut hint = "NAME=FILE is for reports of several files".to_owned();
        if !names.is_empty() {
            hint = format!("they are called {}", names.join(", "));
        }
        return Err(Failure::of(Cause::NO_PART, says).helped_by(hint));
    }
    Ok(joint::of_file(study_of(Path::new(file))?, name))
}

pub fn all(named: &[PathBuf], parts: &[Part]) -> Result<Vec<StoredStudy>, Failure> {
    named.iter().map(|named| reference(named, parts)).collect()
}

/// Those of applications by these names; what says nothing of any of them is refused.
pub fn of_applications(named: &[PathBuf], here: &[&str]) -> Result<Vec<StoredStudy>, Failure> {
    let references = all(named, &[])?;
    for (file, reference) in named.iter().zip(&references) {
        beside::check(reference, here).map_err(|why| {
            Failure::of(Cause::FOREIGN_TABLE, format!("--reference {}: {why}", file.display()))
        })?;
    }
    Ok(references)
}

pub fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a file of a study begins with, whatever it is called (SQLite's format, section 1.3.1).
const STORED: &[u8; 16] = b"SQLite format 3\0";

fn is_stored(file: &Path) -> bool {
    let mut begins = [0; STORED.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut begins));
    read.is_ok() && begins == *STORED || file.extension().is_some_and(|end| end == "narrows")
}

/// Another study, or a table or output of a tool that can be imported as one.
pub fn study_of(file: &Path) -> Result<StoredStudy, Failure> {
    if is_stored(file) { Ok(narrows_store::read(file)?) } else { super::import::unstored(file) }
}
