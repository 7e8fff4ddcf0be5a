//! The command line of `latency`.

use super::PeerArgs;
use super::direct::interval_ms;
use super::schema::SchemaArgs;
use super::untaken::Untaken;
use clap::{Args as ClapArgs, ValueEnum};
use narrows_model::workload::Workload;

/// Options of `latency`.
#[derive(ClapArgs)]
#[command(mut_arg("hosts", |hosts| hosts.required(false).num_args(1).help(
    "Name or address of the host that runs `narrows serve`, or ssh:[USER@]HOST to bring an agent \
     there; without one, between two namespaces of this host, and where that is not allowed over \
     loopback")))]
#[command(mut_arg("port", |port| port.help("Port of the agent").value_name("PORT")))]
#[command(mut_arg("repeats", |repeats| repeats.default_value("1").help(
    "Runs; with six and more intervals are over runs, with fewer over slices of time")))]
pub struct LatencyArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// Seconds of each of the five phases; between two of them a second is left out
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "5", value_parser = phase_seconds)]
    pub seconds: f64,
    /// TCP streams in each direction
    #[arg(long, short = 'P', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub parallel: u32,
    /// What round trips are over
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Over::Udp)]
    pub over: Over,
    /// Time from one request to the next, in seconds or with a unit; each is 64 bytes, and so is
    /// its answer
    #[arg(long, short = 'i', value_name = "SECONDS", default_value = "5ms", value_parser = interval_ms)]
    pub interval: u32,
    /// Congestion control of the streams; without it each system's default
    #[arg(long, short = 'C', value_name = "NAME")]
    pub congestion: Option<String>,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// What round trips are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Over {
    /// One datagram each way: a lost one is told as unanswered
    Udp,
    /// One connection: a lost segment is sent again, and those behind it wait
    Tcp,
}

impl Over {
    /// The workload of the round trips.
    pub fn workload(self) -> Workload {
        match self {
            Self::Udp => Workload::UDP_RR,
            Self::Tcp => Workload::TCP_RR,
        }
    }
}

/// Seconds of a phase: three slices of a quarter of a second at least.
fn phase_seconds(text: &str) -> Result<f64, Untaken> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.75..=60.0).contains(seconds));
    seconds.ok_or_else(|| Untaken::form(text, "0.75 to 60 seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_room_for_slices() {
        assert_eq!(phase_seconds("2.5"), Ok(2.5));
        for wrong in ["", "0", "0.7", "61", "nan", "5s"] {
            assert!(phase_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
