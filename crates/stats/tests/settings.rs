//! What was in force at the ends of a cell: which end is which, what all senders had alike, and
//! what files of any version hold.

mod told;

use narrows_model::Bytes;
use narrows_model::load::{Effective, EndReport, Role};
use narrows_model::record::{Record, Reported};
use narrows_model::trial::{EndHost, EndSpec, Placement, Trial};
use narrows_stats::{SettingsInForce, Summary, summarise};

const HERE: EndHost = EndHost::Controller;

/// An end whose congestion control, interface and receive buffer tell it.
fn end(role: Role, congestion: &str, interface: &str, buffer: u64) -> Reported {
    let effective = Effective {
        congestion: Some(congestion.to_owned()),
        interface: Some(interface.to_owned()),
        receive_buffer_bytes: Some(Bytes(buffer)),
        receiver: Some(format!("{interface} receives")),
        ..Effective::default()
    };
    let report =
        EndReport { effective, window_ns: narrows_model::Nanos(1), ..EndReport::default() };
    Reported { role, report: Box::new(report), span: None }
}

fn summary(trial: Trial, record: Record) -> Summary {
    summarise(&told::study(vec![trial], vec![record])).remove(0)
}

/// Two pairs: this host sends to the first peer, the second peer to this host.
fn of_two_pairs(congestion: [&str; 2]) -> Summary {
    let spec = |role, host| EndSpec::of(role, host, Placement::default());
    let ends = vec![
        spec(Role::Receiver, EndHost::Peer(0)),
        spec(Role::Receiver, HERE),
        spec(Role::Sender, HERE),
        spec(Role::Sender, EndHost::Peer(1)),
    ];
    let trial = Trial { ends, ..told::trial("tcp-stream", "t") };
    let [first, second] = congestion;
    let reports = vec![
        end(Role::Receiver, "r0", "a", 400),
        end(Role::Receiver, "r1", "b", 300),
        end(Role::Sender, first, "c", 200),
        end(Role::Sender, second, "d", 100),
    ];
    let record = told::record(&trial, 0, reports);
    summary(trial, record)
}

#[test]
fn a_pair_has_the_senders_settings_and_how_the_receiver_receives() {
    let of = of_two_pairs(["cubic", "bbr"]);
    let pairs = of.settings.pairs();
    let hosts: Vec<_> = pairs.iter().map(|pair| (pair.from, pair.to)).collect();
    assert_eq!(hosts, [(HERE, EndHost::Peer(0)), (EndHost::Peer(1), HERE)]);
    let used: Vec<_> = pairs
        .iter()
        .map(|pair| {
            let used = &pair.used;
            (used.congestion.as_deref(), used.receiver.as_deref(), pair.receive_buffer_bytes)
        })
        .collect();
    assert_eq!(
        used,
        [
            (Some("cubic"), Some("a receives"), Some(Bytes(400))),
            (Some("bbr"), Some("b receives"), Some(Bytes(300))),
        ]
    );
    let ends: Vec<_> = of.settings.ends().iter().map(|end| (end.role, end.host)).collect();
    assert_eq!(
        ends,
        [
            (Role::Sender, HERE),
            (Role::Sender, EndHost::Peer(1)),
            (Role::Receiver, EndHost::Peer(0)),
            (Role::Receiver, HERE),
        ]
    );
}

#[test]
fn what_senders_have_alike_is_not_what_one_of_them_has() {
    let congestion = |of: &SettingsInForce| of.alike(|end| end.congestion.clone());
    let (apart, alike) = (of_two_pairs(["cubic", "bbr"]), of_two_pairs(["bbr", "bbr"]));
    assert_eq!((apart.congestion(), alike.congestion()), (None, Some("bbr")));
    assert_eq!(congestion(&alike.settings).as_deref(), Some("bbr"));
    assert_eq!(alike.settings.alike(|end| end.mss_bytes), None);
    let first = apart.settings.sender().and_then(|end| end.congestion.as_deref());
    assert_eq!(first, Some("cubic"));
    // Of the ends that receive alone: a sender's 100 B do not count.
    assert_eq!(apart.smallest_receive_buffer(), Some(Bytes(300)));
    assert_eq!(apart.settings.senders().count(), 2);
    assert_eq!(apart.settings.receivers().count(), 2);
}

#[test]
fn the_only_end_of_a_kernel_is_told_where_senders_are_asked_for() {
    let ends = EndSpec::of_memory(Placement::default());
    let trial = Trial { ends, ..told::trial("memory-copy", "m") };
    let record = told::record(&trial, 0, vec![end(Role::Receiver, "none", "a", 7)]);
    let of = summary(trial, record);
    assert_eq!(of.congestion(), Some("none"));
    let pairs = of.settings.pairs();
    assert_eq!((pairs.len(), pairs[0].from, pairs[0].to), (1, HERE, HERE));
    assert_eq!(pairs[0].used.congestion.as_deref(), Some("none"));
}

#[test]
fn interfaces_are_forgotten_of_the_ends_that_are_named() {
    let mut of = of_two_pairs(["cubic", "bbr"]).settings;
    assert_eq!(of.interfaces().collect::<Vec<_>>(), ["c", "d", "a", "b"]);
    of.forget_interfaces(|end| end.host == HERE);
    assert_eq!(of.interfaces().collect::<Vec<_>>(), ["d", "a"]);
}

#[test]
fn files_have_the_first_pair_by_itself_and_every_end() {
    let of = of_two_pairs(["cubic", "bbr"]).settings;
    let json = serde_json::to_value(&of).expect("JSON");
    assert_eq!(json["effective"]["congestion"], "cubic");
    assert_eq!(json["effective"]["receiver"], "a receives");
    assert_eq!(json["sink_receive_buffer_bytes"], 400);
    assert_eq!(json["ends"].as_array().map(Vec::len), Some(4));
    assert_eq!(serde_json::from_value::<SettingsInForce>(json).expect("settings"), of);
    let none = serde_json::to_value(SettingsInForce::default()).expect("JSON");
    assert!(none["sink_receive_buffer_bytes"].is_null());
}
