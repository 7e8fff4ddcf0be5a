//! `generator-bound`: did a thread of the measurement, and not the path, set the rate?
//!
//! A thread that used all of its CPU could not have sent or received more; the path might have
//! carried it. Spinning threads and paced streams are left out, as their labels are.

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};
use narrows_facts::trial::Path;
use narrows_stats::Label;

pub static RULE: Rule = Rule {
    name: "generator-bound",
    asks: "Did a thread of the measurement, and not the path, set the rate?",
    of_host: false,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    // Inside one host the threads are the path: there is nothing else to find.
    let over: Vec<_> =
        case.summaries.iter().filter(|s| s.path == Path::Peer && s.done > 0).collect();
    if over.is_empty() {
        return Verdict::Clear { because: "no path to another host was measured".into() };
    }
    let bound = |label: Label| over.iter().filter(move |s| s.labels.contains(&label));
    let finding = |label: Label, end: &str, remedy: &str| {
        let cells: Vec<&str> = bound(label).map(|summary| summary.label.as_str()).collect();
        (!cells.is_empty()).then(|| Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: format!(
                "The {end}'s thread filled its CPU in {}: the path may carry more",
                cells.join(", ")
            ),
            evidence: vec![evidence("CPU time of the ends' threads", "the runs themselves")],
            worth: None,
            remedy: remedy.to_owned(),
        })
    };
    let findings: Vec<Finding> = [
        finding(
            Label::SourceBound,
            "sender",
            "more flows (-P), larger writes (-l), or another --sender",
        ),
        finding(
            Label::SinkBound,
            "receiver",
            "more flows (-P), or a receiver on its NIC's node (-A)",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    match findings.is_empty() {
        true => Verdict::Clear { because: "no thread of the ends had its CPU full".into() },
        false => Verdict::Found { findings },
    }
}
