//! A trial's ends and what a search or a diagnosis varies of it.

mod planted;

use narrows_model::explored::{Choice, Explorable, Explored, Law, Point, TRAFFIC, Varied};
use narrows_model::load::{Bind, Binding, CpuList, Role};
use narrows_model::trial::{EndHost, EndSpec, Level, MemoryLoad, Placement, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Change};
use planted::trial;

const HERE: EndHost = EndHost::Controller;
const FIRST: EndHost = EndHost::Peer(0);

/// An end on one CPU, by which it is told.
fn end(role: Role, host: EndHost, cpu: u32) -> EndSpec {
    EndSpec::of(role, host, Placement::on([cpu]))
}

#[test]
fn the_end_that_listens_is_the_peers_and_receives_unless_reversed() {
    let told = |reverse| {
        let ends = EndSpec::pair(Placement::on([1]), Placement::on([2]), reverse);
        ends.iter().map(|end| (end.role, end.host, end.place.cpus.0[0])).collect::<Vec<_>>()
    };
    assert_eq!(told(false), [(Role::Receiver, FIRST, 1), (Role::Sender, HERE, 2)]);
    assert_eq!(told(true), [(Role::Receiver, HERE, 1), (Role::Sender, FIRST, 2)]);
    assert_eq!(
        EndSpec::anywhere(true),
        EndSpec::pair(Placement::default(), Placement::default(), true)
    );
    let memory = EndSpec::of_memory(Placement::on([3]));
    assert_eq!(memory, [end(Role::Receiver, HERE, 3)]);
    let load = MemoryLoad {
        kind: Workload::from("memory-read"),
        threads: 2,
        working_set_bytes: Bytes::mib(64),
    };
    let beside = EndSpec::background(load.clone(), Placement::on([4]));
    assert_eq!((beside.role, beside.host, beside.load), (Role::Background, HERE, Some(load)));
}

#[test]
fn pairs_are_made_in_the_order_of_each_role() {
    let of = trial(
        "t",
        vec![
            end(Role::Receiver, FIRST, 0),
            end(Role::Background, HERE, 9),
            end(Role::Sender, HERE, 1),
            end(Role::Receiver, HERE, 2),
            end(Role::Sender, FIRST, 3),
        ],
        &[],
    );
    let cpu = |end: &EndSpec| end.place.cpus.0[0];
    let pairs: Vec<_> = of.pairs().map(|pair| (cpu(pair.sender), cpu(pair.receiver))).collect();
    assert_eq!(pairs, [(1, 0), (3, 2)]);
    assert_eq!(of.background().map(cpu), Some(9));
    assert_eq!(of.place(Role::Sender).cpus.0, [1]);
    assert_eq!(of.controllers().map(cpu), Some(1), "neither the peer's nor the load");
    let none = trial("t", vec![end(Role::Sender, HERE, 1)], &[]);
    assert_eq!((none.place(Role::Receiver), none.background()), (&Placement::default(), None));
}

#[test]
fn a_trial_of_agents_has_no_end_here() {
    let of = |sender, receiver| {
        let ends = vec![end(Role::Sender, sender, 0), end(Role::Receiver, receiver, 0)];
        trial("t", ends, &[]).is_of_agents()
    };
    assert!(of(FIRST, EndHost::Peer(1)));
    assert!(!of(HERE, FIRST) && !of(FIRST, HERE) && !of(HERE, HERE));
    assert!(!trial("t", vec![end(Role::Receiver, FIRST, 0)], &[]).is_of_agents(), "no pair");
}

#[test]
fn interrupts_are_those_of_the_controllers_end() {
    let mut of = trial("t", EndSpec::anywhere(false), &[("size", "1K"), ("rate", "9/s")]);
    let mut set = |role, cpus: [u32; 1]| {
        of.end_mut(role).expect("an end").irq = Some(CpuList(cpus.to_vec()));
    };
    set(Role::Receiver, [4]);
    set(Role::Sender, [5]);
    assert_eq!(of.irq(), Some(&CpuList(vec![5])));
    assert!(of.end_mut(Role::Background).is_none());
    assert_eq!((of.level("rate"), of.level("pace")), (Some("9/s"), None));
}

#[test]
fn threads_take_a_cpu_each_or_the_whole_set() {
    let each = Placement::on([2, 4, 6]);
    let all = Placement { binding: Binding::All, ..each.clone() };
    assert_eq!((each.taken(2), each.taken(5)), (&[2, 4][..], &[2, 4, 6][..]));
    assert_eq!(all.taken(2), [2, 4, 6]);
    let one = Placement { binding: Binding::All, ..Placement::on([2]) };
    assert_eq!([each.is_free(), all.is_free(), one.is_free()], [false, true, false]);
    let bind = |words| Bind::from_words(words);
    assert_eq!(bind("fe80::1").address, "fe80::1".parse().ok());
    assert_eq!((bind("eth0").device.as_deref(), bind("eth0").address), (Some("eth0"), None));
}

#[test]
fn a_change_is_noted_and_read_again_by_its_word() {
    let plain = || trial("t", Vec::new(), &[]);
    assert_eq!(Change::of(&plain()), None);
    for (change, word, is_remedy) in [
        (Change::Congestion, "congestion", true),
        (Change::Buffers, "buffers", true),
        (Change::MessageSize, "message-size", true),
        (Change::Flows, "flows", true),
        (Change::Segments, "segments", true),
        (Change::Placement, "placement", true),
        (Change::ZeroCopy, "zero-copy", true),
        (Change::BusyPolling, "busy-polling", true),
        (Change::Pace, "pace", true),
        (Change::HalfPace, "half-pace", false),
        (Change::Direction, "direction", false),
        (Change::Setting, "setting", true),
    ] {
        let noted = change.note(plain());
        let note = Level { factor: "change".to_owned(), level: word.to_owned() };
        assert_eq!(noted.notes, [note]);
        assert_eq!(Change::of(&noted), Some(change));
        assert_eq!((change.word(), change.is_remedy()), (word, is_remedy));
        assert_eq!(serde_json::to_string(&change).expect("JSON"), format!("\"{word}\""));
    }
    let mut other = plain();
    other.notes.push(Level { factor: "change".to_owned(), level: "moon".to_owned() });
    assert_eq!(Change::of(&other), None);
}

/// TCP and UDP, each with sizes; TCP also with flows.
fn explored() -> Explored {
    let choice = |name: &str, says: &str| Choice {
        name: name.to_owned(),
        says: says.to_owned(),
        amount: None,
        message_ns: 0.0,
        is_fine: false,
    };
    let sizes = Explorable {
        name: "message size".to_owned(),
        law: Law::MessageSize,
        choices: vec![choice("1 KiB", "1 KiB messages"), choice("64 KiB", "64 KiB messages")],
        usual: 1,
    };
    let flows = Explorable {
        name: "flows".to_owned(),
        law: Law::Flows,
        choices: vec![choice("1", "one flow"), choice("4", "4 flows"), choice("8", "8 flows")],
        usual: 0,
    };
    let varied = |name: &str, options| Varied { name: name.to_owned(), options };
    let traffic = vec![varied("TCP", vec![sizes.clone(), flows]), varied("UDP", vec![sizes])];
    Explored { minutes: 10.0, traffic }
}

fn at(traffic: usize, choices: &[usize]) -> Point {
    Point { traffic, choices: choices.to_vec() }
}

#[test]
fn a_point_is_named_by_what_is_not_as_usual() {
    let explored = explored();
    let tcp = &explored.traffic[0];
    assert_eq!(tcp.usual(), [1, 0]);
    for (choices, changed, name) in [
        ([1, 0], vec![], "as usual"),
        ([0, 0], vec![0], "1 KiB messages"),
        ([1, 2], vec![1], "8 flows"),
        ([0, 1], vec![0, 1], "1 KiB messages, 4 flows"),
    ] {
        let point = at(0, &choices);
        assert_eq!(tcp.changed(&point), changed);
        assert_eq!(tcp.name_of(&point), name);
    }
    assert_eq!(at(0, &[1, 0]).with(1, 2), at(0, &[1, 2]));
    assert_eq!(tcp.choice(&at(0, &[0, 2]), 1).name, "8");
    assert_eq!(explored.of(&at(1, &[1])).name, "UDP");
}

#[test]
fn a_point_is_found_again_from_the_levels_of_its_trial() {
    let explored = explored();
    let of = |levels: &[(&str, &str)]| explored.point_of(&trial("t", vec![], levels));
    let of_point =
        |point: &Point| Trial { levels: explored.levels(point), ..trial("t", vec![], &[]) };
    for point in [at(0, &[0, 2]), at(0, &[1, 1]), at(1, &[0])] {
        assert_eq!(explored.point_of(&of_point(&point)), Some(point));
    }
    let levels = explored.levels(&at(0, &[0, 2]));
    let told: Vec<_> = levels.iter().map(|of| (of.factor.as_str(), of.level.as_str())).collect();
    assert_eq!(told, [("traffic", "TCP"), ("message size", "1 KiB"), ("flows", "8")]);
    assert_eq!(TRAFFIC, "traffic");
    assert_eq!(of(&[("traffic", "UDP"), ("message size", "64 KiB")]), Some(at(1, &[1])));
    assert_eq!(of(&[("traffic", "TCP"), ("message size", "64 KiB")]), None, "no flows");
    assert_eq!(of(&[("traffic", "SCTP"), ("message size", "64 KiB")]), None);
    assert_eq!(of(&[("traffic", "UDP"), ("message size", "2 KiB")]), None);
    assert_eq!(of(&[("message size", "64 KiB")]), None);
    let text = serde_json::to_string(&explored).expect("JSON");
    assert_eq!(serde_json::from_str::<Explored>(&text).expect("what varies"), explored);
}
