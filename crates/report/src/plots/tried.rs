//! What a search tried: the share that was lost and how long packets took, by the rate or the burst
//! (RFC 2544, sections 26.2 and 26.3). Between what passes and what loses lies the answer, shaded.

use super::curves::{LEFT, RIGHT, Scale, TOP, classes, key, ordinate};
use super::svg::Anchor;
use super::{Svg, WIDTH, ticks};
use narrows_model::Nanos;
use narrows_model::units::Unit;
use narrows_stats::{Percentiles, RatePoint, Searched};

/// Where the shares end, and the times begin and end.
const LOST_BOTTOM: f64 = 104.0;
const TIMES_TOP: f64 = 124.0;
const TIMES_BOTTOM: f64 = 214.0;
/// Labels along the axes.
const LABELS: usize = 5;
/// What is drawn of the times.
type Time = (&'static str, fn(&Percentiles) -> Option<Nanos>);
const TIMES: [Time; 3] = [
    ("one way, median", |of| of.p50_ns),
    ("one way, 99 %", |of| of.p99_ns),
    ("one way, longest", |of| Some(of.max_ns)),
];

/// The horizontal axis.
struct Across {
    low: f64,
    high: f64,
}

impl Across {
    fn of(curve: &[RatePoint]) -> Option<Self> {
        let (first, last) = (curve.first()?.asked as f64, curve.last()?.asked as f64);
        let spare = ((last - first) * 0.04).max(last * 0.01);
        Some(Self { low: (first - spare).max(0.0), high: last + spare })
    }

    fn at(&self, asked: f64) -> f64 {
        let share = (asked - self.low) / (self.high - self.low).max(1e-9);
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// Draws it; nothing of fewer than two rates. `says` is how a rate or burst is told.
pub fn draw(title: &str, searched: &Searched, says: impl Fn(u64) -> String) -> String {
    let curve = &searched.curve;
    let Some(x) = Across::of(curve).filter(|_| curve.len() > 1) else { return String::new() };
    let mut svg = Svg::new(WIDTH, title);
    let is_timed = curve.iter().any(|point| point.delays.is_some());
    let bottom = if is_timed { TIMES_BOTTOM } else { LOST_BOTTOM };
    if let Some((passes, loses)) = searched.passes.zip(searched.loses) {
        let (left, right) = (x.at(passes as f64), x.at(loses as f64));
        let tip = format!("{} pass, {} lose", says(passes), says(loses));
        svg.rect("band", (left, TOP), ((right - left).max(1.0), bottom - TOP), &tip);
    }
    lost(&mut svg, &x, curve, &says);
    if is_timed {
        times(&mut svg, &x, curve);
    }
    for asked in ticks(x.low, x.high, LABELS) {
        let label = says(asked.round() as u64);
        let label = label.strip_suffix(" packets/s").unwrap_or(&label).to_owned();
        svg.text("axis", (x.at(asked), bottom + 15.0), Anchor::Middle, &label);
    }
    let unit = if searched.back_to_back { "burst" } else { "packets a second that were asked for" };
    svg.text("axis", (RIGHT, bottom + 29.0), Anchor::End, unit);
    let names = ["lost, median"].into_iter().chain(TIMES.map(|(name, _)| name));
    let names: Vec<&str> = names.take(if is_timed { 4 } else { 1 }).collect();
    let height = key(&mut svg, &names, bottom + 44.0);
    svg.finish(height)
}

/// The share that was lost, in per cent: the median, and over it the most that a run lost.
fn lost(svg: &mut Svg, x: &Across, curve: &[RatePoint], says: &impl Fn(u64) -> String) {
    let known = || curve.iter().filter_map(|point| Some((point, point.lost_share? * 100.0)));
    let most = |point: &RatePoint| point.lost_share_max.unwrap_or(0.0) * 100.0;
    let high = known().map(|(point, lost)| lost.max(most(point))).fold(0.0, f64::max);
    // Where nothing is lost the line lies on the axis of one per mille.
    let high = if high > 0.0 { high * 1.08 } else { 0.1 };
    let y = |percent: f64| LOST_BOTTOM - (percent / high).min(1.0) * (LOST_BOTTOM - TOP);
    for tick in ticks(0.0, high, 4) {
        svg.line("grid", (LEFT, y(tick)), (RIGHT, y(tick)));
        let label = format!("{} %", (tick * 1e6).round() / 1e6);
        svg.text("axis", (LEFT - 4.0, y(tick) + 4.0), Anchor::End, &label);
    }
    let (line, dot) = classes(0);
    let places: Vec<(f64, f64)> =
        known().map(|(point, lost)| (x.at(point.asked as f64), y(lost))).collect();
    for ((point, lost), place) in known().zip(&places) {
        svg.line("run", *place, (place.0, y(most(point))));
        let (runs, most) = (point.runs, most(point));
        let tip =
            format!("{}: {lost:.4} % lost, at most {most:.4} %, {runs} runs", says(point.asked));
        svg.dot(&dot, *place, &tip);
    }
    svg.path(&line, &places);
}

/// How long packets took, on a logarithmic scale.
fn times(svg: &mut Svg, x: &Across, curve: &[RatePoint]) {
    let of = |time: fn(&Percentiles) -> Option<Nanos>| {
        let known = curve.iter().filter_map(move |point| {
            Some((point.asked as f64, time(point.delays.as_ref()?)?.0 as f64))
        });
        known.collect::<Vec<(f64, f64)>>()
    };
    let all = TIMES.iter().flat_map(|(_, time)| of(*time)).map(|(_, ns)| ns);
    let y = Scale::of(all, TIMES_BOTTOM, TIMES_TOP);
    ordinate(svg, &y, Unit::Nanos);
    for (at, (name, time)) in (1..).zip(TIMES) {
        let (line, dot) = classes(at);
        let places: Vec<(f64, f64, f64)> =
            of(time).into_iter().map(|(asked, ns)| (x.at(asked), y.at(ns), ns)).collect();
        svg.path(&line, &places.iter().map(|(x, y, _)| (*x, *y)).collect::<Vec<_>>());
        for (x, y, ns) in places {
            svg.dot(&dot, (x, y), &format!("{name}: {}", Nanos(ns as u64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_stats::SearchEnd;

    fn point(asked: u64, lost: f64) -> RatePoint {
        RatePoint {
            asked,
            sent: Some(asked as f64),
            runs: 3,
            passed: u32::from(lost == 0.0) * 3,
            lost_share: Some(lost),
            lost_share_max: Some(2.0 * lost),
            delays: None,
        }
    }

    fn searched(curve: Vec<RatePoint>) -> Searched {
        Searched {
            of: "64 B".into(),
            back_to_back: false,
            throughput_packets_per_second: None,
            frame_bytes: 64,
            end: SearchEnd::Found,
            passes: Some(200),
            loses: Some(300),
            confidence_percent: 95.0,
            loss_percent: 0.0,
            runs: 9,
            curve,
        }
    }

    #[test]
    fn losses_rise_with_the_rate_and_the_answer_is_shaded_between_what_passes_and_what_loses() {
        let curve = vec![point(100, 0.0), point(200, 0.0), point(300, 0.01)];
        let svg = draw("lost", &searched(curve.clone()), |rate| format!("{rate}/s"));
        assert!(svg.contains("200/s pass, 300/s lose"), "{svg}");
        assert!(svg.contains("300/s: 1.0000 % lost, at most 2.0000 %, 3 runs"), "{svg}");
        assert!(!svg.contains("one way"), "nothing was timed: {svg}");
        // x from 92 to 308 over 58 to 352: 200 stands in the middle.
        assert!(svg.contains("205.0"), "{svg}");
        assert_eq!(draw("lost", &searched(curve[..1].to_vec()), |_| String::new()), "");
        assert_eq!(draw("lost", &searched(Vec::new()), |_| String::new()), "");
        let unfinished = Searched { loses: None, ..searched(curve) };
        assert!(!draw("lost", &unfinished, |_| String::new()).contains("band"));
    }
}
