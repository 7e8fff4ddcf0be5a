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
    let of = &end.effective;
    let way_in = of.interface_in.as_deref().filter(|_| comes_in(counter));
    way_in.or(of.interface.as_deref())
}

fn comes_in(counter: Counter) -> bool {
    [keys::RX_BYTES, keys::RX_PACKETS, keys::RX_ERRORS, keys::RX_DROPPED].contains(&counter)
}
