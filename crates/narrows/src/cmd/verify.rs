//! `narrows verify`: whether a file is whole, and whether its results follow from its records.

use crate::args::VerifyArgs;
use crate::cause::Cause;
use crate::failure::{Failure, VERDICT};
use crate::output;
use narrows_model::load::EndReport;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_plan::study::{Definition, cells};
use narrows_report::documents::{self, Verified, VerifiedChain, VerifyDocument};
use narrows_report::words::counted;
use narrows_report::{Analysis, formats};
use narrows_store::{Chain, Noted};
use std::collections::BTreeSet;
use std::path::Path;

/// Most problems of a file that are told.
const TOLD_MAX: usize = 20;

pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("verify");
    }
    if args.head.is_some() && args.files.len() > 1 {
        let says = "--head is for one file";
        return Err(Failure::of(Cause::ONE_HEAD, says));
    }
    if args.json {
        return document(args);
    }
    let mut code = 0;
    for file in &args.files {
        let (verified, says) = verified(file, args.head.as_deref())?;
        output::print(&(text(file, &verified) + &says))?;
        if !verified.whole {
            code = VERDICT;
        }
    }
    Ok(code)
}

/// The document of all files: those that cannot be read are in it with why, and the first of them
/// ends the command after it.
fn document(args: &VerifyArgs) -> Result<u8, Failure> {
    let (mut files, mut unread) = (Vec::new(), None);
    for file in &args.files {
        match verified(file, args.head.as_deref()) {
            Ok((verified, _)) => files.push(verified),
            Err(why) => {
                files.push(Verified {
                    file: file.display().to_string(),
                    whole: false,
                    runs: 0,
                    cells: 0,
                    problems: Vec::new(),
                    chain: None,
                    error: Some(why.says().to_owned()),
                });
                unread = unread.or(Some(why));
            }
        }
    }
    let is_whole = files.iter().all(|file| file.whole);
    let document = VerifyDocument { schema_version: documents::VERSION, files };
    output::print_exact(&documents::printed(&document))?;
    match unread {
        Some(why) => Err(why),
        None => Ok(if is_whole { 0 } else { VERDICT }),
    }
}

/// What is found of a file, and what is said of its chain.
fn verified(file: &Path, noted: Option<&str>) -> Result<(Verified, String), Failure> {
    // Reading checks that the database is whole and that every part of it is understood.
    let stored = narrows_store::read(file)?;
    let chain = narrows_store::chain(file, noted)?;
    let mut problems = problems(&stored);
    let (says, broken) = chain_says(file, &chain, noted.is_some());
    problems.extend(broken);
    let verified = Verified {
        file: file.display().to_string(),
        whole: problems.is_empty(),
        runs: stored.records.len(),
        cells: stored.trials.len(),
        problems,
        chain: chain_holds(chain),
        error: None,
    };
    Ok((verified, says))
}

fn text(file: &Path, verified: &Verified) -> String {
    let mut text = match verified.problems.len() {
        0 => format!(
            "{}: whole; {} of {}, results follow from them\n",
            file.display(),
            counted(verified.runs, "run"),
            counted(verified.cells, "cell")
        ),
        n => format!("{}: {n} problems\n", file.display()),
    };
    let told = verified.problems.iter().take(TOLD_MAX);
    told.for_each(|problem| text += &format!("  {problem}\n"));
    text
}

fn chain_holds(chain: Chain) -> Option<VerifiedChain> {
    let Chain::Whole { links, head, adopted, noted } = chain else { return None };
    let noted_link = match noted {
        Some(Noted::Link(at)) => Some(at),
        Some(Noted::Nowhere) | None => None,
    };
    Some(VerifiedChain { links, head, adopted_runs: adopted, noted_link })
}

/// What the chain says, and where it does not hold.
fn chain_says(file: &Path, chain: &Chain, noted: bool) -> (String, Vec<String>) {
    let file = file.display();
    match chain {
        Chain::None => {
            let says = format!(
                "{file}: carries no chain: an older narrows wrote it, and nothing shows whether a \
                 figure in it was altered\n"
            );
            let unknown = "it carries no chain, so the noted head is not its own";
            (says, noted.then(|| unknown.to_owned()).into_iter().collect())
        }
        Chain::Broken(breaks) => (String::new(), breaks.iter().map(ToString::to_string).collect()),
        Chain::Whole { links, head, adopted, noted } => {
            let mut says = format!(
                "{file}: chain of {links} links holds, head {head}: every record is as it was \
                 stored, unless somebody rebuilt the chain; a head noted elsewhere shows that \
                 (--head)\n"
            );
            if *adopted > 0 {
                says += &format!(
                    "{file}: {adopted} runs are older than the chain: for them it shows only that \
                     nothing changed since the study was resumed\n"
                );
            }
            let mut problems = Vec::new();
            match noted {
                Some(Noted::Link(at)) => {
                    says += &format!(
                        "{file}: the noted head is link {at} of {links}: all up to there \
                         is as it was then\n"
                    );
                }
                Some(Noted::Nowhere) => problems.push(
                    "the noted head is not in its chain: somebody rebuilt it, or the head is of \
                    another file"
                        .to_owned(),
                ),
                None => {}
            }
            (says, problems)
        }
    }
}

fn problems(stored: &StoredStudy) -> Vec<String> {
    let mut problems = trials(stored);
    let known: BTreeSet<_> = stored.trials.iter().map(|trial| &trial.id).collect();
    let sessions: BTreeSet<u32> = stored.sessions.iter().map(|session| session.number).collect();
    let mut seen = BTreeSet::new();
    for (at, record) in stored.records.iter().enumerate() {
        let mut found = |why: &str| problems.push(format!("run {}: {why}", at + 1));
        if !known.contains(&record.trial) {
            found("its cell is not there");
        }
        if !seen.insert((&record.trial, record.repeat)) {
            found("it is stored twice");
        }
        if !sessions.is_empty() && !sessions.contains(&record.session) {
            found("its session is not there");
        }
        run_problems(record).into_iter().for_each(found);
    }
    // The same records give the same document, however often they are asked.
    let document = || (formats::json::FORMAT.write)(&Analysis::of(stored));
    if document() != document() {
        problems.push("results differ when they are computed again".to_owned());
    }
    problems
}

/// Cells whose id is not the hash of what they are.
fn trials(stored: &StoredStudy) -> Vec<String> {
    let defined = stored.definition.as_deref().map(|text| {
        let definition = Definition::parse(text)?;
        let definition = if stored.study.quick { definition.quickly() } else { definition };
        cells(&definition)
    });
    let wrong = |trial: &&Trial| match &defined {
        Some(Ok(cells)) => cells.iter().all(|cell| cell.id != trial.id),
        Some(Err(_)) => true,
        None if trial.path == NetworkPath::Imported => {
            let engine = trial.engine.as_ref().map_or("", |engine| engine.tool.as_str());
            let (levels, notes) = (trial.levels.clone(), trial.notes.clone());
            narrows_plan::imported(engine, trial.kind.clone(), levels, notes).id != trial.id
        }
        None => {
            let Trial { label, kind, params, ends, path, timeline, .. } = (*trial).clone();
            narrows_plan::trial(&label, kind, params, ends, path, timeline).id != trial.id
        }
    };
    stored
        .trials
        .iter()
        .filter(wrong)
        .map(|trial| format!("cell '{}': its id is not that of what it is", trial.label))
        .collect()
}

fn run_problems(record: &Record) -> Vec<&'static str> {
    let mut problems = Vec::new();
    if record.outcome == Outcome::Done {
        match (record.receiver(), &record.external) {
            (None, None) => problems.push("it is done and has no result"),
            (Some(receiver), _) if receiver.window_ns.0 == 0 => {
                problems.push("its window has no length")
            }
            _ => {}
        }
    }
    if record.measured().any(|end| !slices_fit(end)) {
        problems.push("its slices count more bytes than its flows");
    }
    problems
}

/// Slices are read while flows go on: they may miss a little at both ends, and never have more than
/// the flows by more than one slice.
fn slices_fit(end: &EndReport) -> bool {
    let flows: u64 = end.flows.iter().map(|flow| flow.bytes.0).fold(0, u64::saturating_add);
    let slices = end.intervals.iter().map(|slice| slice.bytes.0);
    let (sum, most) = slices
        .fold((0u64, 0u64), |(sum, most), bytes| (sum.saturating_add(bytes), most.max(bytes)));
    sum <= flows.saturating_add(most)
}
