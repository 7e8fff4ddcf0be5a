//! redis-benchmark: requests of some clients, each of which waits for its answer.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of redis-benchmark is recognised and read.
pub static TOOL: Tool = Tool { name: "redis", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains(" parallel clients") && text.contains("throughput summary: ")
}

/// One run a command. The percentiles of its histogram are 8 us apart below a millisecond, too
/// coarse for a fast path; clients that wait for each answer take clients / rate for one, so that
/// is the figure that counts.
fn parse(text: &str) -> Result<Output, Unusable> {
    // The line of its progress is overwritten.
    let text = text.replace('\r', "\n");
    let sections = text.split("====== ").skip(1);
    let runs = sections.filter_map(|section| {
        let (command, rest) = section.split_once(" ======")?;
        Some(run(command, rest))
    });
    nothing(runs.collect(), None)
}

fn run(command: &str, text: &str) -> Run {
    let clients = before(text, " parallel clients");
    let bytes = before(text, " bytes payload");
    let rate = before(text, " requests per second");
    let each = clients.zip(rate).map(|(clients, rate)| clients * 1e9 / rate);
    let [_, _, median, _, most, longest] = latencies(text);
    let mut run = Run::new("tcp-latency");
    run = run.level("command", command);
    for (name, value) in [("clients", clients), ("message size", bytes)] {
        if let Some(value) = value {
            run = run.level(name, value);
        }
    }
    run.figure("average request", each, Unit::Nanos)
        .figure("median request", nanos(median), Unit::Nanos)
        .figure("99 % of requests", nanos(most), Unit::Nanos)
        .figure("longest request", nanos(longest), Unit::Nanos)
        .figure("requests", rate, Unit::PerSecond)
}

fn nanos(ms: Option<f64>) -> Option<f64> {
    ms.map(|ms| ms * 1e6)
}

/// The number that stands before these words.
fn before(text: &str, words: &str) -> Option<f64> {
    text.split_once(words)?.0.split_whitespace().next_back()?.parse().ok()
}

/// Average, least, median, 95 %, 99 % and most of the latencies, in ms.
fn latencies(text: &str) -> [Option<f64>; 6] {
    let line = text.split_once("latency summary (msec):").and_then(|(_, rest)| {
        let mut lines = rest.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.find(|line| line.starts_with("avg ")).and_then(|_| lines.next())
    });
    let mut numbers = line.unwrap_or_default().split_whitespace().map(|word| word.parse().ok());
    std::array::from_fn(|_| numbers.next().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = "SET: rps=0.0 (overall: 91324.2) avg_msec=0.007 (overall: 0.007)\r\
        ====== SET ======\n  20000 requests completed in 0.58 seconds\n  4 parallel clients\n  \
        64 bytes payload\n  keep alive: 1\n\nSummary:\n  throughput summary: 50000.00 requests \
        per second\n  latency summary (msec):\n          avg       min       p50       p95       \
        p99       max\n        0.028     0.000     0.007     0.015     0.047     9.383\n\n";

    #[test]
    fn a_request_takes_what_its_clients_wait() {
        assert!(recognises(SET));
        let get = SET.replace("SET", "GET").replace("50000.00", "nan");
        let output = parse(&format!("{SET}{get}")).expect("two runs");
        let of = |at: usize| {
            let levels = output.runs[at].levels.iter();
            levels.map(|one| format!("{}={}", one.factor, one.level)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(0), "command=SET clients=4 message size=64");
        let figures = output.runs[0].figures.iter();
        let figures: Vec<(&str, f64)> = figures.map(|f| (f.name.as_str(), f.value)).collect();
        assert_eq!(
            figures,
            [
                ("average request", 80_000.0),
                ("median request", 7000.0),
                ("99 % of requests", 47_000.0),
                ("longest request", 9_383_000.0),
                ("requests", 50_000.0)
            ]
        );
        assert!(output.runs[1].failed.is_some(), "a rate that is no number");
    }

    #[test]
    fn what_ended_before_its_summary_is_no_run() {
        let cut = SET.split("Summary").next().expect("a part");
        let output = parse(cut).expect("a run that failed");
        assert!(output.runs[0].failed.is_some());
        assert!(parse("Could not connect to Redis at 192.0.2.1:6379: Connection refused").is_err());
    }
}
