//! What memory was measured to do under load, in place of the published shape: a study of a Cascade
//! Lake with two channels, whose reads load them up to the peak.

use narrows_model::host::{CpuPlace, Host, Module, Node, Slot, SlotPlace};
use narrows_model::load::{EndReport, FlowTally, MemoryParams, Params, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::result::{Provenance, ResourceName};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Fact, Nanos};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Reach, Said, of_nic};
use narrows_stats::summarise;

const SECOND: Nanos = Nanos(1_000_000_000);
/// 2 channels of DDR4-2933, of which reads reach 86.1 %, in GB/s.
const REACHED: f64 = 2.0 * 8.0 * 2.933 * 0.861;

fn host() -> Host {
    let slot = |channel: &str| Slot {
        at: Some(SlotPlace { socket: 0, channel: channel.to_owned().into(), controller: None }),
        module: Some(Module {
            size_bytes: Some(Bytes::gib(16)),
            is_dram: true,
            configured_mts: Some(2933),
            ..Module::default()
        }),
        ..Slot::default()
    };
    let mut host = Host::default();
    host.cpu.model = Fact::known("Intel(R) Xeon(R) Gold 6234".to_owned(), "made");
    host.cpu.places = vec![CpuPlace { cpu: 0, node: Some(0), ..CpuPlace::default() }];
    host.memory.slots = Fact::known(["A", "D"].map(slot).into(), "made");
    host.nodes =
        vec![Node { memory_bytes: Fact::known(Bytes::gib(32), "made"), ..Node::default() }];
    host
}

/// Chains of loads of so many nanoseconds beside reads that use such a share of the channels.
fn study(points: &[(f64, f64)]) -> StoredStudy {
    let mut study = StoredStudy::unmeasured(host());
    for (at, (used, ns)) in (0..).zip(points) {
        let memory = MemoryParams { pause_ns: Some(at), ..MemoryParams::default() };
        let trial = Trial {
            id: TrialId(format!("{at}")),
            label: format!("loaded latency, pause {at} ns"),
            kind: Workload::MemoryLatency,
            params: Params::of_memory(2, Bytes::gib(1), memory),
            ends: EndSpec::of_memory(Placement::on([0])),
            path: NetworkPath::Memory,
            timeline: Timeline {
                warmup_ns: Nanos(0),
                window_ns: SECOND,
                cooldown_ns: Nanos(0),
                interval_ns: None,
            },
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        let chain = FlowTally { messages: (1e9 / ns) as u64, ..FlowTally::default() };
        let reads = Bytes((used * REACHED * 1e9) as u64);
        let reads = FlowTally { bytes: reads, ..FlowTally::default() };
        let end = EndReport { window_ns: SECOND, flows: vec![chain, reads], ..Default::default() };
        study.records.extend((0..6).map(|repeat| Record {
            trial: trial.id.clone(),
            repeat,
            block: repeat,
            outcome: Outcome::Done,
            reports: Reported::list(Some(Box::new(end.clone())), None, None),
            around: Stamp::default(),
            session: 0,
            external: None,
        }));
        study.trials.push(trial);
    }
    study.study.repeats = 6;
    study
}

fn calibration(points: &[(f64, f64)]) -> Calibration {
    let study = study(points);
    Calibration::of(&study, &summarise(&study))
}

/// RDMA of 100 Gb/s past the cache, beside six cores that read and write.
fn beside(calibration: &Calibration) -> Reach {
    let said: Said = [
        ("cpu", "Xeon Gold 6234"),
        ("nic.gbps", "100"),
        ("nic.pcie", "3x16"),
        ("memory.mts", "2933"),
        ("memory.socket0", "1,0,0/1,0,0"),
        ("path", "rdma-write rocev2"),
        ("ddio", "no"),
        ("neighbours", "1"),
        ("neighbours.work", "read"),
    ]
    .map(|(key, word)| (key.to_owned(), word.to_owned()))
    .into();
    let engine = of_nic(&Host::default(), None, &said, calibration).expect("an engine");
    engine.reaches().into_iter().next().expect("a path")
}

fn wait(reach: &Reach) -> (f64, Provenance) {
    let one = reach.resources.iter().find(|one| one.name == ResourceName::DeviceWrites);
    let all = &one.expect("a domain").parameters;
    let wait = all.iter().find(|one| one.name == "wait behind other cores").expect("a wait");
    (wait.value, wait.from.clone())
}

#[test]
fn waits_are_those_of_this_hosts_memory_where_it_was_measured() {
    let (published, from) = wait(&beside(&Calibration::default()));
    assert!(matches!(from, Provenance::Assumed(_)) && published > 5.0, "{published}");
    // Memory that never makes anybody wait, and one that soon does.
    let flat = calibration(&[(0.01, 80.0), (0.3, 80.0), (0.6, 80.0), (1.0, 80.0)]);
    let (wait_ns, from) = wait(&beside(&flat));
    assert!(wait_ns < 0.01 && matches!(from, Provenance::Measured(_)), "{wait_ns} {from:?}");
    let steep = calibration(&[(0.01, 80.0), (0.1, 380.0), (0.6, 380.0), (1.0, 380.0)]);
    let (wait_ns, _) = wait(&beside(&steep));
    // From a tenth of the peak on everybody waits 300 ns more.
    assert!((wait_ns - 300.0).abs() < 1.0, "{wait_ns}");
}

#[test]
fn what_is_no_curve_is_named_and_not_used() {
    let points = [(0.01, 80.0), (0.05, 81.0), (0.1, 82.0), (0.2, 84.0)];
    let weak = calibration(&points);
    assert_eq!(weak.under_load, None);
    let said = ["latency under load: its reads used less than 30 % of the channels"];
    assert_eq!(weak.unused, said);
}

/// The same beside cores, once what was measured is held against the server that was said.
fn calibrated(measured: &Calibration, memory: &[(&str, &str)]) -> (Option<f64>, Vec<String>) {
    let cpu = [("cpu", "Xeon Gold 6234"), ("nic.gbps", "100")];
    let said = [&cpu[..], memory].concat();
    let said: Said = said.iter().map(|(key, word)| ((*key).into(), (*word).into())).collect();
    let engine = of_nic(&Host::default(), None, &said, measured).expect("an engine");
    let parameters = engine.parameters.calibrated(&engine.server, measured);
    (parameters.under_load.map(|curve| curve.wait_ns(0.5)), parameters.unused)
}

#[test]
fn modules_that_are_said_make_a_curve_of_a_host_that_does_not_tell_them() {
    let mut study = study(&[(0.01, 80.0), (0.1, 380.0), (0.6, 380.0), (1.0, 380.0)]);
    study.host.memory.slots = Fact::default();
    let measured = Calibration::of(&study, &summarise(&study));
    assert_eq!((&measured.under_load, measured.unused.len()), (&None, 0));
    let mts = ("memory.mts", "2933");
    let (wait_ns, unused) = calibrated(&measured, &[mts, ("memory.socket0", "1,0,0/1,0,0")]);
    assert!(unused.is_empty(), "{unused:?}");
    let wait_ns = wait_ns.expect("a curve");
    assert!((wait_ns - 300.0).abs() < 1e-3, "{wait_ns}");
    // Six channels would hardly be loaded by it, and of two sockets the one node's is not known.
    let (curve, unused) = calibrated(&measured, &[mts, ("memory.socket0", "2,2,2/2,2,2")]);
    assert!(curve.is_some() && unused.is_empty(), "33 % of six channels: {unused:?}");
    let two = [mts, ("memory.socket0", "1,0,0/1,0,0"), ("memory.socket1", "1,0,0/1,0,0")];
    for memory in [&two[..], &[mts], &[]] {
        let (curve, unused) = calibrated(&measured, memory);
        assert_eq!(curve, None);
        let why = "latency under load: the peak of the memory channels is not known";
        assert_eq!(unused, [why], "{memory:?}");
    }
}
