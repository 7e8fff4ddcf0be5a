//! What a memory population costs, what its channels carry at most, and how much longer remote
//! memory takes: beside figures worked out by hand.

#[path = "../../stats/tests/told/mod.rs"]
mod told;

use narrows_dimm::population::Population;
use narrows_model::host::{CpuPlace, Host, Module, Nic, Node, Slot, SlotPlace};
use narrows_model::load::{CpuList, EndReport, FlowTally, MemoryParams};
use narrows_model::record::Reported;
use narrows_model::result::Prediction;
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, Bytes, Fact, Nanos};
use narrows_predict::calibration::Calibration;
use narrows_predict::loss::Loss;
use narrows_predict::predict;
use narrows_stats::summarise;
use told::{record, study, told, trial};

/// A channel at 2933 MT/s of 8 bytes (JEDEC).
const CHANNEL: f64 = 2933e6 * 8.0;

fn near(is: f64, want: f64) {
    assert!((is / want - 1.0).abs() < 1e-9, "{is} is not {want}");
}

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "planted")
}

/// Sockets of two controllers of three channels, with so many modules in turn.
fn server(counts: &[usize]) -> Host {
    let mut host = Host::default();
    host.cpu.model = known("Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz".to_owned());
    let slot = |socket: usize, modules: usize, channel: usize| {
        let on = [modules.div_ceil(2), modules / 2];
        let module = Module {
            size_bytes: Some(Bytes::gib(32)),
            is_dram: true,
            configured_mts: Some(2933),
            ..Module::default()
        };
        let channel_name = channel.to_string().into();
        let at = SlotPlace { socket: socket as u32, channel: channel_name, controller: None };
        let module = (channel % 3 < on[channel / 3]).then_some(module);
        Slot { at: Some(at), module, ..Slot::default() }
    };
    let sockets = counts.iter().enumerate();
    let slots = sockets.flat_map(|(socket, n)| (0..6).map(move |at| slot(socket, *n, at)));
    host.memory.slots = known(slots.collect());
    host
}

fn loss(host: &Host) -> Loss {
    Loss::of(host, &Population::of(host).expect("a population")).expect("a loss")
}

#[test]
fn a_population_costs_what_its_narrowest_sets_lack_of_all_channels() {
    // Twelve channels; sets as wide as they can be on two controllers alike. Five modules are a
    // set of four and one of one, three are one of two and one of one.
    for (counts, narrowest) in
        [([6, 6], 12.0), ([4, 4], 8.0), ([6, 5], 7.0), ([3, 3], 2.0), ([1, 1], 2.0), ([1, 0], 1.0)]
    {
        let loss = loss(&server(&counts));
        near(loss.all.0, 12.0 * CHANNEL);
        near(loss.narrowest.0, narrowest * CHANNEL);
        near(1.0 + loss.bytes_per_second().0, 1.0 + (12.0 - narrowest) * CHANNEL);
        assert!(loss.ports.is_empty() && loss.worst().is_none());
    }
}

#[test]
fn the_worst_port_loses_the_largest_share_of_its_link() {
    let mut host = server(&[1, 1]);
    for (name, gbps) in [("slow", 10.0), ("fast", 100.0), ("unknown", 0.0)] {
        let speed_bps = match gbps {
            0.0 => Fact::default(),
            gbps => known(BitsPerSecond(gbps * 1e9)),
        };
        let (name, node) = (name.to_owned(), known(0));
        host.nics.push(Nic { name, physical: true, speed_bps, node, ..Nic::default() });
    }
    let loss = loss(&host);
    let names: Vec<&str> = loss.ports.iter().map(|port| port.nic.as_str()).collect();
    assert_eq!(names, ["slow", "fast"], "those that tell their rate");
    for port in &loss.ports {
        near(1e9 + port.lost.value, 1e9 + (port.all.0 - port.now.0).max(0.0));
        assert!(port.lost.low <= port.lost.value && port.lost.value <= port.lost.high, "{port:?}");
        near(1.0 + port.share(), 1.0 + port.lost.value / port.link.0);
        assert!(port.all.0 <= port.link.0, "in bits a second: {port:?}");
    }
    // One channel a socket leaves 10 Gb/s alone and holds 100.
    assert!(loss.ports[0].share() < 0.01, "{:?}", loss.ports[0]);
    let worst = loss.worst().expect("a port");
    assert_eq!(worst.nic, "fast");
    assert!(worst.share() > 0.05, "{worst:?}");
}

/// A copy whose every counted byte crosses the bus 1.5 times, on one node.
fn copied(host: Host) -> Vec<Prediction> {
    let study = copies(host, trial("memory-copy", "copy"));
    predict(&study, &summarise(&study))
}

fn copies(host: Host, copy: Trial) -> StoredStudy {
    let mut end = EndReport {
        window_ns: Nanos(1_000_000_000),
        flows: vec![FlowTally {
            bytes: Bytes(10_000_000_000),
            messages: 1,
            ..FlowTally::default()
        }],
        ..EndReport::default()
    };
    end.effective.bus_percent_of_counted = Some(150);
    let records =
        (0..6).map(|at| record(&copy, at, Reported::list(Some(Box::new(end.clone())), None, None)));
    let mut study = study(vec![copy.clone()], records.collect());
    study.host = host;
    study
}

#[test]
fn a_copy_over_all_nodes_is_no_copy_of_one() {
    let one = trial("memory-copy", "copy");
    let measured = |copy: Trial| {
        let study = copies(server(&[6]), copy);
        Calibration::of(&study, &summarise(&study))
    };
    near(measured(one.clone()).copy_gb_s.expect("a copy").value, 15.0);
    let mut spread = one;
    spread.params.told.tell(&narrows_model::options::kernels::INTERLEAVE, true);
    let spread = measured(spread);
    assert!(spread.copy_gb_s.is_none(), "{spread:?}");
    assert_eq!(spread.unused, ["memory-copy over all nodes: no copy of one node"]);
}

#[test]
fn memory_carries_the_peak_of_its_channels_by_what_crosses_the_bus() {
    let dram = |host: Host| {
        let all = copied(host);
        let ceilings = all.iter().flat_map(|one| &one.ceilings);
        ceilings
            .filter(|ceiling| ceiling.resource.to_string() == "dram")
            .map(|ceiling| (ceiling.range.value, ceiling.range.unit))
            .next()
    };
    // Six channels; each byte that is counted is one and a half on the bus.
    let (peak, unit) = dram(server(&[6])).expect("a peak");
    near(peak, 6.0 * CHANNEL / 1.5);
    assert_eq!(unit, Unit::BytesPerSecond);
    // Two nodes with memory on one socket: nobody knows which channels are whose.
    let mut two = server(&[6]);
    let node = |id| Node { id, memory_bytes: known(Bytes::gib(8)), ..Node::default() };
    two.nodes = vec![node(0), node(1)];
    assert_eq!(dram(two), None);
    let mut bare = server(&[6]);
    bare.memory.slots = Fact::default();
    assert_eq!(dram(bare), None);
}

/// Load-to-use from a CPU of node 0, with memory on a node.
fn latency(node: u32, mib: u64) -> Trial {
    let mut trial = trial("memory-latency", &format!("{node} {mib}"));
    trial.params.working_set_bytes = Bytes(mib << 20);
    trial.params.memory = Some(MemoryParams { node: Some(node), ..MemoryParams::default() });
    for end in &mut trial.ends {
        end.place.cpus = CpuList(vec![0]);
    }
    trial
}

#[test]
fn remote_memory_is_so_many_times_as_far_in_the_largest_sets() {
    let cells = [(0, 64, 90.0), (1, 64, 100.0), (0, 1024, 100.0), (1, 1024, 160.0)];
    let trials = cells.map(|(node, mib, _)| latency(node, mib));
    let mut records = Vec::new();
    for (trial, (.., ns)) in trials.iter().zip(cells) {
        records.extend((0..6).map(|at| told(trial, at, ns + f64::from(at) - 2.5, Unit::Nanos)));
    }
    let mut study = study(trials.to_vec(), records);
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: None, node: Some(cpu) };
    study.host.cpu.places = vec![place(0), place(1)];
    let of = |study: &narrows_model::study::StoredStudy| {
        Calibration::of(study, &summarise(study)).remote_over_local
    };
    let ratio = of(&study).expect("a ratio");
    near(ratio.value, 1.6);
    // Six values from 2.5 ns below to 2.5 above: the ends of their intervals the other way round.
    near(ratio.low, 157.5 / 102.5);
    near(ratio.high, 162.5 / 97.5);
    study.trials.retain(|trial| trial.id.0.starts_with('0'));
    assert_eq!(of(&study).map(|ratio| ratio.value), None, "nothing remote");
}
