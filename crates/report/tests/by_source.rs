//! Populations of memory as a published table has them, in words of its own.

mod planted;

use narrows_model::study::{StoredStudy, Title};
use narrows_model::trial::Level;
use narrows_report::joint::{self, Part};
use narrows_report::{Analysis, figures};
use planted::study;

/// A table of the medians by DIMMs, with what it says of both processors.
fn table(rows: &[(f64, &str, &str)], runs: u32) -> StoredStudy {
    let medians: Vec<f64> = rows.iter().map(|(median, ..)| *median).collect();
    let mut of = study("dimms", &medians, runs, None);
    for (trial, (_, first, second)) in of.trials.iter_mut().zip(rows) {
        let note = |(factor, level): (&str, &&str)| Level {
            factor: factor.to_owned(),
            level: (*level).to_owned(),
        };
        trial.notes = [("cpu1", first), ("cpu2", second)].map(note).to_vec();
    }
    of
}

fn text(analysis: &Analysis<'_>) -> String {
    let text = narrows_report::formats::FORMATS.iter().find(|format| format.name == "text");
    (text.expect("a format").write)(analysis)
}

/// LP1241's table 1: nothing in any row of the second processor.
const ONE: [(f64, &str, &str); 3] =
    [(61.15, "Unbalanced", "None"), (88.25, "Balanced", "None"), (63.6, "Unbalanced", "None")];
/// Of its table 2: where the second processor has memory in other rows, `None` is a lack.
const TWO: [(f64, &str, &str); 3] =
    [(82.1, "Balanced", "None"), (90.8, "Balanced", "Unbalanced"), (90.75, "Balanced", "Balanced")];

/// Whether each row is balanced, in order.
fn even(analysis: &Analysis<'_>) -> Vec<Option<bool>> {
    let panels = analysis.study.as_ref().expect("a study").panels.iter();
    panels.flat_map(|panel| panel.rows.iter().map(|row| row.even)).collect()
}

#[test]
fn a_processor_without_memory_in_any_row_is_not_in_the_class() {
    let (one, two) = (table(&ONE, 8), table(&TWO, 8));
    assert_eq!(even(&Analysis::of(&one)), [Some(false), Some(true), Some(false)]);
    assert_eq!(even(&Analysis::of(&two)), [Some(false), Some(false), Some(true)]);
    // Shown as one they are what they are alone: the other file's second processor is none of this.
    let parts =
        [("one", one), ("two", two)].map(|(name, stored)| Part { name: name.to_owned(), stored });
    let joined = joint::merged(&parts).expect("one axis");
    let analysis = Analysis::joint(&joined, &parts, &[]);
    let wanted = [false, true, false, false, false, true].map(Some);
    assert_eq!(even(&analysis), wanted);
    let told = text(&analysis);
    let rows: Vec<Vec<&str>> = told
        .lines()
        .skip_while(|line| *line != "Medians")
        .skip(1)
        .take(2)
        .map(|row| row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let columns = ["one", "two"].map(|file| [1, 2].map(|cpu| format!("memory, CPU {cpu}, {file}")));
    assert_eq!(rows[0][1..5], columns.concat(), "{told}");
    assert_eq!(rows[1][1..5], ["Unbalanced", "None", "Balanced", "None"], "{told}");
    // A source that says nothing but that there is none says nothing of balance.
    let none = table(&[(60.0, "None", "None"), (61.0, "None", "None")], 8);
    assert_eq!(even(&Analysis::of(&none)), [None, None]);
}

/// A host without RDMA has no figure of its own there, and the published one keeps its unit.
#[test]
fn a_reference_beside_cells_that_did_not_run_has_its_unit() {
    let published = study("dimms", &[96.8, 96.8], 1, None);
    let mut own = study("dimms", &[1.0, 1.0], 1, None);
    own.records.clear();
    let analysis = Analysis::beside(&own, &[published]);
    let told = text(&analysis);
    let row = told.lines().find(|line| line.starts_with("  1 ")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["1", "-", "-", "0", "95.83", "Gb/s", "-"], "{told}");
    let drawn = figures::all(&analysis);
    let (_, panel) = drawn.iter().find(|(name, _)| name.starts_with("panel-")).expect("a figure");
    assert!(panel.contains(">Gb/s<") && panel.contains("reference: 95.8 Gb/s"), "{panel}");
}

/// Two files of one and of two processors have the same levels, and each has a table of its own.
#[test]
fn a_reference_of_one_file_stands_beside_none_of_the_other() {
    let parts = ["one", "two"].map(|name| {
        let stored = study("dimms", &[60.0, 61.0], 8, None);
        Part { name: name.to_owned(), stored }
    });
    let joined = joint::merged(&parts).expect("one axis");
    let published =
        || [study("dimms", &[90.0, 91.0], 1, None), study("dimms", &[40.0, 41.0], 1, None)];
    let beside = |references: &[StoredStudy]| {
        let analysis = Analysis::joint(&joined, &parts, references);
        let results = analysis.study.as_ref().expect("a study");
        let rows = results.panels.iter().flat_map(|panel| &panel.rows);
        let whole = |row: f64| (row / 1e9 / 0.99).round();
        let told = rows.map(|row| row.beside.map(whole)).collect::<Vec<_>>();
        (told, results.reference.map(|of| of.with_cell), text(&analysis))
    };
    let (none, with_cell, told) = beside(&published());
    assert_eq!((none, with_cell), (vec![None; 4], Some(0)));
    assert!(told.contains("--reference NAME=FILE"), "{told}");
    let [first, second] = published();
    let each = [joint::of_file(first, "two"), joint::of_file(second, "one")];
    let (told, with_cell, _) = beside(&each);
    assert_eq!((told, with_cell), (vec![Some(40.0), Some(41.0), Some(90.0), Some(91.0)], Some(4)));
}

#[test]
fn a_reference_is_of_the_file_or_the_study_that_has_its_name() {
    let part = |name: &str, title: &str| {
        let mut stored = study("dimms", &[60.0], 8, None);
        stored.study.title = Some(Title { name: title.to_owned(), about: String::new() });
        Part { name: name.to_owned(), stored }
    };
    let parts = [part("june", "one-processor"), part("july", "two-processors")];
    assert_eq!(joint::whose(&parts, "two-processors"), Some("july"));
    assert_eq!(joint::whose(&parts, "june"), Some("june"));
    assert_eq!(joint::whose(&parts, "august"), None);
    let parts = [part("june", "one-processor"), part("july", "one-processor")];
    assert_eq!(joint::whose(&parts, "one-processor"), None, "of both");
}

/// Published medians are told apart from outliers and boxes, and stand in the table on top.
#[test]
fn references_have_a_mark_a_key_and_a_column() {
    let mut published = study("dimms", &[90.0, 91.0], 1, None);
    for record in &mut published.records {
        let external = record.external.as_mut().expect("figures");
        external.version = Some("Lenovo Press LP1241".to_owned());
    }
    let mut own = study("dimms", &[60.0, 61.0], 8, None);
    let mut more = study("dimms", &[50.0, 51.0], 8, None);
    for (of, protocol) in [(&mut own, "TCP"), (&mut more, "UDP"), (&mut published, "TCP")] {
        for trial in &mut of.trials {
            let id = format!("{protocol}-{}", trial.id.0);
            of.records.iter_mut().filter(|one| one.trial == trial.id).for_each(|one| {
                one.trial.0.clone_from(&id);
            });
            trial.id.0 = id;
            trial.levels.push(Level { factor: "protocol".into(), level: protocol.into() });
        }
    }
    own.study.reading.across = Some("dimms".into());
    own.trials.extend(more.trials);
    own.records.extend(more.records);
    let analysis = Analysis::beside(&own, &[published]);
    let drawn = figures::all(&analysis);
    for name in ["panel-0", "joint-"] {
        let (_, svg) = drawn.iter().find(|(known, _)| known.starts_with(name)).expect("a figure");
        // Of two cells, and in the key.
        assert_eq!(svg.matches("class=\"beside\"").count(), 3, "{name}: {svg}");
        assert_eq!(svg.matches("<polygon").count(), 3, "{name}: {svg}");
        assert!(svg.contains(">reference: Lenovo Press LP1241<"), "{name}: {svg}");
    }
    let (_, other) = drawn.iter().find(|(name, _)| name.starts_with("panel-1")).expect("a figure");
    assert!(!other.contains("reference:"), "{other}");
    let told = text(&analysis);
    let head = told.lines().skip_while(|line| *line != "Medians").nth(1).expect("a head");
    let columns = head.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    assert_eq!(columns.collect::<Vec<_>>(), ["dimms", "TCP", "TCP, reference", "UDP"], "{told}");
}

/// Names of levels that are cut alike would be one to the eye.
#[test]
fn long_levels_of_a_panel_are_letters_with_a_key() {
    let mut of = study("test", &[60.0, 61.0, 62.0, 63.0], 8, None);
    let names =
        ["memory read, 1 thread", "memory read, 2 threads", "memory copy", "memory copy, all"];
    for (trial, name) in of.trials.iter_mut().zip(names) {
        (*name).clone_into(&mut trial.levels[0].level);
    }
    let drawn = figures::all(&Analysis::of(&of));
    let (_, svg) = drawn.iter().find(|(name, _)| name.starts_with("panel-0")).expect("a figure");
    for (letter, name) in ["A", "B", "C", "D"].iter().zip(names) {
        assert!(svg.contains(&format!(">{letter}<")), "{svg}");
        assert!(svg.contains(&format!(">{letter}  {name}<")), "{svg}");
    }
    assert!(!svg.contains('…'), "{svg}");
}

/// The figure of a class is the median of its runs, and not the range of its rows.
#[test]
fn a_class_of_memory_has_its_median() {
    let told = text(&Analysis::of(&table(&ONE, 1)));
    // Of 61.15 and 63.6 Gb/s, each a hundredth less in the only run.
    let line = "medians by memory: balanced 87.37 Gb/s (dimms 2); unbalanced 61.75 Gb/s \
                (60.54 to 62.96 Gb/s *; dimms 1, 3)";
    assert!(told.contains(line), "{told}");
}

/// Twice the same figure would be taken for an interval.
#[test]
fn one_figure_has_no_interval() {
    let of = study("dimms", &[60.0], 1, None);
    for name in ["html", "markdown"] {
        let format = narrows_report::formats::FORMATS.iter().find(|format| format.name == name);
        let told = (format.expect("a format").write)(&Analysis::of(&of));
        assert!(!told.contains("59.4 to 59.4"), "{name}: {told}");
    }
    let answer = narrows_report::answer::of(&Analysis::of(&of)).expect("an answer");
    assert_eq!(answer.spread, "1 run");
}
