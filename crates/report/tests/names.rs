//! Names of figures' files: what a label has in it must not reach a shell.

mod planted;

use narrows_model::trial::NetworkPath;
use narrows_report::{Analysis, data, figures};
use planted::study;

#[test]
fn names_of_files_are_plain_and_cells_that_never_ran_have_none() {
    let mut study = study("dimms", &[60.0, 90.0, 70.0], 7, None);
    for (trial, label) in study.trials.iter_mut().zip([
        "tcp-stream Tom's cell, $(id) of eight long words and one more",
        "tcp-stream never ran",
        "tcp-stream Tom's cell, $(id) of eight long words and another",
    ]) {
        trial.label = label.to_owned();
        trial.path = NetworkPath::Namespaces;
    }
    let never = study.trials[1].id.clone();
    study.records.retain(|record| record.trial != never);
    let analysis = Analysis::of(&study);
    let labels: Vec<&str> =
        analysis.predictions.iter().filter_map(|one| one.cell.as_deref()).collect();
    assert!(labels.contains(&"tcp-stream never ran"), "a prediction without a figure: {labels:?}");
    let drawn = figures::all(&analysis);
    let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
    let ceilings = names.iter().filter(|name| name.starts_with("ceilings-")).count();
    assert!(ceilings >= 2 && !names.iter().any(|name| name.contains("never")), "{names:?}");
    let files = data::all(&analysis);
    for name in names.iter().copied().chain(files.iter().map(|(name, _)| name.as_str())) {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(plain), "{name:?}");
        assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{name} in {names:?}");
    }
}
