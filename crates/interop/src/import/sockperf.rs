//! sockperf: ping-pong, under load, throughput.

use super::{Output, Run, Tool, Unusable, nothing, plain};
use narrows_model::units::Unit;

/// How output of sockperf is recognised and read.
pub static TOOL: Tool = Tool { name: "sockperf", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("sockperf: Summary:") || text.contains("sockperf: ERROR")
}

/// Its latency is half of a round trip. Its throughput is what the client sent: nobody received it
/// for certain, so that a run of it has no figure that counts.
fn parse(text: &str) -> Result<Output, Unusable> {
    let text = plain(text);
    let version = text.split("version #").nth(1).and_then(|rest| rest.split([' ', '=']).next());
    let proto = if text.contains("# TCP") { "tcp" } else { "udp" };
    let number = |before: &str| {
        let rest = text.split(before).nth(1)?;
        let word = rest.trim_start_matches([' ', '=']).split_whitespace().next()?;
        word.trim_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().ok()
    };
    let us = |before: &str| number(before).map(|us| us * 1e3);
    let mut runs = Vec::new();
    if text.contains("Summary: Latency is") {
        let run = Run::new(format!("{proto}-latency"))
            .figure("median half round trip", us("percentile 50.000"), Unit::Nanos)
            .figure("average half round trip", us("Summary: Latency is"), Unit::Nanos)
            .figure("99 % of half round trips", us("percentile 99.000"), Unit::Nanos);
        runs.push(run);
    } else if text.contains("Summary: Message Rate is") {
        let sent = number("Summary: Message Rate is");
        let mut run = Run::new(format!("{proto}-message-rate"));
        run.failed = Some("it reports what was sent, not what was received".to_owned());
        runs.push(run.figure("sent", sent, Unit::PerSecond));
    } else if let Some(error) = text.lines().find(|line| line.contains("ERROR")) {
        let mut run = Run::new(format!("{proto}-latency"));
        run.failed = Some(error.trim().to_owned());
        runs.push(run);
    }
    nothing(runs, version.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_round_trips_are_read_through_colours() {
        let text = "sockperf: \u{1b}[2;35m== version #3.7-no.git == \u{1b}[0m\n[ 0] IP = 127.0.0.1 \
            PORT =  5970 # UDP\nsockperf: Summary: Latency is 24.552 usec\n\
            sockperf: ---> percentile 99.000 =   46.408\nsockperf: ---> percentile 50.000 =   31.960\n";
        let output = parse(text).expect("a run");
        assert_eq!(output.version.as_deref(), Some("3.7-no.git"));
        let values: Vec<f64> = output.runs[0].figures.iter().map(|f| f.value).collect();
        assert_eq!(values, [31960.0, 24552.0, 46408.0]);
        let sent = "sockperf: Summary: Message Rate is 684685 [msg/sec]\n";
        assert!(parse(sent).expect("a run").runs[0].failed.is_some());
    }
}
