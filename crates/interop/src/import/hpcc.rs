//! HPC Challenge: the summary of its output file.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of hpcc is recognised and read.
pub static TOOL: Tool = Tool { name: "hpcc", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("Begin of Summary section.") && text.contains("StarSTREAM_Copy=")
}

/// What it computes: the workload, the processes at once, the key, and flop/s in one of it.
const FLOATING_POINT: [(&str, &str, &str, f64); 4] = [
    ("linpack", "together", "HPL_Tflops", 1e12),
    ("dgemm", "one", "SingleDGEMM_Gflops", 1e9),
    ("dgemm", "all", "StarDGEMM_Gflops", 1e9),
    ("fft", "together", "MPIFFT_Gflops", 1e9),
];

/// What concerns processors, memory and network of its summary.
fn parse(text: &str) -> Result<Output, Unusable> {
    let summary =
        text.split("Begin of Summary section.").nth(1).ok_or(Unusable::Lacks("summary"))?;
    let value = |key: &str| {
        let mut lines = summary.lines().filter_map(|line| line.trim().split_once('='));
        let value = lines.find(|(name, _)| *name == key)?.1.parse::<f64>().ok();
        // What was not run is -1: of one process all between two.
        value.filter(|value| *value >= 0.0)
    };
    let mut runs = Vec::new();
    for (kind, processes, key, flops) in FLOATING_POINT {
        if let Some(rate) = value(key) {
            let run = Run::new(kind).level("processes", processes);
            runs.push(run.figure("rate", Some(rate * flops), Unit::FlopsPerSecond));
        }
    }
    for kernel in ["Copy", "Scale", "Add", "Triad"] {
        for (processes, key) in [("one", "SingleSTREAM"), ("all", "StarSTREAM")] {
            if let Some(rate) = value(&format!("{key}_{kernel}")) {
                let run = Run::new(format!("memory-{}", kernel.to_lowercase()));
                let run = run.level("processes", processes);
                runs.push(run.figure("rate", Some(rate * 1e9), Unit::BytesPerSecond));
            }
        }
    }
    if let Some(us) = value("AvgPingPongLatency_usec") {
        let run = Run::new("mpi-pingpong-latency").level("length", 8);
        runs.push(run.figure("average", Some(us * 1e3), Unit::Nanos));
    }
    if let Some(rate) = value("AvgPingPongBandwidth_GBytes") {
        let run = Run::new("mpi-pingpong").level("length", 2_000_000);
        runs.push(run.figure("average", Some(rate * 8e9), Unit::BitsPerSecond));
    }
    let version = ["VersionMajor", "VersionMinor", "VersionMicro"]
        .map(|key| value(key).map(|n| n.to_string()));
    let version: Option<Vec<String>> = version.into_iter().collect();
    nothing(runs, version.map(|parts| parts.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// hpcc 1.5.0 of Debian 12 on one process: what needs two was not run, and is no failed run.
    #[test]
    fn one_process_has_floating_point_rates_and_no_ping_pong() {
        let text = "Begin of Summary section.\nVersionMajor=1\nVersionMinor=5\nVersionMicro=0\n\
            HPL_Tflops=0.00385068\nStarDGEMM_Gflops=3.44952\nSingleDGEMM_Gflops=3.58027\n\
            StarSTREAM_Copy=30.4185\nMPIFFT_Gflops=5.01652\nAvgPingPongLatency_usec=-1\n\
            AvgPingPongBandwidth_GBytes=-1\nEnd of Summary section.\n";
        let runs = parse(text).expect("runs").runs;
        let told: Vec<(&str, &str, f64)> = runs
            .iter()
            .filter(|run| run.figures[0].unit == Unit::FlopsPerSecond)
            .map(|run| {
                (run.kind.as_str(), run.levels[0].level.as_str(), run.figures[0].value.round())
            })
            .collect();
        assert_eq!(
            told,
            [
                ("linpack", "together", 3_850_680_000.0),
                ("dgemm", "one", 3_580_270_000.0),
                ("dgemm", "all", 3_449_520_000.0),
                ("fft", "together", 5_016_520_000.0),
            ]
        );
        assert!(runs.len() == 5 && runs.iter().all(|run| run.failed.is_none()), "{runs:?}");
    }

    #[test]
    fn a_summary_is_read() {
        let text = "noise\nBegin of Summary section.\nVersionMajor=1\nVersionMinor=5\nVersionMicro=0\n\
            StarSTREAM_Copy=5.5\nSingleSTREAM_Copy=11.25\nAvgPingPongLatency_usec=1.5\n\
            AvgPingPongBandwidth_GBytes=9\nEnd of Summary section.\n";
        let output = parse(text).expect("runs");
        assert_eq!(output.version.as_deref(), Some("1.5.0"));
        let values: Vec<f64> = output.runs.iter().map(|run| run.figures[0].value).collect();
        assert_eq!(values, [11.25e9, 5.5e9, 1500.0, 72e9]);
    }
}
