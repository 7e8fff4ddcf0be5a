//! What is wrong with a host or a measurement, by rules. One rule a file in [`rules`]; each answers
//! clear, found or unknown, and rests on evidence. Pure.

#![forbid(unsafe_code)]

pub mod moves;
pub mod population;
pub mod rules;

use narrows_facts::result::{Finding, Prediction, Verdict};
use narrows_facts::study::StoredStudy;
use narrows_stats::Summary;
use serde::{Deserialize, Serialize};

/// What a rule looks at.
pub struct Case<'a> {
    /// Host, trials and records.
    pub study: &'a StoredStudy,
    /// What the records say.
    pub summaries: &'a [Summary],
    /// What should be reached.
    pub predictions: &'a [Prediction],
}

/// One rule.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it looks for, as a question.
    pub asks: &'static str,
    /// Gives the verdict.
    pub judge: fn(&Case<'_>) -> Verdict,
}

/// A rule's verdict with its name and question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the rule.
    pub rule: String,
    /// What it looked for.
    pub asks: String,
    /// What it says.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The verdicts of all rules, in the order of their names.
pub fn judge(case: &Case<'_>) -> Vec<Judged> {
    let verdict = |rule: &&Rule| Judged {
        rule: rule.name.to_owned(),
        asks: rule.asks.to_owned(),
        verdict: (rule.judge)(case),
    };
    rules::RULES.iter().map(verdict).collect()
}

/// All findings, the heaviest first, and among equals the one worth most.
pub fn findings(judged: &[Judged]) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = judged
        .iter()
        .filter_map(|judged| match &judged.verdict {
            Verdict::Found { findings } => Some(findings),
            _ => None,
        })
        .flatten()
        .collect();
    let worth = |finding: &Finding| finding.worth.map_or(0.0, |worth| worth.value);
    findings.sort_by(|a, b| {
        a.weight.cmp(&b.weight).then(worth(b).total_cmp(&worth(a))).then(a.rule.cmp(&b.rule))
    });
    findings
}
