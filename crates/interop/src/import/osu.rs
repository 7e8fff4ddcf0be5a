//! OSU micro-benchmarks, and the Python ones that mpi4py has after them.

use super::{Output, Run, Tool, Unusable, mpi4py, nothing, rows};
use narrows_model::units::Unit;

/// How output of osu is recognised and read.
pub static TOOL: Tool = Tool { name: "osu", recognises, parse };

fn recognises(text: &str) -> bool {
    title(text).is_some() && text.contains("# Size") && !mpi4py::recognises(text)
}

/// What stands behind `# OSU MPI` (mpi4py: `# MPI`): name, `Test`, version.
fn title(text: &str) -> Option<&str> {
    let titles = text.lines().map(str::trim).filter(|line| line.contains(" Test"));
    titles
        .into_iter()
        .find_map(|line| line.strip_prefix("# OSU MPI").or_else(|| line.strip_prefix("# MPI ")))
}

/// A bandwidth whose column is headed as a latency (`osu_bw.py` of mpi4py 4.1) is either: refused.
fn contradiction(name: &str, heading: &str) -> Result<(), Unusable> {
    let time = heading.contains("us)") || heading.contains("us]");
    if time && name.contains("bandwidth") {
        return Err(Unusable::Contradicts);
    }
    Ok(())
}

fn parse(text: &str) -> Result<Output, Unusable> {
    let title = title(text).ok_or(Unusable::Lacks("title of OSU's"))?;
    let (name, version) = title.split_once(" Test").unwrap_or((title, ""));
    let name = name.trim().to_lowercase().replace([' ', '_'], "-");
    let version = version.trim().trim_start_matches('v');
    let mut runs = Vec::new();
    for (heading, rows) in rows(text, |line| line.trim_start().starts_with("# Size")) {
        contradiction(&name, &heading)?;
        for row in rows {
            let value = row.get(1).copied();
            let run = if heading.contains("(us)") || heading.contains("[us]") {
                let name = name.trim_end_matches("-latency").trim_end_matches("latency");
                let kind = format!("mpi-{name}-latency").replace("--", "-");
                Run::new(kind).figure("time", value.map(|us| us * 1e3), Unit::Nanos)
            } else {
                Run::new(format!("mpi-{name}")).figure(
                    "rate",
                    value.map(|m| m * 8e6),
                    Unit::BitsPerSecond,
                )
            };
            runs.push(run.level("length", row.first().copied().unwrap_or_default()));
        }
    }
    nothing(runs, (!version.is_empty()).then(|| version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpi4pys_are_read_and_its_contradiction_is_refused() {
        let text = "# MPI Latency Test\n# Size [B]        Latency [us]\n         0      0.51\n";
        let run = &parse(text).expect("runs").runs[0];
        assert_eq!((run.kind.as_str(), run.figures[0].value), ("mpi-latency", 510.0));
        let text = text.replace("MPI Latency", "MPI Bandwidth");
        assert!(matches!(parse(&text), Err(Unusable::Contradicts)));
    }

    #[test]
    fn latency_and_bandwidth_are_read() {
        let text =
            "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0       1.21\n8   1.25\n";
        let output = parse(text).expect("runs");
        assert_eq!((output.runs.len(), output.runs[1].kind.as_str()), (2, "mpi-latency"));
        assert_eq!(output.runs[1].figures[0].value, 1250.0);
        let text =
            "# OSU MPI Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n65536   12000.5\n";
        let run = &parse(text).expect("runs").runs[0];
        assert_eq!((run.kind.as_str(), run.figures[0].value), ("mpi-bandwidth", 96_004_000_000.0));
    }
}
