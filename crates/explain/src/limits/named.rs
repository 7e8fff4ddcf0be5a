//! Which rules name a limit, what they call it, and in which order: those nearest to a cause first.

use super::Sureness;
use super::holds::{
    Holds, acks_are_lost_most, backlog_holds, bounds_what_travels, copies_take_much, costs_time,
    dropped_at_receiver, fill_small_packets, goes_past_own_network, headers_take_most,
    headers_take_much, is_at_work, is_fought_over, is_held_by_proxy, is_rather_late, is_shaped,
    is_stopped_by_tracer, is_too_short, is_unanswered, is_unscaled_between, keeps_no_pace,
    late_ones_cost, leaves_cpus_free, lost, lost_often, lost_under_routes_control,
    no_rate_drops_them, others_send, queue_holds, quota_stops, repaired_without_sack, sent_at_once,
    small_ones_fill_a_cpu, window_is_routes,
};
use super::of_ends::OVERDUE;
use crate::measured::Cell;
use crate::names;
use crate::rules::host_congestion::is_likely;
use crate::rules::nic_coalescing::takes_most;
use crate::rules::path_proxy::is_two_connections;
use crate::rules::{
    packet_cost, path_holds_packets, round_trip_time, round_trips_stall, send_buffer,
};

/// A rule that can name a limit.
pub struct Named {
    pub rule: &'static str,
    /// What it names, as the subject of a sentence.
    pub what: &'static str,
    pub sureness: Sureness,
    pub holds: fn(&Cell<'_>) -> Holds,
}

const PROXY: &str =
    "something between the ends that makes connections of its own (a proxy), or what is behind it,";

const fn always(rule: &'static str, what: &'static str, sureness: Sureness) -> Named {
    Named { rule, what, sureness, holds: |_| Holds::Yes }
}

/// Rules that name a limit, those nearest to a cause first.
pub static NAMED: &[Named] = &[
    always(names::PATH_MTU_BLACK_HOLE, "a path MTU black hole", Sureness::Inferred),
    always(names::FRAGMENTS_LOST, "the loss of fragments", Sureness::Counted),
    always(names::PATH_CORRUPTION, "corruption of packets on the path", Sureness::Counted),
    always(
        names::HOPS_EXCEEDED,
        "the loss of packets that run out of hops (TTL)",
        Sureness::Counted,
    ),
    always(names::PATH_DROPS_ECN, "the loss of packets for their ECN mark", Sureness::Inferred),
    always(
        names::TIMESTAMPS_REJECTED,
        "segments that the receiver rejects for their timestamps",
        Sureness::Counted,
    ),
    always(
        names::SACK_IGNORED,
        "loss recovery without SACK, whose sequence numbers something on the path makes wrong,",
        Sureness::Counted,
    ),
    Named {
        rule: names::NEIGHBOUR_CHANGED,
        what: "an address that two devices answer for",
        sureness: Sureness::Counted,
        holds: is_fought_over,
    },
    Named {
        rule: names::NEIGHBOUR_CHANGED,
        what: "a next hop that nobody answers for at times (ARP or neighbour discovery)",
        sureness: Sureness::Counted,
        holds: is_unanswered,
    },
    Named {
        rule: names::END_TRACED,
        what: "a program that traces an end's system calls",
        sureness: Sureness::Counted,
        holds: is_stopped_by_tracer,
    },
    // What it drops, or the queue before it, is counted as loss too.
    always(names::USER_QUEUE, "a program that an end's packets pass (NFQUEUE)", Sureness::Inferred),
    // The few first packets that it loses are told as well.
    always(names::PATH_BAD_MEMBER, "one bad member of a bundle of links", Sureness::Inferred),
    always(names::HANDSHAKE_LOSS, "the loss or refusal of handshakes", Sureness::Counted),
    always(
        names::HANDSHAKE_SLOW,
        "something that holds up the first packet of each connection",
        Sureness::Inferred,
    ),
    Named {
        rule: names::ANSWERS_LATE,
        what: "the end that listens, which takes or answers connections late,",
        sureness: Sureness::Inferred,
        holds: leaves_cpus_free,
    },
    always(
        names::CONNECTIONS_NOT_CLOSED,
        "connections that do not close, whose FINs are sent again and again,",
        Sureness::Inferred,
    ),
    always(names::END_STANDS_STILL, "the program of an end, which stood still,", Sureness::Counted),
    always(names::SAME_CPU, "both ends sharing one CPU", Sureness::Inferred),
    Named {
        rule: names::CPU_QUOTA,
        what: "a quota of CPU time",
        sureness: Sureness::Inferred,
        holds: quota_stops,
    },
    Named {
        rule: names::CPU_WITHHELD,
        what: "a quota of CPU time that the end itself cannot see",
        sureness: Sureness::Inferred,
        holds: keeps_no_pace,
    },
    // Behind a shaper too small segments carry less than its rate could.
    Named {
        rule: names::SEGMENT_SIZE,
        what: "the segment size, whose headers take much of the path,",
        sureness: Sureness::Inferred,
        holds: headers_take_most,
    },
    Named {
        rule: names::NIC_SHAPED,
        what: "a queueing discipline of an end's own interface",
        sureness: Sureness::Inferred,
        holds: is_shaped,
    },
    always(
        names::OWN_HOST_DROPS,
        "drops in the sender's own host on the way out",
        Sureness::Counted,
    ),
    Named {
        rule: names::OWN_QUEUE,
        what: "a queue of an end's own interface",
        sureness: Sureness::Counted,
        holds: queue_holds,
    },
    always(names::RECEIVER_HOST_DROPS, "drops in the receiver's own host", Sureness::Counted),
    // What it drops is lost to TCP, and its pauses make the sender wait.
    Named {
        rule: names::HOST_CONGESTION,
        what: "the inside of the receiver's host, where its NIC's writes to memory wait,",
        sureness: Sureness::Inferred,
        holds: |cell| if is_likely(cell) { Holds::Yes } else { Holds::Perhaps },
    },
    Named {
        rule: names::OTHER_TRAFFIC,
        what: "other traffic over the same interface",
        sureness: Sureness::Counted,
        holds: others_send,
    },
    Named {
        rule: names::DATAGRAMS_DROPPED,
        what: "drops in the receiver's own host",
        sureness: Sureness::Counted,
        holds: dropped_at_receiver,
    },
    Named {
        rule: names::TCP_OPTIONS_REMOVED,
        what: "loss recovery without SACK, which something on the path strips,",
        sureness: Sureness::Counted,
        holds: repaired_without_sack,
    },
    Named {
        rule: names::TCP_OPTIONS_REMOVED,
        what: "a window of at most 64 KiB, as something on the path strips window scaling,",
        sureness: Sureness::Inferred,
        holds: is_unscaled_between,
    },
    Named {
        rule: names::TCP_SACK,
        what: "loss recovery without SACK, which is off,",
        sureness: Sureness::Counted,
        holds: repaired_without_sack,
    },
    Named {
        rule: names::PATH_DUPLICATES,
        what: "duplication of packets on the path",
        sureness: Sureness::Counted,
        holds: copies_take_much,
    },
    Named {
        rule: names::NIC_COALESCING,
        what: "received packets that the kernel holds back (gro_flush_timeout)",
        sureness: Sureness::Inferred,
        holds: |cell| if takes_most(cell) { Holds::Yes } else { Holds::No },
    },
    Named {
        rule: names::ROUND_TRIP_TIME,
        what: OVERDUE,
        sureness: Sureness::Counted,
        holds: |cell| if round_trip_time::is_overdue(cell) { Holds::Yes } else { Holds::No },
    },
    always(names::PATH_SLEEPS, "a path that sleeps while nothing is sent", Sureness::Inferred),
    Named {
        rule: names::PATH_HOLDS_PACKETS,
        what: "a hop that holds packets and lets them go together, in turns",
        sureness: Sureness::Inferred,
        holds: |cell| match path_holds_packets::is_most_of_trips(cell) {
            true => Holds::Yes,
            false => Holds::No,
        },
    },
    always(names::ROUND_TRIPS_VARY, "a delay that comes and goes", Sureness::Inferred),
    Named {
        rule: names::ROUND_TRIPS_STALL,
        what: "time in stalls",
        sureness: Sureness::Inferred,
        holds: |cell| if round_trips_stall::hold(cell) { Holds::Yes } else { Holds::No },
    },
    Named {
        rule: names::SEGMENT_SIZE,
        what: "the segment size, whose headers take much of the path,",
        sureness: Sureness::Inferred,
        holds: headers_take_much,
    },
    Named {
        rule: names::OTHER_INTERFACE,
        what: "a route through a router although both ends share a network",
        sureness: Sureness::Inferred,
        holds: goes_past_own_network,
    },
    // What the receiver drops for want of memory looks like a policer from the sender.
    always(names::RECEIVE_MEMORY, "the receiver's memory for TCP", Sureness::Counted),
    // Each connection has a window of its own there, so that each is held alike.
    Named {
        rule: names::PATH_PROXY,
        what: PROXY,
        sureness: Sureness::Inferred,
        holds: is_held_by_proxy,
    },
    Named {
        rule: names::PATH_PROTOCOL,
        what: "something on the way that drops UDP and lets TCP pass",
        sureness: Sureness::Compared,
        holds: |cell| if cell.is_tcp_stream() { Holds::No } else { Holds::Yes },
    },
    Named {
        rule: names::PATH_PROTOCOL,
        what: "something on the way that holds back TCP and lets UDP pass",
        sureness: Sureness::Inferred,
        holds: |cell| if cell.is_tcp_stream() { Holds::Yes } else { Holds::No },
    },
    always(names::PATH_CLASS, "the class (DSCP) of the packets", Sureness::Inferred),
    always(names::PATH_FLOW_LIMIT, "a limit of the path on each flow", Sureness::Inferred),
    always(
        names::PATH_PACKET_RATE,
        "a number of packets a second that the path carries",
        Sureness::Inferred,
    ),
    always(
        names::PATH_HALF_DUPLEX,
        "one capacity that both directions share (half-duplex)",
        Sureness::Inferred,
    ),
    // What is acknowledged in bursts comes and goes as behind a link that changes.
    always(names::ACKNOWLEDGEMENTS_SLOW, "a slow return path,", Sureness::Inferred),
    always(names::PATH_CAPACITY_VARIES, "a capacity of the path that varies", Sureness::Inferred),
    always(
        names::PATH_VOLUME,
        "a rate limit that begins after a volume (policer or shaper with a large bucket)",
        Sureness::Inferred,
    ),
    Named {
        rule: names::LARGE_FRAMES_LOST,
        what: "the loss of what TCP hands over in large frames (TSO), or of TCP alone,",
        sureness: Sureness::Inferred,
        holds: no_rate_drops_them,
    },
    always(names::PATH_POLICED, "a policer on the path", Sureness::Inferred),
    Named {
        rule: names::PATH_SHORT_QUEUE,
        what: "a queue on the path too short for bursts",
        sureness: Sureness::Inferred,
        holds: is_too_short,
    },
    always(
        names::BURSTS_LOST,
        "a queue or bucket on the path too small for datagrams sent many at once",
        Sureness::Compared,
    ),
    always(names::PATH_SHARED, "other traffic on the path", Sureness::Inferred),
    // Its own window is what arrives, and its buffer is the queue in which packets wait.
    Named {
        rule: names::PATH_PROXY,
        what: PROXY,
        sureness: Sureness::Inferred,
        holds: |cell| if is_two_connections(cell) { Holds::Yes } else { Holds::No },
    },
    Named {
        rule: names::PATH_HOLDS_PACKETS,
        what: "a hop that holds packets and lets them go together",
        sureness: Sureness::Inferred,
        holds: |cell| match cell.trial.kind.is_round_trip() {
            true => Holds::Perhaps,
            false => Holds::Yes,
        },
    },
    always(names::PATH_CAPACITY, "a shaper or a slower link between the ends", Sureness::Inferred),
    always(
        names::PATH_RATE_LIMIT,
        "a shaper, a policer or a slower link between the ends",
        Sureness::Counted,
    ),
    Named {
        rule: names::RECEIVE_WINDOW,
        what: "the receiver's window",
        sureness: Sureness::Counted,
        holds: bounds_what_travels,
    },
    Named {
        rule: names::SEND_BUFFER,
        what: "the sender's buffer",
        sureness: Sureness::Counted,
        holds: |cell| match send_buffer::filled(cell) {
            Some(_) => Holds::No,
            None => bounds_what_travels(cell),
        },
    },
    Named {
        rule: names::SEND_BUFFER,
        what: "the largest send buffer, over so long a round trip",
        sureness: Sureness::Inferred,
        holds: |cell| send_buffer::filled(cell).map_or(Holds::No, |_| Holds::Yes),
    },
    always(
        names::SLOW_START_UNFINISHED,
        "the length of the run, which ended while TCP was speeding up",
        Sureness::Inferred,
    ),
    Named {
        rule: names::CONGESTION_WINDOW,
        what: "a congestion window that a route bounds",
        sureness: Sureness::Inferred,
        holds: window_is_routes,
    },
    // What else keeps the window small nobody has read.
    Named {
        rule: names::CONGESTION_WINDOW,
        what: "a small congestion window",
        sureness: Sureness::Possible,
        holds: |_| Holds::Perhaps,
    },
    Named {
        rule: names::ACKNOWLEDGEMENTS_LOST,
        what: "loss on the return path",
        sureness: Sureness::Counted,
        holds: acks_are_lost_most,
    },
    always(names::CONGESTION_MARKS, "ECN marks on the path", Sureness::Counted),
    Named {
        rule: names::PATH_REORDERING,
        what: "reordering of packets on the path",
        sureness: Sureness::Counted,
        holds: late_ones_cost,
    },
    Named {
        rule: names::PATH_DUPLICATES,
        what: "duplication of packets on the path",
        sureness: Sureness::Counted,
        holds: |cell| if is_rather_late(cell) { Holds::Perhaps } else { Holds::Yes },
    },
    Named {
        rule: names::CONGESTION_CONTROL,
        what: "losses under the congestion control that a route sets",
        sureness: Sureness::Inferred,
        holds: lost_under_routes_control,
    },
    always(names::PATH_OUTAGES, "outages of the path", Sureness::Counted),
    Named {
        rule: names::BACKLOG_DROPS,
        what: "a CPU's backlog of packets at the receiver's host, which is full,",
        sureness: Sureness::Counted,
        holds: backlog_holds,
    },
    Named {
        rule: names::TCP_RETRANSMITS,
        what: "loss of segments",
        sureness: Sureness::Counted,
        holds: lost_often,
    },
    always(names::DATAGRAMS_DROPPED, "loss of datagrams", Sureness::Counted),
    Named {
        rule: names::SEGMENT_SIZE,
        what: "the path's or a route's small MTU, which datagrams fill,",
        sureness: Sureness::Inferred,
        holds: fill_small_packets,
    },
    always(names::MESSAGE_SIZE, "the size of the messages", Sureness::Inferred),
    Named {
        rule: names::STACK_SETTINGS,
        what: "a setting of TCP or IP",
        sureness: Sureness::Possible,
        holds: leaves_cpus_free,
    },
    Named {
        rule: names::SEGMENT_SIZE,
        what: "CPU time that small packets take",
        sureness: Sureness::Inferred,
        holds: small_ones_fill_a_cpu,
    },
    Named {
        rule: names::NIC_OFFLOADS,
        what: "work that offloads would save",
        sureness: Sureness::Possible,
        holds: is_at_work,
    },
    Named {
        rule: names::PACKET_COST,
        what: "the kernel's work for each packet",
        sureness: Sureness::Counted,
        // Where it is a part, another CPU or kernel of that end would do as well.
        holds: |cell| {
            let is_part = packet_cost::is_one_sided(cell) && !packet_cost::is_most(cell);
            if is_part { Holds::Perhaps } else { Holds::Yes }
        },
    },
    Named {
        rule: names::PACKETS_SINGLE,
        what: "packets that the receiver's kernel takes one by one",
        sureness: Sureness::Inferred,
        holds: costs_time,
    },
    always(names::SOFTIRQ_BOUND, "packet processing on one CPU", Sureness::Counted),
    Named {
        rule: names::SUPER_PACKETS,
        what: "packets of few segments",
        sureness: Sureness::Inferred,
        holds: costs_time,
    },
    Named {
        rule: names::PATH_REORDERING,
        what: "reordering of packets on the path",
        sureness: Sureness::Possible,
        holds: |_| Holds::Perhaps,
    },
    always(names::SENDER_PACING, "congestion control's pacing", Sureness::Possible),
    always(names::ROUND_TRIP_TIME, "the path's round trip", Sureness::Inferred),
    Named {
        rule: names::SEGMENT_SIZE,
        what: "the size of segments",
        sureness: Sureness::Possible,
        holds: leaves_cpus_free,
    },
    Named {
        rule: names::TCP_SEND_BUFFERS,
        what: "the largest send buffer",
        sureness: Sureness::Inferred,
        holds: sent_at_once,
    },
    Named {
        rule: names::PATH_PROXY,
        what: "something between the ends that makes connections of its own (a proxy, or NAT),",
        sureness: Sureness::Possible,
        holds: |cell| if cell.trial.kind.is_tcp() { Holds::Perhaps } else { Holds::No },
    },
    // A share that counts on long paths alone, after what needs none.
    Named {
        rule: names::TCP_RETRANSMITS,
        what: "loss of segments",
        sureness: Sureness::Counted,
        holds: lost,
    },
];
