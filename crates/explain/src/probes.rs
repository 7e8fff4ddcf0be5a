//! What probes of the path found, beside a cell whose packets took the same path.

use crate::controls;
use crate::measured::Cell;
use narrows_model::load::Params;
use narrows_model::probe::{PathProbe, Train, WayProbe};
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::{Bursts, Capacity, Range, bursts, capacity, median};

impl<'a> Cell<'a> {
    /// Whether it is a probe of the path itself.
    pub fn is_probe(&self) -> bool {
        self.trial.kind == Workload::PathProbe
    }

    /// The probes of the cell's study between the cell's hosts.
    pub fn probes(&self) -> impl Iterator<Item = &'a PathProbe> {
        let probed = self.study.records.iter().filter(|record| self.is_probe_beside(record));
        let probed = probed.filter_map(|record| record.sender()?.probe.as_deref());
        probed.collect::<Vec<_>>().into_iter()
    }

    /// Whether a record is of a probe between the cell's hosts.
    pub fn is_probe_beside(&self, record: &Record) -> bool {
        let is_probe = record.sender().is_some_and(|end| end.probe.is_some());
        let mut trials = self.study.trials.iter().filter(|_| is_probe);
        trials.any(|trial| trial.id == record.trial && self.is_beside(trial))
    }

    /// What the probes found of the way that the cell's data took: of a probe itself, of the way
    /// there.
    pub fn ways(&self) -> Vec<&'a WayProbe> {
        let is_back = self.trial.params.is_reverse();
        self.probes().map(|probe| if is_back { &probe.back } else { &probe.there }).collect()
    }

    /// How small packets fare on that way where full ones are lost now and then; `None` where too
    /// few of either were sent to tell.
    pub fn by_size(&self) -> Option<BySize> {
        let ways = self.ways();
        let sum = |trains: fn(&WayProbe) -> &[Train]| {
            let trains = ways.iter().flat_map(|way| trains(way));
            trains.fold((0, 0, 0), |(sent, came, bytes), train| {
                (sent + train.sent, came + train.came, bytes.max(train.packet_bytes.0))
            })
        };
        let (sent, came, large_bytes) = sum(|way| &way.paced);
        let lost = 1.0 - f64::from(came) / f64::from(sent.max(1));
        let (small, small_came, small_bytes) = sum(|way| &way.even);
        let is_enough = lost >= LARGE_LOST_MIN && lost * f64::from(small) >= SMALL_LOST_MIN;
        is_enough.then(|| BySize {
            large_bytes,
            large_lost: lost,
            small_bytes,
            small,
            small_lost: small.saturating_sub(small_came),
        })
    }

    /// What becomes of bursts on that way; `None` where no probe tells, or where the stream's own
    /// losses say that those of its trains cannot be at random.
    pub fn bursts(&self) -> Option<Bursts> {
        bursts(&self.ways()).filter(|_| !self.meets_empty_bucket())
    }

    /// Whether trains lose alike, sent at once and apart, and a limit of rate takes them all the
    /// same. A policer whose bucket the stream has emptied does that; but what is at random takes
    /// the same share of a stream, and leaves TCP more where it does not mind loss.
    pub fn meets_empty_bucket(&self) -> bool {
        let is_stream = self.is_tcp_stream() && !self.is_paced();
        let Some(losses) = self.losses().filter(|_| is_stream) else { return false };
        let is_more =
            |share: f64| share - losses.lost >= MORE_LEAST && share >= MORE_TIMES * losses.lost;
        match bursts(&self.ways()) {
            Some(Bursts::Limited(_)) => false,
            Some(Bursts::AtRandom { lost_share }) if is_more(lost_share) => true,
            _ => self.loses_at_one_rate(losses.lost),
        }
    }

    /// Whether congestion control that minds losses and one that does not lose many segments of
    /// the same path and move the same: then the path has a rate, and the loss is its consequence.
    fn loses_at_one_rate(&self, lost: f64) -> bool {
        let Some(own) = self.pace_kept() else { return false };
        lost >= LOST_LEAST
            && self.study.trials.iter().any(|trial| {
                let is_other = trial.params.congestion != self.trial.params.congestion;
                let alike = Params { congestion: None, ..trial.params.clone() };
                let params = Params { congestion: None, ..self.trial.params.clone() };
                is_other
                    && trial.kind == self.trial.kind
                    && trial.engine.is_none()
                    && alike == params
                    && pace_of(self.study, trial).is_some_and(|other| own.is_same(&other))
            })
    }

    fn pace_kept(&self) -> Option<Pace> {
        pace_of(self.study, self.trial)
    }
}

/// Trains that lose so many times what the stream loses, and so much more, are no sample of it.
const MORE_TIMES: f64 = 3.0;
const MORE_LEAST: f64 = 0.05;
/// Less loss than this need not change what congestion control reaches.
const LOST_LEAST: f64 = 0.01;
/// Rates under two kinds of congestion control that are no further apart are one.
const SAME_RATE: f64 = 1.1;

/// What the runs of a trial move in the middle, and under what congestion control.
struct Pace {
    minds_loss: bool,
    bytes_a_second: f64,
}

impl Pace {
    /// Whether another kind of congestion control keeps to the same rate.
    fn is_same(&self, other: &Self) -> bool {
        let [less, more] = match self.bytes_a_second < other.bytes_a_second {
            true => [self.bytes_a_second, other.bytes_a_second],
            false => [other.bytes_a_second, self.bytes_a_second],
        };
        self.minds_loss != other.minds_loss && less > 0.0 && more <= SAME_RATE * less
    }
}

fn pace_of(study: &StoredStudy, trial: &Trial) -> Option<Pace> {
    let runs = || study.records.iter().filter(|record| record.trial == trial.id);
    let used = runs().find_map(|record| record.sender()?.effective.congestion.clone())?;
    let rates: Vec<f64> = runs()
        .filter_map(|record| {
            let end = record.receiver()?;
            let bytes: u64 = end.flows.iter().map(|flow| flow.bytes.0).sum();
            (end.window_ns.0 > 0).then(|| bytes as f64 / (end.window_ns.0 as f64 / 1e9))
        })
        .collect();
    let minds_loss = controls::slows_down(&used);
    (rates.len() >= RUNS_LEAST)
        .then(|| median(&rates))
        .flatten()
        .map(|bytes_a_second| Pace { minds_loss, bytes_a_second })
}

/// Fewer runs have no rate that they keep.
const RUNS_LEAST: usize = 2;

/// Trains that come at less of a stream's rate do not tell what its path carries.
const CREDIBLE_SHARE: f64 = 0.1;
/// Rates of one way in several probes are not further apart.
const APART_MOST: f64 = 1.5;

impl Cell<'_> {
    /// What the way of the cell's data carries, by the trains of all probes that tell.
    pub fn carried(&self) -> Option<Range> {
        let moved_bps = self.rates().filter(|_| self.is_tcp_stream()).map(|rates| rates.middle);
        told(self.ways().into_iter())
            .filter(|range| moved_bps.is_none_or(|bps| range.high >= CREDIBLE_SHARE * bps))
    }

    /// What the other way carries, on which acknowledgements come.
    pub fn carried_back(&self) -> Option<Range> {
        let is_back = self.trial.params.is_reverse();
        told(self.probes().map(|probe| if is_back { &probe.there } else { &probe.back }))
    }
}

/// What the trains of several probes of one way say that it carries, where they agree.
fn told<'a>(ways: impl Iterator<Item = &'a WayProbe>) -> Option<Range> {
    let told = ways.filter_map(|way| match capacity(way)? {
        Capacity::Between { low_bps: low, median_bps: middle, high_bps: high } => {
            Some(Range { low, middle, high })
        }
        Capacity::AtLeast { .. } => None,
    });
    let of = |a: Range, b: Range| Range {
        low: a.low.min(b.low),
        middle: (a.middle + b.middle) / 2.0,
        high: a.high.max(b.high),
    };
    told.reduce(of).filter(|range| range.high <= APART_MOST * range.low)
}

/// What packets of two sizes lose on one way.
pub struct BySize {
    pub large_bytes: u64,
    /// Share of the large ones that was lost.
    pub large_lost: f64,
    pub small_bytes: u64,
    /// Small ones that were sent, and that were lost.
    pub small: u32,
    pub small_lost: u32,
}

impl BySize {
    /// Whether small ones are spared, by more than chance.
    pub fn spares_small(&self) -> bool {
        f64::from(self.small_lost) * SPARED <= self.large_lost * f64::from(self.small)
    }
}

/// Rarer losses, and fewer that were to be expected of the small packets, tell nothing.
const LARGE_LOST_MIN: f64 = 0.005;
const SMALL_LOST_MIN: f64 = 10.0;
/// Small packets that lose so many times less are spared.
const SPARED: f64 = 8.0;
/// Segments that fill more of a packet than this are no small ones.
const SMALL_SHARE: f64 = 0.7;
/// Packets a second of trains and of a stream that are no further apart are one figure.
const SAME_PACKETS: f64 = 1.25;

impl Cell<'_> {
    /// Packets a second that the way carries, where trains of full packets and a stream of small
    /// segments agree on that and not on a rate of bytes.
    pub fn packets_a_second(&self) -> Option<f64> {
        let carried = self.carried()?;
        let sizes = self.ways().into_iter().flat_map(|way| &way.trains);
        let full = sizes.map(|train| train.packet_bytes.0 as f64).reduce(f64::max)?;
        let rate = self.in_packets(self.rates()?.middle);
        let small = self.in_packets(self.segment_bytes()?);
        let [trains, stream] = [carried.middle / 8.0 / full, rate / 8.0 / small];
        let is_same = trains.max(stream) <= SAME_PACKETS * trains.min(stream);
        (small <= SMALL_SHARE * full && is_same).then_some(stream)
    }
}

/// A rate with its range: `20 Mb/s of packets (19 to 21, by packet trains)`.
pub fn says_rate(rate: &Range) -> String {
    let [low, middle, high] = [rate.low, rate.middle, rate.high].map(|bps| bps / 1e6);
    format!("{middle:.0} Mb/s of packets ({low:.0} to {high:.0}, by packet trains)")
}

#[cfg(test)]
pub mod testing {
    //! Studies with a probe.

    use super::*;
    use narrows_model::load::Role;
    use narrows_model::probe::Train;
    use narrows_model::trial::TrialId;
    use narrows_model::{Bytes, Nanos};

    /// Adds a probe's trial with these runs to a study.
    pub fn with_probes(study: &mut StoredStudy, probes: &[PathProbe]) {
        let mut trial = study.trials[0].clone();
        trial.id = TrialId("probe".into());
        trial.kind = Workload::PathProbe;
        trial.label = "path-probe".into();
        let mut record = study.records[0].clone();
        record.trial = trial.id.clone();
        for probe in probes {
            for end in record.of_mut(Role::Sender) {
                end.probe = Some(Box::new(probe.clone()));
            }
            study.records.push(record.clone());
        }
        study.trials.push(trial);
    }

    fn train(came: u32, took_us: u64, head_us: u64) -> Train {
        Train {
            packet_bytes: Bytes(1500),
            sent: 256,
            sent_ns: Nanos(1000 * took_us),
            came,
            head: 7,
            head_ns: Nanos(1000 * head_us),
            ..Train::default()
        }
    }

    /// A way whose trains come whole at this rate.
    pub fn carries(mbps: u64) -> WayProbe {
        let each_ns = 12_000_000 / mbps;
        let whole = Train {
            packet_bytes: Bytes(1500),
            sent: 256,
            sent_ns: Nanos(256 * each_ns / 10),
            came: 256,
            came_ns: Nanos(255 * each_ns),
            tail: 127,
            tail_ns: Nanos(127 * each_ns),
            ..Train::default()
        };
        WayProbe { trains: vec![whole; 10], ..WayProbe::default() }
    }

    /// A way that passes so many packets of a train back to back, the first eight in so long, and
    /// so many of one that lasts 100 ms.
    pub fn way(fast: u32, head_us: u64, slow: u32) -> WayProbe {
        WayProbe {
            trains: vec![train(fast, 2_000, head_us); 10],
            paced: vec![train(slow, 100_000, 2_700); 6],
            ..WayProbe::default()
        }
    }
}
