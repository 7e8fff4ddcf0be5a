//! Ethernet pause frames that an end's interface sent or received, as its driver counts them.

use narrows_model::load::EndReport;
use narrows_model::reading::{Scope, Source};
use narrows_stats::way_in;

/// Which frames of an end are meant.
#[derive(Clone, Copy)]
pub enum Way {
    Received,
    Sent,
}

/// Frames a second of the interface that an end used, or of any where it does not tell: the most of
/// what any of the driver's counters has, since one frame may be in several.
pub fn frames_per_second(end: &EndReport, way: Way) -> Option<f64> {
    let word = match way {
        Way::Received => "received:",
        Way::Sent => "sent:",
    };
    // A receiver asks where its data comes in.
    let used = match way {
        Way::Sent => way_in(end),
        Way::Received => end.effective.interface.as_deref(),
    };
    let used = used.map(|name| Scope::Nic(name.to_owned()));
    let counters = end.readings.from_source(Source::Pause);
    let own = counters.filter(|(key, _)| used.as_ref().is_none_or(|used| key.scope == *used));
    let frames = own.filter(|(key, _)| key.name.starts_with(word));
    let most = frames.map(|(_, count)| count).max()?;
    Some(most as f64 / end.window_ns.seconds()).filter(|rate| rate.is_finite())
}
