//! The page of a study: its conclusion first, boxes of runs enough, and nothing of what was not
//! run.

mod kept;
mod planted;

use narrows_model::host::{Drive, ExpansionSlot, Nic, PciHop, Transport};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Level, TrialId};
use narrows_model::{Bytes, Fact};
use narrows_report::Analysis;
use planted::{host, session, study};

fn page(study: &StoredStudy) -> String {
    let html = narrows_report::formats::FORMATS.iter().find(|format| format.name == "html");
    (html.expect("a format").write)(&Analysis::of(study))
}

/// How many elements of a class of the style sheet there are.
fn count(page: &str, element: &str) -> usize {
    page.matches(element).count()
}

#[test]
fn fewer_than_six_runs_are_dots_and_six_a_box() {
    for (runs, boxes, dots) in [(2, 0, 2 * 2 * 2), (5, 0, 2 * 2 * 5), (6, 2 * 2, 0)] {
        let page = page(&study("size", &[50.0, 90.0], runs, None));
        // Two cells, each in the study's figure and in that of all cells.
        assert_eq!(count(&page, "<rect class=\"box\""), boxes, "{runs}");
        assert_eq!(count(&page, "<circle class=\"box\""), dots, "{runs}");
    }
}

#[test]
fn the_conclusion_stands_above_all_figures() {
    let page = page(&study("size", &[60.0, 90.0], 30, None));
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("2 levels:") < at("id=\"study\""));
    assert!(at("<dt>Bottleneck</dt>") < at("id=\"study\""));
}

/// A second test whose two cells had no run, since they need what is not there.
fn with_a_test_that_cannot_run() -> StoredStudy {
    let mut study = study("size", &[60.0, 90.0, 1.0, 1.0], 6, None);
    for (at, trial) in study.trials.iter_mut().enumerate() {
        trial.levels[0].level = (at % 2 + 1).to_string();
        let test = if at < 2 { "sockets" } else { "verbs" };
        trial.levels.push(Level { factor: "test".into(), level: test.into() });
    }
    study.records.retain(|record| ["0", "1"].contains(&record.trial.0.as_str()));
    let mut session = session(0, "1", host([0; 6]));
    session.cannot = ["2", "3"].map(|cell| (cell.to_owned(), "no device".to_owned())).into();
    study.sessions.push(session);
    study
}

#[test]
fn a_test_that_could_not_run_is_named_with_the_reason_and_has_no_empty_table() {
    let study = with_a_test_that_cannot_run();
    let page = page(&study);
    assert!(page.contains("2 cells (verbs) cannot run: no device"), "{page}");
    assert_eq!(count(&page, "verbs</h3>") + count(&page, "<b>verbs</b>"), 0);
    let text = narrows_report::formats::FORMATS.iter().find(|format| format.name == "text");
    let text = (text.expect("a format").write)(&Analysis::of(&study));
    assert!(text.contains("2 cells (verbs) cannot run: no device"), "{text}");
    assert!(page.contains("sockets: 2 levels:"), "the answer names the test: {page}");
    assert!(text.lines().all(|line| line.trim() != "verbs"), "{text}");
}

/// Papers begin with a table of the machines under test: a row a thing, a column a host.
#[test]
fn hosts_under_test_stand_side_by_side() {
    let mut of = study("application", &[60.0, 90.0], 6, None);
    assert!(!page(&of).contains("Hosts under test"), "of nobody there is nothing to say");
    of.host = host([32, 32, 32, 0, 0, 0]);
    for (name, value) in [("bios.version", "2.12.2"), ("bios.date", "07/11/2024")] {
        of.host.tuning.insert(name.into(), Fact::known(value.to_owned(), "planted"));
    }
    let alone = narrows_report::tested::table(&Analysis::of(&of)).expect("a table of one").1;
    assert_eq!(alone[0][1..], ["this host"], "a study without a peer is of a host too");
    let names: Vec<&str> = alone.iter().map(|row| row[0].as_str()).collect();
    assert!(!names.contains(&"drives") && !names.contains(&"product"), "{names:?}: nobody tells");
    of.host.product = Fact::known("PowerEdge R740".to_owned(), "planted");
    let mut peer = host([16; 6]);
    let nic = Nic {
        name: "p2p1".into(),
        physical: true,
        driver: Fact::known("mlx5_core".to_owned(), "planted"),
        driver_version: Fact::known("5.9-0.5.6".to_owned(), "planted"),
        firmware: Fact::known("16.23.02.44".to_owned(), "planted"),
        path: vec![PciHop { address: "0000:5e:00.0".into(), ..PciHop::default() }],
        ..Nic::default()
    };
    peer.nics = vec![nic];
    peer.system = Fact::known("CentOS Linux 7 (Core)".to_owned(), "planted");
    peer.chassis = Fact::known("rack mount chassis".to_owned(), "planted");
    let drive = Drive {
        model: Fact::known("SSDSC2KB960G7".to_owned(), "planted"),
        size_bytes: Fact::known(Bytes(960_197_124_096), "planted"),
        is_rotating: Fact::known(false, "planted"),
        transport: Fact::known(Transport::Sata, "planted"),
        ..Drive::default()
    };
    peer.drives = Fact::known(vec![drive], "planted");
    of.host.drives = Fact::known(Vec::new(), "planted");
    let slot = ExpansionSlot {
        name: "PCIe Slot 6".into(),
        address: Some("0000:5e:00.1".into()),
        ..ExpansionSlot::default()
    };
    peer.expansion_slots = Fact::known(vec![slot], "planted");
    peer.tuning.insert("bmc.version".into(), Fact::known("6.10".to_owned(), "planted"));
    of.peer_hosts = vec![peer];
    of.study.peer = Some("server2".to_owned());
    let analysis = Analysis::of(&of);
    let (title, table) = narrows_report::tested::table(&analysis).expect("a table");
    let row = |name: &str| table.iter().find(|row| row[0] == name).expect(name)[1..].to_vec();
    assert_eq!((title, row("")), ("Hosts under test", vec!["this host".into(), "server2".into()]));
    assert_eq!(row("product"), ["PowerEdge R740", "-"]);
    assert_eq!(row("BIOS"), ["2.12.2, 07/11/2024", "-"]);
    assert_eq!(row("memory"), ["3 x 32 GiB at 2933 MT/s", "6 x 16 GiB at 2933 MT/s"]);
    let [own, far] = &row("NIC 1")[..] else { panic!("{table:?}") };
    assert_eq!(own, "-");
    assert!(far.contains("p2p1: mlx5_core, ") && far.contains(", firmware 16.23.02.44"), "{far}");
    assert!(far.contains(", in PCIe Slot 6, driver's version 5.9-0.5.6, "), "{far}");
    assert_eq!(row("drives"), ["none", "960 GB SATA SSD SSDSC2KB960G7"]);
    assert_eq!(row("chassis"), ["-", "rack mount chassis"]);
    assert_eq!(row("system"), ["-", "CentOS Linux 7 (Core)"]);
    assert_eq!(row("BMC's firmware"), ["-", "6.10"]);
    let names: Vec<&str> = table.iter().map(|row| row[0].as_str()).collect();
    let at = |name: &str| names.iter().position(|one| *one == name).expect(name);
    assert!(at("memory") < at("drives") && at("drives") < at("NIC 1"), "{names:?}");
    assert!(at("NIC 1") < at("system") && at("system") < at("BIOS"), "{names:?}");
    // No host has any, or tells of any.
    for none in ["accelerators", "storage controllers"] {
        assert!(!names.contains(&none), "{names:?}");
    }
    assert!(page(&of).contains("<caption>Hosts under test</caption>"));
}

/// Names that have no room along the axis are letters there, and told below.
#[test]
fn long_names_of_levels_are_letters_with_a_key() {
    let mut of = study("application", &[60.0, 50.0, 40.0, 30.0], 6, None);
    let names = ["NIC's node", "other node", "other node, both ends", "adapter on that node too"];
    let again = of.trials.clone();
    for (at, trial) in again.into_iter().enumerate() {
        let runs: Vec<_> = of.records_of(&trial).cloned().collect();
        for (test, name) in [("a", "system"), ("b", "container")] {
            let mut trial = trial.clone();
            trial.id = TrialId(format!("{}{test}", trial.id.0));
            trial.label = format!("{} {name}", names[at]);
            trial.levels[0].level = names[at].into();
            trial.levels.push(Level { factor: "in".into(), level: name.into() });
            let own = runs.iter().cloned();
            of.records.extend(own.map(|run| Record { trial: trial.id.clone(), ..run }));
            of.trials.push(trial);
        }
    }
    of.trials.drain(..4);
    kept::is_as_kept("letters", &of);
    let analysis = Analysis::of(&of);
    let drawn = narrows_report::figures::all(&analysis);
    let (_, figure) = drawn.iter().find(|(name, _)| name.starts_with("joint-")).expect("a figure");
    // Once below each of two groups of boxes.
    assert_eq!(figure.matches(">D</text>").count(), 2, "{figure}");
    assert_eq!(figure.matches(">D  adapter on that node too</text>").count(), 1, "{figure}");
    let numbers = study("DIMMs", &[60.0, 50.0], 6, None);
    let numbers = narrows_report::figures::all(&Analysis::of(&numbers));
    assert!(numbers.iter().all(|(_, figure)| !figure.contains(">A</text>")), "numbers are short");
}
