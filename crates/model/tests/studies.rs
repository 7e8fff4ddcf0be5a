//! A study and its file: which runs are planned, which host an end is on, which rates are tried.

mod planted;

use narrows_model::host::Host;
use narrows_model::interfaces::Interfaces;
use narrows_model::load::Role;
use narrows_model::record::{Outcome, Record, Stamp};
use narrows_model::study::{
    Ended, Found, Precision, Reading, Search, Session, Spread, StoredStudy, Study, Title,
};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial, TrialId};
use narrows_model::{Bytes, Fact, Nanos};
use planted::trial;
use std::collections::BTreeMap;

const HERE: EndHost = EndHost::Controller;

fn search(most: f64, least: Option<f64>, resolution_percent: f64) -> Search {
    Search {
        rate_max_packets_per_second: most,
        burst_max_frames: None,
        throughput_packets_per_second: None,
        rate_min_packets_per_second: least,
        resolution_percent,
        loss_percent: 0.0,
        confidence_percent: 95.0,
        runs_max: 80,
    }
}

fn record(trial: &str, repeat: u32) -> Record {
    Record {
        trial: TrialId(trial.to_owned()),
        repeat,
        block: 0,
        outcome: Outcome::Done,
        reports: Vec::new(),
        around: Stamp::default(),
        session: 0,
        external: None,
    }
}

fn stored(trials: Vec<Trial>, records: Vec<Record>) -> StoredStudy {
    let study = Study::new(StudyKind::Study, NetworkPath::Peer, 5, 7);
    StoredStudy { study, trials, records, ..StoredStudy::unmeasured(Host::default()) }
}

/// A trial from one host to another.
fn between(sender: EndHost, receiver: EndHost) -> Trial {
    let ends = [(Role::Receiver, receiver), (Role::Sender, sender)];
    let end = |(role, host)| EndSpec::of(role, host, Placement::default());
    trial("t", ends.map(end).to_vec(), &[])
}

#[test]
fn a_new_study_asks_nothing_more() {
    let study = Study::new(StudyKind::Tcp, NetworkPath::Namespaces, 5, 7);
    assert_eq!((study.schema_version, study.repeats, study.seed), (1, 5, 7));
    assert_eq!((study.command, study.path), (StudyKind::Tcp, NetworkPath::Namespaces));
    assert_eq!((study.peer, study.title, study.precision), (None, None, None));
    assert_eq!((study.spread, study.search, study.explored), (None, None, None));
    assert_eq!((study.quick, study.together, study.memory_node), (false, false, None));
    assert_eq!((study.began_unix_ns, study.cache_bytes), (Nanos(0), Bytes(0)));
    let unmeasured = StoredStudy::unmeasured(Host::default()).study;
    assert_eq!((unmeasured.command, unmeasured.path), (StudyKind::Host, NetworkPath::Memory));
    assert_eq!((unmeasured.narrows_version.as_str(), unmeasured.repeats), ("", 0));
}

#[test]
fn rates_go_up_from_the_least_by_half_of_the_resolution() {
    // A step of a tenth, downwards from 1000: 909.09, 826.4, 751.3, 683.01.
    let wide = search(1000.0, Some(700.0), 20.0);
    assert_eq!(wide.step(), 0.1);
    assert_eq!(wide.rates(), [751, 826, 909, 1000]);
    // Where nobody says, the least is a hundredth of the most, and never below one a second.
    let doubling = search(1600.0, None, 200.0);
    assert_eq!(doubling.step(), 1.0);
    assert_eq!(doubling.rates(), [25, 50, 100, 200, 400, 800, 1600]);
    assert_eq!(search(4.0, None, 200.0).rates(), [1, 2, 4]);
    assert_eq!(search(400.0, Some(400.0), 2.0).rates(), [400], "the least is tried too");
    assert_eq!(search(4.0, Some(3.0), 20.0).rates(), [3, 4], "3.64 and 3.31 are 4 and 3");
}

#[test]
fn a_rate_and_its_level_are_told_from_each_other() {
    assert_eq!(Search::level_of(1500), "1500/s");
    assert_eq!(Search::rate_of("1500/s"), Some(1500));
    for level in ["1500", "fast/s", "1.5/s", ""] {
        assert_eq!(Search::rate_of(level), None, "{level}");
    }
    let of =
        |levels: &[(&str, &str)]| search(9.0, None, 2.0).has(&trial("t", vec![], levels).levels);
    assert!(of(&[("size", "64"), ("rate", "9/s")]));
    assert!(!of(&[("size", "64"), ("rates", "9/s")]));
}

#[test]
fn what_a_definition_leaves_out_is_the_usual() {
    let search: Search =
        serde_json::from_str(r#"{"rate_max_packets_per_second":1000.0}"#).expect("a search");
    assert_eq!(search.rate_min_packets_per_second, None);
    assert_eq!((search.resolution_percent, search.loss_percent), (2.0, 0.0));
    assert_eq!((search.confidence_percent, search.runs_max), (95.0, 80));
    let precision: Precision =
        serde_json::from_str(r#"{"within_percent":1.5,"repeats_max":9}"#).expect("a precision");
    let wanted = Precision { within_percent: 1.5, confidence_percent: 95.0, repeats_max: 9 };
    assert_eq!(precision, wanted);
    let reading: Reading = serde_json::from_str("{}").expect("a reading");
    assert_eq!(reading, Reading::default());
    assert_eq!((reading.across, reading.margin_percent, reading.recommend), (None, None, None));
    assert!(serde_json::from_str::<Reading>(r#"{"acros":"x"}"#).is_err());
    assert!(serde_json::from_str::<Spread>(r#"{"sessions":2,"apart_hours":1}"#).is_err());
}

#[test]
fn an_end_of_a_study_is_told_by_a_word() {
    let signal = r#"{"ended":"interrupted","why":"stopped by Ctrl-C or SIGTERM"}"#;
    for (ended, text) in
        [(Ended::Complete, r#"{"ended":"complete"}"#), (Ended::by_signal(), signal)]
    {
        assert_eq!(serde_json::to_string(&ended).expect("JSON"), text);
        assert_eq!(serde_json::from_str::<Ended>(text).expect("an end"), ended);
    }
}

#[test]
fn a_file_holds_the_whole_study() {
    let mut of = stored(vec![between(HERE, EndHost::Peer(0))], vec![record("t", 0)]);
    of.study.title = Some(Title { name: "mine".to_owned(), about: "Which?".to_owned() });
    of.study.precision =
        Some(Precision { within_percent: 2.0, confidence_percent: 99.0, repeats_max: 30 });
    of.study.spread = Some(Spread { sessions: 3, apart_minutes: 60.0 });
    of.study.search = Some(search(1000.0, Some(10.0), 4.0));
    of.study.interfaces = Interfaces::one(Some("eth0".to_owned()));
    of.study.reading.prices.insert("8 channels".to_owned(), 120.5);
    of.study.memory_node = Some(1);
    of.study.quick = true;
    of.ended = Some(Ended::by_signal());
    of.definition = Some("name = \"mine\"".to_owned());
    let text = serde_json::to_string(&of).expect("JSON");
    assert_eq!(serde_json::from_str::<StoredStudy>(&text).expect("a study"), of);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["study"]["interface"], "eth0");
    assert_eq!(json["study"]["search"]["rate_min_packets_per_second"], 10.0);
    let found = Found { level: "4 modules".to_owned(), read: true };
    let found = serde_json::to_string(&found).expect("JSON");
    assert_eq!(found, r#"{"level":"4 modules","read":true}"#);
}

#[test]
fn a_host_has_the_name_that_it_was_reached_by() {
    let mut of = stored(Vec::new(), Vec::new());
    assert_eq!(of.host_name(EndHost::Peer(0)), "peer 1");
    of.study.peer = Some("node7, node9".to_owned());
    assert_eq!(of.host_name(HERE), "this host");
    assert_eq!(of.host_name(EndHost::Peer(0)), "node7");
    assert_eq!(of.host_name(EndHost::Peer(1)), "node9");
    assert_eq!(of.host_name(EndHost::Peer(2)), "peer 3");
}

#[test]
fn a_trial_leaves_by_the_interface_to_its_peer() {
    let mut of = stored(Vec::new(), Vec::new());
    of.study.interfaces = [Some("eth0".to_owned()), Some("eth1".to_owned())].into_iter().collect();
    let by = |sender, receiver| of.interface_of(&between(sender, receiver)).map(str::to_owned);
    assert_eq!(by(HERE, EndHost::Peer(1)).as_deref(), Some("eth1"));
    assert_eq!(by(EndHost::Peer(1), HERE).as_deref(), Some("eth1"));
    assert_eq!(by(HERE, HERE).as_deref(), Some("eth0"));
    assert_eq!(by(EndHost::Peer(0), EndHost::Peer(1)), None);
    assert_eq!(by(HERE, EndHost::Peer(2)), None);
}

#[test]
fn facts_of_the_far_host_are_told_where_there_is_one() {
    let named = |name: &str| Host { name: Fact::known(name.to_owned(), "/h"), ..Host::default() };
    let mut of = stored(Vec::new(), Vec::new());
    of.peer_hosts = vec![named("a"), named("b")];
    let far = |trial: &Trial| of.far_host(trial).and_then(|host| host.name.value().cloned());
    assert_eq!(far(&between(HERE, EndHost::Peer(1))).as_deref(), Some("b"));
    assert_eq!(far(&between(EndHost::Peer(0), HERE)).as_deref(), Some("a"));
    assert_eq!(far(&between(EndHost::Peer(1), EndHost::Peer(1))).as_deref(), Some("b"));
    assert_eq!(far(&between(EndHost::Peer(0), EndHost::Peer(1))), None, "two");
    assert_eq!(far(&between(HERE, HERE)), None);
    assert_eq!(far(&between(HERE, EndHost::Peer(2))), None, "no facts");
}

#[test]
fn runs_are_found_by_their_trial_in_their_order() {
    let trials = vec![trial("a", vec![], &[]), trial("b", vec![], &[])];
    let runs = vec![record("b", 0), record("a", 0), record("b", 1)];
    let of = stored(trials, runs);
    let repeats = |at: usize| {
        let trial = &of.trials[at];
        of.records_of(trial).map(|run| run.repeat).collect::<Vec<_>>()
    };
    assert_eq!((repeats(0), repeats(1)), (vec![0], vec![0, 1]));
    let by_trial = of.by_trial();
    let told: Vec<_> = by_trial
        .iter()
        .map(|(id, runs)| (id.0.as_str(), runs.iter().map(|run| run.repeat).collect::<Vec<_>>()))
        .collect();
    assert_eq!(told, [("a", vec![0]), ("b", vec![0, 1])]);
}

#[test]
fn a_search_plans_the_runs_that_it_made_and_drops_rates_that_it_never_tried() {
    let trials = || {
        vec![
            trial("plain", vec![], &[("size", "64")]),
            trial("fast", vec![], &[("rate", "20/s")]),
            trial("slow", vec![], &[("rate", "10/s")]),
        ]
    };
    let runs = || vec![record("slow", 0), record("slow", 1), record("plain", 0)];
    let ids = |of: StoredStudy| of.trials.into_iter().map(|trial| trial.id.0).collect::<Vec<_>>();
    // Five repeats of each of three cells: `rate` is a factor as any other.
    let plain = stored(trials(), runs());
    assert_eq!(plain.planned_runs(), 15);
    assert!(!plain.is_searched(&plain.trials[1]));
    assert_eq!(ids(plain.without_untried()), ["plain", "fast", "slow"]);
    // Five of the plain cell, and the two that the search made.
    let mut searching = stored(trials(), runs());
    searching.study.search = Some(search(20.0, None, 2.0));
    assert_eq!(searching.planned_runs(), 7);
    let searched: Vec<bool> =
        searching.trials.iter().map(|trial| searching.is_searched(trial)).collect();
    assert_eq!(searched, [false, true, true]);
    assert_eq!(ids(searching.without_untried()), ["plain", "slow"]);
}

#[test]
fn a_trial_is_of_the_session_that_first_measured_it() {
    let session = |number| Session {
        number,
        began_unix_ns: Nanos(u64::from(number)),
        narrows_version: String::new(),
        host: Host::default(),
        peer_hosts: Vec::new(),
        path: NetworkPath::Peer,
        levels: BTreeMap::new(),
        cannot: BTreeMap::new(),
        ended: None,
    };
    let in_session = |trial, session| Record { session, ..record(trial, 7) };
    let trials = vec![trial("a", vec![], &[]), trial("b", vec![], &[]), trial("c", vec![], &[])];
    let runs = vec![in_session("b", 2), in_session("a", 1), in_session("b", 1)];
    let mut of = stored(trials, runs);
    of.sessions = vec![session(1), session(2), session(7)];
    let numbers: Vec<Option<u32>> =
        of.trials.iter().map(|trial| Some(of.session_of(trial)?.number)).collect();
    assert_eq!(numbers, [Some(1), Some(2), None], "c was not measured");
    of.sessions.remove(0);
    assert_eq!(of.session_of(&of.trials[0]), None, "of a session that is not kept");
}
