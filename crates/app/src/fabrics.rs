//! What another fabric is worth to an application: the same place, MTU and ranks over the first
//! fabric of the place and over each other, as papers set iWARP against InfiniBand.

use crate::frames::{Told, told};
use crate::scaling::{Curve, Point, Scaling, faster};
use narrows_model::result::Estimate;
use serde::Serialize;

/// A number of ranks over two fabrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fabrics {
    pub place: String,
    /// MTU of both, in words.
    pub mtu: String,
    /// Ranks, over all hosts.
    pub ranks: u32,
    /// The fabric that is compared with, and the other.
    pub fabrics: [String; 2],
    /// Time or rate over each.
    pub figures: [Estimate; 2],
    /// How many times faster over the other.
    pub faster: Estimate,
    /// More ranks than cores: compared, and never judged.
    pub oversubscribed: bool,
}

impl Fabrics {
    /// What it tells.
    pub fn told(&self) -> Told {
        told(&self.figures, &self.faster, self.oversubscribed)
    }
}

/// All comparisons that a study has, by place and fabric, ascending in ranks.
pub fn fabrics(scaling: &Scaling) -> Vec<Fabrics> {
    let mut all = Vec::new();
    for (at, other) in scaling.curves.iter().enumerate() {
        let mut before = scaling.curves.iter().take(at);
        // One rank talks to nobody: its curve is of no fabric.
        let first = before.find(|one| {
            one.place == other.place
                && one.mtu == other.mtu
                && one.points.iter().any(|point| point.ranks > 1)
        });
        let Some(first) = first.filter(|first| first.fabric != other.fabric) else { continue };
        for point in other.points.iter().filter(|point| point.ranks > 1) {
            let own = first.points.iter().find(|one| one.ranks == point.ranks);
            all.extend(own.and_then(|own| pair((first, own), (other, point))));
        }
    }
    all
}

fn pair((first, own): (&Curve, &Point), (other, point): (&Curve, &Point)) -> Option<Fabrics> {
    let figures = [own.figure?, point.figure?];
    Some(Fabrics {
        place: first.place.clone(),
        mtu: first.mtu.clone(),
        ranks: point.ranks,
        fabrics: [first.fabric.clone(), other.fabric.clone()],
        figures,
        faster: faster(&figures[0], &figures[1])?,
        oversubscribed: own.oversubscribed || point.oversubscribed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::units::Unit;
    use narrows_stats::median_interval;

    fn curve(place: &str, fabric: &str, seconds: [f64; 2]) -> Curve {
        let points = [2, 4].into_iter().zip(seconds).map(|(ranks, seconds)| Point {
            ranks,
            figure: median_interval(&[1e9 * seconds; 6], 0.95, Unit::Nanos),
            speed_up: None,
            efficiency: None,
            communication: None,
            system: None,
            cpu_use: None,
            cpu_use_by: None,
            done: 6,
            runs: 6,
            rejected: Vec::new(),
            faults: Vec::new(),
            oversubscribed: ranks > 2,
        });
        let [place, fabric, mtu] = [place, fabric, "none"].map(str::to_owned);
        Curve { place, fabric, mtu, hosts: None, points: points.collect(), speed: None }
    }

    /// InfiniBand in 10 s and iWARP in 12.5: a fifth less is done in a time.
    #[test]
    fn each_fabric_is_set_against_the_first_of_its_place() {
        let curves = vec![
            curve("cluster", "infiniband", [10.0, 6.0]),
            curve("cluster", "iwarp", [12.5, 6.0]),
            curve("here", "shm", [8.0, 4.0]),
        ];
        let found = fabrics(&Scaling { curves, base_ranks: None, predictions: Vec::new() });
        assert_eq!(found.len(), 2, "another place has a fabric of its own: {found:?}");
        assert_eq!(found[0].fabrics, ["infiniband", "iwarp"]);
        assert_eq!((found[0].ranks, found[0].told()), (2, Told::Slower));
        assert!((found[0].faster.value - 0.8).abs() < 1e-9, "{found:?}");
        assert_eq!((found[1].ranks, found[1].told()), (4, Told::Unjudged));
    }
}
