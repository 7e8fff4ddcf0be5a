//! `handshake-slow`: does something on the way hold up the first packet of each connection?
//!
//! A firewall or a load balancer decides once for each connection, and may take its time:
//! connections are slow to be made, and fast when they are. Each connection of the run is one
//! handshake, and then one request and its response over the same path.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "handshake-slow",
    asks: "Does something on the way hold up the first packet of each connection?",
    of_host: false,
    judge,
};

/// Both take one round trip and the same wake-ups, so that a busy CPU does not make one of them so
/// many times as long.
const TIMES: f64 = 3.0;
/// What a handshake must take longer, in nanoseconds.
const LONGER_NS: f64 = 2e6;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Connections, Some(Activity::Connects), look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind != Workload::Connect {
        return Err(Blind::OtherKind);
    }
    let lacks = || cell.lacks(Measure::Handshakes);
    // Without it nobody knows whether handshakes were slow or their first packets lost.
    let again = cell.sent_count(keys::SYN_RETRANSMITTED);
    let again = again.ok_or_else(|| cell.lacks(Measure::FirstPackets))?;
    let count = cell.of_sender(|end| Some(connections(end) as f64)).ok_or_else(lacks)?;
    let handshake_ns = cell.of_sender(|end| Some(means_ns(end)?.0)).ok_or_else(lacks)?;
    let exchange_ns = cell.of_sender(|end| Some(means_ns(end)?.1)).ok_or_else(lacks)?;
    let [handshake, exchange] = [handshake_ns, exchange_ns].map(|ns| ns / 1e6);
    let seen = format!(
        "a handshake took {handshake:.2} ms on average, a request and its response {exchange:.2} ms"
    );
    // What waits for a lost first packet waits for seconds: `handshake-loss` tells of it.
    if again > LOST_SHARE * count {
        return cell.saw(seen, None);
    }
    let is_slow = handshake_ns >= TIMES * exchange_ns && handshake_ns >= exchange_ns + LONGER_NS;
    let wrong = is_slow.then(|| {
        let says = format!(
            "Something holds up the first packet of each connection in {}: a handshake takes \
             {handshake:.1} ms, and a request with its response over the same connection {exchange:.1} ms",
            cell.trial.label
        );
        let remedy = "look at what decides on new connections on the way: a firewall or load \
                      balancer that sets up each flow in software, inspects or logs it, SYN \
                      protection, a program that a packet filter asks (nfqueue); keep connections \
                      open and use them again meanwhile";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Above this share of first packets sent again, their waits hide how long a handshake takes.
const LOST_SHARE: f64 = 0.01;
/// What a first packet that is lost waits until it is sent again for the first time (RFC 6298), in
/// nanoseconds.
const AGAIN_NS: f64 = 1e9;

pub fn connections(end: &EndReport) -> u64 {
    end.round_trips.iter().map(|(_, count)| count).sum()
}

/// Mean nanoseconds of a handshake whose first packets came, and of what followed it over the same
/// connection.
pub fn means_ns(end: &EndReport) -> Option<(f64, f64)> {
    let all_ns = end.handshakes_ns?.0 as f64;
    let again = end.readings.total(keys::SYN_RETRANSMITTED).unwrap_or(0) as f64;
    let handshakes_ns = (all_ns - again * AGAIN_NS).max(0.0);
    let count = connections(end);
    let whole_ns: f64 = end.round_trips.iter().map(|(ns, count)| ns.0 as f64 * *count as f64).sum();
    let each_ns = |all_ns: f64| all_ns / count as f64;
    (count > 0).then(|| (each_ns(handshakes_ns), each_ns((whole_ns - all_ns).max(0.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;

    /// A thousand connections of so many milliseconds, with so many of them in the handshake; and
    /// SYN that were sent again.
    fn of(each_ms: u64, handshake_ms: u64, again: u64) -> Verdict {
        let mut study = stream("tcp-connect");
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.round_trips = vec![(Nanos(each_ms * 1_000_000), 1000)];
            end.handshakes_ns = Some(Nanos(1000 * handshake_ms * 1_000_000));
        }
        read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", again);
        of_study(&RULE, &study)
    }

    #[test]
    fn handshakes_that_take_much_longer_than_the_path_are_found() {
        let slow = of(158, 154, 0);
        assert!(is_found(&slow), "{slow:?}");
        let says = "a handshake takes 154.0 ms, and a request with its response over the same connection 4.0";
        assert!(format!("{slow:?}").contains(says), "{slow:?}");
        assert!(is_clear(&of(8, 4, 0)), "one round trip each");
        assert!(is_clear(&of(9, 6, 0)), "twice as long is no three times");
        assert!(is_clear(&of(1, 1, 0)), "a millisecond is no matter");
        assert!(is_clear(&of(14, 10, 10)), "ten of a thousand waited for a second each");
        assert!(is_found(&of(158, 154, 10)), "and all were slow beside");
        assert!(is_clear(&of(308, 304, 200)), "waits of two and four seconds are losses too");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_timed() {
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-connect"))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
