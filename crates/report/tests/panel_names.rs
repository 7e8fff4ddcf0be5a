//! What panels and their halves are called, in tables and above figures.

mod planted;

use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Level, TrialId};
use narrows_model::units::Unit;
use narrows_report::{Analysis, data, figures};
use planted::study;

/// Two placements, a panel for each of these combinations; round trips where a test is one.
fn panels(names: &[[&str; 3]]) -> StoredStudy {
    let mut all = study("place", &[], 6, None);
    all.study.reading.across = Some("place".into());
    for (number, levels) in names.iter().enumerate() {
        let one = study("place", &[10.0, 20.0], 6, None);
        for mut trial in one.trials {
            let id = TrialId(format!("{number}-{}", trial.id.0));
            let is_trip = levels[2].contains("round trip");
            for record in one.records.iter().filter(|record| record.trial == trial.id) {
                let mut record = record.clone();
                record.trial = id.clone();
                if is_trip {
                    let figures = &mut record.external.as_mut().expect("figures").figures;
                    (figures[0].unit, figures[0].value) = (Unit::Nanos, figures[0].value / 1e6);
                }
                all.records.push(record);
            }
            if is_trip {
                trial.kind = "tcp-rr".into();
            }
            let factors = ["beside", "in", "test"].into_iter().zip(levels);
            trial.levels.extend(factors.map(|(factor, level)| Level {
                factor: factor.to_owned(),
                level: (*level).to_owned(),
            }));
            (trial.label, trial.id) = (format!("{number} {}", trial.label), id);
            all.trials.push(trial);
        }
    }
    all
}

fn text(study: &StoredStudy) -> String {
    let text = narrows_report::formats::FORMATS.iter().find(|format| format.name == "text");
    (text.expect("a format").write)(&Analysis::of(study))
}

#[test]
fn half_stands_before_the_test_that_it_is_of() {
    let told = text(&panels(&[
        ["nothing", "system", "TCP stream"],
        ["nothing", "system", "TCP round trip, 64 B"],
        ["nothing", "container", "TCP stream"],
        ["nothing", "container", "TCP round trip, 64 B"],
    ]));
    assert!(told.contains("nothing, system, half of TCP round trip, 64 B"), "{told}");
    assert!(!told.contains("half of nothing"), "{told}");
    // Where all cells are round trips no factor tells what is measured.
    let told = text(&panels(&[
        ["nothing", "system", "a round trip"],
        ["5 streams", "system", "a round trip"],
    ]));
    assert!(told.contains("half of nothing, system, a round trip"), "{told}");
}

/// Texts of a figure.
fn texts(svg: &str) -> String {
    let all = svg.split("<text").skip(1).filter_map(|part| part.split('>').nth(1));
    all.filter_map(|part| part.split('<').next()).collect::<Vec<_>>().join(" ")
}

/// What tells two panels apart is often at the end of their names.
#[test]
fn names_above_a_joint_figure_are_told_to_their_end() {
    let names = [
        ["5 memory streams", "system", "TCP stream"],
        ["5 memory streams", "system", "TCP 8 streams"],
        ["5 memory streams", "container", "TCP stream"],
        ["5 memory streams", "container", "TCP 8 streams"],
    ];
    let joint = |names: &[[&str; 3]]| {
        let drawn = figures::all(&Analysis::of(&panels(names)));
        drawn.into_iter().find(|(name, _)| name.starts_with("joint-")).expect("a figure").1
    };
    let told = texts(&joint(&names));
    for name in names {
        assert!(told.contains(&name.join(", ")), "{name:?} in {told}");
    }
    // Names that no heading can hold are below, and numbers in their place.
    let long =
        "a name of so many words that four lines of a panel cannot have all of them ".repeat(5);
    let two = [[long.as_str(), "system", "TCP stream"], [&long, "system", "TCP 8 streams"]];
    let told = texts(&joint(&two));
    assert!(told.contains(" 1 ") && told.contains(" 2 "), "{told}");
    assert!(told.contains("1  a name of so many words"), "{told}");
}

/// What no cell of a level reached stands where its figures would, and pushes no other column away.
#[test]
fn a_column_of_nothing_is_one_of_numbers() {
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let table = [
        row(&["", "near", "far", "says"]),
        row(&["TCP", "9.4", "-", "-"]),
        row(&["UDP", "-", "-", "no"]),
    ];
    let is_number = |at| narrows_report::study::tabled::is_number(&table, at);
    assert_eq!([0, 1, 2, 3].map(is_number), [false, true, true, false]);
}

#[test]
fn a_panel_without_a_run_has_no_data() {
    let mut of = study("dimms", &[60.0, 61.0], 6, None);
    let files = |of: &StoredStudy| {
        let all = data::all(&Analysis::of(of));
        all.iter().filter(|(name, _)| name.starts_with("panel-")).count()
    };
    assert_eq!(files(&of), 1);
    of.records.clear();
    assert_eq!(files(&of), 0);
}

/// Outputs of two tools, each with factors of its own, at the same levels of a common one.
fn of_two_tools(own: [(&str, &str, &str); 2]) -> StoredStudy {
    let mut all = study("dimms", &[], 6, None);
    all.study.reading.across = Some("dimms".into());
    for (number, (kind, factor, level)) in own.into_iter().enumerate() {
        let one = study("dimms", &[10.0, 20.0], 6, None);
        for mut trial in one.trials {
            let id = TrialId(format!("{number}-{}", trial.id.0));
            let runs = one.records.iter().filter(|record| record.trial == trial.id).cloned();
            all.records.extend(runs.map(|run| Record { trial: id.clone(), ..run }));
            trial.levels.push(Level { factor: factor.to_owned(), level: level.to_owned() });
            (trial.kind, trial.id) = (kind.into(), id);
            all.trials.push(trial);
        }
    }
    all
}

#[test]
fn panels_of_several_tools_are_named_by_what_each_measured() {
    let names = |study: &StoredStudy| {
        let analysis = Analysis::of(study);
        let panels = &analysis.study.as_ref().expect("levels").panels;
        panels.iter().map(|panel| panel.name.clone()).collect::<Vec<_>>()
    };
    let (rdma, tcp) = (("rdma-write-stream", "length", "65536"), ("tcp-stream", "streams", "4"));
    let wanted = ["rdma-write-stream, length 65536", "tcp-stream, streams 4"];
    assert_eq!(names(&of_two_tools([rdma, tcp])), wanted);
    // One factor of both says it, as a study's tests do.
    let (rdma, tcp) =
        (("rdma-write-stream", "test", "RDMA write"), ("tcp-stream", "test", "TCP stream"));
    assert_eq!(names(&of_two_tools([rdma, tcp])), ["RDMA write", "TCP stream"]);
    // Of one kind its factors are all that tells cells apart.
    let (one, four) = (("tcp-stream", "length", "64"), ("tcp-stream", "streams", "4"));
    assert_eq!(names(&of_two_tools([one, four])), ["length 64", "streams 4"]);
}
