//! `path-corruption`: do packets arrive with another content than they were sent with?
//!
//! The checksum of Ethernet holds on one link; what a switch, a NIC or a tunnel changes after it
//! was checked is seen only by those of TCP and UDP, which the receiver's kernel counts
//! (`InCsumErrors`). Such packets are dropped and look like loss. One is an accident; a row of them
//! is a defect.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "path-corruption",
    asks: "Are packets corrupted on the path?",
    of_host: false,
    judge,
};

/// In a run.
const WRONG_MIN: f64 = 3.0;

fn judge(case: &Case<'_>) -> Verdict {
    let needs = Needed::StreamReceiverCounters;
    measured::judge(case, needs, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() {
        return Err(Blind::OtherKind);
    }
    let counter = if cell.is_tcp_stream() { keys::TCP_CHECKSUM } else { keys::UDP_CHECKSUM };
    let wrong = cell.received_count(counter).ok_or_else(|| cell.lacks(Measure::WrongChecksums))?;
    let seen = format!("{wrong:.0} packets with a wrong checksum in the median run");
    let found = (wrong >= WRONG_MIN).then(|| {
        let says = format!(
            "Packets arrive corrupted in {}: {wrong:.0} had a wrong checksum and were dropped, in \
             the median run",
            cell.trial.label
        );
        let remedy = "a switch, NIC, transceiver or tunnel on the way changes packets: try other \
                      cards and ports, ethtool -S for CRC errors, rx and tx checksum offload off \
                      at both ends in turn (ethtool -K)";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};

    #[test]
    fn wrong_checksums_at_the_receiver_are_found() {
        let of = |kind: &str, key: &str, count: u64| {
            let mut study = stream(kind);
            read_receiver(&mut study, "netstat", &format!("{key}_events"), count);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of("tcp-stream", "Tcp.InCsumErrors", 40)));
        assert!(is_found(&of("udp-stream", "Udp.InCsumErrors", 40)));
        assert!(is_clear(&of("tcp-stream", "Tcp.InCsumErrors", 1)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
