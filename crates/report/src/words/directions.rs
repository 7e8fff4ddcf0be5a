//! Packets both ways at once, direction by direction.

use super::middle;
use narrows_stats::{Direction, Summary};

/// A line for each direction: what was sent and came, and what the interfaces counted.
pub fn directions(summary: &Summary) -> Vec<String> {
    let names = summary.directions.iter().filter_map(|way| way.from.as_deref());
    let names: Vec<&str> = names.collect();
    // Two hosts may call their interfaces alike.
    let are_told = matches!(names[..], [one, other] if one != other);
    let ways = summary.directions.iter().zip(["there", "back"]);
    ways.map(|(way, word)| line(way, if are_told { None } else { Some(word) })).collect()
}

fn line(way: &Direction, word: Option<&str>) -> String {
    let of = match (word, &way.from, &way.to) {
        (None, Some(from), Some(to)) => format!("{from} to {to}"),
        (word, ..) => word.unwrap_or("one way").to_owned(),
    };
    let rate = way.estimate.as_ref().map_or(String::new(), |rate| middle(rate) + "; ");
    let lost = match way.lost_packets() {
        0 => "none lost".to_owned(),
        lost => {
            let share = 100.0 * lost as f64 / way.sent_packets.max(1) as f64;
            format!("{lost} lost ({share:.3} %)")
        }
    };
    let (sent, came) = (way.sent_packets, way.received_packets);
    let counted = way.out_packets.zip(way.in_packets).map_or(String::new(), |(out, into)| {
        format!("; interfaces counted {out} out and {into} in")
    });
    format!("{of}: {rate}{sent} sent, {came} came, {lost}{counted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(lost: u64) -> Direction {
        Direction {
            from: Some("eth0".to_owned()),
            to: Some("eth1".to_owned()),
            sent_packets: 200_000,
            received_packets: 200_000 - lost,
            out_packets: Some(230_000),
            in_packets: Some(230_000 - lost),
            ..Direction::default()
        }
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
}
