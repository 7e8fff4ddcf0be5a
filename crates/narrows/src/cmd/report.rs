//! `narrows report FILE`: everything that can be computed from a study file, again.

use super::demands;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output;
use crate::raster::Rasteriser;
use narrows_report::{Analysis, data, figures};

pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let Some(file) = &args.file else { return super::servers::run(args) };
    let stored = narrows_store::read(file)?;
    let reference = args.reference.as_ref().map(|file| narrows_store::read(file)).transpose()?;
    let analysis = Analysis::beside(&stored, reference.as_ref());
    if let Some(folder) = &args.figures {
        output::check_folder(folder)?;
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
