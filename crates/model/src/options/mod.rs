//! Options of workloads and of where they run.

mod value;

pub use value::{Form, Takes, Told, Value, Written, WrongValue};
