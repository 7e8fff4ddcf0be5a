//! `narrows packets`: packets a second and their loss, to a host or between two namespaces.

use super::direct::{self, Measurement};
use crate::args::{PacketRate, PacketsArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output::{self, Planned};
use crate::{cmd, stop};
use narrows_control::key;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::namespaces::{MTU_BYTES, Namespaces};
use narrows_model::options::{flows, runs};
use narrows_model::study::Study;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{BitsPerSecond, Bytes, Nanos, SCHEMA_VERSION};
use narrows_plan::study::Settings;
use narrows_plan::{Spot, blocks, direct as plan};
use narrows_runner::controller::{Controller, Ends};
use narrows_store::Store;
use narrows_workloads::packets::{receivers, senders};

/// What sends and receives between namespaces, without a word of the user: the fastest.
const LOCAL: &str = "xdp";

/// Runs the command.
pub fn run(args: &PacketsArgs) -> Result<u8, Failure> {
    let mut settings = args.told.of_load(&Workload::Packets);
    let is_local = args.peer.hosts.is_empty();
    if is_local {
        for way in [&flows::SENDER, &flows::RECEIVER] {
            if settings.told(way).is_none() {
                settings.tell(way, LOCAL.to_owned());
            }
        }
    }
    if let Some(PacketRate::PerSecond(rate)) = args.rate {
        let frame = settings.told(&flows::LENGTH).unwrap_or(Bytes(64));
        settings.tell(&flows::BITRATE, BitsPerSecond(rate * 8.0 * frame.0 as f64));
    }
    if is_local { between_namespaces(args, &settings) } else { to_host(args, settings) }
}

/// To a host that runs an agent. Raw frames leave only on an interface and at a rate that were
/// named.
fn to_host(args: &PacketsArgs, settings: Settings) -> Result<u8, Failure> {
    let refuse = |says: &str| Err(Failure::of(Cause::RAW_PACKETS, says));
    let (sender, receiver) = (settings.told(&flows::SENDER), settings.told(&flows::RECEIVER));
    let is_raw = senders::named(sender.as_deref()).is_ok_and(|(_, _, raw)| raw);
    let counts_raw = receivers::named(receiver.as_deref()).is_ok_and(|(_, raw)| raw);
    let reverse = settings.told(&flows::REVERSE).unwrap_or(false);
    let both = settings.told(&flows::BIDIRECTIONAL).unwrap_or(false);
    let raw_here = if reverse { counts_raw } else { is_raw } || both && counts_raw;
    if raw_here && args.nic.is_none() {
        return refuse("raw packets leave and are counted only on an interface that is named");
    }
    if is_raw && args.rate.is_none() && settings.told(&flows::BITRATE).is_none() {
        return refuse("raw packets leave only at a rate that is named, if it is max");
    }
    let mut peer = args.peer.clone();
    peer.bind = args.nic.clone().or(peer.bind);
    direct::run(Measurement {
        command: "packets",
        peer: &peer,
        socket: None,
        settings,
        copy_share: false,
        both_ways: false,
        explain: false,
        diagnose: false,
        sizes: Vec::new(),
    })
}

/// Between two namespaces of this host: nothing leaves it.
fn between_namespaces(args: &PacketsArgs, settings: &Settings) -> Result<u8, Failure> {
    output::check_folder(&args.peer.out.out)?;
    let stop = stop::flag()?;
    let host = narrows_host::read(&Root::live());
    let namespaces = Namespaces::make()?;
    let frame = settings.told(&flows::LENGTH).unwrap_or(Bytes(64));
    let mtu = u32::try_from(frame.0.saturating_sub(18)).unwrap_or(MTU_BYTES).max(MTU_BYTES);
    namespaces.set_mtu(mtu)?;
    let spot = narrows_plan::choose(&host);
    let trials = [trial(settings, &spot)?];
    let study = study(args, &spot, mtu)?;
    let file = output::study_path(&args.peer.out, "packets", study.began_unix_ns);
    let mut draft = Store::draft(&file, &study, &host)?;
    draft.put_trials(&trials)?;
    let store = draft.publish()?;
    let steps = blocks(trials.len(), study.repeats, study.seed);
    let mut controller = Controller {
        launcher: Launcher::plain(cmd::own_binary()?),
        ends: Ends::Local {
            address: namespaces.receiver_address(),
            receiver_namespace: Some(namespaces.receiver_path()),
            sender_namespace: Some(namespaces.sender_path()),
        },
        together: false,
        stop: &stop,
    };
    let planned = Planned { study: &study, trials: &trials, steps: &steps, store: &store };
    let end = output::run_course(&mut controller, &planned, &args.peer.out)?;
    let verdict = output::present(&file, &args.peer.out, None)?;
    output::made(&file, "")?;
    output::nothing_measured(&file)?;
    Ok(output::exit_code(&end, verdict))
}

/// The one trial, held to the limits of an order before anything is started.
fn trial(settings: &Settings, spot: &Spot) -> Result<Trial, Failure> {
    let params = settings.params(spot.cache_bytes, Bytes(0));
    let params = params.map_err(|why| Failure::of(Cause::LIMIT, why.to_string()))?;
    let ends = spot.pair.clone().ends(params.is_reverse());
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let window = settings.told(&runs::SECONDS).map_or(plan::WINDOW, nanos);
    let made = plan::trial_of(Workload::Packets, params, ends, NetworkPath::Namespaces, window);
    let trial = match settings.told(&runs::WARMUP_SECONDS) {
        Some(seconds) => plan::warmed(made, nanos(seconds)),
        None => made,
    };
    let job = narrows_runner::controller::sender_job(&trial)?;
    narrows_workloads::check(&job).map_err(|why| Failure::of(Cause::LIMIT, why.to_string()))?;
    Ok(trial)
}

/// The head of the file.
fn study(args: &PacketsArgs, spot: &Spot, mtu_bytes: u32) -> Result<Study, Failure> {
    Ok(Study {
        schema_version: SCHEMA_VERSION,
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "packets".to_owned(),
        seed: key::chance().map(narrows_plan::seed_from)?,
        repeats: args.peer.repeats,
        path: NetworkPath::Namespaces,
        peer: None,
        title: None,
        reading: Default::default(),
        precision: None,
        spread: None,
        quick: false,
        together: false,
        interface: None,
        began_unix_ns: output::now(),
        path_mtu_bytes: Some(Bytes(mtu_bytes.into())),
        cache_bytes: spot.cache_bytes,
        memory_node: spot.node,
    })
}
