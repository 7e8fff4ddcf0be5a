//! Packets of which both ends are on this host: between two namespaces, or between two ports that a
//! cable joins.

use super::demands;
use crate::args::PacketsArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output::{self, Planned};
use crate::{cmd, stop};
use narrows_control::key;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::namespaces::{MTU_BYTES, Namespaces};
use narrows_interop::engines::{self, NoEngine};
use narrows_model::host::Host;
use narrows_model::options::runs;
use narrows_model::study::Study;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndHost, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use narrows_plan::study::{Settings, StudyError};
use narrows_plan::{Spot, blocks, direct as plan};
use narrows_runner::controller::{Controller, Ends};
use narrows_store::Store;
use std::net::Ipv4Addr;

/// Between two namespaces of this host: nothing leaves it.
pub fn between_namespaces(args: &PacketsArgs, settings: &Settings) -> Result<u8, Failure> {
    output::check_folder(&args.peer.out.out)?;
    let namespaces = Namespaces::make()?;
    let frame = settings.message_bytes();
    let mtu = u32::try_from(frame.0.saturating_sub(18)).unwrap_or(MTU_BYTES).max(MTU_BYTES);
    namespaces.set_mtu(mtu)?;
    let ends = Ends::Local {
        address: namespaces.receiver_address(),
        receiver_namespace: Some(namespaces.receiver_path()),
        sender_namespace: Some(namespaces.sender_path()),
    };
    let path_mtu_bytes = Some(Bytes(mtu.into()));
    measured(args, settings, Here { path: NetworkPath::Namespaces, path_mtu_bytes, ends })
}

/// Both are interfaces of this host that a cable can lead to.
pub fn check_ports(ports: &[String]) -> Result<(), Failure> {
    let host = narrows_host::read(&Root::live());
    let Some(port) = ports.iter().find(|port| host.nic(port).is_none()) else {
        return Ok(());
    };
    let index = Root::live().text(&format!("sys/class/net/{port}/ifindex"));
    let says = match index.value() {
        Some(_) => format!("no cable leads to the interface {port}"),
        None => format!("this host has no interface {port}"),
    };
    Err(Failure::of(Cause::PORTS, says))
}

/// Between two ports of this host, which a cable joins: each sends to the other.
pub fn between_ports(args: &PacketsArgs, settings: &Settings) -> Result<u8, Failure> {
    output::check_folder(&args.peer.out.out)?;
    let address = Ipv4Addr::LOCALHOST.into();
    let ends = Ends::Local { address, receiver_namespace: None, sender_namespace: None };
    measured(args, settings, Here { path: NetworkPath::Cable, path_mtu_bytes: None, ends })
}

/// What joins the two ends, and where they are.
struct Here<'a> {
    path: NetworkPath,
    path_mtu_bytes: Option<Bytes>,
    ends: Ends<'a>,
}

fn measured(args: &PacketsArgs, settings: &Settings, here: Here<'_>) -> Result<u8, Failure> {
    let stop = stop::flag()?;
    let host = narrows_host::read(&Root::live());
    let spot = narrows_plan::choose(&host);
    let trial = plan::sliced(trial(settings, &spot, here.path)?, args.slices.interval);
    let trials = [by_tool(trial, settings)?];
    demands::check(&trials, &args.peer.out.demands)?;
    let study = study(args, &spot, &here)?;
    let (file, store) = begun(args, &study, &host, &trials)?;
    let steps = blocks(trials.len(), study.repeats, study.seed);
    let mut controller = Controller {
        launcher: Launcher::plain(cmd::own_binary()?),
        ends: here.ends,
        together: false,
        stop: &stop,
        onlooker: None,
    };
    let planned = Planned { study: &study, trials: &trials, steps: &steps, store: &store };
    let end = output::run_course(&mut controller, &planned, &args.peer.out)?;
    let verdict = output::present(&file, &args.peer.out, None)?;
    output::made(&file, "");
    output::nothing_measured(&file)?;
    demands::judged(&file, &args.peer.out.demands, output::exit_code(&end, verdict))
}

/// The file of results before its first run, and where it is.
fn begun(
    args: &PacketsArgs,
    study: &Study,
    host: &Host,
    trials: &[Trial],
) -> Result<(std::path::PathBuf, Store), Failure> {
    let file = output::study_path(&args.peer.out, "packets", study.began_unix_ns);
    let mut draft = Store::draft(&file, study, host)?;
    draft.put_trials(trials)?;
    let store = draft.publish_numbered()?;
    Ok((store.path().to_owned(), store))
}

/// The one trial, held to the limits of an order before anything is started.
fn trial(settings: &Settings, spot: &Spot, path: NetworkPath) -> Result<Trial, Failure> {
    let params = settings.params(spot.cache_bytes, Bytes(0));
    let params = params.map_err(limit)?;
    let mut ends = spot.pair.clone().ends(params.is_reverse());
    let near = ends.iter_mut().find(|end| end.host == EndHost::Controller);
    if let Some(near) = near.filter(|_| path == NetworkPath::Cable) {
        near.bind = settings.bind();
    }
    let window = settings.told(&runs::SECONDS).map_or(plan::WINDOW, Nanos::from_seconds);
    let made = plan::trial_of(Workload::Packets, params, ends, path, window);
    let trial = match settings.told(&runs::WARMUP_SECONDS) {
        Some(seconds) => plan::warmed(made, Nanos::from_seconds(seconds)),
        None => made,
    };
    // A generator is told less than our ends are, and is held to that by what it takes.
    if settings.engine().is_none() {
        let job = narrows_runner::controller::sender_job(&trial)?;
        narrows_workloads::check(&job).map_err(|why| Failure::of(Cause::LIMIT, why.to_string()))?;
    }
    Ok(trial)
}

/// The trial by the outside generator that was named, where one was, and can send it.
fn by_tool(trial: Trial, settings: &Settings) -> Result<Trial, Failure> {
    let Some(engine) = settings.engine() else { return Ok(trial) };
    let trial = narrows_plan::by_tool(trial, engine);
    match engines::engine(&trial) {
        Ok(_) => Ok(trial),
        Err(why @ NoEngine::NotInstalled { .. } | why @ NoEngine::Lacks { .. }) => {
            Err(Failure::of(Cause::NO_GENERATOR, why.to_string()))
        }
        Err(why) => Err(Failure::of(Cause::GENERATOR, why.to_string())),
    }
}

fn limit(why: StudyError) -> Failure {
    Failure::of(Cause::LIMIT, why.to_string())
}

/// The head of the file.
fn study(args: &PacketsArgs, spot: &Spot, here: &Here<'_>) -> Result<Study, Failure> {
    Ok(Study {
        began_unix_ns: output::now(),
        path_mtu_bytes: here.path_mtu_bytes,
        cache_bytes: spot.cache_bytes,
        memory_node: spot.node,
        ..Study::new(
            StudyKind::Packets,
            here.path,
            args.peer.repeats,
            key::chance().map(narrows_plan::seed_from)?,
        )
    })
}
