//! `narrows man`: the manual page.

use crate::args::Args;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;

/// Prints the page as roff.
pub fn run() -> Result<u8, Failure> {
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(Args::command()).render(&mut page);
    written.map_err(|error| Failure::of(Cause::FAULT, error.to_string()))?;
    output::print_exact(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
