//! Switch fabrics on paper: how many switches and cables so many hosts need, what such a fabric
//! carries by its design and under static hashing, and what its buffers have to hold. Pure.

#![forbid(unsafe_code)]

pub mod buffers;
pub mod catalogue;
pub mod design;
pub mod dragonfly;
mod error;
mod hashing;
pub mod latency;
mod leaf;
mod maxmin;
pub mod measured;
pub mod plan;
mod planned;

pub use error::FabricError;
pub use hashing::{Carried, FLOWS_MAX, HOSTS_SIMULATED_MAX, carried};
pub use planned::{InFlight, Planned, Request, RoundTripFrom};
