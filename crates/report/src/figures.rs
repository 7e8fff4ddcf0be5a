//! Every figure of a report as a picture of its own, with its style inside.

use crate::plots::{boxes, ceilings, panel, percentiles};
use crate::{Analysis, words};
use narrows_stats::{Metric, Summary};

const STYLE: &str = include_str!("formats/style.css");

/// Names without an ending, and SVG documents.
pub fn all(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let mut figures = Vec::new();
    for (at, one) in analysis.study.iter().flat_map(|study| study.panels.iter().enumerate()) {
        let across = analysis.study.as_ref().map_or("", |study| study.across.as_str());
        let title = if one.name.is_empty() { words::metric(one.metric) } else { &one.name };
        let drawn = panel::draw(title, across, one, &analysis.summaries);
        figures.push((format!("panel-{at}-{}", plain(title)), drawn));
    }
    let metrics = [
        Metric::Goodput,
        Metric::RoundTripP50,
        Metric::ConnectionRate,
        Metric::MemoryBandwidth,
        Metric::LoadToUse,
        Metric::Latency,
        Metric::Rate,
    ];
    for metric in metrics {
        let of: Vec<&Summary> =
            analysis.summaries.iter().filter(|summary| summary.metric == metric).collect();
        let title = words::metric(metric);
        figures.push((format!("all-{}", plain(title)), boxes::draw(title, &of)));
    }
    for summary in &analysis.summaries {
        if let Some(trips) = &summary.round_trips {
            let name = format!("times-{}", plain(&summary.label));
            figures.push((name, percentiles::draw(&summary.label, trips)));
        }
    }
    for prediction in &analysis.predictions {
        let name = format!("ceilings-{}-{}", plain(&prediction.path), prediction.protocol);
        figures.push((name, ceilings::draw(prediction)));
    }
    figures.retain(|(_, svg)| !svg.is_empty());
    figures.into_iter().map(|(name, svg)| (name, alone(&svg))).collect()
}

/// A figure with its style and its namespace, so that it needs no page around it.
pub(crate) fn alone(svg: &str) -> String {
    let (_, rest) = svg.split_once("<svg ").unwrap_or(("", svg));
    let (attributes, body) = rest.split_once('>').unwrap_or((rest, ""));
    let style = STYLE.replace(":root", "svg");
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {attributes}><style>{style}</style>{body}\n")
}

/// The same figure for programs that know no CSS variables: the light colours put in their places,
/// and no rules for pages, screens and printers.
pub fn fixed(svg: &str) -> String {
    let Some((head, rest)) = svg.split_once("<style>") else { return svg.to_owned() };
    let Some((style, body)) = rest.split_once("</style>") else { return svg.to_owned() };
    let style = style.split("@media").next().unwrap_or_default();
    let (variables, rules) = style.split_once('}').unwrap_or(("", style));
    // The longest names first: one may begin as another does.
    let mut values: Vec<(&str, &str)> = variables
        .split(['{', ';'])
        .filter_map(|part| part.trim().strip_prefix("--")?.split_once(':'))
        .collect();
    values.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let mut rules: String =
        rules.lines().filter(|line| line.starts_with("svg")).collect::<Vec<_>>().join("\n");
    for (name, value) in values {
        rules = rules.replace(&format!("var(--{name})"), value);
    }
    let rules = rules.replace("system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",", "");
    format!("{head}<style>{rules}</style>{body}")
}

/// A name that any file system takes.
fn plain(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = text.chars().map(letter).collect();
    name.split('-').filter(|word| !word.is_empty()).take(8).collect::<Vec<_>>().join("-")
}
