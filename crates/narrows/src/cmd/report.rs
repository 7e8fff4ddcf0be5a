//! `narrows report FILE`: everything that can be computed from a study file, again.

use super::demands;
use crate::args::ReportArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use crate::raster::Rasteriser;
use narrows_model::study::StoredStudy;
use narrows_report::applications::Application;
use narrows_report::joint::{self, Part};
use narrows_report::{Analysis, data, figures};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let Some(file) = &args.file else { return super::servers::run(args) };
    let stored = narrows_store::read(file)?;
    if !args.more.is_empty() && Application::of(&stored).is_none() {
        let parts = parts(file, &args.more, stored)?;
        let references = references(&args.reference, &parts)?;
        let stored = joint::merged(&parts)
            .map_err(|why| Failure::of(Cause::NOT_TOGETHER, why.to_string()))?;
        written(args, &Analysis::joint(&stored, &parts, &references))?;
        return parts
            .iter()
            .try_fold(0, |code, part| demands::judged_of(&part.stored, &args.demands, code));
    }
    let more = applications(file, &args.more, &stored)?;
    let references = references(&args.reference, &[])?;
    written(args, &Analysis::beside(&stored, &references).with_applications(more))?;
    demands::judged(file, &args.demands, 0)
}

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

fn references(named: &[PathBuf], parts: &[Part]) -> Result<Vec<StoredStudy>, Failure> {
    named.iter().map(|named| reference(named, parts)).collect()
}

/// Writes what was asked for: figures and their data, and the report.
fn written(args: &ReportArgs, analysis: &Analysis<'_>) -> Result<(), Failure> {
    if let Some(folder) = &args.figures {
        output::make_folder(folder)?;
        let drawer = args.png.then(Rasteriser::new).transpose()?;
        for (name, csv) in data::all(analysis) {
            output::write_whole(&folder.join(format!("{name}.csv")), &csv)?;
        }
        for (name, svg) in figures::all(analysis) {
            output::write_whole(&folder.join(format!("{name}.svg")), &svg)?;
            if let Some(drawer) = &drawer {
                output::write_bytes(&folder.join(format!("{name}.png")), &drawer.png(&svg)?)?;
            }
        }
    }
    let format = output::format(if args.json { "json" } else { &args.format });
    match &args.output {
        Some(file) => output::write_whole(file, &(format.write)(analysis))?,
        None => output::print_report(format, analysis)?,
    }
    Ok(())
}

/// All files as studies that are drawn together, by the names of their files, or by their paths
/// where two have one name.
fn parts(first: &Path, more: &[PathBuf], stored: StoredStudy) -> Result<Vec<Part>, Failure> {
    let mut parts = vec![Part { name: stem(first), stored }];
    for file in more {
        parts.push(Part { name: stem(file), stored: study_of(file)? });
    }
    let names: BTreeSet<&String> = parts.iter().map(|part| &part.name).collect();
    if names.len() < parts.len() {
        let files = std::iter::once(first).chain(more.iter().map(PathBuf::as_path));
        parts.iter_mut().zip(files).for_each(|(part, file)| part.name = file.display().to_string());
    }
    Ok(parts)
}

fn stem(file: &Path) -> String {
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
fn study_of(file: &Path) -> Result<StoredStudy, Failure> {
    if is_stored(file) { Ok(narrows_store::read(file)?) } else { super::import::unstored(file) }
}

/// The applications of further files; each file must have one, the first too.
fn applications(
    file: &Path,
    more: &[PathBuf],
    first: &StoredStudy,
) -> Result<Vec<Application>, Failure> {
    if more.is_empty() {
        return Ok(Vec::new());
    }
    of(file, first)?;
    more.iter().map(|file| of(file, &narrows_store::read(file)?)).collect()
}

fn of(file: &Path, stored: &StoredStudy) -> Result<Application, Failure> {
    Application::of(stored).ok_or_else(|| {
        let says = format!("{} holds no application's runs", file.display());
        Failure::of(Cause::NOT_TOGETHER, says)
    })
}
