//! What commands print for programs beside a report, and the JSON schemas of all of it. A schema is
//! made from the types that are printed, so it has what they have; keys may come within a version,
//! and none changes its meaning or goes.

use crate::bus::BusTraffic;
use crate::explained::ExplainedCell;
use crate::formats::json;
use crate::history::Course;
use crate::mirrors::{AdvisedKeys, ProfileWord};
use narrows_explain::conditions::{Found, Population};
use narrows_explain::tune::{Advised, Profile};
use narrows_model::Nanos;
use narrows_model::SCHEMA_VERSION;
use narrows_model::study_kind::StudyKind;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_predict::calibration::Calibration;
use narrows_predict::prices::Cost;
use narrows_predict::wire_rate::Verdict;
use narrows_predict::{Found as FoundPopulation, Reach, Said};
use narrows_profile::EndChanged;
use narrows_stats::Compared;
use narrows_validate::{Answer, Family};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

/// A document of `narrows history --json`.
#[derive(Serialize, JsonSchema)]
pub struct HistoryDocument<'a> {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    /// How many files were read.
    pub files: usize,
    /// The figures over these files.
    pub figures: &'a [Course],
}

/// A document of `narrows list --json`: a file each.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Listed {
    Study(ListedStudy),
    Unread(ListedUnread),
}

/// A file of a study.
#[derive(Serialize, JsonSchema)]
pub struct ListedStudy {
    pub schema_version: u32,
    /// The path as it was given or found.
    pub file: String,
    pub command: StudyKind,
    pub began_unix_ns: Nanos,
    /// Whether it was cut short to be tried.
    pub quick: bool,
    /// Name of the host, empty where it is not known.
    pub host: String,
    /// How many cells it has.
    pub trials: usize,
    pub runs_done: u32,
    pub runs_failed: u32,
    /// `complete`, `interrupted` or `not ended`.
    pub ended: &'static str,
    pub sessions: usize,
}

/// A file that cannot be read.
#[derive(Serialize, JsonSchema)]
pub struct ListedUnread {
    pub schema_version: u32,
    /// The path as it was given or found.
    pub file: String,
    pub error: String,
}

/// A document of `narrows compare --json`.
#[derive(Serialize, JsonSchema)]
pub struct CompareDocument<'a> {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    /// Per cent that a cell may differ.
    pub margin_percent: f64,
    pub cells: Vec<ComparedCell<'a>>,
    /// What the ends of both spent their CPU time on, where both sides were profiled.
    pub profiles: &'a [EndChanged],
}

/// One thing measured twice.
#[derive(Serialize, JsonSchema)]
pub struct ComparedCell<'a> {
    pub label: &'a str,
    pub metric: Metric,
    pub unit: Unit,
    /// `None` where a side has no value.
    pub compared: Option<Compared>,
    /// What joined the ends of each side, where that is not the same.
    pub different_paths: Option<[&'static str; 2]>,
}

/// A document of `narrows predict --json`: of a host, of its memory bus with `--traffic`, of a
/// search with `--search`, of tables with `--published` and `--score`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PredictDocument<'a> {
    Host(Box<PredictedHost<'a>>),
    Traffic(PredictedTraffic),
    Search(PredictedSearch<'a>),
    Published(PublishedTables<'a>),
    Score(PublishedScore<'a>),
}

/// What a host should reach.
#[derive(Serialize, JsonSchema)]
pub struct PredictedHost<'a> {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    /// What would be different.
    pub set: Said,
    /// Without that; `None` where nothing would be.
    pub today: Option<&'a [Reach]>,
    pub reaches: &'a [Reach],
    /// What each of several processors reaches alone.
    pub alone: Vec<ReachedAlone>,
    /// Paths in which it plays no part where the work runs.
    pub work_plays_no_part_in: Vec<String>,
    pub wire_rate: Option<Verdict>,
    pub measured: &'a Calibration,
    /// What was measured and is not used, with why.
    pub unused: &'a [String],
    /// Keys that were said and that change nothing.
    pub unmoved: &'a [String],
    pub cost: Option<&'a Cost>,
}

/// What one processor reaches alone.
#[derive(Serialize, JsonSchema)]
pub struct ReachedAlone {
    pub socket: usize,
    pub reaches: Vec<Reach>,
}

/// What must cross the memory bus.
#[derive(Serialize, JsonSchema)]
pub struct PredictedTraffic {
    pub schema_version: u32,
    pub traffic: BusTraffic,
}

/// The best populations of so many modules.
#[derive(Serialize, JsonSchema)]
pub struct PredictedSearch<'a> {
    pub schema_version: u32,
    /// How many populations there are.
    pub tried: u64,
    pub best: &'a [FoundPopulation],
    pub best_for_tcp: Option<&'a FoundPopulation>,
    pub best_for_udp: Option<&'a FoundPopulation>,
}

/// What the model says of published tables.
#[derive(Serialize, JsonSchema)]
pub struct PublishedTables<'a> {
    pub schema_version: u32,
    pub answers: &'a [Answer],
    pub summary: &'a str,
}

/// How the model does on them.
#[derive(Serialize, JsonSchema)]
pub struct PublishedScore<'a> {
    pub schema_version: u32,
    pub families: &'a [Family],
    pub summary: &'a str,
}

/// A document of `narrows tune --json`.
#[derive(Serialize, JsonSchema)]
pub struct TuneDocument<'a> {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    #[schemars(with = "ProfileWord")]
    pub profile: Profile,
    #[schemars(with = "AdvisedKeys")]
    pub advised: &'a Advised,
}

/// A document of `narrows explain --json`.
#[derive(Serialize, JsonSchema)]
pub struct ExplainDocument<'a> {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    pub cells: &'a [ExplainedCell],
    pub populations: &'a [Population],
    pub findings: &'a [Found],
}

/// A document of `narrows verify --json`.
#[derive(Serialize, JsonSchema)]
pub struct VerifyDocument {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    pub files: Vec<Verified>,
}

/// What was found of one file.
#[derive(Serialize, JsonSchema)]
pub struct Verified {
    /// The path as it was given or found.
    pub file: String,
    /// Whether nothing is wrong with it.
    pub whole: bool,
    pub runs: usize,
    pub cells: usize,
    /// All that is wrong, the chain's breaks among it.
    pub problems: Vec<String>,
    /// `None` where it carries none, or where that does not hold.
    pub chain: Option<VerifiedChain>,
    /// Why it could not be read; nothing else is known of it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A chain that holds.
#[derive(Serialize, JsonSchema)]
pub struct VerifiedChain {
    pub links: i64,
    /// Hash of the last link.
    pub head: String,
    /// Runs that were there before the chain began.
    pub adopted_runs: u64,
    /// The link that the noted head is of; `None` where none was given, or it is of no link.
    pub noted_link: Option<i64>,
}

/// The version of the keys of all documents.
pub const VERSION: u32 = SCHEMA_VERSION;

/// A document as it is printed.
pub fn printed(document: &impl Serialize) -> String {
    // Only maps with non-string keys could fail to serialise, and there are none.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}

/// The JSON schema of what a command prints with `--json`; `None` of one without.
pub fn schema(command: &str) -> Option<String> {
    Some(match command {
        "compare" => of::<CompareDocument<'_>>(),
        "explain" => of::<ExplainDocument<'_>>(),
        "history" => of::<HistoryDocument<'_>>(),
        // Round trips beside streams are a study as others are.
        "latency" | "report" => of::<json::Document<'_>>(),
        "list" => of::<Vec<Listed>>(),
        "predict" => of::<PredictDocument<'_>>(),
        "tune" => of::<TuneDocument<'_>>(),
        "verify" => of::<VerifyDocument>(),
        _ => return None,
    })
}

/// The schema of what is written of a type, which may be less than what can be read.
fn of<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    printed(&settings.into_generator().into_root_schema_for::<T>())
}
