//! Flent's data files.

use super::{Output, Run, Tool, nothing};
use narrows_model::result::Unit;
use serde_json::Value;

/// The tool.
pub static TOOL: Tool = Tool { name: "flent", recognises, parse };

fn recognises(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"x_values\"")
        && text.contains("\"metadata\"")
}

/// One run a series with a unit that is known: the median of its samples.
fn parse(text: &str) -> Result<Output, String> {
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let series = json["results"].as_object().ok_or("it has no results")?;
    let name = json["metadata"]["NAME"].as_str().unwrap_or("flent");
    let stated = stated(&json["metadata"]);
    let mut runs = Vec::new();
    for (title, samples) in series {
        let mut values: Vec<f64> =
            samples.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        values.sort_by(f64::total_cmp);
        let Some(median) = values.get(values.len() / 2).copied() else { continue };
        let run = |kind: &str| {
            let run = Run::new(kind).level("test", name).level("series", title);
            stated.iter().fold(run, |run, (factor, level)| run.level(factor, level))
        };
        let transfer = ["TCP upload", "TCP download"].iter().any(|way| title.starts_with(way));
        if title.starts_with("Ping (ms)") {
            runs.push(run("ping-latency").figure("median", Some(median * 1e6), Unit::Nanos));
        } else if transfer && !title.matches("::").nth(1).is_some_and(|_| true) {
            runs.push(run("tcp-stream").figure("median", Some(median * 1e6), Unit::BitsPerSecond));
        }
    }
    let version = json["metadata"]["FLENT_VERSION"].as_str().map(str::to_owned);
    nothing(runs, version)
}

/// What the file says of its test that can differ from file to file, as factors.
fn stated(metadata: &Value) -> Vec<(String, String)> {
    const KEYS: [(&str, &str); 8] = [
        ("HOST", "host"),
        ("LOCAL_HOST", "from"),
        ("IP_VERSION", "ip"),
        ("LENGTH", "seconds"),
        ("TITLE", "title"),
        ("NOTE", "note"),
        ("KERNEL_RELEASE", "kernel"),
        ("BATCH_NAME", "batch"),
    ];
    let word = |value: &Value| match value {
        Value::String(word) if !word.is_empty() => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(set) => Some(set.to_string()),
        _ => None,
    };
    let named = KEYS.iter().filter_map(|(key, factor)| Some((*factor, word(&metadata[*key])?)));
    let mut all: Vec<(String, String)> =
        named.map(|(factor, level)| (factor.to_owned(), level)).collect();
    let congestion = &metadata["SYSCTLS"]["net.ipv4.tcp_congestion_control"];
    all.extend(word(congestion).map(|level| ("congestion".to_owned(), level)));
    all.extend(word(&metadata["EGRESS_INFO"]["qdisc"]).map(|level| ("qdisc".to_owned(), level)));
    let parameters = metadata["TEST_PARAMETERS"].as_object();
    all.extend(
        parameters
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), word(value)?))),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_medians_and_gaps_are_left_out() {
        let text = r#"{"metadata":{"NAME":"tcp_nup"},"x_values":[0,1,2],"results":{
            "Ping (ms) ICMP":[23.0,null,25.0,24.0],"TCP upload sum":[900.0,910.0,905.0],
            "TCP upload::1::tcp_cwnd":[1,2,3]}}"#;
        let runs = parse(text).expect("runs").runs;
        let seen: Vec<(&str, f64)> =
            runs.iter().map(|run| (run.kind.as_str(), run.figures[0].value)).collect();
        assert_eq!(seen, [("ping-latency", 24e6), ("tcp-stream", 905e6)]);
        let told = text.replace(
            "\"NAME\"",
            "\"HOST\":\"h\",\"LENGTH\":10,\"NOTE\":null,\"TEST_PARAMETERS\":{\"upload_streams\":\"50\"},\"NAME\"",
        );
        let run = &parse(&told).expect("runs").runs[0];
        let levels: Vec<&str> = run.levels.iter().map(|level| level.level.as_str()).collect();
        assert_eq!(levels, ["tcp_nup", "Ping (ms) ICMP", "h", "10", "50"]);
    }
}
