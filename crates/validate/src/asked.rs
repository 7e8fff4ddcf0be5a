//! A row of a table as a description of a host, of which the engine of predictions is asked.

use super::{Cell, Row};
use narrows_dimm::platform;
use narrows_model::host::Host;
use narrows_predict::calibration::Calibration;
use narrows_predict::{Engine, Reach, Refused, Said, of_nic};
use std::fmt;

/// Why the engine has no answer for a row.
pub enum Unasked {
    /// Its `transport` is no word that is known.
    Transport,
    /// Nothing tells the rate of its link.
    Link,
    /// The engine does not take what the row says.
    Refused(Refused),
    /// The engine knows no path for it.
    Path,
    /// The engine knows no NIC for it.
    Nic,
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport => f.write_str("`transport` is none of tcp, udp, rdma"),
            Self::Link => f.write_str("no `link_gbps` and no `nic` such as 100GbE"),
            Self::Refused(why) => why.fmt(f),
            Self::Path => f.write_str("no path"),
            Self::Nic => f.write_str("there is no NIC"),
        }
    }
}

/// Adds the row's processor. Of one that nobody names, or no platform has, the model takes one in
/// the middle.
pub fn processor(row: &Row<'_>, said: &mut Said) {
    let name = row.text("cpu").and_then(|cpu| cpu.split('(').next()).map(str::trim);
    if let Some(name) = name.filter(|name| platform::named(name).is_some()) {
        said.insert("cpu".to_owned(), name.to_owned());
    }
}

/// Adds the numbers that the row has.
pub fn numbers<const N: usize>(numbers: [(&str, Option<f64>); N], said: &mut Said) {
    for (key, number) in numbers {
        if let Some(number) = number {
            said.insert(key.to_owned(), number.to_string());
        }
    }
}

/// The engine for a host of which only this is known.
pub fn engine(said: &Said) -> Result<Engine, Unasked> {
    of_nic(&Host::default(), None, said, &Calibration::default()).map_err(Unasked::Refused)
}

/// Puts an answer beside the published figure.
pub fn answered(cell: &mut Cell, reach: &Reach) {
    cell.predicted = Some(reach.value);
    (cell.low, cell.high) = (Some(reach.low), Some(reach.high));
    cell.left_out = cell.predicted;
    cell.uncalibrated = Some((reach.value, reach.low, reach.high));
    cell.bottleneck = reach.bottleneck.clone().unwrap_or_default();
}
