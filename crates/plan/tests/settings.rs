//! What a study's words become: parameters, time lines, places, facts that fit.

use narrows_model::host::{Host, Module, Slot, SlotPlace};
use narrows_model::load::{Binding, Role, Wait};
use narrows_model::options::{flows, runs};
use narrows_model::study::Found;
use narrows_model::trial::{NetworkPath, Placement};
use narrows_model::{Bytes, Fact};
use narrows_plan::study::{
    Count, Cut, Definition, Ends, Left, Machine, PeerHost, Settings, cells, left, next_block,
    standing, trials,
};
use narrows_plan::{Seat, Where};
use std::collections::BTreeMap;

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Each thread on one CPU of a place.
fn seat(at: Where) -> Seat {
    Seat { at, binding: Binding::Each }
}

fn params(text: &str) -> narrows_model::load::Params {
    settings(text).params(Bytes::mib(48), Bytes::mib(300)).expect(text)
}

#[test]
fn every_load_has_its_ordinary_length() {
    let length = |load: &str| params(&format!("load = '{load}'")).message_bytes.0;
    let loads = ["tcp-stream", "udp-stream", "tcp-connect", "rdma-atomic-rr", "tcp-rr", "udp-rr"];
    assert_eq!(loads.map(length), [65_536, 1472, 16, 8, 64, 64]);
    assert_eq!(params("").message_bytes, Bytes::kib(64), "a TCP stream where none is named");
    assert_eq!(settings("").kind().as_str(), "tcp-stream");
    let memory = params("load = 'memory-copy'\nthreads = 3\nvector = 'avx2'\npages = '2M'");
    assert_eq!((memory.streams, memory.working_set_bytes), (3, Bytes::mib(300)));
    let words = memory.memory.expect("words");
    assert_eq!((words.vector.as_deref(), words.pages.as_deref()), (Some("avx2"), Some("2M")));
    assert_eq!(params("load = 'memory-copy'\nsize = '1M'").working_set_bytes, Bytes::mib(1));
    assert_eq!(params("load = 'memory-copy'").streams, 1);
}

/// A base may have options of memory kernels beside those of networks: a cell of a network takes
/// none of them, whatever its help says that they are for.
#[test]
fn a_network_cell_takes_no_option_of_memory() {
    for base in ["chains = 4", "vector = 'avx2'", "pages = '2M'"] {
        for load in ["tcp-stream", "udp-rr", "packets"] {
            let with = params(&format!("load = '{load}'\n{base}"));
            assert_eq!(with, params(&format!("load = '{load}'")), "{load} {base}");
        }
    }
    let told = params("load = 'memory-latency'\nchains = 4");
    assert_eq!(narrows_model::options::kernels::CHAINS.of(&told), Some(4));
}

/// A pair of nodes is of two ends; a number alone is where a kernel's memory is, where a level says
/// it. Runs of files whose base says it are of memory that was not bound.
#[test]
fn a_kernels_memory_may_be_of_another_node() {
    let all = |base: &str, level: &str| {
        let text = format!(
            "name = 'a'\nrepeats = 1\n[base]\n{base}\n[[factor]]\nname = 'of'\n\
             levels = [{{ name = 'x', {level} }}]\n"
        );
        cells(&Definition::parse(&text).expect(&text))
    };
    let host = Host::default();
    let ends = Ends { host: &host, peers: &[], path: NetworkPath::Loopback, interface: None };
    let planned = |base: &str, level: &str| {
        let (trial, why) =
            trials(&all(base, level).expect(level), &ends).expect("trials").remove(0);
        (trial.params.memory.expect("a kernel").node, why)
    };
    let (node, why) = planned("", "load = 'memory-memcpy', node = 0, memory_node = '7'");
    assert_eq!(node, Some(7));
    let (over, why_over) =
        planned("load = 'memory-read'\nmemory_node = '0,1'", "memory_node = '7'");
    assert_eq!(over, Some(7), "in the base's place");
    for why in [why, why_over] {
        let why = why.expect("a host without nodes");
        assert!(why.contains("node 7") || why.contains("node 0"), "{why}");
    }
    for base in ["memory_node = '1'", "memory_node = '0,1'", "node = 1"] {
        let (node, _) = planned(base, "load = 'memory-read'");
        assert_eq!(node, None, "{base}: for the ends of networks");
    }
    let refused = |level: &str| all("", level).expect_err(level).to_string();
    for pair in ["0,1", "sender=0"] {
        let why = refused(&format!("load = 'memory-read', memory_node = '{pair}'"));
        let says = ["cell 'x'", pair, "name one node"];
        assert!(says.iter().all(|word| why.contains(word)), "{why}");
        assert!(why.contains(": cell 'x': memory_node: '"), "{why}");
    }
    let why = refused("load = 'memory-read', memory_node = 'x'");
    assert!(why.contains("'x' is neither a node nor a dash"), "{why}");
    assert!(all("", "load = 'tcp-stream', memory_node = '0,1'").is_ok(), "of two ends");
}

#[test]
fn a_mix_has_its_mean_in_place_of_a_size() {
    let mixed = "load = 'packets'\nimix = true\nlength = 64";
    assert_eq!(settings(mixed).message_bytes(), Bytes(362));
    assert_eq!(params(mixed).message_bytes, Bytes(362));
    let one = "load = 'packets'\nimix = false";
    assert_eq!((settings(one).message_bytes(), params(one).message_bytes), (Bytes(64), Bytes(64)));
    assert_eq!(settings("load = 'packets'\nlength = 1518").message_bytes(), Bytes(1518));
}

#[test]
fn words_become_parameters_and_ordinary_ones_nothing() {
    let plain =
        params("sender = 'write'\nreceiver = 'recv'\nwait = 'block'\nbuffer = 'hot'\nbitrate = 0");
    assert_eq!((plain.stream, plain.socket, plain.trip, plain.rate_bps), (None, None, None, None));
    let udp = params("load = 'udp-stream'\nsender = 'send'");
    assert_eq!(udp.stream, None);
    assert!(params("sender = 'send'").stream.is_some(), "TCP's is write");
    let all = params(
        "parallel = 5\nwindow = '2M'\nbitrate = '3G'\ncongestion = 'bbr'\nsender = 'zerocopy'\n\
         receiver = 'splice'\nwait = 'spin'\nbuffer = 'cold'\ntouch = true\nverify = true\n\
         reverse = true\nbidirectional = true\nnagle = 'on'\nmss = 999\ndscp = 46\nresponse = 7\n\
         per_second = 8",
    );
    assert_eq!((all.streams, all.socket_buffer_bytes), (5, Some(Bytes::mib(2))));
    assert_eq!((all.rate_bps, all.congestion.as_deref()), (Some(3_000_000_000), Some("bbr")));
    let stream = all.stream.expect("words");
    assert!(stream.touch && stream.verify && stream.reverse && stream.bidirectional);
    assert_eq!(
        (stream.sender.as_deref(), stream.receiver.as_deref()),
        (Some("zerocopy"), Some("splice"))
    );
    assert_eq!(stream.span_bytes, Some(Bytes::mib(96)), "twice the caches of 48 MiB");
    let socket = all.socket.expect("words");
    assert_eq!(
        (socket.wait.as_ref().map(Wait::as_str), socket.mss_bytes, socket.dscp),
        (Some("spin"), Some(999), Some(46))
    );
    assert_eq!(socket.no_delay, Some(false), "Nagle on is no delay off");
    assert_eq!(params("nagle = 'off'").socket.and_then(|socket| socket.no_delay), Some(true));
    let trip = all.trip.expect("words");
    assert_eq!((trip.response_bytes, trip.per_second), (Some(Bytes(7)), Some(8)));
    let cold = settings("buffer = 'cold'").params(Bytes::mib(1), Bytes(0)).expect("words");
    assert_eq!(cold.stream.and_then(|stream| stream.span_bytes), Some(Bytes::mib(64)), "at least");
    let own = params("buffer = '3M'").stream.and_then(|stream| stream.span_bytes);
    assert_eq!(own, Some(Bytes::mib(3)));
    let quick = params("quickack = true");
    assert_eq!(flows::QUICKACK.of(&quick), Some(true));
    assert_eq!(params("quickack = false"), params(""), "off is as if nothing was said");
    for wrong in ["nagle = 'no'", "buffer = 'warm'", "dscp = 64", "dscp = '46'", "mtv = 1500"] {
        assert!(toml::from_str::<Settings>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn places_nodes_tools_and_loads_beside() {
    let all = settings(
        "engine = 'iperf3'\nengine_client = '-Z  -N'\nengine_server = '-1'\nirq = 'node:1'\n\
         affinity = '1,nic'\nmemory_node = '-, 1'\nmemory_load = 'copy:3@0-1'",
    );
    let engine = all.engine().expect("a tool");
    assert_eq!(
        (engine.tool.as_str(), engine.client, engine.server),
        ("iperf3", vec!["-Z".into(), "-N".into()], vec!["-1".into()])
    );
    assert_eq!(settings("engine_client = '-Z'").engine(), None);
    assert_eq!(all.places(), Ok(Some((seat(Where::Cpus(vec![1])), seat(Where::Nic)))));
    assert_eq!(all.interrupts(), Ok(Some(Where::Node(1))));
    assert_eq!(all.nodes(), Ok((None, Some(1))));
    let load = all.background().expect("words").expect("a load");
    assert_eq!((load.kernel.name(), load.threads), ("copy", 3));
    assert_eq!((load.seat, load.node), (Some(seat(Where::Cpus(vec![0, 1]))), None));
    let one = settings("memory_load = 'triad'").background().expect("words").expect("a load");
    assert_eq!((one.kernel.name(), one.threads, one.seat), ("triad", 1, None));
    let none = settings("");
    assert_eq!(
        (none.places(), none.interrupts(), none.nodes()),
        (Ok(None), Ok(None), Ok((None, None)))
    );
    assert!(none.background().expect("words").is_none());
    for wrong in ["memory_load = 'sum:1'", "memory_load = 'copy:x'", "memory_load = 'copy@x'"] {
        assert!(settings(wrong).background().is_err(), "{wrong}");
    }
    assert!(settings("memory_node = '1'").nodes().is_err());
    assert!(settings("memory_node = 'x,1'").nodes().is_err());
}

fn definition(text: &str) -> Definition {
    Definition::parse(&format!("name = 'x'\nrepeats = 2\n{text}"))
        .unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Trial of a study with these settings, between these hosts.
fn planned(
    text: &str,
    path: NetworkPath,
    cpus: u32,
) -> Result<narrows_model::trial::Trial, String> {
    let mut host = Host::default();
    host.cpu.online = Fact::known((0..cpus).collect(), "test");
    host.cpu.allowed = Fact::known((0..cpus).collect(), "test");
    let cells = cells(&definition(&format!("[base]\n{text}"))).expect("cells");
    let peer = PeerHost { name: "far", host: Some(&host), interface: None, away: None };
    let peers = if path == NetworkPath::Peer { &[peer][..] } else { &[] };
    let ends = Ends { host: &host, peers, path, interface: None };
    let (trial, why) = trials(&cells, &ends).map_err(|error| error.to_string())?.remove(0);
    why.map_or(Ok(trial), Err)
}

#[test]
fn time_lines_are_of_the_words_or_ordinary() {
    let line = |text: &str| {
        planned(text, NetworkPath::Loopback, 2).map(|trial| {
            let line = trial.timeline;
            (line.warmup_ns.0, line.window_ns.0, line.cooldown_ns.0)
        })
    };
    const MS: u64 = 1_000_000;
    assert_eq!(line(""), Ok((500 * MS, 1500 * MS, 300 * MS)));
    assert_eq!(line("load = 'memory-copy'"), Ok((50 * MS, 1500 * MS, 0)));
    assert_eq!(line("seconds = 0.05\nwarmup_seconds = 0"), Ok((0, 50 * MS, 300 * MS)));
    assert_eq!(line("seconds = 2400"), Ok((500 * MS, 2_400_000 * MS, 300 * MS)));
}

#[test]
fn ends_are_placed_by_who_they_are() {
    let of = |text: &str, path: NetworkPath| {
        let trial = planned(text, path, 4).expect(text);
        let [sender, receiver] = [Role::Sender, Role::Receiver].map(|role| trial.place(role));
        (sender.cpus.0.clone(), receiver.cpus.0.clone(), sender.node, receiver.node)
    };
    let words = "affinity = '1,2'\nmemory_node = '0,1'\n";
    assert_eq!(of(words, NetworkPath::Peer), (vec![1], vec![2], Some(0), Some(1)));
    let back = format!("{words}reverse = true");
    assert_eq!(
        of(&back, NetworkPath::Peer),
        (vec![2], vec![1], Some(1), Some(0)),
        "the peer sends"
    );
    assert_eq!(of(&back, NetworkPath::Loopback).0, [1], "on one host the first is the source's");
    assert_eq!(of("", NetworkPath::Peer), (vec![], vec![], None, None), "two hosts are not pinned");
    assert_eq!(of("", NetworkPath::Loopback), (vec![0], vec![1], None, None));
    assert_eq!(of("affinity = '0-1,0-1'", NetworkPath::Peer).1, [0, 1], "other hosts' CPUs");
    let memory =
        planned("load = 'memory-read'\nthreads = 3", NetworkPath::Loopback, 4).expect("a trial");
    assert_eq!(
        (&*memory.place(Role::Receiver).cpus.0, memory.path),
        (&[0, 1, 2][..], NetworkPath::Memory)
    );
    let beside = planned("memory_load = 'copy:2@3'", NetworkPath::Loopback, 4).expect("a trial");
    let end = beside.background().expect("a background load");
    let threads = end.load.as_ref().map(|load| load.threads);
    assert_eq!((&end.place, threads), (&Placement::on([3]), Some(2)));
    assert!(
        planned("affinity = '9,0'", NetworkPath::Loopback, 4)
            .is_err_and(|why| why.contains("no CPU 9"))
    );
    assert!(planned("memory_load = 'copy@9'", NetworkPath::Loopback, 4).is_err());
    assert!(planned("load = 'memory-read'\nnode = 5", NetworkPath::Loopback, 4).is_err());
}

fn modules(at: &[(&str, Option<u32>)]) -> Host {
    let slot = |(locator, socket): &(&str, Option<u32>)| Slot {
        locator: (*locator).into(),
        at: socket.map(|socket| SlotPlace { socket, ..SlotPlace::default() }),
        module: Some(Module { is_dram: true, ..Module::default() }),
        ..Slot::default()
    };
    let mut host = Host::default();
    host.memory.slots = Fact::known(at.iter().map(slot).collect(), "test");
    host
}

fn level(when: &str, host: &Host, peer: Option<&Host>) -> Result<String, String> {
    let text =
        format!("[[factor]]\nname = 'f'\nby = 'hand'\nlevels = [{{ name = 'a', when = {when} }}]");
    let said = BTreeMap::new();
    let (found, unread) = standing(&definition(&text), &Machine { host, peer, said: &said });
    match found.into_values().next() {
        Some(Found { level, read: true }) => Ok(level),
        other => Err(format!("{other:?} {}", unread.first().expect("why not").why)),
    }
}

#[test]
fn levels_are_read_from_modules_and_facts() {
    let host = modules(&[("A1", Some(0)), ("A2", Some(0)), ("B1", Some(1))]);
    let fits = |when: &str| level(when, &host, None);
    assert_eq!(fits("{ modules_by_socket = [2, 1] }"), Ok("a".into()));
    assert!(fits("{ modules_by_socket = [1, 2] }").is_err());
    assert!(fits("{ modules_by_socket = [2] }").is_err(), "a socket more");
    let lost = modules(&[("A1", None)]);
    assert!(
        level("{ modules_by_socket = [1] }", &lost, None)
            .is_err_and(|why| why.contains("not known"))
    );
    // Labels: the whole locator, or its last word or number, when there is one of it.
    let host = modules(&[("CPU0 DIMM A1", None), ("CPU1 DIMM B2", None)]);
    let fits = |when: &str| level(when, &host, None);
    assert_eq!(fits("{ populated = ['a1', '2'] }"), Ok("a".into()));
    assert!(
        fits("{ populated = ['A1', 'C3'] }").is_err_and(|why| why.contains("no memory slot 'C3'"))
    );
    let twice = modules(&[("CPU0 DIMM 1", None), ("CPU1 DIMM 1", None)]);
    let either = level("{ populated = ['1'] }", &twice, None).expect_err("two");
    assert!(either.contains("may be 'CPU0 DIMM 1' or 'CPU1 DIMM 1'"), "{either}");
    let mut host = Host::default();
    host.memory.available_bytes = Fact::known(Bytes(5), "test");
    let fact = |value: &str| format!("{{ facts = {{ '/memory/available_bytes' = {value} }} }}");
    assert_eq!(level(&fact("5"), &host, None), Ok("a".into()));
    assert_eq!(level(&fact("5.0"), &host, None), Ok("a".into()), "numbers are numbers");
    assert!(level(&fact("6"), &host, None).is_err());
    let none = level("{ facts = { '/nowhere' = 1 } }", &host, None).expect_err("no fact");
    assert!(none.contains("no fact /nowhere"), "{none}");
    let other = Host::default();
    assert!(level(&fact("5"), &host, Some(&other)).is_err_and(|why| why.contains("the peer: ")));
    let here = fact("5").replace("{ facts", "{ here_only = true, facts");
    assert_eq!(level(&here, &host, Some(&other)), Ok("a".into()));
    // With two levels that fit none is told.
    let two = "[[factor]]\nname = 'f'\nby = 'hand'\nlevels = [{ name = 'a', when = {} }, { name = 'b', when = {} }]";
    let said = BTreeMap::new();
    let (found, unread) =
        standing(&definition(two), &Machine { host: &host, peer: None, said: &said });
    assert!(
        found.is_empty() && unread[0].why.to_string().contains("several levels: a, b"),
        "{unread:?}"
    );
}

#[test]
fn what_is_left_turns_at_its_limits() {
    let cut = |repeats_max| Cut { repeats: 3, retries: 2, repeats_max, spread: None, seed: 7 };
    let count = |done, failed, precise| Count { done, failed, skipped: 0, precise, fits: true };
    let of =
        |repeats_max, done, failed, precise| left(&cut(repeats_max), &count(done, failed, precise));
    assert_eq!(of(None, 0, 0, false), Left::Runs(3));
    assert_eq!(of(None, 2, 2, false), Left::Runs(1), "as many failures as are allowed");
    assert_eq!(of(None, 2, 3, false), Left::GivenUp);
    assert_eq!(of(None, 3, 9, false), Left::Done);
    assert_eq!(of(Some(5), 3, 0, true), Left::Done);
    assert_eq!(of(Some(5), 4, 0, false), Left::Runs(1));
    assert_eq!(of(Some(5), 5, 0, false), Left::NotPrecise);
    let steps = |counts: &[Count]| -> Vec<(usize, u32, u32)> {
        next_block(&cut(None), counts).iter().map(|s| (s.trial, s.repeat, s.block)).collect()
    };
    let away = Count { fits: false, ..count(0, 0, false) };
    let some = [count(1, 1, false), count(2, 0, false), away, count(3, 0, false)];
    assert_eq!(steps(&some), [(0, 2, 1)], "the fewest done, whose failures are repeats too");
    // Places in a block's order stay, whichever cells are done; another block has another order.
    let order = |done: u32, n: usize| -> Vec<usize> {
        let counts = vec![count(done, 0, false); n];
        steps(&counts).iter().map(|step| step.0).collect()
    };
    let (first, second) = (order(0, 20), order(1, 20));
    assert_ne!(first, second);
    let mut half = vec![count(0, 0, false); 20];
    first[..10].iter().for_each(|at| half[*at].done = 3);
    assert_eq!(steps(&half).iter().map(|step| step.0).collect::<Vec<_>>(), first[10..]);
    let other = Cut { seed: 8, ..cut(None) };
    let others: Vec<usize> =
        next_block(&other, &[count(0, 0, false); 20]).iter().map(|step| step.trial).collect();
    assert_ne!(others, first, "the seed decides");
}

#[test]
fn a_definitions_numbers_have_bounds() {
    let parse = |text: &str| Definition::parse(text).map_err(|error| error.to_string());
    let with =
        |repeats: u32, rest: &str| parse(&format!("name = 'x'\nrepeats = {repeats}\n{rest}"));
    assert!(with(100_000, "").is_ok() && with(100_001, "").is_err());
    let plain = with(4, "").expect("a study");
    assert_eq!((plain.retries, plain.quick.repeats, plain.quick.seconds), (2, 3, 0.3));
    let precise = |within: &str, sure: &str, most: u32| {
        with(4, &format!("[precision]\nwithin_percent = {within}\nconfidence_percent = {sure}\nrepeats_max = {most}"))
            .is_ok()
    };
    assert!(precise("0.01", "50", 4) && precise("100", "99.9", 5));
    assert!(!precise("0.009", "95", 4) && !precise("101", "95", 4));
    assert!(!precise("1", "49", 4) && !precise("1", "99.95", 4) && !precise("1", "95", 3));
    let spread = |sessions: u32, apart: &str| {
        with(4, &format!("[spread]\nsessions = {sessions}\napart_minutes = {apart}"))
            .map(|d| d.repeats)
    };
    assert_eq!((spread(2, "0"), spread(1000, "100000")), (Ok(8), Ok(4000)));
    assert!(spread(1001, "0").is_err() && spread(2, "100001").is_err());
    for name in ["", ".x", "a/b", "a b"] {
        assert!(parse(&format!("name = '{name}'\nrepeats = 1")).is_err(), "{name}");
    }
    assert!(parse("name = 'a-B_9.x'\nrepeats = 1").is_ok());
    let factor = |text: &str| with(1, &format!("[[factor]]\nname = 'f'\n{text}"));
    assert!(factor("by = 'foot'\nlevels = ['a']").is_err_and(|why| why.contains("only \"hand\"")));
    assert!(factor("levels = ['a', 'a']").is_err_and(|why| why.contains("is given twice")));
    assert!(factor("levels = [{ length = 1 }]").is_err_and(|why| why.contains("no name")));
    let when = factor("levels = [{ name = 'a', when = { here_only = true } }]");
    assert!(when.is_err_and(|why| why.contains("by = \"hand\"")));
    let same = "levels = ['a']\n[[factor]]\nname = 'f'\nlevels = ['b']";
    assert!(factor(same).is_err_and(|why| why.contains("is given twice")));
    assert!(
        factor("levels = ['a']\n[report]\nacross = 'g'")
            .is_err_and(|why| why.contains("no factor 'g'"))
    );
    let many = |n: usize| {
        let levels: Vec<String> = (0..n).map(|at| format!("'{at}'")).collect();
        let levels = levels.join(", ");
        let of = |name: &str| format!("[[factor]]\nname = '{name}'\nlevels = [{levels}]\n");
        with(1, &(of("a") + &of("b"))).is_ok()
    };
    assert!(many(316) && !many(317), "316 x 316 are fewer than 100000, 317 x 317 more");
    let quick = with(4, "seed = 3\n[quick]\nseconds = 0.5\nparallel_max = 3\n[base]\nparallel = 9")
        .expect("a study");
    assert_eq!(quick.seed, Some(3));
    let quick = quick.quickly();
    assert_eq!(
        (quick.base.told(&runs::SECONDS), quick.base.told(&runs::WARMUP_SECONDS)),
        (Some(0.5), Some(0.2))
    );
    assert_eq!(
        (quick.base.told(&flows::PARALLEL), quick.repeats, quick.precision),
        (Some(3), 3, None)
    );
}

/// The container of this host's end, its network, and what it cannot be with.
#[test]
fn an_end_runs_in_the_container_that_its_cell_names() {
    let of = |lines: &str, path: NetworkPath| {
        let text = format!("name = 'x'\nrepeats = 1\n[base]\nload = 'tcp-stream'\n{lines}\n");
        let cells = cells(&Definition::parse(&text).expect("a definition")).expect("cells");
        let host = Host::default();
        let peer = PeerHost { name: "there", host: None, interface: None, away: None };
        let peers = [peer];
        let peers = if path == NetworkPath::Peer { &peers[..] } else { &[] };
        let mut all = trials(&cells, &Ends { host: &host, peers, path, interface: None })?;
        let (trial, why) = all.pop().expect("a trial");
        let inside: Vec<Option<String>> =
            trial.ends.iter().map(|end| end.container.clone()).collect();
        Ok::<_, narrows_plan::study::StudyError>((inside, why))
    };
    let peer = |lines| of(lines, NetworkPath::Peer).expect("a trial");
    let bridged = "in = 'docker:debian:12'\ncontainer_net = 'bridge'";
    assert_eq!(peer(bridged).0, [None, Some("docker debian:12, network bridge".to_owned())]);
    assert_eq!(peer("in = 'bwrap'"), (vec![None, Some("bwrap".to_owned())], None));
    assert_eq!(peer("in = 'host'"), (vec![None, None], None));
    let (_, why) = peer("in = 'bwrap'\ncontainer_net = 'bridge'");
    let why = why.expect("no bridge without a word");
    assert!(why.contains("container_net = 'bridge': bwrap has the host's network"), "{why}");
    assert_eq!(peer("in = 'bwrap'\ncontainer_net = 'host'").1, None);
    for mtu in [10, 70_000] {
        let lines = format!("mtu = {mtu}");
        let (_, why) = of(&lines, NetworkPath::Peer).expect("a trial");
        assert_eq!(
            why.expect("no such MTU"),
            format!("mtu = {mtu}: interfaces take 68 to 65535 bytes")
        );
    }
    assert_eq!(peer("mtu = 9000").1, None);
    // Private namespaces are not to be seen from inside.
    let (_, why) = of("in = 'bwrap'", NetworkPath::Namespaces).expect("a trial");
    assert!(why.is_some_and(|why| why.contains("--peer")));
    for (wrong, says) in [
        ("in = 'lxc:x'", "podman:IMAGE"),
        ("in = 'podman:--privileged'", "podman:IMAGE"),
        ("in = 'podman:x'\ncontainer_net = '--net=y'", "not a network name"),
        ("in = 'bwrap'\nengine = 'iperf3'", "runs on the host itself"),
    ] {
        let why = of(wrong, NetworkPath::Peer).expect_err(wrong).to_string();
        assert!(why.contains(says), "{why}");
    }
}
