//! The counters that something asks for by name, and all gauges.

use super::Source::{
    Cpu, Group, Interface, Netstat, Nic, Qdisc, Socket, Softnet, TcpInfo, Udp, UserQueue,
};
use super::Unit::{Bytes, Datagrams, Events, Nanos, Options, Packets, Percent, Segments};
use super::{Counter, Gauge};

/// Time of a CPU in user mode, niced or not.
pub const USER: Counter = Counter::of(Cpu, "user", Nanos);
/// Time of a CPU in the kernel.
pub const SYSTEM: Counter = Counter::of(Cpu, "system", Nanos);
/// Time in which a CPU had nothing to do.
pub const IDLE: Counter = Counter::of(Cpu, "idle", Nanos);
/// Time in which a CPU had nothing to do but to wait for disks.
pub const IOWAIT: Counter = Counter::of(Cpu, "iowait", Nanos);
/// Time in which the hypervisor gave a CPU to others.
pub const STEAL: Counter = Counter::of(Cpu, "steal", Nanos);
/// Time of a CPU in software interrupts.
pub const SOFTIRQ: Counter = Counter::of(Cpu, "softirq", Nanos);
/// Time of a CPU in hardware interrupts.
pub const IRQ: Counter = Counter::of(Cpu, "irq", Nanos);
/// Bytes that an interface received, with or without the link's header.
pub const RX_BYTES: Counter = Counter::of(Interface, "rx", Bytes);
/// Packets that an interface handed over.
pub const RX_PACKETS: Counter = Counter::of(Interface, "rx", Packets);
/// Packets that an interface received and dropped.
pub const RX_DROPPED: Counter = Counter::of(Interface, "rx_dropped", Packets);
/// Packets that an interface received with errors.
pub const RX_ERRORS: Counter = Counter::of(Interface, "rx_errors", Packets);
/// Bytes that an interface sent.
pub const TX_BYTES: Counter = Counter::of(Interface, "tx", Bytes);
/// Packets that an interface was given to send.
pub const TX_PACKETS: Counter = Counter::of(Interface, "tx", Packets);
/// Packets that an interface was to send and dropped.
pub const TX_DROPPED: Counter = Counter::of(Interface, "tx_dropped", Packets);
/// Packets that an interface could not send.
pub const TX_ERRORS: Counter = Counter::of(Interface, "tx_errors", Packets);
/// Times that an interface lost its link (Linux 4.16).
pub const CARRIER_LOST: Counter = Counter::of(Interface, "carrier_lost", Events);
/// Packets that an interface's queueing discipline dropped.
pub const QDISC_DROPPED: Counter = Counter::of(Qdisc, "dropped", Packets);
/// Packets that filters of what comes in by an interface dropped (tc ingress, clsact).
pub const INGRESS_DROPPED: Counter = Counter::of(Qdisc, "ingress_dropped", Packets);
/// Times that a packet had to wait since the discipline's rate was reached.
pub const QDISC_OVERLIMITS: Counter = Counter::of(Qdisc, "overlimits", Events);
/// Packets that the driver handed back to the discipline.
pub const QDISC_REQUEUED: Counter = Counter::of(Qdisc, "requeued", Packets);
/// Packets that found no room in a flow's socket.
pub const SOCKET_DROPPED: Counter = Counter::of(Socket, "dropped", Packets);
/// Packets that found a CPU's backlog full.
pub const BACKLOG_DROPPED: Counter = Counter::of(Softnet, "dropped", Packets);
/// Packets that CPUs took from devices.
pub const PROCESSED: Counter = Counter::of(Softnet, "processed", Packets);
/// Packets that a firewall's rule handed to a program (NFQUEUE).
pub const USER_QUEUED: Counter = Counter::of(UserQueue, "queued", Packets);
/// Packets that found such a program's queue full, or could not be told to it.
pub const USER_QUEUE_DROPPED: Counter = Counter::of(UserQueue, "dropped", Packets);
/// Payload that a connection received.
pub const TCP_RECEIVED: Counter = Counter::of(TcpInfo, "received", Bytes);
/// Segments that a connection sent, those that it sent again included.
pub const SENT: Counter = Counter::of(TcpInfo, "sent", Segments);
/// Segments that a connection sent again.
pub const RETRANSMITTED: Counter = Counter::of(TcpInfo, "retransmitted", Segments);
/// Segments that the receiver said it had already (RFC 2883).
pub const DUPLICATES: Counter = Counter::of(TcpInfo, "duplicates_reported", Segments);
/// Time in which the receiver's window held a connection back.
pub const LIMITED_BY_WINDOW: Counter = Counter::of(TcpInfo, "limited_by_receive_window", Nanos);
/// Time in which the sender's buffer held a connection back.
pub const LIMITED_BY_BUFFER: Counter = Counter::of(TcpInfo, "limited_by_send_buffer", Nanos);

/// Segments that a connection received, pure acknowledgements included.
pub const SEGMENTS_IN: Counter = Counter::of(TcpInfo, "received", Segments);
/// Segments with payload that a connection received.
pub const DATA_IN: Counter = Counter::of(TcpInfo, "received_data", Segments);
/// Segments with payload that a connection sent, those that it sent again included.
pub const DATA_OUT: Counter = Counter::of(TcpInfo, "sent_data", Segments);
/// Payload that a connection handed to IP, what it sent again included (Linux 4.19).
pub const TCP_SENT: Counter = Counter::of(TcpInfo, "sent", Bytes);
/// Time in which a connection had something to send or unacknowledged.
pub const BUSY: Counter = Counter::of(TcpInfo, "busy", Nanos);
/// Segments that arrived with a mark of congestion (ECN, RFC 3168), as their sender was told.
pub const MARKED: Counter = Counter::of(TcpInfo, "delivered_marked", Segments);
/// Times that a sender saw later segments acknowledged before earlier ones that were not lost.
pub const REORDERING: Counter = Counter::of(TcpInfo, "reordering_seen", Events);
/// Segments that came before others that were sent earlier.
pub const OUT_OF_ORDER: Counter = Counter::of(TcpInfo, "received_out_of_order", Segments);
/// Times that a sender's retransmission timer ran out (Linux 6.7).
pub const TIMEOUTS: Counter = Counter::of(TcpInfo, "timeouts", Events);
/// Periods in which the control group had used up its CPU time.
pub const THROTTLED: Counter = Counter::of(Group, "throttled", Events);
/// Periods of the control group's quota.
pub const QUOTA_PERIODS: Counter = Counter::of(Group, "periods", Events);

/// A counter of the network namespace by the kernel's name for it.
pub const fn kernel(name: &'static str) -> Counter {
    Counter::of(Netstat, name, Events)
}
/// Connections that a full accept queue refused.
pub const LISTEN_OVERFLOWS: Counter = kernel("TcpExt.ListenOverflows");
/// First packets of connections, and acknowledgements of them, that a listening socket dropped: for
/// want of room in either queue, of memory or of a route.
pub const LISTEN_DROPS: Counter = kernel("TcpExt.ListenDrops");
/// First packets of connections sent again.
pub const SYN_RETRANSMITTED: Counter = kernel("TcpExt.TCPSynRetrans");
/// Connections that were reset before their third packet came: it was lost, or they were given up.
pub const EMBRYONIC_RESETS: Counter = kernel("TcpExt.EmbryonicRsts");
/// Segments that came twice: those that were received already.
pub const CAME_TWICE: Counter = kernel("TcpExt.TCPDSACKOldSent");
/// The same, of segments that were received out of order.
pub const CAME_TWICE_EARLY: Counter = kernel("TcpExt.TCPDSACKOfoSent");
/// Segments whose checksum was wrong.
pub const TCP_CHECKSUM: Counter = kernel("Tcp.InCsumErrors");
/// Datagrams whose checksum was wrong.
pub const UDP_CHECKSUM: Counter = kernel("Udp.InCsumErrors");
/// Datagrams that came for a port where nobody listens.
pub const UDP_NO_PORT: Counter = kernel("Udp.NoPorts");
/// Datagrams that the namespace's sockets sent.
pub const UDP_OUT: Counter = Counter::of(Udp, "out", Datagrams);
/// Segments that a TCP socket sent, as the namespace counts them.
pub const TCP_OUT: Counter = kernel("Tcp.OutSegs");
/// Segments that the namespace's TCP sent again, first packets too.
pub const TCP_AGAIN: Counter = kernel("Tcp.RetransSegs");
/// Segments that the namespace's TCP was passed, those that were joined on their way up as one.
pub const TCP_IN: Counter = kernel("Tcp.InSegs");
/// Fragments that came and were to be joined.
pub const FRAGMENTS_IN: Counter = kernel("Ip.ReasmReqds");
/// Packets whose fragments could not be joined.
pub const FRAGMENTS_FAILED: Counter = kernel("Ip.ReasmFails");
/// Fragments that were made.
pub const FRAGMENTS_OUT: Counter = kernel("Ip.FragCreates");
/// Packets that arrived marked by a router (ECN).
pub const CONGESTION_MARKS: Counter = kernel("IpExt.InCEPkts");
/// Messages of routers and hosts that something cannot be reached or is too big.
pub const UNREACHABLE_IN: Counter = kernel("Icmp.InDestUnreachs");
/// Messages of routers that a packet had no hop left (TTL, hop limit), and of hosts that its
/// fragments did not all come in time.
pub const HOPS_EXCEEDED: Counter = kernel("Icmp.InTimeExcds");
/// Segments dropped since a socket's backlog was full.
pub const SOCKET_BACKLOG: Counter = kernel("TcpExt.TCPBacklogDrop");
/// Segments dropped since a receive queue was full.
pub const RECEIVE_QUEUE: Counter = kernel("TcpExt.TCPRcvQDrop");
/// Segments dropped since their socket had no window at all.
pub const ZERO_WINDOW: Counter = kernel("TcpExt.TCPZeroWindowDrop");
/// Times that a receive queue was squeezed for want of memory.
pub const PRUNED: Counter = kernel("TcpExt.PruneCalled");
/// Times that a sender's retransmission timer ran out, of all connections of the namespace.
pub const KERNEL_TIMEOUTS: Counter = kernel("TcpExt.TCPTimeouts");

/// Segments that a receiver rejected since their timestamp was older than what it had seen (RFC
/// 7323, PAWS).
pub const TIMESTAMPS_REJECTED: Counter = kernel("TcpExt.PAWSEstab");
/// Selective acknowledgements of what a sender never sent, which it ignored.
pub const SACK_IGNORED: Counter = kernel("TcpExt.TCPSACKDiscard");
/// Times that the timer turned out to have run out in vain: what it sent again was only late.
pub const SPURIOUS_TIMEOUTS: Counter = kernel("TcpExt.TCPSpuriousRTOs");

/// Segments that a sender sent again since the last ones were not acknowledged, before its
/// retransmission timer ran out, of all connections of the namespace. For a single segment the
/// kernel waits as long as that timer lasts at the least (tcp_schedule_loss_probe).
pub const LOSS_PROBES: Counter = kernel("TcpExt.TCPLossProbes");

/// Times that a sender repaired a loss by selective acknowledgements.
pub const RECOVERIES: Counter = kernel("TcpExt.TCPSackRecovery");
/// Times that it repaired one without them.
pub const RECOVERIES_WITHOUT_SACK: Counter = kernel("TcpExt.TCPRenoRecovery");
/// Acknowledgements that waited for something to go with (RFC 1122: at most half a second).
pub const DELAYED_ACKS: Counter = kernel("TcpExt.DelayedACKs");

/// Bits of [`TCP_OPTIONS`] (include/uapi/linux/tcp.h, `TCPI_OPT_*`).
pub const OPTION_TIMESTAMPS: u64 = 1;
/// Selective acknowledgements were agreed on.
pub const OPTION_SACK: u64 = 2;
/// Scaled windows were agreed on.
pub const OPTION_WINDOW_SCALE: u64 = 4;
/// Congestion marks were agreed on.
pub const OPTION_ECN: u64 = 8;

/// What both ends of a connection agreed on.
pub const TCP_OPTIONS: Gauge = Gauge::of(TcpInfo, "agreed", Options);
/// Largest segment that this end told its peer to send.
pub const ADVERTISED_MSS: Gauge = Gauge::of(TcpInfo, "advertised_mss", Bytes);
/// Window that the peer offers (Linux 5.4).
pub const SEND_WINDOW: Gauge = Gauge::of(TcpInfo, "send_window", Bytes);
/// Window that this end offers (Linux 6.2).
pub const RECEIVE_WINDOW: Gauge = Gauge::of(TcpInfo, "receive_window", Bytes);
/// Kernel memory of what waits in a flow's socket.
pub const WAITING: Gauge = Gauge::of(Socket, "waiting", Bytes);
/// Packets that wait in an interface's queueing discipline.
pub const QDISC_WAITING: Gauge = Gauge::of(Qdisc, "waiting", Packets);
/// What an interface's token bucket (tbf) holds.
pub const BUCKET: Gauge = Gauge::of(Qdisc, "bucket", Bytes);
/// What flows into that bucket in a second.
pub const BUCKET_FILLED: Gauge = Gauge::of(Qdisc, "bucket_filled_a_second", Bytes);
/// Largest segment that a connection sends.
pub const SEND_MSS: Gauge = Gauge::of(TcpInfo, "send_mss", Bytes);
/// Largest segment that a connection has received.
pub const RECEIVE_MSS: Gauge = Gauge::of(TcpInfo, "receive_mss", Bytes);
/// MTU of a connection's path.
pub const PATH_MTU: Gauge = Gauge::of(TcpInfo, "path_mtu", Bytes);
/// Round trip of a connection, smoothed (RFC 6298).
pub const RTT: Gauge = Gauge::of(TcpInfo, "rtt", Nanos);
/// The shortest round trip of a connection so far.
pub const RTT_MIN: Gauge = Gauge::of(TcpInfo, "rtt_min", Nanos);
/// Payload of a connection that its peer had acknowledged in all: what passed before the window
/// opened is its opening value.
pub const ACKNOWLEDGED_SO_FAR: Gauge = Gauge::of(TcpInfo, "acknowledged_so_far", Bytes);
/// Segments that a connection may have on the way.
pub const CONGESTION_WINDOW: Gauge = Gauge::of(TcpInfo, "congestion_window", Segments);
/// The window at which slow start ends; [`NO_THRESHOLD`] where nothing ends it.
pub const SLOW_START_THRESHOLD: Gauge = Gauge::of(TcpInfo, "slow_start_threshold", Segments);
/// What the kernel says where slow start has no end (`TCP_INFINITE_SSTHRESH`).
pub const NO_THRESHOLD: u64 = 0x7fff_ffff;
/// Share of the last second in which a NIC had something to write and PCI Express took nothing for
/// want of credits, where its driver tells it.
pub const STALLED_WRITES: Gauge = Gauge::of(Nic, "waits:stalled_writes", Percent);
/// The same of what it had to read.
pub const STALLED_READS: Gauge = Gauge::of(Nic, "reads:stalled_reads", Percent);
/// Segments that a connection had sent again in all, before the window opened too.
pub const RETRANSMITTED_SO_FAR: Gauge = Gauge::of(TcpInfo, "retransmitted_so_far", Segments);

/// Gauges that change while a window is open, so that they are told at its edges and, where
/// they are sampled, by their extremes too.
pub const CHANGING: [Gauge; 5] =
    [WAITING, RTT, CONGESTION_WINDOW, SEND_WINDOW, ACKNOWLEDGED_SO_FAR];
/// All gauges: what is none of them counts.
pub const GAUGES: [Gauge; 19] = [
    ACKNOWLEDGED_SO_FAR,
    WAITING,
    QDISC_WAITING,
    BUCKET,
    BUCKET_FILLED,
    SEND_MSS,
    RECEIVE_MSS,
    PATH_MTU,
    RTT,
    RTT_MIN,
    CONGESTION_WINDOW,
    SLOW_START_THRESHOLD,
    RETRANSMITTED_SO_FAR,
    STALLED_WRITES,
    STALLED_READS,
    TCP_OPTIONS,
    ADVERTISED_MSS,
    SEND_WINDOW,
    RECEIVE_WINDOW,
];
