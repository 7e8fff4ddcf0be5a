//! `narrows worker`: one end of one run, started by narrows itself.

use crate::failure::Failure;

/// Obeys orders from standard input.
pub fn run() -> Result<u8, Failure> {
    narrows_runner::worker::serve(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(0)
}
