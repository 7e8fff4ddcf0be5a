//! Which points a search for anomalies looks at, one block after the other: usual ones for the
//! noise, a sample of all of them, those near the worst, and then what tells an anomaly from
//! chance. It follows from the seed and from what the runs said, and from nothing else.

use super::Kind;
use super::Look;
use super::known::{Claim, Known};
use super::shrink::{Shrunk, shrink};
use narrows_model::explored::{Explored, Law, Point};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeSet;

/// Up to which share of all runs there are usual ones, a sample, and those near the worst.
const USUAL: f64 = 0.1;
const SAMPLED: f64 = 0.4;
const NEAR: f64 = 0.7;
/// Usual runs of each traffic at least.
const USUAL_MIN: usize = 3;
/// Pairs that confirm an anomaly: all of them must show it.
pub const PAIRS: usize = 3;
/// Pairs of one suspicion in a row that may fail without a word on it.
const FAILED_MAX: usize = 2;
/// Runs by which a point is shrunk at most.
const SHRINK_MAX: u32 = 40;
/// With fewer runs left what is off is followed at once: they are what it takes to confirm it.
const FOLLOW: u32 = 24;
/// Points that are looked near of.
const WORST: usize = 3;
/// A choice that costs more than its law by so much, as a logarithm, is tried alone.
const SUSPECT: f64 = -0.3;
/// Draws of a point that is not known yet.
const DRAWS: usize = 30;

/// A point and the one beside it, in turn.
#[derive(Clone, Debug)]
struct Confirming {
    kind: Kind,
    odd: Point,
    plain: Point,
    shown: usize,
    /// Pairs since the last that said something: a run of each failed.
    failed: usize,
}

impl Confirming {
    fn of(kind: Kind, odd: Point, plain: Point) -> Self {
        Self { kind, odd, plain, shown: 0, failed: 0 }
    }
}

/// A search while it goes on.
#[derive(Clone, Debug)]
pub struct Exploration {
    known: Known,
    random: Pcg64,
    /// By traffic and option: choices that are still to be drawn before all are drawn again.
    decks: Vec<Vec<Vec<usize>>>,
    made: u32,
    is_fitted: bool,
    confirming: Option<Confirming>,
    claims: Vec<Claim>,
    /// What was followed, and for how many runs.
    following: Option<(Kind, Point, u32)>,
    followed: BTreeSet<(Kind, Point)>,
}

impl Exploration {
    /// A search that has made no run.
    pub fn new(explored: &Explored, seed: u64) -> Self {
        let decks = explored.traffic.iter().map(|of| vec![Vec::new(); of.options.len()]);
        Self {
            known: Known::new(explored),
            random: Pcg64::seed_from_u64(seed),
            decks: decks.collect(),
            made: 0,
            is_fitted: false,
            confirming: None,
            claims: Vec::new(),
            following: None,
            followed: BTreeSet::new(),
        }
    }

    /// What it has claimed until now.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Runs that were made.
    pub fn made(&self) -> u32 {
        self.made
    }

    /// Whether nothing is known of any traffic as it usually is, though it was tried.
    pub fn is_refused(&self) -> bool {
        self.traffic().next().is_none()
    }

    /// The points of the next block, in order, with so many runs left; none where it is over.
    pub fn next(&mut self, left: u32) -> Vec<Point> {
        if let Some(pair) = &self.confirming {
            let (odd, plain) = (pair.odd.clone(), pair.plain.clone());
            let block =
                if pair.shown.is_multiple_of(2) { vec![odd, plain] } else { vec![plain, odd] };
            return if left < 2 { Vec::new() } else { block };
        }
        if left == 0 || self.is_refused() {
            return Vec::new();
        }
        let share = f64::from(self.made) / f64::from(self.made + left);
        if let Some(point) = self.usual(share).or_else(|| self.equal_alone()) {
            return vec![point];
        }
        if let Some((odd, plain)) = self.equals_apart() {
            self.followed.insert((Kind::Slow, odd.clone()));
            self.confirming = Some(Confirming::of(Kind::Slow, odd, plain));
            return self.next(left);
        }
        if share < SAMPLED {
            return vec![self.sample()];
        }
        if !self.is_fitted {
            self.known.fit(&self.claims);
            self.is_fitted = true;
        }
        if share < NEAR && (left > FOLLOW || self.candidate().is_none()) {
            return vec![self.near_the_worst()];
        }
        self.follow(left)
    }

    /// Takes what the runs of a block say, in its order.
    pub fn take(&mut self, block: &[Point], looks: &[Option<Look>]) {
        for (point, look) in block.iter().zip(looks) {
            self.known.take(point, *look);
            self.made += u32::from(look.is_some());
        }
        if block.len() == 2 {
            self.judge(block, looks);
        }
        if let Some((_, _, runs)) = &mut self.following {
            *runs += 1;
        }
        self.known.fit_noise();
        self.is_fitted = false;
    }

    /// Takes a pair: all that were made must show it, the first is not worth another otherwise.
    fn judge(&mut self, block: &[Point], looks: &[Option<Look>]) {
        let Some(mut pair) = self.confirming.take() else { return };
        let of = |point: &Point| looks[usize::from(block[0] != *point)];
        let (Some(one), Some(other)) = (of(&pair.odd), of(&pair.plain)) else {
            pair.failed += 1;
            self.confirming = Some(pair).filter(|pair| pair.failed <= FAILED_MAX);
            return;
        };
        if !self.known.shows(pair.kind, (&pair.odd, one), (&pair.plain, other)) {
            return;
        }
        (pair.shown, pair.failed) = (pair.shown + 1, 0);
        if pair.shown == PAIRS {
            self.claims.push(Claim { kind: pair.kind, odd: pair.odd, plain: pair.plain });
        } else {
            self.confirming = Some(pair);
        }
    }

    /// Traffic that is not refused as it usually is.
    fn traffic(&self) -> impl Iterator<Item = usize> {
        (0..self.known.explored().traffic.len()).filter(|traffic| {
            let usual = self.known.usual(*traffic);
            self.known.refusals(&usual) < 2 || self.known.runs(&usual) > 0
        })
    }

    /// The traffic whose usual runs are too few.
    fn usual(&self, share: f64) -> Option<Point> {
        let usual = self.traffic().map(|traffic| self.known.usual(traffic));
        let fewest = usual.min_by_key(|point| self.known.runs(point))?;
        (share < USUAL || self.known.runs(&fewest) < USUAL_MIN).then_some(fewest)
    }

    /// Each device and verb that is not the usual one, with all else as usual.
    fn equals(&self) -> impl Iterator<Item = Point> {
        self.traffic().flat_map(|traffic| {
            let (of, usual) = (&self.known.explored().traffic[traffic], self.known.usual(traffic));
            let options = of.options.iter().enumerate();
            let options = options.filter(|(_, option)| option.law.is_of_equals());
            let others = options.flat_map(|(at, option)| {
                let others = (0..option.choices.len()).filter(|choice| *choice != option.usual);
                others.map(move |choice| (at, choice))
            });
            others.map(|(at, choice)| usual.with(at, choice)).collect::<Vec<Point>>()
        })
    }

    /// One of them that was not tried: they are compared before anything else is. A run may fail
    /// by chance, and is made again once.
    fn equal_alone(&self) -> Option<Point> {
        self.equals().find(|point| self.known.runs(point) == 0 && self.known.refusals(point) < 2)
    }

    /// One that is clearly slower than another with all else as usual, and that other: where the
    /// usual one is slow, beside the fastest.
    fn equals_apart(&self) -> Option<(Point, Point)> {
        let pairs = self.equals().flat_map(|point| {
            let usual = self.known.usual(point.traffic);
            [(point.clone(), usual.clone()), (usual, point)]
        });
        let open = pairs.filter(|(odd, _)| !self.followed.contains(&(Kind::Slow, odd.clone())));
        let apart = open.filter_map(|(odd, plain)| {
            let (one, other) = (self.known.look(&odd)?, self.known.look(&plain)?);
            let shows = self.known.shows(Kind::Slow, (&odd, one), (&plain, other));
            shows.then_some((other.rate / one.rate, odd, plain))
        });
        let most = apart.max_by(|one, other| one.0.total_cmp(&other.0));
        most.map(|(_, odd, plain)| (odd, plain))
    }

    /// A point of the traffic that has the fewest: each choice of an option as often as the others.
    fn sample(&mut self) -> Point {
        let counts: Vec<usize> = self.traffic().collect();
        let fewest = counts.into_iter().min_by_key(|traffic| self.points_of(*traffic));
        let traffic = fewest.unwrap_or(0);
        let mut point = self.known.usual(traffic);
        for _ in 0..DRAWS {
            for option in 0..point.choices.len() {
                point.choices[option] = self.draw(traffic, option);
            }
            if !self.known.is_known(&point) {
                break;
            }
        }
        point
    }

    fn points_of(&self, traffic: usize) -> usize {
        self.known.points().filter(|point| point.traffic == traffic).count()
    }

    /// The next choice of an option from its deck.
    fn draw(&mut self, traffic: usize, option: usize) -> usize {
        let declared = &self.known.explored().traffic[traffic].options[option];
        let usual = declared.usual;
        if self.decks[traffic][option].is_empty() {
            let coarse = (0..declared.choices.len()).filter(|at| !declared.choices[*at].is_fine);
            let mut deck: Vec<usize> = coarse.collect();
            if declared.law == Law::Pace {
                // What is paced shows nothing that is faster than its pace.
                deck.resize(3 * deck.len(), usual);
            }
            deck.shuffle(&mut self.random);
            self.decks[traffic][option] = deck;
        }
        let choice = self.decks[traffic][option].pop().unwrap_or(usual);
        if self.known.is_barred(traffic, option, choice) { usual } else { choice }
    }

    /// The worst points that nothing explains, with how much each is off, the worst first.
    fn worst(&self) -> Vec<(f64, Kind, Point)> {
        let explored = self.known.explored();
        let open = self
            .known
            .points()
            .filter(|point| !self.claims.iter().any(|claim| claim.explains(explored, point)));
        let mut all: Vec<(f64, Kind, Point)> = open
            .flat_map(|point| Kind::ALL.map(|kind| (kind, point)))
            .filter(|(kind, point)| !self.followed.contains(&(*kind, (*point).clone())))
            .filter_map(|(kind, point)| {
                Some((self.known.excess(kind, point)?, kind, point.clone()))
            })
            .collect();
        all.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.2.cmp(&other.2)));
        all
    }

    /// In turn a choice alone that looks bad wherever it is, and one of the worst with one option
    /// changed, as often back to the usual as elsewhere.
    fn near_the_worst(&mut self) -> Point {
        let suspect = self.known.suspects().into_iter().next();
        if let Some((_, point)) = suspect.filter(|(beyond, _)| *beyond < SUSPECT)
            && self.made.is_multiple_of(2)
        {
            return point;
        }
        let mut worst = self.worst();
        worst.truncate(WORST);
        for _ in 0..DRAWS {
            let Some((_, _, from)) = worst.choose(&mut self.random) else { break };
            let option = self.random.random_range(0..from.choices.len());
            let (traffic, usual) = (from.traffic, self.known.usual(from.traffic));
            let choice = if self.random.random_bool(0.5) {
                usual.choices[option]
            } else {
                self.draw(traffic, option)
            };
            let point = from.with(option, choice);
            if !self.known.is_known(&point) {
                return point;
            }
        }
        self.sample()
    }

    /// Shrinks what is off the most and confirms it; what is left of the time goes on looking.
    fn follow(&mut self, left: u32) -> Vec<Point> {
        loop {
            let Some((kind, from, runs)) = self.following.clone().or_else(|| self.candidate())
            else {
                return vec![self.near_the_worst()];
            };
            self.following = Some((kind, from.clone(), runs));
            match shrink(&self.known, kind, &from) {
                Shrunk::Needs(point) if runs < SHRINK_MAX => return vec![point],
                Shrunk::Pair(odd, plain) if !self.is_followed(kind, &odd) => {
                    self.end_following(kind, [from, odd.clone()]);
                    self.confirming = Some(Confirming::of(kind, odd, plain));
                    return self.next(left);
                }
                _ => self.end_following(kind, [from.clone(), from]),
            }
        }
    }

    fn is_followed(&self, kind: Kind, point: &Point) -> bool {
        self.followed.contains(&(kind, point.clone()))
            && self.following.as_ref().is_none_or(|(_, from, _)| from != point)
    }

    fn end_following(&mut self, kind: Kind, points: [Point; 2]) {
        self.following = None;
        self.followed.extend(points.map(|point| (kind, point)));
    }

    /// What is off the most, where anything is.
    fn candidate(&self) -> Option<(Kind, Point, u32)> {
        let worst = self.worst().into_iter().next();
        worst.filter(|(excess, ..)| *excess > 0.0).map(|(_, kind, point)| (kind, point, 0))
    }
}
