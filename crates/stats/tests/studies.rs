//! Whole studies with known answers: a mesh, a diagnosis, a search for a rate and one for
//! anomalies.

mod told;

use narrows_model::load::{EndReport, FlowTally};
use narrows_model::reading::{Counter, Scope, keys};
use narrows_model::record::{Need, Outcome, Record, Reported, Span};
use narrows_model::study::{RATE, Search};
use narrows_model::trial::{Level, Trial};
use narrows_model::units::Unit;
use narrows_model::{Bytes, Change, Nanos};
use narrows_stats::mesh::{Limits, Mesh, State, Suspect};
use narrows_stats::{SearchEnd, changed, look, searches, summarise};
use told::{datagrams, failed, pair, record, study, told, trial};

#[test]
fn a_mesh_is_told_round_by_round_with_what_failed() {
    let unit = Unit::BitsPerSecond;
    let [good, slow, dead] = [("tcp-stream", 0, 1), ("tcp-stream", 1, 0), ("tcp-stream", 2, 0)]
        .map(|(kind, from, to)| pair(kind, from, to));
    let own = trial("tcp-stream", "of the controller");
    let records = vec![
        told(&good, 0, 10e9, unit),
        told(&slow, 0, 4e9, unit),
        failed(&dead, 0, "no route"),
        told(&slow, 1, 5e9, unit),
        told(&own, 1, 90e9, unit),
    ];
    let study = study(vec![good, slow, dead, own], records);
    let mesh = Mesh::of(&study, Limits::default()).expect("a mesh");
    // The controller's own stream is no pair of agents: 90 Gb/s is not the best of the mesh.
    assert_eq!((mesh.unit, mesh.best, mesh.cells.len()), (unit, Some(10e9), 3));
    let cell = |from, to| mesh.cells.iter().find(|cell| (cell.from, cell.to) == (from, to));
    let looks = |from, to| -> Vec<(u32, usize, Option<f64>)> {
        let cell = cell(from, to).expect("a pair");
        cell.looks.iter().map(|look| (look.round, look.at_once, look.value)).collect()
    };
    // Three were in the first round, one in the second.
    assert_eq!(looks(1, 0), [(0, 3, Some(4e9)), (1, 1, Some(5e9))]);
    assert_eq!(looks(2, 0), [(0, 3, None)]);
    let of = cell(1, 0).expect("a pair");
    assert_eq!((of.value(), of.alone(), of.last()), (Some(4e9), Some(5e9), Some(5e9)));
    assert_eq!(cell(0, 1).expect("a pair").alone(), None, "others ran beside it");
    let state = |from, to| cell(from, to).expect("a pair").state;
    assert_eq!([state(0, 1), state(1, 0), state(2, 0)], [State::Good, State::Slow, State::Failed]);
    assert_eq!(cell(2, 0).expect("a pair").failed.as_deref(), Some("no route"));
    assert_eq!(cell(0, 1).expect("a pair").failed, None);
    assert_eq!(mesh.suspects(), [(1, 0)], "slow, and not what failed");
    let order: Vec<usize> = mesh.worst_first().iter().map(|cell| cell.from).collect();
    assert_eq!(order, [1, 0], "the lowest rate first, and what has none left out");
    let rounds: Vec<(u32, usize, usize)> =
        mesh.rounds.iter().map(|round| (round.round, round.done, round.pairs)).collect();
    assert_eq!(rounds, [(0, 2, 3), (1, 1, 1)]);
}

#[test]
fn hosts_that_are_gone_are_told_with_when_and_why() {
    let unit = Unit::BitsPerSecond;
    let ways = [(2, 0), (0, 1), (1, 0), (3, 0), (0, 3)];
    let [absent, good, back, ends, later] = ways.map(|(from, to)| pair("tcp-stream", from, to));
    let skipped = |trial: &Trial, block, host: &str, why: &str, ended_s: u64| {
        let need = Need::Host { name: host.to_owned(), why: why.to_owned() };
        let mut record = record(trial, block, Vec::new());
        record.outcome = Outcome::Skipped { missing: vec![need] };
        record.around.began_unix_ns = Nanos::from_millis(1000 * ended_s - 900);
        record.around.took_ns = Nanos::from_millis(900);
        record
    };
    let mut records = vec![
        skipped(&absent, 0, "c", "no route", 10),
        told(&good, 1, 10e9, unit),
        told(&back, 1, 10e9, unit),
        skipped(&ends, 2, "d", "closed the connection", 14),
        skipped(&later, 3, "d", "closed the connection", 15),
    ];
    // Its agent was not called: there was nothing to wait for.
    records[0].around.took_ns = Nanos(1000);
    let mut study = study(vec![absent, good, back, ends, later], records);
    study.study.peer = Some("a, b, c, d".to_owned());
    study.study.began_unix_ns = Nanos::from_millis(9000);
    let mesh = Mesh::of(&study, Limits::default()).expect("a mesh");
    let gone: Vec<(usize, &str, Option<Nanos>)> =
        mesh.gone.iter().map(|one| (one.host, one.why.as_str(), one.after_ns)).collect();
    let after = Some(Nanos::from_millis(5000));
    assert_eq!(gone, [(2, "no route", None), (3, "closed the connection", after)]);
    let named: Vec<Suspect> = mesh.named.iter().map(|one| one.suspect).collect();
    assert_eq!(named, [Suspect::Dead { host: 2 }, Suspect::Gone { host: 3 }]);
    assert!(mesh.cells.iter().all(|cell| cell.from != 2), "it has no pair");
    let failed: Vec<Option<&str>> = mesh.cells.iter().map(|cell| cell.failed.as_deref()).collect();
    let why = Some("host d is gone: closed the connection");
    assert_eq!(failed, [None, why, None, why]);
    // A run that gave no figure says why.
    let empty = record(&study.trials[1], 4, Vec::new());
    study.records = vec![empty];
    let mesh = Mesh::of(&study, Limits::default()).expect("a mesh");
    assert_eq!(mesh.cells[0].failed.as_deref(), Some("nothing arrived in the windows"));
}

#[test]
fn of_round_trips_the_shortest_is_best_and_the_longest_worst() {
    let [near, far] = [pair("tcp-rr", 0, 1), pair("tcp-rr", 1, 0)];
    let records = vec![told(&near, 0, 10e3, Unit::Nanos), told(&far, 0, 40e3, Unit::Nanos)];
    let mesh = Mesh::of(&study(vec![near, far], records), Limits::default()).expect("a mesh");
    assert_eq!(mesh.best, Some(10e3));
    assert_eq!(mesh.worst_first()[0].from, 1);
    assert_eq!(mesh.suspects(), [(1, 0)]);
    assert!(Mesh::of(&study(vec![trial("tcp-rr", "a")], Vec::new()), Limits::default()).is_none());
}

#[test]
fn rounds_whose_windows_do_not_overlap_are_counted_apart() {
    let [one, other] = [pair("tcp-stream", 0, 1), pair("tcp-stream", 1, 0)];
    let second = 1_000_000_000;
    // Windows of a second by the controller's clock, the second one so much later.
    let run = |trial: &Trial, block, later: u64| {
        let report = EndReport {
            window_ns: Nanos(second),
            flows: vec![FlowTally { bytes: Bytes(1), messages: 1, ..FlowTally::default() }],
            ..EndReport::default()
        };
        let mut list = Reported::list(Some(Box::new(report.clone())), Some(Box::new(report)), None);
        let (open, close) = (Nanos(later), Nanos(later + second));
        for reported in &mut list {
            reported.span = Some(Span { open_by_ns: open, close_from_ns: close });
        }
        record(trial, block, list)
    };
    let records = vec![
        run(&one, 0, 0),
        run(&other, 0, second / 10),
        run(&one, 1, 0),
        run(&other, 1, second * 7 / 10),
    ];
    let mesh = Mesh::of(&study(vec![one, other], records), Limits::default()).expect("a mesh");
    let shares: Vec<Option<f64>> = mesh.rounds.iter().map(|round| round.overlap_share).collect();
    // Of a second nine tenths and three tenths in common.
    assert_eq!(shares, [Some(0.9), Some(0.3)]);
    assert_eq!(mesh.apart(), 1);
}

#[test]
fn a_change_is_tried_in_its_first_block_and_confirmed_in_the_others() {
    let unit = Unit::BitsPerSecond;
    let base = trial("tcp-stream", "TCP");
    let more =
        Change::Flows.note(Trial { label: "TCP, 4 flows".into(), ..trial("tcp-stream", "b") });
    let mut bbr = Change::Congestion.note(trial("tcp-stream", "c"));
    bbr.params.congestion = Some("bbr".into());
    let refused = Change::Buffers.note(trial("tcp-stream", "d"));
    // In block 0 the ratios are 2 and 4, in the other six 3; the other change is tried once.
    let mut records = vec![
        told(&base, 0, 10e9, unit),
        told(&more, 0, 20e9, unit),
        told(&base, 0, 5e9, unit),
        told(&more, 0, 20e9, unit),
        told(&bbr, 0, 5e9, unit),
        failed(&refused, 0, "no"),
    ];
    for block in 1..=6 {
        records.push(told(&base, block, 8e9, unit));
        records.push(told(&more, block, 24e9, unit));
    }
    let of = changed(&study(vec![base, more, bbr, refused], records));
    let says: Vec<&str> = of.iter().map(|one| one.says.as_str()).collect();
    assert_eq!(says, ["4 flows", "bbr"], "what a host refused was not tried");
    // The median of 2 and 4.
    assert_eq!(of[0].tried_ratio, 3.0);
    let ratio = of[0].ratio.expect("confirmed");
    assert_eq!((ratio.value, ratio.low, ratio.high), (3.0, 3.0, 3.0));
    // 5 of 10 Gb/s; nothing confirms it.
    assert_eq!((of[1].tried_ratio, of[1].ratio), (0.5, None));
}

#[test]
fn a_search_draws_a_curve_of_what_was_asked_sent_and_lost() {
    let level = |factor: &str, level: &str| Level { factor: factor.into(), level: level.into() };
    let search = Search {
        rate_max_packets_per_second: 2000.0,
        burst_max_frames: None,
        throughput_packets_per_second: None,
        rate_min_packets_per_second: Some(1000.0),
        resolution_percent: 50.0,
        loss_percent: 1.0,
        confidence_percent: 95.0,
        runs_max: 80,
    };
    // Two steps of a quarter are half: 2000, 1600, 1280, 1024.
    assert_eq!(search.rates(), [1024, 1280, 1600, 2000]);
    let at = |rate: u64| Trial {
        levels: vec![level("size", "64"), level(RATE, &Search::level_of(rate))],
        ..trial("udp-stream", &rate.to_string())
    };
    let (fast, slow) = (at(2000), at(1024));
    // Of 1000 sent in half a second 990, 980 and 970 came: 1 %, 2 % and 3 %.
    let mut records: Vec<Record> = [990, 980, 970]
        .into_iter()
        .zip(0..)
        .map(|(came, block)| record(&fast, block, datagrams(1000, came)))
        .collect();
    records.push(record(&slow, 3, datagrams(512, 512)));
    records.push(failed(&slow, 4, "gone"));
    let mut study = study(vec![fast, slow], records);
    assert!(searches(&study).is_empty(), "no study of a search");
    study.study.repeats = 9;
    assert_eq!(study.planned_runs(), 2 * 9, "a factor of that name is one as any other");
    study.study.search = Some(search);
    assert_eq!(study.planned_runs(), 5, "those that were made");
    let all = searches(&study);
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((one.of.as_str(), one.frame_bytes, one.end), ("64", 1000, SearchEnd::Unfinished));
    assert_eq!(one.runs, 4, "what failed was not made to the end");
    let [low, high] = one.curve.as_slice() else { panic!("{:?}", one.curve) };
    assert_eq!(low.asked, 1024, "from the lowest");
    assert_eq!((low.sent, low.runs, low.passed), (Some(1024.0), 1, 1));
    assert_eq!((low.lost_share, low.lost_share_max), (Some(0.0), Some(0.0)));
    assert_eq!(high.sent, Some(2000.0));
    assert_eq!((high.runs, high.passed), (3, 1), "1 % is allowed");
    assert_eq!((high.lost_share, high.lost_share_max), (Some(0.02), Some(0.03)));
}

#[test]
fn a_look_for_anomalies_is_in_bits_and_its_trouble_a_share_of_packets() {
    let stream = trial("tcp-stream", "a");
    let run = |sender: &[(Counter, u64)], nic: &[(Counter, u64)]| {
        let mut end = EndReport {
            window_ns: Nanos(1_000_000_000),
            flows: vec![FlowTally { bytes: Bytes(1000), messages: 1, ..FlowTally::default() }],
            ..EndReport::default()
        };
        end.effective.interface = Some("eth0".into());
        for (counter, value) in sender {
            end.readings.put(counter.key(Scope::Flow(0)), *value);
        }
        for (counter, value) in nic {
            end.readings.put(counter.key(Scope::Nic("eth0".into())), *value);
        }
        let mut receiver = end.clone();
        receiver.readings = Default::default();
        record(&stream, 0, Reported::list(Some(Box::new(receiver)), Some(Box::new(end)), None))
    };
    let of = |sender: &[(Counter, u64)], nic: &[(Counter, u64)]| {
        look(&stream, &run(sender, nic)).expect("a look")
    };
    // 1000 bytes in a second are 8000 bits.
    assert_eq!((of(&[], &[]).rate, of(&[], &[]).trouble), (8000.0, 0.0));
    // 10 of 2000 segments were sent again.
    let again = [(keys::RETRANSMITTED, 10), (keys::DATA_OUT, 2000)];
    assert_eq!(of(&again, &[]).trouble, 0.005);
    // Of fewer than a thousand packets a thousand is what they are set against.
    let few = [(keys::RETRANSMITTED, 10), (keys::DATA_OUT, 20)];
    assert_eq!(of(&few, &[]).trouble, 0.01);
    // The NIC dropped 30 and found 10 damaged of 4000 both ways: the larger of the two shares.
    let nic = [
        (keys::RX_DROPPED, 30),
        (keys::RX_ERRORS, 10),
        (keys::RX_PACKETS, 1000),
        (keys::TX_PACKETS, 3000),
    ];
    assert_eq!(of(&again, &nic).trouble, 0.01);
    assert_eq!(look(&stream, &failed(&stream, 0, "no")), None);
    // Memory is told in bytes: half a gigabyte in half a second.
    let copy = trial("memory-copy", "m");
    let kernel = EndReport {
        window_ns: Nanos(500_000_000),
        flows: vec![FlowTally { bytes: Bytes(500_000_000), messages: 1, ..FlowTally::default() }],
        ..EndReport::default()
    };
    let ran = record(&copy, 0, Reported::list(Some(Box::new(kernel)), None, None));
    assert_eq!(look(&copy, &ran).map(|look| look.rate), Some(8e9));
}

#[test]
fn datagrams_lost_are_trouble_only_where_they_were_paced() {
    let mut udp = trial("udp-stream", "u");
    // 100 of 1000 were lost.
    let lossy = record(&udp, 0, datagrams(1000, 900));
    let trouble = |trial: &Trial| look(trial, &lossy).expect("a look").trouble;
    assert_eq!(trouble(&udp), 0.0, "as fast as it goes");
    udp.params.rate_bps = Some(999_999_999);
    assert_eq!(trouble(&udp), 0.1);
    udp.params.rate_bps = Some(1_000_000_000);
    assert_eq!(trouble(&udp), 0.0);
    // Nothing came: there is a look all the same, at next to nothing.
    let dead = record(&udp, 0, datagrams(1000, 0));
    assert_eq!(look(&udp, &dead).map(|look| look.rate), Some(1000.0));
}

#[test]
fn a_tools_run_counts_where_it_was_done_and_in_the_unit_of_its_kind() {
    let stream = trial("tcp-stream", "a");
    let records = vec![
        told(&stream, 0, 4e9, Unit::BitsPerSecond),
        told(&stream, 1, 9e9, Unit::Nanos),
        Record {
            outcome: failed(&stream, 2, "no").outcome,
            ..told(&stream, 2, 8e9, Unit::BitsPerSecond)
        },
    ];
    let summary = summarise(&study(vec![stream], records)).remove(0);
    let values: Vec<f64> = summary.values.iter().map(|value| value.value).collect();
    assert_eq!(values, [4e9]);
}

#[test]
fn a_figure_without_a_network_says_so_and_one_to_a_peer_does_not() {
    use narrows_model::trial::NetworkPath;
    use narrows_stats::Label;
    let labels = |path: NetworkPath| {
        let stream = Trial { path, ..trial("tcp-stream", "TCP") };
        let records = vec![told(&stream, 0, 8e9, Unit::BitsPerSecond)];
        summarise(&study(vec![stream], records)).remove(0).labels
    };
    let of = |path: NetworkPath| {
        let labels = labels(path);
        [Label::Loopback, Label::NoNic].map(|label| labels.contains(&label))
    };
    assert_eq!(of(NetworkPath::Loopback), [true, false]);
    assert_eq!(of(NetworkPath::Namespaces), [false, true]);
    assert_eq!(of(NetworkPath::Peer), [false, false]);
}
