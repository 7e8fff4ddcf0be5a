//! How an application scales over each fabric, from the runs of a stored study.

use crate::cells::{FABRIC, HOSTS, MTU, NONE, PLACE, RANKS};
use crate::contract::{COMMUNICATION, CPU_HAD, CPU_USE, FIGURE, SYSTEM};
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
    /// Median share of the CPU time of the launcher and its ranks on this host that the kernel had;
    /// ranks on other hosts are not in it.
    pub system: Option<f64>,
    /// Median share of its CPUs that a run had.
    pub cpu_use: Option<f64>,
    /// Who tells that share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_use_by: Option<CpuUseBy>,
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

/// Who tells what share of its CPUs a run had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuUseBy {
    /// The application, by the contract of its study.
    Application,
    /// The kernel's scheduler, of the ranks on this host: of the time for which they asked for a
    /// CPU the share in which they had one.
    Scheduler,
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

    /// Points none of whose runs counts, where those of others do, but those with more ranks than
    /// cores: of these numbers of ranks nothing is known.
    pub fn lost(&self) -> Vec<(&Curve, &Point)> {
        let all = self.curves.iter().flat_map(|of| of.points.iter().map(move |at| (of, at)));
        let (mut lost, found): (Vec<_>, Vec<_>) = all.partition(|(_, at)| at.done == 0);
        lost.retain(|(_, at)| at.runs > 0 && !at.oversubscribed && !found.is_empty());
        lost
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
    let told = [(CPU_USE, CpuUseBy::Application), (CPU_HAD, CpuUseBy::Scheduler)];
    let cpu_use =
        told.iter().find_map(|(name, by)| Some((median(&values(stored, trial, name))?, *by)));
    Point {
        ranks: level(trial, RANKS).parse().unwrap_or(0),
        figure: median_interval(&counted, CONFIDENCE, unit(stored, trial)),
        speed_up: None,
        efficiency: None,
        communication: median(&values(stored, trial, COMMUNICATION)),
        system: median(&values(stored, trial, SYSTEM)),
        cpu_use: cpu_use.map(|(share, _)| share),
        cpu_use_by: cpu_use.map(|(_, by)| by),
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
    use narrows_model::host::Host;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::record::{External, Figure, Stage, Stamp};
    use narrows_model::trial::{Level, NetworkPath, TrialId};
    use narrows_model::{Bytes, Nanos};

    fn curve(hosts: Option<&str>, fabric: &str, speed: Speed) -> Curve {
        let point = |(at, time_s): (usize, f64)| Point {
            ranks: at as u32 + 1,
            figure: median_interval(&[1e9 * time_s], CONFIDENCE, Unit::Nanos),
            speed_up: None,
            efficiency: None,
            communication: None,
            system: None,
            cpu_use: None,
            cpu_use_by: None,
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

    fn trial(kind: &str, levels: [&str; 4], notes: &[(&str, &str)]) -> Trial {
        let factors = [PLACE, FABRIC, MTU, RANKS];
        let level = |(factor, at): (&str, &str)| Level { factor: factor.into(), level: at.into() };
        Trial {
            id: TrialId(format!("{kind} {}", levels.join(" "))),
            label: String::new(),
            kind: kind.into(),
            params: Params::of_network(Bytes(0), 1),
            ends: Vec::new(),
            path: NetworkPath::Peer,
            timeline: Timeline::new(Nanos(0), Nanos(0), Nanos(0)),
            levels: factors.into_iter().zip(levels).map(level).collect(),
            notes: notes.iter().copied().map(level).collect(),
            engine: None,
        }
    }

    /// Runs with these figures; one that is below zero failed.
    fn runs(trial: &Trial, unit: Unit, values: &[f64]) -> Vec<Record> {
        let figure = |name: &str, value, unit| Figure { name: name.into(), value, unit };
        let run = |(repeat, value): (u32, &f64)| Record {
            trial: trial.id.clone(),
            repeat,
            block: repeat,
            outcome: if *value < 0.0 {
                let why = "wrong result: sum is 3".to_owned();
                Outcome::Failed { at: Stage::Run, why, fault: Fault::Machine }
            } else {
                Outcome::Done
            },
            reports: Vec::new(),
            around: Stamp::default(),
            session: 0,
            external: Some(External {
                tool: "a".into(),
                version: None,
                command: None,
                file: None,
                figures: vec![
                    figure(COMMUNICATION, 0.01 * f64::from(repeat), Unit::Share),
                    figure(FIGURE, *value, unit),
                    figure(CPU_USE, 1.0 - 0.1 * f64::from(repeat), Unit::Share),
                    figure(SYSTEM, 0.05 * f64::from(repeat), Unit::Share),
                ],
                output: String::new(),
                client: None,
                packets: None,
            }),
        };
        (0..).zip(values).map(run).collect()
    }

    #[test]
    fn a_study_scales_from_the_run_of_one_rank_over_each_fabric() {
        let s = 1e9;
        let app = |levels, notes: &[(&str, &str)]| trial(APPLICATION, levels, notes);
        let mut stored = StoredStudy::unmeasured(Host::default());
        let mut add = |trial: Trial, unit, values: &[f64]| {
            stored.records.extend(runs(&trial, unit, values));
            stored.trials.push(trial);
        };
        let n = Unit::Nanos;
        add(app(["here", NONE, NONE, "1"], &[]), n, &[8.0 * s, 8.1 * s, 7.9 * s]);
        add(app(["here", "tcp:e", "1500", "4"], &[]), n, &[3.9 * s, 4.0 * s, 4.1 * s, -1.0]);
        add(app(["here", "tcp:e", "1500", "2"], &[]), n, &[5.0 * s]);
        let over = [(OVERSUBSCRIBED, "yes")];
        add(app(["here", "tcp:e", "1500", "8"], &over), n, &[2.0 * s]);
        add(app(["far", "shm", NONE, "2"], &[(HOSTS, "n1, n2")]), n, &[6.0 * s]);
        add(trial(LATENCY, ["here", "tcp:e", "1500", "2"], &[]), n, &[30e3]);
        add(trial(BANDWIDTH, ["here", "tcp:e", "1500", "2"], &[]), Unit::BitsPerSecond, &[10e9]);
        let scaling = Scaling::of(&stored).expect("a study of an application");
        let [tcp, shm] = &scaling.curves[..] else { panic!("{scaling:?}") };
        assert_eq!(tcp.name(), "tcp:e (here, MTU 1500)");
        assert_eq!(shm.name(), "shm (far)");
        assert_eq!(tcp.speed, Some(Speed { latency_s: 30e-6, bytes_per_s: 1.25e9 }));
        assert_eq!((shm.speed, shm.hosts.as_deref()), (None, Some("n1, n2")));
        /// Ranks, speed-up, efficiency, runs that count and runs.
        type Told = (u32, Option<f64>, Option<f64>, usize, usize);
        let told = |curve: &Curve| -> Vec<Told> {
            let points = curve.points.iter();
            let value =
                |of: &Option<Estimate>| of.as_ref().map(|of| (1e6 * of.value).round() / 1e6);
            points
                .map(|at| (at.ranks, value(&at.speed_up), value(&at.efficiency), at.done, at.runs))
                .collect()
        };
        let all = [
            (1, Some(1.0), Some(1.0), 3, 3),
            (2, Some(1.6), Some(0.8), 1, 1),
            (4, Some(2.0), Some(0.5), 3, 4),
            (8, None, None, 1, 1),
        ];
        assert_eq!(told(tcp), all);
        // The single rank ran on this host, and not on those of the other place.
        assert_eq!(told(shm), [(2, Some(1.0), Some(1.0), 1, 1)]);
        assert_eq!((scaling.base_ranks, shm.base_ranks()), (None, Some(2)));
        let four = &tcp.points[2];
        assert_eq!(four.figure.as_ref().map(|figure| figure.value), Some(4.0 * s));
        assert_eq!(four.system.map(|share| (100.0 * share).round()), Some(5.0));
        let shares = (four.communication.unwrap_or(0.0), four.cpu_use.unwrap_or(0.0));
        assert!((shares.0 - 0.01).abs() < 1e-12 && (shares.1 - 0.9).abs() < 1e-12, "{shares:?}");
        assert_eq!(four.rejected, ["wrong result: sum is 3"]);
        assert!(scaling.has_wrong_results() && !scaling.has_starved_runs());
        let over = tcp.times_base(&tcp.points[3]).map(|times| times.value);
        assert_eq!(over, Some(4.0), "drawn, though it is no point of scaling");
        assert!(Scaling::of(&StoredStudy::unmeasured(Host::default())).is_none());
    }

    #[test]
    fn of_times_the_shorter_is_faster_and_of_rates_the_higher() {
        let of = |unit, value| median_interval(&[value], CONFIDENCE, unit).expect("a figure");
        let times = |unit, from, to| faster(&of(unit, from), &of(unit, to)).map(|it| it.value);
        assert_eq!(times(Unit::Nanos, 8.0, 2.0), Some(4.0));
        assert_eq!(times(Unit::PerSecond, 8.0, 2.0), Some(0.25));
    }
}
