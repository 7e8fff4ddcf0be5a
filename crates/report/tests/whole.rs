//! Whole reports of studies that were measured, in every format: what was read once and found right
//! stays so. Their findings are planted, so that the texts of rules may change; pictures, pages and
//! documents for programs are kept as sums.

use narrows_explain::Judged;
use narrows_explain::conditions::Found;
use narrows_explain::limits::{Limit, Sureness};
use narrows_fabric::catalogue::named;
use narrows_fabric::design::Asked;
use narrows_fabric::latency::Lengths;
use narrows_fabric::{Planned, Request};
use narrows_model::result::{Estimate, Evidence, Finding, Method, Verdict, Weight};
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_report::diagnosis::Diagnosis;
use narrows_report::drawn::Screen;
use narrows_report::fleet::{Fleet, Member};
use narrows_report::history::History;
use narrows_report::peer_check::{self, PeerCheck};
use narrows_report::{
    Analysis, brief, bus, data, explained, fabric, figures, formats, latency, results, servers,
    stream, study, views,
};
use std::fmt::Write;
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

/// Numbers with a point, cut to twelve digits: mathematical libraries differ in the last ones.
fn cut(text: &str) -> String {
    let (mut digits, mut has_point) = (0, false);
    let keeps = |c: &char| {
        match c {
            '0'..='9' => digits += 1,
            '.' if digits > 0 && !has_point => has_point = true,
            _ => (digits, has_point) = (0, false),
        }
        !has_point || digits <= 12 || *c == '.'
    };
    text.chars().filter(keeps).collect()
}

/// A sum of a text (FNV-1a, 64 bits).
fn sum(text: &str) -> String {
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{sum:016x}")
}

#[derive(Default)]
struct Whole(String);

impl Whole {
    fn text(&mut self, name: &str, text: &str) {
        let _ = write!(self.0, "==== {name}\n{}\n", cut(text.trim_end()));
    }

    fn sum(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.0, "==== {name} {}", sum(&cut(text)));
    }

    /// Compares with what was kept; `NARROWS_GOLDEN=write` keeps it anew.
    fn is_kept(&self, name: &str) {
        let file = dir().join(format!("{name}.txt"));
        if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
            std::fs::write(&file, &self.0).expect("kept");
        }
        let kept = std::fs::read_to_string(&file).expect("what was kept");
        let (mut kept, mut now) = (kept.lines(), self.0.lines());
        let mut part = "";
        loop {
            let (was, is) = (kept.next(), now.next());
            assert_eq!(is, was, "{name}, {part}: NARROWS_GOLDEN=write keeps it anew");
            let Some(line) = is else { break };
            if line.contains("==== ") {
                part = line;
            }
        }
    }
}

fn whole(stored: &StoredStudy) -> Whole {
    let mut analysis = Analysis::of(stored);
    plant(&mut analysis);
    let narrow = Screen { columns: Some(80), unicode: false };
    let mut all = Whole::default();
    all.text("brief", &brief::text(&analysis, &narrow, "report.html"));
    for name in ["text", "markdown", "prometheus"] {
        let format = formats::format(name).expect("a format");
        all.text(name, &(format.write)(&analysis));
    }
    for name in ["csv", "html", "iperf3", "json", "jsonl"] {
        let format = formats::format(name).expect("a format");
        all.sum(name, &(format.write)(&analysis));
    }
    let cells = explained::cells(&analysis);
    all.text("explained", &explained::text(&analysis, &cells));
    all.text("diagnosis", &Diagnosis::of(&analysis).text("beta", "report.html", &narrow));
    let load = peer_check::under_load(&analysis);
    let check = PeerCheck::of(&analysis);
    all.text("peer", &check.text("beta", Some(&load), "report.html", &Screen::FILE));
    if let Some(of) = &analysis.latency {
        all.text("latency", &latency::text::rows(of));
        all.text("latency notes", &latency::text::notes(of).join("\n"));
    }
    all.text("bus", &bus::text(&bus::of(&stored.host, Some(12.3), Some(&analysis))));
    all.text("servers", &servers::text(&servers::of_study(&analysis)));
    if let Some(of) = &analysis.study {
        all.text("tables", &study::text::tables(&analysis, of));
        all.text("end", &brief::study(&analysis, of, &narrow, "report.html"));
    }
    let records = stored
        .trials
        .iter()
        .flat_map(|trial| stored.records_of(trial).map(move |record| stream::run(trial, record)));
    all.sum("stream", &records.collect::<Vec<_>>().join("\n"));
    all.sum("began", &stream::began(&stored.study, &stored.trials));
    for (name, svg) in figures::all(&analysis) {
        all.sum(&format!("figure {name}"), &svg);
    }
    for (name, text) in data::all(&analysis) {
        all.sum(&format!("data {name}"), &text);
    }
    all
}

#[test]
fn reports_of_measured_studies_are_as_they_were_found_right() {
    for name in
        ["check-peer", "connect", "latency", "memory", "profiled", "tcp", "trips", "udp", "ways"]
    {
        whole(&stored(name)).is_kept(name);
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
    all.is_kept("host");
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
    all.is_kept("fabric");
}
