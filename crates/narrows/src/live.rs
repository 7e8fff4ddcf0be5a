//! What a user sees during a run: the rate on one line of a terminal, and with `-i` a line for each
//! period, as iperf has them. Without either nobody tells, and nothing is drawn.

use crate::bar;
use indicatif::ProgressBar;
use narrows_model::shown::line;
use narrows_model::trial::{Trial, TrialId};
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_model::{Bytes, Nanos};
use narrows_report::words;
use narrows_runner::{Counted, Onlooker, Period, Progress};
use narrows_stats::median_interval;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How often the line of a terminal is drawn: a reader follows it, and it costs a wake-up.
const DRAWN_EVERY: Nanos = Nanos::from_millis(500);
/// Values that the line's median is of, the newest.
const VALUES_MAX: usize = 10_000;
const CONFIDENCE: f64 = 0.95;

/// Whether periods are printed.
#[derive(Clone, Copy)]
pub enum Lines {
    /// One line a period of so long, by what prints it.
    Every(Nanos, fn(&str)),
    Unprinted,
}

impl Lines {
    fn are_printed(self) -> bool {
        matches!(self, Self::Every(..))
    }
}

/// Shows what is moved while runs last.
pub struct Live {
    bar: Option<ProgressBar>,
    lines: Lines,
    now: RefCell<Now>,
}

/// The run that goes on.
struct Now {
    run: usize,
    runs: usize,
    label: String,
    left: Duration,
    began: Instant,
    /// Values of the periods so far, by trial.
    values: BTreeMap<TrialId, Vec<f64>>,
    /// Whether it was said that nobody tells.
    said: bool,
}

impl Live {
    /// Where there is a terminal or periods are printed.
    pub fn of(lines: Lines) -> Option<Rc<Self>> {
        let bar = bar::bar();
        (bar.is_some() || lines.are_printed()).then(|| {
            let now = Now {
                run: 0,
                runs: 0,
                label: String::new(),
                left: Duration::ZERO,
                began: Instant::now(),
                values: BTreeMap::new(),
                said: false,
            };
            Rc::new(Self { bar, lines, now: RefCell::new(now) })
        })
    }

    /// The line of the terminal.
    pub fn bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref()
    }

    /// A run begins.
    pub fn begins(&self, progress: &Progress<'_>) {
        let mut now = self.now.borrow_mut();
        (now.run, now.runs) = (progress.done + 1, progress.total);
        now.label = line(progress.label).into_owned();
        (now.left, now.began) = (progress.left, Instant::now());
    }

    /// Prints beside the terminal's line.
    fn print(&self, text: &str) {
        let Lines::Every(_, print) = self.lines else { return };
        match &self.bar {
            Some(bar) => bar.suspend(|| print(text)),
            None => print(text),
        }
    }
}

impl Onlooker for Live {
    fn every(&self) -> Nanos {
        match self.lines {
            Lines::Every(every, _) => every,
            Lines::Unprinted => DRAWN_EVERY,
        }
    }

    fn period(&self, trial: &Trial, counted: Counted, period: &Period) {
        let Some(rate) = Rate::of(trial, period) else { return };
        let mut now = self.now.borrow_mut();
        self.print(&printed((now.run, now.runs), &rate, counted, period));
        let Some(bar) = &self.bar else { return };
        let left = now.left.saturating_sub(now.began.elapsed());
        let values = now.values.entry(trial.id.clone()).or_default();
        if values.len() == VALUES_MAX {
            values.remove(0);
        }
        values.push(rate.value);
        let so_far = so_far(values, rate.unit);
        let (rate, left) = (rate.words(), left.as_secs_f64().ceil());
        let by = sent(counted);
        let label = &now.label;
        bar.set_message(format!("{left:.0} s left: {rate}{by}{so_far}; {label}"));
    }

    fn untold(&self, trial: &Trial) {
        let mut now = self.now.borrow_mut();
        if self.lines.are_printed() && !now.said {
            now.said = true;
            let label = line(&trial.label);
            let says = format!("{label}: no interval lines, as nothing tells them while it runs");
            match &self.bar {
                Some(bar) => bar.suspend(|| note!("{says}")),
                None => note!("{says}"),
            }
        }
    }
}

/// The figure of a period.
struct Rate {
    value: f64,
    unit: Unit,
    of: &'static str,
}

impl Rate {
    /// Of a trial: its figure, or of round trips how many there are, which is no figure of it.
    fn of(trial: &Trial, period: &Period) -> Option<Self> {
        // All ends that receive tell: of both directions that is their sum.
        let of = if trial.params.is_bidirectional() { "both ways " } else { "" };
        let (value, unit, of) = match trial.kind.metric()? {
            Metric::Goodput => (8.0 * period.bytes_per_second, Unit::BitsPerSecond, of),
            Metric::PacketRate => (period.messages_per_second, Unit::PacketsPerSecond, of),
            Metric::RoundTripP50 => (period.messages_per_second, Unit::PerSecond, "round trips "),
            Metric::ConnectionRate => (period.messages_per_second, Unit::PerSecond, "connections "),
            Metric::MemoryBandwidth => (period.bytes_per_second, Unit::BytesPerSecond, ""),
            // One load needs the one before: how long one takes, of those that came in a second.
            Metric::LoadToUse if period.messages_per_second > 0.0 => {
                (1e9 / period.messages_per_second, Unit::Nanos, "load to use ")
            }
            _ => return None,
        };
        Some(Self { value, unit, of })
    }

    fn words(&self) -> String {
        format!("{}{}", self.of, words::value(self.value, self.unit))
    }
}

fn sent(counted: Counted) -> &'static str {
    match counted {
        Counted::Received => "",
        Counted::Sent => " sent",
    }
}

/// The median of the periods so far; with six and more its interval.
fn so_far(values: &[f64], unit: Unit) -> String {
    let Some(median) = median_interval(values, CONFIDENCE, unit).filter(|_| values.len() > 1)
    else {
        return String::new();
    };
    let value = |of: f64| words::value(of, unit);
    if median.by == narrows_model::result::Method::Range {
        return format!(" now, {} so far", value(median.value));
    }
    let whole = value(median.value);
    let name = whole.split_once(' ').map_or("", |(_, name)| name);
    let low = value(median.low);
    // A unit once, where it is that of the median.
    let low = low.strip_suffix(name).map_or(low.as_str(), str::trim_end);
    let high = value(median.high);
    let high = high.strip_suffix(name).map_or(high.as_str(), str::trim_end);
    format!(" now, {whole} [{low}, {high}] so far")
}

/// The line of one period.
fn printed((run, runs): (usize, usize), rate: &Rate, counted: Counted, period: &Period) -> String {
    let (start, end) = (period.start_ns.seconds(), period.end_ns.seconds());
    let span = format!("{start:.2}-{end:.2} s");
    let moved = match rate.unit {
        Unit::BitsPerSecond | Unit::BytesPerSecond => {
            format!("{:>10}  ", Bytes(period.bytes).to_string())
        }
        _ => String::new(),
    };
    let by = sent(counted);
    format!("run {run} of {runs}  {span:>15}  {moved}{:>12}{by}\n", rate.words())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{MemoryParams, Params, Timeline};
    use narrows_model::trial::{EndSpec, NetworkPath, Placement};

    fn period(bytes_per_second: f64, messages_per_second: f64) -> Period {
        let (start_ns, end_ns) = (Nanos::from_millis(1000), Nanos::from_millis(2000));
        let bytes = bytes_per_second as u64;
        Period { start_ns, end_ns, bytes, bytes_per_second, messages_per_second }
    }

    fn bits(value: f64) -> Rate {
        Rate { value, unit: Unit::BitsPerSecond, of: "" }
    }

    #[test]
    fn a_line_has_run_time_bytes_and_rate() {
        let text = printed((2, 6), &bits(10e9), Counted::Received, &period(1.25e9, 0.0));
        assert!(text.starts_with("run 2 of 6      1.00-2.00 s"), "{text}");
        assert!(text.ends_with("10.0 Gb/s\n"), "{text}");
        let text = printed((2, 6), &bits(10e9), Counted::Sent, &period(1.25e9, 0.0));
        assert!(text.ends_with("10.0 Gb/s sent\n"), "{text}");
        let trips = Rate { value: 12_345.0, unit: Unit::PerSecond, of: "round trips " };
        let text = printed((1, 1), &trips, Counted::Received, &period(0.0, 12_345.0));
        assert!(text.contains("round trips 12"), "{text}");
        assert!(!text.contains('B'), "no bytes of round trips: {text}");
    }

    #[test]
    fn memory_has_its_bandwidth_in_bytes_and_the_time_of_a_load() {
        let of = |kind: &str, period: &Period| {
            let trial = Trial { kind: kind.into(), ..kernel() };
            let rate = Rate::of(&trial, period)?;
            Some(printed((1, 6), &rate, Counted::Received, period))
        };
        let text = of("memory-read", &period(12e9, 3.0)).expect("a bandwidth");
        assert!(text.contains(" GiB ") && text.ends_with(" 12.0 GB/s\n"), "{text}");
        // Ten million loads in a second, one after the other.
        let text = of("memory-latency", &period(0.0, 1e7)).expect("a latency");
        assert!(text.ends_with("load to use 100 ns\n") && !text.contains('B'), "{text}");
        assert_eq!(of("memory-latency", &period(0.0, 0.0)), None, "no load, no time");
    }

    fn kernel() -> Trial {
        Trial {
            id: TrialId("a".into()),
            label: "read".into(),
            kind: "memory-read".into(),
            params: Params::of_memory(1, Bytes(1 << 20), MemoryParams::default()),
            ends: EndSpec::of_memory(Placement::default()),
            path: NetworkPath::Memory,
            timeline: Timeline::new(Nanos(0), Nanos(1_000_000_000), Nanos(0)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    #[test]
    fn an_interval_takes_six_periods() {
        let values = [1e9, 3e9, 2e9, 5e9, 4e9];
        assert_eq!(so_far(&values[..1], Unit::BitsPerSecond), "");
        assert_eq!(so_far(&values, Unit::BitsPerSecond), " now, 3.00 Gb/s so far");
        let six = [1e9, 3e9, 2e9, 5e9, 4e9, 6e9];
        let says = so_far(&six, Unit::BitsPerSecond);
        assert_eq!(says, " now, 3.50 Gb/s [1.00, 6.00] so far");
        let apart = [0.5e9, 1e9, 2e9, 3e9, 4e9, 6e9];
        let says = so_far(&apart, Unit::BitsPerSecond);
        assert_eq!(says, " now, 2.50 Gb/s [500 Mb/s, 6.00] so far");
    }

    #[test]
    fn a_run_that_begins_is_told_by_its_number_and_label() {
        let live = Live::of(Lines::Every(Nanos(1), |_| ())).expect("lines are printed");
        let left = Duration::from_secs(9);
        live.begins(&Progress { done: 2, total: 6, label: "tcp-stream\x07", left });
        let now = live.now.borrow();
        assert_eq!((now.run, now.runs, now.left), (3, 6, left));
        assert!(
            now.label.starts_with("tcp-stream") && !now.label.contains('\x07'),
            "{}",
            now.label
        );
        drop(now);
        assert_eq!(live.every(), Nanos(1));
    }
}
