//! `narrows latency`: round trips before, beside and after streams in both directions.

use super::demands;
use super::direct;
use super::measurement::{Measurement, under_load};
use crate::args::LatencyArgs;
use crate::failure::Failure;
use crate::output::{self, Planned};
use crate::{cmd, stop};
use narrows_control::key;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::namespaces::{MTU_BYTES, Namespaces};
use narrows_hostctl::netns;
use narrows_model::options::runs;
use narrows_model::study::Study;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndSpec, NetworkPath};
use narrows_model::{Bytes, Nanos};
use narrows_plan::blocks;
use narrows_plan::latency::Wanted;
use narrows_plan::study::Settings;
use narrows_runner::controller::{Controller, Ends};
use narrows_store::Store;
use std::net::Ipv4Addr;

/// MTU of the loopback device, where it cannot be read.
const LOOPBACK_MTU: Bytes = Bytes(65_536);

/// Runs the command, to a host or on this one.
pub fn run(args: &LatencyArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("latency");
    }
    let wanted = wanted(args);
    // Before anybody is called.
    under_load(&wanted, NetworkPath::Peer, EndSpec::anywhere)?;
    if args.peer.hosts.is_empty() { alone(args, &wanted) } else { to_host(args, &wanted) }
}

pub(super) fn wanted(args: &LatencyArgs) -> Wanted {
    Wanted {
        trips: args.over.workload(),
        streams: args.parallel,
        phase: Nanos::from_seconds(args.seconds),
        every: Nanos::from_millis(args.interval.into()),
        congestion: args.congestion.clone(),
    }
}

/// To a host that runs an agent.
fn to_host(args: &LatencyArgs, wanted: &Wanted) -> Result<u8, Failure> {
    direct::run(of_host(args, wanted))
}

/// What is asked for of a host.
pub(super) fn of_host<'a>(args: &'a LatencyArgs, wanted: &'a Wanted) -> Measurement<'a> {
    let mut settings = Settings::default();
    settings.tell(&runs::LOAD, wanted.trips.to_string());
    Measurement {
        beside: Some(wanted),
        ..Measurement::of(StudyKind::Latency, &args.peer, settings)
    }
}

/// Between two namespaces of this host, or over loopback.
fn alone(args: &LatencyArgs, wanted: &Wanted) -> Result<u8, Failure> {
    let out = &args.peer.out;
    output::check_folder(&out.out)?;
    if let Some(name) = &args.peer.netns {
        netns::enter(name)?;
    }
    let stop = stop::flag()?;
    let launcher = Launcher::plain(cmd::own_binary()?);
    let host = narrows_host::read(&Root::live());
    let namespaces = Namespaces::make();
    if let Err(error) = &namespaces {
        note!("measuring over loopback, which is not a network: {error}");
    }
    let namespaces = namespaces.ok();
    let (path, mtu) = match namespaces {
        Some(_) => (NetworkPath::Namespaces, Bytes(MTU_BYTES.into())),
        None => (NetworkPath::Loopback, LOOPBACK_MTU),
    };
    let trials = under_load(wanted, path, EndSpec::anywhere)?;
    let seed = key::chance().map(narrows_plan::seed_from)?;
    let study = Study {
        began_unix_ns: output::now(),
        path_mtu_bytes: Some(mtu),
        cache_bytes: host.last_level_cache_bytes(),
        together: true,
        ..Study::new(StudyKind::Latency, path, args.peer.repeats, seed)
    };
    let file = output::study_path(out, study.command.as_str(), study.began_unix_ns);
    let mut draft = Store::draft(&file, &study, &host)?;
    draft.put_trials(&trials)?;
    let store = draft.publish_numbered()?;
    let file = store.path().to_owned();
    let local = namespaces.as_ref();
    let mut controller = Controller {
        launcher,
        ends: Ends::Local {
            address: local.map_or(Ipv4Addr::LOCALHOST.into(), Namespaces::receiver_address),
            receiver_namespace: local.map(Namespaces::receiver_path),
            sender_namespace: local.map(Namespaces::sender_path),
        },
        together: true,
        stop: &stop,
        onlooker: None,
    };
    let steps = blocks(1, study.repeats, seed);
    let planned = Planned { study: &study, trials: &trials, steps: &steps, store: &store };
    let end = output::run_course(&mut controller, &planned, out)?;
    let verdict = output::present(&file, out, None)?;
    output::made(&file, "");
    output::nothing_measured(&file)?;
    demands::judged(&file, &out.demands, output::exit_code(&end, verdict))
}
