//! The pace that an outside tool was told: of a tool there is its figure alone, and no counter of
//! ours, but what was asked of it is known.

use super::of_ends::{HELD_SHARE, PACE};
use super::{Limit, Sureness};
use crate::Case;
use narrows_model::BitsPerSecond;
use narrows_model::trial::{Engine, Trial};
use narrows_model::workload::Metric;
use narrows_stats::{Summary, median};

/// What to do about it.
const ACTION: &str = "nothing: the tool keeps the pace that it was told; a higher one, or none, \
                      shows what the path carries";

/// Cells of outside tools that keep the pace which was asked of them.
pub fn paced<'a>(case: &'a Case<'a>) -> impl Iterator<Item = Limit> + 'a {
    case.study.trials.iter().filter_map(|trial| {
        let asked = asked_bps(trial, trial.engine.as_ref()?)?;
        let summary = case.summaries.iter().find(|summary| summary.label == trial.label)?;
        (reached_bps(summary)? >= HELD_SHARE * asked).then(|| Limit {
            cell: trial.label.clone(),
            rule: None,
            what: PACE.to_owned(),
            sureness: Sureness::Counted,
            excludes: Vec::new(),
            next: None,
            action: Some(ACTION.to_owned()),
            worth: None,
            second: None,
        })
    })
}

/// The median rate that the tool printed.
fn reached_bps(summary: &Summary) -> Option<f64> {
    let values: Vec<f64> = summary.values.iter().map(|value| value.value).collect();
    median(&values).filter(|rate| summary.metric == Metric::Goodput && *rate > 0.0)
}

/// Bits a second over all flows that a tool was told; its own words take the place of what follows
/// from the parameters.
fn asked_bps(trial: &Trial, engine: &Engine) -> Option<f64> {
    let asked = if engine.client.is_empty() {
        trial.params.rate_bps.map(|rate| rate as f64)
    } else {
        of_words(engine)
    };
    asked.filter(|rate| *rate > 0.0)
}

/// How a tool is told its pace, and its flows.
struct Words {
    tool: &'static str,
    pace: &'static [&'static str],
    /// Options for the number of flows, each of which has the pace; none where it is of all.
    flows: &'static [&'static str],
    /// Bits a second that a number without a unit counts.
    unit_bps: f64,
}

const FLOWS: &[&str] = &["-P", "--parallel"];
const WORDS: [Words; 3] = [
    Words { tool: "iperf", pace: &["-b", "--bandwidth"], flows: FLOWS, unit_bps: 1.0 },
    Words {
        tool: "iperf3",
        pace: &["-b", "--bitrate", "--bandwidth"],
        flows: FLOWS,
        unit_bps: 1.0,
    },
    Words { tool: "nuttcp", pace: &["-R"], flows: &[], unit_bps: 1e3 },
];

fn of_words(engine: &Engine) -> Option<f64> {
    let words = WORDS.iter().find(|words| words.tool == engine.tool)?;
    let told = value_of(&engine.client, words.pace)?;
    // What follows a slash is the size of a burst.
    let rate = told.split('/').next().unwrap_or(told);
    let rate = match rate.parse::<f64>() {
        Ok(number) => number * words.unit_bps,
        Err(_) => rate.parse::<BitsPerSecond>().ok()?.0,
    };
    let flows = value_of(&engine.client, words.flows).map_or(Some(1.0), |n| n.parse().ok())?;
    Some(rate * flows)
}

/// The value of the last of these options: `-b 50M`, `-b50M`, `--bitrate 50M` or `--bitrate=50M`.
fn value_of<'a>(words: &'a [String], options: &[&str]) -> Option<&'a str> {
    (0..words.len()).rev().find_map(|at| {
        let option = options.iter().find(|option| words[at].starts_with(**option))?;
        let rest = &words[at][option.len()..];
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => words.get(at + 1).map(String::as_str),
            None => Some(rest).filter(|_| !option.starts_with("--")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::limits;
    use crate::measured::testing::stream;
    use narrows_model::record::{External, Figure};
    use narrows_model::units::Unit;

    /// What holds a stream of a tool which reached so many Mb/s.
    fn held(tool: &str, told_bps: Option<u64>, words: &str, reached_mbps: f64) -> Option<String> {
        let mut study = stream("udp-stream");
        let trial = &mut study.trials[0];
        trial.params.rate_bps = told_bps;
        let client = words.split_whitespace().map(str::to_owned).collect();
        trial.engine = Some(Engine { tool: tool.into(), client, server: Vec::new() });
        let (value, unit) = (reached_mbps * 1e6, Unit::BitsPerSecond);
        for record in &mut study.records {
            record.reports.clear();
            record.external = Some(External {
                tool: tool.into(),
                version: None,
                command: None,
                file: None,
                figures: vec![Figure { name: "received".into(), value, unit }],
                output: String::new(),
                client: None,
                packets: None,
            });
        }
        let summaries = narrows_stats::summarise(&study);
        let case = Case { study: &study, summaries: &summaries, predictions: &[] };
        let all = limits(&case, &[]);
        assert!(all.iter().all(|limit| limit.is_named() && limit.action.is_some()), "{all:?}");
        all.first().map(|limit| limit.to_string())
    }

    #[test]
    fn a_tool_that_keeps_its_pace_is_held_by_it() {
        let pace = Some("udp-stream: the requested pace limits (counted)".to_owned());
        assert_eq!(held("iperf3", Some(100_000_000), "", 99.8), pace);
        assert_eq!(held("iperf3", None, "-b 50M -P 2", 99.8), pace);
        assert_eq!(held("iperf3", Some(100_000_000), "", 90.0), None, "it did not keep it");
        assert_eq!(held("iperf3", None, "", 99.8), None, "no pace");
        assert_eq!(held("iperf3", Some(0), "", 99.8), None, "unlimited");
        // Its words take the place of the options.
        assert_eq!(held("iperf3", Some(100_000_000), "-t 1", 99.8), None);
        assert_eq!(held("iperf3", Some(100_000_000), "-b 1G", 99.8), None);
    }

    #[test]
    fn a_tools_words_tell_its_pace() {
        let of = |tool: &str, words: &str| {
            let client = words.split_whitespace().map(str::to_owned).collect();
            of_words(&Engine { tool: tool.into(), client, server: Vec::new() })
        };
        assert_eq!(of("iperf3", "-b 50M -t 1"), Some(50e6));
        assert_eq!(of("iperf3", "-b50M -P4"), Some(200e6), "each flow has it");
        assert_eq!(of("iperf3", "--bitrate=10M/5"), Some(10e6));
        assert_eq!(of("iperf3", "--bitrate 1000000 --parallel 2"), Some(2e6));
        assert_eq!(of("iperf3", "-b 1M -b 2M"), Some(2e6), "the last one counts");
        assert_eq!(of("iperf", "-u -b 3M"), Some(3e6));
        assert_eq!(of("nuttcp", "-R5000 -N4"), Some(5e6), "kb/s, over all streams");
        assert_eq!(of("nuttcp", "-R 5M"), Some(5e6));
        assert_eq!(of("iperf3", "-t 1"), None);
        assert_eq!(of("iperf3", "-b x"), None);
        assert_eq!(of("qperf", "-b 1M"), None, "no pace of its");
    }
}
