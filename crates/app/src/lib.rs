//! Studies of an application by ranks, fabric, MTU and place: what a study's file says, how its
//! figures are found in what the application prints, how they scale, and a model of run time that
//! is fitted on some fabrics and tried on another. Pure: nothing is run here.

#![forbid(unsafe_code)]

pub mod cells;
pub mod contract;
pub mod definition;
pub mod fabrics;
pub mod filled;
pub mod fit;
pub mod frames;
pub mod scaling;

use thiserror::Error;

/// Why a study's file cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{at}: {why}")]
pub struct AppError {
    /// Where in the file: a line, a place, a contract.
    pub at: String,
    pub why: String,
}

impl AppError {
    fn new(at: impl Into<String>, why: impl Into<String>) -> Self {
        Self { at: at.into(), why: why.into() }
    }
}
