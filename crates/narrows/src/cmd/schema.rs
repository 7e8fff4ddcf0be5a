//! `--schema`: what a command's JSON is made of.

use crate::failure::Failure;
use crate::output;
use narrows_report::documents;

/// Prints the schema of what this command writes with `--json`.
pub fn print(command: &str) -> Result<u8, Failure> {
    output::print_exact(&documents::schema(command).unwrap_or_default())?;
    Ok(0)
}
