//! Starts the ranks by a launcher, waits for them no longer than the limit, and leaves nothing
//! running.

use crate::args::MpiArgs;
use crate::cause::Cause;
use crate::cmd::launcher::{How, Joined, Launcher, Start, ended, hosts, why};
use crate::cmd::own_binary;
use crate::failure::Failure;
use crate::{output, stop};
use narrows_model::study::Ended;
use narrows_store::Store;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs them; the file with what they measured. `None` is that the user stopped it.
pub fn run(args: &MpiArgs, out: &Path) -> Result<Option<PathBuf>, Failure> {
    alone()?;
    let hosts = hosts(&args.hosts)?;
    let stop = stop::flag()?;
    output::check_folder(out)?;
    let launcher = Launcher::find(args.launcher.as_deref(), &stop)?;
    // Both are seen before a rank is started: the words are plainer than those of a rank.
    let library = args.libmpi.clone().or_else(|| launcher.library());
    let loaded = narrows_mpi::load(library.as_deref(), Some(launcher.flavour))?;
    narrows_mpi::ready(&loaded, Some((launcher.flavour, args.ranks as usize)))?;
    let joined = args.namespaces.then(Joined::make).transpose()?;
    let folder = out.canonicalize().unwrap_or_else(|_| out.to_owned());
    let file = output::stamped(&folder, "mpi", output::now());
    let mut command = launcher.command(&Start {
        ranks: args.ranks,
        hosts: &hosts,
        joined: joined.as_ref(),
        bind: false,
        passed: &[],
        more: &args.launcher_arg,
    })?;
    command.arg(own_binary()?).args(env::args_os().skip(1)).arg("--file").arg(&file);
    let limit = Duration::from_secs_f64(args.limit_seconds());
    let ended = ended(&mut command, limit, &stop)?;
    if let How::Ended(status) = ended.how
        && status.success()
    {
        return Ok(Some(file));
    }
    // Ranks that a library does not let go end without its leave, which launchers call a failure.
    if matches!(ended.how, How::Ended(_)) && is_whole(&file) {
        note!("{} did not end well; all runs were made by then", launcher.program.display());
        return Ok(Some(file));
    }
    let failure = why(&ended, &launcher.program, limit);
    if file.exists() {
        let why = failure.says().to_owned();
        Store::open(&file)?.put_ended(&Ended::Interrupted { why })?;
        if !args.passing {
            note!("what was measured is kept in {}", file.display());
        }
    }
    if matches!(ended.how, How::Stopped) { Ok(None) } else { Err(failure) }
}

/// Whether a file has all the runs that rank 0 was to make.
pub fn is_whole(file: &Path) -> bool {
    narrows_store::read(file).is_ok_and(|stored| stored.ended == Some(Ended::Complete))
}

/// Refuses to be one of many that a launcher without MPI has started: each would start its own.
fn alone() -> Result<(), Failure> {
    let tasks = env::var("SLURM_STEP_NUM_TASKS").ok().and_then(|tasks| tasks.parse::<u32>().ok());
    if tasks.is_some_and(|tasks| tasks > 1) && env::var_os("SLURM_PROCID").is_some() {
        let says = "srun started several of it, and tells none of them how to find the others";
        return Err(Failure::of(Cause::MPI_SRUN, says));
    }
    Ok(())
}
