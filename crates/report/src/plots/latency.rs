//! Round trips over time: the median of each slice, between the shortest and the 90th percentile,
//! on the phases as shaded grounds. The scale of times is logarithmic: an idle path and a full
//! queue are thousandfold apart.

use super::curves::{BOTTOM, LEFT, RIGHT, Scale, TOP};
use super::svg::Anchor;
use super::{Svg, WIDTH, ticks};
use narrows_model::Nanos;
use narrows_stats::{LoadedLatency, Phase, PhaseTimes, TripSlice};

/// Labels along the axis of time.
const TIME_LABELS: usize = 6;
/// Height of the marks of requests without an answer.
const MARK: f64 = 4.0;

/// Draws it; nothing without round trips.
pub fn draw(title: &str, latency: &LoadedLatency) -> String {
    let times = || latency.slices.iter().filter_map(|slice| slice.times.as_ref());
    let Some(end) = latency.slices.last().filter(|_| times().next().is_some()) else {
        return String::new();
    };
    let x = Across { end_ns: (end.start_ns.0 + latency.slice_ns.0) as f64 };
    let ends = times().flat_map(|of| [of.min_ns, of.p90_ns.unwrap_or(of.max_ns)]);
    let y = Scale::of(ends.map(|ns| ns.0 as f64), BOTTOM, TOP);
    let mut svg = Svg::new(WIDTH, title);
    latency.phases.iter().for_each(|one| ground(&mut svg, &x, one));
    for ns in (3..=10).map(|power| 10f64.powi(power)).filter(|ns| y.holds(*ns)) {
        svg.line("grid", (LEFT, y.at(ns)), (RIGHT, y.at(ns)));
        let says = Nanos(ns as u64).to_string();
        svg.text("axis", (LEFT - 4.0, y.at(ns) + 4.0), Anchor::End, &says);
    }
    for slices in stretches(&latency.slices) {
        stretch(&mut svg, &x, &y, latency.slice_ns, slices);
    }
    for slice in latency.slices.iter().filter(|slice| slice.unanswered > 0) {
        let left = x.middle(slice, latency.slice_ns);
        svg.line("measured", (left, TOP), (left, TOP + MARK));
    }
    for seconds in ticks(0.0, x.end_ns / 1e9, TIME_LABELS) {
        let says = format!("{seconds:.0} s");
        svg.text("axis", (x.at(seconds * 1e9), BOTTOM + 16.0), Anchor::Middle, &says);
    }
    svg.finish(BOTTOM + 24.0)
}

/// Where times of a run are drawn.
struct Across {
    end_ns: f64,
}

impl Across {
    fn at(&self, ns: f64) -> f64 {
        LEFT + ns / self.end_ns.max(1.0) * (RIGHT - LEFT)
    }

    fn middle(&self, slice: &TripSlice, length: Nanos) -> f64 {
        self.at(slice.start_ns.0 as f64 + length.0 as f64 / 2.0)
    }
}

/// The ground of a phase, with its name.
fn ground(svg: &mut Svg, x: &Across, one: &PhaseTimes) {
    let (from, until) = (x.at(one.from_ns.0 as f64), x.at(one.until_ns.0 as f64));
    let class = match one.phase {
        Phase::Idle | Phase::After => "alike",
        Phase::Up | Phase::Down => "worse1",
        Phase::Both => "worse2",
    };
    let median = one.times.and_then(|times| times.p50_ns);
    let tip = median.map_or(String::new(), |median| format!("{}: median {median}", one.phase));
    svg.rect(class, (from, TOP), (until - from, BOTTOM - TOP), &tip);
    svg.text("axis", (f64::midpoint(from, until), TOP - 3.0), Anchor::Middle, one.phase.word());
}

/// Slices one after the other that have round trips.
fn stretches(slices: &[TripSlice]) -> impl Iterator<Item = &[TripSlice]> {
    let parts = slices.split(|slice| slice.times.is_none() || slice.median_ns.is_none());
    parts.filter(|part| !part.is_empty())
}

fn stretch(svg: &mut Svg, x: &Across, y: &Scale, length: Nanos, slices: &[TripSlice]) {
    let point = |slice: &TripSlice, ns: Nanos| (x.middle(slice, length), y.at(ns.0 as f64));
    let times = || slices.iter().filter_map(|slice| Some((slice, slice.times?)));
    let low = times().map(|(slice, of)| point(slice, of.min_ns));
    let high = times().map(|(slice, of)| point(slice, of.p90_ns.unwrap_or(of.max_ns)));
    let band: Vec<(f64, f64)> = low.chain(high.rev()).collect();
    svg.polygon("band", &band, "");
    let medians = slices.iter().filter_map(|slice| Some(point(slice, slice.median_ns?)));
    svg.path("line0", &medians.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_stats::TripTimes;

    fn slice(at: u64, took_ms: Option<u64>) -> TripSlice {
        let took = took_ms.map(Nanos::from_millis);
        let times = took.map(|ns| TripTimes {
            min_ns: ns,
            p50_ns: Some(ns),
            p90_ns: Some(ns),
            p99_ns: None,
            max_ns: ns,
        });
        let start_ns = Nanos::from_millis(250 * at);
        let unanswered = u64::from(took.is_none());
        TripSlice { start_ns, requests: 1, unanswered, median_ns: took, times }
    }

    fn latency(slices: Vec<TripSlice>) -> LoadedLatency {
        let slice_ns = Nanos::from_millis(250);
        let (phases, grade, worst, per_minute) = (Vec::new(), None, None, None);
        LoadedLatency { runs: 1, grade, worst, per_minute, phases, slice_ns, slices }
    }

    #[test]
    fn times_without_an_answer_part_the_line_and_are_marked() {
        let took = [Some(1), Some(1), None, Some(100), Some(100)];
        let slices = took.into_iter().zip(0..).map(|(took, at)| slice(at, took)).collect();
        let drawn = draw("round trips", &latency(slices));
        assert_eq!(drawn.matches("class=\"line0\"").count(), 2, "{drawn}");
        assert_eq!(drawn.matches("class=\"measured\"").count(), 1, "{drawn}");
        assert!(drawn.contains(">10.0 ms<"), "a line for each power of ten: {drawn}");
        assert_eq!(draw("nothing", &latency(Vec::new())), "");
        assert_eq!(draw("no answer", &latency(vec![slice(0, None)])), "");
    }
}
