//! Parquet, in a build without it.

use crate::cause::Cause;
use crate::failure::Failure;
use narrows_report::tidy::Table;
use std::path::Path;

/// Says how to have it.
pub fn write(_table: &Table, _to: &Path) -> Result<(), Failure> {
    Err(Failure::of(Cause::NO_PARQUET, "this narrows was built without Parquet"))
}
