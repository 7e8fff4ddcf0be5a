//! `narrows check`: the main job.

use super::demands;
use super::measurement::background;
use super::peer_check;
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::output::{self, Planned};
use crate::{cmd, stop};
use narrows_control::key;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::namespaces::{MTU_BYTES, Namespaces};
use narrows_model::study::Study;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::NetworkPath;
use narrows_model::{Bytes, Nanos};
use narrows_plan::{blocks, check as plan, choose};
use narrows_runner::controller::{Controller, Ends};
use narrows_store::Store;
use narrows_workloads::rdma;
use std::net::Ipv4Addr;

/// MTU of the loopback device, where it cannot be read.
const LOOPBACK_MTU: Bytes = Bytes(65_536);

/// Runs the command, with a second host or alone.
pub fn run(args: &CheckArgs) -> Result<u8, Failure> {
    args.peer.as_ref().map_or_else(|| alone(args), |peer| peer_check::run(args, peer))
}

fn alone(args: &CheckArgs) -> Result<u8, Failure> {
    let html = args.out.out.join("report.html");
    if let Some(file) = &args.from {
        let verdict = output::present(file, &args.out, None)?;
        return demands::judged(file, &args.out.demands, verdict);
    }
    output::check_folder(&args.out.out)?;
    let stop = stop::flag()?;
    let binary = cmd::own_binary()?;
    let host = narrows_host::read(&Root::live());
    let spot = choose(&host);
    let namespaces = Namespaces::make();
    if let Err(error) = &namespaces {
        note!("measuring over loopback, which is not a network: {error}");
    }
    let namespaces = namespaces.ok();
    let path = if namespaces.is_some() { NetworkPath::Namespaces } else { NetworkPath::Loopback };
    let window = args.seconds.map_or(plan::WINDOW, Nanos::from_seconds);
    let load = args.memory_load.as_ref();
    let load = load.map(|load| background(load, &host)).transpose()?;
    let trials = plan::trials(&host, &spot, path, window, load.as_ref(), rdma::has_fabric("tcp"));
    let trials = if args.profile { plan::profiled(trials) } else { trials };
    let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let repeats = args.repeats.unwrap_or_else(|| plan::repeats(trials.len()));
    let study = Study {
        began_unix_ns: output::now(),
        path_mtu_bytes: Some(match path {
            NetworkPath::Namespaces => Bytes(MTU_BYTES.into()),
            _ => LOOPBACK_MTU,
        }),
        cache_bytes: spot.cache_bytes,
        memory_node: spot.node,
        ..Study::new(StudyKind::Check, path, repeats, seed)
    };
    let file = output::study_path(&args.out, "check", study.began_unix_ns);
    let mut draft = Store::draft(&file, &study, &host)?;
    draft.put_trials(&trials)?;
    let store = draft.publish_numbered()?;
    let file = store.path().to_owned();
    let steps = blocks(trials.len(), repeats, seed);
    let mut controller = Controller {
        launcher: Launcher::plain(binary),
        ends: Ends::Local {
            address: namespaces
                .as_ref()
                .map_or(Ipv4Addr::LOCALHOST.into(), Namespaces::receiver_address),
            receiver_namespace: namespaces.as_ref().map(Namespaces::receiver_path),
            sender_namespace: namespaces.as_ref().map(Namespaces::sender_path),
        },
        together: false,
        stop: &stop,
        onlooker: None,
    };
    let planned = Planned { study: &study, trials: &trials, steps: &steps, store: &store };
    let end = output::run_course(&mut controller, &planned, &args.out)?;
    let verdict = output::present(&file, &args.out, Some(&html))?;
    output::made(&file, &format!(", report {}", html.display()));
    output::nothing_measured(&file)?;
    demands::judged(&file, &args.out.demands, output::exit_code(&end, verdict))
}
