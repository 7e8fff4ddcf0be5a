//! One format a file, listed by name.

pub mod html;
pub mod json;
pub mod text;

use crate::Analysis;

/// One way to write a report.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Writes the report.
    pub write: fn(&Analysis<'_>) -> String,
}

/// All formats, by name.
pub static FORMATS: &[&Format] = &[&html::FORMAT, &json::FORMAT, &text::FORMAT];

/// The format by this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
