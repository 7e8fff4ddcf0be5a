//! netperf: its classic tables, and the lines that its omni tests print as values with commas.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;
use serde_json::Value;

/// How output of netperf is recognised and read.
pub static TOOL: Tool = Tool { name: "netperf", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("MIGRATED ") && text.contains(" TEST from ")
}

fn parse(text: &str) -> Result<Output, Unusable> {
    // Some keep its outputs as strings in JSON.
    let text = match serde_json::from_str::<Value>(text) {
        Ok(json) => strings(&json),
        Err(_) => text.to_owned(),
    };
    let mut runs = Vec::new();
    let (mut title, mut header): (Option<&str>, Option<String>) = (None, None);
    for line in text.lines().map(str::trim) {
        let begins_with_number = line.starts_with(|c: char| c.is_ascii_digit());
        if line.starts_with("MIGRATED ") {
            (title, header) = (Some(line), None);
        } else if line.starts_with("Throughput,Throughput Units") {
            header = Some(line.to_owned());
        } else if let (Some(names), false) = (&mut header, begins_with_number) {
            // A long header goes on in the next lines.
            *names = format!("{names} {line}");
        } else if let (Some(names), Some(of), true) = (&header, title, begins_with_number) {
            runs.push(omni(of, names, line));
            (title, header) = (None, None);
        } else if let (Some(of), true, true) =
            (title, begins_with_number, text.contains("10^6bits/sec"))
        {
            runs.extend(classic(of, line));
        }
    }
    nothing(runs, None)
}

fn strings(json: &Value) -> String {
    match json {
        Value::String(text) => format!("{text}\n"),
        Value::Array(all) => all.iter().map(strings).collect(),
        Value::Object(all) => all.values().map(strings).collect(),
        _ => String::new(),
    }
}

fn kind(title: &str) -> &'static str {
    let udp = title.contains("UDP");
    match () {
        () if title.contains("Connect/Request/Response") => "tcp-connect-rate",
        () if title.contains("REQUEST/RESPONSE") && udp => "udp-trips-rate",
        () if title.contains("REQUEST/RESPONSE") => "tcp-trips-rate",
        () if udp => "udp-stream",
        () => "tcp-stream",
    }
}

fn omni(title: &str, names: &str, line: &str) -> Run {
    let values: Vec<&str> = line.split(',').collect();
    let value = |wanted: &str| {
        let at = names.split(',').position(|name| name.trim() == wanted)?;
        values.get(at).copied()
    };
    let number = |name: &str| value(name).and_then(|text| text.trim().parse::<f64>().ok());
    let throughput = number("Throughput");
    let run = Run::new(kind(title));
    let run = match value("Throughput Units").map(str::trim) {
        Some("10^6bits/s") => {
            run.figure("throughput", throughput.map(|m| m * 1e6), Unit::BitsPerSecond)
        }
        _ => run.figure("transactions", throughput, Unit::PerSecond),
    };
    let us = |name: &str| number(name).map(|us| us * 1e3);
    run.figure("median round trip", us("50th Percentile Latency Microseconds"), Unit::Nanos).figure(
        "99 % of round trips",
        us("99th Percentile Latency Microseconds"),
        Unit::Nanos,
    )
}

/// The last number of a classic table's line, with one line a receiver; of UDP's two lines the
/// second is the receiver's.
fn classic(title: &str, line: &str) -> Option<Run> {
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let kind = kind(title);
    // UDP's first line has sent messages and errors.
    if numbers.len() < 4 || (kind == "udp-stream" && numbers.len() > 4) {
        return None;
    }
    let rate = numbers.last().map(|m| m * 1e6);
    Some(Run::new(kind).figure("throughput", rate, Unit::BitsPerSecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_printing_are_read() {
        let omni = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0\n\
            Throughput,Throughput Units,50th Percentile\nLatency Microseconds,Retransmissions\n\
            2217.06,Trans/s,442,487\n";
        let run = &parse(omni).expect("a run").runs[0];
        assert_eq!((run.kind.as_str(), run.figures[0].value), ("tcp-trips-rate", 2217.06));
        assert_eq!(run.figures[1].value, 442_000.0);
        let classic = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1\n\
            Recv   Send    Send\nbytes  bytes   bytes    secs.    10^6bits/sec\n\n\
            131072  16384  16384    10.00    9406.44\n";
        assert_eq!(parse(classic).expect("a run").runs[0].figures[0].value, 9_406_440_000.0);
    }
}
