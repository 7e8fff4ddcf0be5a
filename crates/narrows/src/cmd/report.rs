//! `narrows report FILE`: everything that can be computed from a study file, again.

use super::demands;
use super::references::{self, stem, study_of};
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
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("report");
    }
    let Some(file) = &args.file else { return super::servers::run(args) };
    let stored = narrows_store::read(file)?;
    if !args.more.is_empty() && Application::of(&stored).is_none() {
        let parts = parts(file, &args.more, stored)?;
        let references = references::all(&args.reference.files, &parts)?;
        let stored = joint::merged(&parts)
            .map_err(|why| Failure::of(Cause::NOT_TOGETHER, why.to_string()))?;
        written(args, &Analysis::joint(&stored, &parts, &references))?;
        return parts
            .iter()
            .try_fold(0, |code, part| demands::judged_of(&part.stored, &args.demands, code));
    }
    match Application::of(&stored) {
        Some(first) => {
            let more = applications(&args.more)?;
            let names: Vec<&str> =
                [&first].into_iter().chain(&more).map(|one| one.name.as_str()).collect();
            let published = references::of_applications(&args.reference.files, &names)?;
            let analysis = Analysis::of(&stored).with_applications(more);
            written(args, &analysis.with_published(&published))?;
        }
        None => {
            let references = references::all(&args.reference.files, &[])?;
            written(args, &Analysis::beside(&stored, &references))?;
        }
    }
    demands::judged(file, &args.demands, 0)
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

/// The applications of further files; each file must have one.
fn applications(more: &[PathBuf]) -> Result<Vec<Application>, Failure> {
    more.iter().map(|file| of(file, &narrows_store::read(file)?)).collect()
}

fn of(file: &Path, stored: &StoredStudy) -> Result<Application, Failure> {
    Application::of(stored).ok_or_else(|| {
        let says = format!("{} holds no application's runs", file.display());
        Failure::of(Cause::NOT_TOGETHER, says)
    })
}
