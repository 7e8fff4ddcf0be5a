//! The memory modules of a server: which socket and channel each slot is on, what the processors'
//! family can do with the modules, into which interleave sets they fall, how even that is, and
//! which modules to move. Pure.

#![forbid(unsafe_code)]

mod arrays;
pub mod board;
pub mod checks;
pub mod guest;
pub mod interleave;
pub mod locator;
pub mod moves;
mod number;
pub mod pattern;
pub mod placement;
pub mod platform;
pub mod population;
pub mod rule;
mod why_not;
