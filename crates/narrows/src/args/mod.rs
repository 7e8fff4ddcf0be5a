//! The command line.

mod app;
mod bmc;
mod credits;
mod demands;
mod diagnose;
mod direct;
mod fabric;
pub mod habits;
pub mod help;
mod key;
mod latency;
mod mesh;
mod mpi;
mod neighbours;
mod out;
mod paths;
mod placement;
mod reference;
mod schema;
mod search;
mod stored;
mod study;
mod table;
mod tune;
mod untaken;
mod values;

pub use app::{AppArgs, BecomeArgs};
pub use bmc::BmcArgs;
pub use credits::CreditsArgs;
pub use demands::DemandArgs;
pub use diagnose::DiagnoseArgs;
pub use direct::{PacketsArgs, PeerArgs, RdmaArgs, SearchArgs, SocketArgs, TcpArgs, UdpArgs};
pub use fabric::FabricArgs;
pub use key::KeyArgs;
pub use latency::LatencyArgs;
pub use mesh::{MeshArgs, Starter};
pub use mpi::MpiArgs;
pub use neighbours::NeighboursArgs;
pub use out::OutArgs;
pub use paths::PathsArgs;
pub use placement::PlacementArgs;
pub use reference::ReferenceArgs;
pub use schema::SchemaArgs;
pub use search::AnomalyArgs;
pub use stored::{
    CompareArgs, ExplainArgs, ExportArgs, HistoryArgs, ImportArgs, ListArgs, VerifyArgs,
};
pub use study::{MergeArgs, ResumeArgs, RunArgs, SessionArgs, StatusArgs, StudyArgs, StudyCommand};
pub use tune::TuneArgs;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use narrows_control::net::Net;
use narrows_model::workload::Kernel;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_predict::Kit;
use out::format_names;
use std::net::IpAddr;
use std::path::PathBuf;
use values::{dimms, engine_names, kernel, memory, ports, rate, repeats, seconds};

/// Does a server's memory, NUMA layout, PCIe path or CPU hold its network back?
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands, in the order of the help.
#[derive(Subcommand)]
pub enum Command {
    /// Measure how an application scales over ranks and fabrics
    ///
    /// Runs a command of yours under MPI's launcher by number of ranks, fabric, MTU and place, as a
    /// TOML file says (docs/app.md). The figure is found by an expression or a JSON pointer, and
    /// results are checked. Gives run time, speed-up and efficiency with intervals, and a model of
    /// run time, fitted on two fabrics and tried on a third.
    App(AppArgs),
    /// Becomes another program; started by narrows itself
    #[command(hide = true)]
    Become(BecomeArgs),
    /// Describe and measure this host, in about a minute
    ///
    /// Reads the host, measures its memory and its network stack (as root between two private
    /// network namespaces, else over loopback), predicts what each NIC can reach, names the
    /// bottleneck, and writes a study file and report.html.
    Check(CheckArgs),
    /// Compare two studies, cells or times: effect, interval, verdict
    ///
    /// Exit code 1 when a cell became worse by more than the margin, with the whole interval.
    Compare(CompareArgs),
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    /// Count the cache lines that a core keeps in flight
    ///
    /// A NIC can be slow with no link full: lines in flight over latency bound each part of the way
    /// to memory (docs/no-link-full.md). Measures the part that needs no counters, and says what is
    /// known of the others.
    Credits(CreditsArgs),
    /// Find what limits TCP to a host by trying one change at a time
    ///
    /// Measures, probes the path, ranks the likely causes, and changes one thing at a time,
    /// alternating with the traffic as it is: congestion control, buffers, message size, flows,
    /// segments, placement, copies, polling, pace, direction, and with --apply settings of this
    /// host. Says which change moved the figure and by how much, with its interval, in less than
    /// three minutes. The options are those of `narrows tcp`.
    Diagnose(DiagnoseArgs),
    /// Explain a study: the causes found for each cell, and the cells that remain unexplained
    Explain(ExplainArgs),
    /// Write the runs of a study as CSV, JSON, Parquet, or iperf3's JSON
    Export(ExportArgs),
    /// Plan a switch fabric: its parts, and what it carries
    ///
    /// One switch, leaf and spine, or a fat tree, whichever is the smallest that the known or named
    /// models make. Also gives the latency of a frame, the headroom that lossless classes need in
    /// the switches, and the sizes at which one kind of fabric ends and the next begins.
    Fabric(FabricArgs),
    /// Puts settings back; started by narrows itself
    #[command(hide = true)]
    Guard,
    /// Describe this host, or another's files: memory, nodes, PCIe paths
    Host(HostArgs),
    /// Read outputs of iperf3, perftest, STREAM and others into a study
    Import(ImportArgs),
    /// Follow figures over many study files: steps, and what changed
    ///
    /// A figure is one cell between the same hosts; each file counts once, by its median. A step is
    /// reported where chance makes one as large in less than 1 % for all figures together, with
    /// what differs in the hosts' settings and hardware before and after it. Exits with 1 where the
    /// last step of any figure is for the worse.
    History(HistoryArgs),
    /// Measure round trips beside streams both ways
    ///
    /// Latency under load, as flent's RRUL has it: a request every few milliseconds while the path
    /// is idle, loaded from here, both ways, towards here, and idle again. Gives percentiles of
    /// each phase and over time, how much longer a round trip takes under load, a grade, and round
    /// trips a minute. Requests leave when they are due, whether or not earlier ones are answered.
    Latency(LatencyArgs),
    /// List study files with what is in them
    List(ListArgs),
    /// The part of an agent that speaks with peers; started by narrows itself
    #[command(hide = true)]
    Listener,
    /// Print a manual page as roff, or write those of all commands
    Man(ManArgs),
    /// Measure this host's memory: bandwidth, latency by size and load
    ///
    /// Without a choice: all kernels on one thread and on all, latency from the first-level cache
    /// to memory, and, where there are several nodes, all pairs of them.
    Mem(MemArgs),
    /// Measure pairs of many hosts, and name the slow hosts and paths
    ///
    /// In rounds in which no host is in two pairs, all pairs of a round at once. Pairs that are
    /// slow against the best are measured again among fewer, until each has run by itself; a host
    /// or a path is named by what the slow ones have in common. A host that fails costs its own
    /// pairs.
    Mesh(MeshArgs),
    /// Measure messages between MPI ranks, one to one and all to all
    ///
    /// The same program under any launcher (mpirun -n 2 narrows mpi), or by itself, when it starts
    /// the launcher that there is. The library is loaded when it runs: Open MPI, MPICH and what has
    /// their ABI. Which interface carried the payload is said by the interfaces' own counters.
    Mpi(MpiArgs),
    /// Measure packet rate and loss
    ///
    /// Frames of 64 to 9018 bytes, raw or over sockets, to a host that runs `narrows serve`, or
    /// without one between two network namespaces of this host: the stack and the drivers, without
    /// a NIC. Packets are numbered and timed; the result is what arrives, held against the
    /// counters of both interfaces.
    Packets(PacketsArgs),
    /// Measure what memory jobs and the network cost each other
    ///
    /// Makes a study of this host's cores and runs it: traffic alone, the job alone on 1 to n cores
    /// of the NIC's node, and both together, in the same blocks. Says how many times slower either
    /// is, from how many cores on, and where that cannot be told: where no core is free, where
    /// interrupts take the job's time, and where the job does not load memory.
    Neighbours(NeighboursArgs),
    /// Measure whether a path inside this host is slower than its like
    ///
    /// From each RDMA device to each node's memory by loop-back, from each device to each other,
    /// and packets between two ports that a cable joins. Paths of one kind of card at one distance
    /// should reach the same: one that is slower is named with what was read of both that differs
    /// (link, payload and read sizes, relaxed ordering, ACS, root port, firmware). Loop-back
    /// crosses a NIC's PCIe twice and no wire. Says what is not measured, and why.
    Paths(PathsArgs),
    /// Measure what it costs to run away from the NIC's NUMA node
    ///
    /// Process, memory and interrupts, at both ends. Makes a study of the nodes that the two hosts
    /// have and runs it: throughput and round trips with everything at the NIC's node, with one end
    /// moved, both, and one thing at a time, as many as fit the time. Gives the cost of each move,
    /// with intervals that hold jointly. On a host with one node it says what cannot be varied.
    Placement(PlacementArgs),
    /// Predict what this host should reach, as it is and after a change; compare published results
    /// with the model
    Predict(PredictArgs),
    /// Measure RDMA to a host that runs `narrows serve`
    ///
    /// InfiniBand, RoCE and iWARP, through libibverbs and librdmacm, which are loaded when they are
    /// there. Bandwidth, or with --latency round trips timed one by one.
    Rdma(RdmaArgs),
    /// Read a study file again: text, JSON or HTML; needs no root
    Report(ReportArgs),
    /// Search for options that make traffic to a host slow
    ///
    /// Varies options of TCP, UDP and RDMA (message size, flows, direction, buffers, segments,
    /// pace, congestion control, ways to send and receive) within what the two hosts and their
    /// owners allow, and follows what carries clearly less than its neighbours, or has more lost
    /// and sent again, to the fewest options that show it. Names only what three pairs of runs
    /// confirm, each with a study file that shows it again.
    Search(AnomalyArgs),
    /// Run the agent: the other end of another host's measurements
    ///
    /// Prints the exact command to run there, key included.
    Serve(ServeArgs),
    /// Run a whole experiment from a TOML file
    ///
    /// Over as many sessions as it takes: factors and levels, repeats in shuffled blocks, a
    /// precision to reach, and manual changes such as memory populations, which are read back from
    /// the machine. A study that was stopped or killed, or whose host rebooted, resumes where it
    /// was.
    Study(StudyArgs),
    /// Measure TCP throughput to a host that runs `narrows serve`
    Tcp(TcpArgs),
    /// Advise which settings of this host to change for one kind of work
    ///
    /// Prints each setting with its value, the recommended one, the reason, the expected gain and
    /// the exact command. With --apply it writes those that are files under /proc/sys and /sys, and
    /// with a peer it measures before and after. It stops no service and opens no port.
    Tune(TuneArgs),
    /// Measure UDP rate and loss to a host that runs `narrows serve`
    Udp(UdpArgs),
    /// Check that study files are whole, and that results follow
    Verify(VerifyArgs),
    /// One end of one run; started by narrows itself
    #[command(hide = true)]
    Worker,
}

/// Options of `check`.
#[derive(ClapArgs)]
#[command(mut_arg("key_file", |file| file.requires("peer")))]
pub struct CheckArgs {
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
    /// Check with this second host, which runs `narrows serve`: TCP both ways, round trips and a
    /// probe of the path
    #[arg(long, value_name = "HOST", conflicts_with_all = ["from", "memory_load", "seed"])]
    pub peer: Option<String>,
    /// Port of its agent
    #[arg(long, short = 'p', value_name = "PORT", requires = "peer")]
    pub port: Option<u16>,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// With --peer: also the stream with another congestion control, in turn
    #[arg(long, requires = "peer")]
    pub explain: bool,
    /// Compute everything again from this study file instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["repeats", "seconds", "seed", "profile"])]
    pub from: Option<PathBuf>,
    /// Repeats of each workload
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeats: Option<u32>,
    /// Background load: a memory kernel on this host from before each network run until it is done,
    /// such as copy:2, read:4@node:1 or, over the link between sockets, read:4@node:0/memory:1
    #[arg(long, value_name = "KERNEL:THREADS[@WHERE][/memory:NODE]")]
    pub memory_load: Option<narrows_plan::BackgroundLoad>,
    /// Seconds that count in each network run (memory runs: two thirds)
    #[arg(long, short = 't', value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Sample where the CPU time of both ends goes, in every run: by class, by function, and as a
    /// flame graph in the report
    #[arg(long)]
    pub profile: bool,
    /// Seed of the order of runs; without it one is drawn at random and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Options of `completions`.
#[derive(ClapArgs)]
pub struct CompletionsArgs {
    /// The shell that is to complete words
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(ClapArgs)]
pub struct ManArgs {
    /// The command whose page is printed, such as tcp or study run; without one narrows' own
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub dir: Option<PathBuf>,
}

/// Tables of `host`.
#[derive(Clone, Copy, ValueEnum)]
pub enum TableName {
    /// Every memory slot
    Memory,
    /// Every interface of the host
    Nic,
    /// The PCI functions on the path to every fast device
    Pci,
    /// RDMA devices: transport, state, identifiers, and what MPI libraries need to select each
    Rdma,
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
            Self::Rdma => "rdma",
            Self::Tuning => "tuning",
        }
    }
}

/// Options of `host`.
#[derive(ClapArgs)]
#[command(group(clap::ArgGroup::new("described").args(["from", "diff"])))]
pub struct HostArgs {
    /// Read this instead, one description of a host or several of it: a capture, a folder with sys
    /// and proc, a sosreport or supportconfig, an SMBIOS table, Redfish's resources, hwloc's XML,
    /// what dmidecode, lspci, lscpu, lshw, ip, ethtool or numactl print (docs/host.md); - is
    /// standard input, redfish://HOST a management controller that is asked
    #[arg(long, value_name = "PATH", num_args = 1.., action = clap::ArgAction::Append)]
    pub from: Vec<PathBuf>,
    #[command(flatten)]
    pub bmc: BmcArgs,
    /// Look at many hosts at once, each file of --from or of its folders a host: populations by
    /// maker and model, who differs from its siblings, the worst first. Without it that is done for
    /// a folder of files, for several descriptions of one kind, and for several controllers
    #[arg(long, requires = "from", conflicts_with_all = ["tree", "svg", "table", "slot_map"])]
    pub fleet: bool,
    /// Print many hosts as CSV, one line each
    #[arg(long, requires = "from", conflicts_with_all = ["tree", "svg", "table", "json"])]
    pub csv: bool,
    /// Compare two or more of these, the most important differences first
    #[arg(long, num_args = 2.., value_names = ["A", "B"], conflicts_with_all = ["from", "table", "json"])]
    pub diff: Option<Vec<PathBuf>>,
    /// Write a capture of this host to share, with names and serial numbers masked
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
    /// Read where slots are from this map first, or from all *.json of a folder (docs/dimm.md)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["capture", "diff"])]
    pub slot_map: Vec<PathBuf>,
    /// Say which rule placed each memory slot, and why others did not
    #[arg(long, conflicts_with_all = ["tree", "svg", "table", "json", "capture", "diff"])]
    pub explain_slots: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `mem`.
#[derive(ClapArgs)]
pub struct MemArgs {
    /// Kernels to run
    #[arg(long, short = 'k', value_name = "NAME", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(Kernel::ALL.map(Kernel::name)).try_map(kernel))]
    pub kernels: Vec<Kernel>,
    /// Numbers of threads; without it one, and one for each CPU
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,
    /// One thread, two, four and so on up to one for each CPU, instead of a list
    #[arg(long, conflicts_with = "threads")]
    pub sweep: bool,
    /// Node that the memory is taken from; without it that of the CPUs
    #[arg(long, value_name = "N")]
    pub memory_node: Option<u32>,
    /// Latency by working set, from the first-level cache to memory
    #[arg(long)]
    pub latency: bool,
    /// Latency under background reads, at ten rates
    #[arg(long)]
    pub loaded: bool,
    /// Read bandwidth and latency from every node to every node
    #[arg(long)]
    pub matrix: bool,
    /// numademo's table: one thread over 128 MiB, by kernel and by the node that the memory is on,
    /// and what a copy at that rate lets a core do in smallest packets
    #[arg(long)]
    pub numademo: bool,
    /// Repeats of each measurement; six are the least for a 95 % interval
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeats: Option<u32>,
    /// Seed of the order of runs; without it one is drawn at random and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Options of the table.
    #[command(flatten)]
    pub told: table::CommandOptions<table::Mem>,
    /// Slices of the window.
    #[command(flatten)]
    pub slices: direct::SliceArgs,
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

/// Options of `predict`.
#[derive(ClapArgs)]
pub struct PredictArgs {
    /// Compare published tables (TOML) with the model, in-sample and left out, and with simple
    /// guesses; `new` prints an empty table to fill in
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["from", "set", "search"])]
    pub published: Vec<PathBuf>,
    /// Score the model on a folder of published tables: error and coverage by question, with the
    /// tables that its constants were chosen on kept apart
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["from", "set", "search", "published"])]
    pub score: Option<PathBuf>,
    /// The host: a capture, a folder, an SMBIOS table, dmidecode's text, a study, or a description
    /// (TOML), or redfish://HOST, a management controller; without it this one
    ///
    /// A study's measurements replace assumed values.
    #[arg(long, value_name = "PATH", group = "described")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub bmc: BmcArgs,
    /// A study of this host, whose measurements replace assumed values
    #[arg(long, value_name = "FILE")]
    pub calibrate: Option<PathBuf>,
    /// What holds today and cannot be read from the host: the same keys as --set
    #[arg(long, value_name = "KEY=VALUE", value_parser = study::said)]
    pub given: Vec<(String, String)>,
    /// What would be different: memory.socket0=1,1,1/0,0,0 (modules of each channel, controllers
    /// separated by slashes), memory.mts, mtu, message, streams, path, nic.gbps, nic.pcie=3x16,
    /// nic.socket, nic.count, nic.direct, work.socket and more (docs/predict.md); several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = study::said)]
    pub set: Vec<(String, String)>,
    /// Least bytes across the memory bus for each network byte, by path and direction,
    /// beside what a study counted and what its memory reaches
    #[arg(long, conflicts_with_all = ["set", "given", "search", "price", "svg", "published", "score"])]
    pub traffic: bool,
    /// Price of a part, dimm or nic: what the change costs, and what that buys
    #[arg(long, value_name = "PART=PRICE", value_parser = study::said)]
    pub price: Vec<(String, String)>,
    /// Write a picture of today and the change, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The best populations of so many modules in the slots; dimms=8x32+4x64 by size in GB
    #[arg(long, value_name = "dimms=N", value_parser = dimms)]
    pub search: Option<Kit>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `report`.
#[derive(ClapArgs)]
pub struct ReportArgs {
    /// The study file
    #[arg(value_name = "FILE", required_unless_present = "servers")]
    pub file: Option<PathBuf>,
    /// Further files whose cells stand in one figure with those of the first: of studies with the
    /// same factor along the axis, or of `narrows app`
    #[arg(value_name = "FILE")]
    pub more: Vec<PathBuf>,
    /// What the figures must be.
    #[command(flatten)]
    pub demands: DemandArgs,
    /// Join the servers of several files in one table: memory, slot, packets and whether each does
    /// its link's wire rate; studies, captures, or descriptions (TOML), each a server. As text,
    /// csv or json
    #[arg(long, value_name = "FILE", num_args = 1..,
          conflicts_with_all = ["file", "fail_if", "expect", "reference", "figures"])]
    pub servers: Vec<PathBuf>,
    /// Beside these servers the rows of tables that others published (TOML)
    #[arg(long, value_name = "FILE", requires = "servers")]
    pub published: Vec<PathBuf>,
    /// What holds for all servers and cannot be read, or would be different: nic.gbps=10,
    /// cpu.ghz=3.6, nic.uplink=2x4, frame=128 and others of `narrows predict --set`
    #[arg(long, value_name = "KEY=VALUE", value_parser = study::said, requires = "servers")]
    pub set: Vec<(String, String)>,
    /// How to write it
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = format_names())]
    pub format: String,
    /// The same as --format json
    #[arg(long, short = 'J', conflicts_with = "format")]
    pub json: bool,
    /// What stands beside the figures.
    #[command(flatten)]
    pub reference: ReferenceArgs,
    /// Write every figure into this folder, which is made, as SVG, and what a study's were drawn
    /// from as CSV
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Write each of these figures as PNG too
    #[arg(long, requires = "figures")]
    pub png: bool,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Changes nothing: a report has everything that measurements print with it
    #[arg(long, short = 'v')]
    pub verbose: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `serve`.
#[derive(ClapArgs)]
#[command(mut_arg("key", |key| key.help("Key of 64 hexadecimal digits; without it a new one is drawn")))]
pub struct ServeArgs {
    /// Port to listen on; 0 takes a free one; without it 7471, and 5201 with --iperf3
    #[arg(long, short = 'p')]
    pub port: Option<u16>,
    /// Address to listen on; without it every address, of IPv4 and of IPv6
    #[arg(long, short = 'B', value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Ports that data connections may come to, first to last; without it any
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    pub data_ports: Option<(u16, u16)>,
    /// Addresses that controllers may come from, such as 192.0.2.0/24; without it all
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    pub allow: Vec<Net>,
    /// Addresses of other agents that workers here may exchange data with, to send or to receive;
    /// without it none
    #[arg(long, value_name = "NET", value_delimiter = ',', conflicts_with = "iperf3")]
    pub peers: Vec<Net>,
    /// Longest run, in seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_seconds: Option<u32>,
    /// Most flows of a run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_streams: Option<u32>,
    /// Most memory for the buffers of a run
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub max_memory: Option<Bytes>,
    /// Highest rate at which all ends here together may send
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub max_rate: Option<BitsPerSecond>,
    /// Let controllers that ask for --profile sample where the CPU time of this host goes; when
    /// started as root, workers keep CAP_PERFMON for that
    #[arg(long)]
    pub profile: bool,
    /// Outside tools whose servers controllers may have started here for a run, such as
    /// iperf3,perftest; a server answers whoever reaches its port meanwhile
    #[arg(long, value_name = "TOOL", value_delimiter = ',', value_parser = engine_names())]
    pub engines: Vec<String>,
    /// Interfaces that controllers may send raw frames by and count them on (xdp, af-xdp, ring), to
    /// and from one interface of theirs; without it none. When started as root, workers keep
    /// CAP_NET_RAW and CAP_BPF for that
    #[arg(long, value_name = "IF", value_delimiter = ',', conflicts_with = "iperf3")]
    pub packets: Vec<String>,
    /// When started as root, become this user and keep only the rights that workloads need; root
    /// stays root
    #[arg(long, value_name = "NAME", default_value = "nobody")]
    pub user: String,
    /// Run inside this network namespace: a name of `ip netns`, a process id, or a path
    #[arg(long, value_name = "NAME")]
    pub netns: Option<String>,
    /// Answer iperf3 clients instead. Its protocol knows no key: whoever reaches the port can have
    /// tests, one at a time
    #[arg(long, conflicts_with_all = ["key_file", "data_ports", "profile", "engines"])]
    pub iperf3: bool,
    /// End when standard input is closed, or silent for that long: how `ssh:HOST` starts it
    #[arg(long, hide = true, value_name = "SECONDS", conflicts_with = "iperf3")]
    pub until_closed: Option<u32>,
    /// Listen on a free port where that one is taken, and say on which
    #[arg(long, hide = true, requires = "until_closed")]
    pub or_free: bool,
}
