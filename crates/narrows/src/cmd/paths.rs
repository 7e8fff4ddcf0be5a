//! `narrows paths`: whether a path inside this host is slower than its like, from each RDMA device
//! to each node's memory, from device to device, and from port to port.

use super::study::run::{New, begin, reach_hosts};
use crate::args::{KeyArgs, PathsArgs, SessionArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_plan::paths::{NoPaths, Paths, Wanted};
use narrows_runner::{Defined, Machines};
use narrows_workloads::packets::ring;

/// Runs the command: makes a study of this host's paths, and runs it.
pub fn run(args: &PathsArgs) -> Result<u8, Failure> {
    let session = session(args);
    if !args.print {
        output::check_folder(&args.out)?;
    }
    let machines = reach_hosts(&[], &session)?;
    let paths = paths(args, &machines)?;
    if let Some(ports) = args.cable.as_ref().filter(|_| !args.print && !args.dry_run) {
        frames_allowed(ports)?;
    }
    for why in &paths.unmeasured {
        note!("not measured: {}", why.says());
    }
    if args.print {
        output::print_exact(&paths.definition)?;
        return Ok(0);
    }
    let defined = Defined::parse(&paths.definition, false)
        .map_err(|error| Failure::of(Cause::DEFINITION, error.to_string()))?;
    let file = output::stamped(&args.out, "paths", output::now());
    let new = New {
        defined: &defined,
        text: &paths.definition,
        written_in: None,
        file: &file,
        quick: false,
        seed: args.seed,
        baseline: None,
        session: &session,
    };
    begin(&new, machines)
}

/// Fails where this process may not send frames over a cable: each run would fail for the same
/// reason.
fn frames_allowed([one, other]: &[String; 2]) -> Result<(), Failure> {
    ring::allowed().map_err(|why| {
        let says = format!("--cable {one},{other}: packets of narrows' own making: {why}");
        Failure::of(Cause::NO_RAW_FRAMES, says)
    })
}

/// What is common with `narrows study run`.
fn session(args: &PathsArgs) -> SessionArgs {
    SessionArgs {
        peer: Vec::new(),
        port: narrows_control::wire::PORT,
        key: KeyArgs::default(),
        at: Vec::new(),
        dry_run: args.dry_run,
        tui: false,
        format: args.format.clone(),
        demands: args.demands.clone(),
    }
}

fn paths(args: &PathsArgs, machines: &Machines) -> Result<Paths, Failure> {
    let wanted = Wanted {
        minutes: args.minutes,
        seconds: args.seconds,
        repeats: args.repeats,
        devices: args.device.clone(),
        cable: args.cable.clone(),
        buffer: args.buffer.clone(),
        sleeps: args.events,
    };
    Paths::of(&wanted, &machines.site.host).map_err(|why| {
        let cause = match why {
            NoPaths::TooShort { .. } => Cause::NO_TIME,
            NoPaths::NoDevice(_) => Cause::NO_DEVICE,
            NoPaths::NoPort(_) => Cause::PORTS,
            NoPaths::Nothing(_) => Cause::NO_PATH,
        };
        Failure::of(cause, why.to_string())
    })
}
