//! RDMA: how two ends make queue pairs that know each other, and what their loops share.
//!
//! The ends meet over TCP as those of any workload do ([`crate::harness::meet`]): that connection
//! carries the names of queue pairs and memory, the end of a run, and why one of them could not.
//! The queue pairs are then connected by what was exchanged, or by the connection manager.

mod choice;
mod fabric;
mod link;
mod pair;
#[cfg(test)]
mod plugged;
#[cfg(test)]
mod pretended;
pub mod settings;
pub mod streams;
mod talk;
#[cfg(test)]
mod tests;
pub mod trips;

use crate::LoadError;
use crate::harness::buffer::Buffer;
use crate::harness::ends::Flow;
use link::{Link, Need, Rooms};
use narrows_model::rdma::RdmaParams;
use narrows_rdma::{Memory, NativeError, Verb};
use settings::RdmaSettings;
use socket2::Socket;

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

/// Makes what a flow goes through, by verbs or by libfabric, and connects it.
fn establish(
    flow: Socket,
    told: &Flow,
    settings: &RdmaSettings,
    need: &Need,
    rooms: Rooms<'_>,
) -> Result<Link, LoadError> {
    #[cfg(test)]
    if let Some(kind) = plugged::meant(settings) {
        return plugged::establish(kind, (flow, told), settings, need, rooms);
    }
    if settings.is_fabric {
        fabric::establish(flow, told, settings, need, rooms)
    } else {
        link::establish(flow, told, settings, need, rooms)
    }
}

/// Whether a program of the target has no part in a verb.
pub fn is_one_sided(verb: Verb) -> bool {
    matches!(verb, Verb::Write | Verb::Read | Verb::FetchAdd)
}

/// Whether libfabric is here and has this provider.
pub fn has_fabric(provider: &str) -> bool {
    let found = narrows_rdma::fabric::providers(Some(provider)).unwrap_or_default();
    found.iter().any(|found| found.drives() == provider)
}

/// Whether this host can do what is asked: the libraries are there, and with verbs a device with a
/// provider.
pub fn available(asked: Option<&RdmaParams>) -> Result<(), NativeError> {
    if asked.is_some_and(|asked| asked.via.is_some()) {
        return narrows_rdma::fabric::available();
    }
    narrows_rdma::verbs::available()?;
    if narrows_rdma::verbs::devices()?.is_empty() {
        Err(NativeError::Cannot(
            "no RDMA device: its driver is not loaded, or no provider knows it".into(),
        ))
    } else {
        Ok(())
    }
}
