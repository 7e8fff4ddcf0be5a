//! Strangers at a server for iperf3 clients, silent and chattering, more than it has room for: a
//! client has its tests all the same, from the same address too, and the log stays short.

#[path = "../../control/tests/strangers/mod.rs"]
mod strangers;

use narrows_control::limits::Limits;
use narrows_interop::iperf3::server::Server;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use strangers::{Crowd, Shared, allow_descriptors, noted, threads};

/// States of the protocol, as its bytes.
const CREATE_STREAMS: u8 = 10;
const TEST_END: u8 = 4;

/// Part of a cookie, a whole one, or one and the length of parameters that never come.
fn said() -> [Vec<u8>; 3] {
    let cookie = [vec![b'x'; 36], vec![0]].concat();
    let begun = [&*cookie, &[0, 0, 0xff, 0xff, b'{']].concat();
    [cookie[..20].to_vec(), cookie, begun]
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

#[test]
fn strangers_keep_no_iperf3_client_out() {
    allow_descriptors();
    let here = [127, 0, 0, 1].into();
    let server = Server::listen(Some(here), 0, Limits::default()).expect("listens");
    let at = SocketAddr::new(here, server.port());
    let (stop, log) = (Arc::new(AtomicBool::new(false)), Shared::default());
    let began = Instant::now();
    let (until, own) = (stop.clone(), log.clone());
    let serving = thread::spawn(move || server.serve(&until, move |event| noted(&own, &event)));
    // A test of many streams at a quiet door is no crowd.
    let bytes = test(at, 20, 128).expect("alone");
    assert!((64 * 5000..=128 * 5000).contains(&bytes), "{bytes}");
    let mut crowd = Crowd::at(at, said());
    for round in 0..10 {
        let waited = Instant::now();
        // A starved server may not have read all of it when the client ends the test.
        let bytes = test_again(at, round, 2);
        assert!((5000..=10_000).contains(&bytes), "{bytes}");
        assert!(waited.elapsed() < Duration::from_secs(10), "{:?}", waited.elapsed());
        assert!(threads() < 310, "{} threads in round {round}", threads());
        crowd.grow();
    }
    let all = crowd.end(&log, &stop);
    serving.join().expect("the server ends");
    log.lock().expect("log").check(all, began);
}
