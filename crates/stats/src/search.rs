//! Searches for a rate: what the stored runs say of each, which run is next, and the curves that
//! its runs draw.

mod bisection;
mod written;

use crate::done::Done;
use crate::loss::{Way, ways};
use crate::summarise::delays;
use crate::{Percentiles, median};
pub use bisection::{Bisection, Border, Seen, Stand};
use narrows_model::options::packets::BURST;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::{RATE, Search, StoredStudy};
use narrows_model::trial::{Level, Trial};
use schemars::JsonSchema;
use serde::Serialize;

/// The share of a rate from which on a sender has kept it, as of any other load.
const KEPT: f64 = 0.98;

/// What one search of a study has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// What all its runs have in common: the levels of the other factors.
    pub of: String,
    /// Whether what was searched is the longest burst: the figures are frames then, and no packets
    /// a second.
    pub back_to_back: bool,
    /// What the path carries, where the search was told.
    pub throughput_packets_per_second: Option<f64>,
    /// Size of its frames, in bytes with the check sequence.
    pub frame_bytes: u64,
    pub end: SearchEnd,
    /// The highest rate, or longest burst, that passes, at the search's confidence, and no more
    /// than was sent and arrived; `None` where even the lowest loses.
    pub passes: Option<u64>,
    /// The lowest rate that loses, likewise; `None` where no rate that was sent does.
    pub loses: Option<u64>,
    /// Confidence of the two together, by Bayes' rule.
    pub confidence_percent: f64,
    /// What share of a run's packets may be lost.
    pub loss_percent: f64,
    /// Runs that were made to the end.
    pub runs: u32,
    /// The rates that were tried, from the lowest.
    pub curve: Vec<RatePoint>,
}

impl Searched {
    /// Whether the sender kept none of the rates that were asked for, not even the lowest.
    pub fn is_short_throughout(&self) -> bool {
        let mut sent = self.curve.iter().filter_map(|point| Some((point.asked, point.sent?)));
        let any = sent.clone().next().is_some();
        any && sent.all(|(asked, sent)| sent < KEPT * asked as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// The border is known.
    Found,
    /// The sender reaches no higher rate, and nothing is lost there.
    SenderBound,
    /// As many runs as were allowed left it open.
    Undecided,
    Unfinished,
}

/// What the runs at one rate say: a point of the curves of loss and of delay (RFC 2544, sections
/// 26.2 and 26.3).
#[derive(Clone, Debug, PartialEq)]
pub struct RatePoint {
    /// The rate, or the burst, that was asked for.
    pub asked: u64,
    /// What was sent, the median of its runs.
    pub sent: Option<f64>,
    /// Runs that were made to the end.
    pub runs: u32,
    /// Of those, runs that lost no more than is allowed.
    pub passed: u32,
    /// What share was lost, the median of its runs.
    pub lost_share: Option<f64>,
    /// The most that a run lost.
    pub lost_share_max: Option<f64>,
    /// Times between sending and arriving, where both ends have one clock.
    pub delays: Option<Percentiles>,
}

/// What a burst of frames says of the buffer before what lost them (RFC 9004, section 6.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// The burst at the wire's rate, in seconds.
    pub implied_s: f64,
    /// The same less what was sent on meanwhile.
    pub corrected_s: Option<f64>,
    /// That at the wire's rate, in frames.
    pub corrected_frames: Option<f64>,
}

/// Of the longest burst without loss, in frames, the wire's rate and what the path carries, both in
/// frames a second.
pub fn buffer(burst: f64, wire: f64, throughput: Option<f64>) -> Buffer {
    let implied_s = burst / wire;
    let kept = throughput.map(|throughput| (1.0 - throughput / wire).max(0.0));
    let corrected_s = kept.map(|kept| implied_s * kept);
    Buffer { implied_s, corrected_s, corrected_frames: corrected_s.map(|time| time * wire) }
}

/// What a run of a search says; `None` where the ends did not count the same packets to the end.
/// Both ways at once a rate, a burst and the loss allowed are those of each direction: the run has
/// passed where both have, so that the larger loss and the smaller rate are told.
pub fn seen(trial: &Trial, record: &Record) -> Option<Seen> {
    let run = Done::of(record).filter(|_| trial.kind.counts_datagrams())?;
    let pairs: Vec<[Option<Way<'_>>; 2]> = ways(trial, &run).collect();
    let of = |at: usize| {
        let ways: Vec<&Way<'_>> = pairs.iter().filter_map(|pair| pair[at].as_ref()).collect();
        seen_of(trial, &ways)
    };
    let there = of(0)?;
    if !trial.params.is_bidirectional() {
        return Some(there);
    }
    let back = of(1)?;
    Some(Seen {
        sent_per_second: there.sent_per_second.min(back.sent_per_second),
        lost_share: there.lost_share.max(back.lost_share),
    })
}

/// The same of one direction, over all pairs.
fn seen_of(trial: &Trial, ways: &[&Way<'_>]) -> Option<Seen> {
    let window = ways.first()?.from?.window_ns.seconds();
    let (mut sent, mut lost) = (0_u64, 0_u64);
    for way in ways {
        let (came, missing, is_whole) = way.counted();
        if !is_whole {
            return None;
        }
        sent = sent.saturating_add(came).saturating_add(missing);
        lost = lost.saturating_add(missing);
    }
    // One that was cut off by the window's end was no such burst.
    let burst = BURST.of(&trial.params).map(|burst| f64::from(burst).min(sent as f64));
    (sent > 0 && window > 0.0).then(|| Seen {
        sent_per_second: burst.unwrap_or(sent as f64 / window),
        lost_share: lost as f64 / sent as f64,
    })
}

/// The levels of a trial's other factors: trials of one search have them in common.
pub fn others(trial: &Trial) -> Vec<&Level> {
    trial.levels.iter().filter(|level| level.factor != RATE).collect()
}

/// What the searches of a study have come to, in the order of its trials.
pub fn searches(study: &StoredStudy) -> Vec<Searched> {
    let Some(search) = &study.study.search else { return Vec::new() };
    let mut groups: Vec<(Vec<&Level>, Vec<&Trial>)> = Vec::new();
    for trial in study.trials.iter().filter(|trial| search.has(&trial.levels)) {
        let of = others(trial);
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, trials)) => trials.push(trial),
            None => groups.push((of, vec![trial])),
        }
    }
    groups.into_iter().map(|(of, trials)| searched(study, search, &of, &trials)).collect()
}

fn searched(study: &StoredStudy, search: &Search, of: &[&Level], trials: &[&Trial]) -> Searched {
    let mut bisection = Bisection::new(search);
    let runs = study.records.iter().filter(|run| run.outcome == Outcome::Done);
    for record in runs {
        let trial = trials.iter().find(|trial| trial.id == record.trial);
        let asked = trial.and_then(|trial| Some((trial, rate_of(trial)?)));
        let Some((trial, rate)) = asked else { continue };
        if let Ok(at) = bisection.rates().binary_search(&rate) {
            bisection.take(at, seen(trial, record));
        }
    }
    let (end, border) = match bisection.stand() {
        Stand::Found(border) => (SearchEnd::Found, Some(border)),
        Stand::SenderBound(border) => (SearchEnd::SenderBound, Some(border)),
        Stand::Undecided(border) => (SearchEnd::Undecided, Some(border)),
        Stand::Next(_) => (SearchEnd::Unfinished, None),
    };
    let rate = |at: Option<usize>| at.and_then(|at| bisection.rates().get(at)).copied();
    let passes = rate(border.and_then(|border| border.passes));
    let names: Vec<&str> = of.iter().map(|level| level.level.as_str()).collect();
    let mut curve: Vec<RatePoint> =
        trials.iter().filter_map(|trial| point(study, search, trial)).collect();
    curve.sort_by_key(|point| point.asked);
    Searched {
        of: names.join(", "),
        back_to_back: search.is_of_bursts(),
        throughput_packets_per_second: search.throughput_packets_per_second,
        frame_bytes: trials.first().map_or(0, |trial| trial.params.message_bytes.0),
        end,
        passes: passes.map(|rate| sent_whole(end, rate, &curve)),
        loses: rate(border.and_then(|border| border.loses)),
        confidence_percent: search.confidence_percent,
        loss_percent: search.loss_percent,
        runs: bisection.runs(),
        curve,
    }
}

/// What was sent and arrived of the rate that passes. A sender within a step of its rate is taken
/// for one at it, and a step may be wide; where it reaches no more, what it reached is the answer.
fn sent_whole(end: SearchEnd, rate: u64, curve: &[RatePoint]) -> u64 {
    let is_bound = end == SearchEnd::SenderBound;
    let counts = |point: &&RatePoint| match is_bound {
        true => 2 * point.passed > point.runs,
        false => point.passed > 0,
    };
    let sent = curve.iter().filter(counts).filter_map(|point| point.sent).reduce(f64::max);
    let Some(sent) = sent.map(|sent| sent.round() as u64) else { return rate };
    if is_bound { sent } else { sent.min(rate) }
}

/// The rate that a trial of a search asks for.
pub fn rate_of(trial: &Trial) -> Option<u64> {
    let level = trial.levels.iter().find(|level| level.factor == RATE)?;
    Search::rate_of(&level.level)
}

fn point(study: &StoredStudy, search: &Search, trial: &Trial) -> Option<RatePoint> {
    let runs: Vec<&Record> =
        study.records_of(trial).filter(|run| run.outcome == Outcome::Done).collect();
    if runs.is_empty() {
        return None;
    }
    let seen: Vec<Seen> = runs.iter().filter_map(|run| seen(trial, run)).collect();
    let lost: Vec<f64> = seen.iter().map(|seen| seen.lost_share).collect();
    let sent: Vec<f64> = seen.iter().map(|seen| seen.sent_per_second).collect();
    let done: Vec<Done<'_>> = runs.iter().filter_map(|run| Done::of(run)).collect();
    let one_clock = done.first().is_some_and(Done::is_one_machine);
    let passed = lost.iter().filter(|lost| **lost * 100.0 <= search.loss_percent).count();
    Some(RatePoint {
        asked: rate_of(trial)?,
        sent: median(&sent),
        runs: runs.len() as u32,
        passed: passed as u32,
        lost_share: median(&lost),
        lost_share_max: lost.iter().copied().reduce(f64::max),
        delays: one_clock.then(|| delays(&done)).flatten(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{
        EndReport, FlowTally, Params, StreamParams, Stretch, StretchOf, Timeline,
    };
    use narrows_model::record::{Reported, Stamp};
    use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
    use narrows_model::{Bytes, Nanos};

    /// A tally of the sender's window; of an older agent it has no stretch.
    fn flow(sends: bool, datagrams: u64, is_counted: bool) -> FlowTally {
        let stretch = Stretch { of: StretchOf::SenderWindow, datagrams };
        let stretch = is_counted.then_some(stretch);
        FlowTally { messages: datagrams, sends, stretch, ..FlowTally::default() }
    }

    fn end(flows: [FlowTally; 2]) -> Option<Box<EndReport>> {
        let window_ns = Nanos(1_000_000_000);
        Some(Box::new(EndReport { window_ns, flows: flows.into(), ..EndReport::default() }))
    }

    /// What a run both ways says, of which so many were sent, and came, there and back.
    fn both([there, back]: [(u64, u64); 2], is_back_counted: bool) -> Option<Seen> {
        let mut params = Params::of_network(Bytes(64), 1);
        params.stream = Some(StreamParams { bidirectional: true, ..StreamParams::default() });
        let none = Nanos(0);
        let trial = Trial {
            id: TrialId("a".into()),
            label: "both ways".into(),
            kind: "packets".into(),
            params,
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline: Timeline {
                warmup_ns: none,
                window_ns: none,
                cooldown_ns: none,
                interval_ns: None,
            },
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        let receiver = end([flow(false, there.1, true), flow(true, back.0, true)]);
        let sender = end([flow(true, there.0, true), flow(false, back.1, is_back_counted)]);
        let record = Record {
            trial: trial.id.clone(),
            repeat: 0,
            block: 0,
            outcome: Outcome::Done,
            reports: Reported::list(receiver, sender, None),
            around: Stamp::default(),
            session: 0,
            external: None,
        };
        seen(&trial, &record)
    }

    fn point(asked: u64, sent: f64, passed: u32) -> RatePoint {
        let (runs, sent) = (2, Some(sent));
        let (lost_share, lost_share_max, delays) = (None, None, None);
        RatePoint { asked, sent, runs, passed, lost_share, lost_share_max, delays }
    }

    #[test]
    fn a_path_carries_what_was_sent_and_not_what_was_asked_for() {
        // A step is as wide as 2.4 times: a sender 9 % short is within it.
        let short = [point(419, 395.0, 2), point(2500, 2280.0, 2), point(6090, 2365.4, 2)];
        assert_eq!(sent_whole(SearchEnd::SenderBound, 2500, &short), 2365);
        assert_eq!(sent_whole(SearchEnd::Found, 2500, &short[..2]), 2280);
        // One lucky run of two is no answer, and no sender beyond the border raises it.
        let lucky = [point(419, 419.0, 2), point(2500, 2490.0, 1)];
        assert_eq!(sent_whole(SearchEnd::SenderBound, 419, &lucky), 419);
        assert_eq!(sent_whole(SearchEnd::Found, 419, &lucky), 419);
    }

    #[test]
    fn a_run_both_ways_is_as_good_as_its_worse_direction() {
        let told =
            |lost_share: f64, sent_per_second: f64| Some(Seen { sent_per_second, lost_share });
        // A tenth of one direction is a twentieth of the sum; half as much back lowers the rate.
        assert_eq!(both([(1000, 900), (1000, 1000)], true), told(0.1, 1000.0));
        assert_eq!(both([(1000, 1000), (1000, 900)], true), told(0.1, 1000.0));
        assert_eq!(both([(1000, 1000), (500, 450)], true), told(0.1, 500.0));
        // One direction that is not counted leaves the run unjudged, as does one that sent nothing.
        assert_eq!(both([(1000, 1000), (1000, 0)], false), None);
        assert_eq!(both([(1000, 1000), (0, 0)], true), None);
    }
}
