//! `narrows packets`: packets a second and their loss, to a host or between two namespaces.

use super::demands;
use super::direct;
use super::measurement::Measurement;
use super::study::run::{New, begin, reach_hosts};
use crate::args::{PacketsArgs, PeerArgs, SearchArgs, SessionArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output::{self, Planned};
use crate::{cmd, stop};
use narrows_control::key;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::namespaces::{MTU_BYTES, Namespaces};
use narrows_model::options::{flows, packets, places, runs};
use narrows_model::packets::PacketRate;
use narrows_model::study::{Search, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use narrows_plan::study::{Settings, StudyError, Unsaid, unsaid};
use narrows_plan::zero_loss::ZeroLoss;
use narrows_plan::{Spot, blocks, direct as plan};
use narrows_predict::Said;
use narrows_report::wire::{Asked, Frame, standing};
use narrows_runner::Defined;
use narrows_runner::controller::{Controller, Ends};
use narrows_store::Store;

/// What sends and receives between namespaces, without a word of the user: the fastest.
const LOCAL: &str = "xdp";
/// What sends a mix of sizes there.
const LOCAL_MIX: &str = "af-xdp";
/// What sends bursts there.
const LOCAL_BURSTS: &str = "ring";

pub fn run(args: &PacketsArgs) -> Result<u8, Failure> {
    let mut settings = args.told.of_load(&Workload::Packets);
    let is_local = args.peer.hosts.is_empty();
    let is_of_bursts =
        args.search.back_to_back.is_some() || settings.told(&packets::BURST).is_some();
    if is_local {
        let mixes = settings.told(&packets::IMIX) == Some(true);
        let sender = match (is_of_bursts, mixes) {
            (true, _) => LOCAL_BURSTS,
            (false, true) => LOCAL_MIX,
            (false, false) => LOCAL,
        };
        for (way, fastest) in [(&flows::SENDER, sender), (&flows::RECEIVER, LOCAL)] {
            if settings.told(way).is_none() {
                settings.tell(way, fastest.to_owned());
            }
        }
    }
    if args.search.zero_loss || args.search.back_to_back.is_some() {
        return searched(args, settings);
    }
    if is_local { between_namespaces(args, &settings) } else { to_host(args, settings) }
}

/// Makes a study of the search, and runs it.
fn searched(args: &PacketsArgs, mut settings: Settings) -> Result<u8, Failure> {
    let (search, peer) = (&args.search, &args.peer);
    let rate = settings.packet_rate().map_err(limit)?;
    let most = match (search.back_to_back, rate) {
        // A burst has the sender's own rate, which is named all the same where frames are raw.
        (Some(_), None | Some(PacketRate::Max)) => 0.0,
        (Some(_), Some(_)) => {
            let says = "--back-to-back sends bursts as fast as they go, and --rate is a number";
            return Err(Failure::of(Cause::BURST_RATE, says));
        }
        (None, Some(PacketRate::PerSecond(most))) => most,
        (None, _) => {
            let says = "--zero-loss needs the highest rate that is tried, in packets a second";
            return Err(Failure::of(Cause::SEARCH_RATE, says));
        }
    };
    output::check_folder(&peer.out.out)?;
    check_raw(args, &settings)?;
    // The search chooses the rates up to that one.
    settings.take(&packets::RATE);
    let is_local = peer.hosts.is_empty();
    if is_local {
        // Where there can be none, a search would go over the loopback device unsaid.
        Namespaces::make()?;
    }
    if let Some(nic) = args.nic.as_ref().or(peer.bind.as_ref()) {
        settings.tell(&places::BIND, nic.clone());
    }
    let frames_bytes = if search.sizes.is_empty() {
        vec![settings.message_bytes().0]
    } else {
        search.sizes.clone()
    };
    let wanted = ZeroLoss { settings, search: search_of(search, most), frames_bytes, is_local };
    let definition = wanted.definition();
    let text = definition.map_err(|error| Failure::of(Cause::DEFINITION, error.to_string()))?;
    let defined = Defined::parse(&text, false)
        .map_err(|error| Failure::of(Cause::DEFINITION, error.to_string()))?;
    note!("{}", defined.definition.about);
    let session = session(peer);
    let machines = reach_hosts(&peer.hosts, &session)?;
    let file = output::study_path(&peer.out, wanted.name(), output::now());
    let new = New {
        defined: &defined,
        text: &text,
        file: &file,
        quick: false,
        seed: None,
        session: &session,
    };
    begin(&new, machines)
}

fn search_of(args: &SearchArgs, most: f64) -> Search {
    Search {
        rate_max_packets_per_second: most,
        burst_max_frames: args.back_to_back,
        throughput_packets_per_second: args.throughput,
        rate_min_packets_per_second: None,
        resolution_percent: args.resolution,
        loss_percent: args.loss,
        confidence_percent: 95.0,
        runs_max: args.runs_max,
    }
}

/// What is common with `narrows study run`.
fn session(peer: &PeerArgs) -> SessionArgs {
    SessionArgs {
        peer: Vec::new(),
        port: peer.port.unwrap_or(narrows_control::wire::PORT),
        key: peer.key.clone(),
        at: Vec::new(),
        dry_run: false,
        tui: false,
        format: peer.out.format().to_owned(),
    }
}

/// Raw frames leave for another host only on an interface and at a rate that were named.
fn check_raw(args: &PacketsArgs, settings: &Settings) -> Result<(), Failure> {
    if args.peer.hosts.is_empty() {
        return Ok(());
    }
    let mut named = settings.clone();
    if let Some(nic) = &args.nic {
        named.tell(&places::BIND, nic.clone());
    }
    match unsaid(&named) {
        // The agent says so itself, by its limits.
        None | Some(Unsaid::Agent) => Ok(()),
        Some(unsaid) => Err(Failure::of(Cause::RAW_PACKETS, unsaid.to_string())),
    }
}

/// To a host that runs an agent.
fn to_host(args: &PacketsArgs, settings: Settings) -> Result<u8, Failure> {
    check_raw(args, &settings)?;
    let mut peer = args.peer.clone();
    peer.bind = args.nic.clone().or(peer.bind);
    if let Some(nic) = &args.nic {
        say_wire_rate(nic, args, &settings)?;
    }
    direct::run(Measurement {
        interval: args.slices.interval,
        ..Measurement::of(StudyKind::Packets, &peer, settings)
    })
}

/// Says what this server does of the wire's rate through the interface.
fn say_wire_rate(nic: &str, args: &PacketsArgs, settings: &Settings) -> Result<(), Failure> {
    let host = narrows_host::read(&Root::live());
    let frame = match settings.told(&packets::IMIX) {
        Some(true) => Frame::Imix,
        _ => Frame::Bytes(settings.message_bytes().0),
    };
    let said: Said = args.set.iter().cloned().collect();
    let asked = Asked { host: &host, analysis: None, said: &said, nic: Some(nic) };
    let one = match standing(&asked, frame) {
        Ok(one) => one,
        // What was said is wrong; what merely is not known ends no measurement.
        Err(why) if !args.set.is_empty() => {
            return Err(Failure::of(Cause::NO_SERVER, why.to_string()));
        }
        Err(why) => {
            note!("{nic} at the wire's rate: unknown: {why}");
            return Ok(());
        }
    };
    let rate = one.wire_mpps.map_or(String::new(), |wire| format!(", {wire:.2} M packets/s"));
    note!("{nic} at the wire's rate{rate}: {}", one.verdict);
    Ok(())
}

/// Between two namespaces of this host: nothing leaves it.
fn between_namespaces(args: &PacketsArgs, settings: &Settings) -> Result<u8, Failure> {
    output::check_folder(&args.peer.out.out)?;
    let stop = stop::flag()?;
    let host = narrows_host::read(&Root::live());
    let namespaces = Namespaces::make()?;
    let frame = settings.message_bytes();
    let mtu = u32::try_from(frame.0.saturating_sub(18)).unwrap_or(MTU_BYTES).max(MTU_BYTES);
    namespaces.set_mtu(mtu)?;
    let spot = narrows_plan::choose(&host);
    let trials = [plan::sliced(trial(settings, &spot)?, args.slices.interval)];
    let study = study(args, &spot, mtu)?;
    let file = output::study_path(&args.peer.out, "packets", study.began_unix_ns);
    let mut draft = Store::draft(&file, &study, &host)?;
    draft.put_trials(&trials)?;
    let store = draft.publish_numbered()?;
    let file = store.path().to_owned();
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
        onlooker: None,
    };
    let planned = Planned { study: &study, trials: &trials, steps: &steps, store: &store };
    let end = output::run_course(&mut controller, &planned, &args.peer.out)?;
    let verdict = output::present(&file, &args.peer.out, None)?;
    output::made(&file, "");
    output::nothing_measured(&file)?;
    demands::judged(&file, &args.peer.out.demands, output::exit_code(&end, verdict))
}

/// The one trial, held to the limits of an order before anything is started.
fn trial(settings: &Settings, spot: &Spot) -> Result<Trial, Failure> {
    let params = settings.params(spot.cache_bytes, Bytes(0));
    let params = params.map_err(limit)?;
    let ends = spot.pair.clone().ends(params.is_reverse());
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

fn limit(why: StudyError) -> Failure {
    Failure::of(Cause::LIMIT, why.to_string())
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

/// The head of the file.
fn study(args: &PacketsArgs, spot: &Spot, mtu_bytes: u32) -> Result<Study, Failure> {
    Ok(Study {
        began_unix_ns: output::now(),
        path_mtu_bytes: Some(Bytes(mtu_bytes.into())),
        cache_bytes: spot.cache_bytes,
        memory_node: spot.node,
        ..Study::new(
            StudyKind::Packets,
            NetworkPath::Namespaces,
            args.peer.repeats,
            key::chance().map(narrows_plan::seed_from)?,
        )
    })
}
