//! Other tools: run in place of our own ends ([`engines`]), and what they printed, read
//! ([`import`]).

#![forbid(unsafe_code)]

pub mod engines;
pub mod import;
pub mod iperf3;
mod unusable;
