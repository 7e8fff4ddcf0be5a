//! `narrows placement`: what it costs to be away from the NIC's node, on this host and its peer.

use super::study::run::{New, begin, reach_hosts};
use crate::args::{PlacementArgs, SessionArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_plan::placement::{Between, Matrix, NoMatrix, Wanted};
use narrows_runner::{Defined, Machines, Site};

/// Runs the command: makes a study of the machines as they are, and runs it.
pub fn run(args: &PlacementArgs) -> Result<u8, Failure> {
    let session = session(args);
    output::check_folder(&args.out)?;
    let hosts: Vec<String> = args.host.iter().cloned().collect();
    let machines = reach_hosts(&hosts, &session)?;
    let matrix = matrix(args, &machines)?;
    if args.print {
        output::print_exact(&matrix.definition)?;
        return Ok(0);
    }
    let defined = Defined::parse(&matrix.definition, false)
        .map_err(|error| Failure::of(Cause::DEFINITION, error.to_string()))?;
    note!("{}", defined.definition.about);
    let file = output::stamped(&args.out, "placement", output::now());
    let new = New {
        defined: &defined,
        text: &matrix.definition,
        written_in: None,
        file: &file,
        quick: false,
        seed: args.seed,
        baseline: None,
        session: &session,
    };
    begin(&new, machines)
}

/// What is common with `narrows study run`.
fn session(args: &PlacementArgs) -> SessionArgs {
    SessionArgs {
        peer: args.host.iter().cloned().collect(),
        port: args.port,
        key: args.key.clone(),
        at: Vec::new(),
        dry_run: args.dry_run,
        tui: false,
        format: args.format.clone(),
        demands: args.demands.clone(),
    }
}

fn matrix(args: &PlacementArgs, machines: &Machines) -> Result<Matrix, Failure> {
    let wanted = Wanted {
        minutes: args.minutes,
        seconds: args.seconds,
        repeats: args.repeats,
        flows: args.parallel,
        nics: args.nic.clone(),
        threads: args.threads.into(),
        beside: args.memory_load.clone(),
        prices: args.price.clone(),
    };
    let Site { host, peers, interface, .. } = &machines.site;
    let there = peers.first().map_or(host, |far| &far.host);
    let interface = interface.as_deref();
    let between = Between { here: host, there, interface, far_interface: None };
    Matrix::of(&wanted, &between).map_err(|why| {
        let cause = match why {
            NoMatrix::TooShort { .. } => Cause::NO_TIME,
            NoMatrix::NoNic(_) | NoMatrix::NoLink | NoMatrix::NoPriced(_) => Cause::NO_PLACE,
        };
        Failure::of(cause, why.to_string())
    })
}
