//! The command line of studies.

use super::format_names;
use super::untaken::Untaken;
use super::{DemandArgs, KeyArgs};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// Options of `study`.
#[derive(ClapArgs)]
pub struct StudyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: StudyCommand,
}

/// The subcommands of `study`.
#[derive(Subcommand)]
pub enum StudyCommand {
    /// Put the runs of several files of one study into a new file
    Merge(MergeArgs),
    /// Put back settings that a killed study has left changed
    Restore,
    /// Continue a study after a stop, a crash, or a change of the machine
    Resume(ResumeArgs),
    /// Run a study from its TOML file
    Run(RunArgs),
    /// Show what is done, left and failed
    Status(StatusArgs),
}

/// What the ends of a study are, and how it is printed.
#[derive(ClapArgs)]
pub struct SessionArgs {
    /// Host that runs `narrows serve`; without it both ends are on this host, between two private
    /// namespaces as root, else over loopback. Several with commas: cells with a pattern take all
    /// of them, the others the first
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub peer: Vec<String>,
    /// Port of the agent
    #[arg(long, short = 'p', default_value_t = narrows_control::wire::PORT)]
    pub port: u16,
    /// What proves who calls.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Level of a factor that no fact of the machine gives, such as cable=copper; several with
    /// commas
    #[arg(long, value_name = "FACTOR=LEVEL", value_parser = said_all)]
    pub at: Vec<AllSaid>,
    /// Print what would run, in which order and for how long, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Fill the terminal with the cells, their boxplots as they grow, the host's pressure and the
    /// last runs; drawn between runs, never during one
    #[arg(long, conflicts_with = "dry_run")]
    pub tui: bool,
    /// How the results are printed at the end
    #[arg(long, value_name = "NAME", default_value = "text", value_parser = format_names())]
    pub format: String,
    /// What the figures must be.
    #[command(flatten)]
    pub demands: DemandArgs,
}

/// Options of `study run`.
#[derive(ClapArgs)]
pub struct RunArgs {
    /// The study's TOML file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder for the file of results, NAME.narrows
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Few short runs, to try the study; its results are marked so
    #[arg(long)]
    pub quick: bool,
    /// Seed of the order of runs; without it that of the file, else one is drawn and stored
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Ends and output.
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Options of `study resume`.
#[derive(ClapArgs)]
pub struct ResumeArgs {
    /// The file of results to continue
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Continue although the machine differs from earlier sessions; what differs is named
    #[arg(long)]
    pub changed: bool,
    /// Ends and output.
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Options of `study status`.
#[derive(ClapArgs)]
pub struct StatusArgs {
    /// The file of results
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print one JSON document
    #[arg(long, short = 'J')]
    pub json: bool,
}

/// Options of `study merge`.
#[derive(ClapArgs)]
pub struct MergeArgs {
    /// Files of results of the same study
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub files: Vec<PathBuf>,
    /// The new file
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: PathBuf,
}

/// Levels of factors that one word of the command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllSaid(pub Vec<(String, String)>);

/// `FACTOR=LEVEL`, several with commas between. A level may have commas too: what stands behind one
/// and names no factor belongs to the level before.
pub(super) fn said_all(text: &str) -> Result<AllSaid, Untaken> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        match parts.last_mut().filter(|_| !part.contains('=')) {
            Some(level) => *level = format!("{level},{part}"),
            None => parts.push(part.to_owned()),
        }
    }
    parts.iter().map(|part| said(part)).collect::<Result<_, _>>().map(AllSaid)
}

pub(super) fn said(text: &str) -> Result<(String, String), Untaken> {
    let pair = text.split_once('=').ok_or_else(|| Untaken::form(text, "FACTOR=LEVEL"))?;
    Ok((pair.0.trim().to_owned(), pair.1.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_level_parts_nothing() {
        let of = |text: &str| {
            let all = said_all(text).map(|said| said.0);
            all.map(|all| all.into_iter().map(|(of, at)| format!("{of}={at}")).collect::<Vec<_>>())
        };
        let both = of("application=other node, both ends,cable=copper");
        assert_eq!(
            both,
            Ok(vec!["application=other node, both ends".into(), "cable=copper".into()])
        );
        assert_eq!(of("a=1,b=2"), Ok(vec!["a=1".into(), "b=2".into()]));
        assert_eq!(of("a = 1 , b = 2"), Ok(vec!["a=1".into(), "b=2".into()]));
        assert_eq!(of("copper"), Err(Untaken::form("copper", "FACTOR=LEVEL")));
        assert!(of("copper,a=1").is_err(), "no factor before it");
    }
}
