//! `narrows host`: what this machine, or another's description, is made of.

use crate::args::HostArgs;
use crate::cause::Cause;
use crate::failure::{Failure, VERDICT};
use crate::output;
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_model::{Fact, SCHEMA_VERSION};
use narrows_report::results::{self, HostDocument, Results};
use narrows_report::views;
use std::path::Path;

/// Runs the command.
pub fn run(args: &HostArgs) -> Result<u8, Failure> {
    if args.schema {
        output::print_exact(&results::schema())?;
        return Ok(0);
    }
    if let Some(file) = &args.capture {
        output::write_whole(file, &narrows_host::capture())?;
        note!("capture {}; look it over before you send it", file.display());
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
        output::print(&(view.write)(&host))?;
    }
    let missing = denied(&host);
    if args.from.is_none() && args.table.is_none() && !missing.is_empty() {
        note!("hint: as root this also shows {}", missing.join(", "));
    }
    Ok(code)
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

pub fn open(path: &Path) -> Result<Host, Failure> {
    // Told apart from what is there and is no host.
    let seen = std::fs::metadata(path).and_then(|data| match data.is_file() {
        true => std::fs::File::open(path).map(drop),
        false => Ok(()),
    });
    seen.map_err(|error| Failure::unread(path, &error))?;
    narrows_host::open(path).map_err(|error| Failure::of(Cause::NO_HOST, error.to_string()))
}

/// The last part of a path, for the head of a column.
fn short(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
