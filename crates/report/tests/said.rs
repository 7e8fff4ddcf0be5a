//! Figures in words that are easily taken for something else: rates of nothing.

mod planted;

use narrows_model::study::StoredStudy;
use narrows_report::Analysis;
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
}
