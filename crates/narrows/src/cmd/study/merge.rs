//! `narrows study merge`: the runs of several files of one study in a new one.

use crate::args::MergeArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_store::Store;
use std::collections::BTreeMap;

/// Runs the command. Sessions and repeats are numbered anew, in the order of the files; everything
/// else of a record stays as it was measured.
pub fn run(args: &MergeArgs) -> Result<u8, Failure> {
    let mut files = Vec::new();
    for file in &args.files {
        files.push((file, narrows_store::read(file)?));
    }
    let (first_file, first) = &files[0];
    for (file, stored) in &files {
        let same = stored.definition == first.definition
            && stored.definition.is_some()
            && stored.study.quick == first.study.quick
            && stored.study.path == first.study.path;
        if !same {
            let says =
                format!("{} and {} are not of one study", first_file.display(), file.display());
            return Err(Failure::of(Cause::NOT_ONE_STUDY, says));
        }
    }
    let mut store = Store::draft(&args.output, &first.study, &first.host)?;
    store.put_definition(first.definition.as_deref().unwrap_or_default())?;
    store.put_trials(&first.trials)?;
    store.put_peer_hosts(&first.peer_hosts)?;
    let (mut sessions, mut repeats, mut runs) = (0, BTreeMap::new(), 0);
    for (_, stored) in &files {
        for session in &stored.sessions {
            let mut session = session.clone();
            session.number += sessions;
            store.put_session(&session)?;
        }
        let mut records = Vec::new();
        for record in &stored.records {
            let next = repeats.entry(record.trial.clone()).or_insert(0);
            let mut record = record.clone();
            (record.repeat, record.session) = (*next, record.session + sessions);
            *next += 1;
            records.push(record);
        }
        runs += records.len();
        store.put_records(&records)?;
        sessions += stored.sessions.iter().map(|s| s.number + 1).max().unwrap_or(0);
        if let Some(ended) = &stored.ended {
            store.put_ended(ended)?;
        }
    }
    store.publish()?;
    output::print(&format!("{runs} runs of {} files in {}\n", files.len(), args.output.display()))?;
    Ok(0)
}
