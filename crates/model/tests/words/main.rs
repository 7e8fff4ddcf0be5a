//! What rules, reports and files say of each case, in the words that people and programs read.

mod measured;

use narrows_model::container::{Container, Tool};
use narrows_model::host::Topic;
use narrows_model::memory_queues::QueueEvent;
use narrows_model::memory_traffic::{MostCarried, Quantity, Uncounted};
use narrows_model::profile::{Gap as ProfileGap, NotProfiled, SampledBy};
use narrows_model::record::{Lost, LostBy, Stage};
use narrows_model::result::{
    Activity, Answer, Devices, FamilyFor, Gap, Inapplicable, Missing, Needed, NotSo, PopulationGap,
    PredictedPath, Provenance, ResourceAt, ResourceName, Unclear, Unmeasured,
};
use narrows_model::units::NotAQuantity;
use narrows_model::{Bytes, Fact, Nanos};
use std::fmt::Display;

const DEVICES: [(Devices, &str); 6] = [
    (Devices::NicUp, "NIC that is up"),
    (Devices::FastNic, "NIC of 10 Gb/s or more that is up"),
    (Devices::FastNicOnPci, "NIC of 25 Gb/s or more that is up, on PCI"),
    (Devices::PhysicalNic, "NIC with a device behind it"),
    (Devices::NicOnPci, "NIC on PCI"),
    (Devices::Rdma, "RDMA device"),
];

const NOT_SO: [(NotSo, &str); 16] = [
    (NotSo::SourcesAgree, "all descriptions agree"),
    (NotSo::NoCpu, "there is no CPU"),
    (NotSo::OneNode, "this host has one node"),
    (NotSo::CpusOnOneNode, "all CPUs are on one node"),
    (NotSo::NoMemory, "there is no memory"),
    (NotSo::NoIsolatedCpu, "no CPU is kept free of other work"),
    (NotSo::AllIsolated, "every CPU is kept free: interrupts have nowhere else to go"),
    (NotSo::NoStackSetting, "none of these settings is there"),
    (NotSo::NoSharedLink, "no link with a network port is shared"),
    (NotSo::NoSlotWithLanes, "no NIC is in a slot whose lanes firmware reports"),
    (NotSo::NoPathToPeer, "no path to another host was measured"),
    (NotSo::NoConntrack, "connections are not tracked"),
    (NotSo::NoSharedSwitch, "no NIC and accelerator share a PCIe switch"),
    (NotSo::NoCongestionControl, "no congestion control is in use"),
    (NotSo::NoModuleOption, "modprobe.d has no option of a NIC's driver or of RDMA that is loaded"),
    (NotSo::NotVirtual, "nothing shows that this is a virtual machine"),
];

const TOPICS: [(Topic, &str); 17] = [
    (Topic::Sockets, "processor sockets"),
    (Topic::Cores, "cores"),
    (Topic::Cpus, "CPUs online"),
    (Topic::Nodes, "NUMA nodes"),
    (Topic::NodeCpus, "CPUs of the node"),
    (Topic::MemoryBytes, "memory"),
    (Topic::Modules, "memory modules"),
    (Topic::Kernel, "kernel"),
    (Topic::Link, "PCIe link"),
    (Topic::PacketSizes, "PCIe packet sizes"),
    (Topic::DeviceNode, "NUMA node"),
    (Topic::Driver, "driver"),
    (Topic::Address, "PCI address"),
    (Topic::Speed, "link rate"),
    (Topic::Mtu, "MTU"),
    (Topic::State, "state"),
    (Topic::Firmware, "firmware"),
];

const QUANTITIES: [(Quantity, &str); 9] = [
    (Quantity::Read, "read from memory"),
    (Quantity::Written, "written to memory"),
    (Quantity::ReadAndWritten, "read from and written to memory"),
    (Quantity::SocketLinkSent, "sent over links between sockets"),
    (Quantity::DeviceWritten, "written by devices"),
    (Quantity::DeviceWrittenMissed, "written by devices past the last-level cache"),
    (Quantity::CacheMissed, "brought to the cores past the last-level cache"),
    (Quantity::OwnThreads, "memory traffic of the end's threads"),
    (Quantity::OwnThreadsLocal, "memory traffic of the end's threads, same node"),
];

const QUEUES: [(QueueEvent, &str); 15] = [
    (QueueEvent::MemoryCycles, "cycles of the memory controllers"),
    (QueueEvent::WriteFull, "cycles with a full write queue"),
    (QueueEvent::WriteOccupancy, "lines in the write queues"),
    (QueueEvent::WriteInserts, "lines put into the write queues"),
    (QueueEvent::ReadOccupancy, "lines in the read queues"),
    (QueueEvent::ReadInserts, "lines put into the read queues"),
    (QueueEvent::RowsOpened, "rows opened"),
    (QueueEvent::CacheCycles, "cycles of the cache slices"),
    (QueueEvent::DeviceWriteOccupancy, "device writes in flight"),
    (QueueEvent::DeviceReadOccupancy, "device reads in flight"),
    (QueueEvent::DeviceReadInserts, "lines that devices read"),
    (QueueEvent::RootCycles, "cycles of the root complexes"),
    (QueueEvent::RootOccupancy, "lines in the root complexes"),
    (QueueEvent::RootWrites, "lines that root complexes write"),
    (QueueEvent::RootReads, "lines that root complexes read"),
];

const UNCLEAR: [(Unclear, &str); 8] = [
    (Unclear::MemoryOfModulesOrNodes, "memory of the modules or of the nodes"),
    (Unclear::EveryModuleSize, "the size of every module"),
    (Unclear::AnyModuleSize, "the size of any module"),
    (Unclear::ModuleSpeeds, "the rated and configured speed of every module"),
    (Unclear::NicRates, "no NIC here tells its rate"),
    (Unclear::PlacesOfCpus, "which CPUs are on which socket and node is unknown"),
    (Unclear::NotOnPci, "it is not on PCI"),
    (Unclear::DisciplinesUnderMq, "the disciplines under mq are not read: `tc qdisc show`"),
];

/// Each case has its words.
fn each_has_its_words<T: Display>(table: &[(T, &str)]) {
    for (case, words) in table {
        assert_eq!(case.to_string(), *words);
    }
}

#[test]
fn devices_states_topics_and_quantities_have_words_of_their_own() {
    each_has_its_words(&DEVICES);
    each_has_its_words(&NOT_SO);
    each_has_its_words(&TOPICS);
    each_has_its_words(&QUANTITIES);
    each_has_its_words(&QUEUES);
    for (quantity, words) in QUANTITIES {
        assert_eq!(quantity.says(), words);
    }
    assert_eq!(NotSo::Cpus(2).to_string(), "this host has 2 CPUs");
    assert_eq!(
        NotSo::ModulesOfGuest("QEMU").to_string(),
        "the modules are those that QEMU tells a virtual machine of"
    );
}

#[test]
fn a_question_that_does_not_arise_says_why_in_words_and_in_json() {
    let (name, from) = ("tcp_adv".to_owned(), "/proc/sys".to_owned());
    for (why, words, json) in [
        (
            Inapplicable::NoSetting { name, from },
            "this kernel has no tcp_adv (/proc/sys)",
            r#"{"reason":"no-setting","name":"tcp_adv","from":"/proc/sys"}"#,
        ),
        (
            Inapplicable::NoDevice { of: Devices::FastNic },
            "this host has no NIC of 10 Gb/s or more that is up",
            r#"{"reason":"no-device","of":"NIC of 10 Gb/s or more that is up"}"#,
        ),
        (
            Inapplicable::NoRun { that: Activity::BindsMemory },
            "no run binds memory to a node",
            r#"{"reason":"no-run","that":"binds memory to a node"}"#,
        ),
        (
            Inapplicable::NotSo { because: NotSo::OneNode },
            "this host has one node",
            r#"{"reason":"not-so","because":"this host has one node"}"#,
        ),
    ] {
        assert_eq!(why.to_string(), words);
        assert_eq!(serde_json::to_string(&why).expect("JSON"), json);
    }
}

#[test]
fn a_missing_fact_says_whether_it_is_unread_absent_denied_or_garbled() {
    let denied: Fact<u32> = Fact::Denied { from: narrows_model::Source("/a".to_owned()) };
    for (fact, gap, words) in [
        (Fact::default(), "not-read", "speed: not read"),
        (Fact::absent("/a"), "absent", "speed: not reported by this machine (/a)"),
        (Fact::said_absent("/a", "-1"), "absent", "speed: not reported by this machine (/a)"),
        (Fact::known(1, "/a"), "absent", "speed: not reported by this machine (/a)"),
        (denied, "denied", "speed: no permission to read /a"),
        (Fact::malformed("/a", "x"), "malformed", "speed: /a is not understood: x"),
    ] {
        let missing = Missing::fact("speed", &fact);
        assert_eq!(missing.to_string(), words);
        let json = serde_json::to_value(&missing).expect("JSON");
        assert_eq!(
            (json["lacks"].as_str(), json["gap"]["gap"].as_str()),
            (Some("fact"), Some(gap))
        );
    }
    let unread = Missing::Fact { name: "speed".to_owned(), gap: Gap::NotRead };
    assert_eq!(Missing::unread("speed"), unread);
    assert_eq!(Missing::malformed("mtu", "/b", "y").to_string(), "mtu: /b is not understood: y");
}

#[test]
fn what_is_missing_of_another_host_names_it_but_for_runs() {
    let at = |missing: Missing| missing.at("b7").to_string();
    assert_eq!(at(Missing::unread("speed")), "speed at b7: not read");
    assert_eq!(at(Unmeasured::Run(Needed::Stream).into()), "a stream");
    assert_eq!(at(Unclear::AnyModuleSize.into()), "the size of any module at b7");
    let json = |missing: Missing| serde_json::to_string(&missing).expect("JSON");
    assert_eq!(
        json(Unmeasured::Run(Needed::Udp).into()),
        r#"{"lacks":"measurement","of":"a UDP stream"}"#
    );
    assert_eq!(json(Unclear::NotOnPci.into()), r#"{"lacks":"knowledge","of":"it is not on PCI"}"#);
}

#[test]
fn what_does_not_follow_names_its_nic_link_or_count() {
    each_has_its_words(&UNCLEAR);
    let nic = || "eth0".to_owned();
    each_has_its_words(&[
        (Unclear::Population(PopulationGap::Modules), "a memory module in any slot"),
        (Unclear::OtherModuleSizes(3), "the size of 3 other modules"),
        (
            Unclear::PathPayload { nic: nic() },
            "payload that every function on the path to eth0 supports",
        ),
        (Unclear::PathLinks { nic: nic() }, "link state on the path to eth0"),
        (Unclear::SlotLink { nic: nic() }, "the link of the slot of eth0"),
        (
            Unclear::LinkLimit { address: "0000:3b:00.0".to_owned() },
            "the most that the link to 0000:3b:00.0 can do",
        ),
        (Unclear::LinkPayload { link: "the uplink".to_owned() }, "what the uplink carries"),
    ]);
}

#[test]
fn a_population_says_what_it_lacks_with_its_numbers_in_order() {
    let (family, slot) = ("Skylake-SP".to_owned(), || "A1".to_owned());
    each_has_its_words(&[
        (PopulationGap::Slots("not read".to_owned()), "memory slots: not read"),
        (
            PopulationGap::SlotsOfProcessors { told: 1, fitted: 2 },
            "the slots of every processor: firmware lists those of 1 of 2",
        ),
        (
            PopulationGap::ChannelOf(slot()),
            "the channel of slot 'A1', which its name does not tell",
        ),
        (PopulationGap::SizeOf(slot()), "the size of the module in A1: firmware does not know it"),
        (
            PopulationGap::Family(FamilyFor::EmptyChannels),
            "the processor's family, to know which channels are empty",
        ),
        (
            PopulationGap::Family(FamilyFor::NamelessSlots),
            "the processor's family, to know how many channels the empty slots that firmware does \
             not name are on",
        ),
        (PopulationGap::Family(FamilyFor::Sets), "the processor's family"),
        (
            PopulationGap::MoreChannels { socket: 1, named: 8, family: family.clone(), has: 6 },
            "why socket 1 has 8 channels where Skylake-SP has 6",
        ),
        (PopulationGap::WaysOf(family), "how Skylake-SP interleaves"),
        (
            PopulationGap::Controllers { socket: 1, named: 4, all: 6 },
            "which memory controller of socket 1 has which channel: firmware names 4 of 6",
        ),
    ]);
}

#[test]
fn a_number_says_where_it_comes_from() {
    let at = || "STREAM".to_owned();
    for (provenance, word, words) in [
        (Provenance::Measured(at()), "measured", "measured here: STREAM"),
        (Provenance::Read(at()), "read", "read from the host"),
        (Provenance::Given(at()), "given", "given"),
        (Provenance::DataSheet(at()), "data sheet", "data sheet: STREAM"),
        (Provenance::Fitted(at()), "fitted", "fitted on STREAM"),
        (Provenance::Assumed(at()), "assumed", "assumed: STREAM"),
    ] {
        assert_eq!((provenance.word(), provenance.at()), (word, "STREAM"));
        assert_eq!(provenance.to_string(), words);
    }
    assert_eq!(Provenance::Assumed(String::new()).to_string(), "assumed");
}

#[test]
fn traffic_that_nobody_counted_says_why() {
    let (pmu, event) = (|| "uncore_imc_0".to_owned(), || "CAS_COUNT.RD".to_owned());
    let what = || "sample".to_owned();
    each_has_its_words(&[
        (
            Uncounted::NoPmu { inside: Some("a guest of KVM".to_owned()) },
            "no counters of the memory controllers here: a guest of KVM",
        ),
        (
            Uncounted::NoPmu { inside: None },
            "no counters of the memory controllers in /sys/bus/event_source/devices",
        ),
        (
            Uncounted::UnknownFamily { processor: "GenuineIntel-6-1".to_owned() },
            "no event file is of this processor (GenuineIntel-6-1)",
        ),
        (Uncounted::NotSourced { what: what() }, "no public source says sample"),
        (
            Uncounted::Denied { paranoid: Some(2) },
            "kernel.perf_event_paranoid is 2: without CAP_PERFMON whole processors are counted at \
             0 or below only",
        ),
        (
            Uncounted::Denied { paranoid: None },
            "the kernel denies perf_event_open(2) without CAP_PERFMON",
        ),
        (
            Uncounted::Impossible {
                bytes_per_second: 4_585_000_000_000,
                most: MostCarried::Channels { bytes_per_second: 51_200_000_000 },
            },
            "the counts are impossible and not used: 4585.0 GB/s, where the populated channels \
             carry 51.2 GB/s",
        ),
        (
            Uncounted::Impossible {
                bytes_per_second: 1_000_000_000_000,
                most: MostCarried::Copy { bytes_per_second: 10_000_000_000 },
            },
            "the counts are impossible and not used: 1000.0 GB/s, where the fastest copy moved \
             10.0 GB/s",
        ),
        (Uncounted::Owner, "the agent's owner does not let it (narrows serve --profile does)"),
        (
            Uncounted::PmuMissing { pmus: vec!["uncore_upi_*".to_owned(), "upi".to_owned()] },
            "no PMU uncore_upi_* or upi here",
        ),
        (Uncounted::PmuUnclear { pmu: pmu(), what: what() }, "uncore_imc_0: sample"),
        (
            Uncounted::NotOpened { pmu: pmu(), event: event(), errno: 22 },
            "uncore_imc_0: CAS_COUNT.RD could not be opened (error 22)",
        ),
        (
            Uncounted::Vanished { pmu: pmu(), event: event() },
            "uncore_imc_0: CAS_COUNT.RD gave no count at the end: the counter was lost, or never \
             ran",
        ),
        (Uncounted::BadFile { what: what() }, "event file: sample"),
        (Uncounted::ResctrlUnavailable { what: what() }, "resctrl: sample"),
    ]);
}

#[test]
fn an_end_without_a_profile_says_which_right_it_lacks() {
    each_has_its_words(&[
        (
            NotProfiled::Denied { paranoid: Some(2), capable: true },
            "the kernel denies perf_event_open(2) to a process with the right to it: a filter of \
             system calls, as containers have, or a security module",
        ),
        (
            NotProfiled::Denied { paranoid: None, capable: false },
            "the kernel denies perf_event_open(2) without CAP_PERFMON",
        ),
        (NotProfiled::NoEvents, "this kernel has no performance events"),
        (
            NotProfiled::NoMemory,
            "the buffers for samples are more than kernel.perf_event_mlock_kb lets be locked",
        ),
        (NotProfiled::System { errno: 22 }, "perf_event_open(2) failed with error 22"),
        (NotProfiled::Owner, "the agent's owner does not let it (narrows serve --profile does)"),
    ]);
}

#[test]
fn a_profile_says_what_it_could_not_see() {
    each_has_its_words(&[
        (
            ProfileGap::NoCycles,
            "no cycle counter here, sampled by the kernel's timer: time with interrupts off shows \
             where they come on again",
        ),
        (
            ProfileGap::KernelHidden,
            "the kernel hides its addresses (kernel.kptr_restrict): its functions have no names",
        ),
        (
            ProfileGap::OnlyOwnThreads,
            "only the end's own threads could be sampled: interrupts on other CPUs are missing",
        ),
        (ProfileGap::Cpus(vec![3, 5]), "CPUs that went offline or came online: 3, 5"),
        // In thousandths.
        (
            ProfileGap::Multiplexed(625),
            "the cycle counter is shared: it counted in 62.5 % of the window",
        ),
        (ProfileGap::Throttled(4), "the kernel held sampling back 4 times: it took too long"),
        (
            ProfileGap::Slow(250),
            "kernel.perf_event_max_sample_rate allows 250 samples a second only",
        ),
    ]);
    assert_eq!((SampledBy::Cycles.name(), SampledBy::CpuClock.name()), ("cycles", "cpu-clock"));
}

#[test]
fn an_end_that_was_lost_says_what_became_of_it() {
    let group = || "/job".to_owned();
    each_has_its_words(&[
        (
            LostBy::OutOfMemory { group: group(), limit_bytes: Some(Bytes::mib(512)) },
            "killed by the kernel: out of memory in cgroup /job, limit 512 MiB",
        ),
        (
            LostBy::OutOfMemory { group: group(), limit_bytes: None },
            "killed by the kernel: out of memory in cgroup /job, which has no limit: the host was \
             out of memory",
        ),
        (LostBy::Killed { signal: 9 }, "the worker process ended early (signal: 9)"),
        (LostBy::Exited { code: 2 }, "the worker process ended early (exit status: 2)"),
        (LostBy::Silent { waited_ns: Nanos(1_500_000_000) }, "an end did not answer in 1.5s"),
        (LostBy::Failed { why: "no route".to_owned() }, "no route"),
    ]);
    let lost = Lost { at: Stage::Prepare, cause: LostBy::Exited { code: 2 } };
    let text = r#"{"at":"prepare","cause":"exited","code":2}"#;
    assert_eq!(serde_json::to_string(&lost).expect("JSON"), text);
    assert_eq!(serde_json::from_str::<Lost>(text).expect("a lost end"), lost);
}

#[test]
fn a_path_is_named_by_its_ends_or_by_what_carries_it() {
    let inside = [
        (PredictedPath::Loopback, "this host's stack (loopback)"),
        (PredictedPath::Memory, "memory"),
        (PredictedPath::Stack, "this host's stack"),
        (PredictedPath::Veth, "this host's stack (veth)"),
    ];
    let outside = [
        (PredictedPath::Between(["a".to_owned(), "b".to_owned()]), "a to b"),
        (PredictedPath::Interface("eth0".to_owned()), "eth0"),
        (PredictedPath::ToPeer, "to the peer"),
    ];
    each_has_its_words(&inside);
    each_has_its_words(&outside);
    assert!(inside.iter().all(|(path, _)| path.is_inside()));
    assert!(!outside.iter().any(|(path, _)| path.is_inside()));
}

#[test]
fn a_resource_seen_from_the_other_end_is_the_peers_once() {
    let own = ResourceAt::Own(ResourceName::Cpu);
    let peers = ResourceAt::Peer(ResourceName::Cpu);
    assert_eq!(own.clone().at_peer(), peers);
    assert_eq!(peers.clone().at_peer(), peers);
    assert_eq!((own.name(), peers.name()), (Some(ResourceName::Cpu), Some(ResourceName::Cpu)));
    let other = ResourceAt::Other("fan".to_owned());
    assert_eq!((other.clone().at_peer(), other.name()), (other, None));
}

#[test]
fn a_text_that_is_no_quantity_is_quoted() {
    each_has_its_words(&[
        (NotAQuantity::Number("x".to_owned()), "'x' is not a number with an optional K, M or G"),
        (NotAQuantity::Size("-1".to_owned()), "'-1' is not a size"),
        (NotAQuantity::WholeBytes("0.5".to_owned()), "'0.5' is not a whole number of bytes"),
    ]);
}

#[test]
fn a_verdicts_answers_are_shown_in_one_order() {
    let words = Answer::ALL.map(|answer| answer.to_string());
    assert_eq!(words, ["found", "clear", "not applicable", "unknown"]);
}

#[test]
fn a_container_takes_another_network_unless_it_has_the_hosts() {
    let image = |tool, network: &str| Container::Image {
        tool,
        image: "debian:12".to_owned(),
        network: network.to_owned(),
    };
    let podman = image(Tool::Podman, "host");
    assert_eq!(podman.clone().in_network("bridge"), image(Tool::Podman, "bridge"));
    assert_eq!(Container::Bwrap.in_network("bridge"), Container::Bwrap);
    assert_eq!((podman.program(), Container::Bwrap.program()), ("podman", "bwrap"));
    assert_eq!(image(Tool::Docker, "host").program(), "docker");
}
