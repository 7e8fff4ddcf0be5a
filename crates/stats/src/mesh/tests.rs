//! Planted hosts and paths, and who is named.

use super::suspects::named;
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
    named(&cells, &[], best)
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
        gone: Vec::new(),
        named: Vec::new(),
        limits: Limits::default(),
    };
    assert_eq!((mesh(cells.clone()).apart(), mesh(cells).made_again()), (2, 2));
    let of_both = MeshPair { from: 0, to: 1, looks: vec![first], state: State::Good, failed: None };
    assert_eq!(mesh(vec![of_both]).made_again(), 1, "the first still counts");
}

/// A ring, in which each host sends to the next alone.
fn ring(hosts: usize, value: impl Fn(usize) -> f64) -> Vec<MeshPair> {
    let all = cells(hosts, |from, _| Some(value(from)));
    all.into_iter().filter(|cell| cell.to == (cell.from + 1) % hosts).collect()
}

#[test]
fn a_pair_that_nobody_clears_is_laid_to_neither_host() {
    let of = |cells| -> Vec<Suspect> {
        judged(cells, Unit::BitsPerSecond).iter().map(|one| one.suspect).collect()
    };
    let good = 10e9;
    let third = |from| if from == 3 { 2e9 } else { good };
    assert_eq!(of(ring(8, third)), [Suspect::Either { from: 3, to: 4 }]);
    // Two in a row may be the one between them, or each by its own end.
    let two = |from| if from == 3 || from == 4 { 2e9 } else { good };
    let either = [(3, 4), (4, 5)].map(|(from, to)| Suspect::Either { from, to });
    assert_eq!(of(ring(8, two)), either);
    // Each other host has one partner, so that both of a slow pair look alike.
    let quick = |from, to| Some(if from == 1 || to == 1 { 2e9 } else { good });
    let all = cells(4, quick).into_iter().filter(|cell| cell.from.abs_diff(cell.to) == 2);
    let either = [(1, 3), (3, 1)].map(|(from, to)| Suspect::Either { from, to });
    assert_eq!(of(all.collect()), either);
    // Once the two ran with a third, it is one of them.
    let crossed = |slow: (usize, usize)| {
        let mut all = ring(8, third);
        for (from, to) in [(3, 0), (0, 4)] {
            let value = if (from, to) == slow { 2e9 } else { good };
            let look = Look { round: 9, at_once: 1, value: Some(value) };
            let (looks, state, failed) = (vec![look], State::Good, None);
            all.push(MeshPair { from, to, looks, state, failed });
        }
        of(all)
    };
    assert_eq!(crossed((3, 0)), [Suspect::Sends { host: 3 }]);
    assert_eq!(crossed((0, 4)), [Suspect::Receives { host: 4 }]);
    assert_eq!(crossed((9, 9)), [Suspect::Path { from: 3, to: 4 }]);
}

#[test]
fn a_host_that_is_gone_is_named_and_none_of_its_partners() {
    let good = 10e9;
    // In a quick look each has one partner: what the dead do not do is not their partners' fault.
    let mut all = cells(4, |from, to| (from != 3 && to != 3).then_some(good));
    all.retain(|cell| cell.from.abs_diff(cell.to) == 2);
    let best = Some(good);
    all.iter_mut().for_each(|cell| {
        cell.state = state(cell, best, Unit::BitsPerSecond, Limits::default());
    });
    let gone = |host, after_ns| Gone { host, why: "closed".to_owned(), after_ns };
    let ended = [gone(3, Some(narrows_model::Nanos(5)))];
    let suspects = |gone: &[Gone]| -> Vec<(Suspect, usize, usize)> {
        named(&all, gone, best).iter().map(|one| (one.suspect, one.pairs, one.of)).collect()
    };
    assert_eq!(suspects(&ended), [(Suspect::Gone { host: 3 }, 2, 2)]);
    // One that never was there has no pair, and is named all the same.
    let both = [ended[0].clone(), gone(7, None)];
    assert_eq!(suspects(&both)[1], (Suspect::Dead { host: 7 }, 0, 0));
}
