//! The command line of `diagnose`.

use super::PeerArgs;
use super::table::{CommandOptions, Diagnose};
use clap::Args as ClapArgs;

/// Options of `diagnose`.
#[derive(ClapArgs)]
#[command(mut_arg("hosts", |hosts| hosts.num_args(1..=1).help(
    "Name or address of the host that runs `narrows serve`")))]
#[command(mut_arg("port", |port| port.help("Port of the agent").value_name("PORT")))]
#[command(mut_arg("repeats", |repeats| repeats.help(
    "Pairs of runs by which a change is confirmed; six are the least for a 95 % interval")))]
pub struct DiagnoseArgs {
    /// Who is measured.
    #[command(flatten)]
    pub peer: PeerArgs,
    /// The traffic: options of the table.
    #[command(flatten)]
    pub told: CommandOptions<Diagnose>,
    /// Try settings of this host's kernel too, each put back after its run, also after Ctrl-C or a
    /// kill
    #[arg(long, conflicts_with = "netns")]
    pub apply: bool,
}
