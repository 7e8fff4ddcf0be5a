//! What every workload shares: worker threads with phases and tallies, buffers, and sockets.

pub mod buffer;
mod calls;
pub mod clock;
pub mod delays;
pub mod ends;
pub mod files;
pub mod grant;
mod mark;
pub mod meet;
pub mod memory;
mod next_hop;
mod on_link;
pub mod overlap;
pub mod pace;
pub mod payload;
pub mod pin;
pub mod pipe;
pub mod quota;
pub mod ring;
pub mod socket;
mod tally;
mod threads;
mod ticks;
mod tracing;
pub mod trips;
mod unheard;
pub mod vector;
pub mod way;

pub use tally::{Phase, Tally};
pub use threads::{Clock, Lane, LaneEnd, LaneWork, ThreadsPlan, Unwatched, Watch, WorkerThreads};
pub use ticks::Waited;
