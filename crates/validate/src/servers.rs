//! Servers by what they do of the wire's rate in packets: the table of ntop's post, and of any
//! other servers with the same fields.

use crate::{Comparison, Row};
use narrows_predict::wire_rate::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// One server, or one slot of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServerRow {
    /// As the table calls it, its processor where that is in the name.
    pub server: String,
    /// Its chipset, as published.
    pub chipset: Option<String>,
    /// Clock of a core in GHz, the faster of those that are told.
    pub clock_ghz: Option<f64>,
    /// What a core copies in GB/s, as the table counts it.
    pub memory_gb_s: Option<f64>,
    /// Size of the frames with their check sequence, where the table names one.
    pub frame_bytes: Option<u64>,
    /// Where the card is; a table that says nothing has it where nothing else holds it back.
    pub slot: String,
    /// Millions of packets a second that were published.
    pub published_mpps: Option<f64>,
    /// The same that the model gives.
    pub model_mpps: Option<f64>,
    /// The wire's rate in the same unit, of the link and the frames that the table names.
    pub wire_mpps: Option<f64>,
    /// What the model says of the wire's rate.
    pub verdict: Verdict,
    /// What a rule of thumb says, where the table has one.
    pub rule: Option<bool>,
    pub said: String,
    /// Millions of packets a second that the source has it below, where it has no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_mpps: Option<f64>,
    /// What else the table notes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ServerRow {
    /// From a row and what the model says of it.
    pub(crate) fn of(row: &Row<'_>, cell: &Comparison, verdict: Verdict) -> Self {
        Self {
            server: row.text("server").map_or_else(|| row.label(), str::to_owned),
            chipset: row.text("chipset").map(str::to_owned),
            clock_ghz: row.number("cpu_turbo_ghz").or(row.number("cpu_base_ghz")),
            memory_gb_s: row.number("mem_mb_s").map(|mb| mb / 1e3),
            frame_bytes: row.number("frame_bytes").map(|bytes| bytes as u64),
            slot: "not stated".to_owned(),
            published_mpps: cell.published,
            model_mpps: cell.predicted,
            wire_mpps: None,
            verdict,
            rule: None,
            said: row.text("wire_rate").unwrap_or("-").to_owned(),
            below_mpps: row.number("mpps_below"),
            note: row.text("note").filter(|note| !note.is_empty()).map(str::to_owned),
        }
    }
}
