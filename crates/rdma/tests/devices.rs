//! Queue pairs of real devices: what arrives, and what a NIC refuses. Where no RDMA device is, each
//! test says `skipped`; lab/rdma runs them on rxe and siw.

mod common;

use common::Plain;
use narrows_rdma::verbs::cm::{Half, Listener};
use narrows_rdma::verbs::{
    Access, Device, Domain, Kind, QueuePair, Region, Route, Size, Transport, devices,
};
use narrows_rdma::{Completion, Remote, Verb, Work};
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Past the test harness, which hides what passing tests print.
fn skip(test: &str, why: &str) {
    // One write: lines of other tests go between two.
    let _ = std::io::stderr().write_all(format!("skipped: {test}: {why}\n").as_bytes());
}

const BYTES: usize = 4096;
const SIZE: Size = Size { sends: 4, receives: 4, inline_bytes: 0, events: true };
const ALL: Access =
    Access { write: true, read: true, atomic: true, lands_reads: true, relaxed: false };

/// Ports of devices that queue pairs can find each other on by what they are told.
fn ports(test: &str) -> Vec<(Arc<Domain>, u8, u8)> {
    let mut found = Vec::new();
    for name in devices().unwrap_or_default() {
        let Ok(device) = Device::open(&name) else { continue };
        let domain = Domain::new(device).expect("domain");
        if domain.transport() != Transport::InfiniBand {
            continue;
        }
        let gids = domain.gids(1).expect("gids");
        let gid = gids.iter().find(|gid| gid.address().is_ipv4()).or(gids.first());
        let index = gid.map_or(0, |gid| gid.index);
        if domain.port(1).is_ok_and(|port| port.is_active) {
            found.push((domain, 1, index));
        }
    }
    if found.is_empty() {
        skip(test, "no RDMA device");
    }
    found
}

struct End {
    qp: QueuePair,
    region: Region<Plain>,
}

/// Two ends on one port that know each other.
fn pair(domain: &Arc<Domain>, port: u8, gid_index: u8, access: Access) -> (End, End) {
    let path = Route { port, gid_index, mtu_bytes: 1024, ..Route::default() };
    let end = |fill: u8| End {
        qp: QueuePair::new(domain, Kind::Rc, &SIZE, port).expect("queue pair"),
        region: Region::new(domain, Plain(vec![fill; BYTES]), access).expect("memory"),
    };
    let (mut near, mut far) = (end(7), end(0));
    let (a, b) = (near.qp.address(&path).expect("near"), far.qp.address(&path).expect("far"));
    near.qp.join(&a, &b, &path).expect("join");
    far.qp.join(&b, &a, &path).expect("join");
    (near, far)
}

/// What became of one request.
fn done(end: &mut End, work: Work) -> Option<String> {
    end.qp.post(&[work]).expect("post");
    finish(&mut end.qp)
}

fn finish(qp: &mut QueuePair) -> Option<String> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut taken = [Completion::default(); 1];
    while Instant::now() < deadline {
        if qp.completions.poll(&mut taken).expect("poll") == 1 {
            return taken[0].failed();
        }
        thread::yield_now();
    }
    panic!("no completion in time")
}

fn work(end: &mut End, verb: Verb, remote: Remote) -> Work {
    Work {
        id: 0,
        verb,
        address: end.region.address(),
        length: if verb == Verb::FetchAdd { 8 } else { BYTES as u32 },
        local_key: end.region.local_key(),
        remote,
        signaled: true,
        inline: false,
    }
}

fn memory_of(end: &mut End) -> Remote {
    Remote { address: end.region.address(), key: end.region.remote_key().into() }
}

#[test]
fn what_is_written_arrives_and_is_read_back() {
    for (domain, port, gid) in ports("what_is_written_arrives") {
        let (mut near, mut far) = pair(&domain, port, gid, ALL);
        let remote = memory_of(&mut far);
        let write = work(&mut near, Verb::Write, remote);
        assert_eq!(done(&mut near, write), None);
        let mut seen = vec![0; BYTES];
        far.region.memory().copy(0, &mut seen);
        assert!(seen.iter().all(|byte| *byte == 7), "every byte arrived");
        far.region.memory().set_byte(5, 9);
        let read = work(&mut near, Verb::Read, remote);
        assert_eq!(done(&mut near, read), None);
        assert_eq!(near.region.memory().byte(5), 9);
        // One is added to the first eight bytes, taken as a number: the lowest byte goes from 7 to
        // 8.
        let add = work(&mut near, Verb::FetchAdd, remote);
        assert_eq!(done(&mut near, add), None);
        assert_eq!(far.region.memory().byte(0), 8);
    }
}

#[test]
fn a_wrong_key_and_memory_that_is_not_lent_are_refused() {
    for (domain, port, gid) in ports("a_wrong_key_is_refused") {
        for what in ["key", "end"] {
            let (mut near, mut far) = pair(&domain, port, gid, ALL);
            let right = memory_of(&mut far);
            let remote = match what {
                "key" => Remote { key: right.key ^ 0x5500, ..right },
                _ => Remote { address: right.address + 1, ..right },
            };
            let write = work(&mut near, Verb::Write, remote);
            let why = done(&mut near, write).unwrap_or_else(|| panic!("{what} was not refused"));
            assert!(why.contains("remote"), "{what}: {why}");
            let mut seen = vec![1; BYTES];
            far.region.memory().copy(0, &mut seen);
            assert!(seen.iter().all(|byte| *byte == 0), "{what}: nothing was written");
        }
        // What may be written may not be read for that.
        let (mut near, mut far) =
            pair(&domain, port, gid, Access { write: true, ..Access::default() });
        let remote = memory_of(&mut far);
        let read = work(&mut near, Verb::Read, remote);
        assert!(done(&mut near, read).is_some_and(|why| why.contains("remote")));
    }
}

#[test]
fn the_connection_manager_lets_in_who_says_the_words() {
    let told = std::env::var("NARROWS_RDMA_ADDRESSES").unwrap_or_default();
    let addresses: Vec<IpAddr> = told.split_whitespace().filter_map(|at| at.parse().ok()).collect();
    if addresses.is_empty() {
        skip("the_connection_manager", "no RDMA device in NARROWS_RDMA_ADDRESSES");
    }
    for address in addresses {
        let door = Listener::bind(SocketAddr::new(address, 0)).expect("door");
        let to = SocketAddr::new(address, door.port().expect("port"));
        let deadline = Instant::now() + Duration::from_secs(20);
        let strangers = thread::spawn(move || {
            let say = |words: &[u8]| {
                let half = Half::to(to, None, 0).expect("way");
                let qp = half.queue_pair(Kind::Rc, &SIZE).expect("queue pair");
                (half.connect(words, deadline), qp)
            };
            let refused = say(b"let me in").0.expect_err("a stranger").to_string();
            assert!(refused.to_lowercase().contains("reject"), "{refused}");
            say(b"sesame").0.expect("a friend");
        });
        let half = door.accept(b"sesame", deadline).expect("a friend comes");
        let _qp = half.queue_pair(Kind::Rc, &SIZE).expect("queue pair");
        half.accept(deadline).expect("let in");
        strangers.join().expect("strangers");
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let Ok(known) = devices() else {
        skip("a_device_that_is_not_there", "no RDMA device could be looked for");
        return;
    };
    let Err(error) = Device::open("mlx5_77") else { panic!("opened") };
    assert!(error.to_string().contains("mlx5_77"), "{error}");
    assert!(known.iter().all(|name| error.to_string().contains(name)), "{error}");
}
