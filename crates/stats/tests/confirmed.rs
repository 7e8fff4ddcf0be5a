//! Anomalies that the runs of a study confirm, and what one run says of its point, by hand.

mod told;

use narrows_model::explored::{Choice, Explorable, Explored, Law, Point, Varied};
use narrows_model::load::{EndReport, FlowTally, Params, Role};
use narrows_model::record::{Record, Reported};
use narrows_model::study::StoredStudy;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::{Bytes, Nanos};
use narrows_stats::{Anomalies, AnomalyKind, Look, anomalies, look};
use told::{datagrams, failed, record, trial};

/// TCP with two options that cost nothing: `nagle` and `control`, each with an odd choice.
fn explored() -> Explored {
    let option = |name: &str, choices: [&str; 2]| Explorable {
        name: name.to_owned(),
        law: Law::Alike,
        choices: choices
            .map(|choice| Choice {
                name: choice.to_owned(),
                says: format!("{name} {choice}"),
                amount: None,
                message_ns: 0.0,
                is_fine: false,
            })
            .to_vec(),
        usual: 0,
    };
    let options = vec![option("nagle", ["on", "off"]), option("control", ["cubic", "bbr"])];
    Explored { minutes: 1.0, traffic: vec![Varied { name: "TCP".to_owned(), options }] }
}

fn at(nagle: usize, control: usize) -> Point {
    Point { traffic: 0, choices: vec![nagle, control] }
}

/// Points in the order of the study's trials.
fn points() -> [Point; 4] {
    [at(0, 0), at(1, 0), at(0, 1), at(1, 1)]
}

/// Blocks of two runs each: which point had which rate, in Gb/s.
fn searched(blocks: &[[(usize, f64); 2]]) -> StoredStudy {
    let explored = explored();
    let trials: Vec<Trial> = points()
        .iter()
        .enumerate()
        .map(|(id, point)| Trial {
            levels: explored.levels(point),
            ..trial("tcp-stream", &id.to_string())
        })
        .collect();
    let mut records = Vec::new();
    for (block, runs) in blocks.iter().enumerate() {
        for (point, gbps) in runs {
            let of = &trials[*point];
            records.push(told::told(of, block as u32, gbps * 1e9, Unit::BitsPerSecond));
        }
    }
    let mut study = told::study(trials, records);
    study.study.explored = Some(explored);
    study
}

fn of(blocks: &[[(usize, f64); 2]]) -> Anomalies {
    anomalies(&searched(blocks)).expect("a search")
}

#[test]
fn three_pairs_that_all_show_it_confirm_an_anomaly_in_either_order() {
    let all = of(&[[(1, 2.0), (0, 8.0)], [(0, 8.0), (1, 1.0)], [(1, 2.0), (0, 10.0)]]);
    assert_eq!((all.unconfirmed, all.points, all.runs, all.refused), (0, 2, 6, 0));
    let [found] = &all.found[..] else { panic!("{:?}", all.found) };
    assert_eq!((found.kind, found.traffic.as_str()), (AnomalyKind::Slow, "TCP"));
    assert_eq!((found.point.clone(), found.beside.clone()), (at(1, 0), at(0, 0)));
    assert_eq!((&found.with[..], found.option.as_str()), (&["nagle off".to_owned()][..], "nagle"));
    assert_eq!((found.odd.as_str(), found.plain.as_str()), ("nagle off", "nagle on"));
    assert_eq!(found.ratios, [0.25, 0.125, 0.2]);
    assert_eq!(found.ratio_expected, 1.0);
    assert_eq!((found.odd_bits_per_second, found.plain_bits_per_second), (2e9, 8e9));
    assert_eq!((found.odd_trouble_share, found.plain_trouble_share), (0.0, 0.0));
}

#[test]
fn what_single_runs_show_is_suspected_and_not_claimed() {
    let of_single = |blocks: &[[(usize, f64); 2]]| {
        let mut study = searched(blocks);
        for (block, record) in study.records.iter_mut().enumerate() {
            record.block = block as u32;
        }
        anomalies(&study).expect("a search")
    };
    let all = of_single(&[[(0, 8.0), (1, 2.0)], [(0, 8.0), (0, 8.0)]]);
    assert_eq!((all.found.len(), all.unconfirmed), (0, 0));
    let [one] = &all.suspected[..] else { panic!("{:?}", all.suspected) };
    assert_eq!((one.traffic.as_str(), one.with.as_str()), ("TCP", "nagle off"));
    assert_eq!((one.odd_bits_per_second, one.usual_bits_per_second), (2e9, 8e9));
    assert_eq!(of_single(&[[(0, 8.0), (1, 4.1)]]).suspected, [], "half is usual");
    assert_eq!(of_single(&[[(0, 8.0), (3, 2.0)]]).suspected, [], "two options tell of neither");
    let odd = [(0, 8.0), (1, 2.0)];
    assert_eq!(of(&[odd, odd]).suspected, [], "its pairs are told");
    assert_eq!(of(&[odd, odd, odd]).suspected, [], "and what they confirm");
}

#[test]
fn two_pairs_and_one_pair_that_does_not_show_it_confirm_nothing() {
    let odd = [(0, 8.0), (1, 2.0)];
    let two = of(&[odd, odd]);
    assert_eq!((two.found.len(), two.unconfirmed), (0, 1));
    // Half is the least that is clearly less.
    let not_all = of(&[odd, odd, [(0, 8.0), (1, 4.1)]]);
    assert_eq!((not_all.found.len(), not_all.unconfirmed), (0, 1));
    let just = of(&[odd, odd, [(0, 8.0), (1, 3.9)]]);
    assert_eq!((just.found.len(), just.unconfirmed), (1, 0));
    // Points that differ in two options say of neither that it is the one.
    let two_options = [(0, 8.0), (3, 2.0)];
    let apart = of(&[two_options, two_options, two_options]);
    assert_eq!((apart.found.len(), apart.unconfirmed), (0, 1));
    // The noise of usual runs that were all alike is taken for 3 %.
    assert_eq!((two.noise_share, apart.noise_share), (0.03, 0.03));
}

#[test]
fn the_worst_anomaly_is_told_first() {
    let nagle = [(0, 8.0), (1, 2.0)];
    let control = [(0, 8.0), (2, 1.0)];
    let all = of(&[nagle, control, nagle, control, nagle, control]);
    let options: Vec<&str> = all.found.iter().map(|found| found.option.as_str()).collect();
    assert_eq!(options, ["control", "nagle"]);
    let with: Vec<&str> = all.found.iter().map(|found| found.with[0].as_str()).collect();
    assert_eq!(with, ["control bbr", "nagle off"]);
    assert_eq!((all.points, all.runs), (3, 12));
}

#[test]
fn a_point_that_never_ran_is_refused_and_other_studies_have_no_anomalies() {
    let mut study = searched(&[[(0, 8.0), (0, 8.0)]]);
    for point in [2, 2, 3] {
        study.records.push(failed(&study.trials[point], 9, "refused"));
    }
    let all = anomalies(&study).expect("a search");
    assert_eq!((all.refused, all.points, all.runs), (2, 1, 2));
    study.study.explored = None;
    assert_eq!(anomalies(&study), None);
}

fn look_at(trial: &Trial, record: &Record) -> (f64, f64) {
    let Look { rate, trouble } = look(trial, record).expect("a look");
    (rate, trouble)
}

#[test]
fn a_run_has_a_rate_in_bits_and_at_least_one_kilobit() {
    let tcp = trial("tcp-stream", "t");
    assert_eq!(look(&tcp, &failed(&tcp, 0, "it broke")), None);
    let copy = trial("memory-copy", "m");
    let of_memory = told::told(&copy, 0, 1e9, Unit::BytesPerSecond);
    assert_eq!(look_at(&copy, &of_memory), (8e9, 0.0));
    assert_eq!(look_at(&tcp, &told::told(&tcp, 0, 5e8, Unit::BitsPerSecond)), (5e8, 0.0));
    let udp = trial("udp-stream", "u");
    assert_eq!(look_at(&udp, &record(&udp, 0, datagrams(10, 0))), (1000.0, 0.0));
}

#[test]
fn lost_datagrams_are_trouble_where_a_pace_below_a_gigabit_holds_them() {
    let paced = |rate_bps| {
        let params = Params { rate_bps, ..Params::of_network(Bytes(1000), 1) };
        let udp = Trial { params, ..trial("udp-stream", "u") };
        look_at(&udp, &record(&udp, 0, datagrams(1000, 900)))
    };
    // 900 of 1000 B in half a second.
    assert_eq!(paced(Some(999_999_999)), (14.4e6, 0.1));
    assert_eq!(paced(Some(1_000_000_000)), (14.4e6, 0.0));
    assert_eq!(paced(None), (14.4e6, 0.0));
}

/// A TCP run of one gigabyte in a second with these readings of both ends.
fn tcp(sender: &[(&str, &str, u64)], receiver: &[(&str, &str, u64)]) -> f64 {
    let end = |role, sends, readings: &[(&str, &str, u64)]| {
        let mut report = EndReport {
            window_ns: Nanos(1_000_000_000),
            flows: vec![FlowTally {
                sends,
                bytes: Bytes(1_000_000_000),
                messages: 1,
                ..FlowTally::default()
            }],
            ..EndReport::default()
        };
        report.effective.interface = Some("eth0".to_owned());
        for (source, key, value) in readings {
            report.readings.put_words(source, key, *value);
        }
        Reported { role, report: Box::new(report), span: None }
    };
    let of = trial("tcp-stream", "t");
    let ends = vec![end(Role::Receiver, false, receiver), end(Role::Sender, true, sender)];
    let (rate, trouble) = look_at(&of, &record(&of, 0, ends));
    assert_eq!(rate, 8e9);
    trouble
}

#[test]
fn the_trouble_of_tcp_is_the_larger_of_what_is_sent_again_and_what_an_interface_drops() {
    let again = ("tcp-info", "flow0.retransmitted_segments", 50);
    assert_eq!(tcp(&[again, ("tcp-info", "flow0.sent_data_segments", 2000)], &[]), 0.025);
    // Of fewer than a thousand a share says little.
    assert_eq!(tcp(&[again, ("tcp-info", "flow0.sent_data_segments", 500)], &[]), 0.05);
    let dropped = [
        ("interface", "eth0.rx_dropped_packets", 100),
        ("interface", "eth0.tx_errors_packets", 60),
        ("interface", "eth0.rx_packets", 1500),
        ("interface", "eth0.tx_packets", 500),
        ("interface", "eth1.rx_dropped_packets", 9000),
    ];
    assert_eq!(tcp(&[again], &dropped), 0.08);
    assert_eq!(tcp(&dropped, &[]), 0.08);
    // 600 frames hold 400 Gb/s for a twentieth of a second at most; a frame of another interface
    // none.
    let paused = [("pause", "eth0.received:rx_pause_frames", 600), ("pause", "eth1.sent:x", 9000)];
    assert!((tcp(&paused, &[]) - 0.050_330_88).abs() < 1e-9);
    assert!((tcp(&[], &paused) - 0.050_330_88).abs() < 1e-9);
    let all = ("tcp-info", "flow0.retransmitted_segments", 5000);
    assert_eq!(tcp(&[all], &[]), 1.0, "no more than all");
}
