//! Keys of types that are serialised elsewhere and have no schema of their own. A test writes one
//! of each and holds it against these.

use narrows_stats::InsidePath;
use schemars::JsonSchema;

/// A cell, and which part inside the hosts holds it.
#[derive(JsonSchema)]
#[schemars(rename = "CellRegime")]
#[expect(dead_code, reason = "for the schema alone")]
pub struct CellRegimeKeys {
    /// The cell's label.
    cell: String,
    part: RegimePart,
    /// What tells it, or what would have to be counted.
    says: String,
}

/// Which part it is.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "for the schema alone")]
enum RegimePart {
    Wire,
    Slot,
    Cpu,
    /// Device writes, the red regime: likely.
    DeviceWrites,
    /// The same: possible.
    PerhapsDeviceWrites,
    /// A provider's limit.
    Limit,
    Unknown,
}

/// A path that is slower than its like in one test at least.
#[derive(JsonSchema)]
#[schemars(rename = "SlowPath")]
#[expect(dead_code, reason = "for the schema alone")]
pub struct SlowPathKeys {
    path: InsidePath,
    /// The like of the test in which it is named first.
    like: InsidePath,
    /// The tests in which it is slower: index of the test, and of its cell there.
    tests: Vec<(usize, usize)>,
    /// What differs, in the order in which it is told.
    differs: Vec<DifferingKeys>,
    /// The nodes that both are at, where they differ.
    nodes: Option<[String; 2]>,
    /// What could not be read of either.
    unread: Vec<String>,
}

/// A fact in which two paths differ.
#[derive(JsonSchema)]
#[schemars(rename = "Differing")]
#[expect(dead_code, reason = "for the schema alone")]
struct DifferingKeys {
    /// What it is, such as `link`.
    what: String,
    /// Of the path that is slower.
    slow: String,
    /// Of its like.
    like: String,
}

/// What is said of the settings of a host.
#[derive(JsonSchema)]
#[schemars(rename = "Advised")]
#[expect(dead_code, reason = "for the schema alone")]
pub struct AdvisedKeys {
    /// What should be different, by worth.
    advice: Vec<AdviceKeys>,
    /// Settings that are as they should be.
    fine: Vec<String>,
    /// Settings that are not there or may not be read, with why.
    unknown: Vec<String>,
}

/// One setting that should be different.
#[derive(JsonSchema)]
#[schemars(rename = "Advice")]
#[expect(dead_code, reason = "for the schema alone")]
struct AdviceKeys {
    /// Its name: a sysctl's, or `cpu.governor`, `nic.eth0.rings`.
    setting: String,
    now: String,
    from: String,
    wanted: String,
    /// What it changes, and what it costs.
    because: String,
    /// Who advises it: a document's title, or the kernel's own.
    source: String,
    profile: ProfileWord,
    /// What a change brings; `None` is not known before it is measured.
    worth: Option<WorthKeys>,
    /// Files that a change writes `wanted` to; empty for what is not done here.
    files: Vec<String>,
    /// The commands that do the same.
    commands: Vec<String>,
}

/// What sort of use a setting is for.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "for the schema alone")]
pub enum ProfileWord {
    Throughput,
    Latency,
    Packets,
    Rdma,
    Mpi,
}

/// What a change brings, and how that is known.
#[derive(JsonSchema)]
#[schemars(rename = "Worth")]
#[expect(dead_code, reason = "for the schema alone")]
struct WorthKeys {
    /// How many times better the figure gets at least.
    low: f64,
    /// How many times better at most.
    high: f64,
    basis: BasisWord,
    /// Which figure that is.
    says: String,
    /// What was measured, asked or read for it.
    from: String,
}

/// How a worth is known.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "for the schema alone")]
enum BasisWord {
    Measured,
    Modelled,
    Published,
}
