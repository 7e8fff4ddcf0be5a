//! What the interfaces of a flow counted.

use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Scope, keys};

/// The device that packets between addresses of one host pass.
pub(crate) const LOOPBACK: &str = "lo";

/// A counter of the interface that the flow used: of what comes in, that by which it came where the
/// kernel told it, and else that by which the flow leaves.
pub(crate) fn interface(end: &EndReport, counter: Counter) -> Option<u64> {
    end.readings.of(counter, Scope::Nic(name(end, counter)?.to_owned()))
}

/// The interface of [`interface`].
pub(crate) fn name(end: &EndReport, counter: Counter) -> Option<&str> {
    if comes_in(counter) { way_in(end) } else { end.effective.interface.as_deref() }
}

/// The interface by which an end's flows come in where the kernel told it, and else that by which
/// they leave.
pub fn way_in(end: &EndReport) -> Option<&str> {
    end.effective.interface_in.as_deref().or(end.effective.interface.as_deref())
}

fn comes_in(counter: Counter) -> bool {
    [keys::RX_BYTES, keys::RX_PACKETS, keys::RX_ERRORS, keys::RX_DROPPED].contains(&counter)
}
