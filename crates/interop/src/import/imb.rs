//! Intel MPI Benchmarks.

use super::{Output, Run, Tool, Unusable, nothing, rows};
use narrows_model::result::Unit;

/// How output of imb is recognised and read.
pub static TOOL: Tool = Tool { name: "imb", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("MPI Benchmarks") && text.contains("#bytes #repetitions")
}

/// One run a message size of each benchmark. Of times over processes the average counts; the time
/// of a ping-pong is half of its round trip.
fn parse(text: &str) -> Result<Output, Unusable> {
    let mut runs = Vec::new();
    let mut names =
        text.split("# Benchmarking ").skip(1).filter_map(|rest| rest.split_whitespace().next());
    let version = text.split("MPI Benchmarks ").nth(1).and_then(|rest| rest.split(',').next());
    for (heading, rows) in rows(text, |line| line.contains("#bytes") && line.contains("#rep")) {
        let name = names.next().unwrap_or("unknown").to_lowercase();
        let columns: Vec<&str> = heading.split_whitespace().collect();
        let column = |wanted: &[&str]| columns.iter().position(|c| wanted.contains(c));
        let (time, rate) = (column(&["t_avg[usec]", "t[usec]"]), column(&["Mbytes/sec"]));
        for row in rows {
            let at = |column: Option<usize>| column.and_then(|column| row.get(column).copied());
            let run = Run::new(format!("mpi-{name}-latency"))
                .level("length", row.first().copied().unwrap_or_default())
                .figure("time", at(time).map(|us| us * 1e3), Unit::Nanos)
                .figure("rate", at(rate).map(|m| m * 8e6), Unit::BitsPerSecond);
            runs.push(run);
        }
    }
    nothing(runs, version.map(|text| text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_runs() {
        let text = "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# Benchmarking PingPong\n\
            #bytes #repetitions      t[usec]   Mbytes/sec\n  0    1000    0.61    0.00\n   \
            1024         1000         1.61       600.00\n\n# All\n";
        let output = parse(text).expect("runs");
        assert_eq!(output.version.as_deref(), Some("2019 Update 6"));
        assert_eq!(output.runs[1].kind.as_str(), "mpi-pingpong-latency");
        assert_eq!(output.runs[1].figures[0].value, 1610.0);
        assert_eq!(output.runs[1].figures[1].value, 4.8e9);
    }
}
