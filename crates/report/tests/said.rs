//! Figures in words that are easily taken for something else: rates of nothing, and round trips.

mod planted;

use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_report::{Analysis, data, words};
use planted::study;

fn text(study: &StoredStudy) -> String {
    let named = narrows_report::formats::FORMATS.iter().find(|known| known.name == "text");
    let written = (named.expect("a format").write)(&Analysis::of(study));
    let lines: Vec<String> =
        written.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.join("\n")
}

/// Nothing in all runs of one cell, and in four of seven of another.
#[test]
fn a_rate_of_nothing_is_no_measurement_of_zero() {
    let mut study = study("neighbours", &[9.0, 0.0, 8.0], 7, None);
    let some = study.trials[2].id.clone();
    for record in study.records.iter_mut().filter(|record| record.trial == some) {
        let figure = record.external.as_mut().and_then(|external| external.figures.first_mut());
        figure.expect("a figure").value *= if record.repeat < 3 { 0.0 } else { 1.0 };
    }
    let told = text(&study);
    assert!(!told.contains("0.000") && !told.contains("0.00 "), "{told}");
    assert!(told.contains("\n2 nothing arrived nothing arrived 7"), "{told}");
    assert!(told.contains(" 0 to 7.920 Gb/s 7"), "{told}");
    // Beside "nothing arrived" the two ends of an interval have nothing to add but that.
    let unit = Unit::BitsPerSecond;
    assert_eq!(words::ends(0.0, 0.0, unit, words::value), "in any run");
    assert_eq!(words::ends(0.0, 5e9, unit, words::value), "0 to 5.00 Gb/s");
}

/// Forty microseconds there and back.
#[test]
fn the_half_of_a_round_trip_stands_beside_it() {
    let mut study = study("size", &[40e-6, 50e-6, 60e-6], 7, None);
    for trial in &mut study.trials {
        trial.kind = "tcp-rr".into();
    }
    for record in &mut study.records {
        let figure = record.external.as_mut().and_then(|external| external.figures.first_mut());
        figure.expect("a figure").unit = Unit::Nanos;
    }
    let analysis = Analysis::of(&study);
    let panel = &analysis.study.as_ref().expect("a study").panels[0];
    let median = panel.rows[0].median.expect("a median");
    assert!((39e3..41e3).contains(&median), "{median}");
    let told = text(&study);
    assert!(told.contains("half of round trip"), "{told}");
    let row = told.lines().find(|line| line.starts_with("1 ")).expect("a row");
    let words: Vec<&str> = row.split(' ').collect();
    let (whole, half): (f64, f64) = (words[1].parse().expect(row), words[3].parse().expect(row));
    assert_eq!((words[2], words[4]), ("us", "us"));
    assert!((whole - 2.0 * half).abs() <= 0.01, "{row}");
    let files = data::all(&analysis);
    let (_, csv) = files.iter().find(|(name, _)| name.starts_with("panel-0")).expect("data");
    assert!(csv.lines().next().is_some_and(|head| head.ends_with(",half_of_median")), "{csv}");
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.ends_with(&format!(",{}", median / 2.0)), "{row}");
    // Of rates there is no half.
    let rates = planted::study("size", &[4.0, 5.0, 6.0], 7, None);
    assert!(!text(&rates).contains("half of"));
}
