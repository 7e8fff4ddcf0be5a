//! How streams add: `n` of them carry what one does times `n` to some power, since each further one
//! makes the others dearer. Of cells that differ in nothing but their number.

use crate::measured::Measured;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_stats::Summary;

/// From this share of the fastest port's rate on it is the wire that several streams meet.
const WIRE_SHARE: f64 = 0.85;

/// The power by which TCP's streams add on this host; `None` where no two cells differ in their
/// number alone, or the larger number had no CPU for each of its ends.
pub(crate) fn power(study: &StoredStudy, all: &[Summary]) -> Option<Measured> {
    let of = |trial: &Trial| {
        let summary = all.iter().find(|summary| summary.label == trial.label)?;
        Measured::of(summary, 1.0)
    };
    let cells = || study.trials.iter().filter(|trial| has_cpus(study, trial));
    let pairs = cells().filter(|one| one.params.streams == 1).flat_map(|one| {
        let several = cells().filter(move |several| is_more_of(several, one));
        several.map(move |several| (one, several))
    });
    // The most streams tell the most.
    let (one, several) = pairs.max_by_key(|(_, several)| several.params.streams)?;
    let (alone, together) = (of(one)?, of(several)?);
    if meets_the_wire(study, several, together.value) {
        return None;
    }
    let steps = f64::from(several.params.streams).ln();
    let power = |together: f64, alone: f64| (together / alone).ln() / steps;
    Some(Measured {
        value: power(together.value, alone.value),
        low: power(together.low, alone.high),
        high: power(together.high, alone.low),
        from: format!("{} over {}", together.from, alone.from),
    })
    .filter(|measured| (0.0..=1.5).contains(&measured.value))
}

/// The same cell with more streams, at full speed and one way.
fn is_more_of(several: &Trial, one: &Trial) -> bool {
    let mut alike = several.params.clone();
    alike.streams = one.params.streams;
    let plain = one.params.rate_bps.is_none() && !one.params.is_bidirectional();
    let same = alike == one.params && several.path == one.path && several.ends == one.ends;
    let is_plain = plain && one.background().is_none() && several.background().is_none();
    several.params.streams > 1
        && one.kind == Workload::TCP_STREAM
        && several.kind == one.kind
        && same
        && is_plain
}

/// Whether each end of each stream could have a CPU of its own.
fn has_cpus(study: &StoredStudy, trial: &Trial) -> bool {
    let cpus = study.host.cpu.online.value().map_or(0, Vec::len);
    let ends = if trial.path == NetworkPath::Peer { 1 } else { 2 };
    trial.params.streams as usize * ends <= cpus
}

fn meets_the_wire(study: &StoredStudy, trial: &Trial, bps: f64) -> bool {
    let port = crate::fastest(&study.host).and_then(|nic| nic.speed_bps.value());
    trial.path == NetworkPath::Peer && port.is_some_and(|port| bps > WIRE_SHARE * port.0)
}
