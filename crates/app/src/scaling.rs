//! How an application scales over each fabric, from the runs of a stored study.

use crate::cells::{FABRIC, HOSTS, MTU, NONE, PLACE, RANKS};
use crate::contract::{COMMUNICATION, CPU_USE, FIGURE};
use crate::fit::{Point as Timed, Predicted, Speed, predictions};
use narrows_model::record::{Fault, Outcome, Record};
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_stats::{median, median_interval, ratio_of_medians};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Word of the runs of an application in files.
pub const APPLICATION: &str = "application";
/// Word of round trips between two ranks, as `narrows mpi` has it.
pub const LATENCY: &str = "mpi-latency";
/// Word of messages one way, as `narrows mpi` has it.
pub const BANDWIDTH: &str = "mpi-bandwidth";
/// How the reason begins of a run whose result is not what it must be. Files from before 2026-11-25
/// tell it by that alone.
pub const WRONG: &str = "wrong result: ";
/// How the reason begins of a run that other programs took the CPUs of; likewise.
pub const STARVED: &str = "its own CPU use was ";
/// Note of a cell with more ranks than cores.
pub const OVERSUBSCRIBED: &str = "oversubscribed";

const CONFIDENCE: f64 = 0.95;

/// One number of ranks over one fabric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Ranks, over all hosts.
    pub ranks: u32,
    /// Time, or rate; `None` where no run counts.
    pub figure: Option<Estimate>,
    /// How many times faster than the base.
    pub speed_up: Option<Estimate>,
    /// Speed-up for each rank that the base has not, against its own; 1 is all of it.
    pub efficiency: Option<Estimate>,
    /// Median share of the time that ranks communicate.
    pub communication: Option<f64>,
    /// Median share of its CPUs that a run had.
    pub cpu_use: Option<f64>,
    /// Runs that count.
    pub done: usize,
    /// Runs that were made.
    pub runs: usize,
    /// Why runs do not count, each reason once.
    pub rejected: Vec<String>,
    /// The kinds of fault of these runs.
    #[serde(skip)]
    pub faults: Vec<Fault>,
    /// More ranks than cores: never a point of scaling.
    pub oversubscribed: bool,
}

/// The points of one fabric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub place: String,
    pub fabric: String,
    /// MTU in bytes, or none.
    pub mtu: String,
    /// The hosts of its place, one of which ran the single rank that it is compared with; `None` is
    /// this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<String>,
    /// Ascending by ranks; a run of one rank, which has no fabric, is in each.
    pub points: Vec<Point>,
    /// What the fabric does between two ranks, where it was measured.
    pub speed: Option<Speed>,
}

impl Curve {
    /// Its name: fabric, place and MTU.
    pub fn name(&self) -> String {
        let mtu = if self.mtu == NONE { String::new() } else { format!(", MTU {}", self.mtu) };
        format!("{} ({}{mtu})", self.fabric, self.place)
    }

    /// The point with the fewest ranks, which the others are compared with.
    pub fn base(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.figure.is_some() && !point.oversubscribed)
    }

    /// Ranks of the point that the others are compared with.
    pub fn base_ranks(&self) -> Option<u32> {
        self.base().map(|base| base.ranks)
    }

    /// How many times faster a point is than the base: of one with more ranks than cores no
    /// speed-up, and drawn as such.
    pub fn times_base(&self, point: &Point) -> Option<Estimate> {
        faster(&self.base()?.figure?, &point.figure?)
    }
}

/// An application over its fabrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// One a place, fabric and MTU, in the order of the study.
    pub curves: Vec<Curve>,
    /// Ranks of the runs that others are compared with; `None` where no run can be, or curves have
    /// bases of different numbers.
    pub base_ranks: Option<u32>,
    /// Each fabric as others say, by ranks.
    pub predictions: Vec<Predicted>,
}

impl Scaling {
    /// From what is stored; `None` where it is no study of an application.
    pub fn of(stored: &StoredStudy) -> Option<Self> {
        let of = |word: &'static str| {
            stored.trials.iter().filter(move |trial| trial.kind.as_str() == word)
        };
        of(APPLICATION).next()?;
        let alone: Vec<(Option<&str>, Point)> = of(APPLICATION)
            .filter(|trial| level(trial, FABRIC) == NONE)
            .map(|trial| (hosts(trial), point(stored, trial)))
            .collect();
        let mut curves: Vec<Curve> = Vec::new();
        for trial in of(APPLICATION).filter(|trial| level(trial, FABRIC) != NONE) {
            let [place, fabric, mtu] = [PLACE, FABRIC, MTU].map(|factor| level(trial, factor));
            let same = |curve: &&mut Curve| {
                curve.place == place && curve.fabric == fabric && curve.mtu == mtu
            };
            let found = point(stored, trial);
            match curves.iter_mut().find(same) {
                Some(curve) => curve.points.push(found),
                None => curves.push(Curve {
                    speed: speed(stored, &[place, fabric, mtu]),
                    place: place.to_owned(),
                    fabric: fabric.to_owned(),
                    mtu: mtu.to_owned(),
                    points: with_one_rank(&alone, hosts(trial), found),
                    hosts: hosts(trial).map(str::to_owned),
                }),
            }
        }
        if curves.is_empty() {
            let none = || NONE.to_owned();
            let (place, fabric, mtu) = (none(), none(), none());
            let points = alone.iter().map(|(_, point)| point.clone()).take(1).collect();
            curves.push(Curve { place, fabric, mtu, hosts: None, points, speed: None });
        }
        let base_ranks = common_base(&curves);
        curves.iter_mut().for_each(compared);
        Some(Self { predictions: predicted(&curves), curves, base_ranks })
    }
}

impl Scaling {
    /// Whether any run does not count because other programs had its CPUs.
    pub fn has_starved_runs(&self) -> bool {
        self.has_fault(Fault::Starved)
    }

    /// Whether any run came to a result that its study calls wrong.
    pub fn has_wrong_results(&self) -> bool {
        self.has_fault(Fault::Wrong)
    }

    fn has_fault(&self, fault: Fault) -> bool {
        self.curves.iter().flat_map(|curve| &curve.points).any(|at| at.faults.contains(&fault))
    }
}

/// Ranks of the base of all curves, where that is one number.
fn common_base(curves: &[Curve]) -> Option<u32> {
    let bases: BTreeSet<u32> = curves.iter().filter_map(Curve::base_ranks).collect();
    bases.first().copied().filter(|_| bases.len() == 1)
}

fn level<'a>(trial: &'a Trial, factor: &str) -> &'a str {
    trial.levels.iter().find(|level| level.factor == factor).map_or(NONE, |level| &level.level)
}

/// Hosts of a cell's place; none is this host.
fn hosts(trial: &Trial) -> Option<&str> {
    trial.notes.iter().find(|note| note.factor == HOSTS).map(|note| note.level.as_str())
}

/// A curve's first points: one rank on the same hosts, and this.
fn with_one_rank(alone: &[(Option<&str>, Point)], hosts: Option<&str>, found: Point) -> Vec<Point> {
    let same = alone.iter().filter(|(of, _)| *of == hosts);
    same.map(|(_, point)| point.clone()).chain([found]).collect()
}

fn values(stored: &StoredStudy, trial: &Trial, name: &str) -> Vec<f64> {
    let done = stored.records_of(trial).filter(|record| record.outcome == Outcome::Done);
    done.filter_map(|record| named(record, name)).collect()
}

fn named(record: &Record, name: &str) -> Option<f64> {
    let figures = &record.external.as_ref()?.figures;
    figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

fn unit(stored: &StoredStudy, trial: &Trial) -> Unit {
    let figures = stored.records_of(trial).filter_map(|record| record.external.as_ref());
    let mut main = figures.flat_map(|ran| &ran.figures).filter(|figure| figure.name == FIGURE);
    main.next().map_or(Unit::Nanos, |figure| figure.unit)
}

/// The kind of a stored fault, also of files that tell it in words alone.
fn fault_of(stored: Fault, why: &str) -> Fault {
    match stored {
        Fault::Machine if why.starts_with(WRONG) => Fault::Wrong,
        Fault::Machine if why.starts_with(STARVED) => Fault::Starved,
        fault => fault,
    }
}

fn point(stored: &StoredStudy, trial: &Trial) -> Point {
    let (mut reasons, mut faults) = (BTreeSet::new(), Vec::new());
    for record in stored.records_of(trial) {
        if let Outcome::Failed { why, fault, .. } = &record.outcome {
            reasons.insert(why.clone());
            faults.push(fault_of(*fault, why));
        }
    }
    let counted = values(stored, trial, FIGURE);
    Point {
        ranks: level(trial, RANKS).parse().unwrap_or(0),
        figure: median_interval(&counted, CONFIDENCE, unit(stored, trial)),
        speed_up: None,
        efficiency: None,
        communication: median(&values(stored, trial, COMMUNICATION)),
        cpu_use: median(&values(stored, trial, CPU_USE)),
        done: counted.len(),
        runs: stored.records_of(trial).count(),
        rejected: reasons.into_iter().collect(),
        faults,
        oversubscribed: trial.notes.iter().any(|note| note.factor == OVERSUBSCRIBED),
    }
}

/// How many times faster the second figure is: of times the first is the larger, of rates the
/// second.
pub fn faster(from: &Estimate, to: &Estimate) -> Option<Estimate> {
    match from.unit {
        Unit::Nanos => ratio_of_medians(from, to),
        _ => ratio_of_medians(to, from),
    }
}

/// Compares the points of a curve with its base; those that are oversubscribed with nothing.
fn compared(curve: &mut Curve) {
    curve.points.sort_by_key(|point| point.ranks);
    let Some((ranks, base)) = curve.base().and_then(|base| Some((base.ranks, base.figure?))) else {
        return;
    };
    for point in curve.points.iter_mut().filter(|point| !point.oversubscribed) {
        let Some(figure) = &point.figure else { continue };
        point.speed_up = faster(&base, figure);
        let share = f64::from(ranks) / f64::from(point.ranks.max(1));
        point.efficiency = point.speed_up.map(|times| Estimate {
            value: times.value * share,
            low: times.low * share,
            high: times.high * share,
            ..times
        });
    }
}

/// What a fabric does between two ranks, from its own runs in the study.
fn speed(stored: &StoredStudy, levels: &[&str; 3]) -> Option<Speed> {
    let figure = |word: &str| {
        let mut of = stored.trials.iter().filter(|trial| trial.kind.as_str() == word);
        let trial =
            of.find(|trial| [PLACE, FABRIC, MTU].map(|factor| level(trial, factor)) == *levels)?;
        median(&values(stored, trial, FIGURE))
    };
    Some(Speed { latency_s: figure(LATENCY)? / 1e9, bytes_per_s: figure(BANDWIDTH)? / 8.0 })
}

/// Each fabric as the others say, for every number of ranks that is a point of scaling.
fn predicted(curves: &[Curve]) -> Vec<Predicted> {
    let mut of_hosts: BTreeMap<(Option<&str>, u32), Vec<Timed>> = BTreeMap::new();
    let mut one: BTreeMap<Option<&str>, f64> = BTreeMap::new();
    for curve in curves {
        let hosts = curve.hosts.as_deref();
        for point in curve.points.iter().filter(|point| !point.oversubscribed) {
            let time = point.figure.as_ref().filter(|figure| figure.unit == Unit::Nanos);
            let Some(time_s) = time.map(|time| time.value / 1e9) else { continue };
            if point.ranks == 1 {
                one.insert(hosts, time_s);
            } else if let Some(speed) = curve.speed {
                let timed = Timed { fabric: curve.name(), speed, time_s };
                of_hosts.entry((hosts, point.ranks)).or_default().push(timed);
            }
        }
    }
    let mut all = Vec::new();
    for ((hosts, ranks), points) in &of_hosts {
        if let Some(one) = one.get(hosts) {
            all.extend(predictions(*one, *ranks, points));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(hosts: Option<&str>, fabric: &str, speed: Speed) -> Curve {
        let point = |(at, time_s): (usize, f64)| Point {
            ranks: at as u32 + 1,
            figure: median_interval(&[1e9 * time_s], CONFIDENCE, Unit::Nanos),
            speed_up: None,
            efficiency: None,
            communication: None,
            cpu_use: None,
            done: 1,
            runs: 1,
            rejected: Vec::new(),
            faults: Vec::new(),
            oversubscribed: false,
        };
        let (place, mtu) = ("here".to_owned(), NONE.to_owned());
        let points = [8.0, 4.5].into_iter().enumerate().map(point).collect();
        let hosts = hosts.map(str::to_owned);
        Curve { place, fabric: fabric.to_owned(), mtu, hosts, points, speed: Some(speed) }
    }

    #[test]
    fn fabrics_of_other_hosts_predict_nothing_of_these() {
        let fabrics = [("shm", 1e-6, 4e9), ("ib", 2e-6, 1e9), ("tcp", 3e-5, 2e9)];
        let here = fabrics.map(|(fabric, latency_s, bytes_per_s)| {
            curve(None, fabric, Speed { latency_s, bytes_per_s })
        });
        assert_eq!(predicted(&here).len(), 3);
        let mut mixed = here.to_vec();
        mixed[2].hosts = Some("n1, n2".to_owned());
        assert_eq!(predicted(&mixed), []);
    }

    #[test]
    fn a_run_is_known_by_its_fault_and_those_of_older_files_by_their_words() {
        assert_eq!(fault_of(Fault::Wrong, "sum is 3, not 4 within 0"), Fault::Wrong);
        assert_eq!(fault_of(Fault::Starved, "others had its CPUs"), Fault::Starved);
        assert_eq!(fault_of(Fault::Machine, "wrong result: sum is 3"), Fault::Wrong);
        let older = "its own CPU use was 50 to 60 %, under 90 %";
        assert_eq!(fault_of(Fault::Machine, older), Fault::Starved);
        assert_eq!(fault_of(Fault::Machine, "it ended with 3"), Fault::Machine);
        assert_eq!(fault_of(Fault::Died, "wrong result: "), Fault::Died);
        let speed = Speed { latency_s: 1e-6, bytes_per_s: 4e9 };
        let mut scaling = Scaling {
            curves: vec![curve(None, "shm", speed)],
            base_ranks: None,
            predictions: Vec::new(),
        };
        assert!(!scaling.has_wrong_results() && !scaling.has_starved_runs());
        scaling.curves[0].points[1].faults = vec![Fault::Machine, Fault::Starved];
        assert!(scaling.has_starved_runs() && !scaling.has_wrong_results());
        scaling.curves[0].points[0].faults = vec![Fault::Wrong];
        assert!(scaling.has_wrong_results());
    }

    #[test]
    fn curves_with_bases_of_different_ranks_have_no_common_one() {
        let speed = Speed { latency_s: 1e-6, bytes_per_s: 4e9 };
        let mut curves = [curve(None, "shm", speed), curve(None, "tcp", speed)];
        assert_eq!(common_base(&curves), Some(1));
        // No run of one rank counts over the second: it is compared with two.
        curves[1].points[0].figure = None;
        assert_eq!(curves[1].base_ranks(), Some(2));
        assert_eq!(common_base(&curves), None);
        assert_eq!(common_base(&[]), None);
    }
}
