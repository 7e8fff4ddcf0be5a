//! `narrows mpi PATTERN`: messages between ranks. Under a launcher it is a rank; by itself it
//! starts the launcher that there is, with itself as the program.

#[cfg(test)]
mod alone;
mod foreign;
mod launch;
mod passing;
mod rank;
mod said;
mod sheet;
mod world;

use crate::args::MpiArgs;
use crate::cause::Cause;
use crate::cmd::demands;
use crate::failure::{Failure, STOPPED};
use crate::output;
use narrows_mpi::{Flavour, MpiError};
use std::env;
use std::path::Path;

pub fn run(args: &MpiArgs) -> Result<u8, Failure> {
    match Flavour::of_launcher(|name| env::var(name).ok()) {
        Some(launched) => rank::run(args, launched),
        None if args.passing => passing::run(args),
        None => launch::run(args, &args.out.out).and_then(|ran| match ran {
            Some(file) => present(args, &file),
            None => Ok(STOPPED),
        }),
    }
}

/// Shows what a file holds: a table, or the format that was asked for.
fn present(args: &MpiArgs, file: &Path) -> Result<u8, Failure> {
    output::nothing_measured(file)?;
    let code = if args.out.format() != "text" || args.out.verbose {
        output::present(file, &args.out, None)?
    } else {
        output::print(&said::text(&narrows_store::read(file)?))?;
        0
    };
    output::made(file, "");
    demands::judged(file, &args.out.demands, code)
}

impl From<MpiError> for Failure {
    fn from(error: MpiError) -> Self {
        let cause = match error {
            MpiError::Missing { .. } => Cause::NO_MPI.of_library(Cause::IS_STATIC),
            MpiError::Strange { .. } | MpiError::NewerAbi { .. } => Cause::STRANGE_MPI,
            MpiError::Mixed { .. } | MpiError::Alone { .. } => Cause::MIXED_MPI,
            MpiError::NotStarted { .. } => Cause::MPI_FABRIC,
        };
        Self::of(cause, error.to_string())
    }
}
