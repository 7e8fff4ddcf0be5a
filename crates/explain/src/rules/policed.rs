//! `path-policed`: does something on the path drop what is above a rate?
//!
//! A policer has no queue: it lets a bucket of bytes pass at once and drops all that comes before
//! the bucket has filled again. TCP loses segments in rows and the round trip stays short, while
//! the fastest slices of all runs carry the same. Losses at random come one at a time; a shaper
//! makes packets wait. What it was is certain only when the loss goes away at a lower rate.

use super::retransmits::{ROW_MIN, row};
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-policed",
    asks: "Does something on the path drop what is above a rate?",
    of_host: false,
    judge,
};

/// Policers between namespaces cost TCP 9 to 17 % of its segments; below this share the sender was
/// held by something else.
const LOST_SHARE: f64 = 0.01;
/// With a longer wait there is a queue, as before a shaper.
const WAITED_MAX_NS: f64 = 700e3;
/// How far apart the fastest slices of the runs may be.
const FASTEST_SPREAD_MAX: f64 = 0.2;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, "a TCP stream whose sender reads TCP's own counters", None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let losses = cell.losses().ok_or_else(|| cell.lacks("TCP's count of its segments"))?;
    let trips = cell.trips().ok_or_else(|| cell.lacks("TCP's round trips"))?;
    let fastest = cell.fastest_slices().ok_or_else(|| cell.lacks("slices of the window"))?;
    let row = row(cell).ok_or_else(|| cell.lacks("the kernel's count of its repairs"));
    let row = if losses.lost > 0.0 { row? } else { 0.0 };
    let seen = format!(
        "{:.1} % of the segments lost, {row:.1} packets at a time; packets waited {:.2} ms; the fastest \
         slices of the runs are within {:.0} % of each other",
        100.0 * losses.lost,
        trips.waited_ns() / 1e6,
        100.0 * fastest.spread()
    );
    let is_policed = losses.lost >= LOST_SHARE
        && row >= ROW_MIN
        && trips.waited_ns() <= WAITED_MAX_NS
        && fastest.spread() <= FASTEST_SPREAD_MAX
        && !cell.is_busy();
    let wrong = is_policed.then(|| {
        let rates = cell.rates();
        let rate = rates.map_or(fastest.middle, |rates| rates.high.min(fastest.middle));
        let says = format!(
            "Something on the path drops what comes faster than about {:.0} Mb/s of packets in {}, \
             and nothing queues: a policer or a firewall's rate limit",
            cell.in_packets(rate) / 1e6,
            cell.trial.label
        );
        let remedy = "raise its rate or its burst (tc -s filter, nft list ruleset on hosts and \
                      routers between, a provider's allowance), or shape below it at the sender: \
                      --bitrate just below the rate loses nothing";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn rows_of_losses_without_a_queue_are_a_policers_and_single_ones_are_not() {
        let of = |repairs: u64, least_us: u64| {
            let mut study = stream("tcp-stream");
            slices(&mut study, &[0, 250_000_000, 0, 251_000_000, 0, 250_500_000]);
            for (key, count) in [
                ("sent_segments", 100_000),
                ("retransmitted_segments", 9_000),
                ("rtt_min_ns", 10_000),
                ("rtt_ns", 1000 * least_us),
                ("lowest:rtt_ns", 1000 * least_us),
                ("highest:rtt_ns", 1000 * least_us),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), count);
            }
            for (key, count) in
                [("TCPSackRecovery", repairs), ("TCPRenoRecovery", 0), ("TCPTimeouts", 0)]
            {
                read(&mut study, "netstat", &format!("TcpExt.{key}_events"), count);
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(300, 100)));
        assert!(is_clear(&of(8_000, 100)), "single losses");
        assert!(is_clear(&of(300, 20_000)), "a queue");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
