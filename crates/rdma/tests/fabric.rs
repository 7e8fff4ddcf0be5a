//! Endpoints of libfabric over TCP of this host: what arrives, and what is refused. Where libfabric
//! is not installed, each test says `skipped`.

mod common;

use common::Plain;
use narrows_rdma::fabric::{Asked, Endpoint, Info, Size, providers};
use narrows_rdma::{Completion, Remote, Verb, Work};
use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const BYTES: usize = 4096;
const TAG: u64 = 0x7461_6773;

/// Two endpoints that know each other; the second tag is the far end's.
fn pair(test: &str, tagged: bool, far_tag: u64) -> Option<[Endpoint<Plain>; 2]> {
    if providers(Some("tcp")).unwrap_or_default().is_empty() {
        // One write: lines of other tests go between two.
        let text = format!("skipped: {test}: no provider tcp of libfabric\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
        return None;
    }
    let open = |fill: u8, tag: u64, key: u64| {
        let own = Ipv4Addr::LOCALHOST.into();
        let provider = Some("tcp");
        let asked = Asked { provider, domain: None, own, tagged, delivered: !tagged };
        let info = Info::find(&asked).expect("provider");
        assert!(info.provider().is_software());
        let size = Size { sends: 4, receives: 4, sleeps: false };
        Endpoint::new(info, Plain(vec![fill; BYTES]), size, key, tag).expect("endpoint")
    };
    let (mut near, mut far) = (open(7, TAG, 0x1111), open(0, far_tag, 0x2222));
    near.join(&far.name().expect("name")).expect("near knows far");
    far.join(&near.name().expect("name")).expect("far knows near");
    Some([near, far])
}

fn work(end: &mut Endpoint<Plain>, verb: Verb, remote: Remote) -> Work {
    Work {
        verb,
        id: 42,
        address: end.address(),
        length: BYTES as u32,
        local_key: 0,
        remote,
        signaled: true,
        inline: false,
    }
}

/// Does something while the far end calls its library, without which nothing moves; what the far
/// end got.
fn attended<T>(far: &mut Endpoint<Plain>, work: impl FnOnce() -> T) -> (T, Option<Completion>) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let far = scope.spawn(|| {
            let (mut done, mut got) = ([Completion::default(); 1], None);
            while !over.load(Ordering::Relaxed) {
                if far.poll(&mut done).expect("far") > 0 {
                    got = Some(done[0]);
                }
            }
            got
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (done, far.join().expect("far"))
    })
}

/// Posts a request and waits for its completion.
fn ask(near: &mut Endpoint<Plain>, request: Work, most: Duration) -> Option<Completion> {
    near.post(&[request]).expect("post");
    let deadline = Instant::now() + most;
    let mut done = [Completion::default(); 1];
    while Instant::now() < deadline {
        if near.poll(&mut done).expect("near") > 0 {
            return Some(done[0]);
        }
    }
    None
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn what_is_written_and_read_is_there() {
    let Some([mut near, mut far]) = pair("what_is_written_and_read", false, TAG) else { return };
    let remote = far.lent();
    let request = work(&mut near, Verb::Write, remote);
    let (done, _) = attended(&mut far, || ask(&mut near, request, LONG));
    let done = done.expect("completed");
    assert_eq!((done.failed(), done.id, done.arrived), (None, 42, false));
    assert_eq!(far.memory().byte(BYTES - 1), 7);
    far.memory().set_byte(5, 9);
    let request = work(&mut near, Verb::Read, remote);
    let (done, _) = attended(&mut far, || ask(&mut near, request, LONG));
    assert_eq!(done.expect("completed").failed(), None);
    assert_eq!(near.memory().byte(5), 9);
}

#[test]
fn a_wrong_key_and_memory_beyond_the_end_are_refused() {
    let Some([mut near, mut far]) = pair("a_wrong_key", false, TAG) else { return };
    let lent = far.lent();
    let inside = work(&mut near, Verb::Write, lent);
    for (offset, length) in [(1, BYTES as u32), (BYTES as u64, 1), (0, u32::MAX)] {
        let beyond = Work { address: inside.address.wrapping_add(offset), length, ..inside };
        assert!(near.post(&[beyond]).is_err(), "{offset} {length}");
    }
    let before = Work { address: inside.address - 1, length: 1, ..inside };
    assert!(near.post(&[before]).is_err());
    assert!(near.post_receive(0, inside.address + 1, BYTES as u32).is_err());
    let wrong = Work { remote: Remote { key: lent.key ^ 0xff00, ..lent }, ..inside };
    let (done, _) = attended(&mut far, || ask(&mut near, wrong, Duration::from_secs(3)));
    let went_well = done.is_some_and(|done| done.failed().is_none());
    assert!(!went_well, "a write with a wrong key");
    assert_eq!(far.memory().byte(0), 0, "it changed memory");
}

#[test]
fn messages_with_another_tag_are_not_taken() {
    for (far_tag, arrives) in [(TAG, true), (TAG + 1, false)] {
        let Some([mut near, mut far]) = pair("messages_with_another_tag", true, far_tag) else {
            return;
        };
        let at = far.address();
        far.post_receive(3, at, BYTES as u32).expect("room");
        let request = work(&mut near, Verb::Send, Remote::default());
        let (_, got) = attended(&mut far, || {
            let done = ask(&mut near, request, LONG);
            thread::sleep(Duration::from_secs(1));
            done
        });
        assert_eq!(got.map(|got| (got.id, got.bytes)), arrives.then_some((3, BYTES as u32)));
        assert_eq!(far.memory().byte(0), if arrives { 7 } else { 0 });
    }
}
