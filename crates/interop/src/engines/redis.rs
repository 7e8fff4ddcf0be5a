//! redis-benchmark: one client that stores a value and waits for the answer, again and again, as an
//! application does that hangs on latency.

use super::words::Takes;
use super::{Engine, Runs, options};
use narrows_model::trial::Trial;
use narrows_model::workload::{Transport, Workload};

/// Requests for each second of a window: the benchmark has no time, and a path of 100 us takes
/// about so many.
const REQUESTS_PER_SECOND: f64 = 10_000.0;

/// How Redis is called at both ends, and what it tells.
pub static ENGINE: Engine = Engine {
    name: "redis",
    program: |_| "redis-benchmark",
    server_program: Some("redis-server"),
    runs: Runs::ClientAndServer,
    package: "redis-server redis-tools",
    kinds: &[Workload::Latency(Transport::Tcp)],
    takes: &["length"],
    // Not Redis' own: nobody's store is written to, and none of this host's is in the way.
    port: 16379,
    // Whoever reaches the port may store and read values while a run lasts, and nothing else: no
    // configuration, no module, no script, no file.
    server: |_, port| {
        let port = port.to_string();
        let words = "--bind 0.0.0.0 --protected-mode no --appendonly no --maxmemory 64mb --user \
                     default on nopass allkeys nocommands +get +set +ping --port";
        let mut all: Vec<String> = words.split(' ').map(str::to_owned).collect();
        all.extend([port, "--save".into(), String::new()]);
        all
    },
    client: |trial, address, port| {
        let length = trial.params.message_bytes.0.to_string();
        let test = Some("set".to_owned());
        let mut all = (ENGINE.reach)(address, port);
        all.extend(options(&[("-t", test), ("-n", Some(requests(trial))), ("-d", Some(length))]));
        all
    },
    client_words: &[(Takes::Number, &["-n", "-d", "-r", "-k"]), (Takes::Name, &["-t"])],
    server_words: &[],
    reach: |address, port| {
        let (address, port) = (address.to_string(), port.to_string());
        let one = Some("1".to_owned());
        options(&[("-h", Some(address)), ("-p", Some(port)), ("-c", one)])
    },
};

fn requests(trial: &Trial) -> String {
    (trial.timeline.window_ns.seconds() * REQUESTS_PER_SECOND).ceil().max(1.0).to_string()
}
