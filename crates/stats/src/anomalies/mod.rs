//! Anomalies among the options of traffic: points that carry clearly less than the points beside
//! them, or have clearly more trouble. What is claimed rests on pairs of runs alone: the point and
//! the same with one option put back, in alternating order, all of which show it.

mod explore;
mod judge;
mod known;
mod shrink;

use crate::done::Done;
use crate::interface::interface;
use crate::{loss_of, median, value_of, way_in};
pub use explore::{Exploration, PAIRS};
pub use known::Claim;
use known::{Known, differs};
use narrows_model::explored::Point;
use narrows_model::load::EndReport;
use narrows_model::pause::{LINK_BPS, held_share};
use narrows_model::reading::{Scope, Source, keys};
use narrows_model::record::{Outcome, Record};
use narrows_model::study::{Ended, StoredStudy};
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What is off at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Slow,
    /// More of its packets are lost, sent again or refused.
    Troubled,
}

impl Kind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Slow, Self::Troubled];
}

/// What one run says of its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// What arrived, in bits a second.
    pub rate: f64,
    /// What share of its packets was lost, sent again or refused, or of the time pause frames can
    /// have held a link; the larger.
    pub trouble: f64,
}

/// A rate below which nothing arrived.
const RATE_LEAST: f64 = 1000.0;
/// What share of UDP datagrams may be lost says nothing where nothing paces them above this.
const PACED_BPS_MAX: u64 = 1_000_000_000;

/// An anomaly that its pairs confirm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Anomaly {
    /// Name of the traffic.
    pub traffic: String,
    pub kind: Kind,
    /// The options that show it, with their choices, in the words of a sentence.
    pub with: Vec<String>,
    /// The one of them that is put back, and to what.
    pub option: String,
    /// Its choice in the anomaly.
    pub odd: String,
    pub plain: String,
    /// Rate of the anomaly by that beside it, of each pair, whichever of the two is off.
    pub ratios: Vec<f64>,
    /// The least that was expected of the ratio.
    pub ratio_expected: f64,
    /// What the anomaly carries, in bits a second, the median of its pairs.
    pub odd_bits_per_second: f64,
    /// What is carried beside it, likewise.
    pub plain_bits_per_second: f64,
    /// What share of the packets is in trouble in the anomaly, likewise.
    pub odd_trouble_share: f64,
    /// And beside it.
    pub plain_trouble_share: f64,
    /// The point itself.
    pub point: Point,
    /// The point beside it.
    pub beside: Point,
}

/// What differs from the usual in one option and is off by its runs, none of which was paired.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Suspicion {
    /// The traffic, as its owner calls it.
    pub traffic: String,
    pub kind: Kind,
    /// The choice that is not the usual one, in the words of a sentence.
    pub with: String,
    /// The median of its runs, in bits a second.
    pub odd_bits_per_second: f64,
    /// That of the usual runs, likewise.
    pub usual_bits_per_second: f64,
    /// What share of its packets is in trouble, likewise.
    pub odd_trouble_share: f64,
}

/// What a search for anomalies has come to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Anomalies {
    /// Those that are confirmed, the worst first.
    pub found: Vec<Anomaly>,
    /// Suspicions that their pairs did not confirm.
    pub unconfirmed: u32,
    /// Points that are off beside the usual one by single runs, and that no pair was made of: the
    /// search ended before. The worst first, three at most.
    pub suspected: Vec<Suspicion>,
    /// Points that were measured.
    pub points: u32,
    /// Runs that were made to the end.
    pub runs: u32,
    /// Points that a host refused or could not run.
    pub refused: u32,
    /// Standard deviation of usual runs, as a share of their rate.
    pub noise_share: f64,
    /// Why it ended before its time was over, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// What a run says of its point; `None` where it did not run.
pub fn look(trial: &Trial, record: &Record) -> Option<Look> {
    if record.outcome != Outcome::Done {
        return None;
    }
    // A run in which nothing came has no rate; one whose windows lie apart says nothing.
    let rate = match value_of(trial, record) {
        Some((value, Unit::BytesPerSecond)) => 8.0 * value.value,
        Some((value, _)) => value.value,
        None if Done::of(record)?.received_bytes() == 0 => 0.0,
        None => return None,
    };
    let trouble = trouble(trial, record).max(paused(record)).min(1.0);
    Some(Look { rate: rate.max(RATE_LEAST), trouble })
}

/// The share of the time that the pause frames of an end's interface can have held a link of the
/// fastest rate, which they hold the shortest. One frame may be in several of a driver's counters.
fn paused(record: &Record) -> f64 {
    let Some(done) = Done::of(record) else { return 0.0 };
    let of = |end: &EndReport| {
        let used = [end.effective.interface.as_deref(), way_in(end)];
        let counters = end.readings.from_source(Source::Pause);
        let own = counters.filter(|(key, _)| {
            used.iter().flatten().any(|name| key.scope == Scope::Nic((*name).to_owned()))
        });
        let most = own.map(|(_, frames)| frames).max()? as f64;
        Some(held_share(most / end.window_ns.seconds(), LINK_BPS)).filter(|held| held.is_finite())
    };
    done.ends().filter_map(of).fold(0.0, f64::max)
}

/// The share of packets in trouble. What is sent faster than the path carries is lost with nothing
/// wrong: datagrams count where they are paced.
fn trouble(trial: &Trial, record: &Record) -> f64 {
    let is_paced = trial.params.rate_bps.is_some_and(|rate| rate < PACED_BPS_MAX);
    if trial.kind.counts_datagrams() {
        let loss = loss_of(trial, record).filter(|loss| is_paced && loss.all_datagrams() > 0);
        return loss.map_or(0.0, |loss| loss.lost_datagrams as f64 / loss.all_datagrams() as f64);
    }
    let Some(done) = Done::of(record) else { return 0.0 };
    let (mut again, mut sent) = (0.0, 0.0);
    for sender in done.senders() {
        again += sender.readings.total(keys::RETRANSMITTED).unwrap_or(0) as f64;
        sent += sender.readings.total(keys::DATA_OUT).unwrap_or(0) as f64;
    }
    let refused = done.ends().map(|end| {
        let bad = [keys::RX_DROPPED, keys::RX_ERRORS, keys::TX_DROPPED, keys::TX_ERRORS];
        let bad = bad.into_iter().filter_map(|counter| interface(end, counter)).sum::<u64>();
        let all = [keys::RX_PACKETS, keys::TX_PACKETS];
        let all = all.into_iter().filter_map(|counter| interface(end, counter)).sum::<u64>();
        bad as f64 / (all as f64).max(1000.0)
    });
    refused.fold(again / f64::max(sent, 1000.0), f64::max).min(1.0)
}

/// Runs of a block of two points.
type Pair<'a> = [(&'a Point, Look); 2];

/// What a search for anomalies has come to; `None` of other studies.
pub fn anomalies(study: &StoredStudy) -> Option<Anomalies> {
    let explored = study.study.explored.as_ref()?;
    let points: BTreeMap<_, _> = study
        .trials
        .iter()
        .filter_map(|trial| Some((&trial.id, (trial, explored.point_of(trial)?))))
        .collect();
    let mut known = Known::new(explored);
    let mut blocks: BTreeMap<u32, Vec<(&Point, Look)>> = BTreeMap::new();
    for record in &study.records {
        let Some((trial, point)) = points.get(&record.trial) else { continue };
        let look = look(trial, record);
        known.take(point, look);
        if let Some(look) = look {
            blocks.entry(record.block).or_default().push((point, look));
        }
    }
    known.fit_noise();
    let pairs: Vec<Pair<'_>> =
        blocks.into_values().filter_map(|block| block.try_into().ok()).collect();
    let paired = pairs.iter().flatten().map(|(point, _)| *point).collect();
    let (found, unconfirmed) = judged(&known, pairs);
    let suspected = suspected(&known, &found, &paired);
    let runs = known.points().map(|point| known.runs(point)).sum::<usize>();
    let tried = points.values().filter(|(_, point)| known.refusals(point) > 0);
    Some(Anomalies {
        found,
        unconfirmed,
        suspected,
        points: known.points().count() as u32,
        runs: runs as u32,
        refused: tried.count() as u32,
        noise_share: known.noise(),
        stopped: match &study.ended {
            Some(Ended::Complete) => None,
            Some(Ended::Interrupted { why }) => Some(why.clone()),
            None => Some("not ended".to_owned()),
        },
    })
}

/// The pairs of each two points together: what they confirm, and how many confirm nothing.
fn judged(known: &Known, pairs: Vec<Pair<'_>>) -> (Vec<Anomaly>, u32) {
    let mut groups: BTreeMap<(&Point, &Point), Vec<Pair<'_>>> = BTreeMap::new();
    for [one, other] in pairs {
        let (first, second) = if one.0 <= other.0 { (one, other) } else { (other, one) };
        groups.entry((first.0, second.0)).or_default().push([first, second]);
    }
    let (mut found, mut unconfirmed) = (Vec::new(), 0);
    for pairs in groups.into_values() {
        let turned: Vec<Pair<'_>> = pairs.iter().map(|[one, other]| [*other, *one]).collect();
        match confirmed(known, &pairs).or_else(|| confirmed(known, &turned)) {
            Some(anomaly) => found.push(anomaly),
            None => unconfirmed += 1,
        }
    }
    found.sort_by(|one, other| one.by_expected().total_cmp(&other.by_expected()));
    (found, unconfirmed)
}

/// How many suspicions are told.
const SUSPECTED_MAX: usize = 3;

/// What is off beside the usual runs, is in no pair, and has no part in what was found.
fn suspected(known: &Known, found: &[Anomaly], paired: &BTreeSet<&Point>) -> Vec<Suspicion> {
    let mut all: Vec<Suspicion> = known
        .points()
        .filter(|point| !paired.contains(point))
        .filter_map(|point| suspicion(known, point))
        .filter(|one| {
            found.iter().all(|of| of.traffic != one.traffic || !of.with.contains(&one.with))
        })
        .collect();
    let share = |one: &Suspicion| one.odd_bits_per_second / one.usual_bits_per_second;
    all.sort_by(|one, other| share(one).total_cmp(&share(other)));
    all.truncate(SUSPECTED_MAX);
    all
}

fn suspicion(known: &Known, point: &Point) -> Option<Suspicion> {
    let usual = known.usual(point.traffic);
    let option = differs(point, &usual)?;
    let (look, beside) = (known.look(point)?, known.look(&usual)?);
    let shows = |kind: &Kind| known.shows(*kind, (point, look), (&usual, beside));
    let kind = Kind::ALL.into_iter().find(shows)?;
    let of = known.explored().of(point);
    Some(Suspicion {
        traffic: of.name.clone(),
        kind,
        with: of.choice(point, option).says.clone(),
        odd_bits_per_second: look.rate,
        usual_bits_per_second: beside.rate,
        odd_trouble_share: look.trouble,
    })
}

impl Anomaly {
    /// What it has, as a share of the least that was expected; of trouble that beside it, as a
    /// share of its own.
    fn by_expected(&self) -> f64 {
        match self.kind {
            Kind::Slow => median(&self.ratios).unwrap_or(1.0) / self.ratio_expected.max(1e-9),
            Kind::Troubled => self.plain_trouble_share / self.odd_trouble_share.max(1e-9),
        }
    }
}

/// The anomaly of pairs that all show it, the first of each pair being the odd one.
fn confirmed(known: &Known, pairs: &[Pair<'_>]) -> Option<Anomaly> {
    let [(odd, _), (plain, _)] = *pairs.first().filter(|_| pairs.len() >= PAIRS)?;
    let option = differs(odd, plain)?;
    let shows = |kind: &Kind| pairs.iter().all(|[one, other]| known.shows(*kind, *one, *other));
    let kind = Kind::ALL.into_iter().find(shows)?;
    let of = known.explored().of(odd);
    let mut changed = of.changed(odd);
    if changed.is_empty() {
        // The usual one of several devices.
        changed.push(option);
    }
    let changed = changed.into_iter();
    let of_pairs =
        |figure: fn(&Pair<'_>) -> f64| -> Vec<f64> { pairs.iter().map(figure).collect() };
    let middle = |figure: fn(&Pair<'_>) -> f64| median(&of_pairs(figure)).unwrap_or(0.0);
    let plain_rate = middle(|pair| pair[1].1.rate);
    Some(Anomaly {
        traffic: of.name.clone(),
        kind,
        with: changed.map(|at| of.choice(odd, at).says.clone()).collect(),
        option: of.options[option].name.clone(),
        odd: of.choice(odd, option).says.clone(),
        plain: of.choice(plain, option).says.clone(),
        ratios: of_pairs(|[one, other]| one.1.rate / other.1.rate),
        ratio_expected: known.share_expected(odd, plain, option, plain_rate),
        odd_bits_per_second: middle(|pair| pair[0].1.rate),
        plain_bits_per_second: plain_rate,
        odd_trouble_share: middle(|pair| pair[0].1.trouble),
        plain_trouble_share: middle(|pair| pair[1].1.trouble),
        point: odd.clone(),
        beside: plain.clone(),
    })
}
