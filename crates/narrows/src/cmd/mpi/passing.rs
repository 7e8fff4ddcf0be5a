//! One run for a study: its figures are printed for who started it, and no file is left.

use super::{foreign, launch};
use crate::args::MpiArgs;
use crate::cause::Cause;
use crate::failure::{Failure, STOPPED};
use crate::output;
use narrows_interop::engines::Told;
use narrows_model::record::Outcome;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder of this process, which goes with it.
struct Passing(PathBuf);

impl Passing {
    fn make() -> Result<Self, Failure> {
        let folder = output::passing_folder("mpi");
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| output::unwritable(&folder, &error))?;
        Ok(Self(folder))
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn run(args: &MpiArgs) -> Result<u8, Failure> {
    let told = match args.program {
        Some(_) => foreign::run(args),
        None => own(args),
    };
    let told = match told {
        Ok(Some(told)) => told,
        Ok(None) => return Ok(STOPPED),
        Err(failure) => Told::Failed(failure.says().to_owned()),
    };
    let line = serde_json::to_string(&told)
        .map_err(|error| Failure::of(Cause::UNWRITABLE, error.to_string()))?;
    output::print(&(line + "\n"))?;
    Ok(0)
}

/// What our ranks measured; `None` is that the user stopped them.
fn own(args: &MpiArgs) -> Result<Option<Told>, Failure> {
    let folder = Passing::make()?;
    launch::run(args, &folder.0)?.map(|file| measured(&file)).transpose()
}

/// The figures of the only run, or why another fabric carried it.
fn measured(file: &Path) -> Result<Told, Failure> {
    let stored = narrows_store::read(file)?;
    let told = stored.records.into_iter().next().map(|record| match record.outcome {
        Outcome::Failed { why, .. } => Told::Failed(why),
        Outcome::Done | Outcome::Skipped { .. } => {
            record.external.map_or_else(unmeasured, Told::Measured)
        }
    });
    Ok(told.unwrap_or_else(unmeasured))
}

fn unmeasured() -> Told {
    Told::Failed("the ranks ended without a figure".to_owned())
}
