//! Says to a peer, every now and then, that this side is still there.

use crate::error::ControlError;
use crate::wire::Voice;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// A thread that beats until this is dropped, or the peer cannot be spoken to. It does nothing
/// else, so that what keeps the rest of the process busy keeps no beat back.
pub struct Heart {
    _alive: Sender<()>,
}

impl Heart {
    /// Beats from now on.
    pub fn start(voice: Voice, every: Duration) -> Result<Self, ControlError> {
        let (alive, ended) = channel::<()>();
        let thread = thread::Builder::new().name("heartbeat".into());
        let started = thread.spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                if voice.beat().is_err() {
                    break;
                }
            }
        });
        started.map_err(ControlError::thread)?;
        Ok(Self { _alive: alive })
    }
}
