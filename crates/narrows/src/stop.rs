//! Ctrl-C and SIGTERM. Until something is measured Ctrl-C ends a command at once, with the exit
//! code that is documented for it. Then the first asks to stop after cleaning up, and the second
//! ends at once.

use crate::cause::Cause;
use crate::failure::{Failure, STOPPED};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Whether the next Ctrl-C ends the process: there is nothing to clean up, or it is the second.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Makes Ctrl-C end this process with its own exit code. Without it the signal kills it, which only
/// shells count as 130; and the first process of a container, which no signal kills, would go on.
pub fn at_once() -> Result<(), Failure> {
    flag::register_conditional_shutdown(SIGINT, STOPPED.into(), ENDS.clone())
        .map(|_| ())
        .map_err(no_signals)
}

/// A flag that is set when the user wants to stop. A command that measures twice has one: a second
/// handler of SIGTERM would end the process, and a wish from in between would be forgotten.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    static IS_CAUGHT: AtomicBool = AtomicBool::new(false);
    let stop = ENDS.clone();
    if IS_CAUGHT.swap(true, Ordering::Relaxed) {
        return Ok(stop);
    }
    // In this order a first signal only sets the flag, and a second finds it set.
    flag::register_conditional_shutdown(SIGTERM, STOPPED.into(), stop.clone())
        .and_then(|_| flag::register(SIGTERM, stop.clone()))
        .and_then(|_| flag::register(SIGINT, stop.clone()))
        .map_err(no_signals)?;
    // Last, so that no signal in between is lost.
    stop.store(false, Ordering::Relaxed);
    Ok(stop)
}

fn no_signals(error: std::io::Error) -> Failure {
    Failure::of(Cause::NO_SIGNALS, format!("cannot catch Ctrl-C: {error}"))
}
