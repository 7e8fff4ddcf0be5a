//! The command line of `mesh`.

use super::untaken::Untaken;
use super::{DemandArgs, KeyArgs};
use clap::{Args as ClapArgs, ValueEnum};
use narrows_control::net::Net;
use narrows_model::options::{flows, runs};
use narrows_model::trial::Engine;
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_model::{BitsPerSecond, Bytes};
use narrows_mpi::fabric::Fabric;
use narrows_mpi::pattern::Pattern;
use narrows_plan::mesh::Shape;
use narrows_plan::study::Settings;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

/// Options of `mesh`.
#[derive(ClapArgs)]
pub struct MeshArgs {
    /// Hosts that run `narrows serve --peers NET`, by name or address: n1 n2, or n[1-512]; they
    /// share one key
    #[arg(value_name = "HOST", required_unless_present_any = ["start", "k8s"], num_args = 1..)]
    pub hosts: Vec<String>,
    /// Start the agents too, with a key of their own, and end them with this command. `srun`: on
    /// the nodes of the Slurm job that this runs in, or on those of them that are named; `mpirun`:
    /// on the hosts that are named, by the launcher of the installed MPI
    #[arg(long, value_name = "STARTER", value_enum, conflicts_with = "mpi")]
    pub start: Option<Starter>,
    /// Measure nothing, and print what makes Kubernetes run an agent of this image on every node
    #[arg(long, value_name = "IMAGE", requires = "peers",
        conflicts_with_all = ["hosts", "start", "mpi"])]
    pub k8s: Option<String>,
    /// With --k8s: a Job of agents on so many nodes, which ends by itself after an hour, in place
    /// of a DaemonSet on every node
    #[arg(long, value_name = "N", requires = "k8s",
        value_parser = clap::value_parser!(u32).range(2..=5000))]
    pub k8s_nodes: Option<u32>,
    /// Addresses of the nodes: whom the agents of --k8s may exchange data with
    #[arg(long, value_name = "NET", value_delimiter = ',', requires = "k8s", value_parser = some)]
    pub peers: Vec<String>,
    /// Which pairs: all, quick (each host of one half with one of the other), ring, or bisection
    /// (random matchings of two halves)
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value = "all",
        hide_possible_values = true
    )]
    pub pairs: Pairs,
    /// Rounds of a bisection
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Round trips instead of streams
    #[arg(long)]
    pub rr: bool,
    /// UDP instead of TCP
    #[arg(long)]
    pub udp: bool,
    /// RDMA instead of TCP: writes, or round trips of sends with --rr. Each host takes the device
    /// of the address that it is reached at
    #[arg(long, conflicts_with_all = ["udp", "mpi", "bitrate", "parallel"])]
    pub rdma: bool,
    /// Messages between ranks of an MPI, which its launcher starts on the hosts: bandwidth, or half
    /// round trips with --rr. No agent is asked
    #[arg(long, conflicts_with_all = ["udp", "bitrate", "parallel"])]
    pub mpi: bool,
    /// What is to carry the messages of --mpi, as of `narrows mpi --fabric`
    #[arg(long, value_name = "FABRIC", requires = "mpi")]
    pub fabric: Option<Fabric>,
    /// Measure a pair again whose latency exceeds TIMES times the lowest
    #[arg(long, value_name = "TIMES", default_value = "2.1", value_parser = times)]
    pub latency_times: f64,
    /// Measure a pair again whose rate is below SHARE of the highest
    #[arg(long, value_name = "SHARE", default_value = "0.93", value_parser = share)]
    pub rate_share: f64,
    /// Do not measure suspects again among fewer pairs
    #[arg(long)]
    pub once: bool,
    /// Port of the agents; without it 7471
    #[arg(long, short = 'p')]
    pub port: Option<u16>,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Seed of the matchings of a bisection; without it one is drawn at random and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Seconds that count in each round
    #[arg(long, short = 't', value_name = "SECONDS", value_parser = super::seconds)]
    pub seconds: Option<f64>,
    /// Pace of all flows of a pair together; unlimited without it
    #[arg(long, short = 'b', value_name = "RATE")]
    pub bitrate: Option<BitsPerSecond>,
    /// Bytes of each write, datagram or request
    #[arg(long, short = 'l', value_name = "SIZE")]
    pub length: Option<Bytes>,
    /// Flows of each pair
    #[arg(long, short = 'P', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub parallel: Option<u32>,
    /// Folder for the study file
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Write the pairs as a map, as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// What the figures must be.
    #[command(flatten)]
    pub demands: DemandArgs,
}

/// Which pairs of many hosts are measured.
#[derive(Clone, Copy, ValueEnum)]
pub enum Pairs {
    All,
    Quick,
    Ring,
    Bisection,
}

/// What starts agents that are not there yet.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Starter {
    /// A step of the Slurm job.
    Srun,
    /// The launcher of an MPI, once a host.
    Mpirun,
}

impl MeshArgs {
    /// What each pair runs.
    pub fn kind(&self) -> Workload {
        if self.mpi {
            return Workload::from(self.pattern().word());
        }
        if self.rdma {
            let (sends, writes) =
                (Transport::Rdma(RdmaVerb::Send), Transport::Rdma(RdmaVerb::Write));
            return if self.rr { Workload::RoundTrip(sends) } else { Workload::Stream(writes) };
        }
        match (self.udp, self.rr) {
            (false, false) => Workload::TCP_STREAM,
            (false, true) => Workload::TCP_RR,
            (true, false) => Workload::UDP_STREAM,
            (true, true) => Workload::UDP_RR,
        }
    }

    /// What two ranks do.
    fn pattern(&self) -> Pattern {
        if self.rr { Pattern::PingPong } else { Pattern::Bandwidth }
    }

    /// The tool that makes the load in place of agents, with its words.
    pub fn engine(&self) -> Option<Engine> {
        let fabric = self.fabric.iter().flat_map(|fabric| ["--fabric".into(), fabric.to_string()]);
        let client = fabric.collect();
        self.mpi.then(|| Engine { tool: "mpi".to_owned(), client, ..Engine::default() })
    }

    /// How, as a cell of a study has it.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.tell(&runs::LOAD, self.kind().to_string());
        if let Some(rate) = self.bitrate {
            settings.tell(&flows::BITRATE, rate);
        }
        // What MPI's benchmarks have for each.
        let ranks = if self.rr { Bytes(8) } else { Bytes::mib(1) };
        if let Some(bytes) = self.length.or(self.mpi.then_some(ranks)) {
            settings.tell(&flows::LENGTH, bytes);
        }
        if let Some(count) = self.parallel {
            settings.tell(&flows::PARALLEL, count);
        }
        settings
    }

    /// Which pairs are measured.
    pub fn shape(&self) -> Shape {
        match self.pairs {
            Pairs::All => Shape::AllPairs,
            Pairs::Quick => Shape::Quick,
            Pairs::Ring => Shape::Ring,
            Pairs::Bisection => Shape::Bisection(self.rounds),
        }
    }
}

/// The text of some addresses, and not of all that there are.
fn some(text: &str) -> Result<String, Untaken> {
    let net: Net =
        text.parse().map_err(|_| Untaken::form(text, "a network such as 10.0.0.0/16"))?;
    let first_and_last: [[IpAddr; 2]; 2] = [
        [Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into()],
        [Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from([0xff; 16]).into()],
    ];
    if first_and_last.iter().any(|ends| ends.iter().all(|end| net.has(*end))) {
        return Err(Untaken::Beyond("fewer than all addresses"));
    }
    Ok(text.to_owned())
}

fn times(text: &str) -> Result<f64, Untaken> {
    let times: f64 = text.parse().map_err(|_| Untaken::number(text))?;
    Some(times).filter(|times| (1.0..=1e6).contains(times)).ok_or(Untaken::Beyond("1 or more"))
}

fn share(text: &str) -> Result<f64, Untaken> {
    let share: f64 = text.parse().map_err(|_| Untaken::number(text))?;
    Some(share).filter(|share| (0.0..=1.0).contains(share)).ok_or(Untaken::Beyond("0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_opened_to_some_addresses_and_never_to_all() {
        for net in ["10.0.0.0/16", "192.0.2.7", "fd00::/8", "0.0.0.0/1"] {
            assert_eq!(some(net), Ok(net.to_owned()));
        }
        for net in ["0.0.0.0/0", "10.0.0.0/0", "::/0", "everybody", "10.0.0.0/33"] {
            assert!(some(net).is_err(), "{net}");
        }
    }
}
