//! libibverbs and librdmacm: devices, memory that a NIC reads and writes, queue pairs, and the two
//! ways in which queue pairs find each other.
//!
//! What is made holds what it was made from, so that everything is freed in order: queue pairs
//! before their completion queues and memory, those before the protection domain, that before the
//! device (or the id of the connection manager that opened it).

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, missing_docs, nonstandard_style, unused)]
#[rustfmt::skip]
mod bindings;
pub mod cm;
#[allow(clippy::all, clippy::undocumented_unsafe_blocks, missing_docs, nonstandard_style, unused)]
#[rustfmt::skip]
mod cm_bindings;
mod device;
mod id;
mod memory;
mod queue;
mod work;

pub(crate) use device::status_words;
pub use device::{Device, Domain, Gid, Port, Transport, devices};
pub use memory::{Access, Region};
pub use queue::{Address, Completions, Kind, QueuePair, Route, Size};

use crate::NativeError;
use bindings::Verbs;
use cm_bindings::Cm;
use std::sync::OnceLock;

const VERBS: &str = "libibverbs.so.1";
const CM: &str = "librdmacm.so.1";

fn missing(library: &'static str, packages: &'static str, why: &libloading::Error) -> NativeError {
    NativeError::Missing { library, packages, why: why.to_string() }
}

/// libibverbs, loaded at the first call.
pub(crate) fn verbs() -> Result<&'static Verbs, NativeError> {
    static LOADED: OnceLock<Result<Verbs, libloading::Error>> = OnceLock::new();
    // SAFETY: the library's constructors register its providers and touch nothing of ours; the
    // bindings are those of its headers, whose symbols are versioned.
    let loaded = LOADED.get_or_init(|| unsafe { Verbs::new(VERBS) });
    loaded.as_ref().map_err(|why| missing(VERBS, "libibverbs1 ibverbs-providers", why))
}

/// librdmacm, loaded at the first call.
pub(crate) fn cm_library() -> Result<&'static Cm, NativeError> {
    static LOADED: OnceLock<Result<Cm, libloading::Error>> = OnceLock::new();
    // SAFETY: as above.
    let loaded = LOADED.get_or_init(|| unsafe { Cm::new(CM) });
    loaded.as_ref().map_err(|why| missing(CM, "librdmacm1 ibverbs-providers", why))
}

/// Whether both libraries are there.
pub fn available() -> Result<(), NativeError> {
    verbs()?;
    cm_library().map(drop)
}
