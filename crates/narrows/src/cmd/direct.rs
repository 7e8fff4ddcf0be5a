//! `narrows tcp HOST` and `narrows udp HOST`: one direct measurement.

use crate::args::{DirectArgs, Span, TcpArgs, UdpArgs};
use crate::failure::{Failure, USAGE};
use crate::{cmd, output, stop};
use narrows_facts::host::Host;
use narrows_facts::load::{Beside, Bind, CpuList, Params, SocketParams, StreamParams, TripParams};
use narrows_facts::study::Study;
use narrows_facts::trial::{Path, Placement, Trial};
use narrows_facts::{Bytes, Nanos, SCHEMA_VERSION};
use narrows_host::Root;
use narrows_loads::harness::socket::Wait;
use narrows_plan::{Where, blocks, direct as plan};
use narrows_run::controller::{Course, Ends};
use narrows_run::key::{self, Key};
use narrows_run::{Family, Peer, address};
use narrows_store::Store;

/// What a connection carries when connections are what counts: the token.
const CONNECT_BYTES: Bytes = Bytes(16);

/// `narrows tcp HOST`.
pub fn tcp(args: &TcpArgs) -> Result<u8, Failure> {
    let direct = &args.direct;
    let kind = match (direct.rr, args.connect) {
        (true, _) => "tcp-rr",
        (_, true) => "tcp-connect",
        _ => "tcp-stream",
    };
    let socket = SocketParams { mss_bytes: args.mss, delay: args.delay, ..socket(direct) };
    let params = Params {
        congestion: args.congestion.clone(),
        socket: (socket != SocketParams::default()).then_some(socket),
        ..params(direct, if args.connect { CONNECT_BYTES } else { args.length })
    };
    run("tcp", kind, direct, params, |cache| {
        let span_bytes = match args.buffer {
            Span::Hot => None,
            Span::Cold => Some(Bytes((2 * cache.0).max(Bytes::mib(64).0))),
            Span::Of(bytes) => Some(bytes),
        };
        let receiver = if args.truncate { StreamParams::TRUNCATE } else { &args.receiver };
        let stream = StreamParams {
            span_bytes,
            touch: args.touch,
            sender: unless(&args.sender, "write"),
            receiver: unless(receiver, "recv"),
            ..stream(direct)
        };
        (stream != StreamParams::default()).then_some(stream)
    })
}

/// `narrows udp HOST`.
pub fn udp(args: &UdpArgs) -> Result<u8, Failure> {
    let direct = &args.direct;
    let socket = socket(direct);
    let params = Params {
        rate_bps: (args.bitrate.0 > 0.0).then_some(args.bitrate.0 as u64),
        socket: (socket != SocketParams::default()).then_some(socket),
        ..params(direct, args.length)
    };
    let kind = if direct.rr { "udp-rr" } else { "udp-stream" };
    run("udp", kind, direct, params, |_| {
        let stream = StreamParams {
            sender: unless(&args.sender, "send"),
            receiver: unless(&args.receiver, "recv"),
            ..stream(direct)
        };
        (stream != StreamParams::default()).then_some(stream)
    })
}

/// A choice that is not the ordinary one: trials that choose the ordinary one by name are the same
/// as those that say nothing.
fn unless(name: &str, ordinary: &str) -> Option<String> {
    (name != ordinary).then(|| name.to_owned())
}

fn params(args: &DirectArgs, message_bytes: Bytes) -> Params {
    let trip = TripParams { response_bytes: args.response, per_second: args.per_second };
    Params {
        socket_buffer_bytes: args.window,
        trip: (trip != TripParams::default()).then_some(trip),
        ..Params::of_network(message_bytes, args.parallel)
    }
}

fn socket(args: &DirectArgs) -> SocketParams {
    let wait = unless(&args.wait, Wait::Block.name());
    SocketParams { wait, dscp: args.dscp, ..SocketParams::default() }
}

fn stream(args: &DirectArgs) -> StreamParams {
    let DirectArgs { reverse, bidirectional, verify, .. } = *args;
    StreamParams { reverse, bidirectional, verify, ..StreamParams::default() }
}

/// `stream` is asked with the larger last-level cache of the two hosts.
fn run(
    command: &str,
    kind: &str,
    args: &DirectArgs,
    params: Params,
    stream: impl FnOnce(Bytes) -> Option<StreamParams>,
) -> Result<u8, Failure> {
    let key = Key::parse(&args.key)?;
    output::check_folder(&args.out.out)?;
    let stop = stop::flag()?;
    let host = narrows_host::read(&Root::live());
    if let Some(name) = &args.netns {
        narrows_run::launch::netns::enter(name)?;
    }
    let family = match (args.ipv4, args.ipv6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
    };
    let mut peer = Peer::connect(&args.host, args.port, family, &key)?;
    let peer_host = peer.describe()?;
    let interface = address::interface(peer.own_address());
    let cache = host.last_level_cache_bytes().max(peer_host.last_level_cache_bytes());
    let params = Params { stream: stream(cache), beside: beside(args, &host)?, ..params };
    let place = placed(args, &params, (&host, interface.as_deref()), &peer_host)?;
    let window = Nanos((args.seconds * 1e9) as u64);
    // A peer with our own address is reached over loopback, whatever the address looks like.
    let path = if peer.is_own_host() { Path::Loopback } else { Path::Peer };
    let trial = plan::trial_of(kind, params, place, path, window);
    check(&trial)?;
    let seed = key::chance().map(narrows_plan::seed_from)?;
    let study = Study {
        schema_version: SCHEMA_VERSION,
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.to_owned(),
        seed,
        repeats: args.repeats,
        path,
        peer: Some(args.host.clone()),
        interface,
        began_unix_ns: output::now(),
        path_mtu_bytes: peer.path_mtu(),
        cache_bytes: host.last_level_cache_bytes(),
        memory_node: None,
    };
    let file = output::study_path(&args.out, command, study.began_unix_ns);
    let mut store = Store::create(&file, &study, &host)?;
    let trials = [trial];
    store.put_trials(&trials)?;
    store.put_peer_host(&peer_host)?;
    let mut course = Course {
        steps: &blocks(1, args.repeats, seed),
        trials: &trials,
        binary: cmd::own_binary()?,
        ends: Ends::Peer(&mut peer),
        store: &store,
        stop: &stop,
    };
    let end = output::run_course(&mut course)?;
    let verdict = output::present(&file, args.out.json, None)?;
    eprintln!("study {}", file.display());
    output::nothing_measured(&file)?;
    Ok(output::exit_code(&end, verdict))
}

/// The CPUs of both ends: the local host with its interface to the peer, and the peer.
fn placed(
    args: &DirectArgs,
    params: &Params,
    (host, interface): (&Host, Option<&str>),
    peer_host: &Host,
) -> Result<Placement, Failure> {
    let (mut local, mut remote) = (CpuList::default(), CpuList::default());
    if let Some((here, there)) = args.affinity {
        local = cpus("-A", host, here, interface)?;
        remote = match there {
            Where::SameCore => local.clone(),
            there => cpus("-A", peer_host, there, None)?,
        };
    }
    let (local_node, remote_node) = args.memory_node.unwrap_or_default();
    let bind = args.bind.as_deref().map(|from| match from.parse() {
        Ok(address) => Bind { address: Some(address), device: None },
        Err(_) => Bind { address: None, device: Some(from.to_owned()) },
    });
    Ok(match params.is_reverse() {
        false => Placement {
            source: local,
            sink: remote,
            source_node: local_node,
            sink_node: remote_node,
            bind,
        },
        true => Placement {
            source: remote,
            sink: local,
            source_node: remote_node,
            sink_node: local_node,
            bind,
        },
    })
}

/// The memory kernel to run beside, within four times this host's caches and its free memory.
fn beside(args: &DirectArgs, host: &Host) -> Result<Option<Beside>, Failure> {
    let Some(load) = &args.memory_load else { return Ok(None) };
    let cpus = load.place.map(|place| cpus("--memory-load", host, place, None)).transpose()?;
    Ok(Some(Beside {
        kind: format!("memory-{}", load.kernel),
        threads: load.threads,
        cpus: cpus.unwrap_or_default(),
        working_set_bytes: narrows_plan::choose(host).working_set_bytes,
    }))
}

fn cpus(
    option: &str,
    host: &Host,
    place: Where,
    interface: Option<&str>,
) -> Result<CpuList, Failure> {
    narrows_plan::cpus(host, place, interface).map(CpuList).map_err(|why| {
        Failure::new(USAGE, format!("{option}: {why}"), "see `narrows host` on both hosts")
    })
}

/// Refuses here what the agent would refuse there.
fn check(trial: &Trial) -> Result<(), Failure> {
    let job = narrows_run::controller::source_job(trial)?;
    narrows_loads::check(&job).map(drop).map_err(|error| {
        let hint = "see the limits in `narrows help tcp` and `narrows help udp`";
        Failure::new(USAGE, error.to_string(), hint)
    })
}
