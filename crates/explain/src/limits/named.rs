//! Which rules name a limit, what they call it, and in which order: those nearest to a cause first.

use super::Sureness;
use super::holds::{
    acks_are_lost_most, copies_take_much, dropped_at_receiver, headers_take_much, is_at_work,
    is_rather_late, is_shaped, is_too_short, late_ones_cost, leaves_cpus_free, lost, lost_often,
    lost_under_routes_control, others_send, queue_holds, quota_stops, repaired_without_sack,
    sent_at_once, window_is_routes,
};
use crate::measured::Cell;

/// Whether what a rule found holds a cell where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Yes,
    /// It is there, and allows more than was measured: named where nothing else is.
    Perhaps,
    /// It is there, and more than it allows was measured.
    No,
}

/// A rule that can name a limit.
pub struct Named {
    pub rule: &'static str,
    /// What it names, as the subject of a sentence.
    pub what: &'static str,
    pub sureness: Sureness,
    pub holds: fn(&Cell<'_>) -> Holds,
}

const fn always(rule: &'static str, what: &'static str, sureness: Sureness) -> Named {
    Named { rule, what, sureness, holds: |_| Holds::Yes }
}

/// Rules that name a limit, those nearest to a cause first.
pub static NAMED: &[Named] = &[
    always("path-mtu-black-hole", "a path MTU black hole", Sureness::Inferred),
    always("fragments-lost", "the loss of fragments", Sureness::Counted),
    always("path-corruption", "corruption of packets on the path", Sureness::Counted),
    always("handshake-loss", "the loss or refusal of handshakes", Sureness::Counted),
    always("end-stands-still", "the program of an end, which stood still,", Sureness::Counted),
    always("same-cpu", "both ends sharing one CPU", Sureness::Inferred),
    Named {
        rule: "cpu-quota",
        what: "a quota of CPU time",
        sureness: Sureness::Inferred,
        holds: quota_stops,
    },
    Named {
        rule: "nic-shaped",
        what: "a queueing discipline of an end's own interface",
        sureness: Sureness::Inferred,
        holds: is_shaped,
    },
    always("own-host-drops", "drops in the sender's own host on the way out", Sureness::Counted),
    Named {
        rule: "own-queue",
        what: "a queue of an end's own interface",
        sureness: Sureness::Counted,
        holds: queue_holds,
    },
    always("receiver-host-drops", "drops in the receiver's own host", Sureness::Counted),
    Named {
        rule: "other-traffic",
        what: "other traffic over the same interface",
        sureness: Sureness::Counted,
        holds: others_send,
    },
    Named {
        rule: "datagrams-dropped",
        what: "drops in the receiver's own host",
        sureness: Sureness::Counted,
        holds: dropped_at_receiver,
    },
    Named {
        rule: "tcp-options-removed",
        what: "loss recovery without SACK, which something on the path strips,",
        sureness: Sureness::Counted,
        holds: repaired_without_sack,
    },
    Named {
        rule: "tcp-sack",
        what: "loss recovery without SACK, which is off,",
        sureness: Sureness::Counted,
        holds: repaired_without_sack,
    },
    Named {
        rule: "path-duplicates",
        what: "duplication of packets on the path",
        sureness: Sureness::Counted,
        holds: copies_take_much,
    },
    Named {
        rule: "segment-size",
        what: "the segment size, whose headers take much of the path,",
        sureness: Sureness::Inferred,
        holds: headers_take_much,
    },
    // What the receiver drops for want of memory looks like a policer from the sender.
    always("receive-memory", "the receiver's memory for TCP", Sureness::Counted),
    always("path-policed", "a policer on the path", Sureness::Inferred),
    Named {
        rule: "path-short-queue",
        what: "a queue on the path too short for bursts",
        sureness: Sureness::Inferred,
        holds: is_too_short,
    },
    always("path-shared", "other traffic on the path", Sureness::Inferred),
    always("path-capacity", "a shaper or a slower link between the ends", Sureness::Inferred),
    always(
        "path-rate-limit",
        "a shaper, a policer or a slower link between the ends",
        Sureness::Counted,
    ),
    always("receive-window", "the receiver's window", Sureness::Counted),
    always("send-buffer", "the sender's buffer", Sureness::Counted),
    Named {
        rule: "congestion-window",
        what: "a congestion window that a route bounds",
        sureness: Sureness::Inferred,
        holds: window_is_routes,
    },
    // What else keeps the window small nobody has read.
    Named {
        rule: "congestion-window",
        what: "a small congestion window",
        sureness: Sureness::Possible,
        holds: |_| Holds::Perhaps,
    },
    Named {
        rule: "acknowledgements-lost",
        what: "loss on the return path",
        sureness: Sureness::Counted,
        holds: acks_are_lost_most,
    },
    always("acknowledgements-slow", "a slow return path,", Sureness::Inferred),
    always("congestion-marks", "ECN marks on the path", Sureness::Counted),
    Named {
        rule: "path-reordering",
        what: "reordering of packets on the path",
        sureness: Sureness::Counted,
        holds: late_ones_cost,
    },
    Named {
        rule: "path-duplicates",
        what: "duplication of packets on the path",
        sureness: Sureness::Counted,
        holds: |cell| if is_rather_late(cell) { Holds::Perhaps } else { Holds::Yes },
    },
    Named {
        rule: "congestion-control",
        what: "losses under the congestion control that a route sets",
        sureness: Sureness::Inferred,
        holds: lost_under_routes_control,
    },
    always("path-outages", "outages of the path", Sureness::Counted),
    Named {
        rule: "tcp-retransmits",
        what: "loss of segments",
        sureness: Sureness::Counted,
        holds: lost_often,
    },
    always("datagrams-dropped", "loss of datagrams", Sureness::Counted),
    always("message-size", "the size of the messages", Sureness::Inferred),
    Named {
        rule: "stack-settings",
        what: "a setting of TCP or IP",
        sureness: Sureness::Possible,
        holds: leaves_cpus_free,
    },
    Named {
        rule: "nic-offloads",
        what: "work that offloads would save",
        sureness: Sureness::Possible,
        holds: is_at_work,
    },
    always("packet-cost", "the kernel's work for each packet", Sureness::Counted),
    always("softirq-bound", "packet processing on one CPU", Sureness::Counted),
    always("super-packets", "packets of few segments", Sureness::Inferred),
    Named {
        rule: "path-reordering",
        what: "reordering of packets on the path",
        sureness: Sureness::Possible,
        holds: |_| Holds::Perhaps,
    },
    always("sender-pacing", "congestion control's pacing", Sureness::Possible),
    always("round-trip-time", "the path's round trip", Sureness::Inferred),
    Named {
        rule: "segment-size",
        what: "the size of segments",
        sureness: Sureness::Possible,
        holds: leaves_cpus_free,
    },
    Named {
        rule: "tcp-send-buffers",
        what: "the largest send buffer",
        sureness: Sureness::Inferred,
        holds: sent_at_once,
    },
    // A share that counts on long paths alone, after what needs none.
    Named {
        rule: "tcp-retransmits",
        what: "loss of segments",
        sureness: Sureness::Counted,
        holds: lost,
    },
];
