//! McCalpin's STREAM.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of stream is recognised and read.
pub static TOOL: Tool = Tool { name: "stream", recognises, parse };

fn recognises(text: &str) -> bool {
    let heading = text.contains("Best Rate MB/s") || text.contains("Rate (MB/s)");
    heading && text.contains("Function") && text.contains("Triad:")
}

/// Its best rates count bytes as the program names them, without what a store reads first. A result
/// that it found wrong has failed, and so has one of 5.10 (`Best Rate MB/s`), which validates every
/// run, without its word. Versions before 5 (`Rate (MB/s)`) may have no such line.
fn parse(text: &str) -> Result<Output, Unusable> {
    if !recognises(text) {
        return Err(Unusable::Lacks("table of STREAM"));
    }
    let unsaid = text.contains("Best Rate MB/s") && !text.contains("Solution Validates");
    let valid = !unsaid && !text.contains("Failed Validation");
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
    fn the_older_heading_is_read() {
        let text = "Function      Rate (MB/s)   RMS time     Min time     Max time\n\
            Copy:       12656.9751       0.0104       0.0101       0.0108\n\
            Triad:      15026.0546       0.0130       0.0128       0.0132\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!((runs.len(), runs[1].figures[0].value), (2, 15_026_054_600.0));
        assert!(runs.iter().all(|run| run.failed.is_none()));
        let wrong = format!("{text}Failed Validation on array a[]\n");
        assert!(parse(&wrong).expect("runs").runs.iter().all(|run| run.failed.is_some()));
    }

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
