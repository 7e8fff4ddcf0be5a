//! The command line of `paths`.

use super::placement::minutes;
use super::untaken::Untaken;
use super::{DemandArgs, format_names, repeats, seconds};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Options of `paths`.
#[derive(ClapArgs)]
pub struct PathsArgs {
    /// RDMA devices of this host, by name; without it all that are up
    #[arg(long, short = 'd', value_name = "NAME", value_delimiter = ',')]
    pub device: Vec<String>,
    /// Two ports of this host that a cable or a switch joins: packets go from each to the other
    /// (root)
    #[arg(long, value_name = "PORT,PORT", value_parser = cable)]
    pub cable: Option<[String; 2]>,
    /// Most minutes for all runs; loop-back is measured before what goes from one device to
    /// another, and what is left out is counted
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = minutes)]
    pub minutes: f64,
    /// Runs of each path and test; ten are enough for a hundred comparisons that hold together
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = repeats())]
    pub repeats: u32,
    /// Seconds that count in each run
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    pub seconds: f64,
    /// Buffers of streams, as in `narrows rdma --buffer`: hot is one message, which stays in a
    /// cache; cold is in memory
    #[arg(long, value_name = "SPAN")]
    pub buffer: Option<String>,
    /// Sleep until a completion comes, in place of looking for it all the time
    #[arg(long, short = 'e')]
    pub events: bool,
    /// Print the study's file to edit and run with `narrows study run`, and run nothing
    #[arg(long)]
    pub print: bool,
    /// Print what would run, in which order and for how long, and run nothing
    #[arg(long, conflicts_with = "print")]
    pub dry_run: bool,
    /// Seed of the order of runs; without it one is drawn at random and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Folder for the study file
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// How the results are printed at the end
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = format_names())]
    pub format: String,
    /// What the figures must be.
    #[command(flatten)]
    pub demands: DemandArgs,
}

fn cable(text: &str) -> Result<[String; 2], Untaken> {
    let both = text.split_once(',').map(|(one, other)| [one, other].map(str::trim));
    let both = both.filter(|[one, other]| !one.is_empty() && !other.is_empty() && one != other);
    let both = both.filter(|[_, other]| !other.contains(','));
    let both = both.map(|both| both.map(str::to_owned));
    both.ok_or_else(|| Untaken::form(text, "PORT,PORT, such as eth0,eth1"))
}
