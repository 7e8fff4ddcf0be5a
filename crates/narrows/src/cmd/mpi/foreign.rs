//! One run of another program's ranks for a study that has ours beside them: the same launcher,
//! hosts and fabric. What carried its messages is not proven, since only our ranks look.

use crate::args::MpiArgs;
use crate::cause::Cause;
use crate::cmd::launcher::{How, Launcher, Start, ended, hosts, why};
use crate::failure::Failure;
use crate::stop;
use narrows_interop::engines::Told;
use narrows_interop::import;
use narrows_model::record::{External, Figure};
use narrows_model::units::Unit;
use std::time::Duration;

/// mpi4py's own benchmarks, of any version: `ringtest` of two ranks is a ping-pong, timed as a
/// whole.
const MPI4PY: &str = "mpi4py";

/// Trips of a run, and of one of messages longer than the bytes below, as the OSU benchmarks have
/// them; a tenth as many come before.
const TRIPS: u64 = 10_000;
const TRIPS_LONG: u64 = 1_000;
const LONG_BYTES: u64 = 8 << 10;

/// Runs it; `None` is that the user stopped it.
pub fn run(args: &MpiArgs) -> Result<Option<Told>, Failure> {
    let hosts = hosts(&args.hosts)?;
    let stop = stop::flag()?;
    let launcher = Launcher::find(args.launcher.as_deref(), &stop)?;
    let loaded = narrows_mpi::load(launcher.library().as_deref(), Some(launcher.flavour))?;
    let fabric = args.fabric.as_ref();
    let variables = fabric.map(|fabric| fabric.variables(launcher.flavour, &loaded.version));
    let variables = variables.transpose();
    let variables = variables.map_err(|why| Failure::of(Cause::MPI_FABRIC, why.to_string()))?;
    let variables = variables.unwrap_or_default();
    let passed: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let mut command = launcher.command(&Start {
        ranks: args.ranks,
        hosts: &hosts,
        joined: None,
        bind: false,
        passed: &passed,
        more: &args.launcher_arg,
    })?;
    command.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
    let bytes = args.sizes.first().map_or(0, |size| size.0);
    command.args(words(bytes));
    let limit = Duration::from_secs_f64(args.limit_seconds());
    let done = ended(&mut command, limit, &stop)?;
    Ok(match done.how {
        How::Stopped => None,
        How::Ended(_) if done.said().contains("No module named 'mpi4py'") => {
            let says = "mpi4py is not installed for python3: apt install python3-mpi4py";
            Some(Told::Failed(says.to_owned()))
        }
        How::Ended(status) if status.success() => Some(half_turn(&done.out)),
        _ => Some(Told::Failed(why(&done, &launcher.program, limit).says().to_owned())),
    })
}

/// What the launcher starts.
fn words(bytes: u64) -> Vec<String> {
    let trips = if bytes > LONG_BYTES { TRIPS_LONG } else { TRIPS };
    let line = format!("python3 -m mpi4py.bench ringtest -n {bytes} -l {trips} -s {}", trips / 10);
    line.split(' ').map(str::to_owned).collect()
}

/// Half of the turn between two ranks, as ping-pongs are told.
fn half_turn(printed: &str) -> Told {
    let read = import::tool(MPI4PY).map(|tool| (tool.parse)(printed));
    let run = match read {
        Some(Ok(output)) => output.runs.into_iter().next(),
        Some(Err(why)) => return Told::Failed(why.to_string()),
        None => None,
    };
    let turn = run.and_then(|run| run.figures.into_iter().next());
    let Some(turn) = turn.filter(|figure| figure.unit == Unit::Nanos) else {
        return Told::Failed("it told no time".to_owned());
    };
    Told::Measured(External {
        tool: MPI4PY.to_owned(),
        version: None,
        command: None,
        file: None,
        figures: vec![Figure { value: turn.value / 2.0, ..turn }],
        output: printed.to_owned(),
        client: None,
        packets: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_of_two_ranks_is_told_as_half_of_it() {
        let words = words(65_536).join(" ");
        assert_eq!(words, "python3 -m mpi4py.bench ringtest -n 65536 -l 1000 -s 100");
        let line = "time for 1000 loops = 0.002 seconds (2 processes, 8 bytes)\n";
        let Told::Measured(told) = half_turn(line) else { panic!("no figure") };
        assert_eq!((told.tool.as_str(), told.figures[0].value), ("mpi4py", 1000.0));
        assert_eq!((told.figures[0].name.as_str(), told.output.as_str()), ("average", line));
        assert!(matches!(half_turn("Hello, World!\n"), Told::Failed(_)));
    }
}
