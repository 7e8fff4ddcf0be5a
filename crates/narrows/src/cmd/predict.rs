//! `narrows predict`: what should be reached, of a host as it is and after a change, and of
//! published tables.

use crate::args::PredictArgs;
use crate::failure::{Failure, USAGE};
use crate::output;
use narrows_facts::host::Host;
use narrows_host::Root;
use narrows_predict::published::{Table, predict};
use narrows_predict::whatif::{Found, Machine, Reach, of_host, search};
use narrows_report::published;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Populations that a search shows.
const SHOWN: usize = 5;

/// Runs the command.
pub fn run(args: &PredictArgs) -> Result<u8, Failure> {
    if !args.published.is_empty() {
        return tables(args);
    }
    let host = match &args.from {
        Some(from) => super::host::open(from)?,
        None => narrows_host::read(&Root::live()),
    };
    let wrong = |why: String| {
        let hint = "docs/predict.md says what --set takes; `narrows host` shows what is read";
        Failure::new(USAGE, why, hint)
    };
    let set: BTreeMap<String, String> = args.set.iter().cloned().collect();
    let changed = of_host(&host, &set).map_err(wrong)?;
    if let Some(modules) = args.search {
        return populations(args, &changed, modules);
    }
    let today = today(&host, &set);
    let (before, after) = (today.as_ref().map(Machine::reaches), changed.reaches());
    output::print(&match args.json {
        true => {
            let document = serde_json::json!({
                "schema_version": narrows_facts::SCHEMA_VERSION,
                "set": set,
                "today": before,
                "reaches": after,
            });
            serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
        }
        false => text(before.as_deref(), &after, &changed),
    })?;
    Ok(0)
}

/// The host as it is, where that is known, and where something is asked to be different.
fn today(host: &Host, set: &BTreeMap<String, String>) -> Option<Machine> {
    (!set.is_empty()).then(|| of_host(host, &BTreeMap::new()).ok()).flatten()
}

fn text(before: Option<&[Reach]>, after: &[Reach], machine: &Machine) -> String {
    let mut text = format!("{}: {}\n", machine.platform().name, population(&machine.modules));
    for (at, reach) in after.iter().enumerate() {
        let was = before.and_then(|before| before.get(at));
        let change = was.map_or(String::new(), |was| {
            format!("; today {:.1}, {:+.0} %", was.gbps, (reach.gbps / was.gbps - 1.0) * 100.0)
        });
        let _ = writeln!(
            text,
            "{:<20} {:.1} Gb/s ({:.1} to {:.1}), narrowest {}{change}",
            reach.path, reach.gbps, reach.low, reach.high, reach.resources[0].name
        );
        for resource in &reach.resources {
            let room = resource.gbps / reach.gbps;
            let _ = writeln!(
                text,
                "  {:<7} {:>7.1} Gb/s, {room:.2} x: {}",
                resource.name, resource.gbps, resource.says
            );
        }
    }
    text + "a model fitted on one processor family's published tables, not a measurement; \
            docs/predict.md has its parameters\n"
}

fn population(modules: &[Vec<u32>]) -> String {
    let socket = |modules: &Vec<u32>| {
        let words: Vec<String> = modules.iter().map(u32::to_string).collect();
        words.join(",")
    };
    let sockets: Vec<String> = modules.iter().map(socket).collect();
    format!("modules by channel {}", sockets.join(" | "))
}

fn populations(args: &PredictArgs, machine: &Machine, modules: u32) -> Result<u8, Failure> {
    let (tried, found) = search(machine, modules, SHOWN)
        .map_err(|why| Failure::new(USAGE, why, "see `narrows help predict`"))?;
    if found.is_empty() {
        let says = format!("{modules} modules do not fit this server's slots");
        return Err(Failure::new(USAGE, says, "see `narrows host --table memory`"));
    }
    output::print(&match args.json {
        true => {
            let document = serde_json::json!({
                "schema_version": narrows_facts::SCHEMA_VERSION,
                "tried": tried,
                "best": found,
            });
            serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
        }
        false => {
            let mut text = format!("{tried} populations of {modules} modules, the best:\n");
            found.iter().for_each(|found| text += &line(found));
            text
        }
    })?;
    Ok(0)
}

fn line(found: &Found) -> String {
    let sets = |sets: &Vec<usize>| match sets.as_slice() {
        [] => "no memory".to_owned(),
        [one] => format!("one set of {one}"),
        many => {
            format!("sets of {}", many.iter().map(usize::to_string).collect::<Vec<_>>().join("+"))
        }
    };
    let words: Vec<String> = found.sets.iter().map(sets).collect();
    format!(
        "  {}: {}; TCP {:.1}, UDP {:.1} Gb/s\n",
        population(&found.modules),
        words.join(" and "),
        found.tcp_gbps,
        found.udp_gbps
    )
}

fn tables(args: &PredictArgs) -> Result<u8, Failure> {
    let mut tables = Vec::new();
    for file in &args.published {
        let wrong = |why: String| {
            Failure::new(USAGE, why, "docs/predict.md has the fields of published tables")
        };
        let text = std::fs::read_to_string(file)
            .map_err(|error| wrong(format!("{} cannot be read: {error}", file.display())))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        tables.push(Table::parse(&name, &text).map_err(wrong)?);
    }
    let answers = predict(&tables);
    output::print(&match args.json {
        false => published::text(&answers),
        true => {
            let document = serde_json::json!({
                "schema_version": narrows_facts::SCHEMA_VERSION,
                "answers": answers,
                "summary": published::summary(&answers).trim(),
            });
            serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
        }
    })?;
    Ok(0)
}
