//! numademo, of numactl.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of numademo is recognised and read.
pub static TOOL: Tool = Tool { name: "numademo", recognises, parse };

/// What its STREAM calls the kernels, in the order that it prints them in.
const STREAM: [(&str, &str); 4] =
    [("Copy", "copy"), ("Scale", "scale"), ("Add", "add"), ("Triad", "triad")];

fn recognises(text: &str) -> bool {
    text.lines().any(|line| row(line).is_some())
}

/// One line of its table.
struct Row {
    /// Where the memory was: `local memory`, `memory on node 0`.
    policy: String,
    /// What was done with it.
    test: String,
    /// The figures' names as printed and their rates (MB/s).
    rates: Vec<(String, f64)>,
}

/// `memory on node 0 memcpy  Avg 11047.42 MB/s Max 11059.60 MB/s Min 11018.10 MB/s`, or `local
/// memory STREAM Copy 7174.04 MB/s Scale ...`. A long policy leaves no space before the first
/// figure (`first two nodes memcpyAvg 903.76`); with `-c` there are commas for spaces.
fn row(line: &str) -> Option<Row> {
    let line = line.replace(',', " ");
    let (at, first) = ["Avg ", "Copy "].iter().find_map(|name| Some((line.find(name)?, name)))?;
    let (policy, test) = line[..at].trim().rsplit_once(' ')?;
    let words: Vec<&str> = line[at..].split_whitespace().collect();
    let rates: Vec<(String, f64)> = words
        .chunks(3)
        .map_while(|words| match words {
            [name, value, "MB/s"] => Some(((*name).to_owned(), value.parse().ok()?)),
            _ => None,
        })
        .collect();
    let whole = rates.len() == if *first == "Avg " { 3 } else { STREAM.len() };
    whole.then(|| Row { policy: policy.trim().to_owned(), test: test.to_owned(), rates })
}

/// Bytes that a test goes through once, a second: what a copy reads and writes is counted once, as
/// the program has it. The same policy stands in its output several times, each under another line
/// that says where the thread runs or which node is preferred: those are levels of their own.
fn parse(text: &str) -> Result<Output, Unusable> {
    let mut runs = Vec::new();
    let (mut running, mut preferred) = (None, None);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("running on node ") {
            running = rest.split([',', ' ']).next();
        } else if let Some(node) = line.strip_prefix("setting preferred node to ") {
            preferred = Some(node);
        } else if let Some(mut row) = row(line) {
            if let Some(node) = preferred.take() {
                row.policy = format!("{}, node {node}", row.policy);
            }
            // The next test's first line: its thread runs anywhere again.
            if row.policy == "memory with no policy" {
                running = None;
            }
            runs.extend(of_row(row).into_iter().map(|mut run| {
                if let Some(node) = running {
                    run = run.level("cpu_node", node);
                }
                run
            }));
        }
    }
    nothing(runs, None)
}

fn of_row(row: Row) -> Vec<Run> {
    let run = |kind: &str| Run::new(format!("memory-{kind}")).level("policy", &row.policy);
    let rate =
        |run: Run, name: &str, mb: f64| run.figure(name, Some(mb * 1e6), Unit::BytesPerSecond);
    if row.test == "STREAM" {
        let kernels = row.rates.iter().zip(STREAM).filter(|((name, _), (known, _))| name == known);
        return kernels.map(|((_, mb), (_, kernel))| rate(run(kernel), "best", *mb)).collect();
    }
    let names = ["average", "max", "min"];
    let figures = names.into_iter().zip(&row.rates);
    vec![figures.fold(run(&row.test), |run, (name, (_, mb))| rate(run, name, *mb))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of 2.0.16 run on two nodes.
    const TEXT: &str = "2 nodes available\n\
        memory with no policy memset              Avg 858.22 MB/s Max 879.64 MB/s Min 834.45 MB/s\n\
        local memory memset                       Avg 842.17 MB/s Max 871.60 MB/s Min 806.32 MB/s\n\
        setting preferred node to 1\n\
        memory with preferred policy memset       Avg 890.20 MB/s Max 916.91 MB/s Min 853.92 MB/s\n\
        manual interleaving on first two nodes memsetAvg 903.76 MB/s \
        Max 922.80 MB/s Min 873.74 MB/s\n\
        current interleave node 1\nrunning on node 0, preferred node -1\n\
        local memory memset                       Avg 839.27 MB/s Max 868.93 MB/s Min 803.44 MB/s\n\
        local memory STREAM                       Copy 8199.19 MB/s Scale 3239.99 MB/s \
        Add 4194.21 MB/s Triad 2675.94 MB/s\n";

    fn levels(run: &Run) -> Vec<&str> {
        run.levels.iter().map(|level| level.level.as_str()).collect()
    }

    #[test]
    fn one_policy_at_two_places_is_two_levels() {
        let runs = parse(TEXT).expect("runs").runs;
        assert_eq!(runs.len(), 9);
        assert_eq!(levels(&runs[1]), ["local memory"]);
        assert_eq!(levels(&runs[2]), ["memory with preferred policy, node 1"]);
        assert_eq!(levels(&runs[4]), ["local memory", "0"]);
        assert_eq!(runs[4].figures[0].value, 839_270_000.0);
        assert_eq!(runs[4].figures[2].value, 803_440_000.0);
    }

    #[test]
    fn a_long_policy_leaves_no_space_before_the_figure() {
        let run = &parse(TEXT).expect("runs").runs[3];
        assert_eq!(levels(run), ["manual interleaving on first two nodes"]);
        assert_eq!((run.kind.as_str(), run.figures[0].value), ("memory-memset", 903_760_000.0));
    }

    #[test]
    fn its_stream_is_four_kernels() {
        let runs = parse(TEXT).expect("runs").runs;
        let kinds: Vec<&str> = runs[5..].iter().map(|run| run.kind.as_str()).collect();
        assert_eq!(kinds, ["memory-copy", "memory-scale", "memory-add", "memory-triad"]);
        assert_eq!(runs[8].figures[0].value, 2_675_940_000.0);
    }
}
