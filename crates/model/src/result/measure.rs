//! What a run would have to have measured for a rule to answer.

use crate::memory_traffic::Uncounted;
use crate::profile::NotProfiled;
use std::fmt;

/// A measurement that was not made, or not with what a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    /// Runs were measured, and what was read around them lacks something.
    In {
        lacks: Measure,
        /// Label of their trial.
        trial: String,
    },
    /// The same where nobody could count it.
    MemoryTraffic { why: Option<Uncounted>, trial: String },
    /// The same where nobody could sample the busiest end.
    Profile { why: Option<NotProfiled>, trial: String },
    /// No run is of the sort that would tell.
    Run(Needed),
    /// The same datagrams at half of their pace.
    HalfPace { trial: String },
    /// A stream with cubic beside one with the host's default.
    Cubic { default: String },
    /// What the setting in force is worth, beside cubic.
    AgainstCubic { now: String },
}

impl Unmeasured {
    /// What is missing of runs, and the label of their trial; `None` where no trial could tell it.
    pub fn of_trial(&self) -> Option<(String, &str)> {
        let (lacks, trial) = match self {
            Self::In { lacks, trial } => (lacks.to_string(), trial),
            Self::MemoryTraffic { why, trial } => (because("memory traffic", why), trial),
            Self::Profile { why, trial } => {
                (because("a profile of the end whose CPU is full", why), trial)
            }
            Self::Run(_)
            | Self::HalfPace { .. }
            | Self::Cubic { .. }
            | Self::AgainstCubic { .. } => {
                return None;
            }
        };
        Some((lacks, trial))
    }
}

/// What is missing, with the reason in brackets where there is one.
fn because(what: &str, why: &Option<impl fmt::Display>) -> String {
    why.as_ref().map_or(what.to_owned(), |why| format!("{what} ({why})"))
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((lacks, trial)) = self.of_trial() {
            return write!(f, "{lacks} in {trial}");
        }
        match self {
            Self::In { .. } | Self::MemoryTraffic { .. } | Self::Profile { .. } => Ok(()),
            Self::Run(needed) => write!(f, "{needed}"),
            Self::HalfPace { trial } => write!(f, "{trial} at half of its pace (--explain)"),
            Self::Cubic { default } => {
                write!(f, "a stream with cubic beside the default {default}")
            }
            Self::AgainstCubic { now } => {
                write!(f, "{now} was not measured against cubic: run `narrows check`")
            }
        }
    }
}

/// An enum whose variants are declared with the words that reports have for them.
macro_rules! said {
    ($(#[$of_enum:meta])* pub enum $name:ident {
        $($(#[$of_one:meta])* $one:ident = $words:literal,)*
    }) => {
        $(#[$of_enum])*
        pub enum $name {
            $($(#[$of_one])* #[doc = $words] $one,)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$one => $words,)* })
            }
        }
    };
}

said! {
    /// What the runs of a trial may lack.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Measure {
        TcpSegments = "TCP's count of its segments",
        TcpRoundTrips = "TCP's round trips",
        BytesBeforeWindow = "bytes that TCP moved before the window",
        TcpShortestRoundTrip = "TCP's shortest round trip",
        TcpWindow = "TCP's congestion window",
        TcpOptions = "TCP's agreed options",
        TcpTimeouts = "TCP's count of its timeouts",
        TripsBelowTimers = "round trips that are short beside TCP's timers",
        Tracing = "whether the ends' programs were traced",
        NextHop = "the link-layer address of the next hop",
        TcpMarks = "TCP's count of congestion marks",
        TcpTimeAtLimits = "TCP's count of the time at its limits",
        TcpBytesSent = "bytes that TCP sent",
        AcknowledgementsIn = "acknowledgements that came",
        AcknowledgementsOfBoth = "both ends' counts of acknowledgements",
        PayloadSegmentsOfBoth = "both ends' counts of segments with payload",
        FragmentsOfBoth = "both ends' counts of fragments",
        SwitchesOfBoth = "switches and acknowledgements of both ends",
        SettingsOfBoth = "settings of both ends",
        HopsExceeded = "the kernel's count of packets that ran out of hops (Icmp.InTimeExcds)",
        WrongChecksums = "the receiver's count of wrong checksums",
        SegmentsEarly = "the receiver's count of segments that came early",
        SocketDrops = "the kernel's drops at sockets",
        KernelRepairs = "the kernel's count of its repairs",
        SegmentsPassed = "what the receiver's namespace passed to TCP (Tcp.InSegs), of these flows alone",
        KernelRejects = "the kernel's count of what its TCP rejected",
        FirstPackets = "the kernel's count of first packets",
        Handshakes = "the time of its handshakes",
        Softnet = "counts of /proc/net/softnet_stat",
        UserQueue = "what both ends' kernels queue to programs (NFQUEUE, read by root alone)",
        SoftirqTime = "time of each CPU in software interrupts",
        SoftirqTimeAndPackets = "time in software interrupts, and packets",
        ThreadTime = "CPU time of the ends' threads",
        ThreadTimeOfBoth = "CPU time of both ends' threads",
        RoundTrips = "round trips",
        TripsAtOnce = "the same round trips one after the other (--explain)",
        Rate = "a rate",
        Slices = "slices of the window",
        Messages = "the number of messages",
        SegmentSize = "the size of segments",
        CongestionControl = "the congestion control",
        Interface = "the interface in use",
        NicDrops = "what the receiver's NIC drops (ethtool -S, of drivers that are known)",
        InterfaceMtu = "the MTU of the interface in use",
        SenderInterfacePackets = "packets of the sender's interface",
        InterfacePackets = "packets of the ends' interfaces",
        SenderInterfaceBytes = "bytes of the sender's interface",
        ReceiverInterfaceBytes = "bytes of the receiver's interface",
        InterfaceBytes = "bytes of the ends' interfaces",
        PortRetries = "the port's counts of repeated packets",
        PathCapacity = "the path's capacity by packet trains",
        TrainRate = "the rate of packet trains",
        Trains = "packet trains",
        TrainsByExplain = "packet trains (--explain)",
        TrainsBesideHandshakes = "packet trains beside its handshakes",
        TrainsOfTwoClasses = "packet trains of two classes",
        TrainsWithEcn = "packet trains with ECN and without",
        TrainsWithEcnByExplain = "packet trains with ECN and without (--explain)",
        TrainsBothWays = "packet trains both ways at once",
        TrainsEvenlyPaced = "packet trains at an even pace",
        ProbeHandshakes = "handshakes of a probe",
        PassingSizes = "sizes of packets that pass",
        DatagramsIn = "datagrams that came",
        DatagramsOneByOne = "the same datagrams one by one (--explain)",
        OtherProtocol = "the other of TCP and UDP over the same path (--explain)",
        DatagramsInFragments = "datagrams in fragments",
        UndisturbedRuns = "undisturbed runs",
        TimeWaitedForCpus = "threads' waits for a CPU, and idle time of each CPU",
        WindowsAtOnce = "windows of both ends at the same time",
        WindowsOfInterfaceAtOnce = "windows at one time of all that use an interface",
        StatesByCounters = "counters that tell the runs' states apart",
        StatesByCpuTime = "a difference in CPU time between runs whose counters differ",
        MemoryCopy = "what a copy of the host's memory reaches, as check measures it,",
    }
}

said! {
    /// The sort of run that would answer a rule's question.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Needed {
        TcpCountersOfSender = "a TCP stream whose sender reads TCP's own counters",
        TcpCounters = "a TCP stream whose ends read TCP's own counters",
        TcpCpuTime = "a TCP stream whose ends read the time of each CPU",
        CpuTime = "a stream whose ends read the time of each CPU",
        ReceiverInterface = "a TCP stream whose receiver reads its interface",
        ReceiverCounters = "a TCP stream whose receiver reads the kernel's counters",
        StreamReceiverCounters = "a TCP or UDP stream whose receiver reads the kernel's counters",
        SoftwareInterface = "a TCP stream over such an interface",
        KnownMtu = "a TCP stream sent over an interface whose MTU is known",
        NicWitnesses = "a stream whose receiver's NIC counts what it drops (ethtool -S)",
        PauseFrames = "a stream over an interface whose driver counts pause frames",
        ProbedStream = "a TCP stream and a probe of its path (--explain)",
        ProbedAnyStream = "a stream and a probe of its path (--explain)",
        StreamBesideProbe = "a TCP stream beside a probe of its path (--explain)",
        TcpSlices = "a TCP stream over slices of its window",
        Slices = "a stream over slices of its window",
        TcpInside = "a TCP stream inside one machine",
        TcpLocal = "a local TCP stream",
        TcpToPeer = "a TCP stream to another host",
        TcpOrUdp = "a TCP or UDP stream",
        Udp = "a UDP stream",
        UdpAboveMtu = "a UDP stream with datagrams above the MTU",
        UdpInBursts = "a UDP stream with a pace whose calls hand over many datagrams",
        OverBothProtocols = "UDP at a pace, or TCP that a rate of the path holds, and the other of both (--explain)",
        UdpOfOtherSize = "the same datagrams of another size (--explain)",
        StreamWithOtherFlows = "the same stream with another number of flows (-P)",
        FourFlows = "a stream of four flows or more (-P)",
        Network = "a run over the kernel's network",
        Stream = "a stream",
        Profiled = "a stream that was profiled",
        MemoryTraffic = "a stream whose hosts' memory traffic was counted",
        StreamOrTripsToPeer = "a stream or round trips to another host",
        TcpLoadToPeer = "a stream or round trips over TCP to another host",
        TripsToPeer = "round trips to another host",
        TripsAtTimes = "small round trips at set times (--per-second)",
        TcpTrips = "round trips over TCP (--rr)",
        BlockingTrips = "round trips with blocking ends",
        Rdma = "a run over RDMA whose port counts repeated packets",
        ToPeer = "a run over a path to another host",
        Pinned = "a run pinned to CPUs, through a NIC or with memory on a known node",
        PinnedInside = "a run inside one machine with both ends pinned",
        BoundMemory = "a run whose memory is bound to a node",
        Connections = "a run that makes connections (--connect)",
        QueueCounters = "a network stream, with the counters of tc -s qdisc",
        SoftnetCounters = "a network stream, with the kernel's softnet counters",
        HostCpuTime = "CPU time of the host around the runs",
    }
}

said! {
    /// What none of the runs did.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Activity {
        AgreesOnMarks = "is a TCP stream whose ends agreed on ECN",
        UsesSoftwareInterface = "sends much over an interface made of software",
        LosesSegments = "is a TCP stream that loses segments",
        LosesSegmentsToPeer = "is a TCP stream to another host that loses segments",
        IsTcpToPeer = "is a stream or round trips over TCP to another host",
        PinsBothInside = "pins both ends of a path inside one machine",
        IsStream = "was a stream",
        SendsSmallMessages = "sends messages smaller than half of a segment",
        IsOneFlowInside = "was a TCP stream of one flow inside one machine",
        SendsFragments = "sends datagrams in fragments",
        IsOneFlow = "is a TCP stream of one flow",
        ReadsQueues = "is a stream whose ends read their queueing disciplines",
        SendsLargeMessages = "sends messages of four segments or more to another host",
        PausesBetweenTrips = "waits for small answers at set times",
        WaitsOverTcp = "waits for answers over TCP",
        Paces = "sends with a congestion control that paces",
        IsProfiled = "was profiled (--profile)",
        BindsMemory = "binds memory to a node",
        Connects = "makes connections in its window",
        SendsBursts = "hands over many datagrams at once, at a pace",
        SendsAtPace = "sends datagrams at a pace",
        IsHeldAtRateOfPath = "is a TCP stream that a rate of the path holds",
        LosesDatagramsOnPath = "sends datagrams at a pace and loses a tenth of them on the way",
    }
}
