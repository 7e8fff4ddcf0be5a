//! How streams add: each further one makes the others dearer, by no law that holds everywhere. So
//! what several reached over what one did is kept by their number, of cells that differ in nothing
//! else.

use crate::measured::Measured;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;

/// From this share of the fastest port's rate on it is the wire that several streams meet.
const WIRE_SHARE: f64 = 0.85;
/// By which power streams may add at most: beyond it the one stream was not at its best.
const POWER_MOST: f64 = 1.5;

/// Which cells tell how streams add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    /// Those where each end of each stream could have a CPU of its own: they tell of other paths.
    OneToACpu,
    /// Those inside the host, whatever CPUs there were: they tell of that path.
    Inside,
}

/// So many streams together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Together {
    /// Number of streams; a fraction lies between two numbers that were measured.
    pub streams: f64,
    /// What they reached over what one did.
    pub over_one: Measured,
}

/// What several streams reached over what one did, by their number.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Adding {
    points: Vec<Together>,
}

impl Adding {
    /// Of TCP's cells of this study; `None` where no two differ in their number alone.
    pub(crate) fn of(study: &StoredStudy, all: &[Summary], crowd: Crowd) -> Option<Self> {
        let cells = || study.trials.iter().filter(|trial| tells(study, trial, crowd));
        let one = cells().filter(|one| one.params.streams == 1);
        let mut points: Vec<Together> = one
            .flat_map(|one| {
                let several = cells().filter(move |several| is_more_of(&study.host, several, one));
                several.filter_map(move |several| together(study, all, crowd, [one, several]))
            })
            .collect();
        points.sort_by(|a, b| a.streams.total_cmp(&b.streams));
        points.dedup_by(|later, kept| later.streams == kept.streams);
        (!points.is_empty()).then_some(Self { points })
    }

    /// All that were measured, by their number.
    pub fn points(&self) -> &[Together] {
        &self.points
    }

    /// As how many streams so many act. Between two numbers that were measured by the line between
    /// them (both as logarithms), beyond the last by the slope that led to it, which may go
    /// down: at most as many times as there are.
    pub fn act_as(&self, streams: f64) -> Measured {
        if streams < 1.0 {
            return Measured { value: streams, low: streams, high: streams, from: String::new() };
        }
        let one = Measured { value: 1.0, low: 1.0, high: 1.0, from: String::new() };
        let mut before = (1.0, one);
        for point in &self.points {
            if streams <= point.streams {
                return between(&before, point, streams);
            }
            before = (point.streams, point.over_one.clone());
        }
        self.beyond(streams)
    }

    /// Of more streams than were measured.
    fn beyond(&self, streams: f64) -> Measured {
        let Some((last, earlier)) = self.points.split_last() else {
            return Measured { value: streams, low: 1.0, high: streams, from: String::new() };
        };
        let (from, at) = earlier.last().map_or((1.0, 1.0), |one| (one.streams, one.over_one.value));
        let slope = (last.over_one.value / at).ln() / (last.streams / from).ln();
        let more = streams / last.streams;
        let Measured { value, low, high, from } = last.over_one.clone();
        let grown = more.powf(slope.min(1.0));
        Measured { value: value * grown, low: low * grown.min(1.0), high: high * more, from }
    }
}

/// On the line between two numbers of streams, both sides as logarithms.
fn between(before: &(f64, Measured), point: &Together, streams: f64) -> Measured {
    let (fewer, reached) = before;
    let share = (streams / fewer).ln() / (point.streams / fewer).ln();
    let then = &point.over_one;
    Measured {
        value: part_way(reached.value, then.value, share),
        low: part_way(reached.low, then.low, share),
        high: part_way(reached.high, then.high, share),
        from: then.from.clone(),
    }
}

/// So far from one figure to another, as logarithms.
fn part_way(from: f64, to: f64, share: f64) -> f64 {
    from * (to / from).powf(share)
}

/// What the larger number of streams reached over the one.
fn together(
    study: &StoredStudy,
    all: &[Summary],
    crowd: Crowd,
    [one, several]: [&Trial; 2],
) -> Option<Together> {
    let (alone, together) = (reached(all, one)?, reached(all, several)?);
    let streams = f64::from(several.params.streams);
    let over_one = Measured {
        value: together.value / alone.value,
        low: together.low / alone.high,
        high: together.high / alone.low,
        from: format!("{} over {}", together.from, alone.from),
    };
    // Ends that share CPUs may well be slower together, and that is how they add there.
    let is_enough = match crowd {
        Crowd::OneToACpu => over_one.value >= 1.0,
        Crowd::Inside => over_one.value > 0.0,
    };
    let is_possible = is_enough && over_one.value <= streams.powf(POWER_MOST);
    (is_possible && !meets_the_wire(study, several, together.value))
        .then_some(Together { streams, over_one })
}

/// What a cell reached, in bits a second.
fn reached(all: &[Summary], trial: &Trial) -> Option<Measured> {
    let summary = all.iter().find(|summary| summary.label == trial.label)?;
    Measured::of(summary, 1.0)
}

/// Whether a cell is of this crowd: TCP at full speed and one way, with nothing beside it.
fn tells(study: &StoredStudy, trial: &Trial, crowd: Crowd) -> bool {
    let plain = trial.params.rate_bps.is_none() && !trial.params.is_bidirectional();
    let alone = trial.background().is_none() && trial.kind == Workload::TCP_STREAM;
    let has_place = match crowd {
        Crowd::OneToACpu => has_cpus(study, trial),
        Crowd::Inside => trial.path != NetworkPath::Peer,
    };
    plain && alone && has_place
}

/// The same cell with more streams.
fn is_more_of(host: &Host, several: &Trial, one: &Trial) -> bool {
    let mut alike = several.params.clone();
    alike.streams = one.params.streams;
    let same = alike == one.params && several.path == one.path;
    several.params.streams > 1 && same && are_near(host, &several.ends, &one.ends)
}

/// Whether ends are alike but for their CPUs, which several streams need more of on the same nodes.
fn are_near(host: &Host, several: &[EndSpec], one: &[EndSpec]) -> bool {
    several.len() == one.len()
        && several.iter().zip(one).all(|(several, one)| {
            let mut alike = several.clone();
            alike.place.cpus = one.place.cpus.clone();
            alike == *one && node(host, several) == node(host, one)
        })
}

/// The node of an end's first CPU.
fn node(host: &Host, end: &EndSpec) -> Option<u32> {
    end.place.cpus.0.first().and_then(|cpu| host.node_of_cpu(*cpu))
}

/// Whether each end of each stream could have a CPU of its own: of those that it is pinned to, and
/// of all that its host has where it is not.
pub(crate) fn has_cpus(study: &StoredStudy, trial: &Trial) -> bool {
    let streams = trial.params.streams as usize;
    let is_here =
        |end: &EndSpec| trial.path != NetworkPath::Peer || end.host == EndHost::Controller;
    let (here, there): (Vec<&EndSpec>, Vec<&EndSpec>) =
        trial.ends.iter().filter(|end| end.role != Role::Background).partition(|end| is_here(end));
    let online = study.host.cpu.online.value().map_or(0, Vec::len);
    has_cores(&study.host, &here, streams)
        && here.len() * streams <= online
        && there.iter().all(|end| end.place.cpus.is_empty() || end.place.cpus.0.len() >= streams)
}

/// Whether pinned ends of this host have a core for each of so many streams, and none in common.
fn has_cores(host: &Host, ends: &[&EndSpec], streams: usize) -> bool {
    let pinned = ends.iter().filter(|end| !end.place.cpus.is_empty());
    let each: Vec<HashSet<Core>> = pinned
        .map(|end| end.place.cpus.0.iter().map(|cpu| Core::of(host, *cpu)).collect())
        .collect();
    let all: HashSet<&Core> = each.iter().flatten().collect();
    let are_apart = all.len() == each.iter().map(HashSet::len).sum::<usize>();
    are_apart && each.iter().all(|cores| cores.len() >= streams)
}

/// Where a CPU computes: the same for siblings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Core {
    /// Package, die and core, as the kernel numbers them.
    Known(Option<u32>, Option<u32>, u32),
    /// A CPU whose siblings are not known.
    Alone(u32),
}

impl Core {
    fn of(host: &Host, cpu: u32) -> Self {
        let place = host.cpu.places.iter().find(|place| place.cpu == cpu);
        match place.and_then(|place| Some((place, place.core?))) {
            Some((place, core)) => Self::Known(place.package, place.die, core),
            None => Self::Alone(cpu),
        }
    }
}

fn meets_the_wire(study: &StoredStudy, trial: &Trial, bps: f64) -> bool {
    let port = crate::fastest(&study.host).and_then(|nic| nic.speed_bps.value());
    trial.path == NetworkPath::Peer && port.is_some_and(|port| bps > WIRE_SHARE * port.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adding(points: &[(f64, f64)]) -> Adding {
        let point = |(streams, value): &(f64, f64)| Together {
            streams: *streams,
            over_one: Measured {
                value: *value,
                low: 0.95 * value,
                high: 1.05 * value,
                from: "here".to_owned(),
            },
        };
        Adding { points: points.iter().map(point).collect() }
    }

    /// 19.7, 36.2 and 41.9 Gb/s of one, two and four streams: no power is right at two and at four.
    #[test]
    fn what_was_measured_comes_out_and_between_it_lies_between() {
        let seen = adding(&[(2.0, 36.2 / 19.7), (4.0, 41.9 / 19.7)]);
        let of = |streams: f64| 19.7 * seen.act_as(streams).value;
        for (streams, gbps) in [(1.0, 19.7), (2.0, 36.2), (4.0, 41.9)] {
            assert!((of(streams) - gbps).abs() < 1e-9, "{streams}: {}", of(streams));
        }
        assert!(of(3.0) > 36.2 && of(3.0) < 41.9, "{}", of(3.0));
        let power = (41.9f64 / 19.7).ln() / 4f64.ln();
        assert!((19.7 * 2f64.powf(power) / 36.2 - 1.0).abs() > 0.2, "one power is a fifth off");
    }

    #[test]
    fn streams_that_slow_each_other_down_go_on_doing_so_beyond() {
        let seen = adding(&[(2.0, 0.9), (4.0, 0.6)]);
        assert!((seen.act_as(4.0).value - 0.6).abs() < 1e-9, "as measured");
        // A third less at each doubling.
        let eight = seen.act_as(8.0);
        assert!((eight.value - 0.4).abs() < 1e-9, "{eight:?}");
        assert!(eight.low < eight.value && eight.value < eight.high, "{eight:?}");
    }

    #[test]
    fn beyond_what_was_measured_the_range_is_from_nothing_more_to_all() {
        let seen = adding(&[(2.0, 1.9), (4.0, 2.1)]);
        let eight = seen.act_as(8.0);
        assert!(eight.value > 2.1 && eight.value < 2.5, "{eight:?}");
        assert!(eight.low <= 2.1 * 0.95 + 1e-9 && eight.high > 4.2, "{eight:?}");
        // A processor's share of one stream is that.
        assert!((seen.act_as(0.5).value - 0.5).abs() < 1e-9);
    }
}
