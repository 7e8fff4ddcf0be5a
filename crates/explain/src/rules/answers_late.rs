//! `answers-late`: does the end that listens answer new connections late?
//!
//! The kernel completes a handshake by itself. The program, here an agent's end, takes the
//! connection from its queue when it gets to it: what delays its calls delays other servers of that
//! host as well. Each connection of the run is one handshake, and then one request and its
//! response over the same path: the other way around than where something holds up first packets.

use super::handshake_slow::{connections, means_ns};
use super::path_proxy;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "answers-late",
    asks: "Does the end that listens answer new connections late?",
    of_host: false,
    judge,
};

/// Both take one round trip and the same wake-ups.
const TIMES: f64 = 3.0;
/// What a request must take longer, in nanoseconds.
const LONGER_NS: f64 = 2e6;
/// Above this share of connections in which something was sent again, waits for that are a part.
const LOST_SHARE: f64 = 0.002;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Connections, Some(Activity::Connects), look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind != Workload::Connect {
        return Err(Blind::OtherKind);
    }
    let lacks = || cell.lacks(Measure::Handshakes);
    // Its handshakes are with something nearer.
    if path_proxy::is_found(cell) {
        return Err(Blind::OtherKind);
    }
    let again = |of: Option<f64>| of.ok_or_else(|| cell.lacks(Measure::FirstPackets));
    let sent = again(cell.of_sender(sent_again))?;
    let again = sent + again(cell.of_receiver(sent_again))?;
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
            "The end that listens answers late in {}: the kernel's handshake takes \
             {handshake:.2} ms, and the first request with its response {exchange:.1} ms",
            cell.trial.label
        );
        let remedy = "see at the peer what delays the agent there, and servers like it: connections \
                      that wait to be taken (ss -ltn: Recv-Q), CPU time that it lacks (its control \
                      group, priority), what wraps or watches its calls (ld.so.preload, audit, \
                      seccomp, a debugger); perf trace -e accept4 shows how long one takes";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Segments of an end's namespace that were sent again.
fn sent_again(end: &EndReport) -> Option<f64> {
    end.readings.total(keys::TCP_AGAIN).map(|again| again as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle};
    use narrows_model::Nanos;
    use narrows_model::load::Role;

    /// A thousand connections of so many milliseconds, with so many of them in the handshake; and
    /// segments that were sent again.
    fn of(each_ms: u64, handshake_ms: u64, again: u64) -> Verdict {
        let mut study = stream("tcp-connect");
        for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
            end.round_trips = vec![(Nanos(each_ms * 1_000_000), 1000)];
            end.handshakes_ns = Some(Nanos(1000 * handshake_ms * 1_000_000));
        }
        read(&mut study, "netstat", "Tcp.RetransSegs_events", again);
        read_receiver(&mut study, "netstat", "Tcp.RetransSegs_events", 0);
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
        assert!(is_found(&of(101, 1, 2)) && is_clear(&of(101, 1, 3)), "three of a thousand");
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
