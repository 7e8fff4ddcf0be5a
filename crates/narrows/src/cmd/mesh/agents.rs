//! The agents of a mesh: those that are there already, that ssh brings, or that a step of the Slurm
//! job or the launcher of an MPI starts; and who of them cannot be had.

use super::{Called, Crew, check_for_launcher};
use crate::args::{MeshArgs, Starter};
use crate::cause::Cause;
use crate::cmd::launcher::{Launcher, Start};
use crate::cmd::{calling, own_binary};
use crate::failure::Failure;
use narrows_control::key::Key;
use narrows_control::{Calling, ControlError, Reached, reach, wire};
use narrows_model::host::Host;
use narrows_runner::Crowd;
use narrows_runner::launch::Brought;
use narrows_runner::launch::mpirun::{self, Launched};
use narrows_runner::launch::srun::{self, Order, Seen, Step};
use narrows_workloads::harness::files;
use std::sync::atomic::AtomicBool;

/// What each agent costs of open files: one side of its connection listens, the other speaks.
const FILES_EACH: usize = 2;
/// Pipes to the ssh that holds an agent: its input and what it says.
const PIPES_OF_SSH: usize = 2;
/// Pipes to the launcher that holds an agent: its input, what it says and what it complains of.
const PIPES_OF_LAUNCHER: usize = 3;

/// Agents that end when this is dropped.
pub enum Held {
    /// They are not ours to end, or there are none.
    Nobody,
    #[allow(dead_code)]
    Ssh(Vec<Brought>),
    #[allow(dead_code)]
    Step(Step),
    #[allow(dead_code)]
    Launched(Launched),
}

/// What each host is called by, or why nobody is to be called there.
type Names = Vec<Result<String, Failure>>;

/// Reaches all agents at once; those that cannot be had cost their own pairs.
pub fn call(args: &MeshArgs, names: Vec<String>, stop: &AtomicBool) -> Result<Called, Failure> {
    let given = args.key.given()?;
    let key = match (args.start, given) {
        // One that nobody has seen, for these agents alone.
        (Some(_), given) => given.map_or_else(Key::random, Ok)?,
        (None, given) => calling::key_for(&names, given)?,
    };
    let calling = Calling { port: args.port.unwrap_or(wire::PORT), family: None, key };
    // Before the first pipe: agents that are started hold some as long as they are there.
    files::allow(files_each(args.start) * names.len());
    let (called, held) = match args.start {
        Some(Starter::Srun) => by_srun(&names, &calling, stop)?,
        Some(Starter::Mpirun) => by_mpirun(&names, &calling, stop)?,
        None => by_ssh(&names, &calling)?,
    };
    let there: Vec<String> = called.iter().flatten().cloned().collect();
    let mut reached = reach(&there, &calling).into_iter();
    let (mut peers, mut hosts, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    let mut first: Option<Failure> = None;
    for (name, called) in names.iter().zip(called) {
        let met = called.and_then(|_| met(reached.next()));
        let (peer, host, why) = match met {
            Ok(Reached { peer, host }) => (Some(peer), host, None),
            Err(why) => {
                // The words of who started it name the host.
                let says = why.says().trim_start_matches(&format!("{name}: ")).to_owned();
                note!("{name}: {says}");
                first.get_or_insert(why);
                (None, Host::default(), Some(says))
            }
        };
        peers.push(peer);
        hosts.push(host);
        gone.push(why);
    }
    let crowd = Crowd { names, peers, gone };
    match first {
        Some(why) if !crowd.is_enough() => Err(why),
        _ => Ok((Crew::Agents(crowd), hosts, held)),
    }
}

/// Open files that each agent costs by who starts it. One step starts all: its pipes are few.
fn files_each(start: Option<Starter>) -> usize {
    FILES_EACH
        + match start {
            Some(Starter::Srun) => 0,
            Some(Starter::Mpirun) => PIPES_OF_LAUNCHER,
            None => PIPES_OF_SSH,
        }
}

/// Those that are there, and those that ssh brings.
fn by_ssh(names: &[String], calling: &Calling) -> Result<(Names, Held), Failure> {
    let (called, brought) = calling::bring_each(names, calling)?;
    let called = called.into_iter().map(|one| one.map_err(Failure::from));
    Ok((called.collect(), Held::Ssh(brought)))
}

/// One on each node of the job, all by one step.
fn by_srun(
    names: &[String],
    calling: &Calling,
    stop: &AtomicBool,
) -> Result<(Names, Held), Failure> {
    let binary = own_binary()?;
    let order = Order { binary: &binary, key: &calling.key, port: calling.port, stop };
    let (called, step) = srun::start(names, &order, &mut tell)?;
    let called = called.into_iter().map(|one| one.map_err(Failure::from));
    Ok((called.collect(), Held::Step(step)))
}

/// One on each host, each by a launcher of an MPI.
fn by_mpirun(
    names: &[String],
    calling: &Calling,
    stop: &AtomicBool,
) -> Result<(Names, Held), Failure> {
    check_for_launcher(names)?;
    let binary = own_binary()?;
    let launcher = Launcher::find(None, stop)?;
    let command = |host: &String| {
        let hosts = std::slice::from_ref(host);
        let start = Start { ranks: 1, hosts, joined: None, bind: false, passed: &[], more: &[] };
        Ok((host.clone(), launcher.command(&start)?))
    };
    let hosts = names.iter().map(command).collect::<Result<Vec<_>, Failure>>()?;
    let order = mpirun::Order { binary: &binary, key: &calling.key, port: calling.port, stop };
    let (called, launched) = mpirun::start(&hosts, &order, &mut tell)?;
    let called = called.into_iter().map(|one| one.map_err(Failure::from));
    Ok((called.collect(), Held::Launched(launched)))
}

fn tell(seen: Seen<'_>) {
    match seen {
        Seen::Come(come, count) => note!("{come} of {count} agents listen"),
        Seen::Srun(line) => note!("{line}"),
    }
}

/// An agent that was called, which may exchange data with others.
fn met(reached: Option<Result<Reached, ControlError>>) -> Result<Reached, Failure> {
    let one = reached.ok_or_else(|| Failure::of(Cause::RUNS_FAILED, "it was not called"))??;
    one.peer.can_meet()?;
    Ok(one)
}
