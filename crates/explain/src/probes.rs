//! What probes of the path found, beside a cell whose packets took the same path.

use crate::measured::Cell;
use narrows_model::probe::{PathProbe, WayProbe};
use narrows_model::workload::Workload;
use narrows_stats::{Bursts, Capacity, Range, bursts, capacity};

impl<'a> Cell<'a> {
    /// Whether it is a probe of the path itself.
    pub fn is_probe(&self) -> bool {
        self.trial.kind == Workload::PathProbe
    }

    /// The probes of the cell's study.
    pub fn probes(&self) -> impl Iterator<Item = &'a PathProbe> {
        self.study.records.iter().filter_map(|record| record.sender()?.probe.as_deref())
    }

    /// What the probes found of the way that the cell's data took: of a probe itself, of the way
    /// there.
    pub fn ways(&self) -> Vec<&'a WayProbe> {
        let is_back = self.trial.params.is_reverse();
        self.probes().map(|probe| if is_back { &probe.back } else { &probe.there }).collect()
    }

    /// What becomes of bursts on that way; `None` where no probe tells.
    pub fn bursts(&self) -> Option<Bursts> {
        bursts(&self.ways())
    }
}

/// Rates of one way in several probes are not further apart.
const APART_MOST: f64 = 1.5;

impl Cell<'_> {
    /// What the way of the cell's data carries, by the trains of all probes that tell.
    pub fn carried(&self) -> Option<Range> {
        let told = self.ways().into_iter().filter_map(|way| match capacity(way)? {
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
    use narrows_model::study::StoredStudy;
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
