//! An agent in one process: its listener and its starter, two threads of the test.

use narrows_control::agent::Agent;
use narrows_control::halves::Setup;
use narrows_control::key::Key;
use narrows_control::limits::Limits;
use narrows_control::listen;
use narrows_control::starter::{self, Lend};
use narrows_control::wire::Patience;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

/// An agent on a free port, within limits, whose workers are this program.
pub fn agent(
    address: Option<IpAddr>,
    key: &Key,
    binary: PathBuf,
    limits: Limits,
    patience: Patience,
) -> Agent {
    let (listening, _) = listen::open(address, 0).expect("listens");
    let (ours, theirs) = UnixStream::pair().expect("a socketpair");
    let setup = Setup { key: key.show(), limits: limits.clone(), patience, tells_sessions: true };
    let lend = Lend { binary, limits, bind: address, host: None, leave: None, tools: None };
    // It ends with the agent's end of the pair.
    thread::spawn(move || starter::serve(theirs, &setup, lend, &AtomicBool::new(false)));
    Agent::over(listening, ours).expect("set up")
}

/// Runs the tests of a binary that is its own worker, so that it has no harness: those whose names
/// hold the first word that it is told, all without one.
pub fn run_all(tests: &[(&str, fn())]) {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let chosen = tests.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| name.contains(w)));
    let mut passed = 0;
    for (name, test) in chosen {
        test();
        println!("test {name} ... ok");
        passed += 1;
    }
    println!("test result: ok. {passed} passed");
}
