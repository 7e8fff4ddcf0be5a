//! What direct measurements, `narrows mem` and `narrows check` plan, against values from their
//! documentation: windows, sizes, threads, nodes, names.

use narrows_model::host::{CpuPlace, Host, Node};
use narrows_model::load::{Params, Role, StreamParams};
use narrows_model::trial::{EndSpec, NetworkPath, Placement, Trial};
use narrows_model::workload::Kernel;
use narrows_model::{Bytes, Fact, Nanos};
use narrows_plan::memory::{self, Wanted};
use narrows_plan::{Unplaced, check, direct, imported, run_ns, seed_from};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// Two nodes of two CPUs, a core each, and a third with memory alone.
fn host() -> Host {
    let mut host = Host::default();
    host.cpu.online = known((0..4).collect());
    host.cpu.allowed = known((0..4).collect());
    let place =
        |cpu: u32| CpuPlace { cpu, core: Some(cpu), node: Some(cpu / 2), ..CpuPlace::default() };
    host.cpu.places = (0..4).map(place).collect();
    let node = |id: u32, cpus: Vec<u32>| Node {
        id,
        cpus,
        memory_bytes: known(Bytes::gib(8)),
        ..Node::default()
    };
    host.nodes = vec![node(0, vec![0, 1]), node(1, vec![2, 3]), node(2, vec![])];
    host.memory.available_bytes = known(Bytes::gib(16));
    host
}

fn line(trial: &Trial) -> [Option<u64>; 4] {
    let line = &trial.timeline;
    [
        Some(line.warmup_ns.0),
        Some(line.window_ns.0),
        Some(line.cooldown_ns.0),
        line.interval_ns.map(|ns| ns.0),
    ]
}

const MS: u64 = 1_000_000;

/// CPUs of a memory trial.
fn cpus(trial: &Trial) -> &[u32] {
    &trial.place(Role::Receiver).cpus.0
}

#[test]
fn direct_trials_have_their_time_lines() {
    let params = Params::of_network(Bytes(1000), 3);
    let back = StreamParams { reverse: true, ..StreamParams::default() };
    let reverse = Params { stream: Some(back), ..params.clone() };
    let ends = || EndSpec::pair(Placement::default(), Placement::on([1]), false);
    let window = Nanos(7 * MS);
    let plain =
        direct::trial_of("tcp-stream".into(), params.clone(), ends(), NetworkPath::Peer, window);
    assert_eq!(line(&plain), [Some(500 * MS), Some(7 * MS), Some(300 * MS), None]);
    assert_eq!((plain.kind.as_str(), plain.label.as_str()), ("tcp-stream", "tcp-stream"));
    let server = |kind: &str, params: &Params| {
        let of =
            direct::trial_of_iperf3(kind.into(), params.clone(), ends(), NetworkPath::Peer, window);
        (of.timeline.warmup_ns.0 / MS, of.timeline.window_ns.0 / MS, of.timeline.cooldown_ns.0 / MS)
    };
    assert_eq!(server("tcp-stream", &params), (1000, 7, 0));
    assert_eq!(server("tcp-stream", &reverse), (1000, 7, 600));
    assert_eq!(server("udp-stream", &params), (0, 7, 0));
    assert_eq!(server("udp-stream", &reverse), (1000, 7, 600));
    let sliced = direct::sliced(plain.clone(), Some(Nanos(5)));
    assert_eq!(line(&sliced), [Some(500 * MS), Some(7 * MS), Some(300 * MS), Some(5)]);
    let warmed = direct::warmed(plain.clone(), Nanos(9));
    assert_eq!(line(&warmed), [Some(9), Some(7 * MS), Some(300 * MS), None]);
    let peer = direct::with(plain.clone(), "b");
    assert_eq!((peer.label.as_str(), peer.kind.as_str()), ("tcp-stream b", "tcp-stream"));
    let sized = direct::sized(&plain, Bytes::kib(2));
    assert_eq!((sized.label.as_str(), sized.params.message_bytes.0), ("tcp-stream 2 KiB", 2048));
    assert_eq!((sized.params.streams, &sized.ends), (3, &ends()), "all else is as it was");
    let mut of = plain.clone();
    of.params = reverse;
    let uncopied = direct::uncopied(&of);
    let stream = uncopied.params.stream.clone().expect("words");
    assert_eq!((stream.receiver.as_deref(), stream.reverse), (Some("truncate"), true));
    assert_eq!((uncopied.params.streams, uncopied.label.as_str()), (3, "tcp-stream uncopied"));
    let ids = [&plain, &sliced, &warmed, &peer, &sized, &uncopied].map(|trial| trial.id.0.clone());
    assert_eq!(std::collections::BTreeSet::from(ids).len(), 6, "each is another trial");
}

#[test]
fn a_run_takes_its_time_line_a_start_and_its_touching() {
    let params = Params { working_set_bytes: Bytes(4000), ..Params::of_network(Bytes(1), 1) };
    let of = direct::trial_of(
        "x".into(),
        params,
        EndSpec::of_memory(Placement::default()),
        NetworkPath::Memory,
        Nanos(7),
    );
    // 0.5 s, the window, 0.3 s, a start of 0.1 s, and 4000 bytes at 2 bytes a nanosecond.
    assert_eq!(run_ns(&of), Nanos(900 * MS + 7 + 2000));
    let seeds: Vec<u64> = (0..64).map(seed_from).collect();
    assert!(seeds.iter().all(|seed| *seed < 1 << 32), "short enough to be typed");
    assert!(seeds.iter().any(|seed| *seed >= 1 << 31), "of 32 bits");
    assert_eq!(std::collections::BTreeSet::from_iter(&seeds).len(), 64);
}

#[test]
fn what_was_imported_is_named_by_its_levels() {
    let level = |factor: &str, level: &str| narrows_model::trial::Level {
        factor: factor.into(),
        level: level.into(),
    };
    let levels = vec![level("size", "64"), level("streams", "2")];
    let of = imported("netperf", "tcp-rr".into(), levels.clone(), vec![level("host", "a")]);
    assert_eq!((of.label.as_str(), of.kind.as_str()), ("tcp-rr, size 64, streams 2", "tcp-rr"));
    assert_eq!((of.path, &of.levels, of.notes.len()), (NetworkPath::Imported, &levels, 1));
    assert_eq!(of.engine.as_ref().map(|engine| engine.tool.as_str()), Some("netperf"));
    assert_eq!(line(&of), [Some(0), Some(0), Some(0), None]);
    assert_eq!(imported("netperf", "tcp-rr".into(), vec![], vec![]).label, "tcp-rr");
    let table = vec![level("dimms", "1"), level("protocol", "TCP")];
    assert_eq!(imported("published", "tcp-stream".into(), table, vec![]).label, "dimms 1, TCP");
    assert_ne!(imported("iperf", "tcp-rr".into(), levels, vec![]).id, of.id, "of another tool");
}

fn mem(wanted: &Wanted) -> Result<Vec<Trial>, Unplaced> {
    memory::trials(&host(), wanted, Nanos(3)).map(|(_, trials)| trials)
}

fn labels(trials: &[Trial]) -> Vec<&str> {
    trials.iter().map(|trial| trial.label.as_str()).collect()
}

#[test]
fn kernels_run_on_one_cpu_and_on_all() {
    let wanted = Wanted { kernels: vec![Kernel::Read], ..Wanted::default() };
    let trials = mem(&wanted).expect("trials");
    assert_eq!(labels(&trials), ["read, 1 thread", "read, 2 threads"]);
    assert_eq!((cpus(&trials[0]), cpus(&trials[1])), (&[0][..], &[0, 1][..]));
    assert_eq!((trials[0].params.streams, trials[1].params.streams), (1, 2));
    assert_eq!((trials[0].kind.as_str(), trials[0].path), ("memory-read", NetworkPath::Memory));
    assert_eq!(line(&trials[0]), [Some(50 * MS), Some(3), Some(0), None]);
    assert_eq!(trials[0].params.working_set_bytes, Bytes::mib(256));
    let far = Wanted {
        node: Some(1),
        memory_node: Some(2),
        threads: vec![2],
        vector: Some("avx2".into()),
        pages: Some("huge".into()),
        working_set_bytes: Some(Bytes(4096)),
        ..wanted.clone()
    };
    let trials = mem(&far).expect("trials");
    assert_eq!(labels(&trials), ["read, 2 threads"]);
    assert_eq!(cpus(&trials[0]), [2, 3]);
    assert_eq!(trials[0].params.working_set_bytes, Bytes(4096));
    let words = trials[0].params.memory.clone().expect("words");
    assert_eq!((words.node, words.pause_ns), (Some(2), None));
    assert_eq!((words.vector.as_deref(), words.pages.as_deref()), (Some("avx2"), Some("huge")));
    let wrong = |wanted: Wanted| mem(&wanted).expect_err("no trials");
    assert_eq!(
        wrong(Wanted { threads: vec![3], ..wanted.clone() }),
        Unplaced::Threads { threads: 3, cpus: 2 }
    );
    assert_eq!(
        wrong(Wanted { threads: vec![0], ..wanted.clone() }),
        Unplaced::Threads { threads: 0, cpus: 2 }
    );
    assert_eq!(wrong(Wanted { node: Some(2), ..wanted.clone() }), Unplaced::NoCpu(2));
    assert_eq!(wrong(Wanted { memory_node: Some(3), ..wanted }), Unplaced::Node(3));
    assert_eq!(wrong(Wanted::default()), Unplaced::Nothing);
}

#[test]
fn latency_is_by_size_by_load_and_by_node() {
    let bytes = |trials: &[Trial]| -> Vec<u64> {
        trials.iter().map(|trial| trial.params.working_set_bytes.0 >> 10).collect()
    };
    let steps = mem(&Wanted { latency: true, ..Wanted::default() }).expect("trials");
    // 16 KiB, each four times the last, and at the end the working set of 256 MiB.
    assert_eq!(bytes(&steps), [16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144]);
    assert_eq!(
        (steps[0].label.as_str(), steps[0].kind.as_str()),
        ("latency, 16 KiB", "memory-latency")
    );
    assert!(steps.iter().all(|step| cpus(step) == [0]), "of one thread");
    let at = |kib: u64| Some(Bytes::kib(kib));
    let few = Wanted { latency: true, working_set_bytes: at(64), ..Wanted::default() };
    assert_eq!(bytes(&mem(&few).expect("trials")), [16, 64]);
    let loaded = mem(&Wanted { loaded: true, ..Wanted::default() }).expect("trials");
    let pauses: Vec<Option<u64>> = loaded
        .iter()
        .map(|t| t.params.memory.as_ref().and_then(|memory| memory.pause_ns))
        .collect();
    let ten = [0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600];
    assert_eq!(pauses, ten.map(Some));
    assert_eq!(
        (loaded[1].label.as_str(), loaded[1].params.streams),
        ("loaded latency, pause 100 ns", 2)
    );
    // A chain is never longer than 2 GiB.
    let long = Wanted { loaded: true, working_set_bytes: at(5 << 20), ..Wanted::default() };
    assert!(bytes(&mem(&long).expect("trials")).iter().all(|kib| *kib == 2 << 20));
    let matrix = mem(&Wanted { matrix: true, working_set_bytes: at(5 << 20), ..Wanted::default() });
    let matrix = matrix.expect("trials");
    assert_eq!(matrix.len(), 2 * 3 * 2, "two nodes with CPUs, three with memory");
    let [read, latency] = [&matrix[8], &matrix[9]];
    assert_eq!(
        labels(&matrix)[8..10],
        ["read, CPUs of node 1, memory of node 1", "latency, CPU of node 1, memory of node 1",]
    );
    assert_eq!((cpus(read), cpus(latency)), (&[2, 3][..], &[2][..]));
    assert_eq!(bytes(&matrix[8..10]), [5 << 20, 2 << 20]);
    assert_eq!(latency.params.memory.as_ref().and_then(|memory| memory.node), Some(1));
    let mut alone = host();
    alone.cpu.allowed = known(vec![3]);
    let loaded = Wanted { loaded: true, ..Wanted::default() };
    assert!(memory::trials(&alone, &loaded, Nanos(3)).is_err(), "it needs two CPUs");
    let kernel = Wanted { kernels: vec![Kernel::Copy], ..Wanted::default() };
    let (_, one) = memory::trials(&alone, &kernel, Nanos(3)).expect("trials");
    assert_eq!(labels(&one), ["copy, 1 thread"]);
    alone.nodes.iter_mut().skip(1).for_each(|node| node.memory_bytes = known(Bytes(0)));
    let matrix = Wanted { matrix: true, ..Wanted::default() };
    assert!(memory::trials(&alone, &matrix, Nanos(3)).is_err(), "one node has memory");
}

/// Four kernels where the thread takes its memory itself, and from each of three nodes with memory.
#[test]
fn numademos_table_is_one_thread_by_place() {
    let wanted = Wanted { numademo: true, ..Wanted::default() };
    let (_, trials) = memory::trials(&host(), &wanted, Nanos(3)).expect("trials");
    assert_eq!(trials.len(), 4 * (1 + 1 + 3));
    assert_eq!(labels(&trials)[..2], ["memcpy, local memory", "write, local memory"]);
    assert_eq!(labels(&trials)[4], "memcpy, interleaved memory");
    assert_eq!(labels(&trials)[12], "memcpy, memory on node 1");
    let spread = |of: &Trial| narrows_model::options::kernels::INTERLEAVE.of(&of.params);
    assert_eq!([0, 4, 8].map(|at| spread(&trials[at])), [None, Some(true), None]);
    let node = |of: &Trial| of.params.memory.as_ref().and_then(|memory| memory.node);
    assert_eq!([0, 4, 8, 12].map(|at| node(&trials[at])), [None, None, Some(0), Some(1)]);
    assert!(trials.iter().all(|one| one.params.streams == 1));
    assert!(trials.iter().all(|one| one.params.working_set_bytes == Bytes(128 << 20)));
}

#[test]
fn memory_that_is_spread_over_all_nodes_is_on_none() {
    let kernels = vec![Kernel::Read];
    let wanted = Wanted { interleave: true, matrix: true, kernels, ..Wanted::default() };
    let (_, trials) = memory::trials(&host(), &wanted, Nanos(3)).expect("trials");
    assert!(!trials.is_empty() && host().nodes.len() > 1);
    for trial in &trials {
        let node = trial.params.memory.as_ref().and_then(|memory| memory.node);
        let spread = narrows_model::options::kernels::INTERLEAVE.of(&trial.params);
        assert_eq!((node, spread), (None, Some(true)), "{}", trial.label);
    }
}

#[test]
fn a_check_measures_memory_tcp_and_udp() {
    let mut host = host();
    let spot = narrows_plan::choose(&host);
    let of =
        |host: &Host, path: NetworkPath| check::trials(host, &spot, path, Nanos(600), None, true);
    let trials = of(&host, NetworkPath::Peer);
    let plain = ["memory-copy", "memory-read", "tcp-rr", "tcp-stream"];
    assert_eq!(labels(&trials)[..4], plain);
    let several = ["tcp-stream 2 flows", "tcp-stream 4 flows", "udp-stream"];
    assert_eq!(labels(&trials)[4..7], several);
    assert_eq!(labels(&trials)[7..], ["rdma-send-rr libfabric", "rdma-write-stream libfabric"]);
    let sizes: Vec<u64> = trials.iter().map(|trial| trial.params.message_bytes.0).collect();
    assert_eq!(sizes, [0, 0, 64, 65_536, 65_536, 65_536, 1472, 64, 65_536]);
    let streams: Vec<u32> = trials[2..].iter().map(|trial| trial.params.streams).collect();
    assert_eq!(streams, [1, 1, 2, 4, 1, 1, 1]);
    assert_eq!(line(&trials[0]), [Some(50 * MS), Some(400), Some(0), None], "two thirds of it");
    for trial in &trials[2..] {
        assert_eq!(
            line(trial),
            [Some(200 * MS), Some(600), Some(100 * MS), None],
            "{}",
            trial.label
        );
        assert_eq!(trial.path, NetworkPath::Peer);
        if trial.params.streams == 1 {
            assert_eq!(trial.ends, spot.pair.clone().ends(false), "{}", trial.label);
        }
    }
    assert_eq!((trials[0].params.streams, cpus(&trials[0])), (2, &[0, 1][..]));
    assert_eq!(
        (trials[0].path, trials[0].params.working_set_bytes),
        (NetworkPath::Memory, Bytes::mib(256))
    );
    let rdma = trials[8].params.rdma.clone().expect("words");
    assert_eq!((rdma.via.as_deref(), rdma.provider.as_deref()), (Some("libfabric"), Some("tcp")));
    // A default that paces has a plain one beside it, which others than root must be allowed.
    let tuned = |host: &mut Host, name: &str, value: &str| {
        host.tuning.insert(format!("net.ipv4.tcp_{name}"), known(value.to_owned()));
    };
    tuned(&mut host, "congestion_control", "bbr");
    tuned(&mut host, "available_congestion_control", "reno cubic bbr");
    tuned(&mut host, "allowed_congestion_control", "reno bbr");
    let other = |host: &Host, path: NetworkPath| of(host, path)[6].params.congestion.clone();
    assert_eq!(other(&host, NetworkPath::Namespaces).as_deref(), Some("cubic"));
    assert_eq!(other(&host, NetworkPath::Peer).as_deref(), Some("reno"));
    assert_eq!(of(&host, NetworkPath::Peer)[6].label, "tcp-stream reno");
    tuned(&mut host, "congestion_control", "cubic");
    assert_eq!(other(&host, NetworkPath::Peer), None);
}

#[test]
fn a_working_set_fits_the_memory_that_is_free_and_a_chain_2_gib() {
    let large = Unplaced::TooLarge { wanted: Bytes::gib(17), free: Bytes::gib(16) };
    for (size, chains, why) in [
        (Bytes::gib(16), vec![], None),
        (Bytes::gib(17), vec![], Some(large)),
        (Bytes::gib(2), vec![1, 2], None),
        (Bytes::gib(3), vec![1, 2], Some(Unplaced::LongChain(Bytes::gib(2)))),
    ] {
        let kernels = vec![Kernel::Read];
        let wanted = Wanted { kernels, working_set_bytes: Some(size), chains, ..Wanted::default() };
        assert_eq!(mem(&wanted).err(), why, "{wanted:?}");
    }
}
