//! `prometheus`: the text format of Prometheus (version 0.0.4), for a collector of text files.

use super::Format;
use crate::Analysis;
use narrows_model::result::Weight;
use std::fmt::Write;

/// Gauges of every trial.
pub static FORMAT: Format = Format { name: "prometheus", for_people: false, write };

fn write(analysis: &Analysis<'_>) -> String {
    let mut out = String::new();
    // Collectors join pages of many hosts, whose trials have the same names.
    let host = analysis.stored.host.name.value().map(|name| ("host", name.as_str()));
    let line = |out: &mut String, name: &str, labels: &[(&str, &str)], value: f64| {
        let all: Vec<(&str, &str)> = host.into_iter().chain(labels.to_vec()).collect();
        line(out, name, &all, value);
    };
    head(&mut out, "narrows_result", "Median of a trial and the ends of its interval, in its unit");
    for (labels, value) in results(analysis) {
        let labels: Vec<(&str, &str)> =
            labels.iter().map(|(name, says)| (name.as_str(), says.as_str())).collect();
        line(&mut out, "narrows_result", &labels, value);
    }
    head(&mut out, "narrows_runs", "Runs of a trial by outcome");
    for summary in &analysis.summaries {
        let counts = [("done", summary.done as usize), ("failed", summary.failed.len())];
        for (outcome, count) in counts {
            let labels = [("trial", summary.label.as_str()), ("outcome", outcome)];
            line(&mut out, "narrows_runs", &labels, count as f64);
        }
    }
    head(&mut out, "narrows_lost_datagrams", "Datagrams lost over all runs of a trial, by place");
    for summary in &analysis.summaries {
        let Some(loss) = &summary.loss else { continue };
        let places = [
            ("corrupted", loss.lost_corrupted_datagrams),
            ("socket", loss.lost_at_socket_datagrams),
            ("sink-interface", loss.lost_at_receiver_interface_datagrams),
            ("sink-host", loss.lost_in_receiver_host_datagrams),
            ("path", loss.lost_on_path_datagrams),
            ("source-interface", loss.lost_at_sender_interface_datagrams),
            ("unknown", loss.lost_unplaced_datagrams),
        ];
        for (place, count) in places {
            let labels = [("trial", summary.label.as_str()), ("place", place)];
            line(&mut out, "narrows_lost_datagrams", &labels, count as f64);
        }
    }
    head(&mut out, "narrows_findings", "Findings by weight");
    for weight in [Weight::Fault, Weight::Advice, Weight::Caution] {
        let count = analysis.found.iter().filter(|found| found.finding.weight == weight).count();
        line(
            &mut out,
            "narrows_findings",
            &[("weight", &crate::words::word(&weight))],
            count as f64,
        );
    }
    head(&mut out, "narrows_began_timestamp_seconds", "When the study began, Unix time");
    let began = analysis.stored.study.began_unix_ns.seconds();
    line(&mut out, "narrows_began_timestamp_seconds", &[], began);
    out
}

/// A label's name, and what it says.
type Label = (String, String);

/// The median of each trial and the ends of its interval, each with its labels.
fn results(analysis: &Analysis<'_>) -> Vec<(Vec<Label>, f64)> {
    let mut all = Vec::new();
    for summary in &analysis.summaries {
        let Some(estimate) = &summary.estimate else { continue };
        let (unit, path) = (crate::words::word(&estimate.unit), crate::words::word(&summary.path));
        let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label);
        let levels = trial.map_or(&[][..], |trial| &trial.levels);
        let figures = [("median", estimate.value), ("low", estimate.low), ("high", estimate.high)];
        // One run has no ends.
        let ends = if estimate.n == 1 { 1 } else { figures.len() };
        for (stat, value) in figures.into_iter().take(ends) {
            let own = [
                ("trial", summary.label.as_str()),
                ("kind", summary.kind.as_str()),
                ("path", path.as_str()),
                ("unit", unit.as_str()),
                ("stat", stat),
            ];
            let own = own.map(|(name, says)| (name.to_owned(), says.to_owned()));
            let mut labels: Vec<Label> = own.into();
            for one in levels {
                let name = factor(&one.factor);
                // Names that differ in other characters alone are one: the first is kept.
                if labels.iter().all(|(known, _)| *known != name) {
                    labels.push((name, one.level.clone()));
                }
            }
            all.push((labels, value));
        }
    }
    all
}

/// The label of a factor: Prometheus takes letters, digits and `_` in a name.
fn factor(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("factor_{}", name.chars().map(plain).collect::<String>())
}

fn head(out: &mut String, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let labels: Vec<String> =
        labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
    let _ = if labels.is_empty() {
        writeln!(out, "{name} {value}")
    } else {
        writeln!(out, "{name}{{{}}} {value}", labels.join(","))
    };
}

fn escaped(text: &str) -> String {
    super::tame(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factors_label_has_letters_digits_and_underscores() {
        assert_eq!(factor("message size"), "factor_message_size");
        assert_eq!(factor("NIC-2.5\u{e9}"), "factor_NIC_2_5_");
    }
}
