//! The command line of what reads stored studies.

use super::schema::SchemaArgs;
use super::untaken::Untaken;
use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use narrows_interop::import::TOOLS;
use std::path::PathBuf;

/// Options of `compare`.
#[derive(ClapArgs)]
pub struct CompareArgs {
    /// Two files to compare, before and after; one file with --split or with --before and --after
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    pub files: Vec<PathBuf>,
    /// Per cent that a cell may differ
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub margin: f64,
    /// Within one file: the cell to compare with, by its label
    #[arg(long, value_name = "LABEL", requires = "after", conflicts_with = "split")]
    pub before: Option<String>,
    /// Within one file: the cell to compare, by its label
    #[arg(long, value_name = "LABEL", requires = "before")]
    pub after: Option<String>,
    /// Within one file: runs before and after this time (such as 2026-11-20T12:00:00Z)
    #[arg(long, value_name = "TIME")]
    pub split: Option<jiff::Timestamp>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `explain`.
#[derive(ClapArgs)]
pub struct ExplainArgs {
    /// The study file
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `export`.
#[derive(ClapArgs)]
pub struct ExportArgs {
    /// The study file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// csv, jsonl, parquet: a row a run; json: every fact and record; iperf3: as iperf3 prints
    #[arg(long, value_name = "NAME", default_value = "csv",
        value_parser = ["csv", "json", "jsonl", "parquet", "iperf3"])]
    pub format: String,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE", required_if_eq("format", "parquet"))]
    pub output: Option<PathBuf>,
}

/// Options of `import`.
#[derive(ClapArgs)]
pub struct ImportArgs {
    /// Outputs of other tools; those of one workload are its repeats
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// The tool, when the text does not identify it
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(TOOLS.iter().map(|tool| tool.name)))]
    pub tool: Option<String>,
    /// Levels that all runs have, in addition to what their text says, such as population=4
    #[arg(long, value_name = "FACTOR=LEVEL", value_parser = super::study::said_all)]
    pub at: Vec<super::study::AllSaid>,
    /// The factor along the axis of reports; without it the first
    #[arg(long, value_name = "FACTOR")]
    pub across: Option<String>,
    /// The new study file
    #[arg(long, short = 'o', value_name = "FILE", required_unless_present = "into")]
    pub output: Option<PathBuf>,
    /// A study file that was imported before, to add these runs to: one import for each level of
    /// --at makes a study of several levels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "across"])]
    pub into: Option<PathBuf>,
}

/// Options of `history`.
#[derive(ClapArgs)]
pub struct HistoryArgs {
    /// Folders or files
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `list`.
#[derive(ClapArgs)]
pub struct ListArgs {
    /// Folders or files
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

/// Options of `verify`.
#[derive(ClapArgs)]
pub struct VerifyArgs {
    /// Study files that are read
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Head of the chain of the one file, as it was noted when the study was made
    #[arg(long, value_name = "HASH", value_parser = chain_head)]
    pub head: Option<String>,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
    /// Whether its schema is asked for.
    #[command(flatten)]
    pub schema: SchemaArgs,
}

fn chain_head(text: &str) -> Result<String, Untaken> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_owned())
    } else {
        Err(Untaken::Head)
    }
}

fn percent(text: &str) -> Result<f64, Untaken> {
    let percent: f64 = text.parse().map_err(|_| Untaken::number(text))?;
    if (0.0..=100.0).contains(&percent) {
        Ok(percent)
    } else {
        Err(Untaken::Beyond("0 to 100 per cent"))
    }
}
