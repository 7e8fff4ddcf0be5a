//! What `narrows neighbours` runs: a memory job on 0 to n cores beside traffic of this host, each
//! alone and together, in the same blocks.
//!
//! The job alone runs beside a stream of next to nothing: so it has the same cores and the same
//! memory, and its rate is counted over a window of the same kind.

use crate::place::{Where, cpus, nic_node};
use crate::quoted::quoted;
use narrows_model::host::{CpuPlace, Host};
use narrows_model::workload::{Kernel, RdmaVerb, Transport, Workload};
use std::fmt::Write;
use thiserror::Error;

/// Seconds before each window, which do not count: a job must have filled its buffers by then.
const WARMUP_SECONDS: f64 = 0.3;
/// Seconds of a run beside its window: warm-up, cool-down, and the start of the processes.
const RUN_SECONDS: f64 = WARMUP_SECONDS + 0.5;
/// With more cores than this not every number of them is tried: 1, 2, 4 and so on, and all.
const EACH_MAX: u32 = 6;

/// Traffic that a job can run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// This host sends.
    Sent(Transport),
    /// This host receives.
    Received(Transport),
    /// Requests of this host, one after the other.
    RoundTrip(Transport),
    /// The smallest packets that this host sends, as fast as they go.
    PacketsSent,
    /// The smallest packets that it receives.
    PacketsReceived,
    /// Values that a client on this host stores in a Redis server, one after the other.
    RedisSets,
}

impl Traffic {
    /// All traffic; the first three are measured where nobody says otherwise. With RDMA reads this
    /// host's NIC writes to its memory, with writes it reads.
    pub const ALL: [Self; 11] = [
        Self::Sent(Transport::Tcp),
        Self::Received(Transport::Tcp),
        Self::RoundTrip(Transport::Tcp),
        Self::Sent(Transport::Udp),
        Self::Received(Transport::Udp),
        Self::Sent(Transport::Rdma(RdmaVerb::Write)),
        Self::Sent(Transport::Rdma(RdmaVerb::Read)),
        Self::RoundTrip(Transport::Rdma(RdmaVerb::Send)),
        Self::PacketsSent,
        Self::PacketsReceived,
        Self::RedisSets,
    ];

    /// The traffic of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|traffic| traffic.word() == word)
    }

    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sent(Transport::Tcp) => "tcp",
            Self::Sent(Transport::Udp) => "udp",
            Self::Sent(Transport::Rdma(RdmaVerb::Read)) => "rdma-read",
            Self::Sent(Transport::Rdma(_)) => "rdma-write",
            Self::Received(Transport::Udp) => "udp-receive",
            Self::Received(_) => "tcp-receive",
            Self::RoundTrip(Transport::Rdma(_)) => "rdma-round-trip",
            Self::RoundTrip(_) => "tcp-round-trip",
            Self::PacketsSent => "packets",
            Self::PacketsReceived => "packets-receive",
            Self::RedisSets => "redis",
        }
    }

    /// Its level in the study.
    fn name(self) -> &'static str {
        match self {
            Self::Sent(Transport::Tcp) => "TCP, sent",
            Self::Sent(Transport::Udp) => "UDP, sent",
            Self::Sent(Transport::Rdma(RdmaVerb::Read)) => "RDMA read",
            Self::Sent(Transport::Rdma(_)) => "RDMA write",
            Self::Received(Transport::Udp) => "UDP, received",
            Self::Received(_) => "TCP, received",
            Self::RoundTrip(Transport::Rdma(_)) => "RDMA round trip",
            Self::RoundTrip(_) => "TCP round trip",
            Self::PacketsSent => "packets, sent",
            Self::PacketsReceived => "packets, received",
            Self::RedisSets => "Redis, SET",
        }
    }

    fn keys(self) -> String {
        let (workload, more) = match self {
            Self::Sent(over) => (Workload::Stream(over), ""),
            Self::Received(over) => (Workload::Stream(over), ", reverse = true"),
            Self::RoundTrip(over) => (Workload::RoundTrip(over), ""),
            Self::PacketsSent => (Workload::Packets, ""),
            Self::PacketsReceived => (Workload::Packets, ", reverse = true"),
            Self::RedisSets => (Workload::Latency(Transport::Tcp), ", engine = \"redis\""),
        };
        format!("load = \"{workload}\"{more}")
    }
}

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Minutes that all runs may take.
    pub minutes: f64,
    /// Seconds that count in each run.
    pub seconds: f64,
    /// Runs of each cell.
    pub repeats: u32,
    /// Most cores of a job; `None`: all that the network leaves free.
    pub cores: Option<u32>,
    pub jobs: Vec<Kernel>,
    pub traffic: Vec<Traffic>,
    /// Node of the jobs' cores and memory; `None`: the NIC's.
    pub node: Option<u32>,
}

/// Why there is nothing to run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoNeighbours {
    /// The time is too short for the job alone, the traffic alone, and both.
    #[error("{minutes} minutes are too short: {cells} cells take {least:.2}")]
    TooShort {
        minutes: f64,
        /// How many cells are the least that say something.
        cells: usize,
        /// Minutes that those take.
        least: f64,
    },
    /// A node without CPUs that this process may use.
    #[error("this process may use no CPU of node {0}")]
    NoCpu(u32),
    /// A host whose CPUs nobody knows.
    #[error("the CPUs that this process may use are not known")]
    NoHost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// A CPU for each end of the traffic on this host.
    pub network: Vec<u32>,
    /// CPUs of the job, a core each.
    pub job: Vec<u32>,
    /// Node of the job.
    pub node: Option<u32>,
    /// Whether no core is left for the job alone: nothing can be said of memory then.
    pub is_shared: bool,
}

/// The study of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    pub cores: Cores,
    /// How many cores the job has, ascending.
    pub steps: Vec<u32>,
    /// The definition of the study, as a file has it.
    pub definition: String,
}

impl Neighbours {
    /// The study of this host within the time; `interface` leads to the peer, `is_alone` where both
    /// ends of the traffic are on this host.
    pub fn of(
        wanted: &Wanted,
        host: &Host,
        interface: Option<&str>,
        is_alone: bool,
    ) -> Result<Self, NoNeighbours> {
        let cores = Cores::of(host, interface, wanted.node, is_alone)?;
        let most = (cores.job.len() as u32).min(wanted.cores.unwrap_or(u32::MAX)).max(1);
        let steps = fitting(wanted, steps(most))?;
        let definition = definition(wanted, &cores, &steps, host.nodes.len() > 1, is_alone);
        Ok(Self { cores, steps, definition })
    }
}

impl Cores {
    fn of(
        host: &Host,
        interface: Option<&str>,
        job_node: Option<u32>,
        is_alone: bool,
    ) -> Result<Self, NoNeighbours> {
        let near = nic_node(host, interface);
        let ends = if is_alone { 2 } else { 1 };
        let own = one_a_core(host, near, interface)?;
        let network: Vec<u32> = own.iter().copied().cycle().take(ends).collect();
        let node = job_node.or(near);
        let all = if job_node.is_none() || job_node == near {
            own
        } else {
            one_a_core(host, job_node, interface)?
        };
        let free: Vec<u32> = all.iter().copied().filter(|cpu| !network.contains(cpu)).collect();
        let is_shared = free.is_empty() || network.first() == network.get(1);
        let job = if free.is_empty() { all } else { free };
        Ok(Self { network, job, node, is_shared })
    }
}

/// The first CPU of each core of a node, or of all CPUs where no node is known: what shares a core
/// shares more than memory.
fn one_a_core(
    host: &Host,
    node: Option<u32>,
    interface: Option<&str>,
) -> Result<Vec<u32>, NoNeighbours> {
    let all = cpus(host, node.map_or(Where::Nic, Where::Node), interface).unwrap_or_default();
    let (mut seen, mut first) = (Vec::new(), Vec::new());
    for cpu in all {
        let core = core(host, cpu);
        if core.is_none() || !seen.contains(&core) {
            seen.push(core);
            first.push(cpu);
        }
    }
    let missing = node.map_or(NoNeighbours::NoHost, NoNeighbours::NoCpu);
    Some(first).filter(|first| !first.is_empty()).ok_or(missing)
}

/// Package, die and core of a CPU, where the kernel says.
fn core(host: &Host, cpu: u32) -> Option<(Option<u32>, Option<u32>, u32)> {
    let place: &CpuPlace = host.cpu.places.iter().find(|place| place.cpu == cpu)?;
    Some((place.package, place.die, place.core?))
}

/// Numbers of cores to try.
fn steps(most: u32) -> Vec<u32> {
    if most <= EACH_MAX {
        return (1..=most).collect();
    }
    let mut all: Vec<u32> = std::iter::successors(Some(1_u32), |n| n.checked_mul(2))
        .take_while(|n| *n < most)
        .collect();
    all.push(most);
    all
}

/// As many of them as fit the time, the first and the last in any case: how a job's own rate grows
/// with its cores tells whether it loads memory at all.
fn fitting(wanted: &Wanted, mut steps: Vec<u32>) -> Result<Vec<u32>, NoNeighbours> {
    while minutes(wanted, steps.len()) > wanted.minutes {
        if steps.len() <= 2 {
            return Err(NoNeighbours::TooShort {
                minutes: wanted.minutes,
                cells: cells(wanted, steps.len()),
                least: minutes(wanted, steps.len()),
            });
        }
        steps.remove(steps.len() / 2);
    }
    Ok(steps)
}

fn minutes(wanted: &Wanted, steps: usize) -> f64 {
    let each = f64::from(wanted.repeats) * (wanted.seconds + RUN_SECONDS) / 60.0;
    cells(wanted, steps) as f64 * each
}

/// The traffic alone, the jobs alone, and each of one beside each of the other.
fn cells(wanted: &Wanted, steps: usize) -> usize {
    let beside = wanted.jobs.len() * steps;
    wanted.traffic.len() * (1 + beside) + beside
}

const NOTHING: &str = "none";
/// The factor of the traffic, and its level beside which the job has its own rate.
pub const JOB_ALONE: (&str, &str) = ("traffic", "the job alone");

/// The study's file.
fn definition(
    wanted: &Wanted,
    cores: &Cores,
    steps: &[u32],
    has_nodes: bool,
    is_alone: bool,
) -> String {
    let mut text = String::from(
        "# Made by `narrows neighbours`: a memory job on some cores beside traffic, and each of \
         them alone.\nname = \"neighbours\"\n",
    );
    let _ = writeln!(text, "about = {}", quoted(&about(wanted, cores, steps)));
    let _ = writeln!(text, "repeats = {}\n\n[quick]\nrepeats = 2\nseconds = 0.2\n", wanted.repeats);
    let network: Vec<String> = cores.network.iter().map(u32::to_string).collect();
    let affinity = if is_alone { network.join(",") } else { format!("{},nic", network[0]) };
    let _ = writeln!(
        text,
        "[base]\nseconds = {:?}\nwarmup_seconds = {WARMUP_SECONDS:?}\naffinity = \"{affinity}\"\n",
        wanted.seconds
    );
    let (traffic, idle) = JOB_ALONE;
    let _ = writeln!(text, "[[factor]]\nname = \"{traffic}\"\nlevels = [");
    for traffic in &wanted.traffic {
        let _ = writeln!(text, "  {{ name = {}, {} }},", quoted(traffic.name()), traffic.keys());
    }
    let _ = writeln!(
        text,
        "  # Next to nothing: the job's own rate.\n  {{ name = \"{idle}\", {}, bitrate = \
         \"1M\" }},\n]\n\n[[factor]]\nname = \"neighbours\"\nlevels = [\n  {{ name = \
         \"{NOTHING}\" }},",
        Traffic::ALL[0].keys()
    );
    for job in &wanted.jobs {
        steps.iter().for_each(|step| text += &level(*job, *step, cores, has_nodes));
    }
    let _ = writeln!(
        text,
        "]\n\n[[exclude]]\ntraffic = \"{idle}\"\nneighbours = \"{NOTHING}\"\n\n[report]\nacross = \
         \"neighbours\""
    );
    text
}

/// A job on so many cores.
fn level(job: Kernel, threads: u32, cores: &Cores, has_nodes: bool) -> String {
    let job = job.name();
    let cpus: Vec<String> = cores.job.iter().take(threads as usize).map(u32::to_string).collect();
    let memory = cores.node.filter(|_| has_nodes);
    let memory = memory.map_or(String::new(), |node| format!("/memory:{node}"));
    let s = if threads == 1 { "" } else { "s" };
    format!(
        "  {{ name = \"{job} on {threads} core{s}\", memory_load = \"{job}:{threads}@{}{memory}\" \
         }},\n",
        cpus.join("+")
    )
}

/// What the study asks, and what its hosts leave open.
fn about(wanted: &Wanted, cores: &Cores, steps: &[u32]) -> String {
    let mut text = String::from("What do cores that use memory cost the network, and it them?");
    if cores.is_shared {
        text += " No core is free for the job alone: it shares CPUs with the traffic, so that \
                 nothing can be told of memory.";
    } else if steps.len() == 1 {
        text += " One core is free for the job.";
    }
    let most = cores.job.len();
    if let Some(asked) = wanted.cores.filter(|asked| *asked as usize > most) {
        let _ = write!(text, " {asked} cores were asked for; the job can have {most}.");
    }
    text
}
