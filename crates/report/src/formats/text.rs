//! `text`: one screen. Headings are set in bold by escape codes, which the printing side takes away
//! where the output is no terminal.

use super::Format;
use crate::drawn::Screen;
use crate::ending::Ending;
use crate::study::text::tables;
use crate::{
    Analysis, anomalies, applications, credits, judged, latency, neighbours, paths, placement,
    probed, profiled, searched, sessions, wire, words,
};
use narrows_explain::Judged;
use narrows_model::result::{Answer, Verdict, Weight};
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Metric;
use narrows_stats::Summary;
use std::fmt::Write;

/// One screen for people.
pub static FORMAT: Format = Format { name: "text", for_people: true, write };

// Marks for styles, from Unicode's private area. They turn into escape codes last, after every
// control character of the data is gone: a host's name must not speak to the terminal.
const BOLD: &str = "\u{e000}";
const RED: &str = "\u{e001}";
const YELLOW: &str = "\u{e002}";
const PLAIN: &str = "\u{e003}";
const COLUMNS: usize = 80;
/// Where the rest of a report is.
const DETAILS: &str = "above; narrows explain has each cell, --format html is a page";

fn write(analysis: &Analysis<'_>) -> String {
    let mut out = String::new();
    head(&mut out, analysis);
    if let Some(counted) = credits::of(analysis.stored) {
        title(&mut out, "Lines in flight");
        out.push_str(&counted.text());
    }
    if analysis.anomalies.is_some() {
        title(&mut out, "Anomalies");
        for line_of in anomalies::text(analysis).lines() {
            line(&mut out, line_of, 4);
        }
    }
    if !analysis.applications.is_empty() {
        title(&mut out, "Applications by ranks and fabric");
        out.push_str(&applications::text(&analysis.applications));
    }
    match &analysis.study {
        Some(results) => {
            if !analysis.placements.is_empty() {
                title(&mut out, "Placement");
                for asked in analysis.stored.study.title.iter() {
                    line(&mut out, &format!("  {}", asked.about), 4);
                }
                out.push_str(&placement::text::tables(analysis));
            }
            if !analysis.neighbours.is_empty() {
                title(&mut out, "Neighbours");
                out.push_str(&neighbours::text::tables(analysis));
            }
            if !analysis.paths.is_empty() {
                title(&mut out, "Paths inside this host");
                for says in paths::text::head(analysis) {
                    line(&mut out, &says, 2);
                }
                let _ = write!(out, "\n{}", paths::text::tables(analysis));
                let asked = analysis.stored.study.title.iter().map(|title| title.about.clone());
                for says in paths::text::foot(analysis).into_iter().chain(asked) {
                    line(&mut out, &format!("  {says}"), 4);
                }
            }
            if !analysis.searches.is_empty() {
                out.push('\n');
                out.push_str(&searched::tables(analysis));
            }
            if !analysis.only_searches() {
                title(&mut out, "Measured (median, 95 % interval, runs)");
                out.push_str(&tables(analysis, results));
            }
        }
        None => {
            under_load(&mut out, analysis);
            measured(&mut out, analysis);
            expected(&mut out, analysis);
        }
    }
    out.push_str(&wire::text::section(analysis));
    profiles(&mut out, analysis);
    findings(&mut out, analysis);
    let ending = Ending::of_study(analysis, DETAILS).with_more(" (more: narrows explain)");
    styled(&out) + &ending.text(&Screen::FILE)
}

/// The text with its marks as escape codes, and nothing else that acts on a terminal.
pub(crate) fn styled(text: &str) -> String {
    let mut styled = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{e000}' => styled.push_str("\x1b[1m"),
            '\u{e001}' => styled.push_str("\x1b[31m"),
            '\u{e002}' => styled.push_str("\x1b[33m"),
            '\u{e003}' => styled.push_str("\x1b[0m"),
            c if c.is_control() && c != '\n' => styled.push('?'),
            c => styled.push(c),
        }
    }
    styled
}

/// Adds a line; longer ones are broken at blanks and go on under `indent`. A number is not parted
/// from its unit.
fn line(out: &mut String, text: &str, indent: usize) {
    let mut width = 0;
    // A line is one line, whatever the data holds.
    for (at, word) in glued(&words::tame(text)).iter().enumerate() {
        let length = word.chars().filter(|c| !('\u{e000}'..='\u{e003}').contains(c)).count();
        if at > 0 && width + 1 + length > COLUMNS {
            let _ = write!(out, "\n{:indent$}", "");
            width = indent;
        } else if at > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
}

/// The words of a text, each unit in one word with its number.
fn glued(text: &str) -> Vec<String> {
    const UNITS: [&str; 12] =
        ["%", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "Gb/s", "GB/s", "Mb/s"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&bare) && last.ends_with(|c: char| c.is_numeric()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

fn title(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{BOLD}{text}{PLAIN}");
}

fn head(out: &mut String, analysis: &Analysis<'_>) {
    let (study, host) = (&analysis.stored.study, &analysis.stored.host);
    let name = words::place(analysis);
    let to = study.peer.as_ref().map_or(String::new(), |peer| format!(" to {peer}"));
    let first = format!(
        "{BOLD}{}{to} on {name}{PLAIN}, {}, {}, seed {}",
        words::command(analysis),
        words::when(study.began_unix_ns),
        words::ending(analysis),
        study.seed
    );
    line(out, &first, 2);
    if !analysis.parts.is_empty() {
        return analysis.parts.iter().for_each(|part| line(out, &format!("study   {part}"), 8));
    }
    if analysis.is_imported() {
        line(out, "host    unknown: these figures were imported", 8);
        let sources = crate::sources::sources(analysis);
        return sources.iter().for_each(|from| line(out, &format!("source  {from}"), 8));
    }
    line(out, &format!("host    {}", words::host_line(host)), 8);
    if let Some(gap) = host.memory.slots.gap() {
        line(out, &format!("dimms   unknown: {gap}"), 8);
    }
    for nic in host.physical_nics() {
        line(out, &format!("{:<7} {}", nic.name, words::nic_line(nic)), 8);
    }
}

fn measured(out: &mut String, analysis: &Analysis<'_>) {
    let network = analysis.summaries.iter().find(|summary| summary.path != NetworkPath::Memory);
    let labels = analysis.summaries.iter().map(|summary| summary.label.chars().count());
    let width = labels.max().unwrap_or(0).clamp(17, 46);
    title(out, "Measured (median, 95 % interval, runs)");
    if let Some(network) = network {
        line(out, &format!("  network: {}", words::way_of(network)), 4);
    }
    for summary in &analysis.summaries {
        row(out, analysis, summary, width);
    }
    let together = words::together(analysis).into_iter().chain(words::pairs(analysis));
    let path = probed::says(analysis.stored).into_iter().map(|says| format!("path: {says}"));
    for text in together.chain(words::copy_share(analysis)).chain(path) {
        line(out, &format!("  {text}"), 4);
    }
    for summary in &analysis.summaries {
        if let Some(told) = sessions::reproducibility(summary) {
            line(out, &format!("  {}: {told}", summary.label), 4);
        }
    }
    if let Some(coverage) = sessions::coverage(analysis) {
        line(out, &format!("  {}", coverage.says), 4);
    }
}

fn row(out: &mut String, analysis: &Analysis<'_>, summary: &Summary, width: usize) {
    let Some(estimate) = &summary.estimate else {
        let label = &summary.label;
        let text =
            format!("  {label:<width$} {YELLOW}no value{PLAIN}: {}", words::no_value(summary));
        return line(out, &text, 20);
    };
    let mut text = format!(
        "  {:<width$} {:>9}  {}, n {}",
        summary.label,
        words::figure(analysis, summary, estimate),
        words::interval(estimate),
        estimate.n
    );
    if let Some(prediction) = words::expectation(analysis, summary) {
        text += &format!("; {}", words::against(prediction));
    }
    let indent = width + 3;
    line(out, &text, indent);
    for text in details(analysis, summary) {
        line(out, &format!("{:indent$}{text}", ""), indent + 2);
    }
}

/// Whether a figure is of what went over the network, which costs CPU time.
fn is_counted(metric: Metric) -> bool {
    matches!(metric, Metric::Goodput | Metric::PacketRate | Metric::ConnectionRate)
}

/// The lines under a figure: what was lost, what it cost, how it was set up, what to mind.
pub(crate) fn details(analysis: &Analysis<'_>, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    let timed = matches!(summary.metric, Metric::RoundTripP50 | Metric::ConnectionRate);
    if let (true, Some(trips)) = (timed, &summary.round_trips) {
        lines.push(format!(
            "{} min {}, p50 {}, p90 {}, p99 {}, p99.9 {}, p99.99 {}, max {}",
            if summary.metric == Metric::ConnectionRate { "time" } else { "RTT" },
            trips.min_ns,
            words::time_or_dash(trips.p50_ns),
            words::time_or_dash(trips.p90_ns),
            words::time_or_dash(trips.p99_ns),
            words::time_or_dash(trips.p999_ns),
            words::time_or_dash(trips.p9999_ns),
            trips.max_ns
        ));
    }
    if let Some(lost) = summary.lost_round_trips {
        lines.push(format!("{} lost", words::counted(lost as usize, "round trip")));
    }
    if let Some(loss) = &summary.loss {
        let rate = summary.datagrams_per_second.map_or(String::new(), |r| words::middle(&r) + ", ");
        lines.push(format!("{rate}{}", crate::loss::loss(loss)));
    }
    lines.extend(summary.corrupted.iter().map(ToString::to_string));
    if let Some(counted) = &summary.unacknowledged {
        lines.push(words::unacknowledged(counted));
    }
    if let Some(rate) = &summary.trips_per_second {
        lines.push(format!(
            "{} round trips; {}",
            words::middle(rate),
            words::brief(analysis, summary)
        ));
    }
    let jitter = summary.jitter.as_ref();
    lines.extend(jitter.map(|jitter| format!("jitter {}", words::middle(jitter))));
    lines.extend(words::directions(summary));
    lines.extend(words::each_way(analysis, summary));
    lines.extend(words::delays(summary));
    if is_counted(summary.metric) {
        let cpu =
            summary.cpu.as_ref().map_or(String::new(), |cpu| format!("; {}", words::cpu(cpu)));
        lines.push(words::brief(analysis, summary) + &cpu);
    }
    if analysis.is_direct() {
        lines.extend(words::path_of(analysis, summary));
        lines.extend(words::busy_cpus(summary));
    }
    lines.extend(words::overhead(analysis, summary));
    if analysis.is_direct() || summary.kind.counts_datagrams() {
        lines.extend(words::traffic(summary));
    }
    lines.extend(memory(analysis, summary));
    // What joins the ends is said once, in the heading.
    let said = [narrows_stats::Label::Loopback, narrows_stats::Label::NoNic];
    let labels = summary.labels.iter().filter(|label| !said.contains(label));
    let labels: Vec<String> = labels.map(|label| words::label(*label, summary)).collect();
    if !labels.is_empty() {
        lines.push(format!("{YELLOW}{}{PLAIN}", labels.join("; ")));
    }
    if !summary.failed.is_empty() {
        let failed = words::counted(summary.failed.len(), "run");
        lines.push(format!("{YELLOW}{failed} failed: {}{PLAIN}", summary.failed[0]));
    }
    lines
}

/// What crossed the memory bus of the hosts, and what loaded it in the background.
fn memory(analysis: &Analysis<'_>, summary: &Summary) -> impl Iterator<Item = String> {
    let used = words::memory_use(analysis, summary).into_iter();
    used.chain(words::background_load(analysis, summary))
}

/// Round trips before, beside and after streams.
fn under_load(out: &mut String, analysis: &Analysis<'_>) {
    let Some(latency) = &analysis.latency else { return };
    title(out, "Latency under load");
    if let Some(answer) = crate::answer::of(analysis) {
        line(out, &format!("  {}", answer.figure), 4);
    }
    out.push_str(&latency::text::rows(latency));
    latency::text::notes(latency).iter().for_each(|text| line(out, &format!("  {text}"), 4));
}

/// Where the CPU time of profiled trials went.
fn profiles(out: &mut String, analysis: &Analysis<'_>) {
    for profile in &analysis.profiles {
        title(out, &format!("Where the CPU time of {} went", profile.label));
        for row in profiled::table(profile) {
            let _ = writeln!(out, "  {}", words::tame(&row).trim_end());
        }
        profiled::offloadable(profile).iter().for_each(|text| line(out, &format!("  {text}"), 4));
        for end in &profile.ends {
            profiled::said(end).iter().for_each(|text| line(out, &format!("  {text}"), 4));
        }
        profiled::gaps(profile).iter().for_each(|text| line(out, &format!("  {text}"), 4));
    }
}

fn expected(out: &mut String, analysis: &Analysis<'_>) {
    let nics = analysis.predictions.iter().filter(|prediction| prediction.is_unmeasured_tcp());
    let mut lines: Vec<String> = Vec::new();
    for prediction in nics {
        let path = format!("{}{}", prediction.path, words::of_sessions(prediction));
        lines.push(format!("  {path:<17} {}", words::prediction(prediction)));
    }
    if lines.is_empty() {
        return;
    }
    title(out, "What each NIC can reach with TCP (predicted)");
    lines.iter().for_each(|text| line(out, text, 20));
}

fn findings(out: &mut String, analysis: &Analysis<'_>) {
    if !analysis.has_host() {
        return;
    }
    if analysis.is_direct() && !analysis.limits.is_empty() {
        title(out, "What limits");
        analysis.limits.iter().for_each(|limit| line(out, &format!("  {limit}"), 4));
    }
    // Some studies print this text at once, with tables of their own; `explain` tells theirs.
    let regimes = words::regimes(analysis);
    if !regimes.is_empty() && analysis.study.is_none() {
        title(out, "Which part inside the hosts (regime)");
        regimes.iter().for_each(|regime| line(out, &format!("  {regime}"), 4));
    }
    title(out, "Findings");
    for found in &analysis.found {
        let finding = &found.finding;
        let colour = if finding.weight == Weight::Fault { RED } else { YELLOW };
        let weight = words::weight(finding.weight);
        line(out, &format!("  {colour}{weight}{PLAIN}: {}", finding.says), 4);
        if let Some(populations) = analysis.holds_for(found) {
            line(out, &format!("    holds for {populations}"), 8);
        }
        line(out, &format!("    do: {}", finding.remedy), 8);
    }
    if analysis.found.is_empty() {
        out.push_str("  no rule found anything\n");
    }
    let all = &analysis.judged;
    line(out, &format!("  {}: {}", words::counted(all.len(), "rule"), judged::answers(all)), 4);
    for answer in [Answer::Clear, Answer::NotApplicable] {
        let names: Vec<&str> = all
            .iter()
            .filter(|judged| judged.verdict.answer() == answer)
            .map(|judged| judged.rule.as_str())
            .collect();
        if !names.is_empty() {
            line(out, &format!("  {answer}: {}", names.join(", ")), 4);
        }
    }
    for (needs, rules) in needs(all) {
        line(out, &format!("  unknown: {}; needs {needs}", rules.join(", ")), 4);
    }
}

/// What is missing, in the order of the rules, with those that lack it.
fn needs(judged: &[Judged]) -> Vec<(String, Vec<&str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for judged in judged {
        let Verdict::Unknown { missing, .. } = &judged.verdict else { continue };
        let needs = judged::lacks(missing);
        match all.iter_mut().find(|(have, _)| *have == needs) {
            Some((_, rules)) => rules.push(&judged.rule),
            None => all.push((needs, vec![&judged.rule])),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_never_before_a_unit() {
        let mut out = String::new();
        line(&mut out, &format!("{} 23.3 ms, and more", "x".repeat(94)), 4);
        assert_eq!(out, format!("{}\n    23.3 ms, and more\n", "x".repeat(94)));
        out.clear();
        line(&mut out, "  kept   as it is", 4);
        assert_eq!(out, "  kept   as it is\n");
        out.clear();
        line(&mut out, "  failed: no\nFindings\r\x1b[2J", 4);
        assert_eq!(out, "  failed: no?Findings??[2J\n", "the data ends no line");
    }
}
