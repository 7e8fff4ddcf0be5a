//! Where results go, how they are printed, and what they must be.

use super::demands::DemandArgs;
use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use narrows_report::formats::FORMATS;
use std::path::PathBuf;

/// Where results go.
#[derive(ClapArgs, Clone)]
pub struct OutArgs {
    /// Folder for the study file and report.html
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// How results are printed
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = format_names())]
    pub format: String,
    /// The same as --format json
    #[arg(long, short = 'J', conflicts_with_all = ["format", "csv"])]
    pub json: bool,
    /// The same as --format csv: a line a run
    #[arg(long, conflicts_with = "format")]
    pub csv: bool,
    /// Print one JSON document a line while measuring: began, each run as it ends, and all results
    #[arg(long, conflicts_with_all = ["format", "json", "csv"])]
    pub json_stream: bool,
    /// Print everything: how each cell was set up, all findings and every rule's answer
    #[arg(long, short = 'v')]
    pub verbose: bool,
    /// What the figures must be.
    #[command(flatten)]
    pub demands: DemandArgs,
}

impl OutArgs {
    /// Name of the format.
    pub fn format(&self) -> &str {
        match (self.json, self.csv) {
            (true, _) => "json",
            (_, true) => "csv",
            _ => &self.format,
        }
    }
}

pub(super) fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}
