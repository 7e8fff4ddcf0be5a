//! iperf3: its JSON (`-J`) and its text.
//!
//! What the tool states of a test is a factor: runs with another rate, congestion control or
//! direction are other cells. Its text states less than its JSON, above all no rate that was asked
//! for.

use super::{Output, Run, Tool, Unusable, nothing, quantity};
use narrows_model::units::Unit;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How output of iperf3 is recognised and read.
pub static TOOL: Tool = Tool { name: "iperf3", recognises, parse };

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn recognises(text: &str) -> bool {
    if is_json(text) {
        text.contains("\"intervals\"") && text.contains("iperf 3")
    } else {
        text.trim_start().starts_with("iperf3: error")
            || (BEGINNINGS.iter().any(|begins| text.contains(begins)) && text.contains("[ ID]"))
    }
}

/// The receiver's rate counts, not the sender's. A file with `error` is a failed run, whatever the
/// tool's exit status was.
fn parse(text: &str) -> Result<Output, Unusable> {
    if !is_json(text) {
        return words(text);
    }
    // Some versions write several documents into one file, one behind the other.
    let mut output = Output::default();
    for json in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let json = json?;
        let start = json.get("start").ok_or(Unusable::Lacks("start"))?;
        let version = start["version"].as_str().map(|text| text.replace("iperf ", ""));
        output.version = output.version.or(version);
        output.runs.push(run(&json));
    }
    nothing(output.runs, output.version)
}

/// What a test is told beside streams, length and direction, by its key in `test_start`, and what
/// that is called here. Others keep their own name.
const NAMES: [(&str, &str); 9] = [
    ("duration", "seconds"),
    ("target_bitrate", "bitrate"),
    ("fqrate", "fq rate"),
    ("omit", "omit"),
    ("bytes", "bytes"),
    ("blocks", "blocks"),
    ("tos", "tos"),
    ("congestion", "congestion"),
    ("interval", "interval"),
];
/// Keys that are the kind, the direction, or stand first.
const ELSEWHERE: [&str; 6] =
    ["protocol", "num_streams", "blksize", "reverse", "bidir", "bidirectional"];

fn run(json: &Value) -> Run {
    let (start, end) = (&json["start"], &json["end"]);
    let test = &start["test_start"];
    let protocol = test["protocol"].as_str().unwrap_or("TCP").to_lowercase();
    let mut run = Run::new(format!("{protocol}-stream"));
    for (factor, key) in [("streams", "num_streams"), ("length", "blksize")] {
        if let Some(number) = test[key].as_u64() {
            run = run.level(factor, number);
        }
    }
    let both = is_set(&test["bidir"])
        || is_set(&test["bidirectional"])
        || ["sum_received_bidir_reverse", "sum_bidir_reverse"].iter().any(|k| end[*k].is_object());
    if both {
        run = run.level("direction", "both");
    } else if is_set(&test["reverse"]) {
        run = run.level("direction", "reverse");
    }
    let none = Map::new();
    let stated = test.as_object().unwrap_or(&none);
    for (key, value) in stated.iter().filter(|(key, _)| !ELSEWHERE.contains(&key.as_str())) {
        let name = NAMES.iter().find(|(of, _)| of == key).map_or(key.as_str(), |(_, name)| name);
        run = level(run, name, value);
    }
    // What is asked of sockets; what the system chose by itself has other keys.
    for (name, key) in [("window", "sock_bufsize"), ("mss", "tcp_mss")] {
        run = level(run, name, &start[key]);
    }
    if run.levels.iter().all(|level| level.factor != "bitrate") {
        run = level(run, "bitrate", &start["target_bitrate"]);
    }
    if run.levels.iter().all(|level| level.factor != "congestion") {
        run = level(run, "congestion", &end["sender_tcp_congestion"]);
    }
    if let Some(error) = json["error"].as_str() {
        run.failed = Some(error.to_owned());
        return run;
    }
    figures(run, end, protocol == "udp", both)
}

/// True, or a number above zero, or a word.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Bool(set) => *set,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(word) => !word.is_empty(),
        _ => false,
    }
}

/// Adds what was asked for; zero and nothing are what the tool does by itself.
fn level(run: Run, name: &str, value: &Value) -> Run {
    match (is_set(value), value) {
        (false, _) => run,
        (true, Value::String(word)) => run.level(name, word),
        (true, Value::Bool(_)) => run.level(name, "yes"),
        (true, other) => run.level(name, other),
    }
}

fn figures(run: Run, end: &Value, udp: bool, both: bool) -> Run {
    // UDP's own sum is the sender's rate; what was lost of it is told beside.
    let received = |suffix: &str| match &end[format!("sum_received{suffix}")] {
        sum if sum.is_object() => rate(sum),
        _ if udp => {
            let sum = &end[format!("sum{suffix}")];
            rate(sum).zip(share(&sum["lost_percent"])).map(|(rate, lost)| rate * (1.0 - lost))
        }
        _ => None,
    };
    let (there, back) = (received(""), received(BACK));
    let mut run = match both {
        // Half of it is no figure of the test.
        true => run
            .figure("received", there.zip(back).map(|(a, b)| a + b), Unit::BitsPerSecond)
            .figure("received there", there, Unit::BitsPerSecond)
            .figure("received back", back, Unit::BitsPerSecond),
        false => run.figure("received", there, Unit::BitsPerSecond),
    };
    if udp {
        run = run.figure("lost", lost(end, both), Unit::Share)
    } else {
        run = run.figure("sent", rate(&end["sum_sent"]), Unit::BitsPerSecond);
        if both {
            let sent = rate(&end[format!("sum_sent{BACK}")]);
            run = run.figure("sent back", sent, Unit::BitsPerSecond);
        }
    }
    let cpu = &end["cpu_utilization_percent"];
    run.figure("CPU here", share(&cpu["host_total"]), Unit::Share).figure(
        "CPU there",
        share(&cpu["remote_total"]),
        Unit::Share,
    )
}

fn share(value: &Value) -> Option<f64> {
    value.as_f64().map(|percent| percent / 100.0)
}

fn rate(sum: &Value) -> Option<f64> {
    sum["bits_per_second"].as_f64()
}

/// How keys of the way back end.
const BACK: &str = "_bidir_reverse";

/// Share of the datagrams of all directions that was lost.
fn lost(end: &Value, both: bool) -> Option<f64> {
    let ways: &[&str] = if both { &["", BACK] } else { &[""] };
    let counted = ways.iter().try_fold((0.0, 0.0), |(lost, sent), way| {
        let sum = &end[format!("sum{way}")];
        Some((lost + sum["lost_packets"].as_f64()?, sent + sum["packets"].as_f64()?))
    });
    let share = counted.filter(|(_, sent)| *sent > 0.0).map(|(lost, sent)| lost / sent);
    // Without counts its own share is taken.
    share.or_else(|| Some(end["sum"]["lost_percent"].as_f64()? / 100.0))
}

/// How the account of one test begins, at the client and at the server.
const BEGINNINGS: [&str; 2] = ["Connecting to host ", "Accepted connection from "];

/// Several tests may stand in one text.
fn words(text: &str) -> Result<Output, Unusable> {
    let version = text.lines().find_map(|line| Some(line.strip_prefix("iperf 3")?.trim()));
    let version = version.map(|rest| format!("3{rest}"));
    let mut tests: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        let begins = BEGINNINGS.iter().any(|begins| line.starts_with(begins));
        if begins || tests.is_empty() {
            tests.push(Vec::new());
        }
        if let Some(test) = tests.last_mut() {
            test.push(line);
        }
    }
    nothing(
        tests
            .iter()
            .filter(|lines| {
                lines.iter().any(|line| line.starts_with("[ ID]") || line.starts_with("iperf3: "))
            })
            .map(|lines| test_of(lines))
            .collect(),
        version,
    )
}

/// One line of a summary.
struct Sum<'a> {
    flow: &'a str,
    /// `TX-C`, `RX-C` where both directions ran.
    role: &'a str,
    bps: f64,
    receiver: bool,
    sender: bool,
    lost: Option<f64>,
    /// When its interval ended, in seconds since the test began.
    ends_s: Option<f64>,
}

fn sum(line: &str) -> Option<Sum<'_>> {
    let inside = line.strip_prefix('[')?;
    let (flow, rest) = inside.split_once(']')?;
    let (role, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((role, rest)) => (role, rest),
        None => ("", rest),
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let at = words.iter().position(|word| word.ends_with("/sec"))?;
    let (value, unit) = quantity(words.get(at.checked_sub(1)?)?, words[at])?;
    let bps = match unit {
        Unit::BitsPerSecond => value,
        Unit::BytesPerSecond => 8.0 * value,
        _ => return None,
    };
    let percent = words.iter().find_map(|word| word.strip_prefix('(')?.strip_suffix("%)"));
    Some(Sum {
        flow: flow.trim(),
        role,
        bps,
        receiver: words.last() == Some(&"receiver"),
        sender: words.last() == Some(&"sender"),
        lost: percent.and_then(|percent| percent.parse::<f64>().ok()).map(|p| p / 100.0),
        ends_s: words[0].split_once('-').and_then(|(_, end)| end.parse().ok()),
    })
}

/// How far the sender's interval may be from whole seconds where seconds were asked for.
const SECONDS_SLACK: f64 = 0.05;

/// The seconds that were asked for, and those left out before them. Only `-V` states them; else
/// they are those that the sender counted, where these are whole: a test by bytes ends anywhere.
fn timed(mut run: Run, lines: &[&str], sums: &[Sum<'_>]) -> Run {
    let omitted = lines.iter().filter(|line| line.trim_end().ends_with("(omitted)"));
    let omitted = omitted.filter_map(|line| sum(line)?.ends_s).fold(0.0, f64::max).round();
    if omitted > 0.0 && !has(&run, "omit") {
        run = run.level("omit", omitted);
    }
    let sender = sums.iter().find(|sum| sum.sender).or_else(|| sums.first());
    let whole = sender
        .and_then(|sum| sum.ends_s)
        .filter(|ends_s| ends_s.round() >= 1.0 && (ends_s - ends_s.round()).abs() <= SECONDS_SLACK);
    match whole.filter(|_| !has(&run, "seconds")) {
        Some(seconds) => run.level("seconds", seconds.round()),
        None => run,
    }
}

fn has(run: &Run, factor: &str) -> bool {
    run.levels.iter().any(|level| level.factor == factor)
}

fn test_of(lines: &[&str]) -> Run {
    // The summary stands behind the last rule.
    let rule = lines.iter().rposition(|line| line.starts_with("- - - -"));
    let sums: Vec<Sum<'_>> =
        lines[rule.unwrap_or(lines.len())..].iter().filter_map(|line| sum(line)).collect();
    let udp = lines.iter().any(|line| line.starts_with("[ ID]") && line.contains("Datagrams"));
    let ends: Vec<&Sum<'_>> = match sums.iter().any(|sum| sum.receiver) {
        true => sums.iter().filter(|sum| sum.receiver).collect(),
        // Versions up to 3.1 state for UDP one line, of the sender, with what was lost of it.
        false => sums.iter().filter(|sum| udp && !sum.sender && sum.lost.is_some()).collect(),
    };
    let old = ends.iter().all(|sum| !sum.receiver);
    let roles: BTreeSet<&str> = ends.iter().map(|sum| sum.role).filter(|r| !r.is_empty()).collect();
    let flows = ends.iter().filter(|sum| sum.flow != "SUM").count() / roles.len().max(1);
    let mut run = Run::new(if udp { "udp-stream" } else { "tcp-stream" });
    if flows > 0 {
        run = run.level("streams", flows);
    }
    if roles.len() > 1 {
        run = run.level("direction", "both");
    } else if lines.iter().any(|line| line.starts_with("Reverse mode")) {
        run = run.level("direction", "reverse");
    }
    run = timed(verbose(run, lines), lines, &sums);
    let error = lines.iter().find_map(|line| line.strip_prefix("iperf3: "));
    if let Some(error) = error.filter(|error| !error.starts_with("warning")) {
        run.failed = Some(error.trim_start_matches("error - ").to_owned());
        return run;
    }
    let arrived =
        |sum: &Sum<'_>| if old { sum.bps * (1.0 - sum.lost.unwrap_or(0.0)) } else { sum.bps };
    // Of several flows the sum is stated too, for each direction.
    let total = |role: &str| {
        let of: Vec<&&Sum<'_>> = ends.iter().filter(|sum| sum.role == role).collect();
        let stated = of.iter().find(|sum| sum.flow == "SUM").map(|sum| arrived(sum));
        stated.or_else(|| {
            let rates = of.iter().map(|sum| arrived(sum));
            (!of.is_empty()).then(|| rates.sum())
        })
    };
    let received = match roles.len() {
        0 => total(""),
        _ => roles.iter().map(|role| total(role)).sum(),
    };
    run = run.figure("received", received, Unit::BitsPerSecond);
    for role in roles.iter().filter(|_| roles.len() > 1) {
        let way = if role.starts_with("TX") { "received there" } else { "received back" };
        run = run.figure(way, total(role), Unit::BitsPerSecond);
    }
    let lost: Vec<f64> = ends.iter().filter_map(|sum| sum.lost).collect();
    match lost.as_slice() {
        [one] => run.figure("lost", Some(*one), Unit::Share),
        _ => run,
    }
}

/// What `-V` states.
fn verbose(mut run: Run, lines: &[&str]) -> Run {
    let said = |begins: &str| lines.iter().find_map(|line| line.trim().strip_prefix(begins));
    if let Some(test) = said("Starting Test: ") {
        let mut words = test.split([',', ' ']).filter(|word| !word.is_empty()).peekable();
        let mut before = "";
        while let Some(word) = words.next() {
            let next = words.peek().copied().unwrap_or_default();
            run = match (before, word, next) {
                (number, "byte", "blocks") => run.level("length", number),
                ("omitting", number, "seconds") if number != "0" => run.level("omit", number),
                (number, "second", "test") => run.level("seconds", number),
                ("tos", number, _) if number != "0" => run.level("tos", number),
                _ => run,
            };
            before = word;
        }
    }
    if let Some(name) = said("snd_tcp_congestion ") {
        run = run.level("congestion", name.trim());
    }
    match said("TCP MSS: ").filter(|mss| !mss.contains("default")) {
        Some(mss) => run.level("mss", mss.trim()),
        None => run,
    }
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

    fn of(text: &str) -> Run {
        parse(text).expect("a run").runs.remove(0)
    }

    fn stated(run: &Run, factor: &str) -> Option<String> {
        run.levels.iter().find(|level| level.factor == factor).map(|level| level.level.clone())
    }

    /// Outputs of iperf 3.12 itself.
    #[test]
    fn what_the_tool_states_tells_cells_apart() {
        let json = |file: &str| {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/iperf3/");
            std::fs::read_to_string(format!("{dir}{file}")).expect("an output")
        };
        let (slow, fast) = (of(&json("udp-5m.json")), of(&json("udp-60m.json")));
        assert_eq!(stated(&slow, "bitrate").as_deref(), Some("5000000"));
        assert_eq!(stated(&fast, "bitrate").as_deref(), Some("60000000"));
        let (reno, all) = (of(&json("reno.json")), of(&json("many.json")));
        assert_eq!(stated(&reno, "congestion").as_deref(), Some("reno"));
        for (factor, level) in
            [("congestion", "cubic"), ("window", "131072"), ("mss", "1000"), ("tos", "8")]
        {
            assert_eq!(stated(&all, factor).as_deref(), Some(level), "{:?}", all.levels);
        }
        for file in ["bidir", "udp-bidir"] {
            let (json, text) =
                (of(&json(&format!("{file}.json"))), of(&json(&format!("{file}.txt"))));
            for run in [json, text] {
                assert_eq!(stated(&run, "direction").as_deref(), Some("both"));
                let figure = |name: &str| {
                    run.figures.iter().find(|f| f.name == name).expect("a figure").value
                };
                let sum = figure("received there") + figure("received back");
                assert!((figure("received") / sum - 1.0).abs() < 1e-9, "{:?}", run.figures);
            }
        }
    }

    #[test]
    fn seconds_that_its_text_counts_tell_cells_apart() {
        let text = |ends: &str, omitted: &str| {
            format!(
                "Connecting to host ::1, port 5201\n[ ID] Interval  Transfer  Bitrate  Retr\n\
                 {omitted}- - - - - -\n[ ID] Interval  Transfer  Bitrate  Retr\n\
                 [  5]   0.00-{ends}   sec  2.58 GBytes  22.2 Gbits/sec  0  sender\n\
                 [  5]   0.00-{ends}   sec  2.58 GBytes  22.1 Gbits/sec  receiver\n"
            )
        };
        let seconds = |ends: &str| stated(&of(&text(ends, "")), "seconds");
        assert_eq!(seconds("1.00").as_deref(), Some("1"));
        assert_eq!(seconds("3.04").as_deref(), Some("3"));
        assert_eq!(seconds("9.96").as_deref(), Some("10"));
        // By bytes, not by time.
        assert_eq!((seconds("0.04"), seconds("3.40")), (None, None));
        let omitted = "[  5]   0.00-1.00   sec  2 GBytes  2 Gbits/sec  0  9 KBytes  (omitted)\n\
                       [  5]   1.00-2.00   sec  2 GBytes  2 Gbits/sec  0  9 KBytes  (omitted)\n";
        let run = of(&text("10.00", omitted));
        assert_eq!(stated(&run, "omit").as_deref(), Some("2"));
        // What -V states is not stated twice.
        let said = "Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 2 \
                    seconds, 10 second test, tos 0\n";
        let run = of(&text("10.00", &format!("{said}{omitted}")));
        let times = ["omit", "seconds"]
            .map(|factor| run.levels.iter().filter(|level| level.factor == factor).count());
        assert_eq!(times, [1, 1], "{:?}", run.levels);
    }

    /// Lines as `-V` of iperf 3.12 prints them.
    #[test]
    fn what_verbose_text_states_is_a_level_unless_it_is_as_always() {
        let levels = |test: &str, mss: &str| {
            let lines = [
                format!("TCP MSS: {mss}"),
                format!("Starting Test: protocol: TCP, 3 streams, {test}"),
                "snd_tcp_congestion bbr".to_owned(),
            ];
            let run = verbose(Run::new("tcp-stream"), &lines.each_ref().map(String::as_str));
            run.levels.iter().map(|one| format!("{}={}", one.factor, one.level)).collect::<Vec<_>>()
        };
        let asked = "9000 byte blocks, omitting 2 seconds, 7 second test, tos 16";
        let all = ["length=9000", "omit=2", "seconds=7", "tos=16", "congestion=bbr", "mss=1448"];
        assert_eq!(levels(asked, "1448"), all);
        let plain = "131072 byte blocks, omitting 0 seconds, 10 second test, tos 0";
        let few = ["length=131072", "seconds=10", "congestion=bbr"];
        assert_eq!(levels(plain, "1448 (default)"), few);
    }

    #[test]
    fn its_text_is_read_like_its_json() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/iperf3/");
        let text = |file: &str| std::fs::read_to_string(format!("{dir}{file}")).expect("an output");
        for (file, kind, bps) in [
            ("reverse.txt", "tcp-stream", 17.5e9),
            ("udp-5m.txt", "udp-stream", 5.24e6),
            ("bidir.txt", "tcp-stream", 7.68e9 + 6.36e9),
        ] {
            assert!(recognises(&text(file)), "{file}");
            let run = of(&text(file));
            assert_eq!((run.kind.as_str(), run.figures[0].value), (kind, bps), "{file}");
        }
        let reverse = of(&text("reverse.txt"));
        assert_eq!(stated(&reverse, "streams").as_deref(), Some("2"));
        assert_eq!(stated(&reverse, "direction").as_deref(), Some("reverse"));
        let two = parse(&(text("udp-5m.txt") + &text("reverse.txt"))).expect("two runs");
        assert_eq!(two.runs.len(), 2);
        let refused = "iperf3: error - unable to connect to server: Connection refused\n";
        assert!(recognises(refused) && of(refused).failed.is_some());
        // Before 3.2.
        let old = "Connecting to host ::1, port 5201\n\
            [ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n\
            - - - - - - - - - -\n\
            [ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n\
            [  4]   0.00-1.00   sec   120 KBytes  1.00 Mbits/sec  0.02 ms  5/20 (25%)\n";
        assert_eq!(of(old).figures[0].value, 750_000.0);
    }
}
