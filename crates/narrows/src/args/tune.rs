//! The command line of `tune`.

use super::schema::SchemaArgs;
use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use narrows_explain::tune::PROFILES;
use std::path::PathBuf;

/// Options of `tune`.
#[derive(ClapArgs)]
pub struct TuneArgs {
    /// A peer that runs `narrows serve`, to measure with before and after (with --apply)
    #[arg(value_name = "HOST", requires = "apply")]
    pub host: Option<String>,
    /// What to tune this host for
    #[arg(long, value_name = "NAME", default_value = "throughput",
        value_parser = PossibleValuesParser::new(PROFILES.map(|(name, _)| name)))]
    pub profile: String,
    /// Apply the changes that are files under /proc/sys and /sys; a journal keeps the old values
    #[arg(long, conflicts_with_all = ["undo", "from"])]
    pub apply: bool,
    /// Restore exactly what --apply changed
    #[arg(long, conflicts_with = "from")]
    pub undo: bool,
    /// Only this setting, by its printed name; may be given several times
    #[arg(long = "setting", value_name = "NAME")]
    pub settings: Vec<String>,
    /// Advise another host: a capture, or a folder with sys and proc
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Port of the peer
    #[arg(long, short = 'p', value_name = "PORT", requires = "host")]
    pub port: Option<u16>,
    /// File with the peer's key (else NARROWS_KEY)
    #[arg(long, value_name = "FILE", requires = "host")]
    pub key_file: Option<PathBuf>,
    /// Folder for the studies measured before and after
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Print one JSON document
    #[arg(long, short = 'J', conflicts_with_all = ["apply", "undo"])]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}
