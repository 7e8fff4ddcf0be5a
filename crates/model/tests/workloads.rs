//! What each workload is: transport, shape, figure, size of its messages and needs.

use narrows_model::Bytes;
use narrows_model::packets::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use narrows_model::units::Unit;
use narrows_model::workload::{
    Directions, Kernel, MessageSize, Metric, Need, RdmaVerb, Transport, Workload,
};

const RDMA_WRITE: Transport = Transport::Rdma(RdmaVerb::Write);

/// The word, what carries it, its figure and which ways its bytes go.
const KINDS: [(&str, Option<Transport>, Option<Metric>, Directions); 14] = {
    use Directions::{Any, None as Nowhere, ThereAndBack};
    use Metric::{
        ConnectionRate, Goodput, Latency, LoadToUse, MemoryBandwidth, PacketRate, RoundTripP50,
    };
    use Transport::{Tcp, Udp};
    [
        ("tcp-stream", Some(Tcp), Some(Goodput), Any),
        ("udp-stream", Some(Udp), Some(Goodput), Any),
        ("rdma-write-stream", Some(RDMA_WRITE), Some(Goodput), Any),
        ("packets", Some(Udp), Some(PacketRate), Any),
        ("tcp-rr", Some(Tcp), Some(RoundTripP50), ThereAndBack),
        ("udp-rr", Some(Udp), Some(RoundTripP50), ThereAndBack),
        ("rdma-write-rr", Some(RDMA_WRITE), Some(RoundTripP50), ThereAndBack),
        ("path-probe", Some(Udp), Some(RoundTripP50), ThereAndBack),
        ("tcp-connect", Some(Tcp), Some(ConnectionRate), ThereAndBack),
        ("tcp-latency", Some(Tcp), Some(Latency), ThereAndBack),
        ("rdma-write-latency", Some(RDMA_WRITE), Some(Latency), ThereAndBack),
        ("memory-copy", None, Some(MemoryBandwidth), Nowhere),
        ("memory-latency", None, Some(LoadToUse), Nowhere),
        ("of-another-tool", None, None, Nowhere),
    ]
};

#[test]
fn a_kind_has_its_transport_figure_and_directions() {
    for (word, transport, metric, directions) in KINDS {
        let load = Workload::from(word);
        let is_memory =
            metric == Some(Metric::MemoryBandwidth) || metric == Some(Metric::LoadToUse);
        assert_eq!(load.transport(), transport, "{word}");
        assert_eq!(load.metric(), metric, "{word}");
        assert_eq!(load.directions(), directions, "{word}");
        assert_eq!(load.is_network(), transport.is_some(), "{word}");
        assert_eq!(load.is_memory(), is_memory, "{word}");
        assert_eq!(load.is_tcp(), transport == Some(Transport::Tcp), "{word}");
        assert_eq!(load.is_udp(), transport == Some(Transport::Udp), "{word}");
        assert_eq!(load.is_rdma(), transport == Some(RDMA_WRITE), "{word}");
        assert_eq!(load.verb(), load.is_rdma().then_some(RdmaVerb::Write), "{word}");
        assert_eq!(load.needs().len(), if load.is_rdma() { 3 } else { 0 }, "{word}");
    }
}

/// The words of [`KINDS`] of which something is so.
fn those(is_so: fn(&Workload) -> bool) -> Vec<&'static str> {
    let words = KINDS.map(|(word, ..)| word);
    words.into_iter().filter(|word| is_so(&Workload::from(*word))).collect()
}

#[test]
fn streams_trips_and_counted_datagrams_are_told_apart() {
    assert_eq!(those(Workload::is_stream), ["tcp-stream", "udp-stream", "rdma-write-stream"]);
    assert_eq!(those(Workload::is_round_trip), ["tcp-rr", "udp-rr", "rdma-write-rr"]);
    assert_eq!(those(Workload::counts_datagrams), ["udp-stream", "packets"]);
    let foreign = those(|load| !load.is_own());
    assert_eq!(foreign, ["tcp-latency", "rdma-write-latency", "of-another-tool"]);
    assert_eq!(
        Workload::from("rdma-send-rr").needs(),
        [Need::RdmaLibrary, Need::RdmaDevice, Need::LockedMemory]
    );
    assert_eq!(Workload::named().count(), 34);
    assert_eq!(Workload::TCP_STREAM.as_str(), "tcp-stream");
    assert_eq!(Workload::UDP_STREAM.as_str(), "udp-stream");
    assert_eq!(Workload::TCP_RR.as_str(), "tcp-rr");
    assert_eq!(Workload::UDP_RR.as_str(), "udp-rr");
    assert_eq!(format!("{:>8}|", Workload::TCP_RR), "  tcp-rr|");
    assert_eq!(Workload::from("tcp-rr".to_owned()), Workload::TCP_RR);
}

#[test]
fn a_message_is_as_small_and_large_as_its_transport_lets_it_be() {
    for (word, default, least, most) in [
        ("tcp-stream", 65_536, 1, 67_108_864),
        ("tcp-rr", 64, 1, 67_108_864),
        ("tcp-connect", 16, 1, 67_108_864),
        ("udp-stream", 1472, 16, 65_507),
        ("udp-rr", 64, 16, 65_507),
        ("path-probe", 64, 16, 65_507),
        ("rdma-write-stream", 65_536, 1, 67_108_864),
        ("rdma-write-rr", 64, 1, 67_108_864),
        ("rdma-atomic-stream", 8, 8, 67_108_864),
        ("rdma-atomic-rr", 8, 8, 67_108_864),
    ] {
        let [default, least, most] = [default, least, most].map(Bytes);
        let load = Workload::from(word);
        assert_eq!(load.message(), Some(MessageSize { default, least, most }), "{word}");
        assert_eq!(load.message_bytes(None), default, "{word}");
        assert_eq!(load.message_bytes(Some(Bytes(100))), Bytes(100), "{word}");
    }
    let (least, most) = (Bytes(FRAME_BYTES_MIN), Bytes(FRAME_BYTES_MAX));
    let frames = Some(MessageSize { default: least, least, most });
    assert_eq!(Workload::Packets.message(), frames);
    assert_eq!((Workload::MemoryLatency.message(), Workload::from("x").message()), (None, None));
    assert_eq!(Workload::MemoryLatency.message_bytes(None), Bytes(0));
}

#[test]
fn a_figure_has_its_unit_and_its_better_side() {
    for (metric, unit, larger_is_better, word) in [
        (Metric::Goodput, Unit::BitsPerSecond, true, "goodput"),
        (Metric::PacketRate, Unit::PacketsPerSecond, true, "packet-rate"),
        (Metric::MemoryBandwidth, Unit::BytesPerSecond, true, "memory-bandwidth"),
        (Metric::RoundTripP50, Unit::Nanos, false, "round-trip-p50"),
        (Metric::ConnectionRate, Unit::PerSecond, true, "connection-rate"),
        (Metric::LoadToUse, Unit::Nanos, false, "load-to-use"),
        (Metric::Latency, Unit::Nanos, false, "latency"),
        (Metric::Rate, Unit::PerSecond, true, "rate"),
        (Metric::FloatingPointRate, Unit::FlopsPerSecond, true, "floating-point-rate"),
    ] {
        assert_eq!((metric.unit(), metric.larger_is_better()), (unit, larger_is_better));
        assert_eq!(serde_json::to_string(&metric).expect("JSON"), format!("\"{word}\""));
    }
    for (unit, metric) in [
        (Unit::BytesPerSecond, Metric::MemoryBandwidth),
        (Unit::Nanos, Metric::Latency),
        (Unit::PerSecond, Metric::Rate),
        (Unit::DatagramsPerSecond, Metric::Rate),
        (Unit::PacketsPerSecond, Metric::PacketRate),
        (Unit::FlopsPerSecond, Metric::FloatingPointRate),
        (Unit::BitsPerSecond, Metric::Goodput),
        (Unit::Share, Metric::Goodput),
    ] {
        assert_eq!(Metric::of_unit(unit), metric);
    }
}

#[test]
fn verbs_and_kernels_have_one_name_each() {
    let verbs = RdmaVerb::ALL.map(RdmaVerb::name);
    assert_eq!(verbs, ["write", "write-imm", "read", "send", "atomic"]);
    for (name, verb) in [
        ("write", RdmaVerb::Write),
        ("write-imm", RdmaVerb::WriteImm),
        ("read", RdmaVerb::Read),
        ("send", RdmaVerb::Send),
        ("atomic", RdmaVerb::Atomic),
    ] {
        assert_eq!(RdmaVerb::named(name), Some(verb));
        assert_eq!(Workload::from(format!("rdma-{name}-rr").as_str()).verb(), Some(verb));
    }
    for (name, kernel) in [
        ("read", Kernel::Read),
        ("read-random", Kernel::ReadRandom),
        ("write", Kernel::Write),
        ("write-nt", Kernel::WriteNt),
        ("copy", Kernel::Copy),
        ("copy-nt", Kernel::CopyNt),
        ("memcpy", Kernel::Memcpy),
        ("triad", Kernel::Triad),
        ("triad-nt", Kernel::TriadNt),
    ] {
        assert_eq!((kernel.name(), Kernel::named(name)), (name, Some(kernel)));
        assert_eq!(Workload::from(format!("memory-{name}").as_str()), Workload::Memory(kernel));
    }
    assert_eq!((RdmaVerb::named("Write"), Kernel::named("scale")), (None, None));
}
