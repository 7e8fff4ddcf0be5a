//! Two hosts of one path, and round trips: beside figures worked out by hand.

use narrows_model::host::{Host, IdleState, Nic};
use narrows_model::interfaces::Interfaces;
use narrows_model::load::{EndReport, FlowTally, Params, Role, StreamParams, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Stamp};
use narrows_model::result::{PredictedPath, Prediction, ResourceAt, ResourceName};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::workload::Workload;
use narrows_model::{BitsPerSecond, Bytes, Fact, Nanos};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Measured, Reach, Said, of_host, predict};

fn near(is: f64, want: f64) {
    assert!((is / want - 1.0).abs() < 2e-4, "{is} is not {want}");
}

fn host(cpu: &str, gbps: Option<f64>) -> Host {
    let mut host = Host::default();
    host.cpu.model = Fact::known(cpu.to_owned(), "planted");
    let mut card = Nic { name: "eth0".into(), physical: true, ..Nic::default() };
    card.mtu_bytes = Fact::known(Bytes(1500), "planted");
    if let Some(gbps) = gbps {
        card.speed_bps = Fact::known(BitsPerSecond(gbps * 1e9), "planted");
    }
    host.nics.push(card);
    host
}

fn tcp(own: Host, far: Option<Host>) -> Prediction {
    let mut study = StoredStudy::unmeasured(own);
    study.study.interfaces = Interfaces::one(Some("eth0".into()));
    study.study.peer = Some("far".into());
    study.peer_hosts = far.into_iter().collect();
    let all = predict(&study, &[]);
    all.into_iter().find(|one| one.workload == Workload::TCP_STREAM).expect("tcp")
}

fn gbps(one: &Prediction) -> f64 {
    one.range.expect("an expectation").value / 1e9
}

#[test]
fn the_end_that_can_less_decides_and_is_named() {
    let fast = || host("Xeon Gold 6248", Some(100.0));
    let alone = tcp(fast(), None);
    let both = tcp(fast(), Some(fast()));
    near(gbps(&both), gbps(&alone));
    assert_eq!(both.bottleneck, alone.bottleneck);
    // A far port of 1 Gb/s, which framing leaves 0.9415 of.
    let slow = tcp(fast(), Some(host("Xeon E5-2690 0", Some(1.0))));
    assert!((gbps(&slow) - 0.9415).abs() < 0.001, "{slow:?}");
    assert_eq!(slow.bottleneck, Some(ResourceAt::Peer(ResourceName::Wire)));
    let range = slow.range.expect("a range");
    assert!(range.low <= range.value && range.value <= range.high, "{range:?}");
    assert!(
        slow.ceilings.iter().any(|one| one.resource == ResourceAt::Peer(ResourceName::Cpu)),
        "{slow:?}"
    );
    // The other way round it is this end, and the faster peer's ceilings are left out.
    let own = tcp(host("Xeon E5-2690 0", Some(1.0)), Some(fast()));
    assert_eq!(own.bottleneck, Some(ResourceAt::Own(ResourceName::Wire)));
    assert!(
        own.ceilings.iter().all(|one| one.resource != ResourceAt::Peer(ResourceName::Wire)),
        "{own:?}"
    );
}

/// Ports that tell no rate, as virtual ones do: the CPUs of both ends are known and expect
/// something, and what is missing is named for each end.
#[test]
fn what_is_known_of_two_ends_is_an_expectation() {
    let blind = || host("Xeon Gold 6248", None);
    let met = tcp(blind(), Some(blind()));
    assert!(
        gbps(&met) > 20.0 && met.bottleneck == Some(ResourceAt::Own(ResourceName::Cpu)),
        "{met:?}"
    );
    for gap in ["wire", "pcie", "peer's wire", "peer's pcie"] {
        assert!(
            met.missing.iter().any(|one| one.resource.to_string() == gap),
            "{gap}: {:?}",
            met.missing
        );
    }
}

/// One stream between two agents' hosts, which was not run.
fn between_agents() -> StoredStudy {
    let mut study = StoredStudy::unmeasured(host("Xeon E5-2690 0", Some(1.0)));
    study.study.peer = Some("a, b".into());
    study.peer_hosts =
        vec![host("Xeon Gold 6248", Some(100.0)), host("Xeon Gold 6248", Some(10.0))];
    let ends = [(Role::Sender, 0), (Role::Receiver, 1)];
    let place = Placement::default;
    let ends = ends.map(|(role, at)| EndSpec::of(role, EndHost::Peer(at), place()));
    let line = Timeline::new(Nanos(0), Nanos::from_millis(1000), Nanos(0));
    let params = Params::of_network(Bytes(65_536), 1);
    let (kind, path) = (Workload::TCP_STREAM, NetworkPath::Peer);
    study.trials = vec![Trial {
        id: TrialId("agents".into()),
        label: "tcp-stream".into(),
        kind,
        params,
        ends: ends.to_vec(),
        path,
        timeline: line,
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }];
    study
}

/// A study's cells at two MTUs: each is predicted with the MTU that its sockets met, and not with
/// the one that the host had when it was read.
#[test]
fn a_cell_is_predicted_with_the_mtu_that_it_met() {
    let mut study = between_agents();
    study.study.interfaces = Interfaces::one(Some("eth0".into()));
    study.trials[0].ends = EndSpec::anywhere(false);
    let at = |mtu: u64| {
        let mut study = study.clone();
        let window_ns = Nanos::from_millis(1000);
        let flows = vec![FlowTally { bytes: Bytes(100_000_000), ..FlowTally::default() }];
        let mut end = EndReport { window_ns, flows, ..EndReport::default() };
        end.effective.path_mtu_bytes = Some(Bytes(mtu));
        study.records = vec![Record {
            trial: study.trials[0].id.clone(),
            repeat: 0,
            block: 0,
            outcome: Outcome::Done,
            reports: Reported::list(Some(Box::new(end.clone())), Some(Box::new(end)), None),
            around: Stamp::default(),
            session: 0,
            external: None,
        }];
        let summaries = narrows_stats::summarise(&study);
        let cell = narrows_predict::of_cell(&study, &summaries, &study.trials[0]);
        gbps(&cell.expect("a prediction"))
    };
    // Of 1 Gb/s what 38 B of a frame and 52 B of headers leave of each packet.
    let goodput = |mtu: f64| (mtu - 52.0) / (mtu + 38.0);
    for mtu in [1500, 9000] {
        assert!((at(mtu) / goodput(mtu as f64) - 1.0).abs() < 2e-3, "{mtu}: {}", at(mtu));
    }
}

/// Two agents' path is predicted from their own hosts: the controller's is asked nothing.
#[test]
fn a_path_between_agents_is_of_their_own_hosts() {
    let mut study = between_agents();
    let summaries = narrows_stats::summarise(&study);
    let all = predict(&study, &summaries);
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(one.path, PredictedPath::Between(["a".into(), "b".into()]));
    assert_eq!((&one.workload, one.cell.as_deref()), (&Workload::TCP_STREAM, Some("tcp-stream")));
    assert_eq!((one.path.to_string(), one.protocol()), ("a to b".to_owned(), "tcp".to_owned()));
    // The receiver's port of 10 Gb/s, which framing leaves 0.9415 of, and not 1 Gb/s.
    assert!((gbps(one) - 9.4).abs() < 0.1, "{one:?}");
    assert_eq!(one.bottleneck, Some(ResourceAt::Peer(ResourceName::Wire)));
    let of = narrows_predict::of_cell(&study, &summaries, &study.trials[0]).expect("the same");
    assert_eq!(of.range, one.range);
    // Without what a host says of itself nothing is expected.
    study.peer_hosts.clear();
    assert!(predict(&study, &narrows_stats::summarise(&study)).is_empty());
}

fn trip(more: &[(&str, &str)], path: &str, measured: &Calibration) -> Reach {
    let base = [("cpu", "Xeon Gold 6142"), ("cpu.ghz", "3.3"), ("nic.gbps", "100")];
    let memory = [("memory.mts", "2666"), ("memory.socket0", "1,1,1/1,1,1")];
    let other = [("memory.socket1", "1,1,1/1,1,1"), ("path", path)];
    let all = base.iter().chain(&memory).chain(&other).chain(more);
    let said: Said = all.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    of_host(&Host::default(), &said, measured).expect("a server").reaches().remove(0)
}

#[test]
fn a_round_trip_is_the_sum_of_its_parts() {
    let none = Calibration::default();
    let of = |more: &[(&str, &str)], path: &str| trip(more, path, &none);
    // 84 B of frame each way at 100 Gb/s.
    let bits = 2.0 * 84.0 * 8.0 / 100e3;
    let tcp = of(&[], "tcp-rr");
    assert_eq!((tcp.unit, tcp.bottleneck), ("us", Some(ResourceName::Stack)));
    near(tcp.value, 2.0 * (0.99 + 4.3 + 4.0) + bits);
    near(of(&[("busy-poll", "yes")], "tcp-rr").value, 2.0 * (0.99 + 4.3) + bits);
    near(of(&[], "rdma-write-rr").value, 2.0 * 0.99 + bits);
    near(of(&[("switches", "2")], "rdma-write-rr").value, 2.0 * 0.99 + 4.0 * 0.3 + bits);
    let long = 2.0 * (9000.0 + 38.0) * 8.0 / 100e3;
    near(of(&[("message", "9000")], "rdma-write-rr").value, 2.0 * 0.99 + long);
    // What was measured inside this host takes the place of stack and wake-up.
    let inside = Measured { value: 12.0, low: 11.0, high: 13.0, from: "a test".into() };
    let here = Calibration { round_trip_us: Some(inside), ..Calibration::default() };
    near(trip(&[], "tcp-rr", &here).value, 12.0 + 2.0 * 0.99 + bits);
    for one in [of(&[], "tcp-rr"), of(&[], "udp-rr"), of(&[], "rdma-write-rr")] {
        assert!(one.low < one.value && one.value < one.high, "{one:?}");
    }
}

/// The round trip that Dell published as more than 40 % shorter with a NIC on the own processor.
#[test]
fn a_local_nic_answers_in_two_fifths_less() {
    let of = |more: &[(&str, &str)]| trip(more, "tcp-rr", &Calibration::default()).value;
    let gain = of(&[]) / of(&[("work.socket", "1")]) - 1.0;
    assert!((gain + 0.405).abs() < 0.01, "{gain}");
}

/// Idle states that are allowed and left within the trip make it longer; none else does.
#[test]
fn cores_that_sleep_make_a_round_trip_longer_where_that_was_read() {
    let base = [("cpu", "Xeon Gold 6142"), ("cpu.ghz", "3.3"), ("nic.gbps", "100")];
    let said: Said = base
        .into_iter()
        .chain([("memory.mts", "2666"), ("memory.socket0", "1,1,1/1,1,1")])
        .chain([("memory.socket1", "1,1,1/1,1,1"), ("path", "tcp-rr")])
        .map(|(key, word)| (key.to_owned(), word.to_owned()))
        .collect();
    let of = |states: &[(u64, u32)]| {
        let state = |(exit_latency_us, disabled_on): &(u64, u32)| IdleState {
            name: format!("C{exit_latency_us}"),
            exit_latency_us: *exit_latency_us,
            disabled_on: *disabled_on,
        };
        let mut host = Host::default();
        host.cpu.idle_states = Fact::known(states.iter().map(state).collect(), "test");
        of_host(&host, &said, &Calibration::default()).expect("a server").reaches().remove(0)
    };
    let (unread, awake) = (of(&[]), of(&[(0, 0)]));
    near(awake.value, unread.value);
    assert!(unread.high > awake.high + 80.0, "{unread:?} {awake:?}");
    // 16.6 us of software: C2 is usual, C10 possible, C133 neither.
    let asleep = of(&[(2, 0), (10, 0), (133, 0)]);
    near(asleep.value, awake.value + 4.0);
    near(asleep.high, awake.high + 20.0);
    // Switched off on a CPU, a state counts for nothing.
    near(of(&[(2, 4)]).value, awake.value);
}

/// A round trip that was measured stands beside what it should have taken.
#[test]
fn a_measured_round_trip_has_an_expectation_in_time() {
    let mut study = between_agents();
    study.trials[0].kind = Workload::TCP_RR;
    study.trials[0].params.message_bytes = Bytes(1);
    let mut summary = narrows_stats::summarise(&study).remove(0);
    summary.kind = study.trials[0].kind.clone();
    let of = |study: &StoredStudy, summary: &narrows_stats::Summary| {
        predict(study, std::slice::from_ref(summary))
            .into_iter()
            .find(|one| one.cell.as_ref() == Some(&summary.label))
    };
    // Ends among other hosts have no expectation of this one's.
    assert!(of(&study, &summary).is_none());
    study.trials[0].path = NetworkPath::Loopback;
    study.trials[0].ends = EndSpec::anywhere(false);
    summary.path = NetworkPath::Loopback;
    let inside = of(&study, &summary).expect("an expectation");
    let range = inside.range.expect("a range");
    assert_eq!(range.unit, narrows_model::units::Unit::Nanos);
    // 16.6 us of stack and wake-up at 3.3 GHz of Skylake's work, on 3.2 GHz of 0.72 of it.
    near(range.value / 1e3, 16.6 * 3.3 / (3.2 * 0.72));
    assert!(range.low < range.value && range.value < range.high, "{range:?}");
    assert_eq!(inside.bottleneck, Some(ResourceAt::from(ResourceName::Stack)));
    // A mebibyte is copied at one end while the other copies what came before: 0.62 cycles a byte,
    // and once more for the first 64 KiB.
    study.trials[0].params.message_bytes = Bytes(1 << 20);
    let large = of(&study, &summary).expect("an expectation").range.expect("a range");
    let copies = 2.0 * ((1 << 20) + (1 << 16)) as f64 * 0.62 / (3.2 * 0.72) / 1e3;
    near((large.value - range.value) / 1e3, copies);
    assert!(large.low > range.low && large.high > 2.0 * large.value - range.value, "{large:?}");
}

/// To another host the slower of wire and copies has the rest of a long message.
#[test]
fn a_long_message_is_on_the_wire_and_copied_at_once() {
    let of = |gbps: &'static str, bytes: &'static str| {
        let more =
            [("nic.gbps", gbps), ("message", bytes), ("irq", "same-cpu"), ("offloads", "hardware")];
        trip(&more, "tcp-rr", &Calibration::default()).value
    };
    let bits = |gbps: f64, bytes: f64| 2.0 * (bytes + 38.0) * 8.0 / (gbps * 1e3);
    // At 1 Gb/s all of it is the wire's, and the first 64 KiB are copied twice before and after.
    let small = of("1", "46") - bits(1.0, 46.0);
    let (piece, whole) = (65_536.0, 1_048_576.0);
    let first = 4.0 * piece * (0.62 + 300.0 / 65_536.0 * (1.0 - 1448.0 / piece)) / 3.3 / 1e3;
    near(of("1", "65536"), small + bits(1.0, piece) + first);
    near(of("1", "1048576"), small + bits(1.0, whole) + first);
    // At 400 Gb/s copies take longer: the wire adds its first piece.
    let copies = 2.0 * (whole + piece) * (0.62 + 300.0 / 65_536.0) / 3.3 / 1e3;
    near(
        of("400", "1048576"),
        of("400", "46") - bits(400.0, 46.0) + bits(400.0, whole) / 16.0 + copies,
    );
}

/// Streams of all pairs, and of both directions, are streams of one host inside it.
#[test]
fn both_directions_and_all_pairs_are_streams_inside_and_of_no_link() {
    let mut study = between_agents();
    let mut summary = narrows_stats::summarise(&study).remove(0);
    study.trials[0].ends = EndSpec::anywhere(false);
    let stream = StreamParams { bidirectional: true, ..StreamParams::default() };
    study.trials[0].params.stream = Some(stream);
    let told = |study: &StoredStudy, summary: &narrows_stats::Summary| {
        let summaries = std::slice::from_ref(summary);
        let one = narrows_predict::of_cell(study, summaries, &study.trials[0])?;
        Some(one.ceilings[0].says.clone())
    };
    // Both directions of a link are two links, which the model does not have.
    assert_eq!(told(&study, &summary), None);
    study.study.peer = None;
    study.trials[0].path = NetworkPath::Loopback;
    summary.path = NetworkPath::Loopback;
    let both = told(&study, &summary).expect("an expectation");
    assert!(both.contains(", 2 streams"), "{both}");
    study.trials[0].params.streams = 4;
    assert!(told(&study, &summary).is_some_and(|says| says.contains(", 8 streams")));
}
