//! `narrows neighbours`: what memory jobs on this host and its traffic cost each other.

use super::study::run::{New, begin, reach_hosts};
use crate::args::{NeighboursArgs, SessionArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_hostctl::alone::Alone;
use narrows_plan::neighbours::{JOB_ALONE, Neighbours, NoNeighbours, Wanted};
use narrows_runner::{Defined, Machines};

/// Runs the command: makes a study of the host as it is, and runs it.
pub fn run(args: &NeighboursArgs) -> Result<u8, Failure> {
    let session = session(args);
    output::check_folder(&args.out)?;
    let hosts: Vec<String> = args.host.iter().cloned().collect();
    let machines = reach_hosts(&hosts, &session)?;
    let study = study(args, &machines)?;
    if args.print {
        output::print_exact(&study.definition)?;
        return Ok(0);
    }
    let defined = Defined::parse(&study.definition, false)
        .map_err(|error| Failure::of(Cause::DEFINITION, error.to_string()))?;
    // A dry run measures nothing.
    let _alone = if args.dry_run { None } else { Some(alone()?) };
    note!("{}", defined.definition.about);
    let file = output::stamped(&args.out, "neighbours", output::now());
    let new = New {
        defined: &defined,
        text: &study.definition,
        written_in: None,
        file: &file,
        quick: false,
        seed: args.seed,
        baseline: Some(JOB_ALONE),
        session: &session,
    };
    begin(&new, machines)
}

/// Two on one host would each be the other's neighbour.
fn alone() -> Result<Alone, Failure> {
    Alone::take().map_err(|why| Failure::of(Cause::NOT_ALONE, why.to_string()))
}

/// What is common with `narrows study run`.
fn session(args: &NeighboursArgs) -> SessionArgs {
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

fn study(args: &NeighboursArgs, machines: &Machines) -> Result<Neighbours, Failure> {
    let wanted = Wanted {
        minutes: args.minutes,
        seconds: args.seconds,
        repeats: args.repeats,
        cores: args.cores,
        jobs: args.job.clone(),
        traffic: args.traffic.clone(),
        node: args.node,
    };
    let site = &machines.site;
    let of = Neighbours::of(&wanted, &site.host, site.interface.as_deref(), site.is_one_machine());
    of.map_err(|why| {
        let cause = match why {
            NoNeighbours::TooShort { .. } => Cause::NO_TIME,
            NoNeighbours::NoCpu(_) | NoNeighbours::NoHost => Cause::NO_PLACE,
        };
        Failure::of(cause, why.to_string())
    })
}
