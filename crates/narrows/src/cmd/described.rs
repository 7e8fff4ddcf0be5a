//! Hosts of descriptions: files, folders, and controllers that are asked.

use super::bmc;
use crate::args::BmcArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_host::STANDARD_INPUT;
use narrows_model::host::Host;
use std::path::{Path, PathBuf};

/// The host of one description.
pub fn open(path: &Path) -> Result<Host, Failure> {
    check(path)?;
    narrows_host::open(path).map_err(|error| Failure::of(Cause::NO_HOST, error.to_string()))
}

/// The host of several descriptions, management controllers among them.
pub fn open_together(paths: &[PathBuf], bmc: &BmcArgs) -> Result<Host, Failure> {
    let (addresses, files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().cloned().partition(|path| bmc::is_address(path));
    for path in &files {
        check(path)?;
    }
    let asked = bmc::parts(&addresses, bmc)?;
    narrows_host::open_with(&files, asked)
        .map_err(|error| Failure::of(Cause::NO_HOST, error.to_string()))
}

/// Tells what is not there or cannot be read apart from what is there and is no host.
fn check(path: &Path) -> Result<(), Failure> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(());
    }
    if bmc::is_address(path) {
        let says = format!(
            "{}: only `narrows host` and `narrows predict` ask a controller",
            path.display()
        );
        return Err(Failure::of(Cause::BMC_ADDRESS, says));
    }
    let seen = std::fs::metadata(path)
        .and_then(|data| if data.is_file() { std::fs::File::open(path).map(drop) } else { Ok(()) });
    seen.map_err(|error| Failure::unread(path, &error))
}
