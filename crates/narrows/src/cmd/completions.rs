//! `narrows completions`: the completion script for a shell.

use crate::args::{CompletionsArgs, help};
use crate::failure::Failure;
use crate::output;

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "narrows", &mut script);
    output::print_exact(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
