//! What a run would have had to measure or to do.

use super::each_has_its_words;
use narrows_model::memory_traffic::Uncounted;
use narrows_model::profile::NotProfiled;
use narrows_model::result::{Activity, Measure, Needed, Unmeasured};

const MEASURES: [(Measure, &str); 70] = [
    (Measure::TcpSegments, "TCP's count of its segments"),
    (Measure::TcpRoundTrips, "TCP's round trips"),
    (Measure::TcpShortestRoundTrip, "TCP's shortest round trip"),
    (Measure::TcpWindow, "TCP's congestion window"),
    (Measure::TcpOptions, "TCP's agreed options"),
    (Measure::TcpTimeouts, "TCP's count of its timeouts"),
    (Measure::TcpMarks, "TCP's count of congestion marks"),
    (Measure::TcpTimeAtLimits, "TCP's count of the time at its limits"),
    (Measure::TcpBytesSent, "bytes that TCP sent"),
    (Measure::AcknowledgementsIn, "acknowledgements that came"),
    (Measure::AcknowledgementsOfBoth, "both ends' counts of acknowledgements"),
    (Measure::PayloadSegmentsOfBoth, "both ends' counts of segments with payload"),
    (Measure::FragmentsOfBoth, "both ends' counts of fragments"),
    (Measure::SwitchesOfBoth, "switches and acknowledgements of both ends"),
    (Measure::SettingsOfBoth, "settings of both ends"),
    (
        Measure::HopsExceeded,
        "the kernel's count of packets that ran out of hops (Icmp.InTimeExcds)",
    ),
    (Measure::WrongChecksums, "the receiver's count of wrong checksums"),
    (Measure::SegmentsEarly, "the receiver's count of segments that came early"),
    (Measure::SocketDrops, "the kernel's drops at sockets"),
    (Measure::KernelRepairs, "the kernel's count of its repairs"),
    (
        Measure::SegmentsPassed,
        "what the receiver's namespace passed to TCP (Tcp.InSegs), of these flows alone",
    ),
    (Measure::KernelRejects, "the kernel's count of what its TCP rejected"),
    (Measure::FirstPackets, "the kernel's count of first packets"),
    (Measure::Handshakes, "the time of its handshakes"),
    (Measure::Softnet, "counts of /proc/net/softnet_stat"),
    (Measure::UserQueue, "what both ends' kernels queue to programs (NFQUEUE, read by root alone)"),
    (Measure::SoftirqTime, "time of each CPU in software interrupts"),
    (Measure::SoftirqTimeAndPackets, "time in software interrupts, and packets"),
    (Measure::ThreadTime, "CPU time of the ends' threads"),
    (Measure::ThreadTimeOfBoth, "CPU time of both ends' threads"),
    (Measure::RoundTrips, "round trips"),
    (Measure::TripsAtOnce, "the same round trips one after the other (--explain)"),
    (Measure::Rate, "a rate"),
    (Measure::Slices, "slices of the window"),
    (Measure::Messages, "the number of messages"),
    (Measure::SegmentSize, "the size of segments"),
    (Measure::CongestionControl, "the congestion control"),
    (Measure::Interface, "the interface in use"),
    (Measure::NicDrops, "what the receiver's NIC drops (ethtool -S, of drivers that are known)"),
    (Measure::InterfaceMtu, "the MTU of the interface in use"),
    (Measure::SenderInterfacePackets, "packets of the sender's interface"),
    (Measure::InterfacePackets, "packets of the ends' interfaces"),
    (Measure::SenderInterfaceBytes, "bytes of the sender's interface"),
    (Measure::BytesBeforeWindow, "bytes that TCP moved before the window"),
    (Measure::ReceiverInterfaceBytes, "bytes of the receiver's interface"),
    (Measure::InterfaceBytes, "bytes of the ends' interfaces"),
    (Measure::PortRetries, "the port's counts of repeated packets"),
    (Measure::PathCapacity, "the path's capacity by packet trains"),
    (Measure::TrainRate, "the rate of packet trains"),
    (Measure::Trains, "packet trains"),
    (Measure::TrainsByExplain, "packet trains (--explain)"),
    (Measure::TrainsOfTwoClasses, "packet trains of two classes"),
    (Measure::TrainsWithEcn, "packet trains with ECN and without"),
    (Measure::TrainsWithEcnByExplain, "packet trains with ECN and without (--explain)"),
    (Measure::TrainsBothWays, "packet trains both ways at once"),
    (Measure::TrainsEvenlyPaced, "packet trains at an even pace"),
    (Measure::TrainsBesideHandshakes, "packet trains beside its handshakes"),
    (Measure::ProbeHandshakes, "handshakes of a probe"),
    (Measure::PassingSizes, "sizes of packets that pass"),
    (Measure::DatagramsIn, "datagrams that came"),
    (Measure::DatagramsOneByOne, "the same datagrams one by one (--explain)"),
    (Measure::OtherProtocol, "the other of TCP and UDP over the same path (--explain)"),
    (Measure::DatagramsInFragments, "datagrams in fragments"),
    (Measure::TimeWaitedForCpus, "threads' waits for a CPU, and idle time of each CPU"),
    (Measure::UndisturbedRuns, "undisturbed runs"),
    (Measure::WindowsAtOnce, "windows of both ends at the same time"),
    (Measure::WindowsOfInterfaceAtOnce, "windows at one time of all that use an interface"),
    (Measure::StatesByCounters, "counters that tell the runs' states apart"),
    (Measure::StatesByCpuTime, "a difference in CPU time between runs whose counters differ"),
    (Measure::MemoryCopy, "what a copy of the host's memory reaches, as check measures it,"),
];

const NEEDED: [(Needed, &str); 44] = [
    (Needed::TcpCountersOfSender, "a TCP stream whose sender reads TCP's own counters"),
    (Needed::TcpCounters, "a TCP stream whose ends read TCP's own counters"),
    (Needed::TcpCpuTime, "a TCP stream whose ends read the time of each CPU"),
    (Needed::CpuTime, "a stream whose ends read the time of each CPU"),
    (Needed::ReceiverInterface, "a TCP stream whose receiver reads its interface"),
    (Needed::ReceiverCounters, "a TCP stream whose receiver reads the kernel's counters"),
    (
        Needed::StreamReceiverCounters,
        "a TCP or UDP stream whose receiver reads the kernel's counters",
    ),
    (Needed::SoftwareInterface, "a TCP stream over such an interface"),
    (Needed::KnownMtu, "a TCP stream sent over an interface whose MTU is known"),
    (Needed::NicWitnesses, "a stream whose receiver's NIC counts what it drops (ethtool -S)"),
    (Needed::PauseFrames, "a stream over an interface whose driver counts pause frames"),
    (Needed::ProbedAnyStream, "a stream and a probe of its path (--explain)"),
    (Needed::ProbedStream, "a TCP stream and a probe of its path (--explain)"),
    (Needed::StreamBesideProbe, "a TCP stream beside a probe of its path (--explain)"),
    (Needed::TcpSlices, "a TCP stream over slices of its window"),
    (Needed::Slices, "a stream over slices of its window"),
    (Needed::TcpInside, "a TCP stream inside one machine"),
    (Needed::TcpLocal, "a local TCP stream"),
    (Needed::TcpToPeer, "a TCP stream to another host"),
    (Needed::TcpOrUdp, "a TCP or UDP stream"),
    (Needed::Udp, "a UDP stream"),
    (Needed::UdpAboveMtu, "a UDP stream with datagrams above the MTU"),
    (Needed::UdpInBursts, "a UDP stream with a pace whose calls hand over many datagrams"),
    (
        Needed::OverBothProtocols,
        "UDP at a pace, or TCP that a rate of the path holds, and the other of both (--explain)",
    ),
    (Needed::UdpOfOtherSize, "the same datagrams of another size (--explain)"),
    (Needed::StreamWithOtherFlows, "the same stream with another number of flows (-P)"),
    (Needed::Stream, "a stream"),
    (Needed::Profiled, "a stream that was profiled"),
    (Needed::MemoryTraffic, "a stream whose hosts' memory traffic was counted"),
    (Needed::StreamOrTripsToPeer, "a stream or round trips to another host"),
    (Needed::TcpLoadToPeer, "a stream or round trips over TCP to another host"),
    (Needed::TripsToPeer, "round trips to another host"),
    (Needed::TripsAtTimes, "small round trips at set times (--per-second)"),
    (Needed::TcpTrips, "round trips over TCP (--rr)"),
    (Needed::BlockingTrips, "round trips with blocking ends"),
    (Needed::Rdma, "a run over RDMA whose port counts repeated packets"),
    (Needed::ToPeer, "a run over a path to another host"),
    (Needed::Pinned, "a run pinned to CPUs, through a NIC or with memory on a known node"),
    (Needed::PinnedInside, "a run inside one machine with both ends pinned"),
    (Needed::BoundMemory, "a run whose memory is bound to a node"),
    (Needed::Connections, "a run that makes connections (--connect)"),
    (Needed::QueueCounters, "a network stream, with the counters of tc -s qdisc"),
    (Needed::SoftnetCounters, "a network stream, with the kernel's softnet counters"),
    (Needed::HostCpuTime, "CPU time of the host around the runs"),
];

const ACTIVITIES: [(Activity, &str); 23] = [
    (Activity::AgreesOnMarks, "is a TCP stream whose ends agreed on ECN"),
    (Activity::UsesSoftwareInterface, "sends much over an interface made of software"),
    (Activity::LosesSegments, "is a TCP stream that loses segments"),
    (Activity::LosesSegmentsToPeer, "is a TCP stream to another host that loses segments"),
    (Activity::IsTcpToPeer, "is a stream or round trips over TCP to another host"),
    (Activity::PinsBothInside, "pins both ends of a path inside one machine"),
    (Activity::IsStream, "was a stream"),
    (Activity::SendsSmallMessages, "sends messages smaller than half of a segment"),
    (Activity::IsOneFlowInside, "was a TCP stream of one flow inside one machine"),
    (Activity::SendsFragments, "sends datagrams in fragments"),
    (Activity::IsOneFlow, "is a TCP stream of one flow"),
    (Activity::ReadsQueues, "is a stream whose ends read their queueing disciplines"),
    (Activity::SendsLargeMessages, "sends messages of four segments or more to another host"),
    (Activity::PausesBetweenTrips, "waits for small answers at set times"),
    (Activity::WaitsOverTcp, "waits for answers over TCP"),
    (Activity::Paces, "sends with a congestion control that paces"),
    (Activity::IsProfiled, "was profiled (--profile)"),
    (Activity::BindsMemory, "binds memory to a node"),
    (Activity::Connects, "makes connections in its window"),
    (Activity::SendsBursts, "hands over many datagrams at once, at a pace"),
    (Activity::SendsAtPace, "sends datagrams at a pace"),
    (Activity::IsHeldAtRateOfPath, "is a TCP stream that a rate of the path holds"),
    (
        Activity::LosesDatagramsOnPath,
        "sends datagrams at a pace and loses a tenth of them on the way",
    ),
];

#[test]
fn a_measure_a_run_and_an_activity_have_words_of_their_own() {
    each_has_its_words(&MEASURES);
    each_has_its_words(&NEEDED);
    each_has_its_words(&ACTIVITIES);
}

#[test]
fn what_was_not_measured_names_the_trial_and_what_would_tell() {
    let trial = || "tcp-stream".to_owned();
    let paranoid = Some(2);
    each_has_its_words(&[
        (
            Unmeasured::In { lacks: Measure::TcpWindow, trial: trial() },
            "TCP's congestion window in tcp-stream",
        ),
        (
            Unmeasured::MemoryTraffic { why: Some(Uncounted::Owner), trial: trial() },
            "memory traffic (the agent's owner does not let it (narrows serve --profile does)) in \
             tcp-stream",
        ),
        (Unmeasured::MemoryTraffic { why: None, trial: trial() }, "memory traffic in tcp-stream"),
        (
            Unmeasured::Profile {
                why: Some(NotProfiled::Denied { paranoid, capable: false }),
                trial: trial(),
            },
            "a profile of the end whose CPU is full (kernel.perf_event_paranoid is 2: without \
             CAP_PERFMON the kernel is sampled at 1 or below only) in tcp-stream",
        ),
        (
            Unmeasured::Profile { why: None, trial: trial() },
            "a profile of the end whose CPU is full in tcp-stream",
        ),
        (Unmeasured::Run(Needed::Udp), "a UDP stream"),
        (
            Unmeasured::HalfPace { trial: "udp-stream".to_owned() },
            "udp-stream at half of its pace (--explain)",
        ),
        (
            Unmeasured::Cubic { default: "bbr".to_owned() },
            "a stream with cubic beside the default bbr",
        ),
        (
            Unmeasured::AgainstCubic { now: "bbr".to_owned() },
            "bbr was not measured against cubic: run `narrows check`",
        ),
    ]);
}
