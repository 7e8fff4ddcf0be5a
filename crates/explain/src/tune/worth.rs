//! What a change is worth, and where that is from: measured on this host, the model's answer about
//! the host with and without it, or a figure that somebody published of theirs.

use narrows_model::host::{Host, Nic};
use narrows_model::result::ResourceName;
use narrows_predict::calibration::Calibration;
use narrows_predict::{Predictor, Said, Traffic, Trip, of_nic};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a worth is from; the surer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Both ways were measured on this host, in turn.
    Measured,
    /// The model was asked about the host with the change and without, or it is arithmetic.
    Modelled,
    /// Somebody published what it brought on another host.
    Published,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured here",
            Self::Modelled => "modelled",
            Self::Published => "published of another host",
        })
    }
}

/// What a change is worth for the figure that its profile is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// How many times better the figure gets at least: 1 is nothing, below it is worse.
    pub low: f64,
    /// How many times better at most.
    pub high: f64,
    pub basis: Basis,
    /// Which figure that is: `TCP over 1 ms: up to 50.0 in place of 25.0 Gb/s`.
    pub says: String,
    /// What was measured, asked or read for it: a file, a formula, a title.
    pub from: String,
}

/// Below this a change is as good as none: 2 % is what differs from day to day.
const NOTHING: f64 = 1.02;

impl Worth {
    /// The middle of the range: what advice is ranked by.
    pub fn middle(&self) -> f64 {
        (self.low * self.high).sqrt()
    }

    /// True where the change brings something that could be seen.
    pub fn is_worthwhile(&self) -> bool {
        self.middle() >= NOTHING
    }

    /// Somebody else's figure, and whose it is.
    pub(super) fn published((low, high): (f64, f64), says: &str, from: &str) -> Option<Self> {
        let (says, from) = (says.to_owned(), from.to_owned());
        Some(Self { low, high, basis: Basis::Published, says, from })
    }

    /// By arithmetic that `from` names.
    pub(super) fn computed((low, high): (f64, f64), says: String, from: &str) -> Option<Self> {
        Some(Self { low, high, basis: Basis::Modelled, says, from: from.to_owned() })
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, high, basis, says, from } = self;
        if self.is_worthwhile() {
            write!(f, "{low:.1} to {high:.1} x, {basis}: {says} ({from})")
        } else {
            write!(f, "nothing that would be seen, {basis}: {says} ({from})")
        }
    }
}

/// A host seen through one NIC, and what is said of it beside its facts.
pub(super) struct Seen<'a> {
    host: &'a Host,
    nic: &'a Nic,
    said: Said,
}

impl<'a> Seen<'a> {
    /// The host as it is.
    pub(super) fn now(host: &'a Host, nic: &'a Nic) -> Self {
        Self { host, nic, said: Said::new() }
    }

    /// The same with something said of it, in the words of `predict --set`.
    pub(super) fn with(host: &'a Host, nic: &'a Nic, key: &str, value: &str) -> Self {
        Self { host, nic, said: [(key.to_owned(), value.to_owned())].into() }
    }

    fn engine(&self) -> Option<Predictor> {
        of_nic(self.host, Some(self.nic), &self.said, &Calibration::default()).ok()
    }

    /// TCP's rate in Gb/s, and what limits it.
    fn rate(&self) -> Option<(f64, ResourceName)> {
        let reach = self.engine()?.reach(Traffic::Tcp)?;
        reach.value.is_finite().then_some((reach.value, reach.bottleneck?))
    }

    /// A round trip of TCP in microseconds.
    pub(super) fn round_trip_us(&self) -> Option<f64> {
        Some(self.engine()?.round_trip(Trip::Tcp)?.value)
    }
}

/// What the model says that TCP's rate gains. The range around the factor is half of what it is
/// away from 1: how far the model's own constants move it was not published.
pub(super) fn of_rate(now: &Seen<'_>, then: &Seen<'_>) -> Option<Worth> {
    let ((now, limit), (then, next)) = (now.rate()?, then.rate()?);
    let says = format!(
        "TCP through this NIC: {then:.1} (limit: {next}) in place of {now:.1} Gb/s (limit: {limit})"
    );
    Worth::computed(around(then / now), says, "narrows predict")
}

/// What the model says that a round trip gains.
pub(super) fn of_round_trip(now: &Seen<'_>, then: &Seen<'_>) -> Option<Worth> {
    let (now, then) = (now.round_trip_us()?, then.round_trip_us()?);
    let says = format!("a round trip of TCP: {then:.1} in place of {now:.1} us");
    Worth::computed(around(now / then), says, "narrows predict")
}

fn around(factor: f64) -> (f64, f64) {
    let half = (factor - 1.0) / 2.0;
    (1.0 + half, factor + half)
}

/// What shortening a wait at each end by up to so many microseconds brings a round trip: nothing
/// where the wait does not come, all of it where it does.
pub(super) fn of_wait(now: &Seen<'_>, us: f64, what: &str) -> Option<Worth> {
    let rest = now.round_trip_us()?;
    let says = format!("a round trip of {rest:.1} us without it: up to {us} us of {what} each end");
    Worth::computed((1.0, (rest + 2.0 * us) / rest), says, "narrows predict")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_ranked_by_the_geometric_middle_and_worth_two_per_cent_or_more() {
        let of = |low: f64, high: f64| Worth {
            low,
            high,
            basis: Basis::Modelled,
            says: String::new(),
            from: String::new(),
        };
        // Between half and twice as good lies as good.
        assert_eq!(of(0.5, 2.0).middle(), 1.0);
        assert_eq!(of(1.0, 4.0).middle(), 2.0);
        assert!(!of(0.5, 2.0).is_worthwhile());
        assert!(!of(1.0, 1.04).is_worthwhile(), "1.0198");
        assert!(of(1.0, 1.05).is_worthwhile(), "1.0247");
    }
}
