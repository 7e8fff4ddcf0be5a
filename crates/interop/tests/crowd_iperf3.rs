//! Strangers at a server for iperf3 clients, silent and chattering, more than it has room for: a
//! client has its tests all the same, from the same address too, and the log stays short.

use narrows_control::events::Event;
use narrows_control::limits::Limits;
use narrows_interop::iperf3::server::Server;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// More than any server has room for.
const SILENT: usize = 700;
/// Threads that connect, say something that asks for no test, and connect again.
const CHATTERERS: u8 = 3;
/// States of the protocol, as its bytes.
const CREATE_STREAMS: u8 = 10;
const TEST_END: u8 = 4;

#[derive(Default)]
struct Log {
    lines: u64,
    events: u64,
    tests: u64,
}

fn noted(log: &Mutex<Log>, event: &Event) {
    let mut log = log.lock().expect("log");
    log.lines += 1;
    match event {
        Event::LeftOut { count, .. } => log.events += count,
        Event::Session(_) => (log.tests, log.events) = (log.tests + 1, log.events + 1),
        _ => log.events += 1,
    }
}

/// Says part of a cookie, a whole one, or one and the length of parameters that never come.
fn chatter(at: SocketAddr, style: u8, stop: &AtomicBool, made: &AtomicU64) {
    let mut said = vec![b'x'; 36];
    said.push(0);
    match style % 3 {
        0 => said.truncate(20),
        1 => {}
        _ => said.extend([0, 0, 0xff, 0xff, b'{']),
    }
    let mut held = Vec::new();
    while !stop.load(SeqCst) {
        if let Ok(mut stream) = TcpStream::connect_timeout(&at, Duration::from_secs(1)) {
            let _ = stream.write_all(&said);
            made.fetch_add(1, SeqCst);
            held.push(stream);
        }
        if held.len() > 100 {
            held.remove(0);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn expect(mut control: &TcpStream, states: &[u8]) -> io::Result<()> {
    let mut said = vec![0; states.len()];
    control.read_exact(&mut said)?;
    match said == states {
        true => Ok(()),
        false => Err(io::Error::other(format!("{said:?} in place of {states:?}"))),
    }
}

fn send_json(mut control: &TcpStream, text: &str) -> io::Result<()> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    control.write_all(&bytes)
}

/// A test over so many streams, as iperf3's client makes it; the bytes that the server counted.
fn test(at: SocketAddr, name: u8, streams: usize) -> io::Result<u64> {
    let within = Some(Duration::from_secs(10));
    let mut cookie = vec![b'a' + name; 36];
    cookie.push(0);
    let mut control = TcpStream::connect(at)?;
    control.set_read_timeout(within)?;
    control.write_all(&cookie)?;
    expect(&control, &[9])?;
    let asked = format!(r#"{{"tcp":true,"omit":0,"time":1,"parallel":{streams},"len":1000}}"#);
    send_json(&control, &asked)?;
    expect(&control, &[CREATE_STREAMS])?;
    let mut data = Vec::new();
    for _ in 0..streams {
        let mut stream = TcpStream::connect(at)?;
        stream.write_all(&cookie)?;
        data.push(stream);
    }
    expect(&control, &[1, 2])?;
    data.iter_mut().try_for_each(|stream| stream.write_all(&[7; 5000]))?;
    thread::sleep(Duration::from_millis(100));
    control.write_all(&[TEST_END])?;
    expect(&control, &[13])?;
    send_json(&control, r#"{"streams":[]}"#)?;
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut text)?;
    expect(&control, &[14])?;
    control.write_all(&[16])?;
    let results: serde_json::Value = serde_json::from_slice(&text)?;
    let each = results["streams"].as_array().into_iter().flatten();
    Ok(each.filter_map(|stream| stream["bytes"].as_u64()).sum())
}

/// A test, again where the client had to make room for another stranger, as a user would.
fn test_again(at: SocketAddr, name: u8, streams: usize) -> u64 {
    let tried = (0..5).map(|_| test(at, name, streams));
    let mut missed = Vec::new();
    for result in tried {
        match result {
            Ok(bytes) => return bytes,
            Err(error) => missed.push(error),
        }
    }
    panic!("test {name}: {missed:?}")
}

fn threads() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:")).expect("threads");
    line.trim().parse().expect("a number")
}

#[test]
fn strangers_keep_no_iperf3_client_out() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("limit");
    setrlimit(Resource::RLIMIT_NOFILE, most.min(8192), most).expect("descriptors");
    let here = [127, 0, 0, 1].into();
    let server = Server::listen(Some(here), 0, Limits::default()).expect("listens");
    let at = SocketAddr::new(here, server.port());
    let (stop, log) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Log::default())));
    let began = Instant::now();
    let (until, own) = (stop.clone(), log.clone());
    let serving = thread::spawn(move || server.serve(&until, move |event| noted(&own, &event)));
    // A test of many streams at a quiet door is no crowd.
    let bytes = test(at, 20, 128).expect("alone");
    assert!((64 * 5000..=128 * 5000).contains(&bytes), "{bytes}");
    let mut silent: Vec<TcpStream> =
        (0..SILENT).map(|_| TcpStream::connect(at).expect("taken by the kernel")).collect();
    let (silence, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let chatterers: Vec<_> = (0..CHATTERERS)
        .map(|style| {
            let (silence, made) = (silence.clone(), made.clone());
            thread::spawn(move || chatter(at, style, &silence, &made))
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    for round in 0..10 {
        let waited = Instant::now();
        // A starved server may not have read all of it when the client ends the test.
        let bytes = test_again(at, round, 2);
        assert!((5000..=10_000).contains(&bytes), "{bytes}");
        assert!(waited.elapsed() < Duration::from_secs(10), "{:?}", waited.elapsed());
        assert!(threads() < 310, "{} threads in round {round}", threads());
        silent.extend((0..30).filter_map(|_| TcpStream::connect(at).ok()));
    }
    silence.store(true, SeqCst);
    chatterers.into_iter().for_each(|thread| thread.join().expect("a chatterer"));
    let all = made.load(SeqCst) + SILENT as u64;
    let wait = Instant::now();
    while log.lock().expect("log").events + 600 < all && wait.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(50));
    }
    stop.store(true, SeqCst);
    drop(silent);
    serving.join().expect("the server ends");
    let log = log.lock().expect("log");
    let seconds = began.elapsed().as_secs() + 2;
    assert!(log.lines <= 30 * seconds, "{} lines in {seconds} s", log.lines);
    assert!(log.tests >= 1 && log.events + 600 >= all, "{} of {all} were told of", log.events);
    assert!(log.events > 2 * log.lines, "{} events, {} lines", log.events, log.lines);
}
