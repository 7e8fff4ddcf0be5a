//! `narrows host`: what this machine, or another's description, is made of.

use super::described::{open, open_together};
use super::{bmc, fleet};
use crate::args::{BmcArgs, HostArgs};
use crate::cause::Cause;
use crate::failure::{Failure, VERDICT};
use crate::{input, output, screen};
use narrows_dimm::placement::{self, Trace};
use narrows_dimm::rule::{self, Confidence, Rule};
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_model::{Fact, SCHEMA_VERSION};
use narrows_report::results::{self, HostDocument, Results};
use narrows_report::{placed, views};
use std::path::{Path, PathBuf};

pub fn run(args: &HostArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        output::print_exact(&results::schema())?;
        return Ok(0);
    }
    if let Some(file) = &args.capture {
        output::write_whole(file, &narrows_host::capture())?;
        note!("capture {}; look it over before you send it", file.display());
        return Ok(0);
    }
    if let Some(paths) = args.diff.as_deref() {
        return differences(paths, &args.bmc);
    }
    let many = bmc::are_several(&args.from) || narrows_host::is_fleet(&args.from);
    if args.fleet || args.csv || many {
        return fleet::run(args);
    }
    let mut host = match args.from.as_slice() {
        [] => narrows_host::read(&Root::live()),
        paths => open_together(paths, &args.bmc)?,
    };
    for one in &host.unused {
        note!("not used: {} ({})", one.what, one.from);
    }
    if args.explain_slots || !args.slot_map.is_empty() {
        let mut rules = slot_maps(&args.slot_map)?;
        // Those of this host's owner were tried when it was read, behind what is given now.
        if args.from.is_empty() {
            rules.extend(narrows_host::memory::slot_maps::read(&Root::live()).0);
        }
        let trace = placement::place(&mut host, &rules);
        if args.explain_slots {
            output::print(&placed::write(&host, &trace, &screen::of_output()))?;
            return Ok(0);
        }
        warn_unused(args, &trace);
    }
    let results = Results::of(&host);
    let code = if results.has_fault() { VERDICT } else { 0 };
    if args.json {
        let document = HostDocument { schema_version: SCHEMA_VERSION, host, results };
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::of(Cause::FAULT, error.to_string()))?;
        output::print_exact(&(text + "\n"))?;
        return Ok(code);
    }
    if args.svg {
        output::print_exact(&views::picture(&host))?;
        return Ok(code);
    }
    let plain = if args.tree { "tree" } else { "drawing" };
    let name = args.table.map_or(plain, |table| table.name());
    if let Some(view) = views::view(name) {
        output::print(&view.text(&host, &screen::of_output()))?;
    }
    let missing = denied(&host);
    if args.from.is_empty() && args.table.is_none() && !missing.is_empty() {
        note!("hint: as root this also shows {}", missing.join(", "));
    }
    Ok(code)
}

fn differences(paths: &[PathBuf], bmc: &BmcArgs) -> Result<u8, Failure> {
    let one = |path: &PathBuf| {
        if bmc::is_address(path) {
            open_together(std::slice::from_ref(path), bmc)
        } else {
            open(path)
        }
    };
    let hosts = paths.iter().map(|path| Ok((short(path), one(path)?)));
    let hosts: Vec<(String, Host)> = hosts.collect::<Result<_, Failure>>()?;
    let hosts: Vec<(&str, &Host)> =
        hosts.iter().map(|(name, host)| (name.as_str(), host)).collect();
    output::print(&views::diff::write(&hosts, &screen::of_output()))?;
    Ok(0)
}

/// The rules of the maps that the user gives, in the order of their names inside a folder.
fn slot_maps(paths: &[PathBuf]) -> Result<Vec<Rule>, Failure> {
    let mut rules = Vec::new();
    for path in paths {
        for file in map_files(path)? {
            let text = input::text(&file)?;
            let given = rule::given(&text).map_err(|error| {
                Failure::of(Cause::NO_SLOT_MAP, format!("{}: {error}", file.display()))
            })?;
            rules.extend(given);
        }
    }
    Ok(rules)
}

/// The file itself, or the `*.json` of a folder, which must hold one.
fn map_files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| Failure::unread(path, &error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    if files.is_empty() {
        let text = format!("{}: no *.json in this folder", path.display());
        return Err(Failure::of(Cause::NO_SLOT_MAP, text));
    }
    Ok(files)
}

/// Says that a map that was given placed nothing.
fn warn_unused(args: &HostArgs, trace: &Trace) {
    let used = trace.placed.as_ref().is_some_and(|placed| placed.confidence == Confidence::Given);
    if !args.slot_map.is_empty() && !used {
        note!("no rule of --slot-map placed the slots");
        note!("hint: --explain-slots says what was tried, and why it was not taken");
    }
}

/// What this user may not read, in words.
fn denied(host: &Host) -> Vec<&'static str> {
    fn is_denied<T>(fact: &Fact<T>) -> bool {
        matches!(fact, Fact::Denied { .. })
    }
    let mut hops = host.devices.iter().flat_map(|device| &device.path);
    let all = [
        (is_denied(&host.memory.slots), "the memory modules"),
        (hops.any(|hop| is_denied(&hop.express)), "the PCI packet sizes"),
        (host.nics.iter().any(|nic| is_denied(&nic.irqs)), "the interrupts' CPUs"),
    ];
    all.into_iter().filter(|(denied, _)| *denied).map(|(_, what)| what).collect()
}

/// The last part of a path, for the head of a column.
fn short(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
