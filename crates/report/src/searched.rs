//! Searches for a rate: the answer of each, and what was lost and how long packets took at every
//! rate that was tried.

use crate::plots::tried;
use crate::wire::{self, Frame};
use crate::words;
use crate::{Analysis, table};
use maud::{Markup, PreEscaped, html};
use narrows_model::Bytes;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_stats::{RatePoint, SearchEnd, Searched, buffer, others, rate_of};

/// The tables of all searches; empty where a study has none.
pub fn tables(analysis: &Analysis<'_>) -> String {
    if analysis.searches.is_empty() {
        return String::new();
    }
    let mut text = answer_table(analysis);
    text.pop();
    text += &buffers(analysis);
    for searched in &analysis.searches {
        text += &format!("\n{}\n", by_rate(searched));
        text += &shown(&curve(searched));
    }
    text
}

/// What each burst says of the buffer; empty where rates were searched.
fn buffers(analysis: &Analysis<'_>) -> String {
    let bursts = analysis.searches.iter().filter(|searched| searched.back_to_back);
    let each = bursts.map(|searched| {
        let wire = wire_per_second(analysis, searched.frame_bytes);
        format!("  {}: {}\n", searched.of, buffer_says(searched, wire))
    });
    each.collect()
}

/// The wire's rate in frames of a size, where the link's speed is known.
fn wire_per_second(analysis: &Analysis<'_>, frame_bytes: u64) -> Option<f64> {
    let standings = wire::of_study(analysis);
    let own = standings.iter().find(|one| one.frame == Frame::Bytes(frame_bytes));
    own?.wire_mpps.map(|mpps| mpps * 1e6)
}

/// The buffer of a burst as RFC 9004 has it, in its section 6.4.
fn buffer_says(searched: &Searched, wire: Option<f64>) -> String {
    let Some(burst) = searched.passes else {
        return "buffer: unknown: needs a burst that passes".to_owned();
    };
    let Some(wire) = wire else {
        return "buffer time: unknown: needs the link's speed".to_owned();
    };
    let of = buffer(burst as f64, wire, searched.throughput_packets_per_second);
    let implied = words::value(of.implied_s * 1e9, Unit::Nanos);
    match of.corrected_s.zip(of.corrected_frames) {
        Some((time, frames)) => {
            let corrected = words::value(time * 1e9, Unit::Nanos);
            format!("buffer time {implied}, corrected {corrected}: {frames:.0} frames")
        }
        None => format!("buffer time {implied}; corrected: unknown: needs --throughput"),
    }
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
        let rate = searched.passes.map_or("no rate".to_owned(), |rate| most(searched, rate));
        let loss = match searched.loss_percent {
            0.0 => "without loss".to_owned(),
            percent => format!("at a loss of up to {percent} %"),
        };
        format!("{}: {rate} {loss} ({})", searched.of, says(searched))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Whether a trial is that of one rate, or burst, of a search.
pub fn is_of(searched: &Searched, trial: &Trial, asked: u64) -> bool {
    let names: Vec<&str> = others(trial).into_iter().map(|level| level.level.as_str()).collect();
    rate_of(trial) == Some(asked) && names.join(", ") == searched.of
}

/// What one search found, in a clause.
pub fn found(searched: &Searched) -> String {
    let rate = |rate: Option<u64>, does: &str| Some(format!("{} {does}", most(searched, rate?)));
    let told = [rate(searched.passes, "pass"), rate(searched.loses, "lose")];
    let told: Vec<String> = told.into_iter().flatten().collect();
    if told.is_empty() {
        return says(searched).to_owned();
    }
    format!("{}; {}", told.join(", "), says(searched))
}

/// The same for a page.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    html! { @if !analysis.searches.is_empty() {
        h2 id="searched" { (title(&analysis.searches)) }
        div class="scroll" { (page_table(&answers(analysis))) }
        div class="grid" { @for (title, svg) in pictures(analysis) {
            div class="card" { h3 { (title) } (PreEscaped(svg)) }
        } }
        @for searched in &analysis.searches {
            h3 { (by_rate(searched)) }
            div class="scroll" { (page_table(&curve(searched))) }
        }
    } }
}

/// What each search tried, by its title; none of a search of one rate.
pub fn pictures(analysis: &Analysis<'_>) -> Vec<(String, String)> {
    let each = analysis.searches.iter().map(|searched| {
        let title = by_rate(searched);
        let svg = tried::draw(&title, searched, |rate| most(searched, rate));
        (title, svg)
    });
    each.filter(|(_, svg)| !svg.is_empty()).collect()
}

fn by_rate(searched: &Searched) -> String {
    let by = if searched.back_to_back { "burst" } else { "rate" };
    format!("{}: loss and delay by {by}", searched.of)
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
    let of_bursts = all.first().is_some_and(|searched| searched.back_to_back);
    match loss {
        _ if of_bursts => {
            format!("Longest burst without loss (RFC 9004; {sure} % sure, by Bayes' rule)")
        }
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
            if searched.back_to_back {
                return Bytes(rate * searched.frame_bytes).to_string();
            }
            words::value(rate as f64 * 8.0 * searched.frame_bytes as f64, Unit::BitsPerSecond)
        };
        rows.push(vec![
            searched.of.clone(),
            most_or_dash(searched, searched.passes),
            most_or_dash(searched, searched.loses),
            searched.passes.map_or("-".to_owned(), bits),
            searched.runs.to_string(),
            says(searched).to_owned(),
        ]);
    }
    rows
}

/// A rate, or a burst.
pub fn most(searched: &Searched, rate: u64) -> String {
    if searched.back_to_back {
        return words::counted(usize::try_from(rate).unwrap_or(usize::MAX), "frame");
    }
    words::value(rate as f64, Unit::PacketsPerSecond)
}

fn most_or_dash(searched: &Searched, rate: Option<u64>) -> String {
    rate.map_or("-".to_owned(), |rate| most(searched, rate))
}

/// What became of a search, in words.
fn says(searched: &Searched) -> &'static str {
    let (passes, loses) = (searched.passes, searched.loses);
    match (searched.end, passes, loses) {
        (SearchEnd::Found, None, _) if searched.back_to_back => "even the shortest burst loses",
        (SearchEnd::Found, Some(_), None) if searched.back_to_back => {
            "nothing is lost of the longest burst"
        }
        (SearchEnd::Found, None, _) => "even the lowest rate loses",
        (SearchEnd::Found, Some(_), None) => "nothing is lost at the highest rate",
        (SearchEnd::Found, ..) => "found",
        (SearchEnd::SenderBound, ..) if searched.is_short_throughout() => {
            "at least: the sender kept no rate (disturbed, or runs too short)"
        }
        (SearchEnd::SenderBound, ..) => "at least: the sender reaches no more",
        (SearchEnd::Undecided, ..) => "undecided after the allowed number of runs",
        (SearchEnd::Unfinished, ..) => "not over yet",
    }
}

/// A row for each rate that was tried.
fn curve(searched: &Searched) -> Vec<Vec<String>> {
    let delayed = searched.curve.iter().any(|point| point.delays.is_some());
    let mut head = vec!["asked for", "sent", "passed", "lost (median)", "lost (most)"];
    if delayed {
        head.extend(["one way p50", "p99", "p99.9", "max"]);
    }
    let head = head.into_iter().map(str::to_owned).collect();
    std::iter::once(head)
        .chain(searched.curve.iter().map(|point| row(searched, point, delayed)))
        .collect()
}

fn row(searched: &Searched, point: &RatePoint, delayed: bool) -> Vec<String> {
    let asked = point.asked;
    let sent = point.sent.map_or("-".to_owned(), |sent| {
        let off = 100.0 * (sent / asked as f64 - 1.0);
        format!("{} ({off:+.1} %)", most(searched, sent.round() as u64))
    });
    let mut row = vec![
        most(searched, asked),
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
            asked: rate,
            sent: Some(rate as f64 * 0.99),
            runs: 4,
            passed,
            lost_share: Some(lost),
            lost_share_max: Some(lost),
            delays: None,
        };
        Searched {
            of: "64 B".to_owned(),
            back_to_back: false,
            throughput_packets_per_second: None,
            frame_bytes: 64,
            end,
            passes: Some(1_000_000),
            loses: Some(1_020_000),
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
        let mut short = searched(SearchEnd::SenderBound);
        short.curve.iter_mut().for_each(|point| point.sent = Some(0.94 * point.asked as f64));
        assert!(says(&short).contains("kept no rate"), "{}", says(&short));
        short.curve[0].sent = Some(0.99 * short.curve[0].asked as f64);
        assert!(says(&short).ends_with("the sender reaches no more"), "{}", says(&short));
        assert!(of(SearchEnd::Undecided).starts_with("undecided"));
        let whole = Searched { loses: None, ..searched(SearchEnd::Found) };
        assert!(says(&whole).contains("highest rate"));
        let none = Searched { passes: None, ..whole };
        assert!(says(&none).contains("even the lowest"));
    }

    #[test]
    fn a_clause_has_both_sides_of_the_border_where_they_are_known() {
        let whole = searched(SearchEnd::Found);
        assert_eq!(found(&whole), "1.00 M packets/s pass, 1.02 M packets/s lose; found");
        let bound = Searched { loses: None, ..searched(SearchEnd::SenderBound) };
        let says = "1.00 M packets/s pass; at least: the sender reaches no more";
        assert_eq!(found(&bound), says);
        let open = Searched { passes: None, loses: None, ..searched(SearchEnd::Unfinished) };
        assert_eq!(found(&open), "not over yet");
    }

    #[test]
    fn a_burst_is_in_frames_and_its_buffer_as_the_rfc_corrects_it() {
        let burst = Searched {
            back_to_back: true,
            passes: Some(1488),
            throughput_packets_per_second: Some(7.44e6),
            ..searched(SearchEnd::Found)
        };
        assert_eq!(curve(&burst)[1][0], "1000000 frames");
        // 1488 frames at 14.88 M/s are 100 us; half of them left meanwhile.
        let says = buffer_says(&burst, Some(14.88e6));
        assert_eq!(says, "buffer time 100.0 us, corrected 50.0 us: 744 frames");
        let plain = Searched { throughput_packets_per_second: None, ..burst };
        assert!(buffer_says(&plain, Some(14.88e6)).ends_with("needs --throughput"));
        assert!(buffer_says(&plain, None).ends_with("unknown: needs the link's speed"));
    }
}
