//! iperf3 with `-J`.

use super::{Output, Run, Tool};
use narrows_facts::result::Unit;
use serde_json::Value;

/// The tool.
pub static TOOL: Tool = Tool { name: "iperf3", recognises, parse };

fn recognises(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"intervals\"") && text.contains("iperf 3")
}

/// The receiver's rate counts, not the sender's. A file with `error` is a failed run, whatever the
/// tool's exit status was.
fn parse(text: &str) -> Result<Output, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let start = json.get("start").ok_or("it has no start")?;
    let version = start["version"].as_str().map(|text| text.replace("iperf ", ""));
    let test = &start["test_start"];
    let udp = test["protocol"] == "UDP";
    let reverse = test["reverse"] == 1;
    let mut run = Run::new(if udp { "udp-stream" } else { "tcp-stream" });
    for (factor, key) in [("streams", "num_streams"), ("length", "blksize")] {
        if let Some(number) = test[key].as_u64() {
            run = run.level(factor, number);
        }
    }
    if reverse {
        run = run.level("direction", "reverse");
    }
    if let Some(error) = json["error"].as_str() {
        run.failed = Some(error.to_owned());
        return Ok(Output { version, runs: vec![run] });
    }
    let end = &json["end"];
    let rate = |what: &str| end[what]["bits_per_second"].as_f64();
    run = match udp {
        // UDP's own sum is the sender's rate; what was lost of it is told beside.
        true => {
            let sum = if end["sum_received"].is_object() { "sum_received" } else { "sum" };
            let lost = end["sum"]["lost_percent"].as_f64().map(|percent| percent / 100.0);
            let received = match sum {
                "sum_received" => rate(sum),
                _ => rate(sum).zip(lost).map(|(rate, lost)| rate * (1.0 - lost)),
            };
            run.figure("received", received, Unit::BitsPerSecond).figure("lost", lost, Unit::Share)
        }
        false => run.figure("received", rate("sum_received"), Unit::BitsPerSecond).figure(
            "sent",
            rate("sum_sent"),
            Unit::BitsPerSecond,
        ),
    };
    let cpu = &end["cpu_utilization_percent"];
    let share = |key: &str| cpu[key].as_f64().map(|percent| percent / 100.0);
    run = run.figure("CPU here", share("host_total"), Unit::Share);
    run = run.figure("CPU there", share("remote_total"), Unit::Share);
    Ok(Output { version, runs: vec![run] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_received_counts_and_an_error_is_no_run() {
        let text = r#"{"start":{"version":"iperf 3.12","test_start":{"protocol":"TCP","num_streams":1,
            "blksize":131072,"reverse":0}},"intervals":[],"end":{"sum_sent":{"bits_per_second":9e9},
            "sum_received":{"bits_per_second":8e9},"cpu_utilization_percent":{"host_total":50.0}}}"#;
        assert!(recognises(text));
        let output = parse(text).expect("a run");
        assert_eq!(output.version.as_deref(), Some("3.12"));
        let run = &output.runs[0];
        assert_eq!((run.figures[0].name.as_str(), run.figures[0].value), ("received", 8e9));
        assert_eq!(run.levels[1].level, "131072");
        let refused = r#"{"start":{"version":"iperf 3.12"},"intervals":[],"end":{},
            "error":"unable to connect to server: Connection refused"}"#;
        let run = &parse(refused).expect("a failed run").runs[0];
        assert!(run.failed.as_deref().is_some_and(|why| why.contains("refused")));
        let silent = r#"{"start":{"version":"iperf 3.12"},"intervals":[],"end":{}}"#;
        assert!(parse(silent).expect("a failed run").runs[0].failed.is_some());
    }
}
