//! The engine of studies: which run is next, sessions, settings made and put back, and how a study
//! that was stopped anywhere goes on.
//!
//! Everything that the engine needs of the world is behind the traits of [`outside`]: the ends that
//! measure, the disk, the clock, the settings of the host, and whoever looks on. [`live`] is the
//! real world; `tests/simulated.rs` has one with faults at every step.

#![forbid(unsafe_code)]

mod apart;
pub mod controller;
mod course;
mod difference;
mod engine;
mod error;
mod gate;
mod hosts;
mod hunt;
mod iperf3;
pub mod launch;
pub mod live;
mod machines;
pub mod outside;
mod pairs;
mod ranks;
mod rates;
mod refusal;
mod round;
mod same;
mod schedule;
mod session;
mod setting;
mod settings;
mod stamp;
mod steps;
mod study;
mod unknown_word;
pub mod unmet;
pub mod worker;

pub use course::{Course, CourseEnd};
pub use difference::{Difference, MachinePart, differences};
pub use engine::StudyEngine;
pub use error::RunError;
pub use machines::{Machines, check_engines};
pub use outside::Progress;
pub use pairs::{Meeting, run_two};
pub use ranks::{RANK_PAIRS_AT_ONCE, Ranks};
pub use rates::{Counted, Onlooker, Period};
pub use refusal::Refusal;
pub use round::Crowd;
pub use same::unlike;
pub use schedule::Schedule;
pub use session::{Begun, Far, SessionPlan, Site};
pub use setting::{Setting, SettingError};
pub use settings::AppliedSettings;
pub use steps::Broken;
pub use study::Defined;
pub use unknown_word::{UnknownWord, check_words};
