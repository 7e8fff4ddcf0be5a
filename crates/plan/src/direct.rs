//! One direct measurement against a peer: `narrows tcp HOST`, `narrows udp HOST`.

use crate::trial;
use narrows_facts::Nanos;
use narrows_facts::load::{Params, Timeline};
use narrows_facts::trial::{Path, Placement, Trial};

/// The trial of one direct measurement. The warm-up covers slow start on long paths; the cool-down
/// covers the delay of the control channel between the two ends' windows.
pub fn trial_of(kind: &str, params: Params, place: Placement, path: Path, window: Nanos) -> Trial {
    let timeline = Timeline {
        warmup_ns: Nanos::from_millis(500),
        window_ns: window,
        cooldown_ns: Nanos::from_millis(300),
    };
    trial(kind, kind, params, place, path, timeline)
}
