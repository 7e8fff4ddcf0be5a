//! What a path should reach: the ceiling that each resource sets, and which is the lowest.
//!
//! A prediction is the minimum over resources of capacity divided by demand per payload byte. Every
//! ceiling says in words how it was computed and where each number in it comes from. Pure.

#![forbid(unsafe_code)]

mod answers;
mod asked;
pub mod bounds;
pub mod bus;
mod by_counters;
pub mod calibration;
pub mod contention;
pub mod description;
pub mod domains;
pub mod dram;
mod ends;
mod engine;
pub mod framing;
mod impossible;
pub mod in_flight;
pub mod loss;
mod measured;
mod nics;
mod parameters;
pub mod pcie;
pub mod pcie_paths;
mod peaks;
mod populated;
pub mod prices;
mod processors;
mod reach;
mod refused;
mod reproduce;
mod resources;
pub mod root_lines;
mod round_trip;
mod said;
mod search;
mod server;
pub mod sockets;
mod stack;
pub mod stream_cost;
mod streams;
mod study;
#[cfg(test)]
mod tests;
mod traffic;
pub mod under_load;
pub mod wire_rate;

pub use asked::Asked;
pub use by_counters::{ByCounters, FULL_LINES, InUse, THRESHOLDS, Untold, by_counters};
pub use engine::{Predictor, of_host, of_nic};
pub use impossible::{host_of_end, impossible, leave_out_impossible};
pub use measured::Measured;
pub use nics::{Model, named as nic_model};
pub use parameters::{FITTED, PACKETS};
pub use reach::Reach;
pub use refused::{Refused, Unplaced};
pub use resources::between::{LinkRate, link_rate};
pub use resources::{Parameter, Resource, symbols};
pub use round_trip::{TRIPS, Trip};
pub use said::{KEYS, Known, Said};
pub use search::{Batch, Found, Kit, NoKit, search};
pub use server::{Server, Slot, fastest};
pub use stack::{Interrupts, Merging};
pub use study::{Cells, of_cell, predict};
pub use traffic::{Traffic, Verb};
