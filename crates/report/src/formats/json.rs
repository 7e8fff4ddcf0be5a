//! `json`: facts and results in one document, keys stable within a schema version (docs/report.md).
//! The raw records stay in the study's file.

use super::Format;
use crate::Analysis;
use crate::applications::Application;
use crate::mirrors::{CellRegimeKeys, SlowPathKeys};
use crate::servers::{self, ServerRecord};
use crate::sessions::{Coverage, coverage};
use crate::study::StudyResults;
use narrows_explain::conditions::{Found, Population};
use narrows_explain::limits::Limit;
use narrows_explain::paths::SlowPath;
use narrows_explain::regime::CellRegime;
use narrows_model::SCHEMA_VERSION;
use narrows_model::host::Host;
use narrows_model::result::Prediction;
use narrows_model::study::{Ended, Study};
use narrows_model::trial::Trial;
use narrows_profile::TrialProfile;
use narrows_stats::{
    Anomalies, CopyShare, LoadedLatency, NeighbourTest, Pairs, PathTest, PlacedTest, Searched,
    Summary, Together,
};
use schemars::JsonSchema;
use serde::Serialize;

/// One document for programs.
pub static FORMAT: Format = Format { name: "json", for_people: false, write };

/// What is written.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    schema_version: u32,
    study: &'a Study,
    ended: &'a Option<Ended>,
    runs_made: usize,
    runs_planned: usize,
    host: &'a Host,
    peer_host: Option<&'a Host>,
    peer_hosts: &'a [Host],
    trials: &'a [Trial],
    results: &'a [Summary],
    intervals: Option<Coverage>,
    by_panel: Option<&'a StudyResults>,
    /// Of studies that vary where the ends are.
    #[serde(skip_serializing_if = "<[PlacedTest]>::is_empty")]
    placements: &'a [PlacedTest],
    /// Of studies that set traffic beside memory jobs.
    #[serde(skip_serializing_if = "<[NeighbourTest]>::is_empty")]
    neighbours: &'a [NeighbourTest],
    /// Of studies over paths inside the host.
    #[serde(skip_serializing_if = "<[PathTest]>::is_empty")]
    paths: &'a [PathTest],
    /// Those that are slower than their likes.
    #[serde(skip_serializing_if = "<[SlowPath]>::is_empty")]
    #[schemars(with = "Vec<SlowPathKeys>")]
    slow_paths: &'a [SlowPath],
    /// Of round trips beside streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'a LoadedLatency>,
    /// Of studies of applications, and of those shown with it.
    #[serde(skip_serializing_if = "<[Application]>::is_empty")]
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    applications: &'a [Application],
    /// Of studies that search for a rate.
    #[serde(skip_serializing_if = "<[Searched]>::is_empty")]
    searches: &'a [Searched],
    /// Of studies with packets: this host, by the size of the frames.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wire_rate: Vec<ServerRecord>,
    /// Of searches for anomalies.
    #[serde(skip_serializing_if = "Option::is_none")]
    anomalies: Option<&'a Anomalies>,
    together: Option<&'a Together>,
    /// Of trials of many pairs.
    #[serde(skip_serializing_if = "<[Pairs]>::is_empty")]
    pairs: &'a [Pairs],
    copy_share: Option<&'a CopyShare>,
    /// Of trials that were profiled.
    #[serde(skip_serializing_if = "<[TrialProfile]>::is_empty")]
    profiles: &'a [TrialProfile],
    predictions: &'a [Prediction],
    limits: &'a [Limit],
    /// Of cells between hosts, by their NICs and CPUs.
    #[serde(skip_serializing_if = "<[CellRegime]>::is_empty")]
    #[schemars(with = "Vec<CellRegimeKeys>")]
    regimes: &'a [CellRegime],
    populations: &'a [Population],
    findings: &'a [Found],
    rules: &'a [narrows_explain::Judged],
    /// Of several studies as one what is said of each.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    parts: &'a [String],
}

fn write(analysis: &Analysis<'_>) -> String {
    let stored = analysis.stored;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        study: &stored.study,
        ended: &stored.ended,
        runs_made: stored.records.len(),
        runs_planned: stored.planned_runs(),
        host: &stored.host,
        peer_host: stored.peer_hosts.first(),
        peer_hosts: &stored.peer_hosts,
        trials: &stored.trials,
        results: &analysis.summaries,
        intervals: coverage(analysis),
        by_panel: analysis.study.as_ref(),
        placements: &analysis.placements,
        neighbours: &analysis.neighbours,
        paths: &analysis.paths,
        slow_paths: &analysis.slow_paths,
        latency: analysis.latency.as_ref(),
        applications: &analysis.applications,
        searches: &analysis.searches,
        wire_rate: servers::of_study(analysis),
        anomalies: analysis.anomalies.as_ref(),
        together: analysis.together.as_ref(),
        pairs: &analysis.pairs,
        copy_share: analysis.copy_share.as_ref(),
        profiles: &analysis.profiles,
        predictions: &analysis.predictions,
        limits: &analysis.limits,
        regimes: &analysis.regimes,
        populations: &analysis.populations,
        findings: &analysis.found,
        rules: &analysis.judged,
        parts: &analysis.parts,
    };
    // Only maps with non-string keys could fail to serialise, and there are none.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
