//! iperf3.

use super::{Engine, flows, words};

/// The tool.
pub static ENGINE: Engine = Engine {
    name: "iperf3",
    program: |_| "iperf3",
    package: "iperf3",
    kinds: &["tcp-stream", "udp-stream"],
    port: 5201,
    server: |_, port| words(&[("-s", Some(String::new())), ("-p", Some(port.to_string()))]),
    client: |trial, address, port| {
        let congestion = trial.params.congestion.clone();
        let reverse = trial.params.is_reverse().then(String::new);
        let mut all = (ENGINE.reach)(address, port);
        all.extend(words(&flows(trial)));
        all.extend(words(&[("-C", congestion), ("-R", reverse)]));
        all
    },
    reach: |address, port| {
        let (address, port) = (address.to_string(), port.to_string());
        words(&[("-J", Some(String::new())), ("-c", Some(address)), ("-p", Some(port))])
    },
};
