//! Figures over simulated files: a step is planted with a setting that changed, and must be told.

use narrows_model::host::Host;
use narrows_model::load::{Params, Timeline};
use narrows_model::record::{External, Figure, Outcome, Record, Stamp};
use narrows_model::study::StoredStudy;
use narrows_model::trial::{NetworkPath, Trial, TrialId};
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Fact, Nanos};
use narrows_report::drawn::Screen;
use narrows_report::history::History;

const HOUR: u64 = 3_600_000_000_000;

/// A file of one stream, three runs of so many Gb/s.
fn file(hour: u64, gbps: f64, wmem: &str, trial: &str) -> StoredStudy {
    let mut host = Host { name: Fact::known("web1".to_owned(), "made"), ..Host::default() };
    host.tuning.insert("net.ipv4.tcp_wmem".into(), Fact::known(wmem.to_owned(), "made"));
    let mut study = StoredStudy::unmeasured(host);
    study.study.began_unix_ns = Nanos(1_790_000_000_000_000_000 + hour * HOUR);
    study.trials = vec![Trial {
        id: TrialId(trial.into()),
        label: "tcp-stream".into(),
        kind: Workload::TCP_STREAM,
        params: Params::of_network(Bytes(65_536), 1),
        ends: Vec::new(),
        path: NetworkPath::Peer,
        timeline: Timeline::new(Nanos(0), Nanos(1), Nanos(0)),
        levels: Vec::new(),
        notes: Vec::new(),
        engine: None,
    }];
    for repeat in 0..3 {
        let value = gbps * 1e9 * (1.0 + 0.002 * f64::from(repeat));
        let figures = vec![Figure { name: "made".into(), value, unit: Unit::BitsPerSecond }];
        study.records.push(Record {
            trial: TrialId(trial.into()),
            repeat,
            block: repeat,
            outcome: Outcome::Done,
            reports: Vec::new(),
            around: Stamp::default(),
            session: 0,
            external: Some(External {
                tool: "made".into(),
                version: None,
                command: None,
                file: None,
                figures,
                output: String::new(),
                client: None,
                packets: None,
            }),
        });
    }
    study
}

/// A folder whose files come in no order, as names do not tell their time.
fn folder(levels: &[f64], wmem: impl Fn(usize) -> &'static str) -> History {
    let mut history = History::default();
    for at in (0..levels.len()).rev() {
        let noise = 1.0 + 0.01 * ((at * 7 % 5) as f64 - 2.0) / 2.0;
        let study = file(at as u64, levels[at] * noise, wmem(at), "a");
        history.add(&format!("{at}.narrows"), &study);
    }
    history.judged()
}

const SCREEN: Screen = Screen { columns: Some(100), unicode: false };

#[test]
fn a_step_is_told_with_what_changed_there() {
    let levels: Vec<f64> = (0..14).map(|at| if at < 8 { 9.4 } else { 7.9 }).collect();
    let history =
        folder(&levels, |at| if at < 8 { "4096 16384 4194304" } else { "4096 16384 65536" });
    assert!(history.is_worse());
    let [course] = history.courses() else { panic!("one figure") };
    assert_eq!(course.turns.iter().map(|turn| turn.at).collect::<Vec<_>>(), [8]);
    let text = history.text(&SCREEN);
    assert!(text.starts_with("1 of 1 figure became worse with its last step\n"), "{text}");
    assert!(text.contains("what differs between 6.narrows and 9.narrows"), "{text}");
    assert!(text.contains("on web1:\nwhat "), "{text}");
    assert!(text.contains("net.ipv4.tcp_wmem") && text.contains("65536"), "{text}");
    // The other way round it became better.
    let better: Vec<f64> = levels.into_iter().rev().collect();
    let history = folder(&better, |_| "4096 16384 4194304");
    assert!(!history.is_worse());
    assert!(history.text(&SCREEN).contains("for the better"));
    assert!(history.text(&SCREEN).contains("on web1:\nno difference in"));
}

#[test]
fn another_way_between_the_same_hosts_is_told() {
    let mut history = History::default();
    for at in 0..14 {
        let mut study = file(at, if at < 8 { 9.4 } else { 0.9 }, "1 2 3", "a");
        study.study.peer = Some(if at < 8 { "10.0.0.2" } else { "10.1.0.2" }.to_owned());
        history.add(&format!("{at}.narrows"), &study);
    }
    let text = history.judged().text(&SCREEN);
    assert!(text.contains("the way: to 10.0.0.2 before, to 10.1.0.2 after"), "{text}");
}

#[test]
fn few_files_are_inconclusive_and_steady_ones_have_no_step() {
    let few = folder(&[9.4, 9.4, 9.4, 4.7, 4.7, 4.7], |_| "1 2 3");
    let text = few.text(&SCREEN);
    assert!(text.starts_with("inconclusive: at most 6 files have the same figure"), "{text}");
    assert!(!few.is_worse());
    let steady = folder(&[9.4; 20], |_| "1 2 3");
    assert!(steady.text(&SCREEN).starts_with("no step in 1 figure"));
}

#[test]
fn a_step_that_chance_may_have_made_is_said_to_be_one_perhaps() {
    let rates = [14.1, 13.2, 15.6, 14.9, 0.94, 0.96, 0.95, 0.97, 0.93, 0.96];
    let text = folder(&rates, |_| "1 2 3").text(&SCREEN);
    assert!(text.starts_with("inconclusive: 1 of 1 figure may have taken a step"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("perhaps one: "), "{text}");
}

#[test]
fn cells_that_are_not_the_same_are_not_taken_together() {
    let mut history = History::default();
    for at in 0..12 {
        let trial = if at < 6 { "a" } else { "b" };
        history.add(&at.to_string(), &file(at, if at < 6 { 9.4 } else { 2.0 }, "1 2 3", trial));
    }
    let history = history.judged();
    assert_eq!(history.courses().len(), 2);
    assert!(history.courses().iter().all(|course| course.turns.is_empty()));
    let mut one = History::default();
    one.add("f", &file(0, 9.4, "1 2 3", "a"));
    // A copy of a file is no second one.
    one.add("copy of f", &file(0, 9.4, "1 2 3", "a"));
    let text = one.judged().text(&SCREEN);
    assert_eq!(text, "no figure is in more than one of 1 file\n");
}
