//! A study of three memory populations is judged in each of them, and not by its first host alone.

mod kept;
mod planted;

use narrows_model::host::{Host, Nic};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::Level;
use narrows_model::workload::Workload;
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_report::{Analysis, data, figures};
use planted::{host, session};

fn study(sessions: &[(&str, [u64; 6])]) -> StoredStudy {
    let mut study = StoredStudy::unmeasured(host(sessions[0].1));
    study.study.command = StudyKind::Study;
    let each = sessions.iter().enumerate();
    study.sessions = each.map(|(at, (level, on))| session(at as u32, level, host(*on))).collect();
    study
}

fn written(study: &StoredStudy, format: &str) -> String {
    let named = narrows_report::formats::FORMATS.iter().find(|known| known.name == format);
    (named.expect("a format").write)(&Analysis::of(study))
}

const FULL: [u64; 6] = [32; 6];
const FOUR: [u64; 6] = [32, 32, 0, 32, 32, 0];
/// Five of six: two interleave sets.
const FIVE: [u64; 6] = [32, 32, 32, 32, 32, 0];

fn balance(study: &StoredStudy) -> Vec<(bool, Option<String>)> {
    let analysis = Analysis::of(study);
    let of = analysis.found.iter().filter(|found| found.finding.rule == "dimm-balance");
    of.map(|found| {
        let fault = found.finding.weight == narrows_model::result::Weight::Fault;
        (fault, analysis.holds_for(found))
    })
    .collect()
}

#[test]
fn a_fault_of_a_later_population_is_found_and_named() {
    let one = study(&[("6", FULL), ("5", FIVE), ("4", FOUR)]);
    let said = |level: &str| Some(format!("dimms {level}"));
    assert_eq!(balance(&one), [(true, said("5")), (false, said("4"))]);
    assert!(Analysis::of(&one).has_fault());
    for format in ["text", "html", "markdown"] {
        let told = written(&one, format);
        assert!(told.to_lowercase().contains("holds for dimms 5"), "{format}: {told}");
    }
    let json: serde_json::Value = serde_json::from_str(&written(&one, "json")).expect("JSON");
    let found = json["findings"].as_array().expect("findings");
    let fault = found.iter().find(|one| one["rule"] == "dimm-balance").expect("a fault");
    assert_eq!(fault["weight"], "fault");
    assert_eq!(fault["holds_for"][0]["levels"][0], serde_json::json!(["dimms", "5"]));
    assert_eq!(fault["holds_for"][0]["sessions"], serde_json::json!([1]));
    assert_eq!(fault["holds_for"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["populations"].as_array().map(Vec::len), Some(3));
    let rule = json["rules"].as_array().expect("rules");
    let rule = rule.iter().find(|one| one["rule"] == "dimm-balance").expect("a rule");
    assert_eq!(rule["verdict"], "found", "{rule}");
}

#[test]
fn a_fault_of_the_first_population_is_not_one_of_the_others() {
    let first = study(&[("5", FIVE), ("6", FULL), ("6", FULL)]);
    assert_eq!(balance(&first), [(true, Some("dimms 5".to_owned()))]);
}

#[test]
fn what_is_alike_is_said_once_with_all_it_holds_for() {
    let all = study(&[("a", FIVE), ("b", FIVE), ("c", FIVE)]);
    assert_eq!(balance(&all), [(true, Some("all populations".to_owned()))]);
    let two = study(&[("a", FIVE), ("b", FULL), ("c", FIVE)]);
    assert_eq!(balance(&two), [(true, Some("dimms a; dimms c".to_owned()))]);
    // In one of the two sessions of a population a module was not seen.
    let some = study(&[("a", FULL), ("b", FULL), ("a", FIVE)]);
    assert_eq!(balance(&some), [(true, Some("dimms a (session 3)".to_owned()))]);
    let single = study(&[("a", FIVE)]);
    assert_eq!(balance(&single), [(true, None)]);
}

fn with_port(gbps: f64) -> Host {
    let mut host = host(FULL);
    host.nics.push(Nic {
        name: "eth0".into(),
        physical: true,
        speed_bps: Fact::known(BitsPerSecond(gbps * 1e9), "planted"),
        mtu_bytes: Fact::known(Bytes(1500), "planted"),
        ..Nic::default()
    });
    host
}

/// A frame of 1538 bytes on the wire carries 1448 of TCP (RFC 7323 timestamps): 0.9415; at 100 Gb/s
/// four streams on a processor that is not known are near enough to leave 0.95 of it.
#[test]
fn each_session_has_what_its_own_host_should_reach() {
    let mut study = study(&[("a", FULL), ("b", FULL), ("a", FULL)]);
    for (session, gbps) in study.sessions.iter_mut().zip([10.0, 100.0, 10.0]) {
        session.host = with_port(gbps);
    }
    study.host = study.sessions[0].host.clone();
    let analysis = Analysis::of(&study);
    let tcp = analysis.predictions.iter().filter(|one| one.workload == Workload::TCP_STREAM);
    let wire = |one: &narrows_model::result::Prediction| {
        let ceiling = one.ceilings.iter().find(|ceiling| ceiling.resource.to_string() == "wire");
        (ceiling.expect("a wire").range.value / 1e8).round() / 10.0
    };
    let told: Vec<(f64, Vec<u32>)> = tcp.map(|one| (wire(one), one.sessions.clone())).collect();
    assert_eq!(told, [(9.4, vec![0, 2]), (90.4, vec![1])]);
    let json: serde_json::Value = serde_json::from_str(&written(&study, "json")).expect("JSON");
    let sessions: Vec<&serde_json::Value> = json["predictions"]
        .as_array()
        .expect("predictions")
        .iter()
        .map(|p| &p["sessions"])
        .collect();
    assert!(sessions.contains(&&serde_json::json!([0, 2])), "{sessions:?}");
    assert!(written(&study, "html").contains("eth0, tcp, sessions 1, 3"));
    // A study of one session has one host, and no need to name it.
    study.sessions.truncate(1);
    let analysis = Analysis::of(&study);
    assert!(analysis.predictions.iter().all(|one| one.sessions.is_empty()));
    assert_eq!(analysis.predictions.len(), 2);
}

/// TCP and UDP by three populations, each with a session of its own.
fn two_panels() -> StoredStudy {
    let mut both = study(&[("1", FULL), ("2", FIVE), ("3", FOUR)]);
    both.study.reading.across = Some("dimms".into());
    for (protocol, medians) in [("TCP", [90.0, 60.0, 80.0]), ("UDP", [85.0, 40.0, 70.0])] {
        let one = planted::study("dimms", &medians, 7, None);
        for (at, mut trial) in one.trials.into_iter().enumerate() {
            let id = narrows_model::trial::TrialId(format!("{protocol}-{at}"));
            for record in one.records.iter().filter(|record| record.trial == trial.id) {
                let mut record = record.clone();
                (record.trial, record.session) = (id.clone(), at as u32);
                both.records.push(record);
            }
            trial.levels.push(Level { factor: "protocol".into(), level: protocol.into() });
            (trial.id, trial.label) = (id, format!("{protocol} {}", trial.label));
            both.trials.push(trial);
        }
    }
    both
}

/// Abscissa and ordinate of the box of a cell.
fn corner(svg: &str, label: &str) -> (f64, f64) {
    let at = svg.find(&format!("<title>{label}: ")).expect("a tip");
    let tag = &svg[svg[..at].rfind("<rect").expect("a box")..at];
    let of = |name: &str| -> f64 {
        let value = tag.split(&format!(" {name}=\"")).nth(1).expect("a place");
        value.split('"').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    (of("x"), of("y"))
}

fn joint(study: &StoredStudy) -> Option<(String, String)> {
    let drawn = figures::all(&Analysis::of(study));
    drawn.into_iter().find(|(name, _)| name.starts_with("joint-"))
}

#[test]
fn panels_stand_side_by_side_and_each_box_has_the_colour_of_its_balance() {
    let study = two_panels();
    kept::is_as_kept("populations", &study);
    let (name, svg) = joint(&study).expect("a figure");
    assert_eq!(name, "joint-throughput-payload-received-by-dimms");
    // Two groups of three boxes, and one of each colour in the legend.
    let boxes = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
    assert_eq!((boxes("balanced"), boxes("uneven"), boxes("alikes")), (3, 3, 3), "{svg}");
    // UDP's boxes stand beside TCP's, in the order of the levels, and none below them.
    let at = |label: &str| corner(&svg, label);
    let tcp: Vec<f64> = (1..=3).map(|level| at(&format!("TCP dimms {level}")).0).collect();
    let udp: Vec<f64> = (1..=3).map(|level| at(&format!("UDP dimms {level}")).0).collect();
    let ascending: Vec<f64> = tcp.iter().chain(&udp).copied().collect();
    assert!(ascending.windows(2).all(|pair| pair[0] + 10.0 < pair[1]), "{ascending:?}");
    // One axis: equal steps of the value are equal steps of the height, over both panels.
    let y = |label: &str| at(label).1;
    let twenty = y("UDP dimms 3") - y("TCP dimms 1");
    let thirty = y("UDP dimms 2") - y("UDP dimms 3");
    assert!(twenty > 10.0 && (thirty / twenty - 1.5).abs() < 0.06, "{twenty} {thirty}");
    // Its scale is written once.
    assert_eq!(svg.matches(">Gb/s<").count(), 1);
    let analysis = Analysis::of(&study);
    let files = data::all(&analysis);
    let (_, csv) = files.iter().find(|(file, _)| *file == name).expect("its data");
    assert!(csv.contains("TCP,1,balanced,") && csv.contains("UDP,2,unbalanced,"), "{csv}");
    assert!(csv.contains("UDP,3,controllers alike,"), "{csv}");
    // A run that ended well and counted nothing is none of its runs.
    let mut empty = two_panels();
    empty.records[0].reports.clear();
    empty.records[0].external.iter_mut().for_each(|told| told.figures.clear());
    let files = data::all(&Analysis::of(&empty));
    let (_, csv) = files.iter().find(|(file, _)| *file == name).expect("its data");
    let runs = |row: &str| {
        let row = csv.lines().find(|line| line.starts_with(row)).expect(row);
        row.split(',').nth(6).map(str::to_owned)
    };
    assert_eq!([runs("TCP,1,"), runs("TCP,2,")], ["6", "7"].map(|n| Some(n.to_owned())), "{csv}");
    // What was drawn one below the other is in it, and not drawn again.
    assert!(!figures::all(&analysis).iter().any(|(name, _)| name.starts_with("all-throughput")));
    let mut one = two_panels();
    one.trials.retain(|trial| trial.label.starts_with("TCP"));
    one.records.retain(|record| record.trial.0.starts_with("TCP"));
    assert!(joint(&one).is_none(), "its own panel does");
}

#[test]
fn the_joint_figure_is_the_first_of_the_study_and_narrow_on_a_telephone() {
    let page = written(&two_panels(), "html");
    let study = &page[page.find("id=\"study\"").expect("a section")..];
    let first = study.find("<svg").expect("a figure");
    let title = "throughput (payload received) by dimms";
    assert!(study[..first].contains(title), "{}", &study[..first]);
    let figure = |class: &str| -> &str {
        let from = study.find(&format!("<div class=\"{class}\">")).expect("a figure");
        study[from..].split("</svg>").next().expect("a figure")
    };
    assert!(figure("desk").contains("viewBox=\"0 0 720 "));
    assert!(figure("telephone").contains("viewBox=\"0 0 360 "));
}

/// Without populations boxes have no class, and panels share an axis all the same.
#[test]
fn panels_of_any_factor_are_drawn_side_by_side() {
    let mut study = two_panels();
    for session in &mut study.sessions {
        session.host = Host::default();
    }
    let (_, svg) = joint(&study).expect("a figure");
    assert_eq!(svg.matches("class=\"box\"").count(), 6, "{svg}");
    assert!(!svg.contains(">unknown<"), "no legend of one class");
    // Known in some sessions alone: the others are told apart.
    let mut study = two_panels();
    study.sessions[1].host = Host::default();
    let (_, svg) = joint(&study).expect("a figure");
    assert!(svg.contains(">unknown<") && svg.matches("class=\"other\"").count() == 3, "{svg}");
}
