//! Each way to send and to receive datagrams over loopback, datagram by datagram.

use super::receivers::{self, In, RECEIVERS};
use super::senders::{self, SENDERS};
use crate::harness::socket::{is_pause, set_int};
use socket2::Socket;
use std::net::UdpSocket;
use std::time::Duration;

/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);

fn pair() -> (UdpSocket, UdpSocket) {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    for (one, other) in [(&near, &far), (&far, &near)] {
        one.connect(other.local_addr().expect("an address")).expect("connects");
        one.set_read_timeout(Some(LONG)).expect("a limit");
    }
    (near, far)
}

/// Datagrams one after the other, each of its number alone.
fn datagrams(count: u8, message: usize) -> Vec<u8> {
    (1..=count).flat_map(|number| vec![number; message]).collect()
}

#[test]
fn every_sender_cuts_its_bytes_into_datagrams_and_tells_how_many() {
    let message = 100;
    let batches = SENDERS.iter().map(|kind| (kind.name, (kind.batch)(message)));
    let batches: Vec<(&str, usize)> = batches
        .map(|(name, batch)| (name, if name == "gso" { batch.min(64) } else { batch }))
        .collect();
    assert_eq!(batches, [("gso", 64), ("io_uring", 32), ("send", 1), ("sendmmsg", 32)]);
    for (kind, (name, batch)) in SENDERS.iter().zip(batches) {
        let (near, far) = pair();
        let flow = Socket::from(near);
        let mut sender = (kind.make)(&flow, message).unwrap_or_else(|why| panic!("{why}"));
        let bytes = datagrams(batch.min(20) as u8, message);
        let sent = sender.send(&flow, &bytes, message).expect("sent");
        assert_eq!(sent, batch.min(20), "{name}");
        let mut heard = [0; 200];
        for number in 1..=sent as u8 {
            let length = far.recv(&mut heard).expect("as many as it told");
            assert_eq!(heard[..length], vec![number; message], "{name}");
        }
        far.set_nonblocking(true).expect("a flag");
        assert!(far.recv(&mut heard).is_err_and(|why| is_pause(&why)), "{name}: no more");
    }
}

#[test]
fn every_receiver_gives_each_datagram_by_itself() {
    for kind in RECEIVERS {
        let (near, far) = pair();
        let flow = Socket::from(near);
        let inward = In { message: 100, node: None, spins: false };
        let mut receiver = (kind.make)(&flow, &inward).unwrap_or_else(|why| panic!("{why}"));
        let sent: Vec<Vec<u8>> = [(1, 100), (2, 100), (3, 1), (4, 101), (5, 100)]
            .map(|(n, length)| vec![n; length])
            .into();
        for datagram in &sent {
            far.send(datagram).expect("sent");
        }
        let mut came: Vec<Vec<u8>> = Vec::new();
        while came.len() < sent.len() {
            match receiver.receive(&flow, &mut |bytes| came.push(bytes.to_vec())) {
                Ok(()) => {}
                Err(why) => assert!(is_pause(&why), "{}: {why}", kind.name),
            }
        }
        assert_eq!(came, sent, "{}", kind.name);
        // One that is far longer than was ordered is not taken for the right one.
        far.send(&[9; 1000]).expect("sent");
        let mut long = 0;
        while long == 0 {
            let _ = receiver.receive(&flow, &mut |bytes| long = bytes.len());
        }
        assert!(long > 100, "{}: {long}", kind.name);
    }
}

#[test]
fn what_the_kernel_joined_is_taken_apart_by_its_size() {
    let kind = receivers::named(Some("gro")).expect("it is there");
    let (near, far) = pair();
    let (flow, far) = (Socket::from(near), Socket::from(far));
    let mut receiver = (kind.make)(&flow, &In { message: 100, node: None, spins: false })
        .unwrap_or_else(|why| panic!("{why}"));
    set_int(&far, libc::SOL_UDP, libc::UDP_SEGMENT, 100).expect("segments");
    far.send(&[datagrams(2, 100), vec![3; 50]].concat()).expect("sent");
    let mut lengths = Vec::new();
    while lengths.iter().sum::<usize>() < 250 {
        receiver.receive(&flow, &mut |bytes| lengths.push(bytes.len())).expect("received");
    }
    assert_eq!(lengths, [100, 100, 50]);
}

#[test]
fn one_that_spins_waits_for_nothing() {
    let kind = receivers::named(Some("recvmmsg")).expect("it is there");
    let (near, _far) = pair();
    let flow = Socket::from(near);
    let mut receiver = (kind.make)(&flow, &In { message: 100, node: None, spins: true })
        .unwrap_or_else(|why| panic!("{why}"));
    let none = receiver.receive(&flow, &mut |_| panic!("nothing was sent"));
    assert!(none.is_err_and(|why| is_pause(&why)));
    assert_eq!(senders::named(None).expect("one").name, "send");
    assert_eq!(receivers::named(None).expect("one").name, "recv");
    let why = senders::named(Some("recv")).err().map(|why| why.to_string());
    assert_eq!(why.as_deref(), Some("no UDP sender is called 'recv'"));
    let why = receivers::named(Some("send")).err().map(|why| why.to_string());
    assert_eq!(why.as_deref(), Some("no UDP receiver is called 'send'"));
}
