//! What intervals cover, and what another session would measure, in words.

use crate::{Analysis, words};
use narrows_stats::{Covers, Reproducibility, SESSIONS_MIN, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// What the intervals of a study's figures cover.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Coverage {
    /// Sessions that the runs were made in.
    pub sessions: u32,
    /// What the interval of a median covers.
    pub intervals_cover: Covers,
    /// The same for people.
    pub says: String,
}

/// What the intervals cover; `None` where nothing has one.
pub fn coverage(analysis: &Analysis<'_>) -> Option<Coverage> {
    let counts = || analysis.summaries.iter().filter(|summary| summary.estimate.is_some());
    let sessions = counts()
        .filter_map(|summary| summary.values.iter().map(|value| value.session).max())
        .max()?
        + 1;
    let intervals_cover = Covers::TheseSessions;
    let told = counts().any(|summary| summary.reproducibility.is_some());
    let more = match sessions as usize {
        _ if told => "for another session see reproducibility".to_owned(),
        1 => format!("one session; reproducibility takes {SESSIONS_MIN}"),
        n => format!("{n} sessions; reproducibility takes {SESSIONS_MIN} of a cell"),
    };
    let says = format!("{} ({more})", intervals_cover.says());
    Some(Coverage { sessions, intervals_cover, says })
}

/// What another session would measure.
pub fn reproducibility(summary: &Summary) -> Option<String> {
    let unit = summary.estimate?.unit;
    let Reproducibility { sessions, session_low, session_high, between_share, .. } =
        summary.reproducibility?;
    let told = summary.reproducibility?;
    let span = |low: f64, high: f64| {
        format!("{} to {}", words::exact(low, unit), words::exact(high, unit))
    };
    let run = told.run_low.zip(told.run_high);
    let run = run.map_or(String::new(), |(low, high)| format!(", a run of it {}", span(low, high)));
    let within = told.within_share;
    let within =
        within.map_or(String::new(), |share| format!(", within them {:.1} %", 100.0 * share));
    Some(format!(
        "reproducibility: another session's median {}{run} (95 %, from {sessions} sessions; between \
         them {:.1} %{within})",
        span(session_low, session_high),
        100.0 * between_share,
    ))
}
