//! Device writes in a root complex, from planted counts to what `credits --from` says and what
//! `predict` makes of them.

mod planted;

use narrows_model::host::Host;
use narrows_model::load::{EndReport, FlowTally};
use narrows_model::memory_queues::{QueueCount, QueueEvent};
use narrows_model::memory_traffic::MemoryTraffic;
use narrows_model::record::Reported;
use narrows_model::result::ResourceName;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndSpec, NetworkPath};
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_model::{Bytes, Fact, Nanos};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Resource, Said, of_nic};
use narrows_report::root_lines;
use narrows_stats::summarise;

const ICE_LAKE: &str = "Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz";
const CASCADE_LAKE: &str = "Intel(R) Xeon(R) Gold 6234 CPU @ 3.30GHz";
/// Lines, and nanoseconds each: 98 Gb/s until 120 credits are in use.
const RED: [(u64, u64); 4] = [(60, 313), (120, 640), (120, 800), (120, 900)];

/// A second in which devices wrote so many lines into the busiest root complex.
fn end(sends: bool, (lines, ns): (u64, u64)) -> EndReport {
    let window_ns = Nanos(1_000_000_000);
    let count = |(of, count)| QueueCount {
        of,
        package: Some(0),
        count,
        busiest: count,
        counters: 1,
        ran_thousandths: None,
    };
    let counts = [
        (QueueEvent::RootCycles, 500_000_000),
        (QueueEvent::RootOccupancy, lines * 500_000_000),
        (QueueEvent::RootWrites, lines * 1_000_000_000 / ns),
        (QueueEvent::RootReads, 1000),
    ];
    let queues = counts.map(count).to_vec();
    let memory = MemoryTraffic { span_ns: window_ns, queues, ..MemoryTraffic::default() };
    let flow = FlowTally { bytes: Bytes(1_000_000_000), sends, ..FlowTally::default() };
    let memory = (!sends).then(|| Box::new(memory));
    EndReport { window_ns, flows: vec![flow], memory, ..EndReport::default() }
}

/// Cells of RDMA writes into this host, of a processor with such a name.
fn study(model: &str, cells: &[(u64, u64)]) -> StoredStudy {
    let names: Vec<f64> = (0..).map(f64::from).take(cells.len()).collect();
    let mut study = planted::study("cores", &names, 6, None);
    study.host.cpu.model = Fact::known(model.into(), "made");
    let ids: Vec<_> = study.trials.iter().map(|trial| trial.id.clone()).collect();
    for trial in &mut study.trials {
        trial.kind = Workload::Stream(Transport::Rdma(RdmaVerb::Write));
        trial.path = NetworkPath::Peer;
        trial.ends = EndSpec::anywhere(true);
    }
    for record in &mut study.records {
        let at = ids.iter().position(|id| *id == record.trial).expect("a trial");
        record.external = None;
        let [receiver, sender] = [false, true].map(|sends| Some(Box::new(end(sends, cells[at]))));
        record.reports = Reported::list(receiver, sender, None);
    }
    study
}

fn answer(study: &StoredStudy) -> [String; 2] {
    root_lines::of(study).expect("counts").answer()
}

#[test]
fn a_plateau_is_told_as_credits_and_lines_that_rise_are_not() {
    let [credits, carries] = answer(&study(ICE_LAKE, &RED));
    assert!(credits.contains("has 120.0 of its devices' writes in flight at most"), "{credits}");
    assert!(
        carries.contains("at 313 ns each, the shortest here, they carry 196 Gb/s"),
        "{carries}"
    );
    assert!(carries.contains("need 614 ns or less"), "{carries}");
    let told = root_lines::of(&study(ICE_LAKE, &RED)).expect("counts");
    let text = told.text();
    assert!(text.contains("published for this processor's family: nothing"), "{text}");
    assert!(text.lines().any(|line| line.split_whitespace().rev().take(2).eq(["60.0", "313"])));
    assert_eq!(told.json()["device_writes"]["credits"]["value"], 120.0);
    let rising = study(CASCADE_LAKE, &[(60, 313), (80, 417), (90, 469)]);
    let [open, _] = answer(&rising);
    assert!(open.contains("at least 90.0"), "{open}");
    let text = root_lines::of(&rising).expect("counts").text();
    assert!(
        text.contains("11 writes of a core, 92 writes and over 164 reads of a device"),
        "{text}"
    );
}

#[test]
fn what_was_not_counted_here_or_is_copied_tells_nothing() {
    let mut far = study(ICE_LAKE, &RED);
    far.trials.iter_mut().for_each(|trial| trial.ends = EndSpec::anywhere(false));
    assert!(root_lines::of(&far).is_none(), "the receiver is the peer");
    let mut copied = study(ICE_LAKE, &RED);
    copied.trials.iter_mut().for_each(|trial| trial.kind = Workload::TCP_STREAM);
    assert!(root_lines::of(&copied).is_none(), "the kernel copies what comes");
    let mut bare = study(ICE_LAKE, &RED);
    for record in &mut bare.records {
        record.reports = Reported::list(None, Some(Box::new(end(true, RED[0]))), None);
    }
    assert!(root_lines::of(&bare).is_none(), "nothing was counted");
}

/// What a NIC of 400 Gb/s is left by device writes, with what a study counted.
fn device_writes(cpu: &str, study: &StoredStudy, more: &[(&str, &str)]) -> Option<Resource> {
    let said = [
        ("cpu", cpu),
        ("nic.gbps", "400"),
        ("nic.pcie", "5x16"),
        ("memory.mts", "3200"),
        ("memory.socket0", "1,1/1,1/1,1/1,1"),
        ("path", "rdma-write rocev2"),
    ];
    let said: Said = said.iter().chain(more).map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let measured = Calibration::of(study, &summarise(study));
    let engine = of_nic(&Host::default(), None, &said, &measured).expect("an engine");
    let reach = engine.reaches().into_iter().next().expect("a path");
    reach.resources.into_iter().find(|one| one.name == ResourceName::DeviceWrites)
}

#[test]
fn counted_credits_are_predicted_with_and_of_the_same_family_alone() {
    let counted = study(ICE_LAKE, &RED);
    let found = device_writes("Xeon Platinum 8360Y", &counted, &[]).expect("a resource");
    assert!((found.value - 120.0 * 64.0 * 8.0 / 313.0).abs() < 0.5, "{found:?}");
    assert!(found.says.contains("both counted on this host"), "{}", found.says);
    assert!(device_writes("Xeon Gold 6430", &counted, &[]).is_none(), "another family");
    assert!(device_writes("Xeon Platinum 8360Y", &counted, &[("ddio", "no")]).is_none());
    // Published latencies with the credits that were counted: 130 for 92.
    let red = RED.map(|(lines, ns)| (lines * 13 / 12, ns * 13 / 12));
    let counted = study(CASCADE_LAKE, &red);
    let no = [("ddio", "no"), ("memory.socket0", "1,1,1/1,1,1")];
    let found = device_writes("Xeon Gold 6234", &counted, &no).expect("a resource");
    assert!((found.value - 130.0 * 64.0 * 8.0 / 300.0).abs() < 1e-6, "{found:?}");
}
