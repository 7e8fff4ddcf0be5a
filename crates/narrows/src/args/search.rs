//! The command line of `search`.

use super::PeerArgs;
use super::placement::minutes;
use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use narrows_plan::anomalies::Traffic;

/// Options of `search`.
#[derive(ClapArgs)]
#[command(mut_arg("hosts", |hosts| hosts.num_args(1..=1).help(
    "Name or address of the host that runs `narrows serve`")))]
#[command(mut_arg("port", |port| port.help("Port of the agent").value_name("PORT")))]
#[command(mut_arg("repeats", |repeats| repeats.hide(true)))]
pub struct AnomalyArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// Most minutes for all runs
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = minutes)]
    pub minutes: f64,
    /// Traffic whose options are varied; without it TCP and UDP, and RDMA where both hosts have it
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = traffic())]
    pub traffic: Vec<Traffic>,
    /// Seed of what is looked at; without it one is drawn at random and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

fn traffic() -> impl TypedValueParser<Value = Traffic> {
    PossibleValuesParser::new(Traffic::ALL.map(Traffic::word))
        .try_map(|word| Traffic::named(&word).ok_or("no such traffic"))
}
