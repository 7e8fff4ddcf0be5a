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
