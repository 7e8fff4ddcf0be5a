//! What memory jobs and traffic cost each other, in words, tables and pictures.

pub mod page;
mod predicted;
pub mod text;

use crate::plots::slowdown::{self, Line, Point};
use crate::{Analysis, words};
use narrows_model::result::Estimate;
use narrows_model::workload::{Kernel, Transport, Workload};
use narrows_stats::{Cost, NeighbourStep, NeighbourTest, Open, Slowdown, Slower, blocks_for};

/// The test in which most is lost: traffic before the job, and either before what is open. None of
/// a study of anything else.
pub fn worst<'a>(analysis: &'a Analysis<'_>) -> Option<&'a NeighbourTest> {
    let weight = |test: &&NeighbourTest| match test.regime {
        Slower::Traffic { .. } => (3, slowest(test).map_or(1.0, |step| step.traffic.times.value)),
        Slower::Job => (2, 1.0),
        Slower::Open(_) => (1, 1.0),
        Slower::Neither => (0, 1.0),
    };
    let by_weight = |a: &&NeighbourTest, b: &&NeighbourTest| {
        let ((a, a_times), (b, b_times)) = (weight(a), weight(b));
        a.cmp(&b).then(a_times.total_cmp(&b_times))
    };
    // Of equals the last is the largest: from the end that is the first.
    analysis.neighbours.iter().rev().max_by(by_weight)
}

/// What spares the traffic, where it is slower.
pub fn remedy(test: &NeighbourTest) -> Option<String> {
    let Slower::Traffic { from_cores, .. } = test.regime else { return None };
    let spared = test.steps.iter().filter(|step| step.cores < from_cores && spares(step));
    let fewer = match spared.map(|step| step.cores).max() {
        None => "no such job on this node".to_owned(),
        Some(cores) => format!("such a job on {} at most", plural(cores)),
    };
    Some(format!("{fewer} while the network matters, or its cores and memory on another node"))
}

/// Whether the traffic was shown not to be slower beside so many cores.
fn spares(step: &NeighbourStep) -> bool {
    matches!(step.regime, Slower::Job | Slower::Neither)
}

/// What a test shows, in one sentence.
pub fn answer(analysis: &Analysis<'_>, test: &NeighbourTest) -> String {
    let most = test.steps.last();
    let cores = at_work(test, most.map_or(0, |step| step.cores));
    let says = match test.regime {
        Slower::Traffic { from_cores, with_job } => traffic(analysis, test, from_cores, with_job),
        Slower::Job => blue(test),
        Slower::Neither => {
            let moved = rate(most.and_then(|step| step.job_alone));
            format!("neither is slower by more than 5 % with {cores} at {moved}")
        }
        Slower::Open(why) => format!("inconclusive with {cores}: {why}"),
    };
    format!("{}: {says}", test.name)
}

/// Up to how many cores the job alone is slower, and what is open beyond.
fn blue(test: &NeighbourTest) -> String {
    let most = test.steps.iter().rev().find(|step| spares(step)).map_or(0, |step| step.cores);
    let open = test.steps.iter().filter(|step| step.cores > most).find_map(|step| {
        let Slower::Open(why) = step.regime else { return None };
        Some(format!("; inconclusive with {}: {why}", plural(step.cores)))
    });
    let (cores, job) = (at_work(test, most), job(test));
    let open = open.unwrap_or_default();
    format!("not slower with up to {cores}; the job is, {job}: blue by rates{open}")
}

/// With how many cores the traffic is slower, and how much at the worst.
fn traffic(analysis: &Analysis<'_>, test: &NeighbourTest, from: u32, with_job: bool) -> String {
    let worst = slowest(test).map_or(String::new(), |step| {
        format!("{} with {}", times(&step.traffic.times), plural(step.cores))
    });
    let jobs = if with_job { "the job is slower too" } else { "the job is not shown to be slower" };
    let (with, work, red) = (slower_with(test, from), work(test, false), red(analysis, test));
    format!("slower with {with} that {work}: {worst}; {jobs}{red}")
}

/// `4 cores or more`, where it is with each larger number that was measured; else those with which
/// it is.
fn slower_with(test: &NeighbourTest, from: u32) -> String {
    let is_slower = |step: &&NeighbourStep| matches!(step.regime, Slower::Traffic { .. });
    if test.steps.iter().filter(|step| step.cores >= from).all(|step| is_slower(&step)) {
        return format!("{} or more", plural(from));
    }
    let with: Vec<String> =
        test.steps.iter().filter(is_slower).map(|step| step.cores.to_string()).collect();
    format!("{} {}", with.join(" and "), if with == ["1"] { "core" } else { "cores" })
}

/// How much slower the job is that alone is.
fn job(test: &NeighbourTest) -> String {
    let step = test.steps.iter().rev().find(|step| step.regime == Slower::Job);
    let slower = step.and_then(|step| Some((step.cores, step.job.as_ref()?)));
    slower.map_or(String::new(), |(cores, job)| {
        format!("{} with {}", times(&job.times), plural(cores))
    })
}

/// So many cores and what they do: `1 core that copies memory`.
fn at_work(test: &NeighbourTest, cores: u32) -> String {
    format!("{} that {}", plural(cores), work(test, cores == 1))
}

/// What one core does, or several, as the verb of their sentence.
fn work(test: &NeighbourTest, is_one: bool) -> String {
    let (one, several, object) = match &test.job {
        Workload::Memory(Kernel::Copy) => ("copies", "copy", "memory"),
        Workload::Memory(Kernel::CopyNt) => ("copies", "copy", "memory, past the caches"),
        Workload::Memory(Kernel::Memcpy) => ("copies", "copy", "memory with memcpy"),
        Workload::Memory(Kernel::Read) => ("reads", "read", "memory"),
        Workload::Memory(Kernel::ReadRandom) => ("reads", "read", "memory in random order"),
        Workload::Memory(Kernel::Triad) => ("computes", "compute", "triads over memory"),
        Workload::Memory(Kernel::TriadNt) => {
            ("computes", "compute", "triads over memory, past the caches")
        }
        Workload::Memory(Kernel::Write) => ("writes", "write", "memory"),
        Workload::Memory(Kernel::WriteNt) => ("writes", "write", "memory, past the caches"),
        other => ("runs", "run", other.as_str()),
    };
    format!("{} {object}", if is_one { one } else { several })
}

/// The step at which the traffic is slowest.
fn slowest(test: &NeighbourTest) -> Option<&NeighbourStep> {
    let slower = test.steps.iter().filter(|step| matches!(step.regime, Slower::Traffic { .. }));
    slower.max_by(|a, b| a.traffic.times.value.total_cmp(&b.traffic.times.value))
}

/// A NIC that writes to memory by itself is in the published regime; what cores copy is slower
/// with them.
fn red(analysis: &Analysis<'_>, test: &NeighbourTest) -> &'static str {
    let kind = analysis.stored.trials.get(test.alone).map(|trial| &trial.kind);
    let is_by_nic = kind.is_some_and(|kind| {
        *kind == Workload::Packets || matches!(kind.transport(), Some(Transport::Rdma(_)))
    });
    if is_by_nic {
        ": red by rates"
    } else {
        "; without counters the NIC's writes are not told from the kernel's copies"
    }
}

fn plural(cores: u32) -> String {
    if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") }
}

/// `1.35 x (1.30 to 1.41)`.
fn times(of: &Estimate) -> String {
    format!("{:.2} x ({})", of.value, interval(of))
}

fn interval(of: &Estimate) -> String {
    format!("{:.2} to {:.2}", of.low, of.high)
}

/// What a step shows, in a word or two.
fn shows(step: &NeighbourStep) -> &'static str {
    match step.regime {
        Slower::Neither => "neither slower",
        Slower::Job => "job slower",
        Slower::Traffic { with_job: true, .. } => "both slower",
        Slower::Traffic { with_job: false, .. } => "traffic slower",
        Slower::Open(Open::CpuShared) => "open: CPUs",
        Slower::Open(Open::InterruptsShared) => "open: interrupts",
        Slower::Open(Open::NotLoaded) => "open: not loaded",
        Slower::Open(Open::OneStep) => "open: one step",
        Slower::Open(Open::JobUnknown) => "open: job unknown",
        Slower::Open(Open::FewRuns) => "open: few runs",
        Slower::Open(Open::Unclear) => "open: unclear",
    }
}

/// A slowdown with its interval, a dash where it was not measured.
fn slower(of: Option<&Slowdown>) -> String {
    of.map_or("-".to_owned(), |of| format!("{:.2} ({})", of.times.value, interval(&of.times)))
}

/// What the intervals are of, and whether they hold.
fn about_intervals(analysis: &Analysis<'_>) -> String {
    let steps = analysis.neighbours.iter().flat_map(|test| &test.steps);
    let all: Vec<&Slowdown> =
        steps.flat_map(|step| std::iter::once(&step.traffic).chain(&step.job)).collect();
    let claims = all.len();
    let few = all.into_iter().find(|slowdown| slowdown.verdict == Cost::FewRuns);
    match few {
        Some(few) => format!(
            "in parentheses the range of {}: too few for {claims} intervals that hold together, \
             which takes {}",
            words::counted(few.times.n as usize, "run"),
            blocks_for(claims)
        ),
        None => format!(
            "runs of one block set against each other; the {claims} intervals hold together (95 %)"
        ),
    }
}

/// A rate of a job, a dash where there is none.
fn rate(of: Option<Estimate>) -> String {
    of.map_or("-".to_owned(), |rate| words::value(rate.value, rate.unit))
}

/// The median of the traffic of a trial, a dash where there is none.
fn median(analysis: &Analysis<'_>, trial: usize) -> String {
    let estimate = analysis.summaries.get(trial).and_then(|summary| summary.estimate);
    estimate.map_or("-".to_owned(), |of| words::value(of.value, of.unit))
}

/// Pictures of all tests: how many times slower either is, over the job's cores.
pub fn pictures(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let drawn = analysis.neighbours.iter().map(|test| {
        let title = format!("{} with cores that {}", test.name, work(test, false));
        let lines = [lines(test).into(), predicted::lines(analysis, test)].concat();
        (title.clone(), slowdown::draw(&title, &lines))
    });
    drawn.filter(|(_, svg)| !svg.is_empty()).collect()
}

/// The job comes first, in blue, and the traffic second, in red: as the regimes are called in which
/// they are slower.
fn lines(test: &NeighbourTest) -> [Line; 2] {
    let traffic = test.steps.iter().map(|step| point(step, &step.traffic)).collect();
    let jobs = test.steps.iter().filter_map(|step| Some(point(step, step.job.as_ref()?)));
    [
        Line { name: "the job", points: jobs.collect() },
        Line { name: "the traffic", points: traffic },
    ]
}

fn point(step: &NeighbourStep, of: &Slowdown) -> Point {
    let Estimate { value: times, low, high, .. } = of.times;
    Point { cores: step.cores, times, low, high }
}
