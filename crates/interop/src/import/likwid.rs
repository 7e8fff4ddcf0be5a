//! likwid-bench.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of likwid-bench is recognised and read.
pub static TOOL: Tool = Tool { name: "likwid-bench", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("MByte/s:") && text.contains("Iterations per thread:")
}

fn parse(text: &str) -> Result<Output, Unusable> {
    let after = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().to_owned())
    };
    let number = |key: &str| after(key).and_then(|text| text.parse::<f64>().ok());
    if !recognises(text) {
        return Err(Unusable::Lacks("result of likwid-bench"));
    }
    let test = after("Test:").unwrap_or_default();
    let kernel = match test.split('_').next() {
        Some("load") => "read",
        Some("store") => "write",
        Some("stream") => "triad",
        Some(other) => other,
        None => "unknown",
    };
    let threads = text.split("Using ").filter_map(|rest| {
        let (count, word) = rest.split_once(' ')?;
        word.starts_with("threads").then(|| count.to_owned())
    });
    let run = Run::new(format!("memory-{kernel}"))
        .level("test", &test)
        .level("threads", threads.last().unwrap_or_default())
        .level("size", number("Size (Byte):").unwrap_or_default())
        .figure("rate", number("MByte/s:").map(|m| m * 1e6), Unit::BytesPerSecond);
    nothing(vec![run], None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read() {
        let text = "Test: load\nUsing 1 work groups\nUsing 1 threads\nIterations per thread:\t512\n\
            Size (Byte):\t\t64000000\nMByte/s:\t\t24382.59\n";
        let run = &parse(text).expect("a run").runs[0];
        assert_eq!((run.kind.as_str(), run.figures[0].value), ("memory-read", 24_382_590_000.0));
        assert_eq!(run.levels[1].level, "1");
    }
}
