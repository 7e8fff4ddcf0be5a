//! libfabric: RMA and tagged messages between endpoints that need no connection (reliable
//! datagrams), over whatever a provider drives: a NIC, or TCP and shared memory in software.
//!
//! Its headers are mostly inline functions that call through tables in what the library made; the
//! tables are in the bindings, and `call!` is what those functions are.

#[allow(clippy::all, clippy::undocumented_unsafe_blocks, missing_docs, nonstandard_style, unused)]
#[rustfmt::skip]
mod bindings;
mod endpoint;
mod info;

pub use endpoint::{Endpoint, NAME_MAX, Size};
pub use info::{Asked, Info, Provider, providers};

use crate::NativeError;
use crate::signals::Signals;
use bindings::Fabric;
use std::ffi::CStr;
use std::sync::OnceLock;

const FABRIC: &str = "libfabric.so.1";
/// The interface that is asked for, 1.9: what is used here is older, and every library since then
/// answers to it.
const VERSION: u32 = 1 << 16 | 9;

/// libfabric, loaded at the first call.
pub(crate) fn library() -> Result<&'static Fabric, NativeError> {
    static LOADED: OnceLock<Result<Fabric, libloading::Error>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let _kept = Signals::keep();
        // SAFETY: the library's constructors register its providers, and what they do to signals is
        // taken back; the bindings are those of its headers, whose symbols are versioned.
        unsafe { Fabric::new(FABRIC) }
    });
    loaded.as_ref().map_err(|why| NativeError::Missing {
        library: FABRIC,
        packages: "libfabric1",
        why: why.to_string(),
    })
}

/// Whether the library is there.
pub fn available() -> Result<(), NativeError> {
    library().map(drop)
}

/// What an error number means.
pub(crate) fn words(number: i32) -> String {
    let Ok(library) = library() else { return number.to_string() };
    // SAFETY: the library answers with a constant string.
    let words = unsafe { CStr::from_ptr(library.fi_strerror(number)) };
    words.to_string_lossy().into_owned()
}

/// What an answer below zero means, with what was being done.
fn failed(doing: impl Into<String>, answer: i64) -> NativeError {
    let words = words(answer.unsigned_abs().min(i32::MAX as u64) as i32);
    NativeError::Cannot(format!("{}: {words}", doing.into()))
}

/// Calls through a table of functions; a function that is not there does not exist.
macro_rules! call {
    ($table:expr, $function:ident $(, $argument:expr)*) => {
        match (*$table).$function {
            Some(function) => function($($argument),*) as i64,
            None => -i64::from(libc::ENOSYS),
        }
    };
}
use call;
