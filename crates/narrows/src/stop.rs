//! Ctrl-C and SIGTERM: the first asks to stop after cleaning up, the second ends at once.

use crate::cause::Cause;
use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is set when the user wants to stop.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order a first signal only sets the flag, and a second finds it set.
        let set = flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| flag::register(signal, stop.clone()));
        set.map_err(|error| {
            Failure::of(Cause::NO_SIGNALS, format!("cannot catch Ctrl-C: {error}"))
        })?;
    }
    Ok(stop)
}
