//! `answers-late`: does the program that listens answer new connections late?
//!
//! The kernel completes a handshake by itself. The program takes the connection from its queue when
//! it gets to it, and may first ask who that is (a name in DNS), start a process, or have one
//! thread for all. Each connection of the run is one handshake, and then one request and its
//! response over the same path: the other way around than where something holds up first packets.

use super::handshake_slow::{connections, means_ns};
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "answers-late",
    asks: "Does the program that listens answer new connections late?",
    of_host: false,
    judge,
};

/// Both take one round trip and the same wake-ups.
const TIMES: f64 = 3.0;
/// What a request must take longer, in nanoseconds.
const LONGER_NS: f64 = 2e6;
/// Above this share of first packets sent again, how long a handshake takes is not known.
const LOST_SHARE: f64 = 0.01;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Connections, Some(Activity::Connects), look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind != Workload::Connect {
        return Err(Blind::OtherKind);
    }
    let lacks = || cell.lacks(Measure::Handshakes);
    let again = cell.sent_count(keys::SYN_RETRANSMITTED);
    let again = again.ok_or_else(|| cell.lacks(Measure::FirstPackets))?;
    let count = cell.of_sender(|end| Some(connections(end) as f64)).ok_or_else(lacks)?;
    let handshake_ns = cell.of_sender(|end| Some(means_ns(end)?.0)).ok_or_else(lacks)?;
    let exchange_ns = cell.of_sender(|end| Some(means_ns(end)?.1)).ok_or_else(lacks)?;
    let [handshake, exchange] = [handshake_ns, exchange_ns].map(|ns| ns / 1e6);
    let seen = format!(
        "a handshake took {handshake:.2} ms on average, a request and its response {exchange:.2} ms"
    );
    let is_late = exchange_ns >= TIMES * handshake_ns && exchange_ns >= handshake_ns + LONGER_NS;
    let wrong = (is_late && again <= LOST_SHARE * count).then(|| {
        let says = format!(
            "The program that listens answers late in {}: the kernel's handshake takes \
             {handshake:.2} ms, and the first request with its response {exchange:.1} ms",
            cell.trial.label
        );
        let remedy = "see at the peer what the program does before it answers: connections that wait \
                      to be taken (ss -ltn: Recv-Q), one thread or process for all, a name that it \
                      looks up in DNS, CPU time that it lacks; perf trace or strace -T -e accept4 \
                      shows how long it takes";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle};
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
    fn answers_that_take_much_longer_than_the_handshake_are_found() {
        let late = of(101, 1, 0);
        assert!(is_found(&late), "{late:?}");
        assert!(format!("{late:?}").contains("with its response 100.0 ms"), "{late:?}");
        assert!(is_clear(&of(8, 4, 0)), "one round trip each");
        assert!(is_clear(&of(11, 3, 0)), "2.7 times as long");
        assert!(is_found(&of(12, 3, 0)), "three times as long");
        assert!(is_clear(&of(1, 0, 0)), "a millisecond more is no matter");
        assert!(is_clear(&of(158, 154, 0)), "the handshake is the slow one");
        assert!(is_clear(&of(101, 1, 11)), "first packets were lost");
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
