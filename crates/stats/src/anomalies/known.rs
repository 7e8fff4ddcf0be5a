//! What the runs of a search say: the rate and the trouble of each point, what a point is expected
//! to have by the others, and by how much it is off.

use super::judge::{TROUBLE_LEAST, TROUBLE_TIMES, clearly, is_ordered, least, message_bytes};
use super::{Kind, Look};
use crate::median;
use narrows_model::explored::{Explorable, Explored, Law, Point};
use std::collections::BTreeMap;

/// An anomaly that all its pairs have shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub kind: Kind,
    pub odd: Point,
    /// The same with one option put back, where it is not.
    pub plain: Point,
}

impl Claim {
    /// Whether a point has all options of the anomaly, or more of them.
    pub fn explains(&self, explored: &Explored, point: &Point) -> bool {
        let of = explored.of(&self.odd);
        let changed = of.changed(&self.odd);
        // A usual device or verb that is slower than another: what is usual of it is what others
        // are expected by, and explains none of them.
        point.traffic == self.odd.traffic
            && !changed.is_empty()
            && changed.iter().all(|option| {
                let (own, edge) = (point.choices[*option], self.odd.choices[*option]);
                Known::is_beyond(&of.options[*option], own, edge)
            })
    }
}

/// Rounds in which the effects of options are fitted.
const ROUNDS: usize = 5;
/// Less noise than this is taken for chance.
const NOISE_LEAST: f64 = 0.03;
/// Noise of usual runs where there are not two.
const NOISE_ASSUMED: f64 = 0.2;

/// The runs of a search.
#[derive(Clone, Debug)]
pub struct Known {
    explored: Explored,
    looks: BTreeMap<Point, Runs>,
    /// Points that one of the hosts refused or could not run, and how often.
    refused: BTreeMap<Point, u32>,
    /// By traffic, option and choice: the logarithm of what the choice does to the rate.
    effects: Vec<Vec<Vec<f64>>>,
    noise: f64,
}

/// The runs of a point, and what they say together.
#[derive(Clone, Debug)]
struct Runs {
    all: Vec<Look>,
    middle: Look,
}

/// One point of a fit: its choices, and the logarithm of its rate beside the usual one's.
type Residual<'a> = (&'a Point, f64);

impl Known {
    /// Of a search of which no run has been made.
    pub fn new(explored: &Explored) -> Self {
        let effects = explored
            .traffic
            .iter()
            .map(|of| of.options.iter().map(|option| vec![0.0; option.choices.len()]).collect());
        Self {
            effects: effects.collect(),
            explored: explored.clone(),
            looks: BTreeMap::new(),
            refused: BTreeMap::new(),
            noise: NOISE_ASSUMED,
        }
    }

    pub fn explored(&self) -> &Explored {
        &self.explored
    }

    /// Takes what a run says; `None` of one that was refused, or failed.
    pub fn take(&mut self, point: &Point, look: Option<Look>) {
        match look {
            Some(look) => match self.looks.get_mut(point) {
                Some(runs) => runs.take(look),
                None => {
                    drop(self.looks.insert(point.clone(), Runs { all: vec![look], middle: look }))
                }
            },
            None => *self.refused.entry(point.clone()).or_default() += 1,
        }
    }

    /// The point of a traffic with everything as usual.
    pub fn usual(&self, traffic: usize) -> Point {
        Point { traffic, choices: self.explored.traffic[traffic].usual() }
    }

    /// Runs of a point that say something.
    pub fn runs(&self, point: &Point) -> usize {
        self.looks.get(point).map_or(0, |runs| runs.all.len())
    }

    /// How often a point was refused.
    pub fn refusals(&self, point: &Point) -> u32 {
        self.refused.get(point).copied().unwrap_or(0)
    }

    /// Whether it was run or refused.
    pub fn is_known(&self, point: &Point) -> bool {
        self.looks.contains_key(point) || self.refused.contains_key(point)
    }

    /// The points that were measured.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.looks.keys()
    }

    /// The runs of a point: its rate, and what share of its packets was in trouble.
    pub fn look(&self, point: &Point) -> Option<Look> {
        self.looks.get(point).map(|runs| runs.middle)
    }

    /// Whether a choice was refused wherever it was asked for, more than once.
    pub fn is_barred(&self, traffic: usize, option: usize, choice: usize) -> bool {
        let refused = self.refused.iter().filter(|(point, _)| has(point, traffic, option, choice));
        let refused: u32 = refused.map(|(_, times)| *times).sum();
        refused > 1 && !self.looks.keys().any(|point| has(point, traffic, option, choice))
    }

    /// Standard deviation of the logarithms of the usual runs, of all traffic together.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// The most trouble that a usual run of a traffic had, or the least that counts.
    fn trouble_bar(&self, traffic: usize) -> f64 {
        let runs = self.looks.get(&self.usual(traffic));
        let most = runs
            .into_iter()
            .flat_map(|runs| &runs.all)
            .map(|look| look.trouble)
            .fold(0.0, f64::max);
        TROUBLE_LEAST.max(TROUBLE_TIMES * most)
    }

    /// Fits the noise anew.
    pub fn fit_noise(&mut self) {
        self.noise = self.fitted_noise();
    }

    /// Fits the effects of options anew, without the points that something known explains.
    pub fn fit(&mut self, claims: &[Claim]) {
        for traffic in 0..self.explored.traffic.len() {
            let Some(usual) = self.look(&self.usual(traffic)) else { continue };
            let own = self.looks.keys().filter(|point| point.traffic == traffic);
            let own =
                own.filter(|point| !claims.iter().any(|one| one.explains(&self.explored, point)));
            let beside = own.filter_map(|point| {
                let rate = self.look(point)?.rate;
                Some((point, (rate / usual.rate).ln()))
            });
            let beside: Vec<Residual<'_>> = beside.collect();
            self.effects[traffic] = fitted(&self.explored.traffic[traffic].options, &beside);
        }
    }

    fn fitted_noise(&self) -> f64 {
        let (mut squares, mut free) = (0.0, 0_usize);
        for traffic in 0..self.explored.traffic.len() {
            let looks = self.looks.get(&self.usual(traffic)).map_or(&[][..], |runs| &runs.all);
            let logs: Vec<f64> = looks.iter().map(|look| look.rate.ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            free += logs.len().saturating_sub(1);
        }
        if free == 0 { NOISE_ASSUMED } else { (squares / free as f64).sqrt().max(NOISE_LEAST) }
    }

    /// What a point must carry by the usual rate and by what each of its choices costs: what it
    /// costs elsewhere, but never more than its law allows. `None` without usual runs.
    pub fn expected(&self, point: &Point) -> Option<f64> {
        let of = self.explored.of(point);
        let usual = self.usual(point.traffic);
        let usual_rate = self.look(&usual)?.rate;
        let bytes = message_bytes(&self.explored, point);
        let mut rate = usual_rate;
        for at in of.changed(point) {
            let option = &of.options[at];
            let (own, other) = (of.choice(point, at), of.choice(&usual, at));
            let by_law = least(option.law, own, other, rate, bytes);
            let alone = self.look(&usual.with(at, point.choices[at]));
            let effect = match alone {
                Some(alone) => alone.rate / usual_rate,
                None => self.effects[point.traffic][at][point.choices[at]].exp(),
            };
            rate = match option.law {
                Law::Pace => by_law,
                // Each of equals is asked for what it carries itself, slower or faster.
                law if law.is_of_equals() => {
                    alone.map_or(by_law, |alone| rate * alone.rate / usual_rate)
                }
                _ => by_law.max(rate * effect.min(1.0)),
            };
        }
        Some(rate)
    }

    /// Points with one option changed that were not measured, with the logarithm of what the choice
    /// does elsewhere beside what its law allows; those that promise most first.
    pub fn suspects(&self) -> Vec<(f64, Point)> {
        let mut all = Vec::new();
        for (traffic, of) in self.explored.traffic.iter().enumerate() {
            let usual = self.usual(traffic);
            let Some(rate) = self.look(&usual).map(|look| look.rate) else { continue };
            for (at, option) in of.options.iter().enumerate() {
                for choice in (0..option.choices.len()).filter(|choice| *choice != option.usual) {
                    let point = usual.with(at, choice);
                    let share = self.share_expected(&point, &usual, at, rate);
                    let beyond = self.effects[traffic][at][choice] - share.ln();
                    if !self.is_known(&point) {
                        all.push((beyond, point));
                    }
                }
            }
        }
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all
    }

    /// By how much a measured point is beyond what is taken for chance: above 0 it is an anomaly by
    /// its runs alone.
    pub fn excess(&self, kind: Kind, point: &Point) -> Option<f64> {
        let look = self.look(point)?;
        Some(match kind {
            Kind::Slow => (clearly(self.noise) * self.expected(point)? / look.rate).ln(),
            Kind::Troubled => (look.trouble / self.trouble_bar(point.traffic)).max(1e-9).ln(),
        })
    }

    /// What `odd` must have at least, as a share of what `plain` has, where they differ in one
    /// option.
    pub fn share_expected(&self, odd: &Point, plain: &Point, option: usize, rate: f64) -> f64 {
        let of = self.explored.of(odd);
        let (own, other) = (of.choice(odd, option), of.choice(plain, option));
        let bytes = message_bytes(&self.explored, odd);
        least(of.options[option].law, own, other, rate, bytes) / rate
    }

    /// Whether one run of each shows that `odd` is off.
    pub fn shows(&self, kind: Kind, odd: (&Point, Look), plain: (&Point, Look)) -> bool {
        let Some(option) = differs(odd.0, plain.0) else { return false };
        let (one, other) = (odd.1, plain.1);
        match kind {
            Kind::Slow => {
                let share = self.share_expected(odd.0, plain.0, option, other.rate);
                one.rate < clearly(self.noise) * share * other.rate
            }
            Kind::Troubled => {
                let bar = self.trouble_bar(odd.0.traffic);
                one.trouble >= bar && one.trouble >= TROUBLE_TIMES * other.trouble
            }
        }
    }

    /// Whether a choice is at least as far from the usual one as another, on the same side of it;
    /// of choices that are no amounts, whether it is the same.
    pub fn is_beyond(option: &Explorable, choice: usize, edge: usize) -> bool {
        let is_same_side = (choice > option.usual) == (edge > option.usual);
        let is_as_far = choice.abs_diff(option.usual) >= edge.abs_diff(option.usual);
        choice == edge
            || (is_ordered(option) && choice != option.usual && is_same_side && is_as_far)
    }
}

impl Runs {
    fn take(&mut self, look: Look) {
        self.all.push(look);
        let rates: Vec<f64> = self.all.iter().map(|look| look.rate).collect();
        let troubles: Vec<f64> = self.all.iter().map(|look| look.trouble).collect();
        let rate = median(&rates).unwrap_or(look.rate);
        self.middle = Look { rate, trouble: median(&troubles).unwrap_or(look.trouble) };
    }
}

fn has(point: &Point, traffic: usize, option: usize, choice: usize) -> bool {
    point.traffic == traffic && point.choices[option] == choice
}

/// The one option in which two points differ.
pub fn differs(one: &Point, other: &Point) -> Option<usize> {
    if one.traffic != other.traffic {
        return None;
    }
    let pairs = one.choices.iter().zip(&other.choices).enumerate();
    let mut differing = pairs.filter(|(_, (own, other))| own != other).map(|(at, _)| at);
    let first = differing.next()?;
    differing.next().is_none().then_some(first)
}

/// What each choice does, by medians of what the others leave (Tukey's median polish): a few odd
/// points do not move it. The usual choices do nothing.
fn fitted(options: &[Explorable], beside: &[Residual<'_>]) -> Vec<Vec<f64>> {
    let mut effects: Vec<Vec<f64>> =
        options.iter().map(|option| vec![0.0; option.choices.len()]).collect();
    let mut left: Vec<f64> = beside.iter().map(|(_, log)| *log).collect();
    for _ in 0..ROUNDS {
        for (at, option) in options.iter().enumerate() {
            let mut own = vec![Vec::new(); option.choices.len()];
            for ((point, _), left) in beside.iter().zip(&left) {
                let choice = point.choices[at];
                own[choice].push(left + effects[at][choice]);
            }
            let mut new = own.iter().map(|own| trusted(own)).collect::<Vec<f64>>();
            new[option.usual] = 0.0;
            for ((point, _), left) in beside.iter().zip(&mut left) {
                let choice = point.choices[at];
                *left += effects[at][choice] - new[choice];
            }
            effects[at] = new;
        }
    }
    effects
}

/// The median of what runs of a choice say; one run says little of it.
fn trusted(own: &[f64]) -> f64 {
    let trust = own.len() as f64 / (own.len() as f64 + 1.0);
    trust * median(own).unwrap_or(0.0)
}
