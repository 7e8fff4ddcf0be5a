//! The command lines of `app` and of what it starts.

use super::{DemandArgs, ReferenceArgs};
use clap::Args as ClapArgs;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `app`.
#[derive(ClapArgs)]
#[command(mut_arg("reference", |reference| reference.value_name("FILE").help(
    "What others published of this application by fabric, MTU and ranks (TOML), or another study of \
     it, beside its own cells; several times for several")))]
pub struct AppArgs {
    /// The study, a TOML file of your own; or the .narrows file of its results, to show it again
    #[arg(value_name = "STUDY")]
    pub study: PathBuf,
    /// The launcher; without it mpirun or mpiexec, where they are found
    #[arg(long, value_name = "PROGRAM")]
    pub launcher: Option<PathBuf>,
    /// A word for the launcher, such as --launcher-arg=--oversubscribe; several times
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub launcher_arg: Vec<String>,
    /// Repeats of each cell, in place of the study's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Try it: one run of each cell, and no fabric is measured; --repeats has another number
    #[arg(long)]
    pub quick: bool,
    /// Print what would run and for how long at most, and which programs are not installed; run
    /// nothing
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    pub dry_run: bool,
    /// Seed of the order of runs; without it one is drawn and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Do not measure the fabrics: no run time is predicted
    #[arg(long)]
    pub without_fabrics: bool,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Write the figure, speed-up by ranks for each fabric, to this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long, short = 'J')]
    pub json: bool,
    /// What stands beside its cells.
    #[command(flatten)]
    pub reference: ReferenceArgs,
    /// What the figures must be.
    #[command(flatten)]
    pub demands: DemandArgs,
}

impl AppArgs {
    /// Whether fabrics are measured before the first run.
    pub fn measures_fabrics(&self) -> bool {
        !self.without_fabrics && !self.quick
    }
}

/// Options of `become`.
#[derive(ClapArgs)]
pub struct BecomeArgs {
    /// The process that started this; another one means that it has ended
    #[arg(long, value_name = "PID")]
    pub parent: Option<u32>,
    /// Network namespace to go into
    #[arg(long, value_name = "FILE")]
    pub net: Option<String>,
    /// Stand in for ssh: the first word that is no option names the host
    #[arg(long)]
    pub agent: bool,
    /// The program and its words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}
