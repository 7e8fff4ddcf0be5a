//! Simulated machines whose causes are known: healthy ones, one cause, and every two at once, with
//! noise in what they measured. The rules must name what was planted and nothing else; what they
//! named stands in `confusion.txt` (NARROWS_GOLDEN=write makes it anew).

#[path = "simulated/causes.rs"]
mod causes;
mod common;
#[path = "simulated/hops.rs"]
mod hops;
#[path = "simulated/nics.rs"]
mod nics;
#[path = "simulated/trips.rs"]
mod trips;

use causes::{CAUSES, Cause, OF_THE_PATH};
use common::{is_as_kept, kept};
use narrows_explain::{Case, judge, limits};
use narrows_model::host::*;
use narrows_model::load::{
    EndReport, FlowTally, Interval, Params, StreamParams, ThreadUsage, Timeline,
};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::result::Verdict;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{BitsPerSecond, Bytes, Fact, Nanos};
use std::collections::{BTreeMap, BTreeSet};

const SECOND_NS: u64 = 1_000_000_000;
const RUNS: u32 = 6;

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Noise(u64);

impl Noise {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    /// A number within three per cent.
    fn about(&mut self, number: f64) -> u64 {
        (number * (0.97 + 0.06 * self.share())) as u64
    }
}

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "simulated")
}

/// Two sockets of eight CPUs, six channels with a module each, a 100 Gb/s card on the second.
fn machine() -> Host {
    let mut host = Host::default();
    let place = |cpu: u32| CpuPlace {
        cpu,
        package: Some(cpu / 8),
        core: Some(cpu % 8),
        node: Some(cpu / 8),
        ..CpuPlace::default()
    };
    host.cpu.places = (0..16).map(place).collect();
    host.cpu.online = known((0..16).collect());
    host.cpu.allowed = known((0..16).collect());
    host.cpu.caches = vec![Cache {
        level: 3,
        kind: "Unified".into(),
        size_bytes: Bytes(22 << 20),
        cpus: (0..8).collect(),
    }];
    let node = |id: u32| Node {
        id,
        cpus: (8 * id..8 * id + 8).collect(),
        memory_bytes: known(Bytes::gib(96)),
        distances: known(vec![10, 21]),
        ..Node::default()
    };
    host.nodes = (0..2).map(node).collect();
    host.memory.total_bytes = known(Bytes::gib(192));
    let slot = |socket: u32, channel: &str| Slot {
        locator: format!("CPU{} {channel}1", socket + 1),
        at: Some(SlotPlace { socket, channel: channel.into(), controller: None }),
        module: Some(Module {
            size_bytes: Some(Bytes::gib(16)),
            technology: "DDR4".into(),
            is_dram: true,
            rated_mts: Some(2933),
            configured_mts: Some(2933),
            ranks: Some(2),
        }),
        ..Slot::default()
    };
    let channels = ["A", "B", "C", "D", "E", "F"];
    let slots = (0..2).flat_map(|socket| channels.map(|channel| slot(socket, channel)));
    host.memory.slots = known(slots.collect());
    host.nics = vec![card()];
    for (name, value) in [
        ("cpu.driver", "intel_pstate"),
        ("cpu.governor", "performance"),
        ("cpu.turbo", "on"),
        ("iommu", "DMA-FQ for 41 groups"),
        ("kernel.numa_balancing", "1"),
        ("kernel.sched_rt_runtime_us", "950000"),
        ("kernel.clocksource", "tsc"),
        ("mm.transparent_hugepage", "always [madvise] never"),
        ("net.core.rmem_max", "33554432"),
        ("net.core.netdev_budget", "300"),
        ("net.ipv4.ip_local_port_range", "32768 60999"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
        ("net.ipv4.tcp_wmem", "4096 65536 33554432"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.ipv4.tcp_sack", "1"),
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("pci.aspm-policy", "[default] performance powersave powersupersave"),
        ("vm.zone_reclaim_mode", "0"),
    ] {
        host.tuning.insert(name.into(), known(value.into()));
    }
    host
}

fn card() -> Nic {
    let link = PciLink { speed_gts: 8.0, width: 16, speed_max_gts: 8.0, width_max: 16 };
    let express = Express {
        max_payload_bytes: Bytes(256),
        max_payload_supported_bytes: Bytes(256),
        max_read_request_bytes: Bytes(512),
        ..Express::default()
    };
    let hop = |address: &str| PciHop {
        address: address.into(),
        class: known(0x02_0000),
        link: known(link),
        express: known(express),
        ..PciHop::default()
    };
    let on = ["tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro", "rx-checksum"];
    Nic {
        name: "e0".into(),
        physical: true,
        driver: known("mlx5_core".into()),
        speed_bps: known(BitsPerSecond(100e9)),
        state: known("up".into()),
        mtu_bytes: known(Bytes(9000)),
        node: known(1),
        path: vec![hop("0000:80:00.0"), hop("0000:81:00.0")],
        irq_cpus: known((8..16).collect()),
        queues: known(Queues { rx: 8, tx: 8 }),
        duplex: known("full".into()),
        qdisc: known("mq".into()),
        rings: known(Rings { rx: 1024, rx_max: 8192, tx: 1024, tx_max: 8192 }),
        offloads: known(on.map(|name| (name.to_owned(), true)).into()),
        ..Nic::default()
    }
}

fn trial(kind: &str) -> Trial {
    let timeline = Timeline {
        warmup_ns: Nanos(0),
        window_ns: Nanos(SECOND_NS),
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    Trial {
        id: TrialId(kind.into()),
        label: kind.into(),
        kind: kind.into(),
        params: Params {
            stream: Some(StreamParams::default()),
            ..Params::of_network(Bytes(65_536), 1)
        },
        ends: EndSpec::pair(Placement::on([9]), Placement::on([9]), false),
        path: NetworkPath::Peer,
        timeline,
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

fn end(noise: &mut Noise, sends: bool, machine: &str) -> EndReport {
    let bytes = Bytes(noise.about(5e9));
    let messages = noise.about(70_000.0);
    let thread = ThreadUsage {
        wall_ns: Nanos(SECOND_NS),
        system_ns: Nanos(noise.about(0.6e9)),
        ..ThreadUsage::default()
    };
    let mut end = EndReport {
        window_ns: Nanos(SECOND_NS),
        flows: vec![FlowTally { bytes, messages, sends, ..FlowTally::default() }],
        threads: vec![thread],
        ..EndReport::default()
    };
    let slice = |number: u64| Interval {
        start_ns: Nanos(number * SECOND_NS / 10),
        length_ns: Nanos(SECOND_NS / 10),
        bytes: Bytes(bytes.0 / 10),
    };
    end.intervals = (0..10).map(slice).collect();
    end.effective.interface = Some("e0".into());
    end.effective.machine = Some(machine.into());
    end.effective.mss_bytes = Some(8948);
    let mut set = |source: &str, key: &str, value: u64| {
        end.readings.put_words(source, key, value);
    };
    set("tcp-info", "flow0.retransmitted_segments", noise.about(2.0));
    set("tcp-info", "flow0.limited_by_receive_window_ns", noise.about(2e7));
    set("tcp-info", "flow0.limited_by_send_buffer_ns", noise.about(2e7));
    set("tcp-info", "flow0.rtt_min_ns", noise.about(40_000.0));
    set("tcp-info", "flow0.rtt_ns", noise.about(90_000.0));
    set("tcp-info", "flow0.lowest:rtt_ns", noise.about(60_000.0));
    set("tcp-info", "flow0.highest:rtt_ns", noise.about(200_000.0));
    set("tcp-info", "flow0.busy_ns", noise.about(0.95e9));
    set("tcp-info", "flow0.send_mss_bytes", 8948);
    set("tcp-info", "flow0.delivered_marked_segments", 0);
    set("tcp-info", "flow0.timeouts_events", 0);
    set("netstat", "TcpExt.TCPSackRecovery_events", noise.about(40.0));
    set("netstat", "TcpExt.TCPRenoRecovery_events", 0);
    set("netstat", "TcpExt.TCPTimeouts_events", 0);
    // The receiver acknowledges every eighth segment.
    let acks = noise.about(70_000.0);
    let [data, acks] = if sends { [560_000, acks] } else { [acks, 560_000] };
    set("tcp-info", "flow0.sent_segments", data);
    set("tcp-info", "flow0.received_segments", acks);
    if sends {
        set("tcp-info", "flow0.sent_data_segments", data);
        set("tcp-info", "flow0.sent_bytes", 8948 * data);
        set("interface", "e0.tx_bytes", noise.about(5.1e9));
    }
    set("cpu", "cpu0.softirq_ns", noise.about(3e8));
    set("pause", "e0.received:rx_prio3_pause_frames", noise.about(3.0));
    set("pause", "e0.sent:tx_prio3_pause_frames", noise.about(3.0));
    set("softnet", "processed_packets", noise.about(500_000.0));
    set("softnet", "dropped_packets", noise.about(20.0));
    // A host of sixteen CPUs with little else to do.
    set("cpu", "user_ns", noise.about(3e8));
    set("cpu", "system_ns", noise.about(6e8));
    set("cpu", "idle_ns", noise.about(15e9));
    nics::keep_up(&mut end);
    end
}

/// A healthy machine that measured TCP and UDP to a peer.
fn healthy(seed: u64) -> StoredStudy {
    let mut noise = Noise(seed);
    let mut study = StoredStudy::unmeasured(machine());
    study.study.path = NetworkPath::Peer;
    study.study.repeats = RUNS;
    study.study.cache_bytes = Bytes(44 << 20);
    study.trials = ["tcp-stream", "udp-stream"].map(trial).to_vec();
    for repeat in 0..RUNS {
        for trial in &study.trials {
            study.records.push(Record {
                trial: trial.id.clone(),
                repeat,
                block: repeat,
                outcome: Outcome::Done,
                reports: Reported::list(
                    Some(Box::new(end(&mut noise, false, "there"))),
                    Some(Box::new(end(&mut noise, true, "here"))),
                    None,
                ),
                around: Stamp::default(),
                session: 0,
                external: None,
            });
        }
    }
    study
}

/// Names of the rules that found something.
fn named(study: &StoredStudy) -> BTreeSet<String> {
    let summaries = narrows_stats::summarise(study);
    let judged = judge(&Case { study, summaries: &summaries, predictions: &[] });
    let found = judged.into_iter().filter(|one| matches!(one.verdict, Verdict::Found { .. }));
    found.map(|one| one.rule).collect()
}

fn wanted(causes: &[&Cause]) -> BTreeSet<String> {
    causes.iter().flat_map(|cause| cause.rules).map(|rule| (*rule).to_owned()).collect()
}

#[test]
fn healthy_machines_are_clean() {
    for seed in 0..200 {
        let found = named(&healthy(seed));
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

#[test]
fn one_cause_and_two_at_once_are_named_and_nothing_else_is() {
    let mut matrix = BTreeMap::<&str, BTreeMap<String, u32>>::new();
    let (mut right, mut all, mut alarms) = (0, 0, Vec::new());
    let mut one = |causes: &[&Cause], seed: u64| {
        let mut study = healthy(seed);
        let mut noise = Noise(seed ^ 0x5eed);
        causes.iter().for_each(|cause| (cause.plant)(&mut study, &mut noise));
        let (found, wanted) = (named(&study), wanted(causes));
        let names: Vec<&str> = causes.iter().map(|cause| cause.name).collect();
        alarms.extend(found.difference(&wanted).map(|rule| format!("{rule}: {names:?}")));
        all += 1;
        right += u32::from(found == wanted);
        found
    };
    for cause in all_causes() {
        for seed in 0..20 {
            for rule in one(&[cause], seed) {
                *matrix.entry(cause.name).or_default().entry(rule).or_default() += 1;
            }
        }
    }
    for (at, first) in all_causes().enumerate() {
        let hide = |one: &Cause| OF_THE_PATH.contains(&one.name);
        for second in all_causes().skip(at + 1).filter(|second| !(hide(first) && hide(second))) {
            one(&[first, second], at as u64);
        }
    }
    let mut text =
        String::from("planted in twenty machines each: which rules found something, how often\n");
    for (cause, rules) in &matrix {
        let rules: Vec<String> = rules.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        text += &format!("{cause}: {}\n", rules.join(", "));
    }
    text += &format!("right, every two at once included: {right} of {all}\n");
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/confusion.txt");
    if std::env::var_os("NARROWS_GOLDEN").is_some() {
        std::fs::write(&golden, &text).expect("written");
    }
    assert!(alarms.is_empty(), "{alarms:?}");
    assert!(f64::from(right) >= 0.95 * f64::from(all), "{right} of {all}");
    assert_eq!(text, std::fs::read_to_string(&golden).expect("confusion.txt"));
}

/// Every cause that is planted.
fn all_causes() -> impl Iterator<Item = &'static Cause> {
    CAUSES.iter().chain(trips::CAUSES).chain(hops::CAUSES)
}

/// All verdicts on a study, and what is said to hold it, each in a line.
fn said(study: &StoredStudy) -> Vec<String> {
    let summaries = narrows_stats::summarise(study);
    let case = Case { study, summaries: &summaries, predictions: &[] };
    let judged = judge(&case);
    let limits = limits::limits(&case, &judged);
    judged.iter().map(kept).chain(limits.iter().map(kept)).collect()
}

/// Every word on a healthy machine, and on one with each cause what is said otherwise.
#[test]
fn what_is_said_of_each_cause_is_as_it_is_kept() {
    let healthy_says = said(&healthy(1));
    let mut text = format!("healthy\n  {}\n", healthy_says.join("\n  "));
    for cause in all_causes() {
        let mut study = healthy(1);
        (cause.plant)(&mut study, &mut Noise(1));
        text += &format!("{}\n", cause.name);
        for says in said(&study).iter().filter(|says| !healthy_says.contains(says)) {
            text += &format!("  {says}\n");
        }
    }
    is_as_kept("said.txt", &text);
}
