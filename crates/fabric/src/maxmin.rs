//! What flows get of the links that they share when none can have more without another having
//! less.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link's rate for each flow, in order, without NaN.
#[derive(Clone, Copy, PartialEq)]
struct Level(f64);

impl Eq for Level {}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Level {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Rates of flows, each the links that it takes; `capacity` of each link. Links that are the
/// scarcest give all their flows the same, which is taken from the other links of these flows.
pub(crate) fn rates(flows: &[Vec<usize>], capacity: &[f64]) -> Vec<f64> {
    let mut left = capacity.to_vec();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); capacity.len()];
    for (flow, links) in flows.iter().enumerate() {
        links.iter().for_each(|link| members[*link].push(flow));
    }
    let mut waiting: Vec<usize> = members.iter().map(Vec::len).collect();
    let mut rates: Vec<Option<f64>> = vec![None; flows.len()];
    let mut heap: BinaryHeap<Reverse<(Level, usize)>> = (0..capacity.len())
        .filter(|link| waiting[*link] > 0)
        .map(|link| Reverse((Level(left[link] / waiting[link] as f64), link)))
        .collect();
    while let Some(Reverse((level, link))) = heap.pop() {
        if waiting[link] == 0 {
            continue;
        }
        let now = Level(left[link] / waiting[link] as f64);
        // Others have left it since; a link's share only grows.
        if now > level {
            heap.push(Reverse((now, link)));
            continue;
        }
        for flow in &members[link] {
            if rates[*flow].is_some() {
                continue;
            }
            rates[*flow] = Some(now.0);
            for other in &flows[*flow] {
                left[*other] = (left[*other] - now.0).max(0.0);
                waiting[*other] -= 1;
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_link_is_shared_first() {
        // Two flows on a link of 1, one of them also on a link of 10 with a third flow.
        let flows = [vec![0], vec![0, 1], vec![1]];
        assert_eq!(rates(&flows, &[1.0, 10.0]), [0.5, 0.5, 9.5]);
        // Bertsekas and Gallager's line of links: the long flow has what the worst link leaves.
        let line = [vec![0, 1, 2], vec![0], vec![1], vec![1], vec![2]];
        let got = rates(&line, &[1.0, 1.0, 2.0]);
        let want = [1.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 5.0 / 3.0];
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-12), "{got:?}");
    }
}
