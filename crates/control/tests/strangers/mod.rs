//! Strangers at a server, silent and chattering, more than it has room for, and its log.

use narrows_control::events::Event;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// More than any server has room for.
const SILENT: usize = 700;

/// Counted: lines of the log, events that they stand for, and those that were served.
#[derive(Default)]
pub struct Log {
    pub lines: u64,
    pub events: u64,
    pub served: u64,
}

/// A log that a server's thread writes.
pub type Shared = Arc<Mutex<Log>>;

pub fn noted(log: &Mutex<Log>, event: &Event) {
    let mut log = log.lock().expect("log");
    log.lines += 1;
    match event {
        Event::LeftOut { count, .. } => log.events += count,
        Event::Session(_) => (log.served, log.events) = (log.served + 1, log.events + 1),
        _ => log.events += 1,
    }
}

/// Says something that is no key and asks for nothing, and connects again.
fn chatter(at: SocketAddr, said: &[u8], stop: &AtomicBool, made: &AtomicU64) {
    let mut held = Vec::new();
    while !stop.load(SeqCst) {
        if let Ok(mut stream) = TcpStream::connect_timeout(&at, Duration::from_secs(1)) {
            let _ = stream.write_all(said);
            made.fetch_add(1, SeqCst);
            held.push(stream);
        }
        if held.len() > 100 {
            held.remove(0);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

pub fn threads() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:")).expect("threads");
    line.trim().parse().expect("a number")
}

pub fn allow_descriptors() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("limit");
    setrlimit(Resource::RLIMIT_NOFILE, most.min(8192), most).expect("descriptors");
}

/// All strangers at one server.
pub struct Crowd {
    at: SocketAddr,
    silent: Vec<TcpStream>,
    silence: Arc<AtomicBool>,
    made: Arc<AtomicU64>,
    chatterers: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// Lets them come: silent ones, and a thread for each of what can be said.
    pub fn at(at: SocketAddr, said: [Vec<u8>; 3]) -> Self {
        let silent = (0..SILENT).map(|_| TcpStream::connect(at).expect("taken by the kernel"));
        let silent = silent.collect();
        let (silence, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let chatterers = said.map(|said| {
            let (silence, made) = (silence.clone(), made.clone());
            thread::spawn(move || chatter(at, &said, &silence, &made))
        });
        thread::sleep(Duration::from_millis(500));
        Self { at, silent, silence, made, chatterers: chatterers.into() }
    }

    /// Thirty more that say nothing.
    pub fn grow(&mut self) {
        self.silent.extend((0..30).filter_map(|_| TcpStream::connect(self.at).ok()));
    }

    /// Silences those that chatter, and waits until the server has taken those that still wait in
    /// the kernel and only those stand that it may hold; how many there were.
    pub fn end(self, log: &Mutex<Log>, stop: &AtomicBool) -> u64 {
        self.silence.store(true, SeqCst);
        self.chatterers.into_iter().for_each(|thread| thread.join().expect("a chatterer"));
        let all = self.made.load(SeqCst) + SILENT as u64;
        let wait = Instant::now();
        let told = || log.lock().expect("log").events;
        while told() + 600 < all && wait.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, SeqCst);
        all
    }
}

impl Log {
    /// The log stayed short, and what was left out was counted: all but those that still stood.
    pub fn check(&self, all: u64, began: Instant) {
        let seconds = began.elapsed().as_secs() + 2;
        assert!(self.lines <= 30 * seconds, "{} lines in {seconds} s", self.lines);
        assert!(self.served >= 1);
        assert!(self.events + 600 >= all, "{} of {all} were told of", self.events);
        assert!(self.events > 2 * self.lines, "{} events, {} lines", self.events, self.lines);
    }
}
