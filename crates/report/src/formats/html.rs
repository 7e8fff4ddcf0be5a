//! `html`: one page with everything in it, nothing loaded from anywhere. It is whole without its
//! script, which sorts tables, links sections, saves figures and gives the runs as a file.

use super::{Format, csv};
use crate::plots::curve::{self, Axis};
use crate::plots::{BOX_RUNS_MIN, boxes, ceilings, host, percentiles};
use crate::study::{faceted, page};
use crate::{
    Analysis, applications, credits, hardware, headline, judged, latency, mesh_page, neighbours,
    paths, placement, profiled, searched, sessions, tested, tidy, wire, words,
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use narrows_dimm::population::Population;
use narrows_explain::conditions::Found;
use narrows_model::BytesPerSecond;
use narrows_model::result::{Prediction, Verdict, Weight};
use narrows_model::workload::{Kernel, Metric, Workload};
use narrows_stats::Summary;

/// A self-contained page.
pub static FORMAT: Format = Format { name: "html", for_people: false, write };

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded, whatever a name in the data says.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/// Runs that are put into the page; files with more are read by `narrows export`.
const RUNS_MAX: usize = 20_000;

fn write(analysis: &Analysis<'_>) -> String {
    let title = format!("{} on {}", words::command(analysis), words::place(analysis));
    let body = html! {
        main {
        (header(analysis, &title))
        (mesh_page::section(analysis))
        (headline::section(analysis))
        (searched::section(analysis))
        (placement::page::section(analysis))
        (neighbours::page::section(analysis))
        (paths::page::section(analysis))
        (latency::page::section(analysis))
        (applications::section(analysis))
        @if let Some(results) = &analysis.study { (page::section(analysis, results)) }
        @if analysis.has_host() {
            (findings(analysis))
            (host_section(analysis))
        }
        (measured(analysis))
        (profiled::section(analysis))
        @if analysis.has_host() {
            (expected(analysis))
            (settings(analysis))
        }
        (footer(analysis))
        }
        (runs(analysis))
    };
    whole(&title, &body)
}

/// A page of a table that is no study's, with its title and what stands below.
pub(crate) fn page_of(title: &str, content: &Markup) -> String {
    whole(title, &html! { main { (content) } })
}

/// A page with its style and its script, and nothing that is loaded.
fn whole(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                // An icon of no bytes keeps browsers from asking for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // No control character of the data, such as an escape code in a host's name.
    page.into_string().chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

fn header(analysis: &Analysis<'_>, title: &str) -> Markup {
    let study = &analysis.stored.study;
    html! {
        h1 { (title) }
        @if let Some(title) = &study.title { p { b { (title.about) } } }
        @if analysis.is_imported() {
            p { "Imported figures; the host is unknown." }
            @for from in crate::sources::sources(analysis) { p class="soft" { "From " (from) } }
        } @else if !analysis.has_host() {
            @for part in &analysis.parts { p { (part) } }
        } @else {
            p { (words::host_line(&analysis.stored.host)) }
        }
        p class="soft" {
            (words::when(study.began_unix_ns)) ", " (words::ending(analysis))
            @if let Some(peer) = &study.peer { ", peer " (peer) }
        }
    }
}

fn findings(analysis: &Analysis<'_>) -> Markup {
    let found = &analysis.found;
    html! {
        h2 id="findings" { "Findings" }
        div class="grid" {
            @for found in found { (finding_card(analysis, found)) }
            @if found.is_empty() { div class="card" { "No rule found anything." } }
            (rules_card(analysis))
        }
    }
}

/// Lines of evidence that a card has; a study has as many as cells.
const EVIDENCE: usize = 5;

fn finding_card(analysis: &Analysis<'_>, found: &Found) -> Markup {
    let finding = &found.finding;
    let fault = finding.weight == Weight::Fault;
    html! {
        div class={ "card finding" @if fault { " fault" } } id=(format!("finding-{}", finding.rule)) {
            b class="tag" { (words::weight(finding.weight)) } " " span class="soft" { (finding.rule) }
            p { b { (finding.says) } }
            @if let Some(populations) = analysis.holds_for(found) {
                p { "Holds for " (populations) }
            }
            ul {
                @for evidence in finding.evidence.iter().take(EVIDENCE) {
                    li { (evidence.says) " " span class="soft" { "(" (evidence.from) ")" } }
                }
                @if finding.evidence.len() > EVIDENCE {
                    li class="soft" { (finding.evidence.len() - EVIDENCE) " more (explain, or JSON)" }
                }
            }
            @if let Some(worth) = &finding.worth {
                p { "Worth: " (words::middle(worth)) (words::of_what(worth)) " (" (words::range(worth)) ")" }
            }
            p { "What to do: " (finding.remedy) }
        }
    }
}

fn rules_card(analysis: &Analysis<'_>) -> Markup {
    let regimes = words::regimes(analysis);
    html! {
        div class="card" {
            h3 { "What was checked" }
            @if !regimes.is_empty() {
                details {
                    summary { "Which part inside the hosts holds each cell (regime)" }
                    ul { @for regime in &regimes { li { (regime) } } }
                }
            }
            details {
                summary {
                    (analysis.judged.len()) " rules: " (judged::answers(&analysis.judged))
                }
                ul { @for judged in &analysis.judged {
                li {
                    (judged.asks) " " b { (judged.verdict.answer().to_string()) }
                    @match &judged.verdict {
                        Verdict::Clear { looked_at } => { ": " (judged::seen(looked_at.all())) }
                        Verdict::NotApplicable { why } => { ": " (why.to_string()) }
                        Verdict::Unknown { missing, looked_at } => {
                            ", needs " (judged::lacks(missing))
                            @if !looked_at.is_empty() {
                                "; nothing wrong in " (judged::seen(looked_at))
                            }
                        }
                        Verdict::Found { .. } => {}
                    }
                }
            } }
            }
        }
    }
}

fn host_section(analysis: &Analysis<'_>) -> Markup {
    let host = &analysis.stored.host;
    let read =
        analysis.summaries.iter().find(|summary| summary.kind == Workload::Memory(Kernel::Read));
    let bandwidth = read.and_then(|read| read.estimate).map(|e| BytesPerSecond(e.value));
    let drawing = host::draw(host, analysis.stored.study.memory_node, bandwidth);
    html! {
        h2 id="host" { "Host" }
        (tested::section(analysis))
        div class="grid" {
            div class="card" {
                (PreEscaped(drawing))
                p class="soft" {
                    "Links: memory bandwidth as measured (read), PCIe as the slowest link's raw rate."
                }
            }
            div class="card" {
                h3 { "Network interfaces" }
                ul { @for nic in host.physical_nics() {
                    li { b { (nic.name) } ": " (words::nic_line(nic)) }
                } }
                @if host.physical_nics().next().is_none() { p { "None with a device behind it." } }
                h3 { "Memory" }
                p { @match Population::of(host) {
                    Ok(population) => { "Memory is " (hardware::class(&population)) }
                    Err(missing) => { "Population unknown, it needs " (missing) }
                } }
            }
            (tuning_card(analysis))
        }
    }
}

fn tuning_card(analysis: &Analysis<'_>) -> Markup {
    html! {
        div class="card" {
            h3 { "Settings that move throughput" }
            details {
                summary { (analysis.stored.host.tuning.len()) " read" }
                ul { @for (name, fact) in &analysis.stored.host.tuning {
                    li { (name) " = " @match fact.gap() {
                        None => { b { (words::or_dash(fact)) } }
                        Some(gap) => { span class="soft" { (gap) } }
                    } }
                } }
            }
        }
    }
}

fn measured(analysis: &Analysis<'_>) -> Markup {
    let of = |metric: Metric| -> Vec<&Summary> {
        analysis.summaries.iter().filter(|s| s.metric == metric && s.estimate.is_some()).collect()
    };
    let groups = [
        (Metric::Goodput, "Network throughput (payload received)"),
        (Metric::PacketRate, "Packets that arrived"),
        (Metric::RoundTripP50, "Round trip (median of each run)"),
        (Metric::ConnectionRate, "Connections made and closed"),
        (Metric::Latency, "Latency, as its tool defines it"),
        (Metric::Rate, "Events a second, as its tool counts them"),
        (Metric::FloatingPointRate, "Floating-point operations a second, as its tool counts them"),
        (Metric::MemoryBandwidth, "Memory bandwidth (bytes counted)"),
        (Metric::LoadToUse, "Memory latency (load to use)"),
    ];
    html! {
        @if let Some(counted) = credits::of(analysis.stored) { (counted.section()) }
        (wire::text::page(analysis))
        h2 id="measured" { "Measured" }
        div class="scroll" { (table(analysis)) }
        @if let Some(text) = words::together(analysis) { p { (text) } }
        @for text in words::pairs(analysis) { p { (text) } }
        @if let Some(text) = words::copy_share(analysis) { p { (text) } }
        @for summary in &analysis.summaries {
            @if let Some(told) = sessions::reproducibility(summary) {
                p { b { (summary.label) } ": " (told) }
            }
        }
        @if let Some(coverage) = sessions::coverage(analysis) {
            p class="soft" { (coverage.says) }
        }
        p class="soft" {
            "Boxes: quartiles (type 7), median, whiskers on the last value within 1.5 interquartile \
             ranges, outliers as circles, every run as a tick (amber: noisy); of fewer than "
            (BOX_RUNS_MIN) " runs each is a dot beside the median."
        }
        div class="grid" {
            @for (metric, title) in groups {
                @if !of(metric).is_empty() && !faceted::has_all(analysis, metric) {
                    div class="card" { h3 { (title) } (PreEscaped(boxes::draw(title, &of(metric)))) }
                }
            }
            @for summary in of(Metric::RoundTripP50) { (latency_card(summary)) }
            @for summary in of(Metric::ConnectionRate) { (latency_card(summary)) }
            (curve_card(analysis, "Latency by working set", Axis::WorkingSet))
            (curve_card(analysis, "Latency under background reads", Axis::Load))
        }
    }
}

fn curve_card(analysis: &Analysis<'_>, title: &str, axis: Axis) -> Markup {
    let points = curve::of(&analysis.stored.trials, &analysis.summaries, axis);
    html! { @if !points.is_empty() {
        div class="card" { h3 { (title) } (PreEscaped(curve::draw(title, &points, axis))) }
    } }
}

fn table(analysis: &Analysis<'_>) -> Markup {
    html! { table {
        thead { tr {
            th { "workload" } th class="number" { "median" } th class="number" { "95 % interval" }
            th class="number" { "n" } th { "against expectation" } th { "CPU, loss and labels" }
        } }
        tbody { @for summary in &analysis.summaries { tr id=(format!("cell-{}", slug(&summary.label))) {
            td { b { (summary.label) } }
            @if let Some(estimate) = &summary.estimate {
                td class="number" data-name="median" data-value=(estimate.value) {
                    (words::figure(analysis, summary, estimate))
                }
                td class="number" data-name="95 % interval" { (words::interval(estimate)) }
                td class="number" data-name="n" { (estimate.n) }
            } @else {
                td class="number" { "no value" } td {} td class="number" { "0" }
            }
            @if let Some(expected) = words::expectation(analysis, summary) {
                td data-name="against expectation" { (words::against(expected)) }
            } @else { td {} }
            td {
                @if let Some(cpu) = &summary.cpu { (words::cpu(cpu)) ". " }
                @if let Some(rate) = &summary.datagrams_per_second { (words::middle(rate)) ". " }
                @if let Some(loss) = &summary.loss { (crate::loss::loss(loss)) ". " }
                @if let Some(counted) = &summary.unacknowledged {
                    (words::unacknowledged(counted)) ". "
                }
                @if let Some(rate) = &summary.trips_per_second { (words::middle(rate)) " round trips. " }
                @if let Some(jitter) = &summary.jitter { "Jitter " (words::middle(jitter)) ". " }
                @for way in words::directions(summary) { (way) ". " }
                @if let Some(ways) = words::each_way(analysis, summary) { (ways) ". " }
                @if let Some(traffic) = words::traffic(summary) { (traffic) ". " }
                @for memory in words::memory_use(analysis, summary) { (memory) ". " }
                @if let Some(load) = words::background_load(analysis, summary) { (load) ". " }
                @if let Some(again) = summary.retransmitted_segments {
                    (words::counted(again as usize, "retransmitted segment")) ". "
                }
                @for label in &summary.labels { span class="label" { (words::label(*label, summary)) } }
                @for why in summary.failed.iter().take(1) {
                    span class="label" { (summary.failed.len()) " failed: " (why) }
                }
            }
        } } }
    } }
}

fn latency_card(summary: &Summary) -> Markup {
    let Some(trips) = &summary.round_trips else { return html! {} };
    let title = format!("Round-trip time, {}: {} round trips", summary.label, trips.count);
    html! {
        div class="card" {
            h3 { (title) }
            (PreEscaped(percentiles::draw(&title, trips)))
            p {
                "min " (trips.min_ns) ", p50 " (words::time_or_dash(trips.p50_ns)) ", p90 " (words::time_or_dash(trips.p90_ns))
                ", p99 " (words::time_or_dash(trips.p99_ns)) ", p99.9 " (words::time_or_dash(trips.p999_ns)) ", p99.99 " (words::time_or_dash(trips.p9999_ns)) ", max " (trips.max_ns)
                @if let Some(lost) = summary.lost_round_trips {
                    "; " (words::counted(lost as usize, "round trip")) " lost"
                }
            }
        }
    }
}

fn expected(analysis: &Analysis<'_>) -> Markup {
    html! {
        h2 id="expected" { "What each path can reach" }
        div class="grid" {
            @for prediction in &analysis.predictions { (prediction_card(prediction)) }
        }
    }
}

fn prediction_card(prediction: &Prediction) -> Markup {
    html! {
        div class="card" {
            h3 { (prediction.path) ", " (prediction.protocol()) (words::of_sessions(prediction)) }
            p { (words::prediction(prediction)) }
            (PreEscaped(ceilings::draw(prediction)))
            details {
                summary { "How it was computed" }
                ul {
                    @for ceiling in &prediction.ceilings {
                        li {
                            b { (ceiling.resource) } " " (words::middle(&ceiling.range)) ": " (ceiling.says)
                            @if let Some(condition) = &ceiling.only_if { "; holds if " (condition) }
                            ul { @for source in &ceiling.provenance {
                                li class="soft" { (source.word()) ": " (source.at()) }
                            } }
                        }
                    }
                    @for gap in &prediction.missing { li { "not stated: " (gap.to_string()) } }
                }
            }
        }
    }
}

fn settings(analysis: &Analysis<'_>) -> Markup {
    html! {
        h2 id="settings" { "How it was measured" }
        div class="scroll" { table {
            thead { tr { th { "workload" } th { "path" } th { "set-up, read back" } } }
            tbody { @for summary in &analysis.summaries { tr {
                td { (summary.label) }
                td { (words::way_of(summary)) }
                td { (words::set_up(analysis, summary)) }
            } } }
        } }
    }
}

/// A label as part of an address.
fn slug(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect()
}

/// All runs, for programs and for the link in the footer.
fn runs(analysis: &Analysis<'_>) -> Markup {
    if analysis.stored.records.len() > RUNS_MAX {
        return html! {};
    }
    let table = tidy::table(analysis);
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| csv::fields(row)).collect();
    let document = serde_json::json!({ "columns": csv::names(&table), "rows": rows });
    // No text of the data may end the element.
    let text = document.to_string().replace('<', "\\u003c");
    html! { script type="application/json" id="runs" { (PreEscaped(text)) } }
}

fn footer(analysis: &Analysis<'_>) -> Markup {
    let study = &analysis.stored.study;
    html! {
        footer {
            "narrows " (study.narrows_version) ", schema " (study.schema_version) ", seed " (study.seed)
            ", " (study.repeats) " repeats in blocks of random order. Everything on this page is computed \
            from the study's file and can be computed again: narrows report FILE."
        }
    }
}
