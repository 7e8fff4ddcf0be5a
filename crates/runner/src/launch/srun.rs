//! Agents on the nodes of a Slurm job, for as long as this process holds them.
//!
//! One step of the job, which `srun` begins, does all: a line of shell on each node says which node
//! it is, takes the key from its standard input, and runs the agent. No command line, and no
//! environment that Slurm keeps, has the key. The agents end when the input is closed or silent for
//! half a minute, and the step with them: also after kill -9 of this process or of `srun`.

pub use super::come::Seen;
use super::come::{Come, Heard, Waited, read_lines};
use super::ssh::{HEARTBEAT, beat, listed, look_up};
use narrows_control::at_once;
use narrows_control::key::Key;
use narrows_hostctl::child;
use narrows_plan::hostset::{self, NoHosts};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The nodes of the job, as Slurm tells whoever runs in it.
const NODES: &str = "SLURM_JOB_NODELIST";
/// How many they are.
const COUNT: &str = "SLURM_JOB_NUM_NODES";
/// What is run on each node.
const REMOTE: &str = include_str!("srun.sh");
/// How long the agents have until they listen.
const COME_WITHIN: Duration = Duration::from_secs(60);
/// How long Slurm may take to say where nodes are that have no address by their name.
const SAY_WITHIN: Duration = Duration::from_secs(20);
/// How long the step has to end once its input is closed, and how long after it is asked to.
const CLEAR_UP_WITHIN: Duration = Duration::from_secs(5);
/// Why no agents could be started on the nodes of a job.
#[derive(Debug, Error)]
pub enum StepError {
    /// Slurm has told this process of no job.
    #[error("{NODES} is not set: this runs in no job of Slurm")]
    NoJob,
    /// The nodes of the job cannot be read.
    #[error("{NODES}: {0}")]
    Nodes(#[from] NoHosts),
    /// The two variables do not agree.
    #[error("{NODES} names {names} nodes, and {COUNT} is {count}")]
    Count {
        /// Nodes that are named.
        names: usize,
        /// The other variable's text.
        count: String,
    },
    /// A host was named that is no node of the job.
    #[error("{0} is no node of this job")]
    NotOfJob(String),
    /// It cannot be started.
    #[error("srun cannot be run: {0}")]
    NoSrun(io::Error),
    /// None of the nodes has an address.
    #[error("Slurm and the resolver know no address of {0}")]
    NoAddress(String),
    /// It ended, or was ended at the limit, before any agent listened.
    #[error("srun {ended} before an agent listened{said}")]
    Ended {
        /// How it ended.
        ended: String,
        /// What a node said last, after a colon.
        said: String,
    },
    /// The agent of one node is not there, which costs this node alone.
    #[error("{node}: {why}")]
    NoAgent {
        /// The name of the node.
        node: String,
        /// What was said there last, or that nothing was.
        why: String,
    },
    /// The user wished so.
    #[error("stopped before the agents listened")]
    Stopped,
}

/// What the agents are started with.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// This program, by a path that every node has.
    pub binary: &'a Path,
    /// The key that the agents are to hold.
    pub key: &'a Key,
    /// TCP port for them to listen on.
    pub port: u16,
    /// The user's wish to end.
    pub stop: &'a AtomicBool,
}

/// A step of the job. Dropping it ends the step and its agents.
#[derive(Debug)]
pub struct Step {
    srun: Child,
    /// Closed by being dropped.
    alive: Option<Sender<()>>,
}

/// The addresses that nodes are called by, each in its place, or why one has no agent.
pub type Called = Vec<Result<String, StepError>>;

/// The nodes of this job that are named, or all of them.
pub fn nodes(named: Vec<String>) -> Result<Vec<String>, StepError> {
    let told = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    of_job(named, told(NODES), told(COUNT))
}

fn of_job(
    named: Vec<String>,
    nodes: Option<String>,
    count: Option<String>,
) -> Result<Vec<String>, StepError> {
    let nodes = hostset::expand(&[nodes.ok_or(StepError::NoJob)?])?;
    if let Some(count) = count.filter(|count| count.parse() != Ok(nodes.len())) {
        return Err(StepError::Count { names: nodes.len(), count });
    }
    match named.iter().find(|name| !nodes.contains(name)) {
        Some(other) => Err(StepError::NotOfJob(other.clone())),
        None if named.is_empty() => Ok(nodes),
        None => Ok(named),
    }
}

/// Starts an agent on each node, all by one step, and waits until they listen. A node that Slurm
/// does not reach ends the step of all, so a new one is begun without it.
pub fn start(
    nodes: &[String],
    order: &Order<'_>,
    seen: &mut dyn FnMut(Seen<'_>),
) -> Result<(Called, Step), StepError> {
    let found = Found::all(nodes);
    if found.is_empty() {
        return Err(StepError::NoAddress(nodes.join(", ")));
    }
    let meets = listed(&found.values().flat_map(|found| &found.addresses).copied().collect());
    let mut unreached = BTreeMap::new();
    let (come, heard, step) = loop {
        let is_left = |node: &&str| !unreached.contains_key(*node);
        let there: Vec<&str> = found.keys().copied().filter(is_left).collect();
        let (mut step, heard) = Step::begin(&words(&there, order, &meets), order.key)?;
        let mut come = Come::default();
        let waited = come.wait(there.len(), &heard, order.stop, COME_WITHIN, seen);
        if waited == Waited::Stopped {
            return Err(StepError::Stopped);
        }
        if waited != Waited::Ended && come.listening() > 0 {
            break (come, heard, step);
        }
        come.tell(seen);
        let before = unreached.len();
        unreached.extend(std::mem::take(&mut come.unreached));
        if waited != Waited::Ended || unreached.len() == before || unreached.len() >= found.len() {
            let ended = match waited {
                Waited::Late => format!("was given {} s", COME_WITHIN.as_secs()),
                _ => step.ended(),
            };
            let said = come.last();
            return Err(StepError::Ended { ended, said });
        }
    };
    // Read to its end, or the step would wait for room to say more.
    thread::spawn(move || heard.iter().for_each(drop));
    let called = nodes.iter().map(|node| match (found.get(node.as_str()), unreached.get(node)) {
        (None, _) => Err(no_agent(node, "neither Slurm nor the resolver knows its address")),
        (_, Some(why)) => Err(no_agent(node, &format!("srun does not reach it: {why}"))),
        (Some(found), None) => match come.lacks(node) {
            Some(why) => Err(no_agent(node, why)),
            None => Ok(found.name.clone()),
        },
    });
    Ok((called.collect(), step))
}

fn no_agent(node: &str, why: &str) -> StepError {
    StepError::NoAgent { node: node.to_owned(), why: why.to_owned() }
}

/// Where a node is.
struct Found {
    /// What it is called by: its name, or the address that Slurm has where that does not resolve.
    name: String,
    addresses: Vec<IpAddr>,
}

impl Found {
    /// All that can be found, by the names of nodes.
    fn all(nodes: &[String]) -> BTreeMap<&str, Self> {
        let by_name = at_once::all(nodes, |node| Self::of(node));
        let mut found: BTreeMap<&str, Self> = nodes
            .iter()
            .zip(by_name)
            .filter_map(|(node, found)| Some((node.as_str(), found.flatten()?)))
            .collect();
        if found.len() < nodes.len() {
            let told = says_slurm(nodes);
            for node in nodes.iter().filter(|node| told.contains_key(*node)) {
                if !found.contains_key(node.as_str())
                    && let Some(at) = Self::of(&told[node])
                {
                    found.insert(node, at);
                }
            }
        }
        found
    }

    /// By a name, or an address, that other hosts can use too: Debian has a host's own name at an
    /// address of `lo`.
    fn of(name: &str) -> Option<Self> {
        let addresses: Vec<IpAddr> =
            look_up(name).into_iter().filter(|address| !address.is_loopback()).collect();
        (!addresses.is_empty()).then(|| Self { name: name.to_owned(), addresses })
    }
}

/// The addresses by which Slurm itself reaches nodes, as far as it says them in time.
fn says_slurm(nodes: &[String]) -> BTreeMap<String, String> {
    let mut sinfo = of_slurm("sinfo");
    sinfo.args(["-N", "-h", "-o", "%N %o", "-n", &nodes.join(",")]);
    let Ok(mut child) = sinfo.stdout(Stdio::piped()).stdin(Stdio::null()).spawn() else {
        return BTreeMap::new();
    };
    let (says, said) = channel();
    if let Some(mut out) = child.stdout.take() {
        thread::spawn(move || {
            let mut text = String::new();
            let _ = out.read_to_string(&mut text);
            let _ = says.send(text);
        });
    }
    let said = said.recv_timeout(SAY_WITHIN).unwrap_or_default();
    let _ = child.kill();
    let _ = child.wait();
    let lines = said.lines().filter_map(|line| line.trim().split_once(' '));
    lines.map(|(node, address)| (node.to_owned(), address.to_owned())).collect()
}

/// A program of Slurm, with what it reads of the environment. Ctrl-C reaches this process alone,
/// which ends the step in order.
fn of_slurm(program: &str) -> Command {
    let mut command = child::command(program);
    let told = std::env::vars_os().filter(|(name, _)| {
        name.to_str().and_then(|name| name.split_once('_')).is_some_and(|(of, _)| of == "SLURM")
    });
    command.envs(told).process_group(0);
    command
}

/// What srun is called with: one task a node, beside whatever else the job runs there, on all CPUs
/// that the job has; and no task that ends takes the others with it.
fn words(nodes: &[&str], order: &Order<'_>, meets: &str) -> Vec<String> {
    let mut words = vec![
        format!("--nodes={}", nodes.len()),
        format!("--ntasks={}", nodes.len()),
        "--ntasks-per-node=1".to_owned(),
        format!("--nodelist={}", nodes.join(",")),
    ];
    let fixed = [
        "--overlap",
        "--mem=0",
        "--cpu-bind=none",
        "--mpi=none",
        "--no-kill",
        "--kill-on-bad-exit=0",
        "--wait=0",
        "--input=all",
        "--output=all",
        "--label",
        "--export=ALL",
        "--job-name=narrows-agents",
        "sh",
        "-c",
        REMOTE,
    ];
    words.extend(fixed.map(str::to_owned));
    words.push(order.binary.display().to_string());
    words.extend([order.port.to_string(), meets.to_owned()]);
    words
}

impl Step {
    fn begin(words: &[String], key: &Key) -> Result<(Self, Receiver<Heard>), StepError> {
        let mut command = of_slurm("srun");
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut srun = command.spawn().map_err(StepError::NoSrun)?;
        let ends = srun.stdin.take().zip(srun.stdout.take()).zip(srun.stderr.take());
        let (alive, ended) = channel();
        let (says, heard) = channel();
        // From here on whatever ends this function ends the step.
        let step = Self { srun, alive: Some(alive) };
        let ((mut told, said), own) =
            ends.ok_or_else(|| StepError::NoSrun(io::ErrorKind::Other.into()))?;
        let says_own = says.clone();
        thread::spawn(move || read_lines(said, |line| says.send(Heard::Task(line)).is_ok()));
        thread::spawn(move || read_lines(own, |line| says_own.send(Heard::Srun(line)).is_ok()));
        let key = format!("{}\n", key.show());
        thread::spawn(move || {
            // srun keeps it until its tasks are there; one that reads nothing holds up this thread.
            if told.write_all(key.as_bytes()).and_then(|()| told.flush()).is_ok() {
                beat(told, &ended, HEARTBEAT);
            }
        });
        Ok((step, heard))
    }

    /// How srun ended, which it is about to.
    fn ended(&mut self) -> String {
        self.end();
        match self.srun.wait() {
            Ok(status) => format!("ended ({status})"),
            Err(why) => format!("ended ({why})"),
        }
    }

    /// Closes the agents' input, by which they end; then srun is asked, and killed at last.
    fn end(&mut self) {
        drop(self.alive.take());
        if self.is_over_within(CLEAR_UP_WITHIN) {
            return;
        }
        let _ = kill(Pid::from_raw(self.srun.id().cast_signed()), Signal::SIGTERM);
        if !self.is_over_within(CLEAR_UP_WITHIN) {
            let _ = self.srun.kill();
            let _ = self.srun.wait();
        }
    }

    fn is_over_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            if !matches!(self.srun.try_wait(), Ok(None)) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
#[path = "srun_tests.rs"]
mod tests;
