//! numademo.

use super::{Output, Run, Tool, nothing};
use narrows_facts::result::Unit;

/// The tool.
pub static TOOL: Tool = Tool { name: "numademo", recognises, parse };

fn recognises(text: &str) -> bool {
    text.lines().any(|line| one(line).is_some())
}

/// `memory on node 0 memcpy  Avg 11047.42 MB/s Max 11059.60 MB/s Min 11018.10 MB/s`: policy, test,
/// average.
fn one(line: &str) -> Option<(String, &str, f64)> {
    let (before, after) = line.split_once(" Avg ").or_else(|| line.split_once(" avg "))?;
    let mut words = after.split_whitespace();
    let average: f64 = words.next()?.parse().ok()?;
    if words.next()? != "MB/s" {
        return None;
    }
    let (policy, test) = before.trim().rsplit_once(' ')?;
    Some((policy.trim().to_owned(), test, average))
}

fn parse(text: &str) -> Result<Output, String> {
    let runs = text.lines().filter_map(one).map(|(policy, test, average)| {
        Run::new(format!("memory-{test}")).level("policy", policy).figure(
            "average",
            Some(average * 1e6),
            Unit::BytesPerSecond,
        )
    });
    nothing(runs.collect(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_kept_apart() {
        let text = "2 nodes available\n\
            memory with no policy memcpy   Avg 11047.42 MB/s Max 11059 MB/s Min 11018 MB/s\n\
            memory on node 1 memcpy                   Avg 7047.42 MB/s Max 7059 MB/s Min 7018 MB/s\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!(runs[1].levels[0].level, "memory on node 1");
        assert_eq!(runs[0].figures[0].value, 11_047_420_000.0);
    }
}
