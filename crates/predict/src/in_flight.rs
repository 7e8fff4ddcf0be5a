//! How many lines one core has in flight: chains of pointers side by side, until more of them bring
//! no more. A line takes as long alone as the time of a load with one chain; the lines in flight
//! are that over the time of a load with many.

use crate::measured::Measured;
use narrows_stats::{LINE_BYTES, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// A step to more chains that brings less is none: half of it lies within the noise of a virtual
/// machine.
const STEP: f64 = 1.05;

/// The time of a load while so many chains are followed side by side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Chains {
    /// Chains at once, 1 or more.
    pub chains: u32,
    /// Nanoseconds a load, over all chains.
    pub load_ns: Measured,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InFlight {
    /// Lines in flight at most, with the interval of both times that they are made of.
    pub lines: Measured,
    /// What a line takes while it is alone, in nanoseconds.
    pub alone_ns: Measured,
    /// What the core reads then, in GB/s.
    pub gb_s: f64,
    /// Chains from which on more bring no more.
    pub from_chains: u32,
    /// Whether the curve has a plateau: else there may be more credits than were asked for.
    pub is_plateau: bool,
}

impl Chains {
    /// Of a cell's runs; `None` where none had a figure.
    pub fn of(chains: u32, summary: &Summary) -> Option<Self> {
        Some(Self { chains, load_ns: Measured::of(summary, 1.0)? })
    }
}

/// The plateau of a curve; `None` without one chain alone, or with nothing to compare it with.
pub fn plateau(curve: &[Chains]) -> Option<InFlight> {
    let mut curve: Vec<&Chains> = curve.iter().collect();
    curve.sort_by_key(|point| point.chains);
    let (alone, rest) = curve.split_first()?;
    let most = rest.iter().min_by(|a, b| a.load_ns.value.total_cmp(&b.load_ns.value))?;
    if alone.chains != 1 {
        return None;
    }
    // The first from which on nothing is a step better.
    let enough = |point: &&&&Chains| point.load_ns.value <= STEP * most.load_ns.value;
    let first = rest.iter().find(|point| enough(&point))?;
    let last = rest.last()?;
    let (one, many) = (&alone.load_ns, &most.load_ns);
    Some(InFlight {
        lines: Measured {
            value: one.value / many.value,
            low: one.low / many.high,
            high: one.high / many.low,
            from: format!("{} over {}", one.from, many.from),
        },
        alone_ns: one.clone(),
        gb_s: LINE_BYTES / many.value,
        from_chains: first.chains,
        is_plateau: 3 * first.chains <= 2 * last.chains,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core with so many credits whose lines take 80 ns.
    fn curve(credits: f64) -> Vec<Chains> {
        let of = |chains: u32| {
            let value = 80.0 / f64::from(chains).min(credits);
            let from = format!("chains {chains}");
            Chains {
                chains,
                load_ns: Measured { value, low: 0.99 * value, high: 1.01 * value, from },
            }
        };
        [1, 2, 4, 8, 12, 16, 24, 32].map(of).to_vec()
    }

    #[test]
    fn the_plateau_is_the_credits() {
        let found = plateau(&curve(11.0)).expect("a plateau");
        assert!((found.lines.value - 11.0).abs() < 1e-9, "{found:?}");
        assert!(found.lines.low < 11.0 && found.lines.high > 11.0);
        assert_eq!((found.from_chains, found.is_plateau), (12, true));
        assert!((found.gb_s - 8.8).abs() < 1e-9 && found.alone_ns.value == 80.0);
    }

    #[test]
    fn a_curve_that_still_rises_is_no_plateau() {
        let found = plateau(&curve(100.0)).expect("a figure");
        assert!(!found.is_plateau && found.from_chains == 32, "{found:?}");
    }

    #[test]
    fn without_one_chain_alone_there_is_nothing_to_say() {
        assert_eq!(plateau(&curve(11.0)[1..]), None);
        assert_eq!(plateau(&curve(11.0)[..1]), None);
        assert_eq!(plateau(&[]), None);
    }
}
