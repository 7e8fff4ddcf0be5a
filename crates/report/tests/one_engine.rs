//! One question, one answer: what every command makes of the same host, the same traffic and the
//! same measurements is the same number to its last digit.

use narrows_explain::Case;
use narrows_explain::conditions::{Judgement, sessions};
use narrows_model::host::{Host, Nic};
use narrows_model::interfaces::Interfaces;
use narrows_model::load::{EndReport, FlowTally, Params, ThreadUsage, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::result::{PredictedPath, Prediction};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndSpec, Level, NetworkPath, Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{BitsPerSecond, Bytes, Fact, Nanos};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Said, of_host, predict};
use narrows_report::explained::{self, Standing};
use narrows_report::{Analysis, words};
use narrows_stats::summarise;

/// A study of one TCP workload of so many streams: three runs of 10 Gb/s, a thread 80 % busy.
fn study(path: NetworkPath, streams: u32) -> StoredStudy {
    let second = Nanos(1_000_000_000);
    let end = |sends: bool| EndReport {
        window_ns: second,
        flows: vec![FlowTally { bytes: Bytes(1_250_000_000), sends, ..FlowTally::default() }],
        threads: vec![ThreadUsage {
            wall_ns: second,
            system_ns: Nanos(second.0 * 4 / 5),
            ..ThreadUsage::default()
        }],
        ..EndReport::default()
    };
    let id = TrialId("a".into());
    let trial = Trial {
        id: id.clone(),
        label: "tcp-stream".into(),
        kind: Workload::TCP_STREAM,
        params: Params::of_network(Bytes(65_536), streams),
        ends: EndSpec::anywhere(false),
        path,
        timeline: Timeline {
            warmup_ns: Nanos(0),
            window_ns: second,
            cooldown_ns: Nanos(0),
            interval_ns: None,
        },
        levels: vec![Level { factor: "streams".into(), level: streams.to_string() }],
        notes: Vec::new(),
        engine: None,
    };
    let run = |repeat: u32| Record {
        trial: id.clone(),
        repeat,
        block: repeat,
        outcome: Outcome::Done,
        reports: Reported::list(Some(Box::new(end(false))), Some(Box::new(end(true))), None),
        around: Stamp::default(),
        session: 0,
        external: None,
    };
    let nic = Nic {
        name: "eth0".into(),
        physical: true,
        speed_bps: Fact::known(BitsPerSecond(100e9), "planted"),
        mtu_bytes: Fact::known(Bytes(9000), "planted"),
        ..Nic::default()
    };
    let mut host = Host { nics: vec![nic], ..Host::default() };
    host.cpu.model = Fact::known("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz".into(), "planted");
    host.cpu.online = Fact::known((0..8).collect(), "planted");
    let mut study = StoredStudy::unmeasured(host);
    study.study.command = StudyKind::Study;
    study.trials = vec![trial];
    study.records = (0..3).map(run).collect();
    study
}

fn study_without_runs(study: &StoredStudy) -> StoredStudy {
    StoredStudy { records: Vec::new(), trials: Vec::new(), ..study.clone() }
}

fn of_eth0(predictions: &[Prediction]) -> [f64; 3] {
    let path = PredictedPath::Interface("eth0".into());
    let one =
        predictions.iter().find(|one| one.path == path && one.workload == Workload::TCP_STREAM);
    let range = one.expect("a prediction").range.expect("a range");
    [range.value, range.low, range.high]
}

/// What `narrows predict --from STUDY` prints, in bits a second.
fn asked(study: &StoredStudy, measured: &Calibration, streams: &str) -> [f64; 3] {
    let said = Said::from([("streams".to_owned(), streams.to_owned())]);
    let mut server = of_host(&study.host, &said, measured).expect("a server");
    server.parameters = server.parameters.calibrated(&server.server, measured);
    let reach = server.reaches().into_iter().find(|reach| reach.path == "tcp").expect("tcp");
    [reach.value, reach.low, reach.high].map(|gbps| gbps * 1e9)
}

/// A measurement inside the host: what it says of the CPU goes into the question about the NIC.
#[test]
fn check_report_explain_and_predict_give_one_number() {
    let study = study(NetworkPath::Namespaces, 1);
    let summaries = summarise(&study);
    let measured = Calibration::of(&study, &summaries);
    assert!(measured.has_streams());
    let want = asked(&study, &measured, "4");
    let predictions = predict(&study, &summaries);
    assert_eq!(of_eth0(&predictions), want, "check");
    assert_eq!(of_eth0(&Analysis::of(&study).predictions), want, "report");
    let case = Case { study: &study, summaries: &summaries, predictions: &predictions };
    assert_eq!(of_eth0(&Judgement::of(&case).predictions), want, "explain");
    let seen = sessions(&study, &summaries);
    assert_eq!(of_eth0(&predict(&seen[0].study, &seen[0].summaries)), want, "a session");
    // What was measured counts: without it the figure is another.
    let bare = study_without_runs(&study);
    assert_ne!(of_eth0(&predict(&bare, &[])), want);
}

/// A cell of a study to a peer: the panel, the prediction and the question with as many streams.
#[test]
fn a_panels_cell_has_the_same_number() {
    let mut study = study(NetworkPath::Peer, 8);
    study.study.interfaces = Interfaces::one(Some("eth0".into()));
    study.study.peer = Some("peer".into());
    let analysis = Analysis::of(&study);
    let want = of_eth0(&analysis.predictions);
    let panels = &analysis.study.as_ref().expect("panels").panels;
    let range = panels[0].rows[0].predicted.expect("a prediction");
    assert_eq!([range.value, range.low, range.high], want);
    // What was measured through the NIC is not what should have been expected of it.
    let measured = Calibration::but_the_nic(&study, &analysis.summaries);
    assert_eq!(of_eth0(&analysis.predictions)[0], {
        let said = Said::from([("streams".to_owned(), "8".to_owned())]);
        let server =
            narrows_predict::of_nic(&study.host, study.host.nics.first(), &said, &measured);
        let reach = server.expect("a server").reaches().remove(0);
        reach.value * 1e9
    });
}

/// A cell to a peer that keeps the pace that was asked for is far from what the path carries, and
/// that is why.
#[test]
fn a_pace_that_was_asked_for_explains_a_cell() {
    let of = |rate_bps: Option<u64>| {
        let mut study = study(NetworkPath::Peer, 4);
        study.study.interfaces = Interfaces::one(Some("eth0".into()));
        study.study.peer = Some("peer".into());
        study.trials[0].label = "10G".into();
        study.trials[0].params.rate_bps = rate_bps;
        for thread in study.records.iter_mut().flat_map(|run| &mut run.reports) {
            thread.report.threads[0].system_ns = Nanos(100_000_000);
        }
        let analysis = Analysis::of(&study);
        explained::cell(&analysis, &analysis.summaries[0]).standing
    };
    assert_eq!(of(Some(10_000_000_000)), Standing::Explained);
    assert_eq!(of(None), Standing::Unexplained);
}

/// A study names its cells by their levels: what a cell does is its workload, and not how its label
/// begins.
#[test]
fn a_cell_of_any_name_finds_its_prediction() {
    for path in [NetworkPath::Namespaces, NetworkPath::Loopback, NetworkPath::Peer] {
        let of = |label: &str| {
            let mut study = study(path, 4);
            study.trials[0].label = label.into();
            if path == NetworkPath::Peer {
                study.study.interfaces = Interfaces::one(Some("eth0".into()));
                study.study.peer = Some("peer".into());
            }
            let analysis = Analysis::of(&study);
            let expected = words::expectation(&analysis, &analysis.summaries[0]).cloned();
            let cell = explained::cell(&analysis, &analysis.summaries[0]);
            assert_eq!(
                cell.expected,
                expected.as_ref().and_then(|of| of.range),
                "{path:?} {label}"
            );
            expected.unwrap_or_else(|| panic!("{path:?} {label}: no prediction"))
        };
        let (usual, own) = (of("tcp-stream"), of("64K, 4 streams"));
        assert_eq!((usual.range, &usual.path), (own.range, &own.path));
        assert!(own.range.is_some() && own.measured.is_some(), "{own:?}");
        assert_eq!((own.cell.as_deref(), own.protocol().as_str()), (Some("64K, 4 streams"), "tcp"));
    }
}
