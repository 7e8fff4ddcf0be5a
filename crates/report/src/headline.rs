//! The head of a page: the answer in large letters, and the path from memory to wire.

use crate::plots::{ceilings, pipe};
use crate::study::text;
use crate::{Analysis, anomalies, answer, applications, credits, words};
use maud::{Markup, PreEscaped, html};
use narrows_model::result::Prediction;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;

/// The conclusion of a study, else the answer of a measurement, and its path.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    html! {
        (said(analysis))
        @if analysis.has_host() {
            @for prediction in paths(analysis) { (path(prediction)) }
        }
    }
}

fn said(analysis: &Analysis<'_>) -> Markup {
    if !analysis.applications.is_empty() {
        let answers = applications::answers(&analysis.applications);
        return html! { section class="card answer" {
            @for line in answers { p class="figure" { (line) } }
        } };
    }
    let lines = match (&analysis.anomalies, credits::of(analysis.stored)) {
        (Some(all), _) => anomalies::lines(all),
        (None, Some(counted)) => counted.answer(),
        (None, None) => Vec::new(),
    };
    if let Some((first, rest)) = lines.split_first() {
        return html! { section class="card answer" {
            p class="figure" { (first) }
            @for line in rest { p { (line) } }
        } };
    }
    let asks_of_levels = analysis.placements.is_empty()
        && analysis.neighbours.is_empty()
        && analysis.paths.is_empty();
    let results = analysis.study.as_ref().filter(|_| asks_of_levels);
    if let Some(line) = results.and_then(text::recommendation) {
        return html! { section class="card answer" { p class="figure" { (line) } } };
    }
    let answer = match &analysis.study {
        Some(results) => answer::of_study(analysis, results),
        None => answer::of(analysis),
    };
    let Some(answer) = answer else { return html! {} };
    html! {
        section class="card answer" {
            p class="figure" {
                (answer.figure) " " span class="soft" { (answer.spread) }
            }
            // Of figures that somebody else measured no host is known.
            @if analysis.has_host() { dl {
                dt { "Bottleneck" } dd { (answer.bottleneck) }
                dt { "What to do" } dd { (answer.action) }
            } }
        }
    }
}

/// The path of what was measured, and that of the first NIC that was only predicted.
fn paths<'a>(analysis: &'a Analysis<'_>) -> Vec<&'a Prediction> {
    let headline = answer::headline(analysis).filter(|_| analysis.study.is_none());
    let measured = headline.and_then(|summary| words::expectation(analysis, summary));
    let measured = measured.filter(|prediction| !words::is_of_time(prediction));
    // A study that sends no TCP does not ask what TCP would reach.
    let trials = &analysis.stored.trials;
    let is_asked = analysis.study.is_none() || trials.iter().any(is_tcp_stream);
    let nic = analysis.predictions.iter().filter(|one| is_asked && one.is_unmeasured_tcp());
    measured.into_iter().chain(nic.take(1)).collect()
}

fn is_tcp_stream(trial: &Trial) -> bool {
    trial.kind == Workload::TCP_STREAM
}

fn path(prediction: &Prediction) -> Markup {
    let drawn = pipe::draw(prediction);
    if drawn.is_empty() {
        return html! {};
    }
    html! {
        figure class="card path" {
            figcaption {
                b { "From memory to wire: " (prediction.path) ", " (prediction.protocol()) } " "
                span class="soft" { (legend(prediction)) }
            }
            div class="desk" { (PreEscaped(drawn)) }
            div class="telephone" { (PreEscaped(ceilings::draw(prediction))) }
        }
    }
}

fn legend(prediction: &Prediction) -> String {
    let widths = "As wide as the payload that each can carry, to scale; dashed: wider than drawn; \
                  dotted: not stated.";
    match &prediction.measured {
        Some(measured) => format!("{widths} Blue: {}, measured.", words::middle(measured)),
        None => format!(
            "{widths} Predicted: nothing was measured on it, and the answer above is of another path."
        ),
    }
}
