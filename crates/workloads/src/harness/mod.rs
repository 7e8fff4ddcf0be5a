//! What every workload shares: a crew of threads with phases and tallies, buffers, and sockets.

pub mod buffer;
mod clock;
mod crew;
pub mod delays;
pub mod ends;
pub mod grant;
mod mark;
pub mod meet;
pub mod memory;
pub mod overlap;
pub mod pace;
pub mod payload;
pub mod pin;
pub mod pipe;
pub mod quota;
pub mod ring;
pub mod socket;
mod tally;
pub mod trips;
pub mod vector;
pub mod way;

pub use crew::{Clock, Crew, CrewPlan, Lane, LaneEnd, LaneWork, Unwatched, Waited, Watch};
pub use tally::{Phase, Tally};
