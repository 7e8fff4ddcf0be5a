//! Names of the rules that other code asks for. A name that no rule has any more fails the test
//! below, and one that is misspelt does not compile.

macro_rules! names {
    ($($name:ident = $word:literal,)*) => {
        $(#[allow(missing_docs)] pub const $name: &str = $word;)*
        #[cfg(test)]
        const ALL: &[&str] = &[$($word),*];
    };
}

names! {
    ACKNOWLEDGEMENTS_LOST = "acknowledgements-lost",
    ACKNOWLEDGEMENTS_SLOW = "acknowledgements-slow",
    ANSWERS_LATE = "answers-late",
    BACKLOG_DROPS = "backlog-drops",
    BURSTS_LOST = "bursts-lost",
    CONGESTION_CONTROL = "congestion-control",
    CONGESTION_MARKS = "congestion-marks",
    CONGESTION_WINDOW = "congestion-window",
    CONNECTIONS_NOT_CLOSED = "connections-not-closed",
    CONNTRACK_FULL = "conntrack-full",
    CPU_QUOTA = "cpu-quota",
    CPU_WITHHELD = "cpu-withheld",
    DATAGRAMS_DROPPED = "datagrams-dropped",
    END_STANDS_STILL = "end-stands-still",
    END_TRACED = "end-traced",
    FRAGMENTS_LOST = "fragments-lost",
    HANDSHAKE_LOSS = "handshake-loss",
    HANDSHAKE_SLOW = "handshake-slow",
    HOPS_EXCEEDED = "hops-exceeded",
    HOST_CONGESTION = "host-congestion",
    LARGE_FRAMES_LOST = "large-frames-lost",
    MESSAGE_SIZE = "message-size",
    NEIGHBOUR_CHANGED = "neighbour-changed",
    NIC_COALESCING = "nic-coalescing",
    NIC_DUPLEX = "nic-duplex",
    NIC_OFFLOADS = "nic-offloads",
    NIC_SHAPED = "nic-shaped",
    NOISY_HOST = "noisy-host",
    OTHER_INTERFACE = "other-interface",
    OTHER_TRAFFIC = "other-traffic",
    OWN_HOST_DROPS = "own-host-drops",
    OWN_QUEUE = "own-queue",
    PACKET_COST = "packet-cost",
    PACKETS_SINGLE = "packets-single",
    PATH_BAD_MEMBER = "path-bad-member",
    PATH_CAPACITY = "path-capacity",
    PATH_CAPACITY_VARIES = "path-capacity-varies",
    PATH_CLASS = "path-class",
    PATH_CORRUPTION = "path-corruption",
    PATH_DROPS_ECN = "path-drops-ecn",
    PATH_DUPLICATES = "path-duplicates",
    PATH_FLOW_LIMIT = "path-flow-limit",
    PATH_HALF_DUPLEX = "path-half-duplex",
    PATH_HOLDS_PACKETS = "path-holds-packets",
    PATH_MTU_BLACK_HOLE = "path-mtu-black-hole",
    PATH_OUTAGES = "path-outages",
    PATH_PACKET_RATE = "path-packet-rate",
    PATH_POLICED = "path-policed",
    PATH_PROTOCOL = "path-protocol",
    PATH_PROXY = "path-proxy",
    PATH_RATE_LIMIT = "path-rate-limit",
    PATH_REORDERING = "path-reordering",
    PATH_SHARED = "path-shared",
    PATH_SHORT_QUEUE = "path-short-queue",
    PATH_SLEEPS = "path-sleeps",
    PATH_VOLUME = "path-volume",
    RECEIVE_AUTOTUNING = "receive-autotuning",
    RECEIVE_MEMORY = "receive-memory",
    RECEIVE_WINDOW = "receive-window",
    RECEIVER_HOST_DROPS = "receiver-host-drops",
    ROUND_TRIP_TIME = "round-trip-time",
    ROUND_TRIPS_STALL = "round-trips-stall",
    ROUND_TRIPS_VARY = "round-trips-vary",
    SACK_IGNORED = "sack-ignored",
    SAME_CPU = "same-cpu",
    SEGMENT_SIZE = "segment-size",
    SEND_BUFFER = "send-buffer",
    SENDER_PACING = "sender-pacing",
    SLOW_START_UNFINISHED = "slow-start-unfinished",
    SOFTIRQ_BOUND = "softirq-bound",
    STACK_SETTINGS = "stack-settings",
    SUPER_PACKETS = "super-packets",
    TCP_OPTIONS_REMOVED = "tcp-options-removed",
    TCP_RETRANSMITS = "tcp-retransmits",
    TCP_SACK = "tcp-sack",
    TCP_SEND_BUFFERS = "tcp-send-buffers",
    TIMESTAMPS_REJECTED = "timestamps-rejected",
    USER_QUEUE = "user-queue",
    WINDOW_SCALING = "window-scaling",
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use crate::rules::RULES;

    #[test]
    fn every_name_is_of_a_rule() {
        for name in ALL {
            assert!(RULES.iter().any(|rule| rule.name == *name), "no rule is called {name}");
        }
    }
}
