//! Servers that are described, and changed.

use super::*;
use crate::calibration::Calibration;
use crate::stream_cost::{Point, StreamCost};
use narrows_model::host::Host;
use narrows_model::result::ResourceName;
use std::collections::BTreeMap;

fn machine(more: &[(&str, &str)]) -> Predictor {
    let base = [
        ("cpu", "Xeon Platinum 8280"),
        ("memory.mts", "2933"),
        ("nic.gbps", "100"),
        ("memory.socket0", "1,1,0/1,0,0"),
    ];
    let set = base.iter().chain(more).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    of_host(&Host::default(), &set.collect(), &Calibration::default()).expect("a machine")
}

fn tcp(machine: &Predictor) -> (f64, ResourceName) {
    let reach = machine.reaches().remove(0);
    (reach.value, reach.resources[0].name)
}

#[test]
fn the_studys_step_comes_out_and_its_untried_neighbour() {
    let uneven = tcp(&machine(&[]));
    assert!((uneven.0 - 61.7).abs() < 0.5 && uneven.1 == ResourceName::Memory, "{uneven:?}");
    // Three on one controller are one set of three: the model says that this is fast.
    let one_side = tcp(&machine(&[("memory.socket0", "1,1,1/0,0,0")]));
    assert!((one_side.0 - 90.4).abs() < 0.5 && one_side.1 == ResourceName::Wire, "{one_side:?}");
    let narrow = tcp(&machine(&[("memory.socket0", "1,1,1/1,1,1"), ("nic.pcie", "3x8")]));
    assert_eq!(narrow.1, ResourceName::Pcie);
    let slot = machine(&[("memory.socket0", "1,1,1/1,1,1"), ("nic.pcie", "3x8")]);
    let rdma = slot.reaches().remove(3);
    // 57.88 Gb/s of packets, of which 1024 of 1120 bytes are data.
    assert!((rdma.value - 52.9).abs() < 0.1, "{rdma:?}");
    let jumbo = tcp(&machine(&[("memory.socket0", "1,1,1/1,1,1"), ("mtu", "9000")]));
    assert!(jumbo.0 > 92.0, "{jumbo:?}");
}

#[test]
fn what_is_not_known_is_asked_for() {
    let ask = |pairs: &[(&str, &str)]| {
        let set = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        of_host(&Host::default(), &set.collect(), &Calibration::default())
            .expect_err("something is missing")
            .to_string()
    };
    assert!(ask(&[]).contains("cpu=NAME"));
    assert!(ask(&[("cpu", "Xeon Platinum 8280")]).contains("memory.socket0="));
    assert!(ask(&[("colour", "red")]).contains("none of"));
    assert!(ask(&[("cpu", "Pentium")]).contains("no family is known of 'Pentium'"));
    let wrong = [("cpu", "Xeon Platinum 8280"), ("memory.socket0", "1,1")];
    assert!(ask(&wrong).contains("6 channels"));
}

/// Twelve channels on one controller and two sockets: more populations than can be made one by
/// one.
#[test]
fn large_servers_are_searched_and_larger_ones_refused() {
    let of = |sockets: usize| {
        let one = ["1"; 12].join(",");
        let mut set = BTreeMap::from(
            [("cpu", "AMD EPYC 9654"), ("memory.mts", "4800"), ("nic.gbps", "400")]
                .map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        for socket in 0..sockets {
            set.insert(format!("memory.socket{socket}"), one.clone());
        }
        search(
            &of_host(&Host::default(), &set, &Calibration::default()).expect("a machine"),
            &Kit::alike(24),
            1,
        )
    };
    let (all, found) = of(2).expect("a search");
    assert!(all > 1_000_000 && found[0].sets == [[12], [12]], "{all} {found:?}");
    assert!(of(4).expect_err("four").to_string().contains("4 sockets"));
}

#[test]
fn the_best_population_of_a_number_is_one_even_set() {
    let machine = machine(&[("memory.socket1", "0,0,0/0,0,0")]);
    let (all, found) = search(&machine, &Kit::alike(8), 3).expect("a search");
    // Of twelve channels with at most two modules each, eight modules: the coefficient of x^8
    // in (1 + x + x^2)^12.
    let mut ways_to = vec![1u64];
    for _ in 0..12 {
        let mut next = vec![0; ways_to.len() + 2];
        for (at, n) in ways_to.iter().enumerate() {
            (0..3).for_each(|more| next[at + more] += n);
        }
        ways_to = next;
    }
    assert_eq!(all, ways_to[8]);
    // Eight modules on two sockets: four channels of two controllers each.
    assert_eq!(found[0].sets, [[4], [4]], "{found:?}");
    let (_, seven) = search(&machine, &Kit::alike(7), 2).expect("a search");
    assert_ne!(seven[0].sets, seven[1].sets, "one stands for all of a shape");
    let (_, one) = search(&machine, &Kit::alike(1), 1).expect("a search");
    assert_eq!(one[0].channels, 1);
}

const BALANCED: (&str, &str) = ("memory.socket0", "1,1,1/1,1,1");
const UNEVEN: (&str, &str) = ("memory.socket0", "1,1,0/1,0,0");
const OTHER: (&str, &str) = ("memory.socket1", "1,1,1/1,1,1");

#[test]
fn a_second_nic_helps_where_memory_has_room() {
    let one = tcp(&machine(&[BALANCED, OTHER])).0;
    let far = tcp(&machine(&[BALANCED, OTHER, ("nic.socket", "0,1")])).0;
    assert!((far / one - 2.0).abs() < 1e-9, "{one} {far}");
    let near = tcp(&machine(&[BALANCED, OTHER, ("nic.count", "2")]));
    // Twice the streams on one processor are not quite twice as many.
    assert!((1.9..2.0).contains(&(near.0 / one)) && near.1 == ResourceName::Wire, "{near:?}");
    // The narrow set is shared by both.
    let (narrow, both) = (tcp(&machine(&[UNEVEN])), tcp(&machine(&[UNEVEN, ("nic.count", "2")])));
    assert!(
        both.1 == ResourceName::Memory && (both.0 / narrow.0 - 1.0).abs() < 1e-9,
        "{narrow:?} {both:?}"
    );
}

#[test]
fn one_port_with_two_slots_is_one_port() {
    let direct = [BALANCED, OTHER, ("nic.direct", "yes"), ("nic.pcie", "3x8")];
    let both = machine(&direct).reaches().remove(0);
    let one = machine(&[BALANCED, OTHER, ("nic.pcie", "3x8")]).reaches().remove(0);
    assert_eq!(
        (both.bottleneck, one.bottleneck),
        (Some(ResourceName::Wire), Some(ResourceName::Pcie))
    );
    assert!((both.value - 91.4).abs() < 0.1 && one.value < 56.0, "{both:?} {one:?}");
    let said = [("cpu", "Xeon Platinum 8280"), ("memory.mts", "2933"), ("nic.gbps", "100")];
    let said = said.iter().chain(&[BALANCED, ("nic.direct", "yes")]);
    let said = said.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let why = of_host(&Host::default(), &said, &Calibration::default())
        .expect_err("one socket")
        .to_string();
    assert!(why.contains("two processors"), "{why}");
}

/// Of one port with a slot of eight lanes on each processor neither has more than its slot.
#[test]
fn a_processor_alone_has_its_own_slot_and_the_whole_port() {
    let direct = [BALANCED, OTHER, ("nic.direct", "yes"), ("nic.pcie", "3x8")];
    let alone = machine(&direct).alone();
    assert_eq!(alone.iter().map(|(socket, _)| *socket).collect::<Vec<_>>(), [0, 1]);
    let one = machine(&[BALANCED, OTHER, ("nic.pcie", "3x8")]).reaches().remove(0);
    for (_, reaches) in &alone {
        assert_eq!(reaches[0].bottleneck, Some(ResourceName::Pcie));
        assert!((reaches[0].value / one.value - 1.0).abs() < 1e-9, "{:?}", reaches[0]);
    }
    let wide = [BALANCED, OTHER, ("nic.direct", "yes"), ("nic.pcie", "3x16")];
    let (_, reaches) = machine(&wide).alone().remove(1);
    assert_eq!(reaches[0].bottleneck, Some(ResourceName::Wire), "its port is whole");
    assert!(machine(&[BALANCED, OTHER]).alone().is_empty(), "there is one NIC");
}

#[test]
fn where_the_work_is_plays_no_part_where_the_figure_is_the_same() {
    let direct = [BALANCED, OTHER, ("nic.direct", "yes"), ("nic.pcie", "3x8")];
    let work = |said: &[(&str, &str)]| {
        machine(&[said, &[("work.socket", "1")]].concat()).untouched_by_work()
    };
    let untouched = work(&direct);
    let has = |path: &str| untouched.contains(&path.to_owned());
    assert!(has("rdma-write rocev2") && has("tcp-rr"), "{untouched:?}");
    // Its copies of both ports are then in the memory of one processor.
    assert!(!has("tcp"), "{untouched:?}");
    assert!(machine(&direct).untouched_by_work().is_empty(), "nobody said where");
    let far = [BALANCED, OTHER, ("sockets.links", "1x4.8")];
    let untouched = work(&far);
    assert!(!untouched.contains(&"rdma-write rocev2".to_owned()), "{untouched:?}");
}

/// Dell's remote round trip, and the same with an adapter that has a slot on each processor.
#[test]
fn a_slot_on_the_working_processor_makes_a_round_trip_local() {
    let trip = |said: &[(&str, &str)]| {
        let said: Vec<_> = [BALANCED, OTHER].iter().chain(said).copied().collect();
        machine(&said).round_trip(Trip::Tcp).expect("a NIC").value
    };
    let (local, remote) = (trip(&[]), trip(&[("work.socket", "1")]));
    assert!(remote > 1.3 * local, "{remote} for {local}");
    for near in [("nic.direct", "yes"), ("nic.socket", "0,1"), ("nic.socket", "1")] {
        let told = trip(&[("work.socket", "1"), near]);
        assert!((told - local).abs() < 1e-9, "{near:?}: {told} for {local}");
    }
}

#[test]
fn work_on_the_other_processor_crosses_its_links() {
    let far = machine(&[BALANCED, OTHER, ("work.socket", "1"), ("sockets.links", "1x4.8")]);
    let reaches = far.reaches();
    let rdma = reaches.iter().find(|reach| reach.path == "rdma-write rocev2").expect("a path");
    // One link of 2 B at 4.8 GT/s, 0.825 of it payload.
    assert_eq!(rdma.bottleneck, Some(ResourceName::InterSocket));
    assert!((rdma.value - 4.8 * 16.0 * 0.825).abs() < 1e-9, "{rdma:?}");
    let names = |engine: &Predictor| {
        let reach = engine.reaches().remove(0);
        reach.resources.iter().map(|resource| resource.name).collect::<Vec<_>>()
    };
    assert!(!names(&machine(&[BALANCED, OTHER])).contains(&ResourceName::InterSocket));
}

#[test]
fn packets_wait_for_a_core_its_memory_and_the_chipset() {
    let packets = |more: &[(&str, &str)]| {
        let all = [&[BALANCED, ("nic.gbps", "10"), ("path", "packets")], more].concat();
        machine(&all).reaches().remove(0)
    };
    let unknown = packets(&[]);
    assert!((unknown.value - 14.88).abs() < 0.01, "{unknown:?}");
    assert!(unknown.missing.iter().any(|gap| gap.why.contains("cpu.ghz")), "{unknown:?}");
    let core = packets(&[("cpu.ghz", "2.4"), ("memory.core_gb_s", "7")]);
    assert_eq!(core.bottleneck, Some(ResourceName::Cpu));
    assert!((core.value - 1e3 / (188.5 / 2.4 + 174.5 / 7.0)).abs() < 1e-9, "{core:?}");
    let chipset = packets(&[("nic.uplink", "2x4/128")]);
    assert_eq!(chipset.bottleneck, Some(ResourceName::Chipset));
    let engine = packets(&[("nic.mpps", "5")]);
    assert_eq!((engine.bottleneck, engine.value), (Some(ResourceName::Nic), 5.0));
}

#[test]
fn small_messages_of_rdma_are_headers() {
    let of = |message: &str, path: &str| {
        let engine = machine(&[BALANCED, ("message", message), ("path", path)]);
        engine.reaches().remove(0).value
    };
    // 64 of 64 and 82 bytes, and the write's 16.
    assert!((of("64", "rdma-write rocev2") - 100.0 * 64.0 / 162.0).abs() < 1e-9);
    assert!(of("64", "rdma-send") > of("64", "rdma-write"));
    let ib = machine(&[BALANCED, ("link", "infiniband")]).reaches();
    let rates: Vec<_> = ib.iter().filter(|reach| reach.unit == "Gb/s").collect();
    assert!(rates.iter().all(|reach| reach.path.ends_with(" ib")) && rates.len() == 4, "{ib:?}");
}

fn measured(value: f64) -> Option<Measured> {
    let (low, high) = (value * 0.99, value * 1.01);
    Some(Measured { value, low, high, from: "a test".to_owned() })
}

/// Of messages as they are where nothing else is asked.
fn stream(gbps: f64) -> StreamCost {
    let mut cost = StreamCost::default();
    let gbps = measured(gbps).expect("a figure");
    cost.add(Point { message_bytes: 65_536.0, gbps });
    cost
}

#[test]
fn measurements_take_the_place_of_assumptions() {
    let said: Said =
        [("nic.gbps", "100"), ("streams", "4")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    // Neither processor nor modules are known, and need not be.
    let copy = Calibration {
        copy_gb_s: measured(20.0),
        tcp_stream: stream(9.0),
        ..Calibration::default()
    };
    let engine = of_host(&Host::default(), &said, &copy).expect("a server");
    let tcp = engine.reaches().remove(0);
    assert_eq!(tcp.bottleneck, Some(ResourceName::Cpu));
    // Four streams act as 3.48, and the wire of 94 Gb/s is far.
    let four = 9.0 * 4f64.powf(0.9);
    assert!(tcp.value <= four && tcp.value > 0.998 * four, "{tcp:?}");
    // Of messages of another size one stream says how much at most and at least.
    let short = said.into_iter().chain([("message".to_owned(), "4096".to_owned())]).collect();
    let short = of_host(&Host::default(), &short, &copy).expect("a server").reaches().remove(0);
    let cpu = short.resources.iter().find(|one| one.name == ResourceName::Cpu).expect("cpu");
    assert!(cpu.low < 2.3 && cpu.high > 30.0 && cpu.value < four, "{cpu:?}");
    let memory = tcp.resources.iter().find(|one| one.name == ResourceName::Memory).expect("memory");
    assert!((memory.value - 8.0 * 20.0 / 2.16).abs() < 1e-9, "{memory:?}");
    let from = |one: &Resource| one.parameters.iter().any(|p| p.from.word() == "measured");
    assert!(from(memory), "{memory:?}");
    // A copy of the one set's rate gives the share of the peak; one of several sets does not.
    let copy = Calibration { copy_gb_s: measured(70.0), ..Calibration::default() };
    let eta = |then: &Predictor| then.parameters.clone().calibrated(&then.server, &copy);
    let even = eta(&machine(&[BALANCED]));
    assert!((even.eta.value - 70.0 / (6.0 * 23.464)).abs() < 1e-9, "{:?}", even.eta);
    let uneven = eta(&machine(&[UNEVEN]));
    assert!(uneven.eta.value == 0.71 && uneven.unused[0].contains("several"), "{uneven:?}");
}

#[test]
fn a_rate_above_the_wires_is_not_believed() {
    let above = Calibration { tcp_gbps: measured(99.0), ..Calibration::default() };
    let then = machine(&[BALANCED]);
    let found = then.parameters.clone().calibrated(&then.server, &above);
    assert!(found.unused[0].contains("more than the wire"), "{:?}", found.unused);
    assert!(found.tcp.reached.is_none() && found.tcp.cpu.is_none());
}

#[test]
fn what_is_bought_is_counted() {
    let prices = [("dimm".to_owned(), 140.0)];
    let (before, after) = (machine(&[UNEVEN]), machine(&[BALANCED, ("nic.gbps", "200")]));
    let cost = prices::cost(&before.server, &after.server, &prices);
    assert_eq!((cost.total, cost.unpriced.as_slice()), (420.0, &["1 nic".to_owned()][..]));
    let moved = machine(&[("memory.socket0", "1,1,1/0,0,0")]);
    assert_eq!(prices::cost(&before.server, &moved.server, &prices).parts, []);
    let slower = machine(&[UNEVEN, ("memory.mts", "2400")]);
    assert_eq!(prices::cost(&before.server, &slower.server, &prices).parts[0].1, 3);
}

#[test]
fn what_two_processors_share_is_counted_once() {
    // Both NICs' work is on the processor with the narrow set.
    let one = tcp(&machine(&[UNEVEN, OTHER, ("work.socket", "0")]));
    let both = machine(&[UNEVEN, OTHER, ("work.socket", "0"), ("nic.socket", "0,1")]);
    let reach = both.reaches().remove(0);
    assert!(reach.value < one.0 * 1.001 && reach.value > one.0 / 1.3, "{one:?} {reach:?}");
    // Four streams are four, on however many NICs.
    let said: Said = [("nic.gbps", "100"), ("streams", "4"), ("nic.count", "2")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
    let copy = Calibration {
        copy_gb_s: measured(200.0),
        tcp_stream: stream(9.0),
        ..Calibration::default()
    };
    let engine = of_host(&Host::default(), &said, &copy).expect("a server");
    let four = 9.0 * 4f64.powf(0.9);
    assert!((engine.reaches().remove(0).value / four - 1.0).abs() < 1e-3);
}

#[test]
fn the_bottleneck_is_that_of_the_processor_held_back_the_most() {
    // Of three processors the first has a narrow set.
    let three = [UNEVEN, OTHER, ("memory.socket2", "1,1,1/1,1,1"), ("nic.socket", "0,1,2")];
    let reach = machine(&three).reaches().remove(0);
    assert_eq!(reach.bottleneck, Some(ResourceName::Memory), "{reach:?}");
}
