//! Whole reports of studies that were measured, in every format: what was read once and found right
//! stays so. Their findings are planted, so that the texts of rules may change; pictures, pages and
//! documents for programs are kept as sums.

mod closed;
mod kept;

use closed::{closed, errors};
use kept::Whole;
use narrows_explain::Judged;
use narrows_explain::conditions::Found;
use narrows_explain::limits::{Limit, Sureness};
use narrows_explain::paths::{Beside, Differing, SlowPath};
use narrows_explain::regime::{CellRegime, Part};
use narrows_fabric::catalogue::named;
use narrows_fabric::design::Asked;
use narrows_fabric::latency::Lengths;
use narrows_fabric::{Planned, Request};
use narrows_model::result::{Estimate, Evidence, Finding, Method, Verdict, Weight};
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_report::drawn::Screen;
use narrows_report::fleet::{Fleet, Member};
use narrows_report::history::History;
use narrows_report::{Analysis, documents, fabric, formats, results, views};
use narrows_stats::InsidePath;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole")
}

/// A study by its name. Those that have no host of their own are given those of `check-peer`.
fn stored(name: &str) -> StoredStudy {
    let read = |name: &str| -> serde_json::Value {
        let text = std::fs::read_to_string(dir().join(format!("{name}.json"))).expect("a study");
        serde_json::from_str(&text).expect("JSON")
    };
    let (mut study, hosts) = (read(name), read("check-peer"));
    for part in ["host", "peer_hosts"] {
        if study.get(part).is_none() {
            study[part] = hosts[part].clone();
        }
    }
    let sessions = study.get_mut("sessions").and_then(|all| all.as_array_mut());
    for session in sessions.into_iter().flatten() {
        session["host"] = hosts["host"].clone();
    }
    serde_json::from_value(study).expect("a study")
}

fn estimate(value: f64, by: Method) -> Estimate {
    let (low, high) = (0.9 * value, 1.2 * value);
    Estimate { value, low, high, unit: Unit::BitsPerSecond, n: 7, by }
}

/// Findings of two weights, and what holds the first cell.
fn plant(analysis: &mut Analysis<'_>) {
    let seen = Evidence { says: "all is well".into(), from: "planted".into() };
    let verdict = Verdict::clear(seen);
    analysis.judged = vec![Judged { rule: "fourth".into(), asks: "is it so?".into(), verdict }];
    analysis.populations.clear();
    let find = |rule: &str, weight, worth| Found {
        finding: Finding {
            rule: rule.into(),
            weight,
            says: format!("what {rule} found"),
            evidence: vec![Evidence { says: format!("{rule} was seen"), from: "planted".into() }],
            worth,
            remedy: format!("mend {rule}"),
        },
        holds_for: Vec::new(),
    };
    let worth = Some(estimate(3.21e9, Method::Model));
    analysis.found = vec![
        find("first", Weight::Fault, worth),
        find("second", Weight::Advice, None),
        find("third", Weight::Caution, None),
    ];
    let cell = analysis.stored.trials[0].label.clone();
    analysis.limits = vec![Limit {
        cell,
        rule: Some("second".into()),
        what: "what was planted".into(),
        sureness: Sureness::Counted,
        excludes: vec!["the wire".into()],
        next: None,
        action: None,
        worth: None,
        second: None,
    }];
}

fn whole(stored: &StoredStudy) -> Whole {
    let mut analysis = Analysis::of(stored);
    plant(&mut analysis);
    kept::all_of(&analysis)
}

/// Of these sorts of figures all have a file with what was drawn, of the same name.
#[test]
fn placements_round_trips_and_ceilings_have_their_data_beside_their_figures() {
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(dir()).expect("studies").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let Some(name) = name.strip_suffix(".json") else { continue };
        let study = stored(name);
        let analysis = Analysis::of(&study);
        let data: BTreeMap<String, String> =
            narrows_report::data::all(&analysis).into_iter().collect();
        for (figure, _) in narrows_report::figures::all(&analysis) {
            let sort = figure.split('-').next().unwrap_or_default().to_owned();
            if ["placement", "times", "ceilings"].contains(&sort.as_str()) {
                let csv = data.get(&figure).unwrap_or_else(|| panic!("{name}: {figure}"));
                assert!(csv.lines().count() > 1, "{name}: {figure}: {csv}");
                seen.insert(sort);
            }
        }
    }
    assert!(seen.contains("times") && seen.contains("ceilings"), "{seen:?}");
}

#[test]
fn reports_of_measured_studies_are_as_they_were_found_right() {
    for name in
        ["check-peer", "connect", "latency", "memory", "profiled", "tcp", "trips", "udp", "ways"]
    {
        whole(&stored(name)).is_kept(&dir().join(format!("{name}.txt")));
    }
}

/// No key of theirs is missing from the schema, nor is one of what is serialised elsewhere.
#[test]
fn documents_of_measured_studies_have_the_keys_of_their_schema() {
    let schema = documents::schema("report").expect("a schema");
    let schema = closed(&serde_json::from_str(&schema).expect("JSON"));
    for name in
        ["check-peer", "connect", "latency", "memory", "profiled", "tcp", "trips", "udp", "ways"]
    {
        let study = stored(name);
        let mut analysis = Analysis::of(&study);
        let untouched = (formats::json::FORMAT.write)(&analysis);
        plant(&mut analysis);
        let at = InsidePath::Loop { device: "siw0".into(), node: Some(1) };
        let differs = vec![Differing { what: "link", slow: "x4".into(), like: "x8".into() }];
        let nodes = Some(["0".to_owned(), "1".to_owned()]);
        let beside = Beside { differs, nodes, unread: vec!["its link"] };
        analysis.slow_paths =
            vec![SlowPath { path: at.clone(), like: at, tests: vec![(0, 1)], beside }];
        let (cell, says) = ("a cell".to_owned(), "so it is".to_owned());
        analysis.regimes = vec![CellRegime { cell, part: Part::PerhapsDeviceWrites, says }];
        for document in [untouched, (formats::json::FORMAT.write)(&analysis)] {
            let wrong = errors(&schema, &serde_json::from_str(&document).expect("JSON"));
            assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n"));
        }
    }
}

#[test]
fn a_host_and_its_peer_are_shown_as_they_were_found_right() {
    let study = stored("check-peer");
    let (host, peer) = (&study.host, &study.peer_hosts[0]);
    let mut all = Whole::default();
    let narrow = Screen { columns: Some(100), unicode: true };
    for view in views::VIEWS {
        all.text(view.name, &view.text(host, &narrow));
    }
    all.text("differences", &views::diff::write(&[("alpha", host), ("beta", peer)], &narrow));
    all.sum("picture", &views::picture(host));
    let members = [("alpha", host), ("beta", peer)];
    let members = members.map(|(name, host)| Member::of(name.to_owned(), host));
    let fleet = Fleet::of(members.to_vec(), Vec::new());
    all.text("fleet", &fleet.text(&narrow));
    all.text("fleet, CSV", &fleet.csv());
    let results = serde_json::to_string(&results::Results::of(host)).expect("JSON");
    all.sum("results", &results);
    let mut history = History::default();
    for (name, later) in [("one", 0), ("two", 1), ("three", 2)] {
        let mut study = stored("tcp");
        study.study.began_unix_ns.0 += later * 3_600_000_000_000;
        history.add(name, &study);
    }
    all.text("history", &history.judged().text(&narrow));
    all.is_kept(&dir().join("host.txt"));
}

#[test]
fn fabrics_on_paper_are_said_and_drawn_as_they_were_found_right() {
    let mut all = Whole::default();
    for (hosts, oversubscription, is_dragonfly) in [
        (40, 1.0, false),
        (576, 3.0, false),
        (1152, 1.0, false),
        (3000, 1.0, false),
        (2000, 1.0, true),
    ] {
        let leaf = named("7148SX").expect("a switch of the catalogue").clone();
        let rate = BitsPerSecond(10e9);
        let asked = Asked { hosts, rate, uplink_rate: None, oversubscription };
        let request = Request {
            asked,
            leaves: vec![leaf],
            spine: None,
            tiers: None,
            is_dragonfly,
            lengths: Lengths { host_metres: 3.0, fabric_metres: 30.0 },
            frame: Bytes(9216),
            lossless_classes: 1,
            flows: 1,
            seed: 1,
            buffer: Some(Bytes(131_071)),
            round_trip_us: Some(15.0),
        };
        let plan = Planned::of(&request).expect("a plan");
        all.text(&format!("{hosts} hosts"), &fabric::text(&plan, &Screen::FILE));
        all.sum(&format!("picture of {hosts} hosts"), &fabric::svg(&plan));
    }
    all.is_kept(&dir().join("fabric.txt"));
}
