//! A controller or an agent whose link goes down: the other side notices within its patience. Needs
//! root, for the namespaces.

mod common;

use narrows_control::agent::Event;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::wire::Patience;
use narrows_control::{ControlError, Peer};
use narrows_hostctl::namespaces::Namespaces;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Short, and still ten beats long.
const PATIENCE: Patience = Patience {
    beat_every: Duration::from_millis(200),
    silent_max: Duration::from_secs(2),
    excused_max: Duration::from_secs(2),
};
/// No slowness of a loaded machine reaches this.
const LONG: Duration = Duration::from_secs(60);

fn enter(namespace: &str) {
    let file = File::open(namespace).expect("namespace");
    setns(file, CloneFlags::CLONE_NEWNET).expect("entered");
}

fn set_link(namespace: &str, device: &str, state: &str) {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={namespace}")).args(["ip", "link", "set", device, state]);
    assert!(command.status().expect("ip").success());
}

/// Asks until the peer is noticed to be gone.
fn notices(peer: &mut Peer) -> String {
    let began = Instant::now();
    loop {
        match peer.describe() {
            Err(why @ ControlError::Vanished { .. }) => return why.to_string(),
            other => assert!(began.elapsed() < LONG, "{:?}", other.map(|_| "still there")),
        }
    }
}

#[test]
fn who_vanishes_with_its_link_is_noticed_by_the_other_side_and_blocks_nobody() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: who_vanishes_with_its_link: needs root for namespaces");
        return;
    }
    let pair = Namespaces::make().expect("namespaces");
    let (agents, controllers) = (pair.receiver_path(), pair.sender_path());
    set_link(&agents, "lo", "up");
    let key = Key::random().expect("key");
    let stop = Arc::new(AtomicBool::new(false));
    let (say, said) = channel();
    let (log, logged) = channel();
    let (own, namespace, ended) = (key.clone(), agents.clone(), stop.clone());
    let serving = thread::spawn(move || {
        enter(&namespace);
        let limits = Limits::default();
        let agent = common::agent(None, &own, "/nonexistent".into(), limits, PATIENCE);
        say.send(agent.port()).expect("port");
        agent.serve(&ended, move |event| {
            if let Event::TurnedAway(why) = event {
                let _ = log.send(why);
            }
        });
    });
    let port = said.recv_timeout(LONG).expect("port");
    let call = |namespace: String, host: &'static str| {
        let key = key.clone();
        thread::spawn(move || {
            enter(&namespace);
            let mut peer = Peer::connect_with(host, port, None, &key, PATIENCE)?;
            peer.describe()?;
            Ok::<_, ControlError>(peer)
        })
    };
    let far = call(controllers, "198.51.100.1").join().expect("thread");
    let mut far = far.expect("a controller");
    // Nobody asks anything for longer than the patience: beats keep the session.
    thread::sleep(PATIENCE.silent_max + Duration::from_secs(1));
    far.describe().expect("still there");
    let busy = call(agents.clone(), "127.0.0.1").join().expect("thread");
    assert!(matches!(busy, Err(ControlError::Declined(_))), "{:?}", busy.err());
    set_link(&agents, "narrows0", "down");
    let why = logged.recv_timeout(LONG).expect("the agent notices");
    assert!(why.contains("vanished: silent for 2s"), "{why}");
    assert!(call(agents, "127.0.0.1").join().expect("thread").is_ok(), "it is free again");
    let why = notices(&mut far);
    assert!(why.contains("vanished: silent for 2s"), "{why}");
    stop.store(true, SeqCst);
    serving.join().expect("the agent ends");
}
