//! One format a file, listed by name.

pub mod csv;
pub mod html;
pub mod iperf3;
pub mod json;
pub mod jsonl;
pub mod markdown;
pub mod prometheus;
pub mod text;

use crate::Analysis;
use crate::words::tame;

/// One way to write a report.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether people read it; the others have an escaping of their own.
    pub for_people: bool,
    /// Writes the report.
    pub write: fn(&Analysis<'_>) -> String,
}

/// All formats, by name.
pub static FORMATS: &[&Format] = &[
    &csv::FORMAT,
    &html::FORMAT,
    &iperf3::FORMAT,
    &json::FORMAT,
    &jsonl::FORMAT,
    &markdown::FORMAT,
    &prometheus::FORMAT,
    &text::FORMAT,
];

/// The format by this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
