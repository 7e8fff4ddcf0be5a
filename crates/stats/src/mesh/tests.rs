//! Planted hosts and paths, and who is named.

use super::*;

/// Cells among hosts, each with a figure of its own; `None` where it failed.
fn cells(hosts: usize, value: impl Fn(usize, usize) -> Option<f64>) -> Vec<MeshPair> {
    let mut cells = Vec::new();
    for from in 0..hosts {
        for to in (0..hosts).filter(|to| *to != from) {
            let look = Look { round: 0, at_once: hosts / 2, value: value(from, to) };
            cells.push(MeshPair {
                from,
                to,
                looks: vec![look],
                state: State::Failed,
                failed: None,
            });
        }
    }
    cells
}

fn judged(mut cells: Vec<MeshPair>, unit: Unit) -> Vec<Named> {
    let values = cells.iter().filter_map(MeshPair::last);
    let best = values.reduce(if is_time(unit) { f64::min } else { f64::max });
    cells.iter_mut().for_each(|cell| cell.state = state(cell, best, unit, Limits::default()));
    named(&cells, best)
}

fn suspects(hosts: usize, value: impl Fn(usize, usize) -> Option<f64>) -> Vec<Suspect> {
    let named = judged(cells(hosts, value), Unit::BitsPerSecond);
    named.iter().map(|one| one.suspect).collect()
}

#[test]
fn planted_hosts_and_paths_are_named_and_no_others() {
    let good = 10e9;
    assert_eq!(suspects(8, |_, _| Some(good)), []);
    let slow_sender = |from, _| Some(if from == 3 { 2e9 } else { good });
    assert_eq!(suspects(8, slow_sender), [Suspect::Sends { host: 3 }]);
    let slow_receiver = |_, to| Some(if to == 5 { 2e9 } else { good });
    assert_eq!(suspects(8, slow_receiver), [Suspect::Receives { host: 5 }]);
    let slow_host = |from, to| Some(if from == 2 || to == 2 { 5e9 } else { good });
    assert_eq!(suspects(8, slow_host), [Suspect::Host { host: 2 }]);
    let slow_path = |from, to| Some(if (from, to) == (1, 6) { 5e9 } else { good });
    assert_eq!(suspects(8, slow_path), [Suspect::Path { from: 1, to: 6 }]);
    let dead = |from, to| (from != 4 && to != 4).then_some(good);
    assert_eq!(suspects(8, dead), [Suspect::Dead { host: 4 }]);
    let both = |from, to| match (from, to) {
        (6, _) | (_, 6) => None,
        (1, _) => Some(3e9),
        (2, 5) => Some(1e9),
        _ => Some(good),
    };
    let wanted =
        [Suspect::Dead { host: 6 }, Suspect::Sends { host: 1 }, Suspect::Path { from: 2, to: 5 }];
    assert_eq!(suspects(8, both), wanted);
}

#[test]
fn limits_are_of_the_best_and_can_be_set() {
    let of = Limits::default();
    assert!(!of.is_worse(9.31, 10.0, Unit::BitsPerSecond));
    assert!(of.is_worse(9.29, 10.0, Unit::BitsPerSecond));
    assert!(!of.is_worse(20.9, 10.0, Unit::Nanos) && of.is_worse(21.1, 10.0, Unit::Nanos));
    let loose = Limits { rate_share: 0.5, ..of };
    assert!(!loose.is_worse(5.1, 10.0, Unit::BitsPerSecond));
    let late = judged(cells(6, |from, _| Some(if from == 1 { 40e3 } else { 10e3 })), Unit::Nanos);
    assert_eq!(late.len(), 1);
    assert_eq!((late[0].suspect, late[0].pairs, late[0].of), (Suspect::Sends { host: 1 }, 5, 5));
    assert_eq!(late[0].worst_ratio, Some(4.0));
}

#[test]
fn a_pair_that_is_slow_among_many_alone_is_told_apart() {
    let look = |at_once, value| Look { round: 0, at_once, value: Some(value) };
    let cell = |looks| MeshPair { from: 0, to: 1, looks, state: State::Failed, failed: None };
    let of = |cell: &MeshPair| state(cell, Some(10.0), Unit::BitsPerSecond, Limits::default());
    assert_eq!(of(&cell(vec![look(4, 5.0), look(2, 5.1), look(1, 5.0)])), State::Slow);
    assert_eq!(of(&cell(vec![look(4, 5.0), look(2, 7.0), look(1, 9.9)])), State::SlowTogether);
    assert_eq!(of(&cell(vec![look(4, 9.9)])), State::Good);
    assert_eq!(cell(vec![look(4, 9.9), look(2, 9.8)]).alone(), None, "others ran beside it");
    assert_eq!(cell(vec![look(4, 5.0), look(1, 9.9)]).alone(), Some(9.9));
    let failed = Look { value: None, ..look(4, 0.0) };
    assert_eq!(of(&cell(vec![failed])), State::Failed);
    assert_eq!(of(&cell(vec![look(4, 9.9), failed])), State::Good, "one figure is enough");
}

#[test]
fn a_round_that_lay_apart_does_not_count_where_its_pairs_met_later() {
    let look = |round, at_once, value| Look { round, at_once, value };
    let (first, again, alone) =
        (look(0, 4, Some(9.0)), look(1, 4, Some(5.0)), look(2, 1, Some(8.0)));
    let apart = BTreeSet::from([0]);
    assert_eq!(that_met(&[first, again, alone], &apart), [again, alone]);
    // Fewer pairs at once are no second try, and neither is a run that failed or lay apart too.
    assert_eq!(that_met(&[first, alone], &apart), [first, alone]);
    let failed = look(1, 4, None);
    assert_eq!(that_met(&[first, failed], &apart), [first, failed]);
    assert_eq!(that_met(&[first, again], &BTreeSet::from([0, 1])), [first, again]);
    assert_eq!(that_met(&[first, again], &BTreeSet::new()), [first, again]);
    let cells =
        vec![MeshPair { from: 0, to: 1, looks: vec![again], state: State::Good, failed: None }];
    let round = |round, share| Round { round, done: 4, pairs: 4, overlap_share: Some(share) };
    let rounds = vec![round(0, 0.2), round(1, 0.9), round(2, 0.3)];
    let mesh = |cells| Mesh {
        unit: Unit::BitsPerSecond,
        cells,
        best: None,
        rounds: rounds.clone(),
        named: Vec::new(),
        limits: Limits::default(),
    };
    assert_eq!((mesh(cells.clone()).apart(), mesh(cells).made_again()), (2, 2));
    let of_both = MeshPair { from: 0, to: 1, looks: vec![first], state: State::Good, failed: None };
    assert_eq!(mesh(vec![of_both]).made_again(), 1, "the first still counts");
}
