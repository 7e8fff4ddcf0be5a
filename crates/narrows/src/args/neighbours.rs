//! The command line of `neighbours`.

use super::placement::minutes;
use super::{DemandArgs, KeyArgs, format_names, repeats, seconds};
use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_model::workload::Kernel;
use narrows_plan::neighbours::Traffic;
use std::path::PathBuf;

/// Options of `neighbours`.
#[derive(ClapArgs)]
pub struct NeighboursArgs {
    /// Host that runs `narrows serve`; without it both ends are on this host, with no NIC between
    #[arg(value_name = "HOST")]
    pub host: Option<String>,
    /// Port of the agent
    #[arg(long, short = 'p', default_value_t = narrows_control::wire::PORT)]
    pub port: u16,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Memory jobs: what each of their cores does all the time
    #[arg(long, value_name = "KERNEL", value_delimiter = ',', default_value = "copy", value_parser = kernels())]
    pub job: Vec<Kernel>,
    /// Traffic that runs at the same time
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "tcp,tcp-receive,tcp-round-trip", value_parser = traffic())]
    pub traffic: Vec<Traffic>,
    /// Most cores of a job; without it all that the traffic leaves free on the node
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cores: Option<u32>,
    /// Node of the jobs' cores and memory; without it that of the NIC
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
    /// Most minutes for all runs; the first and the last number of cores are measured in any case
    #[arg(long, value_name = "N", default_value_t = 15.0, value_parser = minutes)]
    pub minutes: f64,
    /// Runs of each cell; twelve are enough for a hundred intervals that hold together
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = repeats())]
    pub repeats: u32,
    /// Seconds that count in each run
    #[arg(long, short = 't', value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: f64,
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

fn kernels() -> impl TypedValueParser<Value = Kernel> {
    PossibleValuesParser::new(Kernel::ALL.map(Kernel::name))
        .try_map(|name| Kernel::named(&name).ok_or("no such kernel"))
}

fn traffic() -> impl TypedValueParser<Value = Traffic> {
    PossibleValuesParser::new(Traffic::ALL.map(Traffic::word))
        .try_map(|word| Traffic::named(&word).ok_or("no such traffic"))
}
