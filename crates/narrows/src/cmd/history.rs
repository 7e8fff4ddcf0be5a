//! `narrows history`: figures over many files; exit code 1 when one of them became worse.

use super::list::studies;
use crate::args::HistoryArgs;
use crate::cause::Cause;
use crate::failure::{Failure, VERDICT};
use crate::output;
use narrows_report::documents::{self, HistoryDocument};
use narrows_report::history::History;

pub fn run(args: &HistoryArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("history");
    }
    let mut files = Vec::new();
    for path in &args.paths {
        files.extend(studies(path)?);
    }
    let (mut history, mut read, mut unread) = (History::default(), 0, Vec::new());
    for file in &files {
        match narrows_store::read(file) {
            Ok(study) => {
                history.add(&file.display().to_string(), &study);
                read += 1;
            }
            Err(error) => unread.push(error),
        }
    }
    if read == 0 && unread.is_empty() {
        return Err(Failure::of(Cause::NO_FILES, "there is no study file here"));
    }
    let history = history.judged();
    let text = if args.json {
        documents::printed(&HistoryDocument {
            schema_version: documents::VERSION,
            files: read,
            figures: history.courses(),
        })
    } else {
        history.text(&crate::screen::of_output())
    };
    output::print_json_or_text(args.json, &text)?;
    // One damaged file takes nothing from the others; the last of them decides how it ends.
    let Some(last) = unread.pop() else {
        return Ok(if history.is_worse() { VERDICT } else { 0 });
    };
    unread.iter().for_each(|error| note!("{error}"));
    Err(last.into())
}
