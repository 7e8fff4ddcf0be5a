//! The command line of `mpi`.

use super::{OutArgs, repeats};
use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_model::Bytes;
use narrows_mpi::fabric::Fabric;
use narrows_mpi::pattern::Pattern;
use std::path::PathBuf;

/// Sizes of messages where none are named.
const SIZES: &str = "0,8,64,1K,8K,64K,1M";

/// Options of `mpi`.
#[derive(ClapArgs)]
pub struct MpiArgs {
    /// What the ranks do
    #[arg(value_name = "PATTERN", default_value = "pingpong", value_parser = patterns())]
    pub patterns: Vec<Pattern>,
    /// What is to carry the messages: shm, tcp:INTERFACE, ofi:PROVIDER[@INTERFACE], ucx:DEVICE or
    /// with Open MPI up to 4 openib:DEVICE; without it what the library chooses
    #[arg(long, value_name = "FABRIC")]
    pub fabric: Option<Fabric>,
    /// Hosts that the launcher starts ranks on: n1,n2 or n[1-8]; without it this host
    #[arg(long, value_name = "HOSTS", value_delimiter = ' ')]
    pub hosts: Vec<String>,
    /// Two network namespaces of this host, joined by a veth pair with the name narrows0 at both
    /// ends, are the hosts: the stack without a NIC; needs root
    #[arg(long, conflicts_with = "hosts")]
    pub namespaces: bool,
    /// Ranks that are started, over all hosts
    #[arg(long, short = 'n', value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub ranks: u32,
    /// Sizes of messages
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = SIZES)]
    pub sizes: Vec<Bytes>,
    /// Messages outstanding at once, where rates are measured
    #[arg(long, value_name = "N", default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub messages: u32,
    /// Send all of these messages from one buffer and receive them into one, as the OSU benchmarks
    /// do: what fits into a cache is copied in it. Without it each has a buffer of its own
    #[arg(long)]
    pub one_buffer: bool,
    /// Repeats of each pattern and size
    #[arg(long, value_name = "N", default_value_t = 6,
        value_parser = repeats())]
    pub repeats: u32,
    /// Seconds that count in each run; a million iterations end it before
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "0.2",
        value_parser = super::seconds)]
    pub seconds: f64,
    /// Seed of the order of runs; without it one is drawn and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The launcher; without it mpirun or mpiexec, where they are found
    #[arg(long, value_name = "PROGRAM")]
    pub launcher: Option<PathBuf>,
    /// A word for the launcher, such as --launcher-arg=--oversubscribe; several times
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub launcher_arg: Vec<String>,
    /// The MPI library's file; without it one of the launcher's implementation
    #[arg(long, value_name = "FILE")]
    pub libmpi: Option<String>,
    /// Seconds after which all ranks are ended; without it three times what the runs should take,
    /// and a minute
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=604_800))]
    pub limit: Option<u32>,
    /// The file that rank 0 stores its runs in; who started it shows them
    #[arg(long, value_name = "FILE", hide = true)]
    pub file: Option<PathBuf>,
    /// Print what one run measured for the study that asked for it, and keep no file
    #[arg(long, hide = true)]
    pub passing: bool,
    /// The ranks are another program's
    #[arg(long, value_name = "PROGRAM", hide = true, requires = "passing",
        value_parser = ["mpi4py"])]
    pub program: Option<String>,
    /// Where results go.
    #[command(flatten)]
    pub out: OutArgs,
}

impl MpiArgs {
    /// Seconds after which a rank ends itself, and its launcher is ended.
    pub fn limit_seconds(&self) -> f64 {
        let cells = (self.patterns.len() * self.sizes.len()) as f64;
        let planned = cells * f64::from(self.repeats) * (self.seconds + 0.1);
        self.limit.map_or(3.0 * planned + 60.0, f64::from)
    }
}

fn patterns() -> impl TypedValueParser<Value = Pattern> {
    let names = PossibleValuesParser::new(Pattern::ALL.iter().map(|pattern| pattern.name()));
    names.map(|name| Pattern::named(&name).unwrap_or(Pattern::PingPong))
}
