//! Searches for a rate: the answer of each, and what was lost and how long packets took at every
//! rate that was tried.

use crate::words;
use crate::{Analysis, table};
use maud::{Markup, html};
use narrows_model::units::Unit;
use narrows_stats::{RatePoint, SearchEnd, Searched};

/// The tables of all searches; empty where a study has none.
pub fn tables(analysis: &Analysis<'_>) -> String {
    if analysis.searches.is_empty() {
        return String::new();
    }
    let mut text = answer_table(analysis);
    text.pop();
    for searched in &analysis.searches {
        text += &format!("\n{}: loss and delay by rate\n", searched.of);
        text += &shown(&curve(searched));
    }
    text
}

/// The answers of all searches without their curves; empty where a study has none.
pub fn answer_table(analysis: &Analysis<'_>) -> String {
    if analysis.searches.is_empty() {
        return String::new();
    }
    format!("{}\n{}\n", title(&analysis.searches), shown(&answers(analysis)))
}

/// What all searches have come to, in a sentence.
pub fn sentence(analysis: &Analysis<'_>) -> String {
    let each = analysis.searches.iter().map(|searched| {
        let rate = rate_or_dash(searched.passes_packets_per_second);
        format!("{} {rate} ({})", searched.of, says(searched))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The same for a page.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    html! { @if !analysis.searches.is_empty() {
        h2 id="searched" { (title(&analysis.searches)) }
        div class="scroll" { (page_table(&answers(analysis))) }
        @for searched in &analysis.searches {
            h3 { (searched.of) ": loss and delay by rate" }
            div class="scroll" { (page_table(&curve(searched))) }
        }
    } }
}

fn page_table(rows: &[Vec<String>]) -> Markup {
    let (head, rest) = rows.split_at(rows.len().min(1));
    html! { table {
        thead { @for row in head { tr { @for cell in row { th { (cell) } } } } }
        tbody { @for row in rest { tr { @for cell in row { td { (cell) } } } } }
    } }
}

fn shown(rows: &[Vec<String>]) -> String {
    table::lines(rows, |column| column > 0)
}

fn title(all: &[Searched]) -> String {
    let (loss, sure) = all
        .first()
        .map_or((0.0, 0.0), |searched| (searched.loss_percent, searched.confidence_percent));
    match loss {
        0.0 => format!("Zero-loss rate ({sure} % sure, by Bayes' rule)"),
        _ => format!("Highest rate at a loss of up to {loss} % ({sure} % sure, by Bayes' rule)"),
    }
}

/// A row for each search.
fn answers(analysis: &Analysis<'_>) -> Vec<Vec<String>> {
    let head = ["", "carries", "loses from", "of its frames", "runs", "answer"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for searched in &analysis.searches {
        let bits = |rate: u64| {
            words::value(rate as f64 * 8.0 * searched.frame_bytes as f64, Unit::BitsPerSecond)
        };
        rows.push(vec![
            searched.of.clone(),
            rate_or_dash(searched.passes_packets_per_second),
            rate_or_dash(searched.loses_packets_per_second),
            searched.passes_packets_per_second.map_or("-".to_owned(), bits),
            searched.runs.to_string(),
            says(searched).to_owned(),
        ]);
    }
    rows
}

fn rate_or_dash(rate: Option<u64>) -> String {
    rate.map_or("-".to_owned(), packets)
}

/// What became of a search, in words.
fn says(searched: &Searched) -> &'static str {
    let (passes, loses) = (searched.passes_packets_per_second, searched.loses_packets_per_second);
    match (searched.end, passes, loses) {
        (SearchEnd::Found, None, _) => "even the lowest rate loses",
        (SearchEnd::Found, Some(_), None) => "nothing is lost at the highest rate",
        (SearchEnd::Found, ..) => "found",
        (SearchEnd::SenderBound, ..) => "at least: the sender reaches no more",
        (SearchEnd::Undecided, ..) => "undecided after the allowed number of runs",
        (SearchEnd::Unfinished, ..) => "not over yet",
    }
}

fn packets(rate: u64) -> String {
    words::value(rate as f64, Unit::PacketsPerSecond)
}

/// A row for each rate that was tried.
fn curve(searched: &Searched) -> Vec<Vec<String>> {
    let delayed = searched.curve.iter().any(|point| point.delays.is_some());
    let mut head = vec!["asked for", "sent", "passed", "lost (median)", "lost (most)"];
    if delayed {
        head.extend(["one way p50", "p99", "p99.9", "max"]);
    }
    let head = head.into_iter().map(str::to_owned).collect();
    std::iter::once(head).chain(searched.curve.iter().map(|point| row(point, delayed))).collect()
}

fn row(point: &RatePoint, delayed: bool) -> Vec<String> {
    let asked = point.asked_packets_per_second;
    let sent = point.sent_packets_per_second.map_or("-".to_owned(), |sent| {
        let off = 100.0 * (sent / asked as f64 - 1.0);
        format!("{} ({off:+.1} %)", words::value(sent, Unit::PacketsPerSecond))
    });
    let mut row = vec![
        packets(asked),
        sent,
        format!("{}/{}", point.passed, point.runs),
        share_or_dash(point.lost_share),
        share_or_dash(point.lost_share_max),
    ];
    if delayed {
        let times = point.delays.as_ref();
        row.extend([
            words::time_or_dash(times.and_then(|times| times.p50_ns)),
            words::time_or_dash(times.and_then(|times| times.p99_ns)),
            words::time_or_dash(times.and_then(|times| times.p999_ns)),
            words::time_or_dash(times.map(|times| times.max_ns)),
        ]);
    }
    row
}

fn share_or_dash(share: Option<f64>) -> String {
    match share {
        Some(0.0) => "0".to_owned(),
        Some(share) => format!("{:.3} %", 100.0 * share),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(end: SearchEnd) -> Searched {
        let point = |rate: u64, passed: u32, lost: f64| RatePoint {
            asked_packets_per_second: rate,
            sent_packets_per_second: Some(rate as f64 * 0.99),
            runs: 4,
            passed,
            lost_share: Some(lost),
            lost_share_max: Some(lost),
            delays: None,
        };
        Searched {
            of: "64 B".to_owned(),
            frame_bytes: 64,
            end,
            passes_packets_per_second: Some(1_000_000),
            loses_packets_per_second: Some(1_020_000),
            confidence_percent: 95.0,
            loss_percent: 0.0,
            runs: 8,
            curve: vec![point(1_000_000, 4, 0.0), point(1_020_000, 0, 0.0123)],
        }
    }

    #[test]
    fn a_rate_is_shown_with_how_far_it_was_missed_and_what_was_lost() {
        let rows = curve(&searched(SearchEnd::Found));
        assert_eq!(rows[1], ["1.00 M packets/s", "990 k packets/s (-1.0 %)", "4/4", "0", "0"]);
        assert_eq!(rows[2][2..], ["0/4", "1.230 %", "1.230 %"]);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let of = |end| says(&searched(end));
        assert_eq!(of(SearchEnd::Found), "found");
        assert!(of(SearchEnd::SenderBound).contains("the sender"));
        assert!(of(SearchEnd::Undecided).starts_with("undecided"));
        let whole = Searched { loses_packets_per_second: None, ..searched(SearchEnd::Found) };
        assert!(says(&whole).contains("highest rate"));
        let none = Searched { passes_packets_per_second: None, ..whole };
        assert!(says(&none).contains("even the lowest"));
    }
}
