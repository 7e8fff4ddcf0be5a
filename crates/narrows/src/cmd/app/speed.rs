//! What each fabric does between two ranks, by `narrows mpi` under the same launcher and settings,
//! in the same session as the application.

use super::rig::Rig;
use super::run::Folder;
use crate::cause::Cause;
use crate::cmd::launcher::{How, ended, why};
use crate::cmd::own_binary;
use crate::failure::Failure;
use narrows_app::cells::AppCell;
use narrows_model::record::{External, Record};
use narrows_model::trial::Trial;
use narrows_mpi::pattern::Pattern;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long both patterns may take.
const LIMIT: Duration = Duration::from_secs(120);
/// The patterns, each with the length of its messages in bytes.
const ASKED: [(Pattern, &str); 2] = [(Pattern::PingPong, "8"), (Pattern::Bandwidth, "1048576")];

/// A run of a pattern between two ranks.
pub struct Found {
    /// Who sent what to whom.
    pub pattern: Pattern,
    /// The run as `narrows mpi` stored it.
    pub record: Record,
}

/// Both patterns over the cell's fabric, all their runs.
pub fn measure(rig: &Rig<'_>, cell: &AppCell, stop: &AtomicBool) -> Result<Vec<Found>, Failure> {
    let folder = Folder::make()?;
    let mut found = Vec::new();
    for (pattern, bytes) in ASKED {
        let file = folder.0.join(format!("{}.narrows", pattern.name()));
        let mut command = rig.command(&cell.with_ranks(2))?;
        command.arg(own_binary()?).args(["mpi", pattern.name(), "--sizes", bytes]);
        command.args(["--repeats", "3", "--seconds", "0.2", "--out"]).arg(&folder.0);
        command.args(cell.fabric.iter().flat_map(|fabric| ["--fabric", fabric]));
        command.arg("--file").arg(&file).current_dir(&folder.0);
        let done = ended(&mut command, LIMIT, stop)?;
        if !matches!(done.how, How::Ended(status) if status.success()) {
            return Err(why(&done, &rig.launcher.program, LIMIT));
        }
        let stored = narrows_store::read(&file)?;
        found.extend(stored.records.into_iter().map(|record| Found { pattern, record }));
    }
    match found.iter().any(|one| one.record.external.is_some()) {
        true => Ok(found),
        false => Err(Failure::of(Cause::RUNS_FAILED, "two ranks measured nothing")),
    }
}

/// The record as one of the application's study, its first figure under the name that counts there.
pub fn of_study(found: &Found, trial: &Trial, repeat: u32, name: &str) -> Record {
    let mut external = found.record.external.clone().unwrap_or_else(|| External {
        tool: String::new(),
        version: None,
        command: None,
        file: None,
        figures: Vec::new(),
        output: String::new(),
        client: None,
        packets: None,
    });
    if let Some(first) = external.figures.first_mut() {
        name.clone_into(&mut first.name);
    }
    let (trial, external) = (trial.id.clone(), Some(external));
    Record { trial, repeat, external, ..found.record.clone() }
}
