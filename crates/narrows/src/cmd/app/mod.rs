//! `narrows app STUDY`: an application of the user's by ranks, fabric, MTU and place.

mod ahead;
mod rig;
mod run;
mod sheet;
mod speed;

use crate::args::AppArgs;
use crate::cause::Cause;
use crate::cmd::{demands, references};
use crate::failure::{Failure, STOPPED, VERDICT};
use crate::{output, screen, stop};
use narrows_app::AppError;
use narrows_app::cells::cells;
use narrows_app::definition::Definition;
use narrows_app::scaling::Scaling;
use narrows_control::key;
use narrows_model::study::{Ended, StoredStudy};
use narrows_report::beside::{self, Told};
use narrows_report::{app as report, figures};
use rig::Rig;
use sheet::Sheet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// More than this is no study that a person wrote, in bytes.
const STUDY_BYTES_MAX: u64 = 16 << 20;

pub fn run(args: &AppArgs) -> Result<u8, Failure> {
    if args.study.extension().is_some_and(|ending| ending == "narrows") {
        return again(args);
    }
    let mut definition = read(&args.study)?;
    definition.repeats = match (args.repeats, args.quick) {
        (Some(repeats), _) => repeats,
        (None, true) => 1,
        (None, false) => definition.repeats,
    };
    // Before hours of runs, and not after them.
    let published = references::of_applications(&args.reference.files, &[&definition.name])?;
    if args.dry_run {
        output::print(&ahead::outlook(&definition, args.measures_fabrics()))?;
        return Ok(0);
    }
    ahead::check(&definition)?;
    output::check_folder(&args.out)?;
    let stop = stop::flag()?;
    let rig = Rig::build(args, &definition, &stop)?;
    let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let mut sheet = Sheet::open(args, &definition, &rig, seed)?;
    let file = sheet.file().to_owned();
    let measured = measure(&rig, &mut sheet, seed, &stop);
    let ended = match &measured {
        Ok(()) if stop.load(Ordering::Relaxed) => Ended::by_signal(),
        Ok(()) => Ended::Complete,
        Err(why) => Ended::Interrupted { why: why.says().to_owned() },
    };
    sheet.end(&ended)?;
    measured?;
    if stop.load(Ordering::Relaxed) {
        note!("what was measured is kept in {}", file.display());
        return Ok(STOPPED);
    }
    let code = present(args, &file, &narrows_store::read(&file)?, &published)?;
    if code == 0 {
        // Runs whose results are wrong have no figure, and are a verdict.
        output::nothing_measured(&file).map_err(|why| Failure::of(Cause::APP_RUNS, why.says()))?;
    }
    output::made(&file, "");
    Ok(code)
}

fn read(path: &Path) -> Result<Definition, Failure> {
    let unread = |error| Failure::unread(path, &error);
    let about = std::fs::metadata(path).map_err(unread)?;
    if !about.is_file() || about.len() > STUDY_BYTES_MAX {
        let says = format!("{} is no plain file, or longer than any study", path.display());
        return Err(Failure::of(Cause::APP_STUDY, says));
    }
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let wrong =
        |error: AppError| Failure::of(Cause::APP_STUDY, format!("{}: {error}", path.display()));
    Definition::parse(&text).map_err(wrong)
}

/// Fabrics first, then all runs in blocks.
fn measure(rig: &Rig<'_>, sheet: &mut Sheet, seed: u64, stop: &AtomicBool) -> Result<(), Failure> {
    for curve in sheet.curves().to_vec() {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        match speed::measure(rig, &curve, stop) {
            Ok(found) => sheet.put_speeds(rig.definition, &curve, &found)?,
            // What the application does over it is told all the same.
            Err(why) => note!("{}: {}", rig.name(&curve), why.says()),
        }
    }
    let cells = cells(rig.definition);
    let steps = narrows_plan::blocks(cells.len(), rig.definition.repeats, seed);
    for (at, step) in steps.iter().enumerate() {
        let Some(cell) = cells.get(step.trial) else { continue };
        note!("run {} of {}: {}", at + 1, steps.len(), rig.name(cell));
        let Some(ran) = run::run(rig, cell, stop)? else { return Ok(()) };
        sheet.put(*step, ran)?;
    }
    Ok(())
}

/// What came of it, from the file of its results.
fn again(args: &AppArgs) -> Result<u8, Failure> {
    let stored = narrows_store::read(&args.study)?;
    let names = [report::name(&stored)];
    let published = match Scaling::of(&stored) {
        Some(_) => references::of_applications(&args.reference.files, &names)?,
        None => Vec::new(),
    };
    present(args, &args.study, &stored, &published)
}

fn present(
    args: &AppArgs,
    file: &Path,
    stored: &StoredStudy,
    published: &[StoredStudy],
) -> Result<u8, Failure> {
    let scaling = Scaling::of(stored).ok_or_else(|| {
        Failure::of(Cause::NO_APP, format!("{} holds no application's runs", file.display()))
    })?;
    let beside = beside::of(report::name(stored), &scaling, published);
    if let Some(svg) = &args.svg {
        let drawn = figures::of_application(&scaling, stored);
        if drawn.is_empty() {
            note!("{} is not written: no run that counts", svg.display());
        } else {
            output::write_whole(svg, &drawn)?;
        }
    }
    let text = if args.json {
        let told = Told { scaling: &scaling, beside: beside.as_ref() };
        serde_json::to_string_pretty(&told).unwrap_or_default() + "\n"
    } else {
        let screen = screen::of_output();
        let beside = beside.map_or_else(String::new, |beside| beside::text(&beside, &screen));
        report::text(&scaling, stored, &screen) + &beside
    };
    output::print_json_or_text(args.json, &text)?;
    let lost = scaling.lost();
    for (curve, point) in &lost {
        let why = point.rejected.first().map_or("", String::as_str);
        note!("no run of {} ranks over {} counts: {why}", point.ranks, curve.name());
    }
    let is_bad = scaling.has_wrong_results() || !lost.is_empty();
    let verdict = if is_bad { VERDICT } else { 0 };
    demands::judged_of(stored, &args.demands, verdict)
}
