//! qperf's sections.

use super::{Output, Run, Tool, Unusable, nothing, quantity};
use narrows_model::units::Unit;

/// How output of qperf is recognised and read.
pub static TOOL: Tool = Tool { name: "qperf", recognises, parse };

/// A section's name: `tcp_bw:`, `rc_rdma_write_lat:`.
fn section(line: &str) -> Option<&str> {
    let name = line.strip_suffix(':')?;
    let known = name.ends_with("_bw") || name.ends_with("_lat") || name.ends_with("_mr");
    (known && !name.contains(' ')).then_some(name)
}

fn recognises(text: &str) -> bool {
    text.lines().any(|line| section(line.trim_end()).is_some()) && text.contains('=')
}

/// Its latency is one way: half a round trip. Zero is not a figure but a failure, which its exit
/// status does not tell.
fn parse(text: &str) -> Result<Output, Unusable> {
    let mut runs: Vec<Run> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if let Some(name) = section(line) {
            let kind = match name {
                "tcp_bw" => "tcp-stream".to_owned(),
                "udp_bw" => "udp-stream".to_owned(),
                name if name.ends_with("_lat") => {
                    format!("{}-latency", name.trim_end_matches("_lat").replace('_', "-"))
                }
                name => name.replace('_', "-"),
            };
            runs.push(Run::new(kind));
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some(run) = runs.last_mut() else { continue };
        let (number, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        let Some((value, unit)) = quantity(number, unit) else { continue };
        let key = key.trim();
        if key == "send_bw" && run.figures.is_empty() {
            continue;
        }
        if ["bw", "recv_bw", "latency"].contains(&key) {
            // Networks are told in bits.
            let (value, unit) = match unit {
                Unit::BytesPerSecond => (value * 8.0, Unit::BitsPerSecond),
                other => (value, other),
            };
            let name = if key == "latency" { "one-way latency" } else { "received" };
            *run = run.clone().figure(name, Some(value), unit);
        }
    }
    for run in runs.iter_mut().filter(|run| run.figures.is_empty()) {
        run.failed.get_or_insert_with(|| "it states no figure".to_owned());
    }
    nothing(runs, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_a_failure() {
        let text = "tcp_bw:\n    bw  =  1.66 GB/sec\ntcp_lat:\n    latency  =  42.8 us\n\
                    udp_bw:\n    send_bw  =  0 bytes/sec\n    recv_bw  =  0 bytes/sec\n";
        assert!(recognises(text));
        let runs = parse(text).expect("runs").runs;
        assert_eq!((runs[0].kind.as_str(), runs[0].figures[0].value), ("tcp-stream", 13.28e9));
        assert_eq!((runs[1].kind.as_str(), runs[1].figures[0].value), ("tcp-latency", 42_800.0));
        assert!(runs[2].failed.is_some(), "{:?}", runs[2]);
        assert!(parse("tcp_bw:\n").expect("a run").runs[0].failed.is_some());
    }
}
