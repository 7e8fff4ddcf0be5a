//! Strangers without the key, silent and chattering, more than an agent has room for: a controller
//! with the key gets in all the same, from the same address too, and the log stays short.

mod common;
mod strangers;

use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::wire::Patience;
use narrows_control::{ControlError, Peer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use strangers::{Crowd, Shared, allow_descriptors, noted, threads};

/// What a stranger can say: the start of a hello, a whole one, or one and a large frame.
const SAID: [&[u8]; 3] =
    [b"NRRW", b"NRRW\0\0\0\x04", b"NRRW\0\0\0\x04\xff\xffxxxxxxxxxxxxxxxxxxxxxxxx"];

#[test]
fn strangers_keep_out_nobody_who_has_the_key() {
    allow_descriptors();
    let key = Key::random().expect("key");
    let here = [127, 0, 0, 1].into();
    let (limits, patience) = (Limits::default(), Patience::default());
    let agent = common::agent(Some(here), &key, "/nonexistent".into(), limits, patience);
    let at = SocketAddr::new(here, agent.port());
    let (stop, log) = (Arc::new(AtomicBool::new(false)), Shared::default());
    let began = Instant::now();
    let (until, own) = (stop.clone(), log.clone());
    let serving = thread::spawn(move || agent.serve(&until, move |event| noted(&own, &event)));
    let mut crowd = Crowd::at(at, SAID.map(<[u8]>::to_vec));
    for round in 0..10 {
        let mut peer = Peer::connect("127.0.0.1", at.port(), None, &key).expect("it gets in");
        peer.describe().expect("and is served");
        assert!(threads() < 310, "{} threads in round {round}", threads());
        drop(peer);
        // Until the agent has noticed that it left.
        let wait = Instant::now();
        crowd.grow();
        thread::sleep(Duration::from_millis(60));
        assert!(wait.elapsed() < Duration::from_secs(60));
    }
    let wrong = Peer::connect("127.0.0.1", at.port(), None, &Key::random().expect("key"));
    assert!(
        matches!(wrong, Err(ControlError::HungUp { .. } | ControlError::Refused { .. })),
        "{:?}",
        wrong.err()
    );
    let all = crowd.end(&log, &stop);
    serving.join().expect("the agent ends");
    log.lock().expect("log").check(all, began);
}
