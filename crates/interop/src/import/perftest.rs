//! perftest (`ib_write_bw`, `ib_send_lat`, ...): its tables and its JSON.

use super::{Output, Run, Tool, Unusable, nothing, rows};
use narrows_model::units::Unit;
use serde_json::Value;

/// How output of perftest is recognised and read.
pub static TOOL: Tool = Tool { name: "perftest", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("#bytes") && text.contains("#iterations")
        || text.contains("\"MsgSize\"") && text.contains("\"n_iterations\"")
}

/// Zero, infinity and "not a number" are failures, which its exit status does not tell. Its
/// `MB/sec` are 2^20 bytes. Its latency is half of a round trip for sends and writes.
fn parse(text: &str) -> Result<Output, Unusable> {
    if text.trim_start().starts_with('{') {
        return json(text);
    }
    let of = test(text).unwrap_or_else(|| "rdma".to_owned());
    let mut runs = Vec::new();
    for (heading, rows) in rows(text, |line| line.contains("#bytes") && line.contains("#iter")) {
        let scale = if heading.contains("Gb/sec") { 1e9 } else { 8.0 * 1_048_576.0 };
        for row in rows {
            let size = row.first().copied().unwrap_or_default();
            let at = |column: usize| row.get(column).copied();
            let run = if heading.contains("BW") {
                Run::new(of.clone())
                    .level("length", size)
                    .figure("average", at(3).map(|rate| rate * scale), Unit::BitsPerSecond)
                    .figure("peak", at(2).map(|rate| rate * scale), Unit::BitsPerSecond)
            } else {
                Run::new(format!("{of}-latency"))
                    .level("length", size)
                    .figure("typical", at(4).map(|us| us * 1e3), Unit::Nanos)
                    .figure("average", at(5).map(|us| us * 1e3), Unit::Nanos)
            };
            runs.push(run);
        }
    }
    if runs.is_empty() && recognises(text) {
        let mut run = Run::new(of);
        run.failed = Some("its table has no row".to_owned());
        runs.push(run);
    }
    nothing(runs, None)
}

/// `RDMA_Write BW Test` is `rdma-write`.
fn test(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.trim_end().ends_with(" Test"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = words.iter().take_while(|word| !["BW", "Latency"].contains(word));
    let name = name.copied().collect::<Vec<&str>>().join("-").to_lowercase().replace('_', "-");
    Some(if name.starts_with("rdma-") { name } else { format!("rdma-{name}") })
}

fn json(text: &str) -> Result<Output, Unusable> {
    let json: Value = serde_json::from_str(text)?;
    let title = json["test_info"]["test"].as_str().unwrap_or_default();
    let of = test(title).unwrap_or_else(|| "rdma".to_owned());
    let results = match &json["results"] {
        Value::Array(all) => all.clone(),
        Value::Object(_) => vec![json["results"].clone()],
        _ => Vec::new(),
    };
    // Keys carry no unit; it reports Gb/s when asked for JSON with --report_gbits, else MiB/s.
    let gbits = text.contains("Gb/sec") || text.contains("\"report_gbits\": true");
    let scale = if gbits { 1e9 } else { 8.0 * 1_048_576.0 };
    let run = |row: &Value| {
        let number = |key: &str| row[key].as_f64();
        let size = number("MsgSize").unwrap_or_default();
        match row.get("BW_average") {
            Some(_) => Run::new(of.clone())
                .level("length", size)
                .figure("average", number("BW_average").map(|r| r * scale), Unit::BitsPerSecond)
                .figure("peak", number("BW_peak").map(|r| r * scale), Unit::BitsPerSecond),
            None => Run::new(format!("{of}-latency"))
                .level("length", size)
                .figure("typical", number("t_typical").map(|us| us * 1e3), Unit::Nanos)
                .figure("average", number("t_avg").map(|us| us * 1e3), Unit::Nanos),
        }
    };
    nothing(results.iter().map(run).collect(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_and_infinities_are_failures() {
        let text = "                    RDMA_Write BW Test\n #bytes     #iterations    BW peak[Gb/sec]    \
            BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000    97.53    97.21   \
            0.186024\n---\n";
        let run = &parse(text).expect("a run").runs[0];
        assert_eq!((run.kind.as_str(), run.figures[0].value), ("rdma-write", 97.21e9));
        let zero = text.replace("97.21", "0.00");
        assert!(parse(&zero).expect("a run").runs[0].failed.is_some());
        let latency = "  Send Latency Test\n #bytes #iterations    t_min[usec]    t_max[usec]  \
            t_typical[usec]    t_avg[usec]\n 8  1000  0.93  3.18  inf  0.98\n";
        let run = &parse(latency).expect("a run").runs[0];
        assert!(run.kind.as_str() == "rdma-send-latency" && run.failed.is_some(), "{run:?}");
        let mega = text.replace("Gb/sec", "MB/sec");
        let rate = parse(&mega).expect("a run").runs[0].figures[0].value;
        assert_eq!(rate, 97.21 * 8.0 * 1_048_576.0);
    }
}
