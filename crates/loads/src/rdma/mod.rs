//! RDMA: how two ends make queue pairs that know each other, and what their loops share.
//!
//! The ends meet over TCP as those of any workload do ([`crate::harness::meet`]): that connection
//! carries the names of queue pairs and memory, the end of a run, and why one of them could not.
//! The queue pairs are then connected by what was exchanged, or by the connection manager.

mod choice;
mod link;
pub mod settings;
pub mod streams;
mod talk;
pub mod trips;

use crate::LoadError;
use crate::harness::buffer::Buffer;
use narrows_native::NativeError;
use narrows_native::verbs::Memory;

pub use narrows_native::verbs::Verb;

/// What iWARP is called in [`narrows_facts::rdma::RdmaEffective`].
const IWARP: &str = "iWARP";

impl Memory for Buffer {
    fn start(&mut self) -> *mut u8 {
        self.bytes_mut().as_mut_ptr()
    }
    fn length(&self) -> usize {
        self.bytes().len()
    }
}

impl From<NativeError> for LoadError {
    fn from(error: NativeError) -> Self {
        match error.hint() {
            Some(hint) => Self::Order(format!("{error} ({hint})")),
            None => Self::Order(error.to_string()),
        }
    }
}

/// Whether a program of the target has no part in a verb.
pub fn is_one_sided(verb: Verb) -> bool {
    matches!(verb, Verb::Write | Verb::Read | Verb::FetchAdd)
}

/// Whether this host can do RDMA: the libraries are there, and a device with a provider.
pub fn available() -> Result<(), NativeError> {
    narrows_native::verbs::available()?;
    match narrows_native::verbs::devices()?.is_empty() {
        true => Err(NativeError::Cannot(
            "no RDMA device: its driver is not loaded, or no provider knows it".into(),
        )),
        false => Ok(()),
    }
}
