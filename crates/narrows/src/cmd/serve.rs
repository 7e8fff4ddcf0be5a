//! `narrows serve`: the agent on the other host.

use crate::args::{KeyArgs, ServeArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::{cmd, output, stop};
use narrows_control::events::Event;
use narrows_control::halves::Setup;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::starter::{Lend, Listener};
use narrows_control::tools::Tools;
use narrows_control::{ControlError, address, listen, wire};
use narrows_host::Root;
use narrows_hostctl::netns;
use narrows_hostctl::privilege::Lends;
use narrows_hostctl::sampling::Leave;
use narrows_hostctl::{confine, privilege};
use narrows_interop::iperf3::server;
use narrows_interop::{engines, iperf3};
use narrows_workloads::packets::link::Link;
use narrows_workloads::packets::ring;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Runs the command until it is stopped.
pub fn run(args: &ServeArgs) -> Result<u8, Failure> {
    let stop = stop::flag()?;
    if let Some(name) = &args.netns {
        netns::enter(name)?;
    }
    if args.iperf3 {
        return serve_iperf3(args, &stop);
    }
    let given = args.key.given()?;
    let key = given.map_or_else(Key::random, Ok)?;
    let (listening, at) = open(args)?;
    let port = at.port();
    let lend = lend(args)?;
    // Before this process gives up what the listener needs to give up still more.
    let listener = Listener::start(&lend.binary, listening)?;
    if let Some(seconds) = args.until_closed {
        until_closed(stop.clone(), Duration::from_secs(seconds.into()));
    }
    confine::starter(!args.packets.is_empty())?;
    output::print(&match args.until_closed {
        Some(_) => format!("narrows-listening {port}\n"),
        None => says(args, &key, port),
    })?;
    let setup = Setup {
        key: key.show(),
        limits: limits(args),
        patience: Default::default(),
        tells_sessions: args.until_closed.is_none(),
    };
    listener.serve(&setup, lend, &stop)?;
    Ok(0)
}

/// A socket that listens: on a free port where the one that is wanted is taken and need not be it.
fn open(args: &ServeArgs) -> Result<(TcpListener, SocketAddr), ControlError> {
    match listen::open(args.bind, args.port.unwrap_or(wire::PORT)) {
        Err(ControlError::Listen { error, .. })
            if args.or_free && error.kind() == ErrorKind::AddrInUse =>
        {
            listen::open(args.bind, 0)
        }
        opened => opened,
    }
}

/// Sets `stop` once standard input is closed or silent for that long: the connection that brought
/// this agent is gone. Its controller gives a sign every five seconds.
fn until_closed(stop: Arc<AtomicBool>, silence: Duration) {
    let (heard, listening) = channel();
    thread::spawn(move || {
        let mut piece = [0; 64];
        while std::io::stdin().read(&mut piece).is_ok_and(|read| read > 0) {
            if heard.send(()).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        while listening.recv_timeout(silence).is_ok() {}
        stop.store(true, Ordering::SeqCst);
    });
}

/// What to run on the other host.
fn says(args: &ServeArgs, key: &Key, port: u16) -> String {
    let host = reached_at(args);
    let at = match port {
        wire::PORT => String::new(),
        port => format!(" -p {port}"),
    };
    // A key that its owner has is not shown again: logs of services and of pods keep what is said
    // here.
    let command = match &args.key {
        KeyArgs { key_file: Some(file), .. } => {
            format!("narrows tcp {host}{at} --key-file {}", file.display())
        }
        KeyArgs { key: Some(_), .. } => {
            format!("narrows tcp {host}{at}    # with its NARROWS_KEY")
        }
        _ => format!("NARROWS_KEY={} narrows tcp {host}{at}", key.show()),
    };
    format!(
        "listening on {} port {port}; run on the other host:\n\n    {command}\n\n\
         (or udp in place of tcp); Ctrl-C ends it. Where ssh reaches this host, no agent need \
         wait:\n\n    narrows tcp ssh:{host}\n",
        args.bind.map_or("all addresses".to_owned(), |address| address.to_string()),
    )
}

/// What is lent. Root is given up here, after what only root can read was read.
fn lend(args: &ServeArgs) -> Result<Lend, Failure> {
    let (limits, bind, binary) = (limits(args), args.bind, cmd::own_binary()?);
    let leave = args.profile.then(Leave::take);
    let tools = tools(args)?;
    check_interfaces(&args.packets)?;
    if args.user == "root" {
        return Ok(Lend { binary, limits, bind, host: None, leave, tools });
    }
    let host = narrows_host::read(&Root::live());
    let lends = Lends { samples: args.profile, frames: !args.packets.is_empty() };
    Ok(match privilege::drop_root(&args.user, &binary, lends)? {
        Some(binary) => Lend { binary, limits, bind, host: Some(host), leave, tools },
        None => Lend { binary, limits, bind, host: None, leave, tools },
    })
}

/// Whether interfaces can be lent for raw frames: each is there, of Ethernet, and this process may
/// make frames.
fn check_interfaces(names: &[String]) -> Result<(), Failure> {
    for name in names {
        let link = Link::named(name);
        link.map_err(|why| Failure::of(Cause::LENDS, format!("--packets {name}: {why}")))?;
    }
    if names.is_empty() {
        return Ok(());
    }
    let may = ring::allowed();
    may.map_err(|why| Failure::of(Cause::NO_RAW_FRAMES, format!("--packets: {why}")))
}

/// Outside tools whose servers are lent. One that has none is refused: its controllers would ask
/// for it, and run without it.
fn tools(args: &ServeArgs) -> Result<Option<Tools>, Failure> {
    let names: Vec<String> = args.engines.clone();
    if let Some(name) = names.iter().find(|name| !engines::has_server(name)) {
        let says = format!("--engines {name}: {name} has no server to lend");
        return Err(Failure::of(Cause::LENDS_NO_TOOL, says));
    }
    let tools = Tools { names, start: engines::serve, port: engines::port };
    Ok(Some(tools).filter(|tools| !tools.names.is_empty()))
}

/// What the owner allows, over both protocols.
fn limits(args: &ServeArgs) -> Limits {
    Limits {
        ports: args.data_ports,
        seconds: args.max_seconds,
        streams: args.max_streams,
        memory_bytes: args.max_memory,
        rate_bps: args.max_rate.map(|rate| rate.0 as u64),
        allowed: args.allow.clone(),
        peers: args.peers.clone(),
        interfaces: args.packets.clone(),
    }
}

/// The address by which others reach this host.
fn reached_at(args: &ServeArgs) -> String {
    let named = args.bind.filter(|address| !address.is_unspecified());
    named
        .or_else(address::own)
        .map_or_else(|| "THIS-HOST".to_owned(), |address| address.to_string())
}

fn serve_iperf3(args: &ServeArgs, stop: &AtomicBool) -> Result<u8, Failure> {
    let port = args.port.unwrap_or(iperf3::PORT);
    let server = server::Server::listen(args.bind, port, limits(args))?;
    match args.user.as_str() {
        "root" => privilege::drop_all()?,
        user => privilege::drop_root_and_all(user)?,
    }
    confine::iperf3()?;
    let port = match server.port() {
        iperf3::PORT => String::new(),
        port => format!(" -p {port}"),
    };
    output::print(&format!(
        "listening on {} port {} for iperf3 clients, without a key: whoever reaches the port can \
         have a test within the limits; run on the other host:\n\n    iperf3 -c {}{port}\n\nCtrl-C ends it\n",
        args.bind.map_or("all addresses".to_owned(), |address| address.to_string()),
        server.port(),
        reached_at(args)
    ))?;
    server.serve(stop, |event| match event {
        Event::Session(what) => note!("{}", what),
        Event::TurnedAway(why) => note!("broken off: {}", why),
        Event::Dropped(from) => note!("dropped to make room: {}", from),
        Event::Ended(what) => note!("{}: done", what),
        Event::LeftOut { kind, count } => note!("and {count} {kind}, not listed"),
    });
    Ok(0)
}
