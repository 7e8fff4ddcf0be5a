//! What figures must be, for CI and for the health of nodes.

use super::untaken::Untaken;
use clap::Args as ClapArgs;
use narrows_stats::Demand;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of expectations may have so many bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Conditions on the figures of a study.
#[derive(ClapArgs, Clone, Default)]
pub struct DemandArgs {
    /// End with 1 if this is so, with 4 if that is undecided: 'tcp.median < 90 Gbit/s' (repeatable)
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Demand>,
    /// End with 1 unless every line of this file is so: uplink = 'tcp.median >= 90 Gbit/s'
    #[arg(long, value_name = "FILE", value_parser = expected)]
    pub expect: Option<Expected>,
}

/// Expectations by name.
#[derive(Clone)]
pub struct Expected(pub Vec<(String, Demand)>);

/// Reads a file of expectations before anything is measured.
fn expected(file: &str) -> Result<Expected, Untaken> {
    let wrong = |why: String| Untaken::File { file: PathBuf::from(file), why };
    let about = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err(wrong("it is no plain file of up to 1 MiB".to_owned()));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let lines: BTreeMap<String, String> =
        toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
    if lines.is_empty() {
        return Err(wrong("it expects nothing".to_owned()));
    }
    let read = |(name, text): (String, String)| {
        let demand = text.parse().map_err(|why| wrong(format!("{name}: {why}")))?;
        Ok((name, demand))
    };
    lines.into_iter().map(read).collect::<Result<_, _>>().map(Expected)
}
