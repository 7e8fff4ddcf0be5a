//! Strangers without the key, silent and chattering, more than an agent has room for: a controller
//! with the key gets in all the same, from the same address too, and the log stays short.

mod common;

use narrows_control::agent::Event;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::wire::Patience;
use narrows_control::{ControlError, Peer};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// More than any agent has room for.
const SILENT: usize = 700;
/// Threads that connect, say something that is no key, and connect again.
const CHATTERERS: u8 = 3;

/// Counted: lines of the log, and events that they stand for.
#[derive(Default)]
struct Log {
    lines: u64,
    events: u64,
    sessions: u64,
}

fn noted(log: &Mutex<Log>, event: &Event) {
    let mut log = log.lock().expect("log");
    log.lines += 1;
    match event {
        Event::LeftOut { count, .. } => log.events += count,
        Event::Session(_) => (log.sessions, log.events) = (log.sessions + 1, log.events + 1),
        _ => log.events += 1,
    }
}

/// Says what a stranger can say: the start of a hello, a whole one, or one and a large frame.
fn chatter(at: SocketAddr, style: u8, stop: &AtomicBool, made: &AtomicU64) {
    let said: &[u8] = match style % 3 {
        0 => b"NRRW",
        1 => b"NRRW\0\0\0\x04",
        _ => b"NRRW\0\0\0\x04\xff\xffxxxxxxxxxxxxxxxxxxxxxxxx",
    };
    let mut held = Vec::new();
    while !stop.load(SeqCst) {
        if let Ok(mut stream) = TcpStream::connect_timeout(&at, Duration::from_secs(1)) {
            let _ = stream.write_all(said);
            made.fetch_add(1, SeqCst);
            held.push(stream);
        }
        if held.len() > 100 {
            held.remove(0);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn threads() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:")).expect("threads");
    line.trim().parse().expect("a number")
}

#[test]
fn strangers_keep_out_nobody_who_has_the_key() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("limit");
    setrlimit(Resource::RLIMIT_NOFILE, most.min(8192), most).expect("descriptors");
    let key = Key::random().expect("key");
    let here = [127, 0, 0, 1].into();
    let (limits, patience) = (Limits::default(), Patience::default());
    let agent = common::agent(Some(here), &key, "/nonexistent".into(), limits, patience);
    let at = SocketAddr::new(here, agent.port());
    let (stop, log) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Log::default())));
    let silence = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let (until, own) = (stop.clone(), log.clone());
    let serving = thread::spawn(move || agent.serve(&until, move |event| noted(&own, &event)));
    let mut silent: Vec<TcpStream> =
        (0..SILENT).map(|_| TcpStream::connect(at).expect("taken by the kernel")).collect();
    let made = Arc::new(AtomicU64::new(0));
    let chatterers: Vec<_> = (0..CHATTERERS)
        .map(|style| {
            let (silence, made) = (silence.clone(), made.clone());
            thread::spawn(move || chatter(at, style, &silence, &made))
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    for round in 0..10 {
        let mut peer = Peer::connect("127.0.0.1", at.port(), None, &key).expect("it gets in");
        peer.describe().expect("and is served");
        assert!(threads() < 310, "{} threads in round {round}", threads());
        drop(peer);
        // Until the agent has noticed that it left.
        let wait = Instant::now();
        silent.extend((0..30).filter_map(|_| TcpStream::connect(at).ok()));
        thread::sleep(Duration::from_millis(60));
        assert!(wait.elapsed() < Duration::from_secs(60));
    }
    let wrong = Peer::connect("127.0.0.1", at.port(), None, &Key::random().expect("key"));
    assert!(
        matches!(wrong, Err(ControlError::HungUp(_) | ControlError::Refused(_))),
        "{:?}",
        wrong.err()
    );
    silence.store(true, SeqCst);
    chatterers.into_iter().for_each(|thread| thread.join().expect("a chatterer"));
    // The agent takes those that still wait in the kernel, until only those stand that it may hold.
    let all = made.load(SeqCst) + SILENT as u64;
    let wait = Instant::now();
    while log.lock().expect("log").events + 600 < all && wait.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(50));
    }
    stop.store(true, SeqCst);
    drop(silent);
    serving.join().expect("the agent ends");
    let (log, made) = (log.lock().expect("log"), made.load(SeqCst) + SILENT as u64);
    let seconds = began.elapsed().as_secs() + 2;
    assert!(log.lines <= 30 * seconds, "{} lines in {seconds} s", log.lines);
    assert!(log.sessions >= 1);
    // What was left out was counted: all but those that still stood at the end.
    assert!(log.events + 600 >= made, "{} of {made} were told of", log.events);
    assert!(log.events > 2 * log.lines, "{} events, {} lines", log.events, log.lines);
}
