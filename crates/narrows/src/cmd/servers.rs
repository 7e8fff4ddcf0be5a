//! `narrows report --servers FILE...`: servers side by side by what they do of the wire's rate.

use super::predict::{description, is_study};
use super::{described, published};
use crate::args::ReportArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_predict::Said;
use narrows_report::Analysis;
use narrows_report::served;
use narrows_report::servers::{self, ServerRecord, ServersDocument, Source};
use narrows_report::wire::{Asked, complements};
use std::path::{Path, PathBuf};

/// What one file has of a server.
enum Read {
    Study(Box<StoredStudy>),
    /// A host, and what a description says of it.
    Host(Box<Host>, Said),
}

pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let format = if args.json { "json" } else { &args.format };
    if !["text", "csv", "json", "markdown", "html"].contains(&format) {
        let says = format!("--servers writes text, markdown, html, csv or json, and not {format}");
        return Err(Failure::of(Cause::SERVERS_FORMAT, says));
    }
    let mut all = joined(&args.servers, args)?;
    for file in &args.published {
        let rows = published::servers(file)?;
        all.extend(servers::published(&rows, &file.display().to_string()));
    }
    let text = match format {
        "csv" => servers::csv(&all),
        "markdown" => served::markdown(&all),
        "html" => served::page(&all),
        "json" => {
            let document =
                ServersDocument { schema_version: narrows_model::SCHEMA_VERSION, servers: all };
            serde_json::to_string_pretty(&document)
                .map_err(|error| Failure::of(Cause::FAULT, error.to_string()))?
                + "\n"
        }
        _ => servers::text(&all),
    };
    match &args.output {
        Some(file) => output::write_whole(file, &text)?,
        None => output::print_json_or_text(format != "text", &text)?,
    }
    Ok(0)
}

/// A file, and what it has.
struct Named {
    name: String,
    read: Read,
}

impl Named {
    fn name(&self) -> &str {
        &self.name
    }
}

/// A row for each file, but for two of one host that have its memory and its packets.
fn joined(files: &[PathBuf], args: &ReportArgs) -> Result<Vec<ServerRecord>, Failure> {
    let mut pairs: Vec<(Named, Option<Named>)> = Vec::new();
    for file in files {
        let one = Named { name: file.display().to_string(), read: read(file)? };
        let whole = pairs.iter_mut().find(|(first, also)| also.is_none() && joins(first, &one));
        match whole {
            Some((_, also)) => *also = Some(one),
            None => pairs.push((one, None)),
        }
    }
    pairs.iter().map(|(one, also)| server(one, also.as_ref(), args)).collect()
}

fn joins(one: &Named, other: &Named) -> bool {
    match (&one.read, &other.read) {
        (Read::Study(one), Read::Study(other)) => complements(one, other),
        _ => false,
    }
}

fn server(one: &Named, also: Option<&Named>, args: &ReportArgs) -> Result<ServerRecord, Failure> {
    let mut said = match &one.read {
        Read::Host(_, said) => said.clone(),
        Read::Study(_) => Said::new(),
    };
    said.extend(args.set.iter().cloned());
    let (host, analysis) = match &one.read {
        Read::Host(host, _) => (host.as_ref(), None),
        Read::Study(stored) => (&stored.host, Some(Analysis::of(stored))),
    };
    let other = also.and_then(|also| match &also.read {
        Read::Study(stored) => Some(Analysis::of(stored)),
        Read::Host(..) => None,
    });
    let names: Vec<&str> = [Some(one), also].into_iter().flatten().map(Named::name).collect();
    let name = names.join(", ");
    let (analysis, also) = (analysis.as_ref(), other.as_ref());
    let asked = Asked { host, analysis, also, said: &said, nic: None };
    let record = servers::record(&Source { name: name.clone(), asked });
    record.map_err(|why| Failure::of(Cause::NO_SERVER, format!("{name}: {why}")))
}

fn read(file: &Path) -> Result<Read, Failure> {
    if is_study(file) {
        return Ok(Read::Study(Box::new(narrows_store::read(file)?)));
    }
    if let Some(found) = description(file, Cause::NO_SERVER)? {
        return Ok(Read::Host(Box::default(), found.said));
    }
    Ok(Read::Host(Box::new(described::open(file)?), Said::new()))
}
