//! Starts the ranks by a launcher, waits for them no longer than the limit, and leaves nothing
//! running.

use crate::args::MpiArgs;
use crate::cause::Cause;
use crate::failure::{Failure, STOPPED};
use crate::{output, stop};
use narrows_model::study::Ended;
use narrows_mpi::Flavour;
use narrows_store::Store;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, geteuid};
use std::env;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Launchers by name, the likeliest first.
const NAMES: [&str; 3] = ["mpirun", "mpiexec", "mpiexec.hydra"];
/// How long a launcher may take to say what it is.
const VERSION_TIME: Duration = Duration::from_secs(20);
/// How long a launcher has to end its ranks before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often is looked whether it has ended.
const LOOK_EACH: Duration = Duration::from_millis(20);
/// The most of its words that are kept.
const KEPT_BYTES: u64 = 1 << 20;

/// Runs the command.
pub fn run(args: &MpiArgs) -> Result<u8, Failure> {
    alone()?;
    let hosts = hosts(args)?;
    let stop = stop::flag()?;
    output::check_folder(&args.out.out)?;
    let launcher = find(args)?;
    let flavour = flavour(&launcher, &stop)?;
    // Both are seen before a rank is started: the words are plainer than those of a rank.
    let loaded = narrows_mpi::load(args.libmpi.as_deref(), Some(flavour))?;
    narrows_mpi::ready(&loaded, Some((flavour, args.ranks as usize)))?;
    let folder = args.out.out.canonicalize().unwrap_or_else(|_| args.out.out.clone());
    let file = output::stamped(&folder, "mpi", output::now());
    let mut command = Command::new(&launcher);
    command.args(words(args, &hosts, flavour));
    command.arg(super::super::own_binary()?).args(env::args_os().skip(1));
    command.arg("--file").arg(&file).env_remove("NARROWS_KEY");
    let limit = Duration::from_secs_f64(args.limit_seconds());
    let ended = ended(&mut command, limit, &stop)?;
    if let How::Ended(status) = ended.how
        && status.success()
    {
        return super::present(args, &file);
    }
    let failure = why(&ended, &launcher, limit);
    if file.exists() {
        let why = failure.says().to_owned();
        Store::open(&file)?.put_ended(&Ended::Interrupted { why })?;
        note!("what was measured is kept in {}", file.display());
    }
    if matches!(ended.how, How::Stopped) { Ok(STOPPED) } else { Err(failure) }
}

/// Refuses to be one of many that a launcher without MPI has started: each would start its own.
fn alone() -> Result<(), Failure> {
    let tasks = env::var("SLURM_STEP_NUM_TASKS").ok().and_then(|tasks| tasks.parse::<u32>().ok());
    if tasks.is_some_and(|tasks| tasks > 1) && env::var_os("SLURM_PROCID").is_some() {
        let says = "srun started several ranks, and gave them no way to find each other";
        return Err(Failure::of(Cause::MPI_SRUN, says));
    }
    Ok(())
}

fn find(args: &MpiArgs) -> Result<PathBuf, Failure> {
    if let Some(named) = &args.launcher {
        return Ok(named.clone());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut all = NAMES.iter().flat_map(|name| folders.iter().map(move |at| at.join(name)));
    all.find(|file| file.is_file()).ok_or_else(|| {
        let says = format!("no MPI launcher is installed: none of {}", NAMES.join(", "));
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })
}

/// Whose launcher it is, by what it says of itself.
fn flavour(launcher: &Path, stop: &AtomicBool) -> Result<Flavour, Failure> {
    let mut command = Command::new(launcher);
    command.arg("--version").env_remove("NARROWS_KEY").stdout(Stdio::piped());
    let ended = ended(&mut command, VERSION_TIME, stop)?;
    if matches!(ended.how, How::Late | How::Stopped) {
        return Err(why(&ended, launcher, VERSION_TIME));
    }
    of_version(&ended.said).ok_or_else(|| {
        let says = format!("{} is not a launcher of Open MPI or MPICH", launcher.display());
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })
}

fn of_version(said: &str) -> Option<Flavour> {
    let says = |names: &[&str]| names.iter().any(|name| said.contains(name));
    if says(&["Open MPI", "OpenRTE", "PRTE", "prte"]) {
        return Some(Flavour::OpenMpi);
    }
    says(&["HYDRA", "MPICH", "Intel(R) MPI", "MVAPICH"]).then_some(Flavour::Mpich)
}

/// Hosts that ranks are started on; none is this one.
fn hosts(args: &MpiArgs) -> Result<Vec<String>, Failure> {
    let names: Vec<String> = args.hosts.iter().flat_map(|set| split(set)).collect();
    if names.is_empty() {
        return Ok(names);
    }
    narrows_plan::hostset::expand(&names)
        .map_err(|why| Failure::of(Cause::HOST_SET, why.to_string()))
}

/// The launcher's words before the program.
fn words(args: &MpiArgs, hosts: &[String], flavour: Flavour) -> Vec<String> {
    let ranks = args.ranks;
    let mut words: Vec<String> = ["-n", &ranks.to_string(), "-bind-to", "none"]
        .iter()
        .map(|word| (*word).to_owned())
        .collect();
    match flavour {
        Flavour::OpenMpi => {
            "--bind-to".clone_into(&mut words[2]);
            if geteuid().is_root() {
                words.push("--allow-run-as-root".to_owned());
            }
            if !hosts.is_empty() {
                let slots = (ranks as usize).div_ceil(hosts.len());
                let each = hosts.iter().map(|host| format!("{host}:{slots}"));
                let list = each.collect::<Vec<_>>().join(",");
                words.extend(["--host".to_owned(), list, "--map-by".into(), "node".into()]);
            }
        }
        Flavour::Mpich => {
            if !hosts.is_empty() {
                words.extend(["-hosts".to_owned(), hosts.join(","), "-ppn".into(), "1".into()]);
            }
        }
    }
    words.extend(args.launcher_arg.iter().cloned());
    words
}

/// Splits at commas that are not inside brackets: `a,n[1,3]` is two.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_u32);
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts
}

/// How a launcher came to its end.
enum How {
    /// By itself, with this status.
    Ended(ExitStatus),
    /// It was ended at its limit.
    Late,
    /// It was ended because the user wished so.
    Stopped,
}

/// A launcher that has ended.
struct Done {
    how: How,
    /// What it said, on both outputs.
    said: String,
}

/// Runs a command to its end, or to its limit.
fn ended(command: &mut Command, limit: Duration, stop: &AtomicBool) -> Result<Done, Failure> {
    // Ctrl-C at the terminal is for this process, which ends the others in order.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| {
        let says = format!("{}: {error}", command.get_program().to_string_lossy());
        Failure::of(Cause::NO_MPI_LAUNCHER, says)
    })?;
    let readers = [child.stdout.take().map(kept), child.stderr.take().map(kept)];
    let how = wait(&mut child, limit, stop)?;
    let texts = readers.into_iter().flatten().map(|reader| reader.join().unwrap_or_default());
    Ok(Done { how, said: texts.collect() })
}

/// Reads all, and keeps the beginning.
fn kept(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(KEPT_BYTES).read_to_end(&mut bytes);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Duration, stop: &AtomicBool) -> Result<How, Failure> {
    let began = Instant::now();
    loop {
        let ended = child.try_wait();
        if let Some(status) =
            ended.map_err(|error| Failure::of(Cause::MACHINE, error.to_string()))?
        {
            return Ok(How::Ended(status));
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || began.elapsed() > limit {
            end(child);
            return Ok(if stopped { How::Stopped } else { How::Late });
        }
        thread::sleep(LOOK_EACH);
    }
}

/// Asks a launcher to end its ranks, and kills what is left of its group.
fn end(child: &mut Child) {
    let group = Pid::from_raw(child.id() as i32);
    let _ = killpg(group, Signal::SIGTERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(LOOK_EACH);
    }
    // The ranks have groups of their own, and end with their parent.
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Names why a launcher gave no result.
fn why(done: &Done, launcher: &Path, limit: Duration) -> Failure {
    let name = launcher.display();
    match done.how {
        How::Stopped => Failure::of(Cause::STOPPED, "stopped by the user"),
        How::Late => {
            let says = format!("{name} and its ranks were not done after {} s", limit.as_secs());
            Failure::of(Cause::MPI_LATE, says)
        }
        How::Ended(status) => {
            let (cause, line) = judged(&done.said);
            let line = line.unwrap_or_else(|| "it said nothing".to_owned());
            Failure::of(cause, format!("{name} ended with {status}: {line}"))
        }
    }
}

/// The line of a launcher's words that says most, and what that means.
fn judged(said: &str) -> (Cause, Option<String>) {
    let line = |words: &[&str]| {
        let found = said.lines().find(|line| words.iter().any(|word| line.contains(word)));
        found.map(|line| line.trim().to_owned())
    };
    if let Some(own) = line(&["error: "]) {
        let own = own.split("error: ").last().unwrap_or_default().to_owned();
        return (Cause::MPI_RANK, Some(own));
    }
    if let Some(died) = line(&["exited on signal", "KILLED BY SIGNAL", "EXIT STRING"]) {
        return (Cause::MPI_DIED, Some(died));
    }
    let absent = ["attempted:", "No components were able to be opened", "unable to be opened"];
    let absent_too = ["UCX  ERROR", "none of the available", "no usable transports"];
    if let Some(fabric) = line(&absent).or_else(|| line(&absent_too)) {
        return (Cause::MPI_FABRIC, Some(fabric));
    }
    if let Some(died) = line(&["BAD TERMINATION", "exited with non-zero status", "MPI_ABORT"]) {
        return (Cause::MPI_DIED, Some(died));
    }
    if let Some(host) = line(&["resolve", "ssh", "ORTE daemon", "not enough slots"]) {
        return (Cause::MPI_HOSTS, Some(host));
    }
    let blank = |line: &&str| line.trim().chars().all(|c| "-=|".contains(c));
    let first = said.lines().find(|line| !blank(line)).map(|line| line.trim().to_owned());
    (Cause::MPI_RANK, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_apart_by_their_words() {
        assert_eq!(of_version("mpirun (Open MPI) 4.1.4\n"), Some(Flavour::OpenMpi));
        assert_eq!(of_version("HYDRA build details:\n  Version: 4.0.2"), Some(Flavour::Mpich));
        assert_eq!(of_version("true (GNU coreutils) 9.1"), None);
    }

    #[test]
    fn sets_of_hosts_are_split_outside_their_brackets() {
        assert_eq!(split("a,b"), ["a", "b"]);
        assert_eq!(split("n[1-2,5],m"), ["n[1-2,5]", "m"]);
    }

    #[test]
    fn what_a_launcher_says_names_the_cause() {
        let died =
            "----\nmpirun noticed that process rank 1 with PID 0 on node a exited on signal 9";
        assert_eq!(judged(died).0, Cause::MPI_DIED);
        let fabric = "  Process 1 is unable to reach\n  BTLs attempted: self\n";
        assert_eq!(judged(fabric), (Cause::MPI_FABRIC, Some("BTLs attempted: self".to_owned())));
        let own = "error: no MPI library can be loaded: gone\nhint: install\n";
        let (cause, line) = judged(own);
        assert_eq!(
            (cause, line.as_deref()),
            (Cause::MPI_RANK, Some("no MPI library can be loaded: gone"))
        );
        assert_eq!(judged("").1, None);
    }
}
