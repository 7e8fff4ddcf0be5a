//! `narrows man`: the manual page.

use crate::args::Args;
use crate::failure::{Failure, MACHINE};
use crate::output;
use clap::CommandFactory;

/// Prints the page as roff.
pub fn run() -> Result<u8, Failure> {
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(Args::command()).render(&mut page);
    written.map_err(|error| Failure::new(MACHINE, error.to_string(), "try again"))?;
    output::print_exact(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
