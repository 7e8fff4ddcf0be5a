//! Intel MPI Benchmarks: a table a test, a row a size of message.

use super::{Output, Run, Tool, Unusable, nothing, rows};
use narrows_model::units::Unit;

/// How output of imb is recognised and read.
pub static TOOL: Tool = Tool { name: "imb", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("MPI Benchmarks") && text.contains("#bytes #repetitions")
}

/// One run a message size of each benchmark. Of times over processes the average counts; the time
/// of a ping-pong is half of its round trip. A benchmark is made with several numbers of processes
/// in one output: they are no repeats of each other.
fn parse(text: &str) -> Result<Output, Unusable> {
    let mut runs = Vec::new();
    let version = text.split("MPI Benchmarks ").nth(1).and_then(|rest| rest.split(',').next());
    for section in text.split("# Benchmarking ").skip(1) {
        // Sections without sizes, such as that of barriers, have no rows.
        let name = section.split_whitespace().next().unwrap_or("unknown").to_lowercase();
        let ranks = section
            .lines()
            .find_map(|line| line.trim().strip_prefix("# #processes =")?.split_whitespace().next());
        for (heading, rows) in
            rows(section, |line| line.contains("#bytes") && line.contains("#rep"))
        {
            runs.extend(rows.iter().map(|row| run(&name, ranks, &heading, row)));
        }
    }
    nothing(runs, version.map(|text| text.trim().to_owned()))
}

fn run(name: &str, ranks: Option<&str>, heading: &str, row: &[f64]) -> Run {
    let columns: Vec<&str> = heading.split_whitespace().collect();
    let at = |wanted: &[&str]| {
        let column = columns.iter().position(|column| wanted.contains(column))?;
        row.get(column).copied()
    };
    let run = Run::new(format!("mpi-{name}-latency"))
        .level("length", row.first().copied().unwrap_or_default())
        .figure("time", at(&["t_avg[usec]", "t[usec]"]).map(|us| us * 1e3), Unit::Nanos)
        .figure("rate", at(&["Mbytes/sec"]).map(|m| m * 8e6), Unit::BitsPerSecond);
    match ranks {
        Some(ranks) => run.level("ranks", ranks),
        None => run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_runs() {
        let text = "# Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# Benchmarking PingPong\n\
            #bytes #repetitions      t[usec]   Mbytes/sec\n  0    1000    0.61    0.00\n   \
            1024         1000         1.61       600.00\n\n# All\n";
        let output = parse(text).expect("runs");
        assert_eq!(output.version.as_deref(), Some("2019 Update 6"));
        assert_eq!(output.runs[1].kind.as_str(), "mpi-pingpong-latency");
        assert_eq!(output.runs[1].figures[0].value, 1610.0);
        assert_eq!(output.runs[1].figures[1].value, 4.8e9);
    }

    /// Times of one benchmark with two and with four processes were taken for repeats of one cell,
    /// and what follows a section without sizes for the one before it.
    #[test]
    fn numbers_of_processes_are_cells_and_barriers_shift_nothing() {
        let text = "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n\
            # Benchmarking Barrier\n# #processes = 4\n\
            #repetitions t_min[usec] t_max[usec] t_avg[usec]\n\
            1000 1.0 2.0 1.5\n\n\
            # Benchmarking Allreduce\n# #processes = 2\n\
            # ( 2 additional processes waiting in MPI_Barrier)\n\
            #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n 8 1000 0.5 0.7 0.6\n\n\
            # Benchmarking Allreduce\n# #processes = 4\n\
            #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n 8 1000 1.5 1.7 1.6\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!(runs.len(), 2);
        for (run, (ranks, time)) in runs.iter().zip([("2", 600.0), ("4", 1600.0)]) {
            assert_eq!(run.kind.as_str(), "mpi-allreduce-latency");
            assert_eq!((run.levels[1].level.as_str(), run.figures[0].value), (ranks, time));
        }
        assert_ne!(runs[0].levels, runs[1].levels);
    }
}
