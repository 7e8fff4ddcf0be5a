//! Where imported figures are from.

use crate::{Analysis, words};
use std::collections::{BTreeMap, BTreeSet};

/// Most files of a tool that are named.
const NAMED: usize = 6;

/// A line for each tool and version (for a published table, the work that it stands in): what was
/// read, with how many runs.
pub fn sources(analysis: &Analysis<'_>) -> Vec<String> {
    let mut all = BTreeMap::<(&str, &str), (usize, BTreeSet<&str>)>::new();
    for external in analysis.stored.records.iter().filter_map(|record| record.external.as_ref()) {
        let version = external.version.as_deref().unwrap_or_default();
        let (runs, files) = all.entry((&external.tool, version)).or_default();
        *runs += 1;
        files.extend(external.file.as_deref());
    }
    all.iter().map(line).collect()
}

fn line(((tool, version), (runs, files)): (&(&str, &str), &(usize, BTreeSet<&str>))) -> String {
    let space = if version.is_empty() { "" } else { " " };
    let mut names: Vec<String> = files.iter().take(NAMED).map(|file| words::tame(file)).collect();
    if files.len() > NAMED {
        names.push(format!("{} more", files.len() - NAMED));
    }
    let (tool, version) = (words::tame(tool), words::tame(version));
    format!("{tool}{space}{version}, {}: {}", words::counted(*runs, "run"), names.join(", "))
}
