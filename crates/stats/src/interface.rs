//! What the interface of a flow counted.

use narrows_model::load::EndReport;
use narrows_model::reading::{Counter, Scope};

/// A counter of the interface that the flow used.
pub(crate) fn interface(end: &EndReport, counter: Counter) -> Option<u64> {
    let name = end.effective.interface.clone()?;
    end.readings.of(counter, Scope::Nic(name))
}
