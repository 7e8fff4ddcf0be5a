//! Each way to send and to receive over a real connection of this host, byte by byte.

use super::receivers::{self, In, RECEIVERS};
use super::senders::{self, Out, SENDERS};
use crate::harness::payload;
use crate::harness::socket::is_pause;
use socket2::Socket;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connects");
    let far = listener.accept().expect("a connection").0;
    for stream in [&near, &far] {
        stream.set_read_timeout(Some(LONG)).expect("a limit");
    }
    (near, far)
}

#[test]
fn every_sender_sends_the_bytes_of_its_place_and_tells_how_many() {
    let (message, span) = (2048, 8192);
    let pattern = payload::pattern(span, None).expect("a pattern");
    for kind in SENDERS {
        let (near, mut far) = pair();
        let flow = Socket::from(near);
        let out = Out { span, node: None, spins: false };
        let mut sender = (kind.make)(&flow, &out).unwrap_or_else(|why| panic!("{why}"));
        let mut calls = 0;
        for (at, length) in [(0, message), (message, message), (3 * message, 1000), (0, 1)] {
            let mut done = 0;
            while done < length {
                match sender.send(&flow, at + done, length - done) {
                    Ok(n) => {
                        assert!((1..=length - done).contains(&n), "{}: {n}", kind.name);
                        (done, calls) = (done + n, calls + 1);
                    }
                    Err(why) => assert!(is_pause(&why), "{}: {why}", kind.name),
                }
            }
            let mut came = vec![0; length];
            far.read_exact(&mut came).expect("as many as it told");
            assert!(came == pattern.bytes()[at..at + length], "{}: {length} at {at}", kind.name);
        }
        let told = sender.zero_copy(&flow);
        if kind.name == "zerocopy" {
            let told = told.expect("the kernel tells");
            // Over loopback it copies all the same.
            assert_eq!((told.completed, told.copied), (calls, calls));
        } else {
            assert_eq!(told, None, "{}", kind.name);
        }
        far.set_nonblocking(true).expect("a flag");
        assert!(far.read(&mut [0]).is_err_and(|why| is_pause(&why)), "{}: no more", kind.name);
    }
}

#[test]
fn every_receiver_takes_a_message_at_most_until_the_other_end_closes() {
    let pattern = payload::pattern(3000, None).expect("a pattern");
    let sent = &pattern.bytes()[..2500];
    for kind in RECEIVERS {
        let (near, mut far) = pair();
        far.write_all(sent).expect("sent");
        drop(far);
        let began = Instant::now();
        while near.peek(&mut vec![0; 3000]).expect("bytes") < 2500 {
            assert!(began.elapsed() < LONG);
        }
        let flow = Socket::from(near);
        let inward = In { message: 1000, span: 2000, node: None, spins: false };
        let mut receiver = (kind.make)(&inward).unwrap_or_else(|why| panic!("{why}"));
        let (mut looked, mut came, mut longest) = (Vec::new(), Vec::new(), 0);
        loop {
            let mut look = |bytes: &[u8]| {
                looked.extend_from_slice(bytes);
                longest = longest.max(bytes.len());
            };
            match receiver.receive(&flow, &mut look) {
                Ok(0) => break,
                Ok(n) => came.push(n),
                Err(why) => assert!(is_pause(&why), "{}: {why}", kind.name),
            }
        }
        assert_eq!(came.iter().sum::<usize>(), 2500, "{}: {came:?}", kind.name);
        // One takes all pieces that are there, each of a message at most.
        let most = if kind.name == "multishot" { 2500 } else { 1000 };
        assert!(longest <= 1000 && came.iter().all(|n| *n <= most), "{}: {came:?}", kind.name);
        if kind.name == "recv" {
            assert_eq!(came, [1000, 1000, 500]);
        }
        assert_eq!(looked, if kind.delivers { sent } else { &[] }, "{}", kind.name);
    }
}

#[test]
fn a_way_is_found_by_its_name_and_without_one_it_is_the_plain_one() {
    assert_eq!(senders::named(None).expect("one").name, "write");
    assert_eq!(receivers::named(None).expect("one").name, "recv");
    for kind in SENDERS {
        assert_eq!(senders::named(Some(kind.name)).expect("one").name, kind.name);
    }
    let why = senders::named(Some("recv")).err().map(|why| why.to_string());
    assert_eq!(why.as_deref(), Some("no TCP sender is called 'recv'"));
    let why = receivers::named(Some("write")).err().map(|why| why.to_string());
    assert_eq!(why.as_deref(), Some("no TCP receiver is called 'write'"));
}
