//! McCalpin's STREAM.

use super::{Output, Run, Tool, nothing};
use narrows_facts::result::Unit;

/// The tool.
pub static TOOL: Tool = Tool { name: "stream", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("Best Rate MB/s") && text.contains("Triad:")
}

/// Its best rates count bytes as the program names them, without what a store reads first. A result
/// that it did not validate has failed.
fn parse(text: &str) -> Result<Output, String> {
    if !recognises(text) {
        return Err("it has no table of STREAM".to_owned());
    }
    let valid = text.contains("Solution Validates");
    let threads = text.split("Number of Threads counted = ").nth(1);
    let threads = threads.and_then(|rest| rest.split_whitespace().next()).unwrap_or("1");
    let names = [("Copy:", "copy"), ("Scale:", "scale"), ("Add:", "add"), ("Triad:", "triad")];
    let runs = names.into_iter().filter_map(|(name, kernel)| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name))?;
        let rate: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        let mut run = Run::new(format!("memory-{kernel}")).level("threads", threads).figure(
            "best",
            Some(rate * 1e6),
            Unit::BytesPerSecond,
        );
        if !valid {
            run.failed = Some("the solution does not validate".to_owned());
        }
        Some(run)
    });
    nothing(runs.collect(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_rates_are_read() {
        let text = "Number of Threads counted = 2\nFunction    Best Rate MB/s  Avg time\n\
            Copy:           22548.2     0.007135\nScale:          12548.2     0.007\n\
            Add:            13000.0     0.1\nTriad:          14000.0  0.1\n\
            Solution Validates: avg error less than 1.0e-13\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!((runs.len(), runs[0].figures[0].value), (4, 22_548_200_000.0));
        let wrong = text.replace("Solution Validates", "Failed Validation");
        assert!(parse(&wrong).expect("runs").runs.iter().all(|run| run.failed.is_some()));
    }
}
