//! `narrows mesh` among 512 agents that one process simulates: they speak the real protocol, and
//! move no data. What the controller takes of memory, open files and time is measured, and bounded.
//!
//! `NARROWS_AGENTS=128 NARROWS_ROUNDS=8 cargo test --test many_agents -- --nocapture` prints the
//! figures of as many agents and rounds of random matchings: docs/performance.md has some.

mod common;

use common::{err, folder, narrows, run};
use narrows_control::key::Key;
use narrows_control::offers::Offers;
use narrows_control::session::{Answer, Order};
use narrows_control::wire::{Reply, Request, Wire};
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_model::load::{EndReport, Role};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Agents of the test.
const AGENTS: usize = 512;
/// The most memory that the controller may take, in KiB: all of it, also what the last look at the
/// results takes.
const MEMORY_KIB_MAX: u64 = 1 << 20;
/// Files that the controller may have open for each agent, and beside these.
const FILES_EACH_MAX: usize = 2;
const FILES_BESIDE_MAX: usize = 64;
/// What shells allow a program to open, until it asks for more.
const FILES_SOFT: usize = 1024;

/// What all simulated agents have in common.
struct Simulated {
    key: Key,
    host: Host,
    /// What an end of each role once reported of a real run, so that results are as long as real
    /// ones.
    reports: BTreeMap<bool, EndReport>,
    /// Agents that are being spoken with.
    open: AtomicUsize,
    most: AtomicUsize,
}

impl Simulated {
    /// Listens on a port at all addresses of `lo`, each of which is an agent.
    fn listen(self: &Arc<Self>) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let all = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                let agent = thread::Builder::new().stack_size(256 << 10);
                agent.spawn(move || all.speak(stream)).expect("a thread");
            }
        });
        port
    }

    fn speak(&self, stream: TcpStream) {
        let now = self.open.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        let _ = self.session(stream);
        self.open.fetch_sub(1, SeqCst);
    }

    /// As an agent answers; no word of it on how it came to an end, which the controller causes.
    fn session(&self, stream: TcpStream) -> Option<()> {
        let mut wire = Wire::answer(stream, &self.key).ok()?;
        wire.hear_proof(Duration::from_secs(5)).ok()?;
        wire.voice().beat().ok()?;
        let (mut sends, mut window) = (false, Duration::ZERO);
        loop {
            let Some(request) = wire.receive::<Request>(Duration::from_secs(5)).ok()? else {
                wire.voice().beat().ok()?;
                continue;
            };
            let (order, worker) = match request {
                Request::Describe => {
                    let host = Box::new(self.host.clone());
                    wire.send(&Reply::Host { host, offers: Offers::own() }).ok()?;
                    continue;
                }
                Request::Start { .. } => {
                    wire.send(&Reply::Started).ok()?;
                    continue;
                }
                Request::Order { order, worker } => (order, worker),
                Request::Tool { .. } | Request::Stop => continue,
            };
            let answer = match order {
                Order::Prepare { job } => {
                    sends = job.end == Role::Sender;
                    window = Duration::from_nanos(job.timeline.window_ns.0);
                    Answer::Prepared { ports: if sends { vec![] } else { vec![5001] } }
                }
                Order::Arm { .. } => Answer::Armed,
                Order::Go { .. } => {
                    thread::sleep(window);
                    Answer::Closed
                }
                Order::Release | Order::GoUntilTold => {
                    Answer::Finished { report: Box::new(self.reports[&sends].clone()) }
                }
            };
            wire.send(&Reply::Answer { answer, worker }).ok()?;
        }
    }
}

/// What both ends of a real run report.
fn reports(dir: &std::path::Path) -> BTreeMap<bool, EndReport> {
    let agent = common::serve(&["env"], &[]);
    let mut tcp = narrows();
    tcp.args(["tcp", "127.0.0.1", "-p", &agent.port.to_string(), "-t", "0.2", "--repeats", "1"]);
    let ran = run(tcp.arg("--out").arg(dir).env("NARROWS_KEY", &agent.key));
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let stored = narrows_store::read(&common::study(dir)).expect("a study");
    let reports = stored.records.iter().flat_map(|record| &record.reports);
    reports.map(|one| (one.role == Role::Sender, (*one.report).clone())).collect()
}

/// What the controller took.
#[derive(Debug, Default)]
struct Took {
    memory_kib: u64,
    files: usize,
    threads: usize,
    seconds: f64,
}

/// The most of each that a process had, until it ends, and what it printed.
fn watched(child: &mut Child) -> (Took, String) {
    let began = Instant::now();
    let mut took = Took::default();
    let mut pipe = child.stdout.take().expect("stdout");
    let printed = thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text).expect("text")
    });
    let of = |name: &str| format!("/proc/{}/{name}", child.id());
    let [status, files] = ["status", "fd"].map(of);
    while child.try_wait().expect("wait").is_none() {
        let told = fs::read_to_string(&status).unwrap_or_default();
        let number = |key: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0");
            line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        took.memory_kib = took.memory_kib.max(number("VmHWM:"));
        took.threads = took.threads.max(number("Threads:") as usize);
        took.files = took.files.max(fs::read_dir(&files).map_or(0, Iterator::count));
        assert!(began.elapsed() < Duration::from_secs(300), "still running: {took:?}");
        thread::sleep(Duration::from_millis(10));
    }
    took.seconds = began.elapsed().as_secs_f64();
    (took, printed.join().expect("reader"))
}

fn asked(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_controller_of_512_agents_takes_less_than_a_gibibyte() {
    let (agents, rounds) = (asked("NARROWS_AGENTS").unwrap_or(AGENTS), asked("NARROWS_ROUNDS"));
    let (dir, real) = (folder("many-agents"), folder("many-agents-real"));
    let simulated = Arc::new(Simulated {
        key: Key::random().expect("a key"),
        host: narrows_host::read(&Root::live()),
        reports: reports(&real),
        open: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
    });
    let port = simulated.listen().to_string();
    let names = (0..agents).map(|n| format!("127.7.{}.{}", n / 250, n % 250 + 1));
    // As a shell starts it: with 1024 files until it asks for more.
    let mut mesh = Command::new("sh");
    mesh.args(["-c", &format!("ulimit -Sn {FILES_SOFT}; exec \"$0\" \"$@\"")]);
    mesh.arg(env!("CARGO_BIN_EXE_narrows")).arg("mesh").args(names).args(["-p", &port]);
    mesh.args(["-t", "0.2", "--once", "-J", "--out"]).arg(&dir);
    match rounds {
        Some(rounds) => mesh.args(["--pairs", "bisection", "--rounds", &rounds.to_string()]),
        None => mesh.args(["--pairs", "quick"]),
    };
    mesh.env("NARROWS_KEY", simulated.key.show());
    let mut child = mesh.stdout(Stdio::piped()).spawn().expect("narrows");
    let (took, printed) = watched(&mut child);
    let file = common::study(&dir);
    let bytes = fs::metadata(&file).expect("file").len();
    let stored = narrows_store::read(&file).expect("a study").records.len();
    println!(
        "{agents} agents: {} MiB, {} files, {} threads, {:.1} s; {stored} runs in {} KiB",
        took.memory_kib >> 10,
        took.files,
        took.threads,
        took.seconds,
        bytes >> 10
    );
    let json: Value = serde_json::from_str(&printed).expect("JSON");
    let gone = json["gone"].as_array().expect("a list");
    assert!(gone.iter().all(Value::is_null), "{gone:?}");
    let cells = json["mesh"]["cells"].as_array().expect("cells");
    assert!(cells.iter().all(|cell| cell["looks"][0]["value"].is_f64()));
    if rounds.is_none() {
        // Each host of one half with one of the other, both ways.
        assert_eq!((cells.len(), stored), (agents / 2 * 2, agents / 2 * 2));
    }
    assert_eq!(simulated.most.load(SeqCst), agents, "all were spoken with at once");
    assert!(took.memory_kib < MEMORY_KIB_MAX, "{took:?}");
    assert!(took.files <= FILES_EACH_MAX * agents + FILES_BESIDE_MAX, "{took:?}");
}
