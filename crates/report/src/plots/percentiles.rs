//! Round-trip times by percentile, both axes logarithmic: the tail is where latency hurts.

use super::svg::Anchor;
use super::{Svg, WIDTH};
use narrows_model::Nanos;
use narrows_stats::Percentiles;

const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 180.0;

/// The curve from the median's half of the distribution to the last sample.
pub fn draw(title: &str, trips: &Percentiles) -> String {
    let mut svg = Svg::new(WIDTH, title);
    let total = trips.count as f64;
    // Nines: 0 is the minimum, 1 is 90 %, 2 is 99 %; the last sample has log10(n) of them.
    let nines_max = total.log10().max(1.0);
    let x = |nines: f64| LEFT + nines.clamp(0.0, nines_max) / nines_max * (RIGHT - LEFT);
    let low = (trips.min_ns.0.max(1) as f64).log10();
    let high = (trips.max_ns.0.max(2) as f64).log10().max(low + 0.3);
    let y = |ns: f64| BOTTOM - (ns.log10() - low) / (high - low) * (BOTTOM - TOP);
    for decade in 0..=12 {
        for multiple in [1.0, 2.0, 5.0] {
            let ns = 10f64.powi(decade) * multiple;
            if (low..=high).contains(&ns.log10()) {
                svg.line("grid", (LEFT, y(ns)), (RIGHT, y(ns)));
                let label = Nanos(ns as u64).to_string().replace(".0", "");
                svg.text("axis", (LEFT - 5.0, y(ns) + 4.0), Anchor::End, &label);
            }
        }
    }
    let marks = [(0.301, "p50"), (1.0, "p90"), (2.0, "p99"), (3.0, "p99.9"), (4.0, "p99.99")];
    for (nines, name) in marks.into_iter().filter(|(nines, _)| *nines <= nines_max) {
        svg.line("grid", (x(nines), TOP), (x(nines), BOTTOM));
        svg.text("axis", (x(nines), BOTTOM + 15.0), Anchor::Middle, name);
    }
    let mut points = vec![(x(0.0), y(trips.min_ns.0.max(1) as f64))];
    let mut seen = 0.0;
    for (edge, count) in &trips.buckets {
        let at = y(edge.0.max(1) as f64);
        points.push((x(-(1.0 - seen / total).log10()), at));
        seen += *count as f64;
        let left = (1.0 - seen / total).max(0.5 / total);
        points.push((x(-left.log10()), at));
    }
    svg.path("curve", &points);
    svg.text("axis", (RIGHT, BOTTOM + 30.0), Anchor::End, "share of round trips at most this long");
    svg.finish(BOTTOM + 36.0)
}
