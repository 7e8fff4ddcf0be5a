//! The command line.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use narrows_facts::{BitsPerSecond, Bytes};
use narrows_plan::Where;
use std::net::IpAddr;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes: 0 ok; 1 measured, and a fault of the hardware was found; 2 the command line or an input
file cannot be used; 3 cannot connect or listen; 5 this machine does not allow it (privilege,
hardware, package, disk); 130 stopped with Ctrl-C, what was measured is kept.";

/// Does a server's memory, NUMA layout, PCIe path or CPU hold its network back?
#[derive(Parser)]
#[command(version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Describe and measure this host, in about a minute
    ///
    /// Reads the host, measures its memory and its network stack (as root between two private
    /// network namespaces, else over loopback), predicts what each NIC can reach, says what is
    /// narrowest, and writes a study file and report.html.
    Check(CheckArgs),
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    /// Describe this host, or another's files: memory population, nodes, PCIe paths, settings
    Host(HostArgs),
    /// Print the manual page, as roff
    Man,
    /// Measure this host's memory: bandwidth by kernel and node, latency by size and load
    ///
    /// Without a choice: all kernels on one thread and on all, latency from the first-level cache
    /// to memory, and, where there are several nodes, all pairs of them.
    Mem(MemArgs),
    /// Read a study file again: text, JSON or HTML; needs no root
    Report(ReportArgs),
    /// Lend this host's end to a controller on another host
    ///
    /// Prints the exact command to run there, key included.
    Serve(ServeArgs),
    /// Measure TCP throughput to a host that runs `narrows serve`
    Tcp(TcpArgs),
    /// Measure UDP throughput and loss to a host that runs `narrows serve`
    Udp(UdpArgs),
    /// One end of one run; started by narrows itself
    #[command(hide = true)]
    Worker,
}

/// Where results go.
#[derive(ClapArgs)]
pub struct OutArgs {
    /// Folder for the study file and report.html
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Print JSON instead of text
    #[arg(long, short = 'J')]
    pub json: bool,
}

/// Options of `check`.
#[derive(ClapArgs)]
pub struct CheckArgs {
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
    /// Compute everything again from this study file instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["repeats", "seconds", "seed"])]
    pub from: Option<PathBuf>,
    /// Repeats of each workload
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Seconds that count in each network run (memory runs: two thirds)
    #[arg(long, short = 't', value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Seed of the order of runs; without it one is drawn and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Options of `completions`.
#[derive(ClapArgs)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Tables of `host`.
#[derive(Clone, Copy, ValueEnum)]
pub enum TableName {
    /// Every memory slot
    Memory,
    /// Every interface
    Nic,
    /// The PCI functions to every device that moves much
    Pci,
    /// Settings that move throughput
    Tuning,
}

impl TableName {
    /// Name of the view.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Nic => "nic",
            Self::Pci => "pci",
            Self::Tuning => "tuning",
        }
    }
}

/// Options of `host`.
#[derive(ClapArgs)]
pub struct HostArgs {
    /// Read this instead: a capture, a folder with sys and proc, an SMBIOS table, dmidecode's text,
    /// hwloc's XML
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Show what differs between two of these, what matters most first
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["from", "table", "json"])]
    pub diff: Option<Vec<PathBuf>>,
    /// Write a capture of this host for others to read, names and serial numbers masked
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "table", "json", "diff"])]
    pub capture: Option<PathBuf>,
    /// Print a tree instead of the drawing
    #[arg(long, conflicts_with_all = ["table", "json", "capture", "diff"])]
    pub tree: bool,
    /// Print the drawing as SVG
    #[arg(long, conflicts_with_all = ["tree", "table", "json", "capture", "diff"])]
    pub svg: bool,
    /// Print a table instead of the drawing
    #[arg(long, value_enum, value_name = "NAME")]
    pub table: Option<TableName>,
    /// Print all facts as JSON, each with its source
    #[arg(long, short = 'J', conflicts_with = "table")]
    pub json: bool,
    /// Print the JSON schema of --json
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// How a report is written.
#[derive(Clone, Copy, ValueEnum)]
pub enum FormatName {
    /// A self-contained page
    Html,
    /// One document
    Json,
    /// One screen
    Text,
}

/// Options of `mem`.
#[derive(ClapArgs)]
pub struct MemArgs {
    /// Kernels to run
    #[arg(long, short = 'k', value_name = "NAME", value_delimiter = ',',
        value_parser = clap::builder::PossibleValuesParser::new(narrows_plan::memory::KERNELS))]
    pub kernels: Vec<String>,
    /// Numbers of threads; without it one, and one a CPU
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    /// Node whose CPUs run; without it that of the fastest NIC
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
    /// Node that the memory is taken from; without it that of the CPUs
    #[arg(long, value_name = "N")]
    pub memory_node: Option<u32>,
    /// Latency by working set, from the first-level cache to memory
    #[arg(long)]
    pub latency: bool,
    /// Latency beside threads that read, at ten rates
    #[arg(long)]
    pub loaded: bool,
    /// Read bandwidth and latency from every node to every node
    #[arg(long)]
    pub matrix: bool,
    /// Width of loads and stores; without it the widest there is up to avx2
    #[arg(long, value_name = "NAME", value_parser = ["portable", "avx2", "avx512"])]
    pub vector: Option<String>,
    /// Pages of the buffers; 2M and 1G must have been set aside (`narrows host --table tuning`)
    #[arg(long, value_name = "SIZE", value_parser = ["4K", "transparent", "2M", "1G"])]
    pub pages: Option<String>,
    /// Working set over all threads; without it four times the caches, within half of the free
    /// memory
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Repeats of each measurement; six are the least for a 95 % interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Seconds that count in each run
    #[arg(long, short = 't', value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Seed of the order of runs; without it one is drawn and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Options of `report`.
#[derive(ClapArgs)]
pub struct ReportArgs {
    /// The study file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How to write it
    #[arg(long, value_enum, default_value = "text")]
    pub format: FormatName,
    /// The same as --format json
    #[arg(long, short = 'J', conflicts_with = "format")]
    pub json: bool,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `serve`.
#[derive(ClapArgs)]
pub struct ServeArgs {
    /// Port to listen on; 0 takes a free one
    #[arg(long, short = 'p', default_value_t = narrows_run::wire::PORT)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, short = 'B', value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub bind: IpAddr,
    /// Key of 64 hexadecimal digits; without it a new one is drawn
    #[arg(long, env = "NARROWS_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
}

/// Options of every direct measurement.
#[derive(ClapArgs)]
pub struct DirectArgs {
    /// Name or address of the host that runs `narrows serve`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// Port of the agent
    #[arg(long, short = 'p', default_value_t = narrows_run::wire::PORT)]
    pub port: u16,
    /// The agent's key; better given in the environment, where `ps` does not show it
    #[arg(long, env = "NARROWS_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: String,
    /// Seconds that count in each run
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "1.5", value_parser = seconds)]
    pub seconds: f64,
    /// Runs; six are the least for a 95 % interval
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Parallel flows
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub parallel: u32,
    /// Socket buffer to ask for (K, M, G are powers of two); without it the system's own sizing
    #[arg(long, short = 'w', value_name = "SIZE")]
    pub window: Option<Bytes>,
    /// CPUs to pin to here and at the peer, as LOCAL,REMOTE; each a CPU, a range such as 0-3,
    /// node:N, nic (the node of the NIC), or other-node
    #[arg(long, short = 'A', value_name = "LOCAL,REMOTE", value_parser = affinity)]
    pub affinity: Option<(Where, Where)>,
    /// A memory kernel to run on this host all the while, such as copy:2 or read:4@node:1; what it
    /// reached is shown beside the result
    #[arg(long, value_name = "KERNEL:THREADS[@WHERE]", value_parser = memory_load)]
    pub memory_load: Option<MemoryLoad>,
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Options of `tcp`.
#[derive(ClapArgs)]
pub struct TcpArgs {
    /// What is common.
    #[command(flatten)]
    pub direct: DirectArgs,
    /// Bytes of each write and read
    #[arg(long, short = 'l', value_name = "SIZE", default_value = "64K")]
    pub length: Bytes,
    /// The peer sends, this host receives
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Round trips of one message, one outstanding, instead of a stream
    #[arg(long, conflicts_with_all = ["reverse", "buffer", "touch", "truncate"])]
    pub rr: bool,
    /// Buffers of each end: hot (one message, over and over), cold (twice the larger last-level
    /// cache), or a size that all flows go through together
    #[arg(long, value_name = "HOT|COLD|SIZE", default_value = "hot", value_parser = span)]
    pub buffer: Span,
    /// The sink reads every byte once more on receipt
    #[arg(long, conflicts_with = "truncate")]
    pub touch: bool,
    /// The sink lets the kernel drop what arrived uncopied: what is left is the price of the rest
    #[arg(long)]
    pub truncate: bool,
    /// Congestion control to ask for; what was in use is read back
    #[arg(long, short = 'C', value_name = "NAME")]
    pub congestion: Option<String>,
}

/// Options of `udp`.
#[derive(ClapArgs)]
pub struct UdpArgs {
    /// What is common.
    #[command(flatten)]
    pub direct: DirectArgs,
    /// Bytes of each datagram's payload
    #[arg(long, short = 'l', value_name = "SIZE", default_value = "1472")]
    pub length: Bytes,
    /// Round trips of one datagram, one outstanding, instead of a stream
    #[arg(long, conflicts_with = "bitrate")]
    pub rr: bool,
    /// Pace of all flows together in bits per second (K, M, G are powers of ten; 0 is unlimited)
    #[arg(long, short = 'b', value_name = "RATE", default_value = "0")]
    pub bitrate: BitsPerSecond,
}

/// A memory kernel beside a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLoad {
    /// The kernel, as in `mem`.
    pub kernel: String,
    /// Its threads.
    pub threads: u32,
    /// Their CPUs; `None` leaves them unpinned.
    pub place: Option<Where>,
}

fn memory_load(text: &str) -> Result<MemoryLoad, String> {
    let (load, place) = match text.split_once('@') {
        Some((load, place)) => (load, Some(place.parse()?)),
        None => (text, None),
    };
    let (kernel, threads) = load.split_once(':').unwrap_or((load, "1"));
    let kernels = narrows_plan::memory::KERNELS;
    if !kernels.contains(&kernel) {
        return Err(format!("'{kernel}' is none of {}", kernels.join(", ")));
    }
    let threads = threads.parse().ok().filter(|threads| (1..=1024).contains(threads));
    let threads =
        threads.ok_or_else(|| format!("'{load}' has no number of threads from 1 to 1024"))?;
    Ok(MemoryLoad { kernel: kernel.to_owned(), threads, place })
}

/// Span of an end's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One message a flow.
    Hot,
    /// Twice the larger last-level cache of the two hosts.
    Cold,
    /// So many bytes.
    Of(Bytes),
}

fn span(text: &str) -> Result<Span, String> {
    match text {
        "hot" => Ok(Span::Hot),
        "cold" => Ok(Span::Cold),
        size => {
            size.parse().map(Span::Of).map_err(|_| format!("'{size}' is not hot, cold or a size"))
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    match (0.05..=600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err("must be 0.05 to 600 seconds".to_owned()),
    }
}

fn affinity(text: &str) -> Result<(Where, Where), String> {
    let pair = text.split_once(',').ok_or_else(|| format!("'{text}' is not LOCAL,REMOTE"))?;
    Ok((pair.0.parse()?, pair.1.parse()?))
}
