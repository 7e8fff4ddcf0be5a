//! `narrows guard`: puts settings back when the measurement that changed them is over or dead.

use crate::failure::Failure;

/// Notes settings from standard input and writes them back at its end.
pub fn run() -> Result<u8, Failure> {
    narrows_hostctl::guard::serve(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(0)
}
