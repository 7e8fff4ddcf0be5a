//! Why each cell reached what it did: measured beside expected, and what bears on it.

use crate::{Analysis, judged, words};
use narrows_explain::limits::Limit;
use narrows_explain::names;
use narrows_model::result::{Estimate, ResourceAt};
use narrows_model::workload::{Metric, Workload};
use narrows_stats::{Label, Summary, Value, median};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// Within this share of what was expected nothing is left to explain.
const NEAR: f64 = 0.1;

/// What is known of one cell.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExplainedCell {
    /// The trial's label: `tcp-stream`.
    pub label: String,
    pub measured: Option<Estimate>,
    pub expected: Option<Estimate>,
    /// The resource that should be the bottleneck.
    #[serde(rename = "narrowest")]
    pub bottleneck: Option<ResourceAt>,
    /// What its runs showed that bears on it.
    pub because: Vec<String>,
    /// What crossed the memory bus of its hosts, beside what its path needs.
    pub memory: Vec<String>,
    /// What of that could not be counted, and why.
    pub memory_missing: Vec<String>,
    /// Which part inside the hosts holds it, by their NICs and CPUs; `None` where counters of
    /// memory tell it (`memory`), and for cells that are not between hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<String>,
    /// What holds it, with how sure that is, what it is not, and what is next; `None` for cells
    /// without a network.
    pub limit: Option<Limit>,
    pub standing: Standing,
}

/// Whether a cell is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// As expected, within its range or a tenth.
    AsExpected,
    Explained,
    /// Something bears on it, and no limit is named: it may be why, or not.
    PossiblyExplained,
    /// Far from what was expected, and nothing says why.
    Unexplained,
    /// Nothing was expected of it, and nothing bears on it.
    NotExpected,
    NotMeasured,
}

impl Standing {
    fn says(self) -> &'static str {
        match self {
            Self::AsExpected => "as expected",
            Self::Explained => "explained",
            Self::PossiblyExplained => "possibly explained",
            Self::Unexplained => "unexplained",
            Self::NotExpected => "no expectation",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Labels that say why a rate is what it is; others say what it is not to be taken for.
fn bears(label: Label) -> bool {
    matches!(
        label,
        Label::SameCpu
            | Label::SenderBound
            | Label::ReceiverBound
            | Label::CacheResident
            | Label::BehindSchedule
            | Label::ZeroCopyCopied
    )
}

/// Runs of a cell agree with each other when they are within this share of their median.
const STEADY: f64 = 0.02;

/// Whether others on the host can be why a figure is short of what was expected: it is not zero, no
/// queueing discipline holds its interface, the runs that were left alone came out better, and,
/// where none was, the runs differ as what disturbs them does.
fn noise_explains(values: &[Value], larger_is_better: bool, is_shaped: bool) -> bool {
    let of = |noisy: bool| -> Option<f64> {
        let values = values.iter().filter(|value| value.noisy == noisy);
        median(&values.map(|value| value.value).collect::<Vec<f64>>())
    };
    let Some(noisy) = of(true).filter(|noisy| *noisy > 0.0 && !is_shaped) else { return false };
    match of(false) {
        Some(quiet) if larger_is_better => quiet > noisy * (1.0 + NEAR),
        Some(quiet) => quiet < noisy * (1.0 - NEAR),
        None => values.iter().any(|value| (value.value / noisy - 1.0).abs() > STEADY),
    }
}

/// All cells of a study but probes of the path, which are no traffic.
pub fn cells(analysis: &Analysis<'_>) -> Vec<ExplainedCell> {
    let probe = Workload::PathProbe;
    let is_traffic = |label: &str| {
        analysis.stored.trials.iter().all(|trial| trial.label != label || trial.kind != probe)
    };
    let all = analysis.summaries.iter().filter(|summary| is_traffic(&summary.label));
    all.map(|summary| cell(analysis, summary)).collect()
}

/// One cell of a study.
pub fn cell(analysis: &Analysis<'_>, summary: &Summary) -> ExplainedCell {
    let expectation = words::expectation(analysis, summary);
    let expected = expectation.and_then(|prediction| prediction.range);
    let stream = summary.metric == Metric::Goodput;
    let shaped = analysis.found.iter().any(|found| found.finding.rule == names::NIC_SHAPED);
    let larger = summary.metric.larger_is_better();
    let noise = expected.is_some() && noise_explains(&summary.values, larger, stream && shaped);
    let bearing =
        summary.labels.iter().filter(|label| bears(**label) || (noise && **label == Label::Noisy));
    let mut because: Vec<String> = bearing.map(|label| words::label(*label, summary)).collect();
    if let Some(why) = summary.failed.first() {
        because.push(format!("{}: {why}", words::counted(summary.failed.len(), "failed run")));
    }
    let limit = analysis.limits.iter().find(|limit| limit.cell == summary.label);
    let reason = match limit.map(Limit::is_named) {
        Some(true) => Reason::Sure,
        _ if because.is_empty() => Reason::None,
        Some(false) => Reason::Possible,
        None => Reason::Sure,
    };
    let standing = standing(summary.estimate.as_ref(), expected.as_ref(), reason);
    ExplainedCell {
        label: summary.label.clone(),
        measured: summary.estimate,
        expected,
        bottleneck: expectation.and_then(|prediction| prediction.bottleneck.clone()),
        because,
        memory: words::memory_use(analysis, summary),
        memory_missing: words::memory_missing(analysis, summary),
        regime: words::regime(analysis, summary).map(|regime| regime.to_string()),
        limit: limit.cloned(),
        standing,
    }
}

/// Whether there is a reason for a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    None,
    /// What its runs showed, of a cell over a network of which no limit is named.
    Possible,
    /// A limit that is named, or what the runs showed of a cell without a network.
    Sure,
}

fn standing(measured: Option<&Estimate>, expected: Option<&Estimate>, reason: Reason) -> Standing {
    let Some(measured) = measured else { return Standing::NotMeasured };
    // No label of a figure is a reason for none at all.
    if measured.value == 0.0 {
        return Standing::Unexplained;
    }
    match (expected, reason) {
        (Some(expected), _) if is_near(measured, expected) => Standing::AsExpected,
        (_, Reason::Sure) => Standing::Explained,
        (_, Reason::Possible) => Standing::PossiblyExplained,
        (Some(_), Reason::None) => Standing::Unexplained,
        (None, Reason::None) => Standing::NotExpected,
    }
}

fn is_near(measured: &Estimate, expected: &Estimate) -> bool {
    let low = expected.low.min(expected.value * (1.0 - NEAR));
    let high = expected.high.max(expected.value * (1.0 + NEAR));
    measured.high >= low && measured.low <= high
}

/// What could not be counted of the memory of the cells' hosts, each once.
fn missing(cells: &[ExplainedCell]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for missing in cells.iter().flat_map(|cell| &cell.memory_missing) {
        if !all.contains(&&**missing) {
            all.push(missing);
        }
    }
    all
}

/// Which part inside the hosts holds a cell, and what limits it, where each is known.
fn held(text: &mut String, cell: &ExplainedCell, width: usize) {
    if let Some(regime) = &cell.regime {
        let _ = writeln!(text, "{:width$}  regime: {}", "", words::tame(regime));
    }
    if let Some(limit) = &cell.limit {
        let _ = writeln!(text, "  {}", words::tame(&limit.to_string()));
    }
}

/// The cells in lines, the findings, and how many are not explained.
pub fn text(analysis: &Analysis<'_>, cells: &[ExplainedCell]) -> String {
    let mut text = String::new();
    let width = cells.iter().map(|cell| cell.label.chars().count()).max().unwrap_or(0);
    for cell in cells {
        let label = words::tame(&cell.label);
        let summary = analysis.summaries.iter().find(|summary| summary.label == cell.label);
        let measured = summary.zip(cell.measured.as_ref());
        let measured = measured.map(|(of, sum)| words::figure(analysis, of, sum));
        let measured = measured.unwrap_or_else(|| "-".to_owned());
        let _ = write!(text, "{label:<width$}  {measured}, {}", cell.standing.says());
        if let Some(expected) = &cell.expected {
            let _ =
                write!(text, "; expected {} ({})", words::middle(expected), words::range(expected));
        }
        if let Some(bottleneck) = &cell.bottleneck {
            let decides = cell.expected.as_ref().map_or("bottleneck", words::decides);
            let _ = write!(text, ", {decides} {bottleneck}");
        }
        text.push('\n');
        for because in &cell.because {
            let plain = words::tame(because);
            let _ = writeln!(text, "{:width$}  {plain}", "");
        }
        for memory in &cell.memory {
            let _ = writeln!(text, "{:width$}  {}", "", words::tame(memory));
        }
        held(&mut text, cell, width);
    }
    for missing in missing(cells) {
        let _ = writeln!(text, "{}", words::tame(missing));
    }
    for found in &analysis.found {
        let finding = &found.finding;
        let _ = writeln!(
            text,
            "{}: {} ({})",
            words::weight(finding.weight),
            finding.says,
            finding.rule
        );
        if let Some(populations) = analysis.holds_for(found) {
            let _ = writeln!(text, "  holds for {populations}");
        }
        for evidence in &finding.evidence {
            let _ = writeln!(text, "  {} ({})", evidence.says, evidence.from);
        }
        let _ = writeln!(text, "  do: {}", finding.remedy);
    }
    let count = |standing: Standing| cells.iter().filter(|cell| cell.standing == standing).count();
    let _ = writeln!(
        text,
        "{} as expected, {} explained, {}{} unexplained, {} without expectation, {} not \
         measured; {}: {}",
        count(Standing::AsExpected),
        count(Standing::Explained),
        match count(Standing::PossiblyExplained) {
            0 => String::new(),
            some => format!("{some} possibly explained, "),
        },
        count(Standing::Unexplained),
        count(Standing::NotExpected),
        count(Standing::NotMeasured),
        words::counted(analysis.judged.len(), "rule"),
        judged::answers(&analysis.judged)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::result::Method;
    use narrows_model::units::Unit;

    fn explains(values: &[(f64, bool)], is_shaped: bool) -> bool {
        let value = |(value, noisy): &(f64, bool)| Value {
            value: *value,
            repeat: 0,
            session: 0,
            noisy: *noisy,
        };
        noise_explains(&values.iter().map(value).collect::<Vec<Value>>(), true, is_shaped)
    }

    #[test]
    fn a_reason_beside_an_unnamed_limit_explains_possibly() {
        let of = |value: f64| Estimate {
            value,
            low: value,
            high: value,
            unit: Unit::BitsPerSecond,
            n: 6,
            by: Method::Range,
        };
        let (half, all, none) = (of(5.0), of(10.0), of(0.0));
        let told = |measured, expected| {
            [Reason::Sure, Reason::Possible, Reason::None]
                .map(|reason| standing(measured, expected, reason))
        };
        use Standing::*;
        assert_eq!(told(Some(&half), Some(&all)), [Explained, PossiblyExplained, Unexplained]);
        assert_eq!(told(Some(&half), None), [Explained, PossiblyExplained, NotExpected]);
        assert_eq!(told(Some(&all), Some(&all)), [AsExpected; 3]);
        assert_eq!(told(Some(&none), Some(&all)), [Unexplained; 3]);
        assert_eq!(told(None, Some(&all)), [NotMeasured; 3]);
    }

    #[test]
    fn noise_explains_what_varies_with_it_and_nothing_else() {
        assert!(explains(&[(5.0, true), (9.0, false), (6.0, true), (9.1, false)], false));
        assert!(explains(&[(5.0, true), (9.0, true), (7.0, true)], false));
        // Runs that were left alone are as slow.
        assert!(!explains(&[(5.0, true), (5.1, false)], false));
        // A shaper's runs are all alike, and where it was seen it is the reason.
        assert!(!explains(&[(0.95, true), (0.951, true), (0.949, true)], false));
        assert!(!explains(&[(0.9, true), (0.7, true)], true));
        // Nothing at all, and nothing disturbed.
        assert!(!explains(&[(0.0, true), (0.0, true)], false));
        assert!(!explains(&[(5.0, false)], false));
    }
}
