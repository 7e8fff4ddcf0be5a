//! Every figure of a report as a picture of its own, with its style inside.

use crate::applications::Application;
use crate::plots::{boxes, ceilings, percentiles};
use crate::study::{faceted, plot};
use crate::{
    Analysis, app, applications, latency, mesh, mesh_page, neighbours, placement, profiled,
    searched, study, words,
};
use narrows_app::scaling::Scaling;
use narrows_model::result::Prediction;
use narrows_model::study::StoredStudy;
use narrows_model::workload::Metric;
use narrows_stats::Summary;
use narrows_stats::mesh::Mesh;
use std::collections::BTreeMap;

/// Letters of a name, which with its beginning and ending file systems have room for (255 bytes).
const NAME_MAX: usize = 180;

const STYLE: &str = include_str!("formats/style.css");

/// What a picture that stands alone is drawn on: the paper of a page, from corner to corner.
const PAPER: &str = "fill=\"#fff\"";

/// Names without an ending, and SVG documents.
pub fn all(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let mut figures = Vec::new();
    if let Some(study) = &analysis.study {
        for (at, one) in study.panels.iter().enumerate() {
            let title = if one.name.is_empty() { words::metric(one.metric) } else { &one.name };
            figures.push((of_panel(at, title), plot::draw(study, one, &analysis.summaries)));
        }
    }
    if let Some(study) = &analysis.study {
        for one in study::by_size(analysis, study) {
            figures.push((by_size(&one.title), one.draw()));
        }
    }
    if let Some(study) = &analysis.study {
        for one in faceted::figures(analysis, study) {
            let drawn = one.draw(analysis, study, faceted::WIDE);
            figures.push((joint(&one.title), drawn));
        }
    }
    for one in placement::figures::all(analysis) {
        figures.push((placed(&one.title), one.svg));
    }
    let mesh = mesh_page::pictures(analysis.stored).into_iter();
    figures.extend(mesh.map(|(title, svg)| (format!("mesh-{}", plain(&title)), svg)));
    for (title, svg) in searched::pictures(analysis) {
        figures.push((format!("searched-{}", plain(&title)), svg));
    }
    for (title, svg) in neighbours::pictures(analysis) {
        figures.push((format!("neighbours-{}", plain(&title)), svg));
    }
    for (title, svg) in profiled::pictures(&analysis.profiles) {
        figures.push((format!("profile-{}", plain(&title)), svg));
    }
    for (title, svg) in profiled::graphs(&analysis.profiles) {
        figures.push((format!("flame-{}", plain(&title)), svg));
    }
    if let Some(latency) = &analysis.latency {
        figures.push(("latency-under-load".to_owned(), latency::page::picture(latency)));
    }
    figures.push(("applications".to_owned(), applications::picture(&analysis.applications)));
    let metrics = [
        Metric::Goodput,
        Metric::PacketRate,
        Metric::RoundTripP50,
        Metric::ConnectionRate,
        Metric::MemoryBandwidth,
        Metric::LoadToUse,
        Metric::Latency,
        Metric::Rate,
        Metric::FloatingPointRate,
    ];
    for metric in metrics.into_iter().filter(|metric| !faceted::has_all(analysis, *metric)) {
        let of: Vec<&Summary> =
            analysis.summaries.iter().filter(|summary| summary.metric == metric).collect();
        let title = words::metric(metric);
        figures.push((format!("all-{}", plain(title)), boxes::draw(title, &of)));
    }
    for summary in &analysis.summaries {
        if let Some(trips) = &summary.round_trips {
            figures.push((times(summary), percentiles::draw(&summary.label, trips)));
        }
    }
    for prediction in predictions(analysis) {
        figures.push((ceilings_of(prediction), ceilings::draw(prediction)));
    }
    figures.retain(|(_, svg)| !svg.is_empty());
    apart(&mut figures);
    figures.into_iter().map(|(name, svg)| (name, alone(&svg))).collect()
}

/// An application's speed-up by ranks, a line each fabric, as a picture of its own; its times where
/// no run is one that others can be set against.
pub fn of_application(scaling: &Scaling, stored: &StoredStudy) -> String {
    let all: Vec<Application> = Application::of(stored).into_iter().collect();
    let drawn = applications::picture(&all);
    alone(&if drawn.is_empty() { app::picture(scaling, stored) } else { drawn })
}

/// Predictions of which there is a figure.
pub(crate) fn predictions<'a>(analysis: &'a Analysis<'_>) -> impl Iterator<Item = &'a Prediction> {
    analysis.predictions.iter().filter(|one| ran(analysis, one))
}

/// The map of a mesh as a picture of its own; empty of too many hosts.
pub fn of_mesh(of: &Mesh, names: &[String]) -> String {
    alone(&mesh::drawn(of, names))
}

/// Whether a prediction is of a path that no cell went, or of a cell that did.
fn ran(analysis: &Analysis<'_>, prediction: &Prediction) -> bool {
    let cell = prediction.cell.as_ref();
    let summary = cell.and_then(|cell| analysis.summaries.iter().find(|one| one.label == *cell));
    summary.is_none_or(|summary| summary.done > 0)
}

/// Names of which none is another's: only the first words of a label are in them.
pub(crate) fn apart(figures: &mut [(String, String)]) {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (name, _) in figures {
        let times = known.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            *name += &format!("-{times}");
        }
    }
}

/// Name of the figure of a study's panel.
pub(crate) fn of_panel(at: usize, title: &str) -> String {
    format!("panel-{at}-{}", plain(title))
}

/// Name of a figure by message size.
pub(crate) fn by_size(title: &str) -> String {
    format!("by-size-{}", plain(title))
}

/// Name of a figure of placements.
pub(crate) fn placed(title: &str) -> String {
    format!("placement-{}", plain(title))
}

/// Name of the figure of a cell's round trips.
pub(crate) fn times(summary: &Summary) -> String {
    format!("times-{}", plain(&summary.label))
}

/// Name of the figure of a path's ceilings.
pub(crate) fn ceilings_of(prediction: &Prediction) -> String {
    // People count from one.
    let session = prediction.sessions.first();
    let session = session.map_or(String::new(), |number| format!("-session-{}", number + 1));
    let path = plain(&prediction.path.to_string());
    // Of each cell its own: many begin with the same words.
    let of = prediction.cell.as_deref().map_or_else(|| plain(&prediction.protocol()), whole);
    format!("ceilings-{path}-{of}{session}")
}

/// Name of the figure of several panels.
pub(crate) fn joint(title: &str) -> String {
    format!("joint-{}", plain(title))
}

/// A figure with its namespace and its colours, so that it needs no page around it: each element
/// carries its own, for librsvg, LaTeX and others know no variables of style sheets, and some no
/// style sheets. The colours are the light ones. Of nothing drawn it is empty.
pub(crate) fn alone(svg: &str) -> String {
    if svg.is_empty() {
        return String::new();
    }
    let rules = rules();
    let mut drawn = String::with_capacity(svg.len() * 2);
    for (index, part) in svg.split('<').enumerate() {
        if index > 0 {
            drawn.push('<');
        }
        // Text has no bare `<` and `>`; attributes have none either.
        let head = part.find(['/', '>']).map_or(part, |end| &part[..end]);
        let tag = head.split(' ').next().unwrap_or_default();
        let class = head.split_once("class=\"").and_then(|(_, rest)| rest.split('"').next());
        drawn += tag;
        if tag == "svg" {
            drawn += " xmlns=\"http://www.w3.org/2000/svg\"";
        }
        for (name, value) in own(&rules, tag, class.unwrap_or_default()) {
            drawn += &format!(" {name}=\"{value}\"");
        }
        let rest = &part[tag.len()..];
        match (tag, rest.split_once('>')) {
            // A viewer may have a dark ground, on which dark text is not to be read.
            ("svg", Some((head, inside))) => {
                drawn += &format!("{head}><rect width=\"100%\" height=\"100%\" {PAPER}/>{inside}");
            }
            _ => drawn += rest,
        }
    }
    drawn + "\n"
}

/// Selectors and declarations of the style sheet that hold for figures, without its variables.
fn rules() -> Vec<(String, Vec<(String, String)>)> {
    let (variables, rules) = STYLE.split_once('}').unwrap_or(("", STYLE));
    let values: Vec<(&str, &str)> = variables
        .split(['{', ';'])
        .filter_map(|part| part.trim().strip_prefix("--")?.split_once(':'))
        .collect();
    let declared = |text: &str| {
        let mut text = text.to_owned();
        for (name, value) in &values {
            text = text.replace(&format!("var(--{name})"), value);
        }
        let pairs = text.split(';').filter_map(|part| part.split_once(':'));
        let plain = pairs.flat_map(|(name, value)| match name {
            // The short form: a size and families, of which pictures take the last.
            "font" => vec![
                ("font-size".to_owned(), value.split(' ').next().unwrap_or_default().to_owned()),
                ("font-family".to_owned(), "sans-serif".to_owned()),
            ],
            _ => vec![(name.to_owned(), value.to_owned())],
        });
        plain.collect::<Vec<_>>()
    };
    let lines = rules.lines().filter(|line| line.starts_with("svg "));
    lines
        .filter_map(|line| line.trim_end_matches('}').split_once('{'))
        .flat_map(|(selectors, declarations)| {
            let of = move |one: &str| one.trim().trim_start_matches("svg ").to_owned();
            let declared = declared(declarations);
            selectors.split(',').map(move |one| (of(one), declared.clone())).collect::<Vec<_>>()
        })
        .collect()
}

/// What an element is drawn with: a class wins over a tag, a later rule over an earlier.
fn own(
    rules: &[(String, Vec<(String, String)>)],
    tag: &str,
    class: &str,
) -> BTreeMap<String, String> {
    let named = |selector: &str| {
        selector.strip_prefix('.').is_some_and(|name| class.split(' ').any(|one| one == name))
    };
    let tags = rules.iter().filter(|(selector, _)| selector == tag);
    let classes = rules.iter().filter(|(selector, _)| named(selector));
    tags.chain(classes).flat_map(|(_, declared)| declared.iter().cloned()).collect()
}

/// A name that any file system takes.
fn plain(text: &str) -> String {
    worded(text, 8)
}

/// The same with all words of a text, as far as file systems have names so long.
fn whole(text: &str) -> String {
    let name = worded(text, usize::MAX);
    name.chars().take(NAME_MAX).collect()
}

fn worded(text: &str, most: usize) -> String {
    let name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    name.split('-').filter(|word| !word.is_empty()).take(most).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cells_differ_to_their_end_and_fit_a_file_system() {
        let cell = |last: &str| whole(&format!("a b c d e f g h i j, TCP 8 streams {last}"));
        assert_eq!(cell("here"), "a-b-c-d-e-f-g-h-i-j-tcp-8-streams-here");
        assert_ne!(cell("here"), cell("there"));
        assert_eq!(plain("a b c d e f g h i"), "a-b-c-d-e-f-g-h");
        assert_eq!(whole(&"x".repeat(400)).len(), NAME_MAX);
    }

    #[test]
    fn every_element_carries_its_colours() {
        let page = "<svg viewBox=\"0 0 9 9\"><rect class=\"dimm set1\" x=\"1\"><title>a</title>\
                    </rect><rect class=\"empty\"></rect><text class=\"module\">b</text>\
                    <line class=\"measured\" x1=\"1\"/></svg>";
        let drawn = alone(page);
        assert!(!drawn.contains("var(") && !drawn.contains("<style"), "{drawn}");
        for part in [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><rect width=\"100%\" \
             height=\"100%\" fill=\"#fff\"/><rect",
            "<rect fill=\"#b3312b\" class=\"dimm set1\" x=\"1\"><title>a</title></rect>",
            "<rect fill=\"none\" stroke=\"#d8dde4\" class=\"empty\">",
            "fill=\"#fff\" font-family=\"sans-serif\" font-size=\"9.5px\" class=\"module\">b</text>",
            "stroke=\"#b3312b\" stroke-dasharray=\"5 3\" stroke-width=\"2\"",
        ] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
    }
}
