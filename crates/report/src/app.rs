//! How an application scales over fabrics: a table, what the model says, and a figure.

use crate::drawn::Screen;
use crate::plots::ranks;
use crate::{table, words};
use narrows_app::fit::Predicted;
use narrows_app::scaling::{APPLICATION, CpuUseBy, Curve, Point, Scaling};
use narrows_model::result::Estimate;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::units::three_digits;
use std::collections::BTreeSet;

/// A table of all cells, and the answer above it.
pub fn text(scaling: &Scaling, stored: &StoredStudy, screen: &Screen) -> String {
    let mut text = screen.prose(&head(scaling, stored), "  ");
    for curve in &scaling.curves {
        text += &format!("\n{}\n", curve.name());
        let rows: Vec<Vec<String>> = curve.points.iter().map(row).collect();
        text += &table::on_screen(&HEAD, &rows, screen);
        if let Some(speed) = &curve.speed {
            let latency = words::value(1e9 * speed.latency_s, Unit::Nanos);
            let rate = words::value(8.0 * speed.bytes_per_s, Unit::BitsPerSecond);
            let says = format!("between two ranks: {latency} one way at 8 B, {rate} at 1 MiB");
            text += &screen.prose(&says, "  ");
        }
    }
    text += &notes(scaling, screen);
    text += "\nRun time by the model: one rank's shared by the ranks, messages x latency, bytes / \
             bandwidth\n";
    text += &model(scaling, screen);
    text += &screen.prose(UNKNOWN, "  ");
    text
}

/// What no figure of an application's study tells.
pub(crate) const UNKNOWN: &str = "unknown: what carried the application's messages (its fabric was set, and no counter was read \
     beside its runs), and how much memory bandwidth its ranks share, which is in the model's error";

pub(crate) const HEAD: [&str; 9] =
    ["ranks", "median", "interval", "speed-up", "efficiency", "comm.", "system", "CPU use", "runs"];

/// What the column `system` is of, where it says anything.
pub(crate) const SYSTEM_SAYS: &str = "system: the kernel's share of the CPU time of the launcher and \
     the ranks on this host; ranks on other hosts are not in it";

/// What the column `CPU use` is of where applications tell none.
pub(crate) const CPU_USE_SAYS: &str = "CPU use: the application tells none; it is the share of the \
     time for which the ranks on this host asked for a CPU in which the scheduler gave them one. A \
     rank that polls for messages asks all the time: waiting for messages is no lack of CPU, and \
     100 % is no proof of work";

/// Whether the scheduler tells a CPU use in the application's place.
pub(crate) fn has_scheduler_use(scaling: &Scaling) -> bool {
    let mut points = scaling.curves.iter().flat_map(|curve| &curve.points);
    points.any(|point| point.cpu_use_by == Some(CpuUseBy::Scheduler))
}

/// Name of the application, as its study has it.
pub fn name(stored: &StoredStudy) -> &str {
    let is_run = |trial: &&Trial| trial.kind.as_str() == APPLICATION;
    let mut runs = stored.trials.iter().filter(is_run).flat_map(|trial| stored.records_of(trial));
    let name = runs.find_map(|record| Some(record.external.as_ref()?.tool.as_str()));
    name.unwrap_or("an application")
}

fn head(scaling: &Scaling, stored: &StoredStudy) -> String {
    format!(
        "{}: medians with intervals of 95 %, of fewer than six runs the lowest and the highest; {}",
        name(stored),
        base(scaling)
    )
}

/// What speed-up is against.
pub(crate) fn base(scaling: &Scaling) -> String {
    match scaling.base_ranks {
        Some(1) if has_several_sets(scaling) => {
            "speed-up against one rank on the same hosts".to_owned()
        }
        Some(1) => "speed-up against one rank".to_owned(),
        Some(ranks) => format!("speed-up against {ranks} ranks"),
        None if scaling.curves.iter().any(|curve| curve.base().is_some()) => {
            "speed-up of each fabric against the fewest ranks of its own that count".to_owned()
        }
        None => "no run that others can be compared with".to_owned(),
    }
}

/// Whether places have different hosts, and so bases of their own.
fn has_several_sets(scaling: &Scaling) -> bool {
    scaling.curves.windows(2).any(|pair| pair[0].hosts != pair[1].hosts)
}

pub(crate) fn row(point: &Point) -> Vec<String> {
    let mark = if point.oversubscribed { " *" } else { "" };
    let share = |share: Option<f64>| share.map_or("-".to_owned(), percent);
    let interval = |figure: &Estimate| {
        let [low, high] = [figure.low, figure.high].map(|end| shown(end, figure.unit));
        format!("{low} to {high}")
    };
    let median = |figure: &Estimate| shown(figure.value, figure.unit);
    let told = |of: Option<String>| of.unwrap_or_else(|| "-".to_owned());
    vec![
        format!("{}{mark}", point.ranks),
        told(point.figure.as_ref().map(median)),
        told(point.figure.as_ref().map(interval)),
        told(point.speed_up.as_ref().map(|times| three_digits(times.value))),
        told(point.efficiency.as_ref().map(|of| percent(of.value))),
        share(point.communication),
        share(point.system),
        share(point.cpu_use),
        format!("{} of {}", point.done, point.runs),
    ]
}

/// Run times with three digits, whatever their length; the rest as everywhere.
pub(crate) fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanos => format!("{} s", three_digits(value / 1e9)),
        _ => words::value(value, unit),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// What to do about runs that had too little of their CPUs.
pub(crate) const STARVED_HINT: &str = "hint: other programs, or more threads of its own than there \
     are cores, had the CPUs of these runs: end them, use fewer ranks or threads than cores, or \
     accept less with cpu_use_least_percent in the study";

/// Marks, and why runs do not count.
fn notes(scaling: &Scaling, screen: &Screen) -> String {
    let points = || scaling.curves.iter().flat_map(|curve| &curve.points);
    let mut all = String::new();
    if points().any(|point| point.oversubscribed) {
        all += "* more ranks than cores: no point of scaling\n";
    }
    if has_system_time(scaling) {
        all += &screen.prose(SYSTEM_SAYS, "  ");
    }
    if has_scheduler_use(scaling) {
        all += &screen.prose(CPU_USE_SAYS, "  ");
    }
    let rejected: BTreeSet<String> = points()
        .flat_map(|point| point.rejected.iter().map(move |why| (point.ranks, why)))
        .map(|(ranks, why)| format!("not counted, of {ranks} ranks: {why}"))
        .collect();
    for why in rejected {
        all += &screen.prose(&why, "  ");
    }
    if scaling.has_starved_runs() {
        all += &screen.prose(STARVED_HINT, "  ");
    }
    all
}

/// A model that is off by a larger share says nothing of an application.
const ERROR_MAX: f64 = 0.5;

/// Whether a run told the kernel's share of its CPU time.
pub(crate) fn has_system_time(scaling: &Scaling) -> bool {
    let mut points = scaling.curves.iter().flat_map(|curve| &curve.points);
    points.any(|point| point.system.is_some())
}

fn model(scaling: &Scaling, screen: &Screen) -> String {
    if scaling.predictions.is_empty() {
        return screen.prose(
            "  not fitted: it needs times of one rank, and of as many over three fabrics that were \
             measured",
            "  ",
        );
    }
    let text: String =
        scaling.predictions.iter().map(|one| screen.prose(&predicted(one), "    ")).collect();
    text + &caution(&scaling.predictions)
        .map_or_else(String::new, |says| screen.prose(&says, "    "))
}

/// What is to be said of a model that does not say what was measured.
fn caution(predictions: &[Predicted]) -> Option<String> {
    let errors = predictions.iter().map(|one| one.error().abs());
    let worst = errors.filter(|error| error.is_finite()).reduce(f64::max)?;
    (worst > ERROR_MAX).then(|| {
        format!(
            "  the model does not hold here: its worst error is {:.0} %. Take no figure of it; more \
             repeats on idle hosts may show whether it is the runs or the model",
            100.0 * worst
        )
    })
}

fn predicted(one: &Predicted) -> String {
    let [predicted, measured] =
        [one.predicted_s, one.measured_s].map(|time| shown(1e9 * time, Unit::Nanos));
    let [first, second] = &one.from;
    format!(
        "  {}, {} ranks: {predicted} by the model, {measured} measured, error {:+.1} %; fitted on \
         {first} and {second}: {} messages, {} MB",
        one.fabric,
        one.fit.ranks,
        100.0 * one.error(),
        three_digits(one.fit.messages),
        three_digits(one.fit.bytes / 1e6),
    )
}

/// Performance by ranks, a line each fabric.
pub(crate) fn picture(scaling: &Scaling, stored: &StoredStudy) -> String {
    let series: Vec<ranks::Series> = scaling.curves.iter().map(series).collect();
    ranks::draw(&head(scaling, stored), &series)
}

fn series(curve: &Curve) -> ranks::Series {
    let point = |point: &Point| {
        let figure = point.figure?;
        Some(ranks::Point { ranks: point.ranks, figure, is_scaling: !point.oversubscribed })
    };
    ranks::Series { name: curve.name(), points: curve.points.iter().filter_map(point).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_app::fit::Fit;

    #[test]
    fn a_model_that_says_something_else_is_told_so() {
        let of = |predicted_s: f64| Predicted {
            fabric: "tcp:lo (here)".to_owned(),
            from: ["a".to_owned(), "b".to_owned()],
            fit: Fit { comp_s: 1.0, ranks: 2, messages: 1.0, bytes: 1.0 },
            predicted_s,
            measured_s: 1.0,
        };
        assert_eq!(caution(&[of(1.4), of(0.7)]), None);
        let says = caution(&[of(1.1), of(37.24)]).expect("a caution");
        assert!(says.contains("does not hold here: its worst error is 3624 %"), "{says}");
        assert!(caution(&[of(0.28)]).is_some(), "72 % too little");
    }
}
