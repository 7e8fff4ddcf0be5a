//! Tests over message sizes: one figure with both axes logarithmic, and what it was drawn from.

mod kept;
mod planted;

use narrows_model::Bytes;
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_report::plots::curves::{Point, Series, draw};
use narrows_report::{Analysis, data, figures};
use planted::study;

const SIZES: [u64; 4] = [64, 1024, 16_384, 262_144];

/// Four sizes of one test, ten times as fast at each.
fn by_size() -> StoredStudy {
    let mut study = study("size", &[0.1, 1.0, 10.0, 90.0], 8, None);
    for (trial, size) in study.trials.iter_mut().zip(SIZES) {
        trial.params.message_bytes = Bytes(size);
    }
    study
}

#[test]
fn sizes_make_a_figure_with_logarithmic_axes() {
    let study = by_size();
    kept::is_as_kept("by-size", &study);
    let analysis = Analysis::of(&study);
    let drawn = figures::all(&analysis);
    let (_, svg) =
        drawn.iter().find(|(name, _)| name.starts_with("by-size-throughput")).expect("a figure");
    // Equal ratios are equal steps: the first three medians lie on a straight line.
    let points = svg.split("points=\"").nth(1).and_then(|rest| rest.split('"').next());
    let points: Vec<(f64, f64)> = points
        .expect("a line")
        .split(' ')
        .filter_map(|pair| pair.split_once(','))
        .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
        .collect();
    assert_eq!(points.len(), SIZES.len());
    let step = |at: usize| (points[at + 1].0 - points[at].0, points[at].1 - points[at + 1].1);
    let ((_, up), (_, up_again)) = (step(0), step(1));
    assert!(up > 10.0 && (up - up_again).abs() < 1.0, "{points:?}");
    assert!((step(0).0 - step(1).0).abs() < 1.0, "{points:?}");
    let files = data::all(&analysis);
    let (_, csv) =
        files.iter().find(|(name, _)| name.starts_with("by-size-throughput")).expect("its data");
    let first = csv.lines().nth(1).expect("a row");
    assert!(first.contains(",64,") && first.contains("bit/s"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + SIZES.len());
    // Whatever has data has a figure of that name.
    for (name, _) in &files {
        assert!(drawn.iter().any(|(figure, _)| figure == name), "{name}");
    }
}

#[test]
fn cells_of_one_size_make_none() {
    let study = study("DIMMs", &[60.0, 90.0, 90.0], 8, None);
    let drawn = figures::all(&Analysis::of(&study));
    assert!(!drawn.iter().any(|(name, _)| name.starts_with("by-size")));
}

/// Left end, upper end, width and height of each rectangle of a class that begins so.
fn rects(svg: &str, class: &str) -> Vec<[f64; 4]> {
    let of = |tag: &str, name: &str| -> f64 {
        let value =
            tag.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.and_then(|value| value.parse().ok()).expect("a number")
    };
    let tags = svg.split("<rect ").skip(1).filter(|tag| tag.starts_with(class));
    tags.map(|tag| [of(tag, "x"), of(tag, "y"), of(tag, "width"), of(tag, "height")]).collect()
}

/// As many tests and sizes as there may be, and sizes that are near each other.
#[test]
fn bars_of_cpu_stay_within_the_frame_and_beside_each_other() {
    let powers: Vec<u64> = (6..19).step_by(2).map(|power| 1 << power).collect();
    for (tests, sizes) in [
        (8, powers.clone()),
        (1, powers.clone()),
        (14, powers),
        (24, (6..30).map(|power| 1 << power).collect()),
        (8, vec![64, 1472, 1500, 9000]),
        (8, vec![64]),
    ] {
        let point = |size: &u64| Point {
            size: Bytes(*size),
            median: 1e9,
            low: 0.9e9,
            high: 1.1e9,
            cpu: [Some(1.0), Some(1.0)],
        };
        let series: Vec<Series> = (0..tests)
            .map(|at| Series { name: at.to_string(), points: sizes.iter().map(point).collect() })
            .collect();
        let bars = rects(&draw("planted", Unit::BitsPerSecond, &series), "class=\"dot");
        assert_eq!(bars.len(), 2 * tests * sizes.len());
        // Coordinates are written in tenths.
        let written = 0.11;
        for (at, [x, y, width, _]) in bars.iter().enumerate() {
            let within = *x >= 58.0 - written && x + width <= 352.0 + written;
            assert!(within, "{tests} tests, {sizes:?}: {x} + {width} beyond the frame");
            assert!(*width > 0.0, "{tests} tests, {sizes:?}: no width");
            for [other, row, wide, _] in bars.iter().skip(at + 1).filter(|bar| bar[1] == *y) {
                let apart = x + width <= other + written || other + wide <= x + written;
                assert!(apart, "{tests} tests, {sizes:?}: {x} and {other} at {row} overlap");
            }
        }
    }
}
