//! `narrows list`: the study files of a folder.

use crate::args::ListArgs;
use crate::failure::Failure;
use crate::output;
use narrows_model::Nanos;
use narrows_model::study::Ended;
use narrows_report::documents::{self, Listed, ListedStudy, ListedUnread};
use narrows_report::words::counted;
use narrows_store::StoreError;
use std::path::{Path, PathBuf};

pub fn run(args: &ListArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("list");
    }
    let mut files = Vec::new();
    for path in &args.paths {
        files.extend(studies(path)?);
    }
    let mut text = String::new();
    let mut all = Vec::new();
    let mut unread = Vec::new();
    for file in &files {
        match line(file) {
            Ok((words, listed)) => {
                text += &words;
                all.push(listed);
            }
            Err(error) => {
                all.push(Listed::Unread(ListedUnread {
                    schema_version: documents::VERSION,
                    file: file.display().to_string(),
                    error: error.to_string(),
                }));
                unread.push(error);
            }
        }
    }
    output::print_json_or_text(
        args.json,
        &if args.json { documents::printed(&all) } else { text },
    )?;
    // Every other file is listed before those that cannot be read are told, each once; the last
    // of them decides how the command ends.
    let Some(last) = unread.pop() else { return Ok(0) };
    unread.iter().for_each(|error| note!("{error}"));
    Err(last.into())
}

/// The study files that a path names or holds, by name.
pub fn studies(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let wrong = |error: std::io::Error| Failure::unread(path, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(wrong)? {
        found.push(entry.map_err(wrong)?.path());
    }
    found.retain(|file| file.extension().is_some_and(|end| end == "narrows"));
    found.sort();
    Ok(found)
}

fn line(file: &Path) -> Result<(String, Listed), StoreError> {
    let stored = narrows_store::head(file)?;
    let counts = narrows_store::counts(file)?;
    let done: u32 = counts.values().map(|counts| counts.done).sum();
    let failed: u32 = counts.values().map(|counts| counts.failed).sum();
    let ended = match &stored.ended {
        Some(Ended::Complete) => "complete",
        Some(Ended::Interrupted { .. }) => "interrupted",
        None => "not ended",
    };
    let study = &stored.study;
    let host = stored.host.name.value().cloned().unwrap_or_default();
    let plain = narrows_report::words::tame(&host);
    let began = when(study.began_unix_ns);
    let quick = if study.quick { " quick" } else { "" };
    let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let words = format!(
        "{began}  {:<10}{quick} {:>9}, {}{failures}, {ended}, {plain}  {}\n",
        study.command.as_str(),
        counted(stored.trials.len(), "cell"),
        counted(done as usize, "run"),
        file.display(),
    );
    let listed = Listed::Study(ListedStudy {
        schema_version: documents::VERSION,
        file: file.display().to_string(),
        command: study.command.clone(),
        began_unix_ns: study.began_unix_ns,
        quick: study.quick,
        host,
        trials: stored.trials.len(),
        runs_done: done,
        runs_failed: failed,
        ended,
        sessions: stored.sessions.len(),
    });
    Ok((words, listed))
}

fn when(began: Nanos) -> String {
    let at = jiff::Timestamp::from_nanosecond(began.0.into()).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M").to_string()
}
