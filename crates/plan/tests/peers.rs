//! Studies over several hosts: who takes part in a cell, and why some cells cannot run.

use narrows_model::Fact;
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::trial::{EndHost, NetworkPath};
use narrows_plan::study::{Definition, Ends, PeerHost, Planned, StudyError, cells, trials};

const PATTERNS: &str = "name = 'x'\nrepeats = 2\n[base]\npeers = ['a', 'b', 'c']\n\
     [[factor]]\nname = 'pattern'\nset = 'pattern'\n\
     levels = ['fan-in', 'fan-out', 'half-in-half-out', 'ring', 'all-pairs']\n";

fn host(cpus: u32) -> Host {
    let mut host = Host::default();
    host.cpu.online = Fact::known((0..cpus).collect(), "test");
    host.cpu.allowed = Fact::known((0..cpus).collect(), "test");
    host
}

fn peer<'a>(name: &'a str, host: &'a Host) -> PeerHost<'a> {
    PeerHost { name, host: Some(host), interface: Some("eth0"), away: None }
}

/// The cells' trials, with `c` away.
fn planned(text: &str) -> Result<Vec<Planned>, StudyError> {
    let definition = Definition::parse(text)?;
    let (own, far) = (host(2), host(4));
    let away = PeerHost { host: None, away: Some("no answer"), ..peer("c", &far) };
    let peers = [peer("a", &far), peer("b", &far), away];
    let named = definition.peers();
    let peers: Vec<PeerHost<'_>> = if named.is_empty() {
        peers[..1].to_vec()
    } else {
        named.iter().filter_map(|name| peers.into_iter().find(|of| of.name == *name)).collect()
    };
    let ends = Ends { host: &own, peers: &peers, path: NetworkPath::Peer, interface: Some("eth0") };
    trials(&cells(&definition)?, &ends)
}

fn pairs(planned: &Planned) -> Vec<(u32, u32)> {
    let number = |host| match host {
        EndHost::Peer(at) => at,
        EndHost::Controller => u32::MAX,
    };
    planned.0.pairs().map(|of| (number(of.sender.host), number(of.receiver.host))).collect()
}

/// A file without hosts is for those of the command line.
#[test]
fn a_pattern_takes_all_hosts_of_the_session_and_other_cells_the_first() {
    let text = "name = 'x'\nrepeats = 2\n[[factor]]\nname = 'test'\nlevels = [{ name = 'fan-in', \
                pattern = 'fan-in' }, { name = 'one', load = 'tcp-stream' }]\n";
    let cells = cells(&Definition::parse(text).expect("a definition")).expect("cells");
    let (own, far) = (host(2), host(4));
    let peers = ["a", "b", "c"].map(|name| peer(name, &far));
    let with = |peers: &[PeerHost<'_>], path| {
        let ends = Ends { host: &own, peers, path, interface: Some("eth0") };
        trials(&cells, &ends).expect("trials")
    };
    let all = with(&peers, NetworkPath::Peer);
    assert_eq!(pairs(&all[0]), [(1, 0), (2, 0)]);
    assert_eq!(pairs(&all[1]), [(u32::MAX, 0)]);
    assert!(all.iter().all(|(_, why)| why.is_none()), "{all:?}");
    for (peers, path) in [(&peers[..1], NetworkPath::Peer), (&[], NetworkPath::Namespaces)] {
        let few = with(peers, path);
        let why = few[0].1.as_deref().expect("too few hosts");
        assert!(why.contains("fan-in needs 2 hosts or more"), "{why}");
        assert!(why.contains("--peer A,B"), "{why}");
        assert_eq!(few[1].1, None, "the other cell runs");
    }
}

#[test]
fn patterns_are_levels_of_a_factor() {
    let all = planned(PATTERNS).expect("trials");
    let wanted: [&[(u32, u32)]; 5] = [
        &[(1, 0), (2, 0)],
        &[(0, 1), (0, 2)],
        &[(1, 0), (0, 2)],
        &[(0, 1), (1, 2), (2, 0)],
        &[(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)],
    ];
    assert_eq!(all.iter().map(pairs).collect::<Vec<_>>(), wanted);
    assert!(all.iter().all(|(trial, _)| trial.is_of_agents() && trial.path == NetworkPath::Peer));
    // Each of them has an end at the host that is away.
    assert!(all.iter().all(|(_, why)| why.as_deref() == Some("c: no answer")));
}

#[test]
fn hosts_are_levels_of_a_factor_and_one_that_is_away_costs_its_cells_alone() {
    let text = "name = 'x'\nrepeats = 2\n[base]\npattern = 'pair'\n[[factor]]\nname = 'hosts'\n\
                set = 'peers'\nlevels = [['a', 'b'], ['b', 'a'], ['b', 'c']]\n";
    let all = planned(text).expect("trials");
    assert_eq!(all.iter().map(pairs).collect::<Vec<_>>(), [[(0, 1)], [(1, 0)], [(1, 2)]]);
    let labels: Vec<&str> = all.iter().map(|(trial, _)| trial.label.as_str()).collect();
    assert_eq!(labels, ["a, b", "b, a", "b, c"]);
    let whys: Vec<Option<&str>> = all.iter().map(|(_, why)| why.as_deref()).collect();
    assert_eq!(whys, [None, None, Some("c: no answer")]);
    // One host and no pattern: the other end is here, bound to a NIC.
    let text = "name = 'x'\nrepeats = 2\n[base]\nbind = 'eth1'\n[[factor]]\nname = 'host'\n\
                set = 'peers'\nlevels = [['b'], ['a']]\n";
    let all = planned(text).expect("trials");
    for ((trial, why), peer) in all.iter().zip([0, 1]) {
        let [receiver, sender] = trial.ends.as_slice() else { panic!("{trial:?}") };
        assert_eq!((receiver.role, receiver.host), (Role::Receiver, EndHost::Peer(peer)));
        assert_eq!(sender.host, EndHost::Controller);
        let device = sender.bind.as_ref().and_then(|bind| bind.device.as_deref());
        assert_eq!((device, why), (Some("eth1"), &None));
    }
}

/// An adapter on the other node is a level of its own, which hosts without it leave out.
#[test]
fn an_interface_that_is_not_there_costs_its_cells_alone() {
    let text = "name = 'x'\nrepeats = 2\n[[factor]]\nname = 'nic'\n\
                levels = [{ name = 'first' }, { name = 'second', bind = 'eth1' }]\n";
    let cells = cells(&Definition::parse(text).expect("a definition")).expect("cells");
    let nic = |name: &str| narrows_model::host::Nic { name: name.into(), ..Default::default() };
    let why = |nics: &[&str], peers: &[PeerHost<'_>], path| {
        let own = Host { nics: nics.iter().map(|name| nic(name)).collect(), ..host(2) };
        let ends = Ends { host: &own, peers, path, interface: Some("eth0") };
        let [(_, first), (_, second)]: [Planned; 2] =
            trials(&cells, &ends).expect("trials").try_into().expect("two cells");
        assert_eq!(first, None);
        second
    };
    let far = host(4);
    let peers = [peer("a", &far)];
    assert_eq!(why(&["eth0", "eth1"], &peers, NetworkPath::Peer), None);
    let missing = why(&["eth0"], &peers, NetworkPath::Peer);
    assert_eq!(missing.as_deref(), Some("this host has no interface eth1"));
    let alone = why(&["eth0", "eth1"], &[], NetworkPath::Namespaces);
    assert!(alone.is_some_and(|why| why.contains("--peer")));
    let alone = why(&["eth0"], &[], NetworkPath::Namespaces);
    assert_eq!(alone.as_deref(), Some("this host has no interface eth1"), "no peer would help");
}

/// A pair for each interface, all at once: its sum is what several NICs carry.
#[test]
fn a_cell_may_go_over_several_interfaces_at_once() {
    let of = |lines: &str| {
        let text = format!("name = 'x'\nrepeats = 1\n[base]\npeers = ['a']\n{lines}\n");
        planned(&text).map(|mut all| all.remove(0))
    };
    let several = of("bind = 'eth0, 192.0.2.7'").expect("a trial");
    assert_eq!(several.1, None);
    assert_eq!(pairs(&several), [(u32::MAX, 0), (u32::MAX, 0)]);
    let bound = several.0.ends_of(Role::Sender).map(|end| end.bind.clone().expect("bound"));
    let bound: Vec<_> = bound.map(|bind| (bind.device, bind.address.is_some())).collect();
    assert_eq!(bound, [(Some("eth0".to_owned()), false), (None, true)]);
    let one = of("bind = 'eth0'").expect("a trial");
    assert_eq!(one.0.pairs().count(), 1);
    for (lines, says) in [
        ("load = 'rdma-write-stream'\nbind = 'eth0,eth1'", "rdma-write-stream goes over one"),
        ("load = 'packets'\nbind = 'eth0,eth1'", "leave the peers out"),
        ("load = 'packets'\nbind = 'eth0,eth1,eth2'", "packets goes over one"),
        ("mtu = 9000\nbind = 'eth0,eth1'", "mtu is of one interface"),
    ] {
        let why = of(lines).expect_err(lines).to_string();
        assert!(why.contains("bind: ") && why.contains(says), "{lines}: {why}");
    }
}

/// Two ports of this host have its two ends, and no other host.
#[test]
fn packets_may_go_between_two_ports_of_this_host() {
    let own = host(2);
    let of = |lines: &str, peers: &[PeerHost<'_>]| {
        let text = format!("name = 'x'\nrepeats = 1\n[base]\nload = 'packets'\n{lines}\n");
        let path = if peers.is_empty() { NetworkPath::Loopback } else { NetworkPath::Peer };
        let ends = Ends { host: &own, peers, path, interface: None };
        let definition = Definition::parse(&text)?;
        trials(&cells(&definition)?, &ends).map(|mut all| all.remove(0))
    };
    let (trial, why) = of("bind = 'p0, p1'\nrate = '1k'", &[]).expect("a trial");
    assert_eq!((trial.path, why), (NetworkPath::Cable, None));
    let near = trial.controllers().and_then(|end| end.bind.clone()).expect("a port");
    assert_eq!((near.device.as_deref(), near.cable.as_deref()), (Some("p0"), Some("p1")));
    let other = near.other_end().expect("the other port");
    assert_eq!((other.device.as_deref(), other.cable.as_deref()), (Some("p1"), Some("p0")));
    let ways = trial.params.stream.expect("ways");
    assert_eq!([ways.sender, ways.receiver], [Some("xdp".to_owned()), Some("xdp".to_owned())]);
    let (_, why) = of("bind = 'p0,p1'", &[]).expect("a trial");
    assert!(why.expect("no rate is named").contains("need a rate"));
    let far = host(4);
    let (_, why) = of("bind = 'p0,p1'\nrate = '1k'", &[peer("a", &far)]).expect("a trial");
    assert!(why.expect("a peer").contains("without --peer"));
    let why = of("bind = 'p0,p1'\nmtu = 9000", &[]).expect_err("an MTU").to_string();
    assert!(why.contains("mtu is of one interface"), "{why}");
}

#[test]
fn states_of_the_interface_are_not_set_on_another() {
    let text = "name = 'x'\nrepeats = 2\n[base]\npeers = ['a']\nmtu = 9000\n[[factor]]\n\
                name = 'nic'\nset = 'bind'\nlevels = ['eth0', 'eth1']\n";
    let all = planned(text).expect("trials");
    let why = all[1].1.as_deref().expect("why not");
    assert!(why.contains("are set on eth0"), "{why}");
}

#[test]
fn slips_about_hosts_say_where_they_are() {
    let of = |lines: &str| {
        let told = planned(&format!("name = 'x'\nrepeats = 2\n[base]\n{lines}\n"));
        told.expect_err(lines).to_string()
    };
    for (lines, says) in [
        ("peers = ['a', 'b', 'a']", "peers: 'a' is listed twice"),
        ("peers = []", "peers: no host is named"),
        ("peers = ['a, b']", "peers: 'a, b' is not a host name"),
        ("peers = ['a:0']", "peers: 'a:0' has no port from 1 to 65535"),
        ("peers = ['a', 'b']", "pattern: of 2 hosts: say who sends to whom"),
        ("peers = ['a', 'b']\npattern = 'ring'", "ring needs 3 hosts or more, and 2 are named"),
        ("peers = ['a', 'b']\npattern = 'star'", "pattern: 'star' is none of pair, fan-in"),
        (
            "peers = ['a', 'b']\npattern = 'pair'\nload = 'rdma-write-stream'",
            "pattern: rdma-write-stream has none",
        ),
        ("peers = ['a', 'b']\npattern = 'pair'\nbind = 'eth0'", "pattern: bind is of this host"),
        ("peers = ['a', 'b']\npattern = 'pair'\nmtu = 9000", "pattern: mtu is of this host"),
        ("peers = ['a', 'b']\npattern = 'pair'\naffinity = '0,1'", "affinity: '0': of a pattern"),
        ("peers = ['a', 'b']\npattern = 'pair'\naffinity = 'c=1'", "'c' is not a host"),
    ] {
        let told = of(lines);
        assert!(told.contains(says), "{lines}: {told}");
    }
}

#[test]
fn ends_of_a_pattern_are_placed_by_role_and_host() {
    let text = "name = 'x'\nrepeats = 2\n[base]\npeers = ['a', 'b']\npattern = 'pair'\n\
                [[factor]]\nname = 'CPUs'\nset = 'affinity'\n\
                levels = ['sender=0,receiver=1-3/all', 'b=3', 'b=9']\n";
    let all = planned(text).expect("trials");
    let cpus = |at: usize| -> Vec<&[u32]> {
        all[at].0.ends.iter().map(|end| end.place.cpus.0.as_slice()).collect()
    };
    assert_eq!(cpus(0), [&[0][..], &[1, 2, 3]]);
    assert_eq!(cpus(1), [&[][..], &[3]]);
    let whys: Vec<Option<&str>> = all.iter().map(|(_, why)| why.as_deref()).collect();
    assert_eq!(whys, [None, None, Some("b: there is no CPU 9")]);
}

#[test]
fn a_memory_cell_has_no_hosts() {
    let text = "name = 'x'\nrepeats = 2\n[base]\npeers = ['a', 'b']\npattern = 'pair'\n\
                [[factor]]\nname = 'load'\nset = 'load'\nlevels = ['memory-read', 'tcp-stream']\n";
    let all = planned(text).expect("trials");
    assert_eq!((all[0].0.path, all[0].0.ends.len()), (NetworkPath::Memory, 1));
    assert_eq!(pairs(&all[1]), [(0, 1)]);
}
