//! Children of this process: what of the environment they get, and how they are held.

use narrows_model::Bytes;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::ffi::{OsStr, OsString};
use std::process::Command;
use thiserror::Error;

/// What children may need of the environment; nothing else is passed on, the key least of all.
const KEPT: [&str; 22] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "LOGNAME",
    "PATH",
    "REGISTRY_AUTH_FILE",
    "RUST_BACKTRACE",
    "SHELL",
    "SLURM_CONF",
    "SLURM_NNODES",
    "SLURM_NODELIST",
    "SLURM_TASKS_PER_NODE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];
/// Beginnings of the names that podman, launchers of MPI and the libraries of fabrics and devices
/// read. What a launcher tells its ranks of themselves is none of these.
const KEPT_FAMILIES: [&str; 17] = [
    "CONTAINERS_",
    "FI_",
    "HYDRA_",
    "IBV_",
    "I_MPI_",
    "LC_",
    "MLX4_",
    "MLX5_",
    "MPIR_",
    "OMPI_",
    "OPAL_",
    "PMIX_MCA_",
    "PRTE_MCA_",
    "PSM3_",
    "RDMAV_",
    // Of the job that a launcher starts ranks in, and not of a step or a task of it.
    "SLURM_JOB",
    "UCX_",
];

/// The variable by which a worker is told how much memory it may take.
const MEMORY: &str = "NARROWS_WORKER_BYTES";
/// The variable by which a worker is told that an agent started it.
const CONFINED: &str = "NARROWS_WORKER_CONFINED";
/// What a worker takes beside what is counted: its program, libraries, answers, histograms.
const OWN_BYTES: u64 = 64 << 20;
/// What a thread takes beside that: its stack, and its share of the allocator.
const THREAD_BYTES: u64 = 4 << 20;

fn is_kept(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    KEPT.contains(&name) || KEPT_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// A command with a clean environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(kept(std::env::vars_os()));
    command
}

fn kept(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    all.filter(|(name, _)| is_kept(name)).collect()
}

/// Holds a worker to so much memory over and above its own.
pub fn hold(worker: &mut Command, most: Bytes) {
    worker.env(MEMORY, most.0.to_string());
}

/// Tells a worker of an agent to give up all calls but those of loads.
pub fn confine(worker: &mut Command) {
    worker.env(CONFINED, "1");
}

/// Obeys [`confine`] in the worker.
pub fn obey_confine() -> Result<(), crate::HostError> {
    if is_confined() { crate::confine::worker() } else { Ok(()) }
}

/// Whether an agent started this worker.
pub fn is_confined() -> bool {
    std::env::var_os(CONFINED).is_some()
}

/// Why a worker does not hold itself to the memory that it was lent.
#[derive(Debug, Error)]
pub enum NotHeld {
    /// The variable that says how much is not a number.
    #[error("{MEMORY} is not a number of bytes")]
    NoBytes,
    /// The system does not set the limit.
    #[error("holding memory: {0}")]
    Limit(#[from] nix::Error),
}

/// Obeys [`hold`] in the worker: it can map no more than it was lent, whatever was counted.
/// Memory that is locked is no more than that either.
pub fn obey_hold(threads: u32) -> Result<(), NotHeld> {
    let Ok(text) = std::env::var(MEMORY) else { return Ok(()) };
    let most: u64 = text.parse().map_err(|_| NotHeld::NoBytes)?;
    let own = OWN_BYTES + THREAD_BYTES * u64::from(threads);
    for (resource, bytes) in
        [(Resource::RLIMIT_DATA, most.saturating_add(own)), (Resource::RLIMIT_MEMLOCK, most)]
    {
        let (_, hard) = getrlimit(resource)?;
        let bytes = bytes.min(hard);
        setrlimit(resource, bytes, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn no_key_and_nothing_unknown_reaches_a_child() {
        let all =
            ["NARROWS_KEY", "NARROWS_WORKER_BYTES", "PATH", "CONTAINERS_CONF", "AWS_SECRET", ""];
        let all = all.map(|name| (OsString::from(name), OsString::from("x")));
        let kept = kept(all.into_iter());
        let names: Vec<&str> = kept.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["PATH", "CONTAINERS_CONF"]);
        let shown = command("env").env("ADDED", "1").output().expect("env runs");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("ADDED=1") && shown.contains("PATH="), "{shown}");
        let foreign = shown.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let foreign: Vec<&str> =
            foreign.filter(|name| *name != "ADDED" && !is_kept(OsStr::new(name))).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }

    #[test]
    fn what_programs_of_fabrics_and_containers_read_is_kept() {
        let kept = ["HOME", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR", "UCX_TLS", "FI_PROVIDER"];
        for name in kept.into_iter().chain(["OMPI_MCA_btl", "LC_ALL", "MLX5_SINGLE_THREADED"]) {
            assert!(is_kept(OsStr::new(name)), "{name}");
        }
        // How a launcher reaches hosts, by MPICH's and Open MPI 5's.
        for name in ["HYDRA_LAUNCHER_EXEC", "HYDRA_IFACE", "PRTE_MCA_plm_ssh_agent", "OPAL_PREFIX"]
        {
            assert!(is_kept(OsStr::new(name)), "{name}");
        }
        // The job whose nodes it may use, by srun in place of ssh.
        for name in ["SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_TASKS_PER_NODE"]
        {
            assert!(is_kept(OsStr::new(name)), "{name}");
        }
        for name in ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"] {
            assert!(!is_kept(OsStr::new(name)), "{name}");
        }
        for name in ["PATHS", "LD_PRELOAD", "XFI_PROVIDER", "HOM", "PMIX_RANK", "PMI_SIZE"] {
            assert!(!is_kept(OsStr::new(name)), "{name}");
        }
    }

    /// Not a test: a worker that was lent a MiB, and what it then may.
    #[test]
    fn part() {
        if scratch::part().is_none() {
            return;
        }
        let locked = getrlimit(Resource::RLIMIT_MEMLOCK).expect("a limit").1;
        obey_hold(3).expect("held");
        let limits = [Resource::RLIMIT_DATA, Resource::RLIMIT_MEMLOCK];
        let limits = limits.map(|which| getrlimit(which).expect("a limit"));
        // Its own 64 MiB and 4 MiB a thread come on top of what is lent; locked is what is lent.
        let (data, most) = ((1 + 64 + 3 * 4) << 20, locked.min(1 << 20));
        assert_eq!(limits, [(data, data), (most, most)]);
        assert!(is_confined());
        obey_confine().expect("confined");
        let ran = Command::new("true").status();
        assert!(ran.is_err_and(|why| why.kind() == std::io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn a_worker_holds_itself_to_what_it_is_lent_and_confined() {
        let mut worker = scratch::itself("child::tests::part", "worker");
        hold(&mut worker, Bytes(1 << 20));
        confine(&mut worker);
        scratch::said(&mut worker);
        assert!(!is_confined() && obey_confine().is_ok() && obey_hold(1).is_ok(), "told nothing");
        let mut worker = scratch::itself("child::tests::part", "worker");
        let failed = worker.env(MEMORY, "a lot").output().expect("it runs");
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert!(!failed.status.success() && said.contains("NoBytes"), "{said}");
        assert_eq!(NotHeld::NoBytes.to_string(), "NARROWS_WORKER_BYTES is not a number of bytes");
    }
}
