//! `hops-exceeded`: do packets run out of hops on the way?
//!
//! Each router takes one from a packet's TTL (IPv6: hop limit) and drops the packet that has none
//! left, with an ICMP message to its sender. A loop of routes does so, or something that sets a
//! small TTL. Routers send few of these messages a second however many packets they drop (Linux one
//! a second and destination, `icmp_ratelimit`), so that their number does not say how many were
//! lost. A traceroute brings them too, and loses nothing of the traffic.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

/// Whether packets were dropped since they had no hop left.
pub static RULE: Rule = Rule {
    name: "hops-exceeded",
    asks: "Do packets run out of hops (TTL) on the way?",
    of_host: false,
    judge,
};

/// Share of the packets whose loss is none that a traceroute beside it would explain.
const LOST_MIN: f64 = 0.001;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCounters, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    let (sends, takes) = (cell.of_sender(told), cell.of_receiver(told));
    let sender_is_told = sends.unwrap_or(0.0) >= takes.unwrap_or(0.0);
    let (at, count) = if sender_is_told { ("sender", sends) } else { ("receiver", takes) };
    let count = count.ok_or_else(|| cell.lacks(Measure::HopsExceeded))?;
    let seen = format!("{count:.0} messages of routers in the median run that no hop was left");
    let says = (count >= 1.0 && is_lossy(cell)).then(|| {
        let says = format!(
            "Packets of the {at} run out of hops in {}: routers on the way say so ({count:.0} \
             messages in the median run, of which they send few), and packets are lost",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), REMEDY)
    });
    cell.saw(seen, says)
}

const REMEDY: &str = "traceroute there and back for a loop of routes (a hop that comes again); look \
                      for what sets a small TTL: nft list ruleset and iptables -t mangle -S (TTL, \
                      HL) at both ends and routers, hoplimit in ip route show, sysctl \
                      net.ipv4.ip_default_ttl and net.ipv6.conf.*.hop_limit";

fn told(end: &EndReport) -> Option<f64> {
    end.readings.total(keys::HOPS_EXCEEDED).map(|count| count as f64)
}

/// Whether the cell lost packets: a stream of TCP had to send again, datagrams did not come.
fn is_lossy(cell: &Cell<'_>) -> bool {
    let of_tcp = cell.losses().map(|losses| losses.lost);
    let loss = cell.summary.loss.as_ref().filter(|loss| loss.all_datagrams() > 0);
    let of_udp = loss.map(|loss| loss.lost_datagrams as f64 / loss.all_datagrams() as f64);
    of_tcp.or(of_udp).is_some_and(|lost| lost >= LOST_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn messages_of_routers_beside_losses_are_found() {
        let of = |messages: u64, again: u64| {
            let mut study = stream("tcp-stream");
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
                for (source, key, value) in [
                    ("netstat", "Icmp.InTimeExcds_events", messages),
                    ("tcp-info", "flow0.sent_segments", 100_000),
                    ("tcp-info", "flow0.retransmitted_segments", again),
                ] {
                    end.readings.put_words(source, key, value);
                }
            }
            of_study(&RULE, &study)
        };
        let told = of(2, 2000);
        assert!(is_found(&told), "{told:?}");
        assert!(format!("{told:?}").contains("Packets of the sender run out of hops"));
        assert!(is_clear(&of(0, 2000)), "losses of another kind");
        assert!(is_clear(&of(2, 0)), "somebody's traceroute");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))), "an older agent");
    }
}
