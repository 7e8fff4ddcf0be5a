//! What a search for anomalies says: a sentence for each that its pairs confirm.

use crate::Analysis;
use crate::drawn::Screen;
use crate::drawn::canvas::wrap;
use crate::words;
use maud::{Markup, html};
use narrows_model::units::Unit;
use narrows_stats::{Anomalies, Anomaly, AnomalyKind, Suspicion};

/// What happens to packets, or pause frames to the link: a search knows the larger share alone.
const TROUBLE: &str =
    "lost, sent again or refused (or so much of the time pause frames can have held the link)";

/// One sentence: what is off, beside what, and in how many pairs.
pub fn sentence(anomaly: &Anomaly) -> String {
    let with = listed(&anomaly.with);
    let pairs = anomaly.ratios.len();
    let (traffic, plain) = (&anomaly.traffic, &anomaly.plain);
    match anomaly.kind {
        AnomalyKind::Slow => {
            let ratio = narrows_stats::median(&anomaly.ratios).unwrap_or(0.0);
            format!(
                "{traffic} with {with} carries {} of what it carries with {plain} ({pairs} of \
                 {pairs} pairs; {} for {}, at least {} of it expected)",
                share(ratio),
                words::value(anomaly.odd_bits_per_second, Unit::BitsPerSecond),
                words::value(anomaly.plain_bits_per_second, Unit::BitsPerSecond),
                share(anomaly.ratio_expected),
            )
        }
        AnomalyKind::Troubled => format!(
            "of {traffic} with {with} {} of the packets are {TROUBLE}, with {plain} {} ({pairs} of \
             {pairs} pairs)",
            percent(anomaly.odd_trouble_share),
            percent(anomaly.plain_trouble_share),
        ),
    }
}

/// What single runs show: no claim, and worth more time.
fn suspicion(one: &Suspicion) -> String {
    let Suspicion { traffic, with, .. } = one;
    let odd = match one.kind {
        AnomalyKind::Slow => {
            let [odd, usual] = [one.odd_bits_per_second, one.usual_bits_per_second]
                .map(|rate| words::value(rate, Unit::BitsPerSecond));
            format!("{odd} for {usual} as usual")
        }
        AnomalyKind::Troubled => {
            format!("{} of the packets {TROUBLE}", percent(one.odd_trouble_share))
        }
    };
    format!(
        "suspected, and not confirmed before the search ended: {traffic} with {with} ({odd}); \
         search longer (--minutes)"
    )
}

/// Things in a row: `a, b and c`.
fn listed(all: &[String]) -> String {
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// A share with two digits that tell something.
fn share(of: f64) -> String {
    match of {
        of if of >= 0.095 => format!("{of:.2}"),
        of if of >= 0.0095 => format!("{of:.3}"),
        of => format!("{of:.1e}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// What was found, and of how much that is.
pub fn lines(all: &Anomalies) -> Vec<String> {
    let mut lines: Vec<String> = all.found.iter().map(sentence).collect();
    if lines.is_empty() {
        let none = match all.suspected.is_empty() {
            true => "no anomaly was found",
            false => "no anomaly was confirmed",
        };
        lines.push(match &all.stopped {
            Some(why) => format!("{none} before the search ended early ({why}): inconclusive"),
            None => none.to_owned(),
        });
    } else if let Some(why) = &all.stopped {
        lines.push(format!("the search ended early ({why}): there may be more"));
    }
    lines.extend(all.suspected.iter().map(suspicion));
    let mut looked = format!(
        "{} at {}; usual runs differ by {}",
        words::counted(all.runs as usize, "run"),
        words::counted(all.points as usize, "point"),
        percent(all.noise_share),
    );
    if all.unconfirmed > 0 {
        let what = words::counted(all.unconfirmed as usize, "suspicion");
        looked += &format!("; {what} not confirmed by all three pairs");
    }
    if all.refused > 0 {
        let what = words::counted(all.refused as usize, "point");
        looked += &format!("; {what} refused by a host or its limits");
    }
    lines.push(looked);
    lines
}

/// The same for a screen.
pub fn page(all: &Anomalies, screen: &Screen) -> String {
    let lines = lines(all);
    let wrapped = lines.iter().flat_map(|line| wrap(line, screen.width(), "  "));
    wrapped.map(|line| line + "\n").collect()
}

/// The same as text; empty where nothing was searched.
pub fn text(analysis: &Analysis<'_>) -> String {
    let lines = analysis.anomalies.iter().flat_map(lines);
    lines.map(|line| format!("  {line}\n")).collect()
}

/// The same for a page.
pub fn section(analysis: &Analysis<'_>) -> Markup {
    html! { @if let Some(all) = &analysis.anomalies {
        h2 id="anomalies" { "Anomalies" }
        ul { @for line in lines(all) { li { (line) } } }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::explored::Point;

    fn anomaly(kind: AnomalyKind) -> Anomaly {
        let point = Point { traffic: 0, choices: vec![0] };
        Anomaly {
            traffic: "TCP".into(),
            kind,
            with: vec!["1 KiB messages".into(), "4 flows".into()],
            option: "message size".into(),
            odd: "1 KiB messages".into(),
            plain: "2 KiB messages".into(),
            ratios: vec![0.19, 0.2, 0.22],
            ratio_expected: 0.5,
            odd_bits_per_second: 1e8,
            plain_bits_per_second: 5e8,
            odd_trouble_share: 0.2,
            plain_trouble_share: 0.001,
            point: point.clone(),
            beside: point,
        }
    }

    #[test]
    fn an_anomaly_is_one_sentence_with_its_pairs() {
        let says = sentence(&anomaly(AnomalyKind::Slow));
        let wanted = "TCP with 1 KiB messages and 4 flows carries 0.20 of what it carries with \
                      2 KiB messages (3 of 3 pairs";
        assert!(says.starts_with(wanted), "{says}");
        let says = sentence(&anomaly(AnomalyKind::Troubled));
        assert!(says.contains("20.0 % of the packets are lost"), "{says}");
    }

    #[test]
    fn a_search_that_ended_early_finds_nothing_clear() {
        let all = |found, stopped: Option<&str>| Anomalies {
            found,
            unconfirmed: 0,
            suspected: Vec::new(),
            points: 4,
            runs: 20,
            refused: 0,
            noise_share: 0.06,
            stopped: stopped.map(str::to_owned),
        };
        assert_eq!(lines(&all(Vec::new(), None))[0], "no anomaly was found");
        let early = lines(&all(Vec::new(), Some("stopped by Ctrl-C")));
        let says = "no anomaly was found before the search ended early (stopped by Ctrl-C)";
        assert_eq!(early[0], format!("{says}: inconclusive"));
        let more = lines(&all(vec![anomaly(AnomalyKind::Slow)], Some("not ended")));
        assert_eq!(more[1], "the search ended early (not ended): there may be more");
    }

    #[test]
    fn where_nothing_was_found_it_is_said_of_how_much() {
        let all = Anomalies {
            found: Vec::new(),
            unconfirmed: 1,
            suspected: Vec::new(),
            points: 40,
            runs: 61,
            refused: 2,
            noise_share: 0.05,
            stopped: None,
        };
        let looked = "61 runs at 40 points; usual runs differ by 5.0 %; 1 suspicion not confirmed \
                      by all three pairs; 2 points refused by a host or its limits";
        assert_eq!(lines(&all), ["no anomaly was found", looked]);
        let suspected = vec![Suspicion {
            traffic: "TCP".into(),
            kind: AnomalyKind::Slow,
            with: "segments of 1240 B".into(),
            odd_bits_per_second: 27e6,
            usual_bits_per_second: 5e9,
            odd_trouble_share: 0.0,
        }];
        let told = lines(&Anomalies { suspected, ..all });
        assert_eq!(told[0], "no anomaly was confirmed");
        let wanted = "TCP with segments of 1240 B (27.0 Mb/s for 5.00 Gb/s as usual)";
        assert!(told[1].contains(wanted) && told[1].contains("--minutes"), "{told:?}");
    }
}
