//! Packets both ways at once, direction by direction.

use super::{middle, range};
use crate::Analysis;
use narrows_model::result::Estimate;
use narrows_model::trial::NetworkPath;
use narrows_stats::{Direction, Summary};

/// A line for each direction: what was sent and came, and what the interfaces counted.
pub fn directions(summary: &Summary) -> Vec<String> {
    if let ([way], Some(tool)) = (&summary.directions[..], &summary.engine) {
        return vec![of_tool(way, tool)];
    }
    let names = summary.directions.iter().filter_map(|way| way.from.as_deref());
    let names: Vec<&str> = names.collect();
    // Two hosts may call their interfaces alike.
    let are_told = matches!(names[..], [one, other] if one != other);
    let ways = summary.directions.iter().zip(["there", "back"]);
    ways.map(|(way, word)| line(way, if are_told { None } else { Some(word) })).collect()
}

/// A figure in words: of a load both ways at once each direction, and their sum last.
pub fn figure(analysis: &Analysis<'_>, summary: &Summary, sum: &Estimate) -> String {
    match (&summary.there, &summary.back) {
        (Some(there), Some(back)) => {
            let [out, into] = names(analysis, summary);
            let [there, back, sum] = [there, back, sum].map(middle);
            format!("{out} {there}, {into} {back}, together {sum}")
        }
        _ => middle(sum),
    }
}

/// Each direction with its interval, where no line of packets says what came.
pub fn each_way(analysis: &Analysis<'_>, summary: &Summary) -> Option<String> {
    let (there, back) = (summary.there.as_ref()?, summary.back.as_ref()?);
    let [out, into] = names(analysis, summary);
    summary.directions.is_empty().then(|| format!("{}; {}", way(out, there), way(into, back)))
}

fn way(name: &str, rate: &Estimate) -> String {
    format!("{name} {}, {}", middle(rate), range(rate))
}

/// What the directions are called: seen from this host, where it has one end of two.
fn names(analysis: &Analysis<'_>, summary: &Summary) -> [&'static str; 2] {
    let trial = analysis.stored.trials.iter().find(|trial| trial.label == summary.label);
    let is_here = trial.is_some_and(|trial| trial.controllers().is_some());
    if is_here && summary.path == NetworkPath::Peer { ["out", "in"] } else { ["there", "back"] }
}

/// What a generator says it has sent, over its whole runs, and what those who saw it counted.
fn of_tool(way: &Direction, tool: &str) -> String {
    let left = match (way.out_packets, &way.from) {
        (Some(out), Some(from)) => format!("{out} left {from}"),
        _ => "what left is unknown".to_owned(),
    };
    let came = match &way.to {
        Some(to) => format!("{} came to {to}", way.received_packets),
        None => format!("{} came", way.received_packets),
    };
    let told = match way.sent_packets {
        Some(told) => format!("{told} sent by {tool}'s count"),
        None => format!("{tool} says nothing of what it sent"),
    };
    let lost = match way.sent_packets.zip(way.lost_packets()) {
        None => String::new(),
        Some((_, 0)) => ", none lost".to_owned(),
        Some((told, lost)) => {
            format!(", {lost} lost ({:.3} %)", 100.0 * lost as f64 / told as f64)
        }
    };
    format!("whole runs: {told}, {left} with others' packets, {came}{lost}")
}

fn line(way: &Direction, word: Option<&str>) -> String {
    let of = match (word, &way.from, &way.to) {
        (None, Some(from), Some(to)) => format!("{from} to {to}"),
        (word, ..) => word.unwrap_or("one way").to_owned(),
    };
    let rate = way.estimate.as_ref().map_or(String::new(), |rate| middle(rate) + "; ");
    let came = way.received_packets;
    let ends = match way.sent_packets.zip(way.lost_packets()) {
        None => format!("sent: unknown, {came} came"),
        Some((sent, 0)) => format!("{sent} sent, {came} came, none lost"),
        Some((sent, lost)) => {
            let share = 100.0 * lost as f64 / sent as f64;
            format!("{sent} sent, {came} came, {lost} lost ({share:.3} %)")
        }
    };
    let counted = way.out_packets.zip(way.in_packets).map_or(String::new(), |(out, into)| {
        format!("; interfaces counted {out} out and {into} in")
    });
    format!("{of}: {rate}{ends}{counted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(lost: u64) -> Direction {
        Direction {
            from: Some("eth0".to_owned()),
            to: Some("eth1".to_owned()),
            sent_packets: Some(200_000),
            received_packets: 200_000 - lost,
            out_packets: Some(230_000),
            in_packets: Some(230_000 - lost),
            ..Direction::default()
        }
    }

    #[test]
    fn a_generators_count_is_told_as_its_own() {
        let said =
            |sent_packets, lost| of_tool(&Direction { sent_packets, ..way(lost) }, "trafgen");
        let left = "230000 left eth0 with others' packets";
        let lost = format!(
            "whole runs: 200000 sent by trafgen's count, {left}, 199000 came to eth1, 1000 lost (0.500 %)"
        );
        assert_eq!(said(Some(200_000), 1000), lost);
        let none = format!(
            "whole runs: 200000 sent by trafgen's count, {left}, 200000 came to eth1, none lost"
        );
        assert_eq!(said(Some(200_000), 0), none);
        let silent = "whole runs: trafgen says nothing of what it sent, ";
        assert_eq!(said(None, 0), format!("{silent}{left}, 200000 came to eth1"));
    }

    #[test]
    fn a_direction_says_what_was_sent_and_what_came_at_both_ports() {
        let all = "eth0 to eth1: 200000 sent, 200000 came, none lost; interfaces counted 230000 out \
                   and 230000 in";
        assert_eq!(line(&way(0), None), all);
        let lost = line(&Direction { in_packets: None, ..way(50) }, None);
        assert_eq!(lost, "eth0 to eth1: 200000 sent, 199950 came, 50 lost (0.025 %)");
        assert!(line(&way(0), Some("back")).starts_with("back: "));
    }

    #[test]
    fn without_the_senders_count_nothing_is_said_of_loss() {
        let deaf = Direction { received_packets: 0, out_packets: None, ..way(0) };
        let told = line(&Direction { sent_packets: None, ..deaf }, Some("back"));
        assert_eq!(told, "back: sent: unknown, 0 came");
    }
}
