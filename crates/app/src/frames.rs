//! What larger frames are worth to an application: the same fabric, place and ranks with the
//! smallest MTU and with each larger one, as papers compare 1500 with 9000.

use crate::scaling::{Curve, Point, Scaling, faster};
use narrows_model::result::Estimate;
use serde::Serialize;

/// Fewer runs on either side are told and not judged.
const RUNS_MIN: u32 = 6;

/// A fabric and number of ranks with two MTUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frames {
    pub place: String,
    pub fabric: String,
    /// Ranks, over all hosts.
    pub ranks: u32,
    /// The smaller and the larger MTU, in bytes.
    pub mtus: [u32; 2],
    /// Time or rate with each.
    pub figures: [Estimate; 2],
    /// How many times faster with the larger.
    pub faster: Estimate,
    /// More ranks than cores: compared, and never judged.
    pub oversubscribed: bool,
}

/// What a comparison tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The interval of the ratio lies above one.
    Faster,
    /// It lies below.
    Slower,
    /// It holds one: no difference is shown, and none is excluded.
    NotApart,
    /// More ranks than cores, or fewer than six runs.
    Unjudged,
}

impl Frames {
    /// What it tells.
    pub fn told(&self) -> Told {
        told(&self.figures, &self.faster, self.oversubscribed)
    }
}

/// What a ratio of two figures tells.
pub(crate) fn told(figures: &[Estimate; 2], faster: &Estimate, oversubscribed: bool) -> Told {
    let runs = figures.iter().map(|figure| figure.n).min().unwrap_or(0);
    match faster {
        _ if oversubscribed || runs < RUNS_MIN => Told::Unjudged,
        times if times.low > 1.0 => Told::Faster,
        times if times.high < 1.0 => Told::Slower,
        _ => Told::NotApart,
    }
}

/// All comparisons that a study has, by place, fabric and ranks.
pub fn frames(scaling: &Scaling) -> Vec<Frames> {
    let mut all = Vec::new();
    for large in &scaling.curves {
        let Some(larger) = mtu(large) else { continue };
        let alike = scaling
            .curves
            .iter()
            .filter(|one| one.place == large.place && one.fabric == large.fabric);
        let least = alike.filter_map(|one| Some((mtu(one)?, one))).min_by_key(|(mtu, _)| *mtu);
        let Some((smaller, small)) = least.filter(|(mtu, _)| *mtu < larger) else { continue };
        for point in large.points.iter().filter(|point| point.ranks > 1) {
            let Some(before) = small.points.iter().find(|one| one.ranks == point.ranks) else {
                continue;
            };
            all.extend(pair((small, before), point, [smaller, larger]));
        }
    }
    all
}

fn mtu(curve: &Curve) -> Option<u32> {
    curve.mtu.parse().ok()
}

fn pair((small, before): (&Curve, &Point), after: &Point, mtus: [u32; 2]) -> Option<Frames> {
    let figures = [before.figure?, after.figure?];
    Some(Frames {
        place: small.place.clone(),
        fabric: small.fabric.clone(),
        ranks: after.ranks,
        mtus,
        figures,
        faster: faster(&figures[0], &figures[1])?,
        oversubscribed: before.oversubscribed || after.oversubscribed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::units::Unit;
    use narrows_stats::median_interval;

    fn curve(mtu: &str, unit: Unit, values: &[f64]) -> Curve {
        let point = Point {
            ranks: 2,
            figure: median_interval(values, 0.95, unit),
            speed_up: None,
            efficiency: None,
            communication: None,
            system: None,
            cpu_use: None,
            cpu_use_by: None,
            done: values.len(),
            runs: values.len(),
            rejected: Vec::new(),
            faults: Vec::new(),
            oversubscribed: false,
        };
        Curve {
            place: "pair".to_owned(),
            fabric: "tcp:eth0".to_owned(),
            mtu: mtu.to_owned(),
            hosts: None,
            points: vec![point],
            speed: None,
        }
    }

    fn of(curves: Vec<Curve>) -> Vec<Frames> {
        frames(&Scaling { curves, base_ranks: None, predictions: Vec::new() })
    }

    /// The paper's VASP: 52.30 minutes without jumbo frames, 51.26 with them.
    #[test]
    fn the_papers_two_per_cent_are_told_where_runs_agree() {
        let [small, large] = [52.30, 51.26].map(|minutes| {
            [0.9999, 0.99995, 1.0, 1.0, 1.00005, 1.0001].map(|times| minutes * 60e9 * times)
        });
        let both = |small: &[f64], large: &[f64]| {
            of(vec![curve("9000", Unit::Nanos, large), curve("1500", Unit::Nanos, small)])
        };
        let found = both(&small, &large);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].mtus, found[0].told()), ([1500, 9000], Told::Faster));
        assert!((found[0].faster.value - 1.0203).abs() < 1e-4, "{found:?}");
        // A single run each, as the paper has it, is no verdict; runs that scatter more are none.
        assert_eq!(both(&small[..1], &large[..1])[0].told(), Told::Unjudged);
        let wide = large.map(|time| time * 1.1);
        let scattered: Vec<f64> = large.iter().take(3).chain(&wide[3..]).copied().collect();
        assert_eq!(both(&small, &scattered)[0].told(), Told::NotApart);
        assert_eq!(both(&large, &small)[0].told(), Told::Slower);
    }

    #[test]
    fn rates_are_faster_when_they_are_higher() {
        let rates = |mtu: &str, rate: f64| curve(mtu, Unit::PerSecond, &[rate; 6]);
        let found = of(vec![rates("1500", 100.0), rates("9000", 110.0), rates("none", 90.0)]);
        assert_eq!(found.len(), 1);
        assert!((found[0].faster.value - 1.1).abs() < 1e-9);
        let mut over = curve("9000", Unit::Nanos, &[1.0; 6]);
        over.points[0].oversubscribed = true;
        let found = of(vec![curve("1500", Unit::Nanos, &[2.0; 6]), over]);
        assert_eq!(found[0].told(), Told::Unjudged);
    }
}
