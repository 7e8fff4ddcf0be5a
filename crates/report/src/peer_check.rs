//! What `narrows check --peer` says: what the path to a second host carries both ways, how long it
//! takes, what holds it, and what to do.

use crate::brief::{MORE, SCREEN_LINES};
use crate::clauses::clauses;
use crate::diagnosis::{lines, says_limit};
use crate::drawn::Screen;
use crate::ending::Ending;
use crate::{Analysis, answer, latency, probed, words};
use narrows_explain::limits::Limit;
use narrows_model::record::Outcome;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::Summary;
use std::fmt;

/// The answers, a line each.
pub struct PeerCheck {
    there: Figure,
    back: Figure,
    trips: String,
    limits: String,
    action: String,
}

impl PeerCheck {
    /// Of a study whose cells are a stream, the same the other way, round trips and a probe.
    pub fn of(analysis: &Analysis<'_>) -> Self {
        let stream = |is_back: bool| {
            of_trial(analysis, |trial| {
                trial.kind == Workload::TCP_STREAM
                    && trial.params.is_reverse() == is_back
                    && trial.params.congestion.is_none()
            })
        };
        let (there, back) = (stream(false), stream(true));
        let trips = of_trial(analysis, |trial| trial.kind == Workload::TCP_RR);
        let held = |name: &str, summary: Option<&Summary>| {
            let limit = analysis.limits.iter().find(|limit| Some(&limit.cell) == label(summary));
            limit.map(|limit| format!("{name}: {}", says_limit(limit)))
        };
        let limits = [held("there", there), held("back", back)];
        let told = [!is_aside(analysis, there, back), !is_aside(analysis, back, there)];
        let limits =
            limits.into_iter().zip(told).filter_map(|(says, is_told)| says.filter(|_| is_told));
        let limits: Vec<String> = limits.chain(probed::says(analysis.stored)).collect();
        let action = action(analysis, there, back);
        Self {
            there: Figure::of(there),
            back: Figure::of(back),
            trips: Figure::of(trips).whole(),
            limits: match limits.as_slice() {
                [] => "not known: nothing that was counted shows it".to_owned(),
                limits => limits.join("; "),
            },
            action: action.unwrap_or_else(|| "nothing was measured".to_owned()),
        }
    }

    /// What was measured, of round trips beside streams what was said of them, and the answer with
    /// where the rest is: a screen in all.
    pub fn text(&self, to: &str, loaded: Option<&str>, rest: &str, screen: &Screen) -> String {
        let ending = Ending::of([
            ("answer", format!("there {}, back {}", self.there, self.back)),
            ("bottleneck", self.limits.clone()),
            ("do", self.action.clone()),
            ("details", rest.to_owned()),
        ]);
        let (there, back) = (format!("{} to {to}", self.there.whole()), self.back.whole());
        let mut above = vec![("there", there.as_str()), ("back", &back)];
        above.push(("round trip", &self.trips));
        above.extend(loaded.map(|says| ("under load", says)));
        let long = [("limits", "bottleneck", &self.limits), ("advice", "do", &self.action)];
        let long = long.into_iter().filter(|(_, row, _)| !ending.is_whole(row, screen));
        let long: Vec<(&str, &str)> = long.map(|(name, _, says)| (name, says.as_str())).collect();
        // What leaves a screen is the last of what is said at any length.
        let taken = lines(&above, screen).lines().count() + ending.lines(screen).len() + 1;
        let each = SCREEN_LINES.saturating_sub(taken) / long.len().max(1);
        let long: Vec<(&str, String)> =
            long.iter().map(|(name, says)| (*name, cut_to(name, says, each, screen))).collect();
        above.extend(long.iter().map(|(name, says)| (*name, says.as_str())));
        lines(&above, screen) + &ending.text(screen)
    }
}

/// As much of what is said as so many lines hold.
fn cut_to(name: &str, says: &str, most: usize, screen: &Screen) -> String {
    let head = format!("{name}: ");
    let lines = clauses(&format!("{head}{says}"), screen.width(), most.max(1), MORE);
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    text.strip_prefix(&head).unwrap_or(&text).to_owned()
}

/// A figure, as a row has it and as the answer has it.
struct Figure {
    middle: String,
    range: Option<String>,
    runs: String,
}

impl Figure {
    fn of(summary: Option<&Summary>) -> Self {
        let none = |middle: String| Self { middle, range: None, runs: String::new() };
        let Some(summary) = summary else { return none("no value".to_owned()) };
        let Some(estimate) = &summary.estimate else {
            return none(format!("no value: {}", words::no_value(summary)));
        };
        let runs = words::counted(estimate.n as usize, "run");
        Self { middle: words::middle(estimate), range: Some(words::range(estimate)), runs }
    }

    /// With the runs that it is of.
    fn whole(&self) -> String {
        match &self.range {
            Some(range) => format!("{} ({range}, {})", self.middle, self.runs),
            None => self.middle.clone(),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.range {
            Some(range) => write!(f, "{} ({range})", self.middle),
            None => f.write_str(&self.middle),
        }
    }
}

/// What to do about each way.
fn action(
    analysis: &Analysis<'_>,
    there: Option<&Summary>,
    back: Option<&Summary>,
) -> Option<String> {
    let ways = [("there", there, back), ("back", back, there)];
    let ways = ways.into_iter().filter(|(_, way, other)| !is_aside(analysis, *way, *other));
    let ways = ways.filter_map(|(name, way, _)| {
        let rate = way?.estimate.map_or(0.0, |estimate| estimate.value);
        Some((name, rate, answer::action(analysis, way?)))
    });
    says_actions(ways.collect()).or_else(|| answer::of(analysis).map(|answer| answer.action))
}

/// A way that is so many times as fast as the other is not what holds the path back.
const FASTER: f64 = 3.0;

/// Whether what holds a way is beside the point: nobody knows it for sure, and the other way, whose
/// limit is known, is far slower.
fn is_aside(analysis: &Analysis<'_>, way: Option<&Summary>, other: Option<&Summary>) -> bool {
    let rate = |way: Option<&Summary>| Some(way?.estimate?.value);
    let is_named = |way: Option<&Summary>| {
        let mut of = analysis.limits.iter().filter(|limit| Some(&limit.cell) == label(way));
        of.any(Limit::is_named)
    };
    let is_fast = rate(way).zip(rate(other)).is_some_and(|(way, other)| way >= FASTER * other);
    is_fast && is_named(other) && !is_named(way)
}

/// What to do about ways with these rates, about the slower one first; what is the same for both
/// once.
fn says_actions(mut ways: Vec<(&str, f64, String)>) -> Option<String> {
    ways.sort_by(|a, b| a.1.total_cmp(&b.1));
    ways.dedup_by(|b, a| a.2 == b.2);
    match ways.as_slice() {
        [] => None,
        [(.., one)] => Some(one.clone()),
        all => {
            let each: Vec<String> =
                all.iter().map(|(name, _, do_so)| format!("{name}: {do_so}")).collect();
            Some(each.join("; "))
        }
    }
}

/// What a study of round trips beside streams found, or why it found nothing.
pub fn under_load(analysis: &Analysis<'_>) -> String {
    let answer = analysis.latency.as_ref().and_then(|of| latency::answer(analysis, of));
    if let Some(answer) = answer {
        return format!("{} ({})", answer.figure, answer.spread);
    }
    let why = analysis.stored.records.iter().find_map(|record| match &record.outcome {
        Outcome::Failed { why, .. } => Some(why.clone()),
        Outcome::Skipped { .. } => Some(record.outcome.to_string()),
        Outcome::Done => None,
    });
    format!("not measured: {}", why.unwrap_or_else(|| "too few round trips".to_owned()))
}

fn of_trial<'a>(analysis: &'a Analysis<'_>, is_it: impl Fn(&Trial) -> bool) -> Option<&'a Summary> {
    let trial = analysis.stored.trials.iter().find(|trial| is_it(trial))?;
    analysis.summaries.iter().find(|summary| summary.label == trial.label)
}

fn label(summary: Option<&Summary>) -> Option<&String> {
    summary.map(|summary| &summary.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_way_is_mended_first() {
        let of = |there: f64, back: f64, same: bool| {
            let other = if same { "widen it" } else { "take the shaper away" };
            says_actions(vec![("there", there, "widen it".into()), ("back", back, other.into())])
        };
        let first = of(16e9, 50e6, false).expect("two ways");
        assert_eq!(first, "back: take the shaper away; there: widen it");
        let first = of(50e6, 16e9, false).expect("two ways");
        assert_eq!(first, "there: widen it; back: take the shaper away");
        assert_eq!(of(16e9, 50e6, true).as_deref(), Some("widen it"));
        assert_eq!(says_actions(Vec::new()), None);
    }

    fn check(limits: String, action: String) -> PeerCheck {
        let of = |middle: &str, range: &str| Figure {
            middle: middle.into(),
            range: Some(range.into()),
            runs: "6 runs".into(),
        };
        PeerCheck {
            there: of("16.1 Gb/s", "15.9 to 16.4 Gb/s"),
            back: of("15.8 Gb/s", "15.5 to 16.2 Gb/s"),
            trips: "31.2 us (30.9 to 31.8 us, 6 runs)".into(),
            limits,
            action,
        }
    }

    fn plain(text: &str) -> String {
        text.replace(crate::drawn::canvas::BOLD, "").replace(crate::drawn::canvas::PLAIN, "")
    }

    #[test]
    fn what_holds_both_ways_leaves_the_screen_last() {
        let screen = Screen { columns: Some(80), unicode: false };
        let clause = "not the window and not the send buffer, which was seen in all runs; ";
        for (limits, advice) in [(60, 1), (1, 60), (60, 60), (3, 4)] {
            let check = check(clause.repeat(limits), clause.repeat(advice));
            let text = plain(&check.text("beta", Some("grade A"), "narrows report", &screen));
            assert!(text.lines().count() <= 24, "{text}");
            let (above, end) = text.split_once("\n\n").expect("an end of its own");
            assert!(
                above.starts_with("there: 16.1 Gb/s (15.9 to 16.4 Gb/s, 6 runs) to beta\n"),
                "{text}"
            );
            assert!(end.starts_with("answer: there 16.1 Gb/s (15.9 to 16.4"), "{text}");
            assert!((4..=5).contains(&end.lines().count()), "{text}");
            assert!(end.ends_with("\ndetails: narrows report\n"), "{text}");
            assert_eq!(above.contains("\nlimits: "), limits > 1, "{text}");
            assert_eq!(above.contains("\nadvice: "), advice > 2, "{text}");
            assert_eq!(above.contains(" (more: -v)"), limits.max(advice) > 9, "{text}");
        }
    }

    #[test]
    fn what_fits_is_said_once() {
        let screen = Screen { columns: Some(80), unicode: false };
        let check = check("there: the link (counted)".into(), "nothing".into());
        let told = "there: 16.1 Gb/s (15.9 to 16.4 Gb/s, 6 runs) to beta\n\
                    back: 15.8 Gb/s (15.5 to 16.2 Gb/s, 6 runs)\n\
                    round trip: 31.2 us (30.9 to 31.8 us, 6 runs)\n\n\
                    answer: there 16.1 Gb/s (15.9 to 16.4 Gb/s), back 15.8 Gb/s (15.5 to 16.2 \
                    Gb/s)\nbottleneck: there: the link (counted)\ndo: nothing\n\
                    details: narrows report\n";
        assert_eq!(plain(&check.text("beta", None, "narrows report", &screen)), told);
    }
}
