//! The command line of `fabric`.

use super::untaken::Untaken;
use clap::Args as ClapArgs;
use narrows_fabric::FLOWS_MAX;
use narrows_model::{BitsPerSecond, Bytes};
use std::path::PathBuf;

/// Options of `fabric`.
#[derive(ClapArgs)]
pub struct FabricArgs {
    /// Hosts, one port each
    #[arg(long, value_name = "N", required_unless_present = "list")]
    pub hosts: Option<u32>,
    /// Rate of a host's port, such as 25G
    #[arg(long, value_name = "RATE", required_unless_present = "list")]
    pub speed: Option<BitsPerSecond>,
    /// Highest ratio of the rate of a leaf's hosts to that of its uplinks; 1 is non-blocking on
    /// paper
    #[arg(long, value_name = "RATIO", default_value_t = 1.0)]
    pub oversubscription: f64,
    /// A switch model for the leaves, or a part of its name; may be given several times. Without it
    /// all known models
    #[arg(long, value_name = "NAME", conflicts_with = "radix")]
    pub switch: Vec<String>,
    /// Ports of every switch, all at the hosts' rate, instead of a model
    #[arg(long, value_name = "PORTS")]
    pub radix: Option<u32>,
    /// The switch model above the leaves; without it the one of which the fewest are needed
    #[arg(long, value_name = "NAME")]
    pub spine: Option<String>,
    /// Rate of an uplink; without it the leaf's port rate, not broken out
    #[arg(long, value_name = "RATE")]
    pub uplink_speed: Option<BitsPerSecond>,
    /// Tiers of switches; without it as few as possible
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub tiers: Option<u8>,
    /// Plan a dragonfly: groups of switches of one model that are all linked, with links between
    /// every two groups and no tier above
    #[arg(long, conflicts_with_all = ["spine", "uplink_speed", "tiers"])]
    pub dragonfly: bool,
    /// Length of the cables from hosts to leaves, in metres
    #[arg(long, value_name = "METRES", default_value = "3", value_parser = metres)]
    pub host_cable: f64,
    /// Length of the cables between switches, in metres
    #[arg(long, value_name = "METRES", default_value = "30", value_parser = metres)]
    pub fabric_cable: f64,
    /// The largest frame, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 9216,
        value_parser = clap::value_parser!(u64).range(64..=16_384))]
    pub frame: u64,
    /// Classes of traffic that must not lose a frame (802.1Qbb)
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=8))]
    pub lossless: u32,
    /// Flows of each host, each hashed to a path by itself
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(FLOWS_MAX)))]
    pub flows: u32,
    /// A file of `narrows mesh` over these hosts: what each tier carries, beside what it should
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,
    /// Seed of the simulation of hashing
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Round trip between programs, in microseconds; without it the fabric's own
    #[arg(long, value_name = "MICROSECONDS", value_parser = microseconds)]
    pub rtt: Option<f64>,
    /// A socket's buffer to hold against the path
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<Bytes>,
    /// Write a picture, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// List the switches that are known, each with its source
    #[arg(long, conflicts_with_all = ["hosts", "speed", "svg"])]
    pub list: bool,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
}

fn metres(text: &str) -> Result<f64, Untaken> {
    let metres: f64 = text.parse().map_err(|_| Untaken::number(text))?;
    Some(metres).filter(|m| (0.0..=100_000.0).contains(m)).ok_or(Untaken::Beyond("0 to 100000 m"))
}

fn microseconds(text: &str) -> Result<f64, Untaken> {
    let us: f64 = text.parse().map_err(|_| Untaken::number(text))?;
    Some(us).filter(|us| (0.1..=1e7).contains(us)).ok_or(Untaken::Beyond("0.1 to 10000000 us"))
}
