//! Why a cell has no figure.

use super::{counted, label};
use narrows_stats::{Label, Summary};

/// Why a cell has no figure.
pub fn no_value(summary: &Summary) -> String {
    let short = Label::ShortWindow;
    let none = match summary.done {
        0 => "no run was made",
        _ if summary.labels.contains(&short) => short.says(),
        _ => "the runs gave no figure",
    };
    let refused = Label::Impossible;
    let refused = summary.labels.contains(&refused).then(|| label(refused, summary));
    let nothing = summary.labels.contains(&Label::Nothing);
    let lost = summary
        .lost_round_trips
        .filter(|_| nothing)
        .map(|lost| format!("{lost} of {} lost", counted(lost as usize, "round trip")));
    let corrupted = summary.corrupted.first().map(ToString::to_string);
    let why = corrupted.or_else(|| summary.failed.first().cloned()).or(refused).or(lost);
    why.unwrap_or_else(|| none.to_owned())
}
