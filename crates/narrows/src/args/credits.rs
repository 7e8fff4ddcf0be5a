//! The command line of `credits`.

use super::{DemandArgs, OutArgs, repeats};
use clap::Args as ClapArgs;
use narrows_model::Bytes;
use std::path::PathBuf;

/// Options of `credits`.
#[derive(ClapArgs)]
pub struct CreditsArgs {
    /// Measure nothing: tell the device writes that a study counted on its own host, such as one of
    /// `narrows neighbours` over RDMA where the counters of root complexes may be read
    #[arg(long, value_name = "FILE", conflicts_with_all = ["node", "size", "repeats", "seed", "out"])]
    pub from: Option<PathBuf>,
    /// Node whose first CPU reads; without it that of the fastest NIC
    #[arg(long, value_name = "N")]
    pub node: Option<u32>,
    /// Working set; without it four times the caches, within half of the free memory
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Repeats of each number of chains; six are the least for a 95 % interval
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeats: Option<u32>,
    /// Seed of the order of runs; without it one is drawn at random and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Folder for the study file
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
}

impl CreditsArgs {
    /// Where results go, as the commands that share these options have it.
    pub fn results(&self) -> OutArgs {
        OutArgs {
            out: self.out.clone(),
            format: "text".to_owned(),
            json: self.json,
            csv: false,
            json_stream: false,
            verbose: false,
            demands: DemandArgs::default(),
        }
    }
}
