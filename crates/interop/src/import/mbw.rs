//! mbw: a copy of memory a line, by method, in MiB/s.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of mbw is recognised and read.
pub static TOOL: Tool = Tool { name: "mbw", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("Method: ") && text.contains("Copy: ")
}

/// It counts each byte once that a copy reads and writes: its rates are half of what others call a
/// copy's. They are kept as it prints them.
fn parse(text: &str) -> Result<Output, Unusable> {
    let runs = text.lines().filter(|line| recognises(line) && !line.starts_with("AVG"));
    let runs = runs.map(|line| {
        let after = |key: &str| line.split(key).nth(1)?.split_whitespace().next();
        let number = |key: &str| after(key).and_then(|text| text.parse::<f64>().ok());
        let rate = number("Copy: ").map(|mib| mib * 1_048_576.0);
        Run::new("memory-copy-once")
            .level("method", after("Method: ").unwrap_or_default())
            .level("MiB", number("MiB: ").unwrap_or_default())
            .figure("bytes copied", rate, Unit::BytesPerSecond)
    });
    nothing(runs.collect(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_no_averages_are_read() {
        let text = "0\tMethod: MEMCPY\tElapsed: 0.01495\tMiB: 64.00000\tCopy: 4279.505 MiB/s\n\
            AVG\tMethod: MEMCPY\tElapsed: 0.01478\tMiB: 64.00000\tCopy: 4328.712 MiB/s\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!((runs.len(), runs[0].levels[0].level.as_str()), (1, "MEMCPY"));
    }
}
