//! iperf 2: `-y C`, and its ordinary text.

use super::{Output, Run, Tool, Unusable, nothing, quantity};
use narrows_model::units::Unit;

/// How output of iperf is recognised and read.
pub static TOOL: Tool = Tool { name: "iperf", recognises, parse };

fn recognises(text: &str) -> bool {
    is_csv(text) || (text.contains("Client connecting to") && text.contains("[ ID] Interval"))
}

fn is_csv(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let fields: Vec<&str> = first.split(',').collect();
    fields.len() >= 9 && fields[0].len() == 14 && fields[0].bytes().all(|b| b.is_ascii_digit())
}

/// A client's TCP rate is what it wrote; over UDP only the server's report, which it may have
/// missed, tells what arrived. Without that a UDP run has failed.
fn parse(text: &str) -> Result<Output, Unusable> {
    if is_csv(text) { csv(text) } else { words(text) }
}

fn csv(text: &str) -> Result<Output, Unusable> {
    let mut streams = Vec::new();
    let mut sums = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').collect();
        let rate = fields.get(8).and_then(|rate| rate.parse::<f64>().ok());
        let rate = rate.ok_or_else(|| Unusable::NoRateIn(line.to_owned()))?;
        // With datagrams: jitter, lost, sent, share lost, out of order.
        let datagrams = fields.get(11).and_then(|sent| sent.parse::<i64>().ok());
        let sum = fields[5].parse::<i64>().is_ok_and(|id| id < 0);
        (if sum { &mut sums } else { &mut streams }).push((rate, fields.len() > 9, datagrams));
    }
    let all = if sums.is_empty() { &streams } else { &sums };
    let udp = all.iter().any(|(_, udp, _)| *udp);
    let total: f64 = all.iter().map(|(rate, ..)| rate).sum();
    let kind = if udp { "udp-stream" } else { "tcp-stream" };
    let mut run = Run::new(kind).level("streams", streams.len().max(1));
    let told = all.iter().all(|(.., datagrams)| datagrams.is_some_and(|n| n > 0));
    run = if udp && !told {
        missing(run, total)
    } else {
        run.figure("rate", Some(total), Unit::BitsPerSecond)
    };
    nothing(vec![run], None)
}

fn missing(mut run: Run, sent: f64) -> Run {
    run.failed = Some("the server's report did not come: only what was sent is known".to_owned());
    run.figure("sent", Some(sent), Unit::BitsPerSecond)
}

fn words(text: &str) -> Result<Output, Unusable> {
    let udp = text.contains("UDP port");
    let lines: Vec<&str> = text.lines().filter(|line| rate(line).is_some()).collect();
    let told: Vec<f64> = lines.iter().filter(is_report).filter_map(|line| rate(line)).collect();
    let own: Vec<&str> = lines.iter().filter(|line| !is_report(line)).copied().collect();
    if own.is_empty() {
        return Err(Unusable::NoRate);
    }
    let flows = own.iter().filter(|line| !line.starts_with("[SUM]")).count().max(1);
    let run = Run::new(if udp { "udp-stream" } else { "tcp-stream" }).level("streams", flows);
    let sum = own.iter().rfind(|line| line.starts_with("[SUM]")).and_then(|line| rate(line));
    let sent =
        sum.or_else(|| own.iter().map(|line| rate(line)).sum()).ok_or(Unusable::Lacks("rate"))?;
    let run = match udp {
        true if told.len() < flows => missing(run, sent),
        true => run.figure("received", Some(told.iter().sum()), Unit::BitsPerSecond),
        false => run.figure("rate", Some(sent), Unit::BitsPerSecond),
    };
    nothing(vec![run], None)
}

fn rate(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.ends_with("bits/sec"))?;
    quantity(words.get(at.checked_sub(1)?)?, words[at]).map(|(value, _)| value)
}

/// A server's report has jitter and losses behind the rate: one for each flow.
fn is_report(line: &&&str) -> bool {
    line.contains('/') && line.contains("%)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_summed_and_a_missing_report_is_seen() {
        let text = "19700101000000,127.0.0.1,49580,127.0.0.1,5990,1,0.0-1.0,100,23000\n\
                    19700101000000,127.0.0.1,49578,127.0.0.1,5990,2,0.0-1.0,100,22000\n";
        assert!(recognises(text));
        let run = &parse(text).expect("a run").runs[0];
        assert_eq!((run.figures[0].value, run.levels[0].level.as_str()), (45000.0, "2"));
        let udp =
            "19700101000000,127.0.0.1,34279,127.0.0.1,5991,1,0.0-1.0,13,104,0.000,0,-1,-0.000,0\n";
        let run = &parse(udp).expect("a run").runs[0];
        assert!(run.failed.is_some() && run.kind.as_str() == "udp-stream");
        let words = "Client connecting to 127.0.0.1, TCP port 5990\n[ ID] Interval\n\
                     [  1] 0.0000-1.0153 sec  2.35 GBytes  19.9 Gbits/sec\n";
        assert_eq!(parse(words).expect("a run").runs[0].figures[0].value, 19.9e9);
        let udp = "Client connecting to ::1, UDP port 5001\n[ ID] Interval\n\
            [  1] 0.0000-1.0001 sec  12.5 MBytes   105 Mbits/sec\n[  1] Server Report:\n\
            [  1] 0.0000-1.0000 sec  12.4 MBytes   104 Mbits/sec   0.002 ms 80/8921 (0.9%)\n";
        assert_eq!(parse(udp).expect("a run").runs[0].figures[0].value, 104e6);
        let lonely = udp.split("[  1] Server").next().expect("text");
        assert!(parse(lonely).expect("a run").runs[0].failed.is_some());
    }
}
