//! The command line of `placement`.

use super::untaken::Untaken;
use super::{DemandArgs, KeyArgs, format_names, repeats, seconds};
use clap::{Args as ClapArgs, ValueEnum};
use narrows_plan::placement::{Background, Threads};
use std::path::PathBuf;

/// How threads are bound to the CPUs of their node.
#[derive(Clone, Copy, ValueEnum)]
pub enum ThreadsArg {
    /// Each thread to one CPU of its node
    Pinned,
    /// Each thread to all CPUs of its node, as numactl does
    Floating,
    /// Both, one after the other
    Both,
}

impl From<ThreadsArg> for Threads {
    fn from(told: ThreadsArg) -> Self {
        match told {
            ThreadsArg::Pinned => Self::Pinned,
            ThreadsArg::Floating => Self::Floating,
            ThreadsArg::Both => Self::Both,
        }
    }
}

/// Options of `placement`.
#[derive(ClapArgs)]
pub struct PlacementArgs {
    /// Host that runs `narrows serve`; without it both ends are on this host, with no NIC between
    #[arg(value_name = "HOST")]
    pub host: Option<String>,
    /// Port of the agent
    #[arg(long, short = 'p', default_value_t = narrows_control::wire::PORT)]
    pub port: u16,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Most minutes for all runs; the most telling placements are measured first, and those left
    /// out are counted
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = minutes)]
    pub minutes: f64,
    /// Runs of each placement; ten are enough for the intervals of all effects together
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = repeats())]
    pub repeats: u32,
    /// Seconds that count in each run
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: f64,
    /// Flows of the throughput test
    #[arg(long, short = 'P', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub parallel: u32,
    /// NICs of this host to compare, by name; without it the one that leads to the peer
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub nic: Vec<String>,
    /// Price of a NIC of --nic with all that it needs, such as eth0=480: shown next to what it
    /// reaches, with the rate that a hundred of the currency buys
    #[arg(long, value_name = "NAME=AMOUNT", value_delimiter = ',', value_parser = price)]
    pub price: Vec<(String, f64)>,
    /// How threads are bound to their node
    #[arg(long, value_enum, value_name = "HOW", default_value = "pinned")]
    pub threads: ThreadsArg,
    /// Repeat everything under a background load: link:N is N threads on the other node that use
    /// the memory of the NIC's node; otherwise as in `narrows tcp --memory-load`
    #[arg(long, value_name = "LOAD")]
    pub memory_load: Option<Background>,
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

fn price(text: &str) -> Result<(String, f64), Untaken> {
    let both = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let both = both.and_then(|(name, amount)| Some((name.to_owned(), amount.parse::<f64>().ok()?)));
    let both = both.filter(|(_, amount)| amount.is_finite() && *amount >= 0.0);
    both.ok_or_else(|| Untaken::form(text, "NAME=AMOUNT, such as eth0=480"))
}

pub fn minutes(text: &str) -> Result<f64, Untaken> {
    let minutes: f64 = text.parse().map_err(|_| Untaken::number(text))?;
    let fits = (0.01..=10_000.0).contains(&minutes);
    Some(minutes).filter(|_| fits).ok_or(Untaken::Beyond("0.01 to 10000 minutes"))
}
