//! Latency under load in words, tables and a picture.

pub mod page;
pub mod text;

use crate::Analysis;
use crate::sentences::Answer;
use narrows_model::Nanos;
use narrows_model::result::{Estimate, Method};
use narrows_stats::{Grade, LoadedLatency, Phase, PhaseTimes};

/// The answer of a study of round trips beside streams: its figure, what limits it, what to do.
pub(crate) fn answer(analysis: &Analysis<'_>, latency: &LoadedLatency) -> Option<Answer> {
    let grade = latency.grade?;
    let worst = latency.of(latency.worst?)?;
    let rise = worst.median_rise?;
    let (longer, way) = (signed(rise.value), direction(worst.phase));
    let tail = Tail::of(latency, grade);
    let slow = tail.as_ref().map_or(String::new(), |tail| format!("; {}", tail.says()));
    Some(Answer {
        figure: format!("grade {grade}: {longer} longer under load {way}{slow}"),
        spread: interval(&rise),
        bottleneck: match &tail {
            Some(_) if grade <= Grade::A => Tail::BOTTLENECK.to_owned(),
            _ => bottleneck(latency, grade, worst, rise.value),
        },
        action: match &tail {
            Some(_) if grade <= Grade::A => Tail::ACTION.to_owned(),
            _ => action(analysis, grade, worst.phase),
        },
    })
}

/// The slowest tenth of the requests, where it would have a worse grade than the median, and no
/// good one.
struct Tail {
    phase: Phase,
    rise_ns: f64,
    grade: Grade,
}

impl Tail {
    const BOTTLENECK: &str = "no queue makes the median longer by 30 ms or more, but one request in \
                              ten waits: bursts in a queue, or an end that waited for a CPU";
    const ACTION: &str = "look whether it comes again and whether the hosts were busy (caution \
                          below, if any); where they were not, what sends in bursts on the way";

    fn of(latency: &LoadedLatency, grade: Grade) -> Option<Self> {
        let (phase, rise_ns) = latency.slowest_tenth()?;
        let own = Grade::of(rise_ns);
        (own > grade && own > Grade::A).then_some(Self { phase, rise_ns, grade: own })
    }

    fn says(&self) -> String {
        let (longer, way) = (signed(self.rise_ns), direction(self.phase));
        format!("its slowest tenth {longer} and more {way} ({} by that)", self.grade)
    }
}

fn bottleneck(latency: &LoadedLatency, grade: Grade, worst: &PhaseTimes, rise_ns: f64) -> String {
    if grade <= Grade::A {
        return "no queue makes a round trip longer by 30 ms or more".to_owned();
    }
    if 2 * worst.unanswered > worst.requests {
        let (lost, all) = (worst.unanswered, worst.requests);
        return format!(
            "{lost} of {all} requests were never answered under load {}",
            direction(worst.phase)
        );
    }
    let after = latency.of(Phase::After).and_then(|after| after.median_rise);
    let drains = match after {
        Some(after) if after.value < rise_ns / 4.0 => ", empty again after it",
        Some(_) => ", not empty a second after it",
        None => "",
    };
    format!(
        "a queue that streams {} fill{drains}; whether at this host, the other or between is not \
         told by round trips",
        direction(worst.phase)
    )
}

fn action(analysis: &Analysis<'_>, grade: Grade, worst: Phase) -> String {
    if grade <= Grade::A {
        return "nothing: round trips stay short beside streams".to_owned();
    }
    let back = if worst == Phase::Down { " -R" } else { "" };
    let place = match analysis.stored.study.peer.as_deref() {
        Some(_) => format!("`narrows tcp HOST{back} --explain` says where it is"),
        None => "nothing but this host's stack is between the ends".to_owned(),
    };
    format!(
        "keep the queue short where it is: fq_codel or cake there, or a smaller buffer; {place}"
    )
}

/// `up`, `down`, `both ways`.
fn direction(phase: Phase) -> &'static str {
    match phase {
        Phase::Both => "both ways",
        other => other.word(),
    }
}

/// Medians of the phases, and round trips a minute, in one sentence.
pub(crate) fn medians(latency: &LoadedLatency) -> String {
    let trips = latency.per_minute.map_or(String::new(), |trips| {
        format!("; {trips:.0} round trips a minute with both ways loaded")
    });
    let told = latency.phases.iter().filter_map(|one| {
        let median = one.times?.p50_ns?;
        Some(format!("{} {median}", one.phase))
    });
    told.collect::<Vec<_>>().join(", ") + &trips
}

/// A difference of times.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", Nanos(ns.abs().round() as u64))
}

fn interval(of: &Estimate) -> String {
    let what = if of.by == Method::Range { "range" } else { "95 % interval" };
    format!("{what} {} to {}", signed(of.low), signed(of.high))
}

/// What the intervals are of.
fn about(latency: &LoadedLatency) -> String {
    let slices = latency.slice_ns;
    let of = match latency.runs {
        runs @ 0..6 => format!(
            "slices of {slices} in {}: of this time, and not of another day",
            crate::words::counted(runs as usize, "run")
        ),
        runs => format!("{runs} runs"),
    };
    format!(
        "longer: median less the idle median, with its interval over {of}. Grades by that: A+ below \
         5 ms, A 30, B 60, C 200, D 400, else F. A request leaves when it is due, and its time \
         counts from then; a percentile has ten round trips beyond it, or a dash"
    )
}

/// Cells of a phase's row, after its name.
fn cells(one: &PhaseTimes) -> [String; 9] {
    let dash = || "-".to_owned();
    let times = |of: fn(&narrows_stats::TripTimes) -> Option<Nanos>| {
        let time = one.times.as_ref().and_then(of);
        time.map_or_else(dash, |time| time.to_string())
    };
    [
        one.requests.to_string(),
        one.unanswered.to_string(),
        times(|of| Some(of.min_ns)),
        times(|of| of.p50_ns),
        times(|of| of.p90_ns),
        times(|of| of.p99_ns),
        times(|of| Some(of.max_ns)),
        one.median_rise.as_ref().map_or_else(dash, |rise| signed(rise.value)),
        one.grade.map_or_else(dash, |grade| grade.to_string()),
    ]
}

const HEAD: [&str; 10] =
    ["phase", "requests", "unanswered", "min", "p50", "p90", "p99", "max", "longer", "grade"];

/// One more line for each loaded phase: the rise with its interval.
fn rises(latency: &LoadedLatency) -> Vec<String> {
    let loaded = latency.phases.iter().filter(|one| one.phase.is_loaded());
    let told = loaded.filter_map(|one| {
        let rise = one.median_rise.as_ref()?;
        let p99 = one.p99_rise.as_ref();
        let p99 = p99.map_or(String::new(), |p99| format!("; p99 {} longer", signed(p99.value)));
        let trips = one.per_minute.map_or(String::new(), |trips| format!("; {trips:.0} a minute"));
        let (value, spread) = (signed(rise.value), interval(rise));
        Some(format!("{}: median {value} longer ({spread}){p99}{trips}", direction(one.phase)))
    });
    told.collect()
}
