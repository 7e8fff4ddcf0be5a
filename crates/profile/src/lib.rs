//! What the CPU time of an end went into: sampled stacks by class, from a table of what functions
//! are for, and the classes of both ends of a trial side by side. Pure: the same records give the
//! same answer on any machine.

#![forbid(unsafe_code)]

mod breakdown;
mod changed;
mod class;
mod ends;
mod flame;

pub use breakdown::{Breakdown, ClassShare, FunctionShare, NamedShare};
pub use changed::{Changed, EndChanged, changed};
pub use class::{Class, Table};
pub use ends::{EndProfile, TrialProfile, profiles};
pub use flame::Flame;
