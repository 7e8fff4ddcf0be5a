//! What is said of round trips under load, of a machine as a tree and of CPU time, by figures that
//! are known.

#[path = "../../stats/tests/loaded/mod.rs"]
mod loaded;

use narrows_model::host::{Cache, CpuPlace, Host, Module, Node, Slot, SlotPlace};
use narrows_model::load::Unacknowledged;
use narrows_model::{Bytes, Fact};
use narrows_report::answer;
use narrows_report::drawn::Screen;
use narrows_report::fleet::Member;
use narrows_report::{Analysis, words};
use narrows_stats::CpuUse;

#[test]
fn a_queue_that_streams_fill_is_graded_by_the_worst_way() {
    let study = loaded::study(1, loaded::known);
    let analysis = Analysis::of(&study);
    let text = (narrows_report::formats::format("text").expect("a format").write)(&analysis);
    // 2 ms idle, 92 up, 122 both ways and 12 down, a request every 5 ms of 5 s.
    let row = |phase: &str, took: &str, longer: &str, grade: &str| {
        let all = [took; 5].join(" ");
        format!("{phase} 1000 0 {all} {longer} {grade} ")
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = [row("both", "122.0 ms", "120.0 ms", "C"), row("down", "12.0 ms", "10.0 ms", "A")];
    for row in rows {
        assert!(text.contains(&row), "{row}: {text}");
    }
    // 60 s of 12, 92 and 122 ms.
    for line in ["longer; 652 a minute", "longer; 492 a minute", "longer; 5000 a minute"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let said = answer::of(&analysis).expect("an answer");
    assert_eq!(said.figure, "grade C: 120.0 ms longer under load both ways");
    assert_eq!(said.spread, "95 % interval 120.0 ms to 120.0 ms");
    let filled = "a queue that streams both ways fill, empty again after it; ";
    assert!(said.bottleneck.starts_with(filled), "{}", said.bottleneck);
    assert!(said.action.starts_with("keep the queue short where it is"), "{}", said.action);
    // Below 30 ms is an A, and nothing is to be done.
    let study = loaded::study(1, |at| Some(if at < 6000 { 2 } else { 31 }));
    let said = answer::of(&Analysis::of(&study)).expect("an answer");
    assert!(said.figure.starts_with("grade A: 29.0 ms longer"), "{}", said.figure);
    assert_eq!(said.action, "nothing: round trips stay short beside streams");
    let study = loaded::study(1, |at| Some(if at < 6000 { 2 } else { 32 }));
    let said = answer::of(&Analysis::of(&study)).expect("an answer");
    assert!(said.figure.starts_with("grade B: 30.0 ms longer"), "{}", said.figure);
    assert!(said.bottleneck.contains(", not empty a second after it"), "{}", said.bottleneck);
}

#[test]
fn a_tenth_of_the_requests_that_waits_is_told_beside_a_good_grade() {
    /// Under load in one direction so many of ten requests take so long.
    fn up(at: u64, share: u64, longest_ms: u64) -> Option<u64> {
        let is_up = (6000..11_000).contains(&at);
        Some(if is_up && at / 5 % 10 < share { longest_ms } else { 2 })
    }
    let of = |took| answer::of(&Analysis::of(&loaded::study(1, took))).expect("an answer");
    let said = of(|at| up(at, 2, 74));
    let tail = "; its slowest tenth 72.0 ms and more up (C by that)";
    assert!(said.figure.starts_with("grade A+: 0 ns") && said.figure.ends_with(tail), "{said:?}");
    assert!(said.bottleneck.contains("one request in ten waits"), "{said:?}");
    assert!(said.action.starts_with("look whether it comes again"), "{said:?}");
    assert!(!of(|at| up(at, 1, 74)).figure.contains("slowest tenth"), "a tenth at the most");
    let short = of(|at| up(at, 2, 22));
    assert!(!short.figure.contains("slowest tenth"), "an A by that too: {short:?}");
    assert!(short.action.starts_with("nothing"), "{short:?}");
}

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "planted")
}

/// One socket of eight channels, four of which hold a module, and one node of two CPUs.
fn host() -> Host {
    let mut host = Host::default();
    host.cpu.model = known("AMD EPYC 7742".to_owned());
    let slot = |channel: u8| {
        let module = Module {
            size_bytes: Some(Bytes::gib(32)),
            is_dram: true,
            configured_mts: Some(if channel == 2 { 2933 } else { 3200 }),
            ..Module::default()
        };
        let label = char::from(b'A' + channel).to_string().into();
        let at = SlotPlace { socket: 0, channel: label, controller: None };
        Slot { at: Some(at), module: (channel < 4).then_some(module), ..Slot::default() }
    };
    host.memory.slots = known((0..8).map(slot).collect());
    host.memory.total_bytes = known(Bytes::gib(126));
    let place = |cpu| CpuPlace { cpu, package: Some(0), die: None, core: None, node: Some(0) };
    host.cpu.places = (0..2).map(place).collect();
    let cache = |level, kind: &str, kib: u64, cpus: &[u32]| Cache {
        level,
        kind: kind.into(),
        size_bytes: Bytes(kib << 10),
        cpus: cpus.to_vec(),
    };
    host.cpu.caches = vec![
        cache(1, "Data", 32, &[0]),
        cache(1, "Data", 32, &[1]),
        cache(3, "Unified", 16_384, &[0, 1]),
    ];
    let memory_bytes = known(Bytes::gib(126));
    host.nodes = vec![Node { id: 0, cpus: vec![0, 1], memory_bytes, ..Node::default() }];
    host
}

#[test]
fn a_tree_has_each_channel_and_cache_once_with_its_size() {
    let view = narrows_report::views::VIEWS.iter().find(|view| view.name == "tree");
    let text = view.expect("a view").text(&host(), &Screen::FILE);
    let wanted = "\
AMD EPYC 7742, 1 socket, 1 node, 126 GiB memory, 16 MiB last-level cache
├─ memory 126 GiB, near-balanced: one interleave set a socket, some channels empty
│  └─ socket 0: 4-way 128 GiB
│     ├─ channel A: 32 GiB
│     ├─ channel B: 32 GiB
│     ├─ channel C: 32 GiB
│     ├─ channel D: 32 GiB
│     ├─ channel E: empty
│     ├─ channel F: empty
│     ├─ channel G: empty
│     └─ channel H: empty
└─ node 0: 126 GiB, CPUs 0-1, package 0
   ├─ L3 16 MiB, 2 CPUs each
   └─ L1d 2 x 32 KiB, 1 CPU each
";
    assert_eq!(text, wanted);
}

#[test]
fn a_member_of_a_fleet_is_told_by_its_modules() {
    let member = Member::of("a".into(), &host());
    assert_eq!((member.modules, member.sizes.as_str()), (4, "4 of 32 GiB"));
    assert_eq!(member.memory_bytes, Some(Bytes::gib(128)));
    assert_eq!((member.slowest_mts, member.sockets), (Some(2933), 1));
    assert_eq!(member.narrowest_ways, Some(4));
    // Four of eight channels at 2933 MT/s, of 8 bytes each.
    let lost = member.lost.expect("a loss");
    assert!((lost.memory_bytes_per_second.0 / (4.0 * 2933e6 * 8.0) - 1.0).abs() < 1e-9, "{lost:?}");
    assert_eq!((lost.says().as_str(), lost.port), ("93.9 GB/s", None));
}

#[test]
fn shares_are_said_in_per_cent() {
    let cpu = CpuUse {
        sender_share: Some(0.5),
        receiver_share: Some(0.254),
        sender_host_share: None,
        receiver_host_share: None,
        softirq_cpus: None,
        steal_cpus: Some(0.004),
        seconds_per_gigabyte: Some(0.452),
        cycles_per_byte: Some(2.0),
    };
    let says = "CPU: sender 50 %, receiver 25 %; 0.45 CPU-s/GB, 2.00 cycles/B";
    assert_eq!(words::cpu(&cpu), says, "less than half a per cent is none of steal");
    let stolen = CpuUse { steal_cpus: Some(0.05), cycles_per_byte: None, ..cpu };
    let says = "CPU: sender 50 %, receiver 25 %, steal 5 %; 0.45 CPU-s/GB";
    assert_eq!(words::cpu(&stolen), says);
    let lossy = Unacknowledged { sent: 4000, received: 3990 };
    let says = words::unacknowledged(&lossy);
    assert!(says.starts_with("10 of 4000 messages lost (0.25 %, "), "{says}");
}
