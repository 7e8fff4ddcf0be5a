//! mpi4py's own benchmarks, `python3 -m mpi4py.bench`: `ringtest`, and from version 4 `pingpong`.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::units::Unit;

/// How output of mpi4py is recognised and read.
pub static TOOL: Tool = Tool { name: "mpi4py", recognises, parse };

/// What stands over the table of a ping-pong. OSU's benchmarks in Python have the same first line,
/// and head their columns otherwise.
const TABLE: &str = "# Size [B]  Bandwidth [MB/s]";
/// What stands above that.
const TITLE: &str = "# MPI PingPong Test";
/// How the line of a ring begins.
const RING: &str = "time for ";

pub(super) fn recognises(text: &str) -> bool {
    text.lines().any(|line| ring(line).is_some())
        || (text.lines().any(|line| line.trim() == TITLE)
            && text.lines().any(|line| line.trim().starts_with(TABLE)))
}

/// One run a size of message of a ping-pong, and one a ring. The version is told by neither.
fn parse(text: &str) -> Result<Output, Unusable> {
    let mut runs = Vec::new();
    let mut in_table = false;
    for line in text.lines().map(str::trim) {
        if let Some(run) = ring(line) {
            runs.push(run);
        }
        let begins = line.starts_with(TABLE);
        let row = if in_table && !begins { row(line) } else { None };
        in_table = begins || row.is_some();
        runs.extend(row);
    }
    nothing(runs, None)
}

/// `1024   59.05 | 1.7339837e-05 ± 3.8417e-04    10000`: half of a round trip on average, and what
/// that is as a rate; with `--no-stats` the rate alone.
fn row(line: &str) -> Option<Run> {
    let (table, statistics) = line.split_once('|').unwrap_or((line, ""));
    let mut columns = table.split_whitespace();
    let length: u64 = columns.next()?.parse().ok()?;
    let rate: f64 = columns.next()?.parse().ok()?;
    if columns.next().is_some() {
        return None;
    }
    let run = Run::new("mpi-pingpong-latency").level("length", length);
    let seconds = statistics.split_whitespace().next().and_then(|mean| mean.parse::<f64>().ok());
    Some(
        match seconds {
            Some(seconds) => run.figure("average", Some(seconds * 1e9), Unit::Nanos),
            None if !statistics.is_empty() => run.figure("average", None, Unit::Nanos),
            // Two digits behind the point of a rate are too few for the time of a short message.
            None => Run { kind: "mpi-pingpong".into(), ..run },
        }
        .figure("rate", Some(rate * 8e6), Unit::BitsPerSecond),
    )
}

/// `time for 1000 loops = 0.00134821 seconds (2 processes, 100 bytes)`: of a message that goes
/// around once a loop.
fn ring(line: &str) -> Option<Run> {
    let (loops, rest) = line.trim().strip_prefix(RING)?.split_once(" loops = ")?;
    let (seconds, rest) = rest.split_once(" seconds (")?;
    let (ranks, rest) = rest.split_once(" processes, ")?;
    let length = rest.strip_suffix(" bytes)")?;
    let loops: u64 = loops.parse().ok().filter(|loops| *loops > 0)?;
    let [ranks, length]: [Option<u64>; 2] = [ranks, length].map(|number| number.parse().ok());
    let seconds = seconds.parse::<f64>().ok().map(|seconds| 1e9 * seconds / loops as f64);
    let run = Run::new("mpi-ring-latency").level("length", length?).level("ranks", ranks?);
    Some(run.figure("average", seconds, Unit::Nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::recognise;

    /// mpi4py 4.1.2 over Open MPI 4.1.4, two ranks.
    const PINGPONG: &str = "# MPI PingPong Test\n\
        # Size [B]  Bandwidth [MB/s] | Time Mean [s] ± StdDev [s]  Samples\n         \
        1              0.07 | 1.3453208e-05 ± 4.5520e-04    10000\n      \
        1024             59.05 | 1.7339837e-05 ± 3.8417e-04    10000\n";

    /// mpi4py 3.1.4 of Debian 12, two ranks.
    const RINGTEST: &str = "time for 1000 loops = 0.00134821 seconds (2 processes, 100 bytes)\n";

    fn told(text: &str) -> Vec<(String, String, f64)> {
        assert_eq!(recognise(text).expect("mpi4py's").name, "mpi4py");
        let runs = parse(text).expect("runs").runs;
        let levels = |run: &Run| {
            run.levels.iter().map(|one| one.level.as_str()).collect::<Vec<_>>().join(" of ")
        };
        let told = runs.iter().map(|run| {
            assert_eq!(run.failed, None);
            (run.kind.as_str().to_owned(), levels(run), run.figures[0].value.round())
        });
        told.collect()
    }

    #[test]
    fn a_ping_pong_is_half_a_round_trip_a_size() {
        let of = |kind: &str, length: &str, value| (kind.to_owned(), length.to_owned(), value);
        let latency = "mpi-pingpong-latency";
        assert_eq!(told(PINGPONG), [of(latency, "1", 13_453.0), of(latency, "1024", 17_340.0)]);
        // With --no-stats there is the rate alone.
        let bare = "# MPI PingPong Test\n# Size [B]  Bandwidth [MB/s]\n      1024        59.05\n";
        assert_eq!(told(bare), [of("mpi-pingpong", "1024", 472_400_000.0)]);
        let both = parse(PINGPONG).expect("runs").runs[1].figures[1].clone();
        assert_eq!((both.value, both.unit), (472_400_000.0, Unit::BitsPerSecond));
    }

    #[test]
    fn a_ring_is_the_time_of_one_turn_of_so_many_ranks() {
        let turn = ("mpi-ring-latency".to_owned(), "100 of 2".to_owned(), 1348.0);
        assert_eq!(told(RINGTEST), [turn]);
        for odd in [
            "time for 0 loops = 0.1 seconds (2 processes, 100 bytes)",
            "time for 10 loops = 0.1 seconds (2 processes)",
            "time for x loops = 0.1 seconds (2 processes, 100 bytes)",
            "time for supper",
        ] {
            assert!(!recognises(odd), "{odd}");
        }
    }

    #[test]
    fn a_row_without_its_time_has_failed_and_others_tools_rows_are_none() {
        let cut = PINGPONG.replace("1.7339837e-05", "nan");
        let runs = parse(&cut).expect("runs").runs;
        assert!(runs[0].failed.is_none() && runs[1].failed.is_some(), "{runs:?}");
        assert_eq!(row("1024 59.05 3"), None);
        assert!(matches!(parse("# MPI PingPong Test\n"), Err(Unusable::NoRun)));
    }
}
