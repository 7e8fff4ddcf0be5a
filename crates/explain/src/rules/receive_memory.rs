//! `receive-memory`: does the receiver's TCP run out of memory for what comes?
//!
//! A control group's limit, `tcp_mem` or a full socket make the kernel drop segments that have
//! arrived (`TCPBacklogDrop`, `TCPRcvQDrop`, `TCPZeroWindowDrop`), after it has squeezed the
//! receive queue (`PruneCalled`). The sender takes that for loss of the path, or waits for a
//! window.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "receive-memory",
    asks: "Does the receiver's TCP run out of memory?",
    of_host: false,
    judge,
};

/// Of the segments that came; a smaller share costs nothing.
const DROPPED_SHARE: f64 = 0.001;
/// Fewer in the median run are an accident.
const DROPPED_MIN: f64 = 3.0;
/// Squeezes of a receive queue in a second; a sound one has none.
const PRUNED_A_SECOND: f64 = 5.0;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::ReceiverCounters, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let drops = [keys::SOCKET_BACKLOG, keys::RECEIVE_QUEUE, keys::ZERO_WINDOW];
    let dropped = drops.iter().filter_map(|counter| cell.received_count(*counter));
    let dropped = dropped.reduce(|a, b| a + b);
    let dropped = dropped.ok_or_else(|| cell.lacks(Measure::SocketDrops))?;
    let pruned = cell.received_count(keys::PRUNED).unwrap_or(0.0);
    let came = cell.received_count(keys::DATA_IN).unwrap_or(0.0);
    let seconds = cell.of_receiver(|end| Some(end.window_ns.0 as f64 / 1e9)).unwrap_or(1.0);
    let seen = format!(
        "{dropped:.0} segments dropped at the receiver's sockets of {came:.0} that came, and \
         {pruned:.0} squeezes of receive queues in the median run"
    );
    let is_dropped = dropped >= DROPPED_MIN && dropped >= DROPPED_SHARE * came;
    // Behind a thread that has no time to read, or one that has none to send more, nothing waits
    // for memory.
    let is_squeezed =
        pruned >= PRUNED_A_SECOND * seconds && !are_small(cell, came) && !cell.is_busy();
    // A buffer that was asked for is full by what was asked for.
    let is_own = cell.trial.params.socket_buffer_bytes.is_none();
    // A sound socket neither drops nor is squeezed: both together are no accident, however few.
    let are_both = dropped >= 1.0 && pruned >= 1.0;
    let wrong = (is_own && (is_dropped || is_squeezed || are_both)).then(|| {
        let at = cell.receiver().map_or("at the receiver", |end| end.at);
        let says = format!(
            "The receiver's kernel ({at}) runs out of memory for TCP in {}: {dropped:.0} segments \
             that had come were dropped, {pruned:.0} times a receive queue was squeezed",
            cell.trial.label
        );
        let remedy = format!(
            "{at}: raise the memory of the control group (memory.max, memory.kmem.tcp.\
             limit_in_bytes), net.ipv4.tcp_mem and the largest of net.ipv4.tcp_rmem; nstat -az \
             TcpExtTCPRcvQDrop TcpExtPruneCalled TcpExtTCPMemoryPressures"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Whether segments are so small that each takes far more memory than its bytes: joining them in a
/// queue is what a squeeze is for, and costs no window.
fn are_small(cell: &Cell<'_>, came: f64) -> bool {
    let bytes =
        cell.of_receiver(|end| Some(end.flows.iter().map(|flow| flow.bytes.0 as f64).sum()));
    bytes.is_some_and(|bytes: f64| bytes < SMALL_BYTES * came)
}

/// Half of an ordinary segment.
const SMALL_BYTES: f64 = 724.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::Bytes;
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    fn study(dropped: u64, pruned: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        read_receiver(&mut study, "tcp-info", "flow0.received_data_segments", 10_000);
        read_receiver(&mut study, "netstat", "TcpExt.TCPRcvQDrop_events", dropped);
        read_receiver(&mut study, "netstat", "TcpExt.PruneCalled_events", pruned);
        study
    }

    #[test]
    fn segments_that_found_no_memory_are_found() {
        assert!(is_found(&of_study(&RULE, &study(60, 0))));
        assert!(is_found(&of_study(&RULE, &study(0, 200))));
        assert!(is_found(&of_study(&RULE, &study(2, 1))), "both, in every run");
        assert!(is_clear(&of_study(&RULE, &study(2, 0))));
        assert!(is_clear(&of_study(&RULE, &study(0, 4))));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
        let small = |each: u64| {
            let mut study = study(0, 200);
            for end in study.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
                end.flows[0].bytes = Bytes(each * 10_000);
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&small(723)) && is_found(&small(724)), "small segments are joined");
        let mut full = study(0, 200);
        for end in full.records.iter_mut().flat_map(|run| run.of_mut(Role::Sender)) {
            end.threads[0].system_ns = narrows_model::Nanos(950_000_000);
        }
        assert!(is_clear(&of_study(&RULE, &full)), "the sender has no time for more");
        let mut asked = study(60, 200);
        asked.trials[0].params.socket_buffer_bytes = Some(Bytes(8192));
        assert!(is_clear(&of_study(&RULE, &asked)), "a buffer that was asked for");
    }
}
