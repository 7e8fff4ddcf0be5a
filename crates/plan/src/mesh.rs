//! Rounds of pairs among many hosts, in which no host is in two pairs: two tests at one host would
//! measure that host's share of itself.

use narrows_model::Nanos;
use narrows_model::load::{Params, Role, Timeline};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial};
use narrows_model::workload::Workload;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use std::collections::BTreeSet;

/// Sender and receiver, by their places in the list of hosts.
pub type Pair = (usize, usize);

/// Which pairs of a mesh are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Every host with every other, both ways.
    AllPairs,
    /// Each host of the first half with one of the second, both ways: one look at every host. Of an
    /// odd number the last is with the first, in a round of its own.
    Quick,
    /// Each with the next in the list, and the last with the first.
    Ring,
    /// Random matchings of one half with the other, in so many rounds each way.
    Bisection(u32),
}

impl Shape {
    /// The rounds among so many hosts; of random ones from a seed.
    pub fn rounds(self, hosts: usize, seed: u64) -> Vec<Vec<Pair>> {
        match self {
            Self::AllPairs => both_ways(&circle(hosts)),
            Self::Quick => both_ways(&quick(hosts)),
            Self::Ring => ring(hosts),
            Self::Bisection(rounds) => {
                let mut random = Pcg64::seed_from_u64(seed);
                let matchings: Vec<_> = (0..rounds).map(|_| matching(hosts, &mut random)).collect();
                both_ways(&matchings)
            }
        }
    }
}

/// All pairs in `n - 1` rounds of `n / 2`, by the circle method: one host stays, the others move on
/// by one place. Of an odd number one is without a partner in each of `n` rounds.
fn circle(hosts: usize) -> Vec<Vec<Pair>> {
    let places = hosts + hosts % 2;
    let turning = places.saturating_sub(1);
    let mut rounds = Vec::new();
    for round in 0..turning {
        let place = |at: usize| if at == 0 { turning } else { (round + at) % turning };
        let pairs = (0..places / 2).map(|at| (place(at), place(turning - at)));
        rounds.push(pairs.filter(|(one, other)| *one < hosts && *other < hosts).collect());
    }
    rounds
}

/// Every round, and then the same pairs the other way.
fn both_ways(rounds: &[Vec<Pair>]) -> Vec<Vec<Pair>> {
    rounds.iter().flat_map(|round| [round.clone(), turned(round)]).collect()
}

fn quick(hosts: usize) -> Vec<Vec<Pair>> {
    let half = hosts / 2;
    let halves = (0..half).map(|at| (at, at + half)).collect();
    let odd = (hosts % 2 == 1 && hosts > 1).then(|| vec![(0, hosts - 1)]);
    std::iter::once(halves).chain(odd).collect()
}

/// For slow pairs, each of which may be slow by its sender, its receiver or the path: the sender
/// with a host that is well, and the receiver with it. Pairs that ran already are left out.
pub fn crossed(slow: &[Pair], well: &[usize], ran: impl Fn(&Pair) -> bool) -> Vec<Pair> {
    let mut crossed = BTreeSet::new();
    for (at, (from, to)) in slow.iter().enumerate() {
        // Each has another one where there are enough.
        let mut others = well.iter().cycle().skip(at).take(well.len());
        let Some(other) = others.find(|other| *other != from && *other != to) else { continue };
        crossed.extend([(*from, *other), (*other, *to)]);
    }
    crossed.into_iter().filter(|pair| !ran(pair)).collect()
}

fn turned(round: &[Pair]) -> Vec<Pair> {
    round.iter().map(|(from, to)| (*to, *from)).collect()
}

fn ring(hosts: usize) -> Vec<Vec<Pair>> {
    let pairs: Vec<Pair> = (0..hosts).map(|from| (from, (from + 1) % hosts)).collect();
    packed(&pairs, hosts.max(1))
}

fn matching(hosts: usize, random: &mut Pcg64) -> Vec<Pair> {
    let mut order: Vec<usize> = (0..hosts).collect();
    order.shuffle(random);
    let half = hosts / 2;
    (0..half).map(|at| (order[at], order[at + half])).collect()
}

/// These pairs in rounds of at most `at_once`, none of which has a host twice.
pub fn packed(pairs: &[Pair], at_once: usize) -> Vec<Vec<Pair>> {
    let mut left: Vec<Pair> = pairs.iter().copied().filter(|(from, to)| from != to).collect();
    let mut rounds = Vec::new();
    while !left.is_empty() {
        let (mut round, mut busy) = (Vec::new(), BTreeSet::new());
        left.retain(|(from, to)| {
            let free = round.len() < at_once.max(1) && !busy.contains(from) && !busy.contains(to);
            if free {
                busy.extend([*from, *to]);
                round.push((*from, *to));
            }
            !free
        });
        rounds.push(round);
    }
    rounds
}

/// These rounds with at most `at_once` pairs in each: what would run one after another is as many
/// rounds.
pub fn at_most(rounds: &[Vec<Pair>], at_once: usize) -> Vec<Vec<Pair>> {
    rounds.iter().flat_map(|round| round.chunks(at_once.max(1))).map(<[Pair]>::to_vec).collect()
}

/// The trial of one pair of agents.
pub fn trial(
    (from, to): Pair,
    kind: &Workload,
    params: &Params,
    timeline: Timeline,
    names: &[String],
) -> Trial {
    let ends = vec![peer_end(Role::Sender, from), peer_end(Role::Receiver, to)];
    let name = |host: usize| names.get(host).map_or("?", String::as_str);
    let label = format!("{kind} {} to {}", name(from), name(to));
    crate::trial(&label, kind.clone(), params.clone(), ends, NetworkPath::Peer, timeline)
}

fn peer_end(role: Role, host: usize) -> EndSpec {
    EndSpec::of(role, EndHost::Peer(host as u32), Placement::default())
}

/// The time line of one pair; the cool-down covers the delays of the control connections.
pub fn timeline(window: Nanos) -> Timeline {
    Timeline {
        warmup_ns: Nanos::from_millis(300),
        window_ns: window,
        cooldown_ns: Nanos::from_millis(300),
        interval_ns: None,
    }
}

/// The time line of two ranks, which warm up by themselves.
pub fn of_ranks(window: Nanos) -> Timeline {
    Timeline::new(Nanos(0), window, Nanos(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn is_disjoint(round: &[Pair]) -> bool {
        let hosts: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
        hosts.len() == 2 * round.len()
    }

    #[test]
    fn all_pairs_take_the_fewest_rounds_and_each_is_there_once_each_way() {
        for hosts in 2..=33 {
            let rounds = Shape::AllPairs.rounds(hosts, 0);
            let fewest = hosts + hosts % 2 - 1;
            assert_eq!(rounds.len(), 2 * fewest, "{hosts}");
            assert!(rounds.iter().all(|round| is_disjoint(round) && round.len() == hosts / 2));
            let all: Vec<Pair> = rounds.into_iter().flatten().collect();
            let once: BTreeSet<Pair> = all.iter().copied().collect();
            assert_eq!((all.len(), once.len()), (hosts * (hosts - 1), hosts * (hosts - 1)));
        }
        assert_eq!(Shape::AllPairs.rounds(512, 0).len(), 2 * 511);
        assert!(Shape::AllPairs.rounds(1, 0).iter().all(Vec::is_empty));
    }

    #[test]
    fn every_shape_keeps_its_hosts_apart() {
        for hosts in 2..=17 {
            for shape in [Shape::Quick, Shape::Ring, Shape::Bisection(5)] {
                let rounds = shape.rounds(hosts, 7);
                assert!(rounds.iter().all(|round| is_disjoint(round)), "{shape:?} {hosts}");
                let mut seen: BTreeMap<usize, u32> = BTreeMap::new();
                for (from, to) in rounds.iter().flatten() {
                    *seen.entry(*from).or_default() += 1;
                    *seen.entry(*to).or_default() += 1;
                }
                let least = if shape == Shape::Bisection(5) { hosts / 2 * 2 } else { hosts };
                assert!((least..=hosts).contains(&seen.len()), "{shape:?} {hosts}");
            }
        }
        let halves = [vec![(0, 2), (1, 3)], vec![(2, 0), (3, 1)]];
        assert_eq!(Shape::Quick.rounds(4, 0), halves);
        // The fifth is with the first.
        let of_five = [&halves[..], &[vec![(0, 4)], vec![(4, 0)]]].concat();
        assert_eq!(Shape::Quick.rounds(5, 0), of_five);
        let ring: BTreeSet<Pair> = Shape::Ring.rounds(5, 0).into_iter().flatten().collect();
        assert_eq!(ring, BTreeSet::from([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]));
        let drawn = |seed| Shape::Bisection(4).rounds(16, seed);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn slow_pairs_are_crossed_with_hosts_that_are_well() {
        let none = |_: &Pair| false;
        assert_eq!(crossed(&[(2, 3)], &[0, 1], none), [(0, 3), (2, 0)]);
        assert_eq!(crossed(&[(2, 3), (4, 5)], &[0, 1], none), [(0, 3), (1, 5), (2, 0), (4, 1)]);
        assert_eq!(crossed(&[(2, 3)], &[0], |pair| *pair == (0, 3)), [(2, 0)]);
        assert!(crossed(&[(2, 3)], &[], none).is_empty());
        assert!(crossed(&[(2, 3)], &[2, 3], none).is_empty());
    }

    #[test]
    fn pairs_are_packed_without_a_host_twice() {
        let of_one_host: Vec<Pair> = (1..6).map(|to| (0, to)).collect();
        assert_eq!(packed(&of_one_host, 3).len(), 5);
        let others = [(0, 1), (2, 3), (4, 5), (1, 0)];
        assert_eq!(packed(&others, 8), [vec![(0, 1), (2, 3), (4, 5)], vec![(1, 0)]]);
        assert_eq!(packed(&others, 2).len(), 2);
        assert_eq!(packed(&others, 1).len(), 4);
        assert!(packed(&[(3, 3)], 1).is_empty(), "no host is measured with itself");
    }

    #[test]
    fn a_round_of_more_pairs_than_run_at_once_is_several_rounds() {
        let rounds = Shape::Quick.rounds(140, 0);
        assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [70, 70]);
        let capped = at_most(&rounds, 32);
        assert_eq!(capped.iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 6, 32, 32, 6]);
        assert_eq!(capped.concat(), rounds.concat(), "every pair is there, in its order");
        assert_eq!(at_most(&rounds, usize::MAX), rounds);
    }

    #[test]
    fn a_pair_warms_up_and_ranks_warm_up_by_themselves() {
        let ms = |time: Timeline| [time.warmup_ns, time.window_ns, time.cooldown_ns];
        let second = Nanos::from_millis(1000);
        let side = Nanos::from_millis(300);
        assert_eq!(ms(timeline(second)), [side, second, side]);
        assert_eq!(ms(of_ranks(second)), [Nanos(0), second, Nanos(0)]);
    }
}
