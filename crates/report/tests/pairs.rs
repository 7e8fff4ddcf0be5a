//! Trials of many pairs, of pairs whose rates are planted.

mod planted;

use narrows_model::result::{Estimate, Method};
use narrows_model::trial::EndHost;
use narrows_model::units::Unit;
use narrows_report::{Analysis, words};
use narrows_stats::{PairRate, Pairs, Slowest};

fn estimate(value: f64, unit: Unit) -> Estimate {
    let by = Method::MedianOrderStatistic;
    Estimate { value, low: 0.9 * value, high: 1.1 * value, unit, n: 6, by }
}

/// A pair from this host to the peer of a number.
fn pair(peer: u32, estimate: Option<Estimate>) -> PairRate {
    PairRate { from: EndHost::Controller, to: EndHost::Peer(peer), estimate, back: None }
}

fn trial(each: Vec<PairRate>) -> Pairs {
    Pairs {
        label: "TCP".into(),
        each,
        overlap_share: Some(0.875),
        apart: 0,
        fairness: None,
        slowest: None,
    }
}

/// What is said of trials, a line each, with hosts called by their numbers.
fn told(pairs: Vec<Pairs>) -> Vec<String> {
    let study = planted::study("TCP", &[1.0], 6, None);
    let mut analysis = Analysis::of(&study);
    let names: Vec<(String, String)> = (0..12)
        .map(|at| (study.host_name(EndHost::Peer(at)).to_string(), format!("p{at}")))
        .chain([(study.host_name(EndHost::Controller).to_string(), "here".to_owned())])
        .collect();
    analysis.pairs = pairs;
    // Of a study several are a table.
    analysis.study = None;
    let mut lines = words::pairs(&analysis);
    for line in &mut lines {
        // The longer names first: `peer 11` has `peer 1` in it.
        for (name, short) in names.iter().rev() {
            *line = line.replace(name, short);
        }
    }
    lines
}

#[test]
fn each_pair_has_its_rate_and_the_slowest_is_named() {
    let gbps = |value| Some(estimate(value * 1e9, Unit::BitsPerSecond));
    let mut both = trial(vec![pair(1, gbps(9.0)), pair(2, gbps(4.0)), pair(3, None)]);
    both.each[0].back = gbps(8.0);
    both.fairness = Some(0.8712);
    both.slowest = Some(Slowest { pair: 1, runs: 5, of: 6 });
    both.apart = 1;
    let wanted = [
        "3 pairs at once: their windows had at least 87.5 % in common; 1 run with less than 50 % in \
         common have no sum",
        "fairness 0.871 (Jain's index: 1 where all pairs had the same); slowest here to p2, in 5 of \
         6 runs",
        "here to p1: 9.00 Gb/s, 8.10 to 9.90 Gb/s, n 6; back 8.00 Gb/s, 7.20 to 8.80 Gb/s",
        "here to p2: 4.00 Gb/s, 3.60 to 4.40 Gb/s, n 6",
        "here to p3: no run",
    ];
    assert_eq!(told(vec![both]), wanted);
}

#[test]
fn of_more_than_eight_the_slowest_are_told() {
    let rates: Vec<PairRate> = (0..10)
        .map(|at| pair(at, Some(estimate(f64::from(20 - at) * 1e9, Unit::BitsPerSecond))))
        .collect();
    let lines = told(vec![trial(rates)]);
    assert!(lines[1].starts_with("here to p9: 11.0 Gb/s"), "{lines:?}");
    assert!(lines[8].starts_with("here to p2: 18.0 Gb/s"), "{lines:?}");
    assert_eq!(lines[9], "2 pairs faster than these are left out (--json)");
    // Of times the longest are the slowest.
    let times = (0..9).map(|at| pair(at, Some(estimate(f64::from(10 + at), Unit::Nanos))));
    let lines = told(vec![trial(times.collect())]);
    assert!(lines[1].starts_with("here to p8: 18.0 ns"), "{lines:?}");
    assert_eq!(lines[9], "1 pair faster than these is left out (--json)");
}

#[test]
fn several_trials_have_their_labels_and_unknown_windows_are_said() {
    let time = || vec![pair(1, Some(estimate(1000.0, Unit::Nanos))), pair(2, None)];
    let unknown = Pairs { overlap_share: None, ..trial(time()) };
    let apart = Pairs { apart: 2, label: "UDP".into(), ..trial(time()) };
    let lines = told(vec![unknown, apart]);
    assert_eq!(lines[0], "TCP: 2 pairs at once: it is unknown whether their windows overlapped");
    assert_eq!(
        lines[3],
        "UDP: 2 pairs at once: their windows had at least 87.5 % in common; 2 runs with less than \
         50 % in common have no figure"
    );
}

/// A study has dozens of such cells: a row each, and none of those that did not run, which are
/// named where it is said why.
#[test]
fn several_cells_of_a_study_are_a_table_of_those_that_ran() {
    let gbps = |value| Some(estimate(value * 1e9, Unit::BitsPerSecond));
    let mut first = trial(vec![pair(0, gbps(9.0)), pair(0, gbps(4.0))]);
    (first.fairness, first.slowest) = (Some(0.8712), Some(Slowest { pair: 1, runs: 5, of: 6 }));
    let mut none = trial(vec![pair(0, None), pair(0, None)]);
    none.overlap_share = None;
    let study = planted::study("TCP", &[1.0], 6, None);
    let mut analysis = Analysis::of(&study);
    analysis.pairs = vec![first, none];
    assert_eq!(words::pairs(&analysis), Vec::<String>::new());
    let rows = words::pairs_table(&analysis).expect("a table");
    let head = ["cell", "pair 1", "pair 2", "fairness", "windows in common", "slowest", "hosts"];
    assert_eq!(rows[0], head);
    let hosts = "this host > peer 1, this host > peer 1";
    let row = ["TCP", "9.00 Gb/s", "4.00 Gb/s", "0.871", "87.5 %", "pair 2, in 5 of 6 runs", hosts];
    assert_eq!(rows[1..], [row]);
    for format in ["text", "html"] {
        let written = narrows_report::formats::FORMATS.iter().find(|known| known.name == format);
        let told = (written.expect("a format").write)(&analysis);
        assert_eq!(told.matches("Pairs that ran at once").count(), 1, "{format}: {told}");
        assert!(!told.contains("peer 1: no run") && told.contains("Jain"), "{format}: {told}");
    }
}
