//! What a study with runs enough says of its levels, and what it recommends.

mod kept;
mod planted;

use narrows_explain::limits::{Limit, PACE, Sureness};
use narrows_model::Fact;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Level;
use narrows_report::joint::{self, Part};
use narrows_report::{Analysis, answer};
use planted::{host, session, study};

fn text(study: &StoredStudy) -> String {
    let text = narrows_report::formats::FORMATS.iter().find(|format| format.name == "text");
    (text.expect("a format").write)(&Analysis::of(study))
}

/// Six populations as the study LP1241 has them.
const TCP: [f64; 6] = [61.15, 88.25, 63.6, 88.25, 60.8, 87.7];

#[test]
fn groups_of_thirty_runs_are_told_and_recommended() {
    let told = text(&study("DIMMs", &TCP, 30, Some(true)));
    assert!(told.contains("2 levels: 8"), "{told}");
    assert!(told.contains("(DIMMs 2, 4, 6); 6") && told.contains("(DIMMs 1, 3, 5)"), "{told}");
    assert!(told.contains("best for throughput (payload received): DIMMs 2, 4, 6"), "{told}");
}

#[test]
fn what_nobody_chooses_is_not_recommended() {
    let told = text(&study("size", &TCP, 30, None));
    assert!(told.contains("2 levels: 8") && !told.contains("best for"), "{told}");
}

#[test]
fn too_few_runs_are_inconclusive() {
    for runs in [1, 5] {
        let told = text(&study("DIMMs", &TCP, runs, Some(true)));
        assert!(told.contains("inconclusive: levels of DIMMs"), "{told}");
        assert!(!told.contains("best for") && !told.contains("levels:"), "{told}");
    }
}

#[test]
fn a_cell_that_reached_nothing_is_told_with_the_others() {
    let told = text(&study("size", &[0.0, 50.0], 8, None));
    assert!(told.contains("2 levels:") && told.contains("(size 1)"), "{told}");
}

/// All populations alike fast, so that nothing but memory parts them.
#[test]
fn no_recommendation_calls_a_fraction_of_the_channels_balanced() {
    let populations: [&[usize]; 6] =
        [&[0], &[0, 3], &[0, 1, 3], &[0, 1, 3, 4], &[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4, 5]];
    let medians = [60.0, 90.0, 90.01, 90.02, 60.01, 90.03];
    let mut of = study("DIMMs", &medians, 30, Some(true));
    let told = |of: &mut StoredStudy, model: Option<&str>| {
        of.sessions.clear();
        for (at, channels) in populations.iter().enumerate() {
            let mut modules = [0; 6];
            channels.iter().for_each(|channel| modules[*channel] = 32);
            let mut host = host(modules);
            if let Some(model) = model {
                host.cpu.model = narrows_model::Fact::known(model.to_owned(), "planted");
            }
            of.sessions.push(session(at as u32, &(at + 1).to_string(), host));
        }
        for record in &mut of.records {
            record.session = record.trial.0.parse().expect("a number");
        }
        let told = text(of).split_whitespace().collect::<Vec<_>>().join(" ");
        let from = told.find("best for").expect("a recommendation");
        told[from..].to_owned()
    };
    // What the paper recommends, in its words, and apart from it what uses all channels.
    let lenovo = told(&mut of, None);
    assert!(lenovo.contains("DIMMs 2, 3, 4, 6;"), "{lenovo}");
    assert!(lenovo.contains("balanced on every processor, all channels in use: 6;"), "{lenovo}");
    assert!(lenovo.contains("(balanced by LP1241), channels empty: 2, 4"), "{lenovo}");
    // Of processors that it does not speak of nobody calls a fraction balanced.
    let other = told(&mut of, Some("a processor that nobody knows"));
    assert!(other.contains("all channels in use: 6;"), "{other}");
    assert!(other.contains("but channels empty: 2, 3, 4"), "{other}");
    assert!(!other.contains("LP1241"), "{other}");
}

#[test]
fn one_module_on_one_controller_is_never_said_to_be_balanced() {
    let mut of = study("DIMMs", &[90.0, 60.0], 30, Some(true));
    of.sessions.push(session(0, "1", host([32, 0, 0, 0, 0, 0])));
    of.sessions.push(session(1, "2", host([32, 32, 0, 0, 0, 0])));
    for record in &mut of.records {
        record.session = record.trial.0.parse().expect("a number");
    }
    let told = text(&of);
    let from = told.find("best for").expect("a recommendation");
    let line = told[from..].lines().next().expect("a line");
    assert!(line.ends_with("DIMMs 1"), "{line}");
}

/// What LP1241 concludes from: the medians of balanced populations, and of the others; and of RDMA
/// one figure for all populations.
#[test]
fn medians_are_told_by_memory_and_of_all_runs_where_all_are_of_one_level() {
    let mut of = study("DIMMs", &[60.0, 90.0, 61.0], 8, Some(true));
    for (at, modules) in [[32, 0, 0, 0, 0, 0], [32; 6], [32, 32, 0, 0, 0, 0]].iter().enumerate() {
        of.sessions.push(session(at as u32, &(at + 1).to_string(), host(*modules)));
    }
    for record in &mut of.records {
        record.session = record.trial.0.parse().expect("a number");
    }
    let told = text(&of);
    let line = told.lines().find(|line| line.contains("medians by memory: ")).expect("a line");
    // Sixteen runs around 60 and 61 Gb/s, spread over 2 % each: half of all lie below 60.5.
    assert!(line.contains("balanced 89.89 Gb/s (89."), "{line}");
    assert!(line.contains("; DIMMs 2); unbalanced 60.") && line.contains(" to 6"), "{line}");
    assert!(line.ends_with("Gb/s; DIMMs 1, 3)"), "{line}");
    assert!(!told.contains("median of all runs"), "{told}");
    // Half of the runs of each of two cells lie below 96 Gb/s, half above.
    let told = text(&study("DIMMs", &[95.9, 96.1], 30, None));
    assert!(told.contains("one level: ") && told.contains("; median of all runs 95.9"), "{told}");
    assert!(!told.contains("medians by memory"), "nothing is known of it: {told}");
}

/// A column that is not there would be taken for one that nobody asked for.
#[test]
fn a_population_that_is_not_known_is_told_as_unknown() {
    let mut of = study("dimms", &[90.0, 60.0, 30.0, 20.0], 6, None);
    for (at, trial) in of.trials.iter_mut().enumerate() {
        let protocol = if at < 2 { "TCP" } else { "UDP" };
        trial.levels[0].level = (at % 2 + 1).to_string();
        trial.levels.push(Level { factor: "protocol".into(), level: protocol.into() });
    }
    let column = |of: &StoredStudy| {
        let told = text(of);
        let after: Vec<&str> = told.lines().skip_while(|line| *line != "Medians").collect();
        let rows = after.get(1..4).expect("a table");
        rows.iter()
            .map(|row| row.split("  ").map(str::trim).filter(|c| !c.is_empty()).nth(1))
            .map(|cell| cell.unwrap_or_default().to_owned())
            .collect::<Vec<String>>()
    };
    // Nobody changed the machine: memory is not what the study is about.
    assert_eq!(column(&of)[0], "TCP");
    let mut blind = host([32; 6]);
    blind.memory.slots = Fact::absent("planted");
    of.sessions.push(session(0, "1", blind));
    assert_eq!(column(&of), ["memory by CPU", "unknown", "unknown"]);
    assert!(
        text(&of).contains("how memory is populated is unknown: memory slots"),
        "{}",
        text(&of)
    );
    of.sessions[0].host = host([32; 6]);
    let known = column(&of);
    assert!(known[1].contains("balanced"), "{known:?}");
    assert!(!text(&of).contains("populated is unknown"));
}

#[test]
fn a_price_stands_beside_what_it_buys() {
    let mut study = study("NIC", &[50.0, 90.0, 40.0], 5, None);
    let names: Vec<String> = (1..=3).map(|level| level.to_string()).collect();
    let prices = &mut study.study.reading.prices;
    prices.insert(names[0].clone(), 200.0);
    prices.insert(names[1].clone(), 900.0);
    kept::is_as_kept("prices", &study);
    let told = text(&study);
    assert!(told.contains("Price, and what a hundred of it buys"), "{told}");
    let rows = |name: &str| {
        let price = told.lines().skip_while(|line| !line.starts_with("Price"));
        price
            .skip(1)
            .take(5)
            .any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(name))
    };
    // 49.9 Gb/s for 200 are 24.9 for each hundred, 89.8 for 900 ten; the third has no price.
    assert!(rows("1 200.00 49.9 Gb/s 24.9 Gb/s"), "{told}");
    assert!(rows("2 900.00 89.8 Gb/s 9.98 Gb/s"), "{told}");
    assert!(!rows("3 "), "{told}");
    let html = narrows_report::formats::FORMATS.iter().find(|one| one.name == "html");
    assert!((html.expect("a format").write)(&Analysis::of(&study)).contains("900.00"));
}

/// The medians of one processor and of two, of the same numbers of modules.
fn parts() -> [Part; 2] {
    let part = |name: &str, medians: &[f64], modules: [u64; 6]| {
        let mut stored = study("DIMMs", medians, 8, None);
        stored.sessions.push(session(3, "1", host(modules)));
        stored.records.iter_mut().for_each(|record| record.session = 3);
        Part { name: name.to_owned(), stored }
    };
    [part("one", &[60.0, 90.0], [32; 6]), part("two", &[80.0, 91.0, 70.0], [32, 0, 0, 0, 0, 0])]
}

#[test]
fn studies_stand_in_one_figure_and_one_table() {
    let parts = parts();
    let stored = joint::merged(&parts).expect("one study");
    let analysis = Analysis::joint(&stored, &parts, &[]);
    kept::all_of(&analysis).is_kept(&kept::file("joint"));
    let results = analysis.study.as_ref().expect("levels");
    let names: Vec<&str> = results.panels.iter().map(|panel| panel.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let medians = |at: usize| -> Vec<f64> {
        let rows = results.panels[at].rows.iter();
        rows.map(|row| (row.median.expect("a median") / 1e9).round()).collect()
    };
    assert_eq!((medians(0), medians(1)), (vec![60.0, 90.0], vec![80.0, 91.0, 70.0]));
    // Each has the memory of the session that measured it, though both have the same number.
    let memory = |at: usize| results.panels[at].rows[0].population[0].clone();
    assert!(memory(0).contains("balanced (lenovo"), "{}", memory(0));
    assert!(memory(1).contains("lenovo-2019: unbalanced"), "{}", memory(1));
    let drawn = narrows_report::figures::all(&analysis);
    let (_, figure) = drawn.iter().find(|(name, _)| name.starts_with("joint-")).expect("a figure");
    assert!(figure.contains(">one<") && figure.contains(">two<"), "{figure}");
    for format in ["text", "html", "markdown", "json"] {
        let format = narrows_report::formats::format(format).expect("a format");
        let told = (format.write)(&analysis);
        // One host's findings are not those of another.
        assert!(!told.contains("No rule found") && !told.contains("no rule found"), "{told}");
        assert!(!told.contains("Bottleneck"), "{told}");
    }
    let text = narrows_report::formats::format("text").expect("a format").write;
    let text = text(&analysis);
    assert!(text.contains("study   one: ") && text.contains("16 runs"), "{text}");
}

#[test]
fn studies_of_different_axes_have_no_figure_together() {
    let [one, mut two] = parts();
    let check = |one: Part, two: Part| joint::merged(&[one, two]).expect_err("apart").to_string();
    for trial in &mut two.stored.trials {
        trial.levels[0].factor = "size".into();
    }
    let why = check(one, two);
    assert_eq!(why, "one has DIMMs along its axis, and two size");
    let [one, mut two] = parts();
    two.name = "one".into();
    assert_eq!(check(one, two), "two files are called one");
    let [one, mut two] = parts();
    two.stored.trials.iter_mut().for_each(|trial| trial.levels.clear());
    assert_eq!(check(one, two), "two has no factors with levels");
}

/// Four protocols of two files at twelve populations are a table still: a row a level.
#[test]
fn many_panels_of_many_levels_have_a_column_each() {
    let part = |at: u32| Part {
        name: format!("file{at}"),
        stored: study("DIMMs", &[50.0 + f64::from(at); 12], 1, None),
    };
    let parts: Vec<Part> = (1..=8).map(part).collect();
    let stored = joint::merged(&parts).expect("one study");
    let text = narrows_report::formats::format("text").expect("a format").write;
    let text = text(&Analysis::joint(&stored, &parts, &[]));
    let row = text.lines().find(|line| line.starts_with("  12 ")).expect("a row of the table");
    let cells: Vec<&str> = row.split("  ").filter(|cell| !cell.trim().is_empty()).collect();
    assert_eq!(cells.len(), 1 + 8, "{row}");
    assert!(row.ends_with("57.42 Gb/s"), "{row}");
}

/// As a study of an anomaly: both levels are asked for 50 Gb/s and one of them has it.
#[test]
fn a_level_that_keeps_the_pace_leaves_the_question_to_those_that_do_not() {
    let told = |medians: &[f64], keeping: &[&str]| {
        let of = study("size", medians, 8, None);
        let mut analysis = Analysis::of(&of);
        let cells = of.trials.iter().map(|trial| &trial.label);
        let keeps = cells.filter(|label| keeping.iter().any(|end| label.ends_with(end)));
        analysis.limits = keeps.map(|label| at_its_pace(label)).collect();
        let results = analysis.study.as_ref().expect("levels");
        let said = answer::of_study(&analysis, results).expect("an answer");
        [said.spread, said.bottleneck, said.action].join("\n")
    };
    let unpaced = told(&[8.0, 50.0, 20.0], &[]);
    assert!(unpaced.contains("\nsize 2: "), "{unpaced}");
    let paced = told(&[8.0, 50.0, 20.0], &["2"]);
    assert!(paced.starts_with("size 1: "), "{paced}");
    assert!(paced.contains("\nsize 1: ") && !paced.contains(PACE), "{paced}");
    // All of them keep it: nothing is left to ask.
    let kept = told(&[49.9, 50.0], &["1", "2"]);
    assert!(kept.contains("\nsize 2: the requested pace"), "{kept}");
}

fn at_its_pace(cell: &str) -> Limit {
    Limit {
        cell: cell.to_owned(),
        rule: None,
        what: PACE.to_owned(),
        sureness: Sureness::Counted,
        excludes: Vec::new(),
        next: None,
        action: Some("nothing".to_owned()),
        worth: None,
        second: None,
    }
}
