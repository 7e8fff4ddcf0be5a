//! Known answers of reconciliation: payload beside what an interface and TCP say of the window.

use narrows_model::host::Host;
use narrows_model::load::ThreadUsage;
use narrows_model::load::{EndReport, FlowTally, IpVersion, Params, Role, StreamParams, Timeline};
use narrows_model::record::{Outcome, Record, Reported, Span, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{Bytes, Nanos};
use narrows_stats::{Label, Missing, Than, Verdict, pairs, reconciled, summarise, value_of};

const MIB: u64 = 1 << 20;

/// What one end says it saw in a second.
#[derive(Clone, Copy)]
struct Seen {
    payload: u64,
    /// Bytes of headers of each packet, and payload of each.
    packet: (u64, u64),
    carried: u64,
    tcp: Option<u64>,
    ip: IpVersion,
}

const SEEN: Seen = Seen {
    payload: 25_000_000,
    packet: (66, 1448),
    carried: 25_000_000,
    tcp: Some(25_000_000),
    ip: IpVersion::V4,
};

fn end(seen: Seen, sends: bool) -> EndReport {
    let flow = FlowTally { bytes: Bytes(seen.payload), messages: 100, sends, ..Default::default() };
    let mut end = EndReport {
        window_ns: Nanos(1_000_000_000),
        looked_ns: Some(Nanos(1_002_000_000)),
        flows: vec![flow],
        ..EndReport::default()
    };
    end.effective.interface = Some("v0".into());
    end.effective.ip = Some(seen.ip);
    let packets = seen.carried / seen.packet.1;
    let bytes = seen.carried + packets * seen.packet.0;
    let way = if sends { "tx" } else { "rx" };
    let counters = [(format!("v0.{way}_packets"), packets), (format!("v0.{way}_bytes"), bytes)];
    for (key, n) in counters {
        end.readings.put_words("interface", &key, n);
    }
    if let Some(tcp) = seen.tcp {
        let received = if sends { 0 } else { tcp };
        end.readings.put_words("tcp-info", "flow0.received_bytes", received);
    }
    end
}

fn trial(kind: &str, message: u64) -> Trial {
    let timeline = Timeline {
        warmup_ns: Nanos(0),
        window_ns: Nanos(1_000_000_000),
        cooldown_ns: Nanos(0),
        interval_ns: None,
    };
    Trial {
        id: TrialId("a".into()),
        label: kind.into(),
        kind: kind.into(),
        params: Params::of_network(Bytes(message), 1),
        ends: EndSpec::anywhere(false),
        path: NetworkPath::Peer,
        timeline,
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }
}

fn record(receiving: EndReport, sending: EndReport) -> Record {
    Record {
        trial: TrialId("a".into()),
        repeat: 0,
        block: 0,
        outcome: Outcome::Done,
        reports: Reported::list(Some(Box::new(receiving)), Some(Box::new(sending)), None),
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

fn verdict(kind: &str, seen: Seen) -> Verdict {
    let record = record(end(seen, false), end(SEEN, true));
    reconciled(&trial(kind, 1400), &record).expect("reconciled").verdict
}

fn agrees(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Agrees { error_bound_share } if *error_bound_share < 0.02)
}

#[test]
fn healthy_streams_agree_whatever_their_packets() {
    let v6 = IpVersion::V6;
    for seen in [
        SEEN,
        // Joined packets of 64 KiB with one set of headers, IPv6, a VLAN's four bytes more, and a
        // loopback device, which counts no Ethernet header.
        Seen { packet: (66, 65_160), ..SEEN },
        Seen { packet: (86, 1428), ip: v6, ..SEEN },
        Seen { packet: (86, 65_160), ip: v6, ..SEEN },
        Seen { packet: (70, 1448), ..SEEN },
        Seen { packet: (52, 65_483), ..SEEN },
        // Without timestamps, the least of headers.
        Seen { packet: (40, 1460), ..SEEN },
        // Sent again, or others' traffic: more was carried.
        Seen { carried: 50_000_000, ..SEEN },
        // What lay in the socket at the edges.
        Seen { tcp: Some(25_000_000 - 65_536), ..SEEN },
    ] {
        let told = verdict("tcp-stream", seen);
        assert!(agrees(&told), "{told:?}");
    }
    let datagrams = Seen { packet: (42, 1400), tcp: None, ..SEEN };
    assert!(agrees(&verdict("udp-stream", datagrams)));
    assert!(agrees(&verdict("udp-stream", Seen { packet: (42, 64 * 1400), ..datagrams })));
}

#[test]
fn a_backlog_is_taken_off_by_what_tcp_received() {
    // 208 Mb/s of payload where 191 of a 200 Mb/s shaper came: the rest lay in the socket.
    let carried = 191_000_000 / 8;
    let backlog = Seen { payload: 208_000_000 / 8, carried, tcp: Some(carried), ..SEEN };
    let value = |seen| {
        let record = record(end(seen, false), end(SEEN, true));
        let trial = trial("tcp-stream", MIB);
        let told = reconciled(&trial, &record).expect("reconciled").verdict;
        (told, value_of(&trial, &record).map(|(value, _)| value.value))
    };
    match value(backlog) {
        (Verdict::BacklogTakenOff { excess_share, error_bound_share }, Some(bps)) => {
            // 208 less a segment in hand, over the 191 that came.
            assert!((excess_share - 0.086).abs() < 0.003, "{excess_share}");
            assert!((bps - 191e6).abs() < 1.0, "{bps}");
            // The looks lie 2 ms around a second.
            assert!((error_bound_share - 0.002).abs() < 1e-6, "{error_bound_share}");
        }
        other => panic!("{other:?}"),
    }
    // The interface carried others' traffic, and TCP knows its own.
    let (told, bps) = value(Seen { carried: 10 * carried, ..backlog });
    assert!(matches!(told, Verdict::BacklogTakenOff { .. }) && bps == Some(191e6), "{told:?}");
    // What TCP says cannot have come either.
    let (told, bps) = value(Seen { carried: carried / 2, ..backlog });
    assert!(matches!(told, Verdict::Impossible { than: Than::Interface, .. }), "{told:?}");
    assert_eq!(bps, None);
    // A little more is told as an error, and not touched.
    let (told, bps) = value(Seen { payload: carried + carried / 50, ..backlog });
    assert!(matches!(told, Verdict::Agrees { .. }), "{told:?}");
    assert_eq!(bps, Some(8.0 * (carried + carried / 50) as f64));
}

#[test]
fn more_payload_than_was_carried_is_refused() {
    // 574 Mb/s of datagrams where 400 came.
    let carried = 400_000_000 / 8;
    let datagrams =
        Seen { payload: 574_000_000 / 8, carried, tcp: None, packet: (42, 1400), ..SEEN };
    let told = verdict("udp-stream", datagrams);
    assert!(matches!(told, Verdict::Impossible { than: Than::Interface, .. }), "{told:?}");
    // A little more is told as an error, and not refused.
    let told = verdict("udp-stream", Seen { payload: carried + carried / 50, ..datagrams });
    assert!(matches!(told, Verdict::Agrees { error_bound_share } if error_bound_share > 0.01));
}

/// 71.75 MB were read where 50 MB came: 21.75 MB had waited. A datagram of 1400 bytes takes 1912 of
/// memory or more, so 40 MB of memory hold 29.3 MB at most and 42.5 to 50 MB came in the window.
#[test]
fn datagrams_that_waited_before_the_window_are_taken_off() {
    let carried = 50_000_000;
    let datagrams = Seen { payload: 71_750_000, carried, tcp: None, packet: (28, 1400), ..SEEN };
    let of = |opening: u64, closing: u64, receiver: &str| {
        let mut receiving = end(datagrams, false);
        let waiting = [("opening:waiting_bytes", opening), ("waiting_bytes", closing)];
        for (name, bytes) in waiting {
            receiving.readings.put_words("socket", &format!("flow0.{name}"), bytes);
        }
        receiving.effective.receive_buffer_bytes = Some(Bytes(40_000_000));
        receiving.effective.receiver = Some(receiver.to_owned());
        let record = record(receiving, end(SEEN, true));
        let trial = trial("udp-stream", 1400);
        let told = reconciled(&trial, &record).expect("reconciled").verdict;
        (told, value_of(&trial, &record).map(|(value, _)| value.value / 8e6))
    };
    let (told, value) = of(40_000_000, 0, "recv");
    let least = 71.75 - 40.0 * 1400.0 / 1912.0;
    let middle = (least + 50.0) / 2.0;
    let within = |is: f64, want: f64| assert!((is / want - 1.0).abs() < 1e-3, "{is}, not {want}");
    within(value.expect("a value"), middle);
    let Verdict::BacklogTakenOff { excess_share, error_bound_share } = told else {
        panic!("{told:?}")
    };
    within(excess_share, (71.75 - 0.0028) / 50.0 - 1.0);
    // Half of what is left open, and the 2 ms by which the looks lie around a second.
    within(error_bound_share, (50.0 - middle) / middle + 0.002);
    // Joined datagrams may fill the memory that they take: more may have waited, and less come.
    let (_, value) = of(40_000_000, 0, "gro");
    within(value.expect("a value"), (31.75 + 50.0) / 2.0);
    // Too little waited to explain it, or as much waited as it closed, but for a quarter of the
    // buffer that may be of datagrams read already.
    for (opening, closing) in [(20_000_000, 0), (40_000_000, 40_000_000)] {
        let (told, value) = of(opening, closing, "recv");
        assert!(matches!(told, Verdict::Impossible { than: Than::Interface, .. }), "{told:?}");
        assert_eq!(value, None);
    }
    let (told, _) = of(40_000_000, 12_000_000, "recv");
    assert!(matches!(told, Verdict::BacklogTakenOff { .. }), "{told:?}");
}

#[test]
fn a_refused_run_has_no_value_and_says_so() {
    let seen = Seen { payload: 50_000_000, tcp: None, ..SEEN };
    let mut study = StoredStudy::unmeasured(Host::default());
    study.trials = vec![trial("tcp-stream", MIB)];
    study.records = vec![record(end(seen, false), end(SEEN, true))];
    let summaries = summarise(&study);
    assert_eq!(summaries[0].estimate, None);
    assert!(summaries[0].labels.contains(&Label::Impossible), "{:?}", summaries[0].labels);
    // A good one beside it stands, and the label stays.
    let good = record(end(SEEN, false), end(SEEN, true));
    study.records.push(Record { repeat: 1, ..good });
    let summaries = summarise(&study);
    assert_eq!(summaries[0].estimate.map(|estimate| estimate.value), Some(200e6));
    assert!(summaries[0].labels.contains(&Label::Impossible));
    assert!(!summaries[0].labels.contains(&Label::ShortWindow));
}

#[test]
fn each_direction_is_held_to_its_own_interface() {
    let both = |seen: Seen| {
        let mut end = end(seen, false);
        let back = FlowTally { sends: true, bytes: Bytes(MIB), ..FlowTally::default() };
        end.flows.push(back);
        end
    };
    let mut trial = trial("tcp-stream", MIB);
    trial.params.stream = Some(StreamParams { bidirectional: true, ..Default::default() });
    let of = |receiving, sending| {
        let told = reconciled(&trial, &record(both(receiving), both(sending))).expect("reconciled");
        (told.sides.len(), told.is_impossible())
    };
    assert_eq!(of(SEEN, SEEN), (2, false));
    assert_eq!(of(SEEN, Seen { payload: 40_000_000, tcp: None, ..SEEN }), (2, true));
    // The error is of both directions together, and of nothing there is none to tell.
    let rough = |there: u64, back: u64| {
        let seen = |payload| Seen { payload, tcp: None, ..SEEN };
        let ends = record(both(seen(there)), both(seen(back)));
        reconciled(&trial, &ends).expect("reconciled").rough()
    };
    let alone = rough(SEEN.payload, SEEN.payload).unwrap_or(0.0);
    let one_way = rough(SEEN.payload, 0).unwrap_or(0.0);
    assert!(one_way <= alone + 0.01, "{one_way}, {alone} where both came");
    assert_eq!(rough(0, 0), None);
}

/// A run whose receiver's flows leave by an interface that carried nothing, while another carried
/// this, and the verdict.
fn by_another_way(carried: u64, told: Option<&str>) -> Verdict {
    let mut receiving = end(Seen { carried, tcp: None, packet: (42, 1400), ..SEEN }, false);
    receiving.effective.interface = Some("v1".into());
    receiving.effective.interface_in = told.map(str::to_owned);
    for key in ["v1.rx_packets", "v1.rx_bytes"] {
        receiving.readings.put_words("interface", key, 0);
    }
    let sending = end(Seen { packet: (42, 1400), ..SEEN }, true);
    let record = record(receiving, sending);
    reconciled(&trial("udp-stream", 1400), &record).expect("reconciled").verdict
}

#[test]
fn what_came_in_by_another_interface_is_held_to_that_one_or_to_none() {
    let unknown = Verdict::NotReconciled { because: Missing::WayIn };
    assert_eq!(by_another_way(SEEN.payload + 1400, None), unknown);
    let told = by_another_way(SEEN.payload, Some("v0"));
    assert!(agrees(&told), "{told:?}");
    // No interface carried so much, or the one that is told did not.
    for (carried, told) in [(SEEN.payload / 2, None), (SEEN.payload + 1400, Some("v1"))] {
        let verdict = by_another_way(carried, told);
        assert!(matches!(verdict, Verdict::Impossible { .. }), "{carried} {told:?}: {verdict:?}");
    }
}

#[test]
fn what_cannot_be_reconciled_says_why() {
    let missing = |change: &dyn Fn(&mut Record)| {
        let mut record = record(end(SEEN, false), end(SEEN, true));
        change(&mut record);
        match reconciled(&trial("tcp-stream", MIB), &record).expect("reconciled").verdict {
            Verdict::NotReconciled { because } => because,
            other => panic!("{other:?}"),
        }
    };
    let each = |record: &mut Record, change: fn(&mut EndReport)| {
        record.reports.iter_mut().for_each(|one| change(&mut one.report));
    };
    assert_eq!(missing(&|run| each(run, |end| end.looked_ns = None)), Missing::OlderRecord);
    assert_eq!(missing(&|run| each(run, |end| end.readings.clear())), Missing::InterfaceCounters);
    // An iperf3 server has no counters of ours: the own interface is what its word is held to.
    let mut receiving = end(Seen { payload: 60_000_000, ..SEEN }, false);
    (receiving.readings, receiving.looked_ns) = (Default::default(), None);
    let told = reconciled(&trial("tcp-stream", MIB), &record(receiving, end(SEEN, true)));
    assert!(told.expect("reconciled").is_impossible());
}

#[test]
fn a_paced_sender_is_not_behind_by_a_datagram_and_its_waiting_is_no_work() {
    let mut trial = trial("udp-stream", 1000);
    trial.params.rate_bps = Some(100_000);
    let of = |sent: u64, pacing_ms: Option<u64>, is_old: bool, busy_ms: u64| {
        let seen = Seen { payload: sent * 1000, tcp: None, packet: (42, 1000), ..SEEN };
        let (mut receiving, mut sending) = (end(seen, false), end(seen, true));
        let ms = |ms: u64| Nanos(ms * 1_000_000);
        let usage = ThreadUsage { wall_ns: ms(1000), user_ns: ms(busy_ms), ..Default::default() };
        sending.threads = vec![ThreadUsage { pacing_ns: pacing_ms.map(ms), ..usage }];
        receiving.threads = vec![ThreadUsage { wall_ns: ms(1000), ..Default::default() }];
        if is_old {
            (receiving.looked_ns, sending.looked_ns) = (None, None);
        }
        let mut study = StoredStudy::unmeasured(Host::default());
        study.trials = vec![trial.clone()];
        study.records = vec![record(receiving, sending)];
        summarise(&study).remove(0)
    };
    // 12.5 are due in a second: 12 is no generator at its limit, 10 is.
    let is_behind = |sent, busy_ms, label| of(sent, None, false, busy_ms).labels.contains(&label);
    let full = |sent| is_behind(sent, 990, Label::BehindSchedule);
    assert_eq!([13, 12, 11, 10].map(full), [false, false, true, true]);
    // A sender with CPU to spare was not the limit: its queue, the path or the receiver was.
    let spare = |sent| is_behind(sent, 400, Label::HeldBack);
    assert_eq!([13, 12, 11, 10].map(spare), [false, false, true, true]);
    assert!(!is_behind(10, 400, Label::BehindSchedule) && !is_behind(10, 990, Label::HeldBack));
    // 400 ms of CPU time, of which 390 went into waiting: 10 ms for 12 kB.
    let cost = |pacing, is_old| of(12, pacing, is_old, 400).cpu.expect("CPU").seconds_per_gigabyte;
    let told = cost(Some(390), false).expect("a cost");
    assert!((told - 0.010 / 12e-6).abs() < 1.0, "{told}");
    // An older record does not tell them apart.
    assert_eq!(cost(None, true), None);
}

/// Two pairs, whose receivers are on these hosts and saw this.
fn two_pairs(hosts: [u32; 2], seen: [Seen; 2]) -> (Trial, Record) {
    let at = |role, host| EndSpec::of(role, EndHost::Peer(host), Placement::default());
    let ends = hosts.map(|host| [at(Role::Sender, host + 2), at(Role::Receiver, host)]);
    let trial = Trial { ends: ends.concat(), ..trial("tcp-stream", MIB) };
    let span = Some(Span { open_by_ns: Nanos(0), close_from_ns: Nanos(1_000_000_000) });
    let of = |role, report| Reported { role, report: Box::new(report), span };
    let reports =
        seen.map(|seen| [of(Role::Sender, end(SEEN, true)), of(Role::Receiver, end(seen, false))]);
    let record = Record {
        reports: reports.into_iter().flatten().collect(),
        ..record(end(SEEN, false), end(SEEN, true))
    };
    (trial, record)
}

#[test]
fn every_pair_is_judged_and_the_one_that_counts_too_much_is_named() {
    let rates = |hosts, seen| {
        let (trial, record) = two_pairs(hosts, seen);
        let run = reconciled(&trial, &record).expect("reconciled");
        let mut study = StoredStudy::unmeasured(Host::default());
        (study.trials, study.records) = (vec![trial], vec![record]);
        let each = pairs(&study).remove(0).each;
        let each = [&each[0], &each[1]].map(|pair| Some(pair.estimate?.value / 1e6));
        (run, each, summarise(&study).remove(0).estimate.map(|sum| sum.value / 1e6))
    };
    let (run, each, sum) = rates([0, 1], [SEEN, SEEN]);
    assert!(agrees(&run.verdict), "{run:?}");
    assert_eq!((each, sum), ([Some(200.0), Some(200.0)], Some(400.0)));
    assert_eq!([run.sides[0].pair, run.sides[1].pair], [0, 1]);
    // Twice of what came, at the second pair: its rate is refused, and with it the sum.
    let twice = Seen { payload: 50_000_000, ..SEEN };
    let (run, each, sum) = rates([0, 1], [SEEN, Seen { tcp: None, ..twice }]);
    assert!(run.is_impossible() && !run.sides[0].is_beyond() && run.sides[1].is_beyond());
    assert_eq!((each, sum), ([Some(200.0), None], None));
    // TCP tells what came: the backlog of the second pair is taken off its rate and the sum.
    let (run, each, sum) = rates([0, 1], [SEEN, twice]);
    assert!(matches!(run.verdict, Verdict::BacklogTakenOff { .. }), "{run:?}");
    assert_eq!((each, sum), ([Some(200.0), Some(200.0)], Some(400.0)));
}

#[test]
fn receivers_that_share_an_interface_share_what_it_carried() {
    let verdict = |hosts, seen| {
        let (trial, record) = two_pairs(hosts, [seen, seen]);
        reconciled(&trial, &record).expect("reconciled").verdict
    };
    let alone = Seen { tcp: None, ..SEEN };
    assert!(agrees(&verdict([0, 1], alone)));
    // Each counts all that the one interface of their host carried, the link's headers left in.
    match verdict([0, 0], alone) {
        Verdict::Impossible { excess_share, .. } => assert!((excess_share - 1.0).abs() < 0.05),
        other => panic!("{other:?}"),
    }
    let carried = Seen { carried: 50_000_000, ..alone };
    assert!(agrees(&verdict([0, 0], carried)));
}
