//! What rules about measured cells share, with known answers.

use super::testing::{end, read, stream};
use super::*;
use narrows_model::Nanos;
use narrows_model::load::{Role, ThreadUsage};

/// What is asked of the only cell of a study.
fn asked<T>(study: &StoredStudy, ask: impl Fn(&Cell<'_>) -> T) -> T {
    let summaries = narrows_stats::summarise(study);
    let case = Case { study, summaries: &summaries, predictions: &[] };
    let answer = cells(&case).next().map(|cell| ask(&cell));
    answer.expect("a cell")
}

/// Three runs in which a thread of this end ran and waited for so many per cent of the time.
fn ran(role: Role, ran: u64, waited: u64) -> StoredStudy {
    let mut study = stream("tcp-stream");
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(role)) {
        let thread = &mut end.threads[0];
        thread.system_ns = Nanos(thread.wall_ns.0 * ran / 100);
        thread.waited_ns = Some(Nanos(thread.wall_ns.0 * waited / 100));
    }
    study
}

#[test]
fn a_thread_is_busy_that_ran_or_waited_for_85_percent_and_disturbed_that_waited_for_10() {
    for role in [Role::Sender, Role::Receiver] {
        let busy = |share, waited| asked(&ran(role, share, waited), |cell| cell.is_busy());
        assert!(busy(86, 0) && busy(60, 26) && !busy(84, 0) && !busy(60, 24), "{role:?}");
        let disturbed = |waited| asked(&ran(role, 50, waited), |cell| cell.is_disturbed());
        assert!(disturbed(10) && disturbed(11) && !disturbed(9), "{role:?}");
    }
    assert!(!asked(&stream("tcp-stream"), |cell| cell.is_disturbed()), "nothing was counted");
    let thread = |waited: Option<u64>, wall: u64| ThreadUsage {
        waited_ns: waited.map(Nanos),
        wall_ns: Nanos(wall),
        ..ThreadUsage::default()
    };
    let threads = vec![thread(Some(2), 10), thread(Some(4), 10), thread(None, 10)];
    let all = EndReport { threads, ..end(true) };
    assert_eq!(waited_share(&all), Some(0.4), "of the one that waited longest");
    let threads = vec![thread(None, 10), thread(Some(0), 0)];
    assert_eq!(waited_share(&EndReport { threads, ..end(true) }), None);
}

#[test]
fn time_at_a_limit_is_a_share_of_all_flows_that_send() {
    let limit = keys::LIMITED_BY_WINDOW;
    let mut study = stream("tcp-stream");
    assert_eq!(asked(&study, |cell| cell.limited_share(limit)), None);
    for (flow, ns) in [(0, 300_000_000), (1, 100_000_000)] {
        let key = limit.key(narrows_model::reading::Scope::Flow(flow)).to_string();
        read(&mut study, "tcp-info", &key, ns);
    }
    assert_eq!(asked(&study, |cell| cell.limited_share(limit)), Some(0.4));
    for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
        let one = end.flows[0].clone();
        end.flows = vec![one.clone(), one.clone(), one];
        end.flows[2].sends = false;
    }
    assert_eq!(asked(&study, |cell| cell.limited_share(limit)), Some(0.2));
    assert_eq!(asked(&study, |cell| cell.limited_share(keys::BUSY)), None);
}

#[test]
fn long_paths_are_beyond_the_noise_where_both_limits_make_up_four_fifths() {
    let of = |shortest_us: u64, window: u64, buffer: u64| {
        let mut study = stream("tcp-stream");
        read(&mut study, "tcp-info", "flow0.rtt_ns", shortest_us * 1000);
        read(&mut study, "tcp-info", "flow0.rtt_min_ns", shortest_us * 1000);
        for (limit, share) in [(keys::LIMITED_BY_WINDOW, window), (keys::LIMITED_BY_BUFFER, buffer)]
        {
            let key = limit.key(narrows_model::reading::Scope::Flow(0)).to_string();
            read(&mut study, "tcp-info", &key, share * 10_000_000);
        }
        asked(&study, is_beyond_noise)
    };
    assert!(of(2000, 50, 30) && of(3000, 0, 81));
    assert!(!of(1999, 50, 40) && !of(2000, 40, 39));
}

#[test]
fn round_trips_are_told_with_the_lowest_and_highest_of_all() {
    let mut study = stream("tcp-stream");
    let told = |study: &StoredStudy| asked(study, round_trips);
    assert_eq!(told(&study), None);
    read(&mut study, "tcp-info", "flow0.rtt_ns", 60_000);
    assert_eq!(told(&study).as_deref(), Some("; round trip 60 us"));
    read(&mut study, "tcp-info", "flow1.rtt_ns", 70_000);
    read(&mut study, "tcp-info", "flow2.rtt_ns", 90_000);
    let all = "; round trip 70 us, 60 to 90 in all flows and the window";
    assert_eq!(told(&study).as_deref(), Some(all));
    read(&mut study, "tcp-info", "flow1.lowest:rtt_ns", 50_000);
    read(&mut study, "tcp-info", "flow1.highest:rtt_ns", 95_000);
    let all = "; round trip 70 us, 50 to 95 in all flows and the window";
    assert_eq!(told(&study).as_deref(), Some(all));
}

#[test]
fn the_same_in_several_cells_is_one_finding_with_the_evidence_of_each() {
    let one = |cell: &str| Finding {
        rule: "a-rule".into(),
        weight: Weight::Advice,
        says: format!("seen in {cell}"),
        evidence: vec![evidence(format!("as {cell} says"), "runs")],
        worth: None,
        remedy: String::new(),
    };
    let said = |cells: &[&str]| {
        let all = joined(cells.iter().map(|cell| one(cell)).collect());
        let told = all.iter().map(|one| (one.says.clone(), one.evidence.len()));
        told.collect::<Vec<_>>()
    };
    assert!(said(&[]).is_empty());
    assert_eq!(said(&["a"]), [("seen in a".to_owned(), 1)]);
    assert_eq!(said(&["a", "b"]), [("seen in a; the same in 1 other cell".to_owned(), 2)]);
    let three = ("seen in a; the same in 2 other cells".to_owned(), 3);
    assert_eq!(said(&["a", "b", "c"]), [three]);
}

#[test]
fn of_many_runs_rules_look_at_some_from_the_first_to_the_last_and_say_so() {
    let all: Vec<usize> = (0..1000).collect();
    assert_eq!(spread(&all, 5), [0, 249, 499, 749, 999]);
    assert_eq!(spread(&all, 1000), all);
    assert_eq!(spread(&all[..2], 5), [0, 1]);
    let mut study = stream("tcp-stream");
    let first = study.records[0].clone();
    let many = (0..RUNS_MAX as u32 + 7).map(|repeat| Record { repeat, ..first.clone() });
    study.records = many.collect();
    let (looked_at, says) = asked(&study, |cell| {
        let repeats: Vec<u32> = cell.done.iter().map(|record| record.repeat).collect();
        (repeats, cell.runs())
    });
    assert_eq!((looked_at.len(), looked_at[0]), (RUNS_MAX, 0));
    assert_eq!(looked_at.last(), Some(&(RUNS_MAX as u32 + 6)));
    assert!(says.starts_with("500 of 507 runs of "), "{says}");
    study.records.truncate(RUNS_MAX);
    assert!(asked(&study, |cell| cell.runs()).starts_with("500 runs of "));
}
