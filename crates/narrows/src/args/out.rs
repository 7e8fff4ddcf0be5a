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

    /// Whether people read it: a program has asked for these runs and no others, in this time.
    pub fn is_for_people(&self) -> bool {
        self.format() == "text" && !self.json_stream
    }
}

pub(super) fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

#[cfg(test)]
mod tests {
    use crate::args::{Args, Command, help};
    use clap::FromArgMatches;

    #[test]
    fn people_read_text_and_nothing_else() {
        let of = |words: &[&str]| {
            let words = ["narrows", "mem"].iter().chain(words);
            let matches = help::command().try_get_matches_from(words).expect("arguments");
            let args = Args::from_arg_matches(&matches).expect("arguments");
            let Command::Mem(args) = args.command else { panic!("mem") };
            (args.out.format().to_owned(), args.out.is_for_people())
        };
        for (words, format, is_for_people) in [
            (&[][..], "text", true),
            (&["-v"], "text", true),
            (&["--json"], "json", false),
            (&["--csv"], "csv", false),
            (&["--json-stream"], "text", false),
            (&["--format", "markdown"], "markdown", false),
            (&["--format", "text"], "text", true),
        ] {
            assert_eq!(of(words), (format.to_owned(), is_for_people), "{words:?}");
        }
    }
}
