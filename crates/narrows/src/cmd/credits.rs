//! `narrows credits`: how many cache lines one core of this host has in flight, and what is known
//! of the other domains between its NIC and its memory.

use super::mem::LocalStudy;
use crate::args::CreditsArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_control::key;
use narrows_host::Root;
use narrows_model::study_kind::StudyKind;
use narrows_plan::memory as plan;
use narrows_report::{credits, root_lines};
use serde_json::Value;
use std::path::Path;

pub fn run(args: &CreditsArgs) -> Result<u8, Failure> {
    match &args.from {
        Some(file) => counted(args, file),
        None => measured(args),
    }
}

/// What a study counted of device writes.
fn counted(args: &CreditsArgs, file: &Path) -> Result<u8, Failure> {
    let told = root_lines::of(&narrows_store::read(file)?).ok_or_else(|| {
        let why = format!("{} counted no writes of devices on its own host", file.display());
        Failure::of(Cause::NO_ROOT_LINES, why)
    })?;
    print(args, told.json(), &told.text())?;
    Ok(0)
}

/// One document, or text.
fn print(args: &CreditsArgs, mut document: Value, text: &str) -> Result<(), Failure> {
    if !args.json {
        return output::print(text);
    }
    document["schema_version"] = narrows_model::SCHEMA_VERSION.into();
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    output::print_exact(&(text + "\n"))
}

fn measured(args: &CreditsArgs) -> Result<u8, Failure> {
    let out = args.results();
    output::check_folder(&out.out)?;
    let host = narrows_host::read(&Root::live());
    let wanted = plan::Wanted {
        node: args.node,
        chains: plan::CHAINS.to_vec(),
        working_set_bytes: args.size,
        ..plan::Wanted::default()
    };
    let (spot, trials) = plan::trials(&host, &wanted, plan::WINDOW)
        .map_err(|why| Failure::of(Cause::NO_MEMORY, why.to_string()))?;
    let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let measurement = LocalStudy {
        command: StudyKind::Credits,
        host: &host,
        spot: &spot,
        trials: &trials,
        repeats: args.repeats.unwrap_or(plan::REPEATS),
        seed,
        memory_node: None,
        out: &out,
    };
    let (file, end) = measurement.run()?;
    let stored = narrows_store::read(&file)?;
    let Some(told) = credits::of(&stored) else { return Ok(output::exit_code(&end, 0)) };
    print(args, told.json(), &told.text())?;
    output::made(&file, "");
    output::nothing_measured(&file)?;
    Ok(output::exit_code(&end, 0))
}
