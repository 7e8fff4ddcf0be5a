//! What is wrong with a host or a measurement, by rules. One rule a file in [`rules`]; each answers
//! clear, found or unknown, and rests on evidence. Pure.

#![forbid(unsafe_code)]

mod beside;
pub mod conditions;
mod controls;
mod cookies;
mod ends;
mod evidence;
mod filled;
mod inside;
pub mod limits;
mod measured;
pub mod names;
mod other_streams;
mod own_flows;
mod pairs;
pub mod paths;
mod pauses;
mod peers;
mod probes;
pub mod regime;
pub mod rules;
mod schedule;
mod setting;
mod signals;
mod survey;
mod timers;
pub mod tune;
mod unheard;
pub(crate) mod volleys;
pub mod worth;

use narrows_model::host::Host;
use narrows_model::result::{Finding, Prediction, Verdict};
use narrows_model::study::StoredStudy;
use narrows_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;

/// What a rule looks at.
pub struct Case<'a> {
    /// Host, trials and records.
    pub study: &'a StoredStudy,
    /// What the records say.
    pub summaries: &'a [Summary],
    /// What should be reached.
    pub predictions: &'a [Prediction],
}

/// A rule: a file of its own in `rules`.
pub struct Rule {
    /// Name of the rule, that of its file.
    pub name: &'static str,
    /// What it looks for, as a question.
    pub asks: &'static str,
    /// Whether it looks at the host alone, so that it can judge one that was never measured.
    pub of_host: bool,
    /// Gives the verdict.
    pub judge: fn(&Case<'_>) -> Verdict,
}

/// A rule's verdict with its name and question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// Name of the rule.
    pub rule: String,
    /// What it looked for.
    pub asks: String,
    /// What it says.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The verdicts of all rules, in the order of their names. Those that look at measured cells see
/// every pair of a trial of many as a cell of its own.
pub fn judge(case: &Case<'_>) -> Vec<Judged> {
    let Some(study) = pairs::apart(case.study) else {
        return rules::RULES.iter().map(|rule| verdict(rule, case)).collect();
    };
    let summaries = narrows_stats::summarise(&study);
    let apart = Case { study: &study, summaries: &summaries, predictions: case.predictions };
    rules::RULES
        .iter()
        .map(|rule| verdict(rule, if rule.of_host { case } else { &apart }))
        .collect()
}

/// The verdicts of the rules that look at the host alone.
pub fn judge_host(host: &Host) -> Vec<Judged> {
    let study = StoredStudy::unmeasured(host.clone());
    let case = Case { study: &study, summaries: &[], predictions: &[] };
    rules::RULES.iter().filter(|rule| rule.of_host).map(|rule| verdict(rule, &case)).collect()
}

fn verdict(rule: &Rule, case: &Case<'_>) -> Judged {
    let verdict = if rule.of_host { peers::verdict(rule, case) } else { (rule.judge)(case) };
    Judged { rule: rule.name.to_owned(), asks: rule.asks.to_owned(), verdict }
}

/// All findings, the heaviest first; among equals what was seen in the runs before what holds of a
/// host whatever it does, and then the one worth most.
pub fn findings(judged: &[Judged]) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = judged
        .iter()
        .filter_map(|judged| match &judged.verdict {
            Verdict::Found { findings } => Some(findings),
            _ => None,
        })
        .flatten()
        .collect();
    findings.sort_by(|a, b| heaviest_first(a, b));
    findings
}

fn heaviest_first(a: &Finding, b: &Finding) -> Ordering {
    let aside = is_aside(&a.rule).cmp(&is_aside(&b.rule));
    let worth = worth_of(b).total_cmp(&worth_of(a));
    a.weight.cmp(&b.weight).then(aside).then(worth).then(a.rule.cmp(&b.rule))
}

/// Settings of a host that bear on every stream, though no limit is named after them.
const BEARING: [&str; 4] =
    [names::CONNTRACK_FULL, names::NIC_DUPLEX, names::RECEIVE_AUTOTUNING, names::WINDOW_SCALING];

/// Whether a rule's finding holds of the host whatever was measured, and can limit no stream.
fn is_aside(rule: &str) -> bool {
    let can_limit = limits::can_name(rule) || BEARING.contains(&rule);
    is_of_host(rule) && !can_limit
}

/// Whether a rule looks at the host alone.
fn is_of_host(rule: &str) -> bool {
    rules::RULES.iter().any(|known| known.name == rule && known.of_host)
}

fn worth_of(finding: &Finding) -> f64 {
    finding.worth.map_or(0.0, |worth| worth.value)
}
