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

/// What the runs of a trial may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    TcpSegments,
    TcpRoundTrips,
    BytesBeforeWindow,
    TcpShortestRoundTrip,
    TcpWindow,
    TcpOptions,
    TcpTimeouts,
    TripsBelowTimers,
    Tracing,
    NextHop,
    TcpMarks,
    TcpTimeAtLimits,
    TcpBytesSent,
    AcknowledgementsIn,
    AcknowledgementsOfBoth,
    PayloadSegmentsOfBoth,
    FragmentsOfBoth,
    SwitchesOfBoth,
    SettingsOfBoth,
    WrongChecksums,
    SegmentsEarly,
    SocketDrops,
    KernelRepairs,
    KernelRejects,
    FirstPackets,
    Handshakes,
    Softnet,
    UserQueue,
    SoftirqTime,
    SoftirqTimeAndPackets,
    ThreadTime,
    ThreadTimeOfBoth,
    RoundTrips,
    Rate,
    Slices,
    Messages,
    SegmentSize,
    CongestionControl,
    Interface,
    InterfaceMtu,
    SenderInterfacePackets,
    InterfacePackets,
    SenderInterfaceBytes,
    ReceiverInterfaceBytes,
    InterfaceBytes,
    PortRetries,
    PathCapacity,
    TrainRate,
    Trains,
    TrainsByExplain,
    TrainsBesideHandshakes,
    TrainsOfTwoClasses,
    TrainsWithEcn,
    TrainsWithEcnByExplain,
    TrainsBothWays,
    TrainsEvenlyPaced,
    ProbeHandshakes,
    PassingSizes,
    DatagramsIn,
    DatagramsInFragments,
    UndisturbedRuns,
    TimeWaitedForCpus,
    WindowsAtOnce,
    WindowsOfInterfaceAtOnce,
    StatesByCounters,
    StatesByCpuTime,
    MemoryCopy,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TcpSegments => "TCP's count of its segments",
            Self::TcpRoundTrips => "TCP's round trips",
            Self::TcpShortestRoundTrip => "TCP's shortest round trip",
            Self::TcpWindow => "TCP's congestion window",
            Self::TcpOptions => "TCP's agreed options",
            Self::TcpTimeouts => "TCP's count of its timeouts",
            Self::TripsBelowTimers => "round trips that are short beside TCP's timers",
            Self::Tracing => "whether the ends' programs were traced",
            Self::NextHop => "the link-layer address of the next hop",
            Self::TcpMarks => "TCP's count of congestion marks",
            Self::TcpTimeAtLimits => "TCP's count of the time at its limits",
            Self::TcpBytesSent => "bytes that TCP sent",
            Self::AcknowledgementsIn => "acknowledgements that came",
            Self::AcknowledgementsOfBoth => "both ends' counts of acknowledgements",
            Self::PayloadSegmentsOfBoth => "both ends' counts of segments with payload",
            Self::FragmentsOfBoth => "both ends' counts of fragments",
            Self::SwitchesOfBoth => "switches and acknowledgements of both ends",
            Self::SettingsOfBoth => "settings of both ends",
            Self::WrongChecksums => "the receiver's count of wrong checksums",
            Self::SegmentsEarly => "the receiver's count of segments that came early",
            Self::SocketDrops => "the kernel's drops at sockets",
            Self::KernelRepairs => "the kernel's count of its repairs",
            Self::KernelRejects => "the kernel's count of what its TCP rejected",
            Self::FirstPackets => "the kernel's count of first packets",
            Self::Handshakes => "the time of its handshakes",
            Self::Softnet => "counts of /proc/net/softnet_stat",
            Self::UserQueue => "what the ends' kernels queue to programs (root; NFQUEUE)",
            Self::SoftirqTime => "time of each CPU in software interrupts",
            Self::SoftirqTimeAndPackets => "time in software interrupts, and packets",
            Self::ThreadTime => "CPU time of the ends' threads",
            Self::ThreadTimeOfBoth => "CPU time of both ends' threads",
            Self::RoundTrips => "round trips",
            Self::Rate => "a rate",
            Self::Slices => "slices of the window",
            Self::Messages => "the number of messages",
            Self::SegmentSize => "the size of segments",
            Self::CongestionControl => "the congestion control",
            Self::Interface => "the interface in use",
            Self::InterfaceMtu => "the MTU of the interface in use",
            Self::SenderInterfacePackets => "packets of the sender's interface",
            Self::InterfacePackets => "packets of the ends' interfaces",
            Self::SenderInterfaceBytes => "bytes of the sender's interface",
            Self::BytesBeforeWindow => "bytes that TCP moved before the window",
            Self::ReceiverInterfaceBytes => "bytes of the receiver's interface",
            Self::InterfaceBytes => "bytes of the ends' interfaces",
            Self::PortRetries => "the port's counts of repeated packets",
            Self::PathCapacity => "the path's capacity by packet trains",
            Self::TrainRate => "the rate of packet trains",
            Self::Trains => "packet trains",
            Self::TrainsByExplain => "packet trains (--explain)",
            Self::TrainsOfTwoClasses => "packet trains of two classes",
            Self::TrainsWithEcn => "packet trains with ECN and without",
            Self::TrainsWithEcnByExplain => "packet trains with ECN and without (--explain)",
            Self::TrainsBothWays => "packet trains both ways at once",
            Self::TrainsEvenlyPaced => "packet trains at an even pace",
            Self::TrainsBesideHandshakes => "packet trains beside its handshakes",
            Self::ProbeHandshakes => "handshakes of a probe",
            Self::PassingSizes => "sizes of packets that pass",
            Self::DatagramsIn => "datagrams that came",
            Self::DatagramsInFragments => "datagrams in fragments",
            Self::TimeWaitedForCpus => "threads' waits for a CPU, and idle time of each CPU",
            Self::UndisturbedRuns => "undisturbed runs",
            Self::WindowsAtOnce => "windows of both ends at the same time",
            Self::WindowsOfInterfaceAtOnce => "windows at one time of all that use an interface",
            Self::StatesByCounters => "counters that tell the runs' states apart",
            Self::StatesByCpuTime => "a difference in CPU time between runs whose counters differ",
            Self::MemoryCopy => "what a copy of the host's memory reaches, as check measures it,",
        })
    }
}

/// The sort of run that would answer a rule's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    TcpCountersOfSender,
    TcpCounters,
    TcpCpuTime,
    CpuTime,
    ReceiverInterface,
    ReceiverCounters,
    StreamReceiverCounters,
    SoftwareInterface,
    KnownMtu,
    PauseFrames,
    ProbedStream,
    ProbedAnyStream,
    StreamBesideProbe,
    TcpSlices,
    Slices,
    TcpInside,
    TcpLocal,
    TcpToPeer,
    TcpOrUdp,
    Udp,
    UdpAboveMtu,
    UdpOfOtherSize,
    StreamWithOtherFlows,
    FourFlows,
    Network,
    Stream,
    Profiled,
    MemoryTraffic,
    StreamOrTripsToPeer,
    TcpLoadToPeer,
    TripsToPeer,
    TcpTrips,
    BlockingTrips,
    Rdma,
    ToPeer,
    Pinned,
    PinnedInside,
    BoundMemory,
    Connections,
    QueueCounters,
    SoftnetCounters,
    HostCpuTime,
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TcpCountersOfSender => "a TCP stream whose sender reads TCP's own counters",
            Self::TcpCounters => "a TCP stream whose ends read TCP's own counters",
            Self::TcpCpuTime => "a TCP stream whose ends read the time of each CPU",
            Self::CpuTime => "a stream whose ends read the time of each CPU",
            Self::ReceiverInterface => "a TCP stream whose receiver reads its interface",
            Self::ReceiverCounters => "a TCP stream whose receiver reads the kernel's counters",
            Self::StreamReceiverCounters => {
                "a TCP or UDP stream whose receiver reads the kernel's counters"
            }
            Self::SoftwareInterface => "a TCP stream over such an interface",
            Self::KnownMtu => "a TCP stream sent over an interface whose MTU is known",
            Self::PauseFrames => "a stream over an interface whose driver counts pause frames",
            Self::ProbedAnyStream => "a stream and a probe of its path (--explain)",
            Self::ProbedStream => "a TCP stream and a probe of its path (--explain)",
            Self::StreamBesideProbe => "a TCP stream beside a probe of its path (--explain)",
            Self::TcpSlices => "a TCP stream over slices of its window",
            Self::Slices => "a stream over slices of its window",
            Self::TcpInside => "a TCP stream inside one machine",
            Self::TcpLocal => "a local TCP stream",
            Self::TcpToPeer => "a TCP stream to another host",
            Self::TcpOrUdp => "a TCP or UDP stream",
            Self::Udp => "a UDP stream",
            Self::UdpAboveMtu => "a UDP stream with datagrams above the MTU",
            Self::UdpOfOtherSize => "the same datagrams of another size (--explain)",
            Self::StreamWithOtherFlows => "the same stream with another number of flows (-P)",
            Self::FourFlows => "a stream of four flows or more (-P)",
            Self::Network => "a run over the kernel's network",
            Self::Stream => "a stream",
            Self::Profiled => "a stream that was profiled",
            Self::MemoryTraffic => "a stream whose hosts' memory traffic was counted",
            Self::StreamOrTripsToPeer => "a stream or round trips to another host",
            Self::TcpLoadToPeer => "a stream or round trips over TCP to another host",
            Self::TripsToPeer => "round trips to another host",
            Self::TcpTrips => "round trips over TCP (--rr)",
            Self::BlockingTrips => "round trips with blocking ends",
            Self::Rdma => "a run over RDMA whose port counts repeated packets",
            Self::ToPeer => "a run over a path to another host",
            Self::Pinned => "a run pinned to CPUs, through a NIC or with memory on a known node",
            Self::PinnedInside => "a run inside one machine with both ends pinned",
            Self::BoundMemory => "a run whose memory is bound to a node",
            Self::Connections => "a run that makes connections (--connect)",
            Self::QueueCounters => "a network stream, with the counters of tc -s qdisc",
            Self::SoftnetCounters => "a network stream, with the kernel's softnet counters",
            Self::HostCpuTime => "CPU time of the host around the runs",
        })
    }
}

/// What none of the runs did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    AgreesOnMarks,
    UsesSoftwareInterface,
    LosesSegments,
    LosesSegmentsToPeer,
    IsTcpToPeer,
    PinsBothInside,
    IsStream,
    SendsSmallMessages,
    IsOneFlowInside,
    SendsFragments,
    IsOneFlow,
    ReadsQueues,
    SendsLargeMessages,
    WaitsOverTcp,
    Paces,
    IsProfiled,
    BindsMemory,
    Connects,
    SendsAtPace,
    IsHeldAtRateOfPath,
    LosesDatagramsOnPath,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AgreesOnMarks => "is a TCP stream whose ends agreed on ECN",
            Self::UsesSoftwareInterface => "sends much over an interface made of software",
            Self::LosesSegments => "is a TCP stream that loses segments",
            Self::LosesSegmentsToPeer => "is a TCP stream to another host that loses segments",
            Self::IsTcpToPeer => "is a stream or round trips over TCP to another host",
            Self::PinsBothInside => "pins both ends of a path inside one machine",
            Self::IsStream => "was a stream",
            Self::SendsSmallMessages => "sends messages smaller than half of a segment",
            Self::IsOneFlowInside => "was a TCP stream of one flow inside one machine",
            Self::SendsFragments => "sends datagrams in fragments",
            Self::IsOneFlow => "is a TCP stream of one flow",
            Self::ReadsQueues => "is a stream whose ends read their queueing disciplines",
            Self::SendsLargeMessages => "sends messages of four segments or more to another host",
            Self::WaitsOverTcp => "waits for answers over TCP",
            Self::Paces => "sends with a congestion control that paces",
            Self::IsProfiled => "was profiled (--profile)",
            Self::BindsMemory => "binds memory to a node",
            Self::Connects => "makes connections in its window",
            Self::SendsAtPace => "sends datagrams at a pace",
            Self::IsHeldAtRateOfPath => "is a TCP stream that a rate of the path holds",
            Self::LosesDatagramsOnPath => {
                "sends datagrams at a pace and loses a tenth of them on the way"
            }
        })
    }
}
