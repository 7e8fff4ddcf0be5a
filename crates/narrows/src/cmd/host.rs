//! `narrows host`: what this machine, or another's description, is made of.

use crate::args::HostArgs;
use crate::failure::{Failure, MACHINE, USAGE};
use crate::output;
use narrows_facts::SCHEMA_VERSION;
use narrows_facts::host::Host;
use narrows_host::Root;
use narrows_report::views;
use serde_json::json;
use std::path::Path;

/// Runs the command.
pub fn run(args: &HostArgs) -> Result<u8, Failure> {
    if args.schema {
        output::print(&views::schema())?;
        return Ok(0);
    }
    if let Some(file) = &args.capture {
        output::write_whole(file, &narrows_host::capture())?;
        eprintln!("capture {}; look it over before you send it", file.display());
        return Ok(0);
    }
    if let Some([a, b]) = args.diff.as_deref() {
        let (left, right) = (open(a)?, open(b)?);
        let names = (short(a), short(b));
        output::print(&views::diff::write((&names.0, &left), (&names.1, &right)))?;
        return Ok(0);
    }
    let host = match &args.from {
        Some(path) => open(path)?,
        None => narrows_host::read(&Root::live()),
    };
    if args.json {
        let document = json!({ "schema_version": SCHEMA_VERSION, "host": host });
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::new(MACHINE, error.to_string(), "try again"))?;
        output::print(&(text + "\n"))?;
        return Ok(0);
    }
    if args.svg {
        output::print(&views::picture(&host))?;
        return Ok(0);
    }
    let plain = if args.tree { "tree" } else { "drawing" };
    let name = args.table.map_or(plain, |table| table.name());
    if let Some(view) = views::view(name) {
        output::print(&(view.write)(&host))?;
    }
    if args.from.is_none() && args.table.is_none() {
        let denied = host.memory.slots.gap().filter(|gap| gap.starts_with("no permission"));
        if denied.is_some() {
            eprintln!("hint: as root this also shows the memory modules");
        }
    }
    Ok(0)
}

fn open(path: &Path) -> Result<Host, Failure> {
    narrows_host::open(path).map_err(|error| {
        let hint = "give a capture, a folder with sys and proc, a table DMI, dmidecode's text or hwloc's XML";
        Failure::new(USAGE, error, hint)
    })
}

/// The last part of a path, for the head of a column.
fn short(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
