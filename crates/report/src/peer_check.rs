//! What `narrows check --peer` says: what the path to a second host carries both ways, how long it
//! takes, what holds it, and what to do.

use crate::brief::{SCREEN_LINES, clauses};
use crate::diagnosis::{lines, says_limit};
use crate::drawn::Screen;
use crate::{Analysis, answer, latency, probed, words};
use narrows_explain::limits::Limit;
use narrows_model::record::Outcome;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_stats::Summary;

/// Before what holds the streams.
const LIMITS: &str = "bottleneck: ";

/// The answers, a line each.
pub struct PeerCheck {
    there: String,
    back: String,
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
            there: figure(there),
            back: figure(back),
            trips: figure(trips),
            limits: limits.join("; "),
            action: action.unwrap_or_else(|| "nothing was measured".to_owned()),
        }
    }

    /// The answers, each of a line or some; of round trips beside streams what was said of them,
    /// and where the rest is.
    pub fn text(&self, to: &str, loaded: Option<&str>, rest: &str, screen: &Screen) -> String {
        let there = format!("{} to {to}", self.there);
        let mut answers = vec![("there", there.as_str()), ("back", &self.back)];
        answers.push(("round trip", &self.trips));
        answers.extend(loaded.map(|says| ("under load", says)));
        answers.extend([("do", self.action.as_str()), ("details", rest)]);
        let others = lines(&answers, screen).lines().count();
        // What holds both ways may be said at any length: the last of it is what leaves a screen.
        let room = SCREEN_LINES.saturating_sub(others).max(1);
        let limits = clauses(&format!("{LIMITS}{}", self.limits), screen.width(), room);
        let limits: Vec<&str> = limits.iter().map(|line| line.trim()).collect();
        let limits = limits.join(" ");
        let at = answers.len() - 2;
        answers.insert(at, ("bottleneck", limits.strip_prefix(LIMITS).unwrap_or(&limits)));
        lines(&answers, screen)
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

fn figure(summary: Option<&Summary>) -> String {
    let Some(summary) = summary else { return "no value".to_owned() };
    let Some(estimate) = &summary.estimate else {
        return format!("no value: {}", words::no_value(summary));
    };
    let runs = words::counted(estimate.n as usize, "run");
    format!("{} ({}, {runs})", words::middle(estimate), words::range(estimate))
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

    #[test]
    fn what_holds_both_ways_leaves_the_screen_last() {
        let screen = Screen { columns: Some(80), unicode: false };
        let clause = "not the window and not the send buffer, which was seen in all runs; ";
        let check = |limits: String| PeerCheck {
            there: "1 Gb/s".into(),
            back: "2 Gb/s".into(),
            trips: "3 us".into(),
            limits,
            action: "something".into(),
        };
        let text =
            check(clause.repeat(60)).text("host", Some("grade A"), "narrows report", &screen);
        assert!((20..=24).contains(&text.lines().count()), "{text}");
        let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains("all runs (more: -v) "), "{text}");
        assert!(text.trim_end().ends_with("narrows report"), "{text}");
        let short = check("the link".into()).text("host", None, "narrows report", &screen);
        let told = "there: 1 Gb/s to host\nback: 2 Gb/s\nround trip: 3 us\nbottleneck: the link\n\
                    do: something\ndetails: narrows report\n";
        assert_eq!(
            short.replace(crate::drawn::canvas::BOLD, "").replace(crate::drawn::canvas::PLAIN, ""),
            told
        );
    }
}
