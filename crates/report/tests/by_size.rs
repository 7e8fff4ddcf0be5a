//! Tests over message sizes: one figure with both axes logarithmic, and what it was drawn from.

mod planted;

use narrows_model::Bytes;
use narrows_model::study::StoredStudy;
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
