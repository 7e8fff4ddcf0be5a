//! What rates are of the link of the NIC that they went by, where a study has several, and of both
//! directions of one.

#[path = "../../stats/tests/beside/mod.rs"]
#[expect(dead_code, reason = "only the host and its runs are of use here")]
mod beside;

use beside::{EVEN, known, simulated};
use narrows_model::host::Nic;
use narrows_model::load::{FlowTally, Role, StreamParams};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::NetworkPath;
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, Bytes};
use narrows_report::Analysis;
use narrows_report::words::value;

fn said(study: &StoredStudy) -> String {
    let format = narrows_report::formats::format("text").expect("a format");
    (format.write)(&Analysis::of(study))
}

/// Two NICs of two speeds in one study: each cell is held to its own.
#[test]
fn each_nic_has_its_own_link_to_be_held_to() {
    let mut study = simulated(6, &EVEN, 3);
    let nic = |name: &str, gbps: f64| Nic {
        name: name.into(),
        physical: true,
        speed_bps: known(BitsPerSecond(gbps * 1e9)),
        ..Nic::default()
    };
    study.host.nics = vec![nic("eth0", 100.0), nic("eth1", 400.0)];
    // The traffic of the first factor's second level went by the other NIC.
    let other = study.trials.iter().find(|trial| trial.params.is_reverse()).expect("received");
    let other = other.id.clone();
    for record in study.records.iter_mut().filter(|record| record.trial == other) {
        for one in &mut record.reports {
            one.report.effective.interface = Some("eth1".to_owned());
        }
    }
    let text = said(&study);
    assert!(text.contains("Share of the link rate"), "{text}");
    let of = |text: &str, link: &str| -> Vec<f64> {
        let each = text.split(" % of ").collect::<Vec<_>>();
        let pairs = each.windows(2).filter(|pair| pair[1].starts_with(link));
        let shares = pairs.filter_map(|pair| pair[0].split_whitespace().last()?.parse().ok());
        // Beside a job alone next to nothing goes.
        shares.filter(|share| *share > 1.0).collect()
    };
    // 88 Gb/s, and what a run has of its own.
    let first = of(&text, "100 GbE (eth0)");
    assert!(!first.is_empty() && first.iter().all(|share| (75.0..105.0).contains(share)), "{text}");
    let second = of(&text, "400 GbE (eth1)");
    assert!(
        !second.is_empty() && second.iter().all(|share| (18.0..26.0).contains(share)),
        "{text}"
    );
    // The claimed speed of an interface without a device is no wire's.
    study.host.nics.iter_mut().for_each(|nic| nic.physical = false);
    assert!(!said(&study).contains("Share of the link rate"));
}

/// A study in which all traffic that is sent goes back too, at 10 Gb/s.
fn both_ways(kind: &str) -> StoredStudy {
    let mut study = simulated(6, &EVEN, 3);
    let link = BitsPerSecond(100e9);
    let nic = Nic { physical: true, speed_bps: known(link), ..study.host.nics[0].clone() };
    study.host.nics = vec![nic];
    let sent = study.trials.iter_mut().filter(|trial| trial.background().is_none());
    for trial in sent.filter(|trial| trial.kind.is_network() && !trial.params.is_reverse()) {
        let stream = StreamParams { bidirectional: true, ..StreamParams::default() };
        (trial.params.stream, trial.kind) = (Some(stream), kind.into());
        for record in study.records.iter_mut().filter(|record| record.trial == trial.id) {
            for one in &mut record.reports {
                let is_sender = one.role == Role::Sender;
                one.report.flows[0].sends = is_sender;
                let back = FlowTally {
                    bytes: Bytes(1_250_000_000),
                    messages: 1,
                    sends: !is_sender,
                    ..FlowTally::default()
                };
                one.report.flows.push(back);
            }
        }
    }
    study
}

/// A link carries its rate each way: 88 Gb/s there and 10 back are no 49 % each.
#[test]
fn each_direction_has_its_own_share_of_the_link() {
    let text = said(&both_ways("tcp-stream"));
    let told = text.split_once(" % there and 10.0 % back of 100 GbE (eth0)");
    let (there, _) = told.unwrap_or_else(|| panic!("both shares: {text}"));
    let there: f64 = there.split_whitespace().last().expect("one").parse().expect("a share");
    assert!((75.0..105.0).contains(&there), "{text}");
}

/// Where each direction has a line of its own nothing says again what of the sum went back.
#[test]
fn what_went_back_is_said_once() {
    let page = |kind: &str| {
        let format = narrows_report::formats::format("html").expect("a format");
        (format.write)(&Analysis::of(&both_ways(kind)))
    };
    let streams = page("tcp-stream");
    assert!(streams.contains("; in 10.0 Gb/s, "), "{streams}");
    let packets = page("packets");
    assert!(packets.contains("back: ") && !packets.contains("; in 10.0 "), "{packets}");
}

/// The sum of two directions is no rate that either of them has: it never stands alone.
#[test]
fn both_directions_are_said_before_their_sum() {
    // As one command of that stream alone would have it.
    let mut study = both_ways("tcp-stream");
    study.trials.retain(|trial| trial.params.is_bidirectional());
    study.trials.truncate(1);
    study.trials[0].levels.clear();
    study.records.retain(|record| record.trial == study.trials[0].id);
    (study.study.command, study.definition) = (StudyKind::Tcp, None);
    let name_of = |study: &StoredStudy| {
        let analysis = Analysis::of(study);
        let summary = analysis.summaries.iter().find(|one| one.there.is_some()).expect("both ways");
        let gbps = |of: Option<narrows_model::result::Estimate>| of.expect("a rate").value / 1e9;
        let (there, back) = (gbps(summary.there), gbps(summary.back));
        let sum = gbps(summary.estimate);
        assert!((back - 10.0).abs() < 1e-6 && there > 50.0, "{there} {back}");
        assert!((there + back - sum).abs() < 1e-6 * sum, "{there} {back} {sum}");
        (
            summary.label.clone(),
            [there, back, sum].map(|rate| value(rate * 1e9, Unit::BitsPerSecond)),
        )
    };
    for (path, [out, into]) in
        [(NetworkPath::Peer, ["out", "in"]), (NetworkPath::Namespaces, ["there", "back"])]
    {
        study.trials.iter_mut().for_each(|trial| trial.path = path);
        let (label, [there, back, sum]) = name_of(&study);
        let figure = format!("{out} {there}, {into} {back}, together {sum}");
        let text = said(&study);
        let row = text.lines().find(|line| line.trim_start().starts_with(&format!("{label} ")));
        assert!(row.is_some_and(|row| row.contains(&figure)), "{figure}\n{text}");
        let analysis = Analysis::of(&study);
        let answer = narrows_report::answer::of(&analysis).expect("an answer").figure;
        assert!(
            answer.contains(&format!(": {out} ")) && answer.contains(", together "),
            "{answer}"
        );
        let cells = narrows_report::explained::cells(&analysis);
        let explained = narrows_report::explained::text(&analysis, &cells);
        assert!(explained.contains(&figure), "{explained}");
    }
}
