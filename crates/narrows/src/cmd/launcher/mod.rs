//! Launchers of MPI: which there is, whose it is, and how it is told where ranks run.

mod ended;
mod had;
mod joined;

pub use ended::{Done, How, KEPT_BYTES, ended, why};
pub use joined::{HOPS, Joined};

use super::own_binary;
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_mpi::Flavour;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, geteuid, getppid};
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Launchers by name, the likeliest first.
const NAMES: [&str; 3] = ["mpirun", "mpiexec", "mpiexec.hydra"];
/// How long a launcher may take to say what it is.
const VERSION_TIME: Duration = Duration::from_secs(20);

/// A launcher that was found.
pub struct Launcher {
    /// Its file, or its name.
    pub program: PathBuf,
    pub flavour: Flavour,
    /// Its name for reaching hosts by ssh, or by what stands in for it.
    by_ssh: &'static str,
}

/// What it is to start.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Ranks, over all hosts.
    pub ranks: u32,
    /// Hosts; none is this one.
    pub hosts: &'a [String],
    /// Two namespaces in place of hosts.
    pub joined: Option<&'a Joined>,
    /// Whether each rank is held to a core of its own.
    pub bind: bool,
    /// Variables of its own environment that ranks on other hosts are given too.
    pub passed: &'a [&'a str],
    /// Words of the user's.
    pub more: &'a [String],
}

impl Launcher {
    /// The one that is named, else the one that there is.
    pub fn find(named: Option<&Path>, stop: &AtomicBool) -> Result<Self, Failure> {
        let program = named.map_or_else(installed, |named| Ok(named.to_owned()))?;
        let (flavour, by_ssh) = kind(&program, stop)?;
        Ok(Self { program, flavour, by_ssh })
    }

    /// The library of its own installation; `None` where its folders have none, and the loader's
    /// may. A rank of that launcher finds the same: see [`beside_parent`].
    pub fn library(&self) -> Option<String> {
        let file = if self.program.components().count() > 1 {
            self.program.clone()
        } else {
            on_path(&[&self.program.to_string_lossy()])?
        };
        self.flavour.beside(&file)
    }

    /// The command that starts ranks; the program and its words follow.
    pub fn command(&self, start: &Start<'_>) -> Result<Command, Failure> {
        let mut command = with_us(start.joined.map(Joined::first))?;
        command.arg(&self.program).args(words(start, self));
        if let Some(joined) = start.joined {
            command.env(HOPS, joined.hops());
        }
        Ok(command)
    }
}

/// A command that becomes another, in a network namespace where one is named, and ends with this
/// process, however that ends.
fn with_us(net: Option<&str>) -> Result<Command, Failure> {
    let mut command = Command::new(own_binary()?);
    command.args(["become", "--parent", &std::process::id().to_string()]);
    command.args(net.map(|net| ["--net", net]).into_iter().flatten());
    command.arg("--").env_remove("NARROWS_KEY");
    Ok(command)
}

/// The library of the installation whose launcher started this rank: the program that did so, on
/// this host, lies beside it.
pub fn beside_parent(flavour: Flavour) -> Option<String> {
    let parent = std::fs::read_link(format!("/proc/{}/exe", getppid())).ok()?;
    flavour.beside(&parent)
}

/// The first of these names in a folder of the path.
fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut all = names.iter().flat_map(|name| folders.iter().map(move |at| at.join(name)));
    all.find(|file| file.is_file())
}

fn installed() -> Result<PathBuf, Failure> {
    on_path(&NAMES).ok_or_else(|| {
        let says = format!("no launcher of MPI is there: none of {}", NAMES.join(", "));
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })
}

/// Whose launcher it is, by what it says of itself, and its name for reaching hosts by ssh.
fn kind(launcher: &Path, stop: &AtomicBool) -> Result<(Flavour, &'static str), Failure> {
    let mut command = with_us(None)?;
    command.arg(launcher).arg("--version");
    let ended = ended(&mut command, VERSION_TIME, stop)?;
    if matches!(ended.how, How::Late | How::Stopped) {
        return Err(why(&ended, launcher, VERSION_TIME));
    }
    of_version(&ended.out).ok_or_else(|| {
        let says = format!("{} is no launcher of Open MPI or MPICH", launcher.display());
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })
}

fn of_version(said: &str) -> Option<(Flavour, &'static str)> {
    let says = |names: &[&str]| names.iter().any(|name| said.contains(name));
    if says(&["PRTE", "PRRTE", "prte"]) || open_mpi_major(said).is_some_and(|major| major > 4) {
        return Some((Flavour::OpenMpi, "ssh"));
    }
    if says(&["Open MPI", "OpenRTE"]) {
        return Some((Flavour::OpenMpi, "rsh"));
    }
    says(&["HYDRA", "MPICH", "Intel(R) MPI", "MVAPICH"]).then_some((Flavour::Mpich, "ssh"))
}

/// 5 of `mpirun (Open MPI) 5.0.11`: from that on its launcher is PRRTE.
fn open_mpi_major(said: &str) -> Option<u32> {
    let (_, version) = said.split_once("(Open MPI) ")?;
    version.split('.').next()?.parse().ok()
}

/// The hosts of a set: `n1,n2` or `n[1-8]`.
pub fn hosts(sets: &[String]) -> Result<Vec<String>, Failure> {
    narrows_plan::hostset::expand(sets).map_err(|why| Failure::of(Cause::HOST_SET, why.to_string()))
}

/// The launcher's words before the program.
fn words(start: &Start<'_>, launcher: &Launcher) -> Vec<String> {
    let addresses = start.joined.map(Joined::addresses);
    let hosts = addresses.as_deref().unwrap_or(start.hosts);
    let mut words = match launcher.flavour {
        Flavour::OpenMpi => of_open_mpi(start, hosts, launcher.by_ssh),
        Flavour::Mpich => of_mpich(start, hosts, launcher.by_ssh),
    };
    words.extend(start.more.iter().cloned());
    words
}

fn of_open_mpi(start: &Start<'_>, hosts: &[String], by_ssh: &str) -> Vec<String> {
    let ranks = start.ranks.to_string();
    let bind = if start.bind { "core" } else { "none" };
    let mut words = owned(&["-n", &ranks, "--bind-to", bind]);
    if geteuid().is_root() {
        words.push("--allow-run-as-root".to_owned());
    }
    if !hosts.is_empty() {
        let slots = (start.ranks as usize).div_ceil(hosts.len());
        let each = hosts.iter().map(|host| format!("{host}:{slots}"));
        let list = each.collect::<Vec<_>>().join(",");
        words.extend(owned(&["--host", &list, "--map-by", "node"]));
        // A job has as many slots on a node as tasks there, often one, whatever the list says.
        if slots > 1 && env::var_os("SLURM_JOB_ID").is_some() {
            words.push("--oversubscribe".to_owned());
        }
    } else if start.ranks as usize > own_cores() {
        // Refused without it; narrows marks such runs by itself.
        words.push("--oversubscribe".to_owned());
    }
    if let Some(joined) = start.joined {
        // Not the launcher of an allocation that this may run in. PRRTE knows the older names of
        // all but the module.
        words.extend(owned(&["--mca", "plm", by_ssh, "--mca", "plm_rsh_agent", joined.agent()]));
        words.extend(owned(&["--mca", "oob_tcp_if_include", Joined::INTERFACE]));
    }
    words.extend(start.passed.iter().flat_map(|name| owned(&["-x", name])));
    words
}

fn of_mpich(start: &Start<'_>, hosts: &[String], by_ssh: &str) -> Vec<String> {
    let bind = if start.bind { "core" } else { "none" };
    let mut words = owned(&["-n", &start.ranks.to_string(), "-bind-to", bind]);
    if !hosts.is_empty() {
        words.extend(owned(&["-hosts", &hosts.join(","), "-ppn", "1"]));
    }
    if let Some(joined) = start.joined {
        words.extend(owned(&["-launcher", by_ssh, "-launcher-exec", joined.agent()]));
        words.extend(owned(&["-iface", Joined::INTERFACE]));
    }
    words
}

/// Cores that this process may use: launchers hold a rank to a core, and two ranks on the threads
/// of one share it.
pub fn own_cores() -> usize {
    let allowed = sched_getaffinity(Pid::from_raw(0));
    let is_ours = |cpu: &usize| allowed.as_ref().is_ok_and(|set| set.is_set(*cpu) == Ok(true));
    let cpus: Vec<usize> = (0..CpuSet::count()).filter(is_ours).collect();
    cores(&cpus, siblings).max(1)
}

/// Distinct cores of CPUs, by the list of the threads of each one's core.
fn cores(cpus: &[usize], siblings: impl Fn(usize) -> Option<String>) -> usize {
    let core = |cpu: &usize| siblings(*cpu).unwrap_or_else(|| cpu.to_string());
    cpus.iter().map(core).collect::<BTreeSet<String>>().len()
}

fn siblings(cpu: usize) -> Option<String> {
    let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    Some(std::fs::read_to_string(topology).ok()?.trim().to_owned())
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_apart_by_their_words() {
        let (open, mpich) = (Flavour::OpenMpi, Flavour::Mpich);
        for (said, kind) in [
            ("mpirun (Open MPI) 4.1.4\n", (open, "rsh")),
            ("mpirun (OpenRTE) 1.6.5\n", (open, "rsh")),
            ("mpirun (Open MPI) 5.0.11\n", (open, "ssh")),
            ("mpirun (Open MPI) 10.0.0rc1\n", (open, "ssh")),
            ("prterun (PRRTE) 3.0.11\n", (open, "ssh")),
            ("HYDRA build details:\n  Version: 4.0.2", (mpich, "ssh")),
        ] {
            assert_eq!(of_version(said), Some(kind), "{said}");
        }
        assert_eq!(of_version("true (GNU coreutils) 9.1"), None);
    }

    #[test]
    fn sets_of_hosts_are_split_outside_their_brackets_and_none_is_an_option() {
        let of = |set: &str| hosts(&[set.to_owned()]).ok();
        assert_eq!(of("n[1-2,5],m"), Some(owned(&["n1", "n2", "n5", "m"])));
        assert_eq!(of("a,-oX"), None);
        assert_eq!(hosts(&[]).ok(), Some(Vec::new()));
    }

    #[test]
    fn a_launcher_is_told_where_ranks_run_in_its_own_words() {
        let hosts = owned(&["n1", "n2", "n3"]);
        let plain =
            Start { ranks: 4, hosts: &[], joined: None, bind: true, passed: &[], more: &[] };
        let said = |start: Start<'_>, flavour: Flavour| {
            let program = PathBuf::from("mpirun");
            let mut words = words(&start, &Launcher { program, flavour, by_ssh: "ssh" });
            // As root alone, and on few cores alone.
            words.retain(|word| {
                !["--allow-run-as-root", "--oversubscribe"].contains(&word.as_str())
            });
            words.join(" ")
        };
        let more = owned(&["--tag", "x"]);
        let far = Start {
            ranks: 7,
            hosts: &hosts,
            bind: false,
            passed: &["A", "B"],
            more: &more,
            ..plain
        };
        assert_eq!(said(plain, Flavour::OpenMpi), "-n 4 --bind-to core");
        assert_eq!(
            said(far, Flavour::OpenMpi),
            "-n 7 --bind-to none --host n1:3,n2:3,n3:3 --map-by node -x A -x B --tag x"
        );
        assert_eq!(said(plain, Flavour::Mpich), "-n 4 -bind-to core");
        assert_eq!(said(far, Flavour::Mpich), "-n 7 -bind-to none -hosts n1,n2,n3 -ppn 1 --tag x");
        let all = |ranks: u32, hosts: &[String]| {
            of_open_mpi(&Start { ranks, hosts, ..plain }, hosts, "rsh")
                .contains(&"--oversubscribe".into())
        };
        let cores = own_cores() as u32;
        assert_eq!(
            [all(cores, &[]), all(cores + 1, &[]), all(cores + 1, &hosts)],
            [false, true, false]
        );
    }

    #[test]
    fn threads_of_one_core_are_one() {
        let siblings = |cpu: usize| Some(["0,2", "1,3", "0,2", "1,3"][cpu].to_owned());
        assert_eq!(cores(&[0, 1, 2, 3], siblings), 2);
        assert_eq!(cores(&[0, 2], siblings), 1);
        assert_eq!(cores(&[1, 2], siblings), 2);
        assert_eq!(cores(&[0, 1, 2], |_| None), 3, "where nobody says, each is its own");
    }
}
