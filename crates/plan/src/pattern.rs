//! Who sends to whom among many hosts.

use narrows_model::load::Role;
use narrows_model::trial::{EndHost, EndSpec, Placement};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A pattern of traffic among hosts in the order in which they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The first sends to the second, the third to the fourth, and so on.
    Pair,
    /// All others send to the first.
    FanIn,
    /// The first sends to all others.
    FanOut,
    /// The first receives from the first half of the others and sends to the second half.
    HalfInHalfOut,
    /// Each sends to the next, and the last to the first.
    Ring,
    /// Each sends to every other.
    AllPairs,
}

/// Most pairs at once: each takes a worker at both of its agents.
const PAIRS_MAX: usize = 64;

/// Why a pattern cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoPattern {
    /// No pattern has the name.
    #[error("'{0}' is none of {names}", names = Pattern::ALL.map(Pattern::name).join(", "))]
    Unknown(String),
    /// It is one of several hosts.
    #[error("{pattern} needs {least} hosts or more, and {hosts} are named")]
    FewHosts {
        /// The pattern that was asked for.
        pattern: Pattern,
        /// The fewest hosts that it has.
        least: usize,
        hosts: usize,
    },
    /// Half of the others receive, half send.
    #[error("{0} needs an odd number of hosts: the first, and two halves of the others")]
    NoHalves(Pattern),
    /// Each host is in one pair.
    #[error("{0} needs an even number of hosts")]
    NoPairs(Pattern),
    /// It is of too many pairs.
    #[error("{pairs} pairs at once, at most {PAIRS_MAX}")]
    ManyPairs {
        /// How many there would be.
        pairs: usize,
    },
}

impl Pattern {
    /// All patterns, in the order of the help text.
    pub const ALL: [Self; 6] =
        [Self::Pair, Self::FanIn, Self::FanOut, Self::HalfInHalfOut, Self::Ring, Self::AllPairs];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pair => "pair",
            Self::FanIn => "fan-in",
            Self::FanOut => "fan-out",
            Self::HalfInHalfOut => "half-in-half-out",
            Self::Ring => "ring",
            Self::AllPairs => "all-pairs",
        }
    }

    /// The fewest hosts that it is a pattern of.
    fn least(self) -> usize {
        match self {
            Self::Pair | Self::FanIn | Self::FanOut | Self::AllPairs => 2,
            Self::HalfInHalfOut | Self::Ring => 3,
        }
    }

    /// Sender and receiver of each pair, by the places of hosts in their list.
    pub fn pairs(self, hosts: usize) -> Result<Vec<(usize, usize)>, NoPattern> {
        let least = self.least();
        if hosts < least {
            return Err(NoPattern::FewHosts { pattern: self, least, hosts });
        }
        if self == Self::HalfInHalfOut && hosts.is_multiple_of(2) {
            return Err(NoPattern::NoHalves(self));
        }
        if self == Self::Pair && !hosts.is_multiple_of(2) {
            return Err(NoPattern::NoPairs(self));
        }
        let half = hosts / 2;
        let pairs: Vec<(usize, usize)> = match self {
            Self::Pair => (0..hosts / 2).map(|pair| (2 * pair, 2 * pair + 1)).collect(),
            Self::FanIn => (1..hosts).map(|from| (from, 0)).collect(),
            Self::FanOut => (1..hosts).map(|to| (0, to)).collect(),
            Self::HalfInHalfOut => {
                (1..hosts).map(|host| if host <= half { (host, 0) } else { (0, host) }).collect()
            }
            Self::Ring => (0..hosts).map(|from| (from, (from + 1) % hosts)).collect(),
            Self::AllPairs => (0..hosts)
                .flat_map(|from| (0..hosts).filter(move |to| *to != from).map(move |to| (from, to)))
                .collect(),
        };
        match pairs.len() {
            pairs if pairs > PAIRS_MAX => Err(NoPattern::ManyPairs { pairs }),
            _ => Ok(pairs),
        }
    }

    /// The ends of a trial of this pattern among the peers of these numbers, on any CPUs of theirs.
    pub fn ends(self, peers: &[u32]) -> Result<Vec<EndSpec>, NoPattern> {
        let pairs = self.pairs(peers.len())?;
        let both = pairs.into_iter().flat_map(|(from, to)| {
            [end(Role::Sender, peers[from]), end(Role::Receiver, peers[to])]
        });
        Ok(both.collect())
    }
}

fn end(role: Role, peer: u32) -> EndSpec {
    EndSpec::of(role, EndHost::Peer(peer), Placement::default())
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Pattern {
    type Err = NoPattern;

    fn from_str(text: &str) -> Result<Self, NoPattern> {
        let found = Self::ALL.into_iter().find(|pattern| pattern.name() == text);
        found.ok_or_else(|| NoPattern::Unknown(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Pattern::{AllPairs, FanIn, FanOut, HalfInHalfOut, Pair, Ring};
    use narrows_model::options::places::PATTERNS;

    #[test]
    fn each_pattern_has_its_pairs() {
        let of = |pattern: Pattern, hosts| pattern.pairs(hosts).expect("pairs");
        assert_eq!(of(Pair, 4), [(0, 1), (2, 3)]);
        assert_eq!(of(FanIn, 3), [(1, 0), (2, 0)]);
        assert_eq!(of(FanOut, 3), [(0, 1), (0, 2)]);
        assert_eq!(of(HalfInHalfOut, 5), [(1, 0), (2, 0), (0, 3), (0, 4)]);
        assert_eq!(of(Ring, 4), [(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert_eq!(of(AllPairs, 3), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
        let ends = FanIn.ends(&[4, 7]).expect("ends");
        let seen: Vec<_> = ends.iter().map(|end| (end.role, end.host)).collect();
        let wanted = [(Role::Sender, EndHost::Peer(7)), (Role::Receiver, EndHost::Peer(4))];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse(), Ok(pattern));
            let few = pattern.pairs(1).expect_err("one host").to_string();
            assert!(few.contains("hosts or more, and 1 are named"), "{few}");
        }
        assert!("star".parse::<Pattern>().is_err_and(|why| why.to_string().contains("ring")));
        assert_eq!(Pattern::ALL.map(Pattern::name), PATTERNS);
        assert_eq!(Pair.pairs(3), Err(NoPattern::NoPairs(Pair)));
        assert_eq!(HalfInHalfOut.pairs(4), Err(NoPattern::NoHalves(HalfInHalfOut)));
        assert_eq!(AllPairs.pairs(9), Err(NoPattern::ManyPairs { pairs: 72 }));
        // 64 pairs at once are the most.
        assert_eq!(Ring.pairs(64).map(|pairs| pairs.len()), Ok(64));
        assert_eq!(Ring.pairs(65), Err(NoPattern::ManyPairs { pairs: 65 }));
        assert_eq!(FanIn.pairs(65).map(|pairs| pairs.len()), Ok(64));
        for (pattern, least) in [(Pair, 2), (FanIn, 2), (FanOut, 2), (AllPairs, 2), (Ring, 3)] {
            assert!(pattern.pairs(least).is_ok(), "{pattern}");
            let few = NoPattern::FewHosts { pattern, least, hosts: least - 1 };
            assert_eq!(pattern.pairs(least - 1), Err(few));
        }
    }
}
