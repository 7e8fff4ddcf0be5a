//! `narrows report FILE`: everything that can be computed from a study file, again.

use super::demands;
use crate::args::ReportArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use crate::raster::Rasteriser;
use narrows_model::study::StoredStudy;
use narrows_report::applications::Application;
use narrows_report::{Analysis, data, figures};
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let Some(file) = &args.file else { return super::servers::run(args) };
    let stored = narrows_store::read(file)?;
    let references = args.reference.iter().map(|file| reference(file));
    let references = references.collect::<Result<Vec<StoredStudy>, Failure>>()?;
    let more = applications(file, &args.more, &stored)?;
    let analysis = Analysis::beside(&stored, &references).with_applications(more);
    if let Some(folder) = &args.figures {
        output::make_folder(folder)?;
        let drawer = args.png.then(Rasteriser::new).transpose()?;
        for (name, csv) in data::all(&analysis) {
            output::write_whole(&folder.join(format!("{name}.csv")), &csv)?;
        }
        for (name, svg) in figures::all(&analysis) {
            output::write_whole(&folder.join(format!("{name}.svg")), &svg)?;
            if let Some(drawer) = &drawer {
                output::write_bytes(&folder.join(format!("{name}.png")), &drawer.png(&svg)?)?;
            }
        }
    }
    let format = output::format(if args.json { "json" } else { &args.format });
    match &args.output {
        Some(file) => output::write_whole(file, &(format.write)(&analysis))?,
        None => output::print_report(format, &analysis)?,
    }
    demands::judged(file, &args.demands, 0)
}

/// Another study, or a table or output of a tool that can be imported as one.
fn reference(file: &Path) -> Result<StoredStudy, Failure> {
    if file.extension().is_some_and(|end| end == "narrows") {
        Ok(narrows_store::read(file)?)
    } else {
        super::import::unstored(file)
    }
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
