//! `narrows packets`: packets a second and their loss, to a host or between two namespaces.

use super::direct;
use super::measurement::{Measurement, meet};
use super::packets_here;
use super::study::run::{New, begin, reach_hosts};
use crate::args::{PacketsArgs, PeerArgs, SearchArgs, SessionArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use narrows_host::Root;
use narrows_hostctl::namespaces::Namespaces;
use narrows_model::calls;
use narrows_model::load::Bind;
use narrows_model::options::{flows, packets, places};
use narrows_model::packets::PacketRate;
use narrows_model::study::Search;
use narrows_model::study_kind::StudyKind;
use narrows_model::workload::Workload;
use narrows_plan::study::{Settings, StudyError, Unsaid, is_raw_there, unsaid};
use narrows_plan::zero_loss::ZeroLoss;
use narrows_predict::Said;
use narrows_report::wire::{Asked, Frame, standing};
use narrows_runner::Defined;

pub fn run(args: &PacketsArgs) -> Result<u8, Failure> {
    let mut settings = args.told.of_load(&Workload::Packets);
    let ports = ports(args)?;
    let is_local = args.peer.hosts.is_empty();
    if let Some(tool) = settings.engine() {
        return by_tool(args, settings, &tool.tool);
    }
    let is_raw_there = is_raw_there(&settings);
    let is_raw = is_local || is_raw_there;
    if is_raw && args.search.back_to_back.is_some() && settings.told(&flows::SENDER).is_none() {
        // How long they are the search chooses.
        settings.tell(&flows::SENDER, calls::RING.to_owned());
    }
    if is_local && settings.lent().is_some() {
        let says = "--peer-nic is an interface of another host: name HOST";
        return Err(Failure::of(Cause::PORTS, says));
    }
    if is_local && args.peer.ipv6 {
        let says = "-6 is of the path to HOST: packets between two ends here are of IPv4";
        return Err(Failure::of(Cause::LIMIT, says));
    }
    if is_raw {
        settings.steadiest_here();
        settings.fastest_here();
    }
    if let Some(nic) = args.nic.as_ref().filter(|_| ports.is_some()) {
        settings.tell(&places::BIND, nic.clone());
        settings.tell(&flows::BIDIRECTIONAL, true);
    }
    if is_searched(args) {
        return searched(args, settings);
    }
    if ports.is_some() || is_local {
        return here(args, &settings, ports.as_ref());
    }
    to_host(args, settings)
}

/// Both ends are on this host: two ports that a cable joins, or two namespaces.
fn here(
    args: &PacketsArgs,
    settings: &Settings,
    ports: Option<&[String; 2]>,
) -> Result<u8, Failure> {
    let Some(ports) = ports else {
        return packets_here::between_namespaces(args, settings);
    };
    check_raw(args, settings)?;
    packets_here::check_ports(ports)?;
    for port in ports {
        say_wire_rate(port, args, settings)?;
    }
    packets_here::between_ports(args, settings)
}

/// Has an outside generator send in place of ours.
fn by_tool(args: &PacketsArgs, mut settings: Settings, tool: &str) -> Result<u8, Failure> {
    if args.search.zero_loss || args.search.back_to_back.is_some() {
        let says =
            format!("{tool} is given one rate, and a search tries many: it is of our senders");
        return Err(Failure::of(Cause::GENERATOR, says));
    }
    if args.slices.interval.is_some() {
        let says = format!("what {tool} sends is counted over the whole window, in no slices");
        return Err(Failure::of(Cause::GENERATOR, says));
    }
    let ports = ports(args)?;
    if let (Some(nic), Some(_)) = (&args.nic, &ports) {
        settings.tell(&places::BIND, nic.clone());
    }
    if ports.is_none() && !args.peer.hosts.is_empty() {
        let says = format!("{tool} sends between namespaces or two ports (--nic eth0,eth1)");
        return Err(Failure::of(Cause::GENERATOR, says));
    }
    here(args, &settings, ports.as_ref())
}

/// The two ports of this host that send to each other, where two are named.
fn ports(args: &PacketsArgs) -> Result<Option<[String; 2]>, Failure> {
    let Some(nic) = &args.nic else { return Ok(None) };
    let ports = Bind::of_ports(nic).and_then(|bind| Some([bind.device?, bind.cable?]));
    let wrong = match (&ports, args.peer.hosts.is_empty()) {
        (Some(_), true) | (None, false) => return Ok(ports),
        (Some(_), false) => "--nic names two ports of this host, which send to each other: no HOST",
        (None, true) => {
            "--nic names an interface toward HOST, or two ports of this host: --nic eth0,eth1"
        }
    };
    Err(Failure::of(Cause::PORTS, wrong))
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
    let is_between_namespaces = peer.hosts.is_empty() && settings.ports().is_none();
    if is_between_namespaces {
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
    let search = search_of(search, most);
    let wanted = ZeroLoss { settings, search, frames_bytes, is_local: is_between_namespaces };
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
        written_in: None,
        file: &file,
        quick: false,
        seed: None,
        baseline: None,
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
        demands: peer.out.demands.clone(),
    }
}

fn is_searched(args: &PacketsArgs) -> bool {
    args.search.zero_loss || args.search.back_to_back.is_some()
}

/// Raw frames leave on a wire only on an interface and at a rate that were named.
fn check_raw(args: &PacketsArgs, settings: &Settings) -> Result<(), Failure> {
    if args.peer.hosts.is_empty() && settings.ports().is_none() {
        return Ok(());
    }
    match unsaid(&bound(args, settings)) {
        None => Ok(()),
        // Of one host the agent says what it lends.
        Some(Unsaid::Lent) if !is_searched(args) && args.peer.hosts.len() == 1 => Ok(()),
        Some(unsaid) => Err(Failure::of(Cause::RAW_PACKETS, unsaid.to_string())),
    }
}

/// The settings with the interface that was named.
fn bound(args: &PacketsArgs, settings: &Settings) -> Settings {
    let mut named = settings.clone();
    if let Some(nic) = &args.nic {
        named.tell(&places::BIND, nic.clone());
    }
    named
}

/// To a host that runs an agent.
fn to_host(args: &PacketsArgs, settings: Settings) -> Result<u8, Failure> {
    check_raw(args, &settings)?;
    let mut peer = args.peer.clone();
    peer.bind = args.nic.clone().or(peer.bind);
    if let Some(nic) = &args.nic {
        say_wire_rate(nic, args, &settings)?;
    }
    let is_lent_untold = unsaid(&bound(args, &settings)) == Some(Unsaid::Lent);
    let mut measurement = Measurement {
        interval: args.slices.interval,
        ..Measurement::of(StudyKind::Packets, &peer, settings)
    };
    let met = meet(&measurement)?;
    if is_lent_untold {
        measurement.settings.tell(&packets::PEER_NIC, only_one(met.far.interfaces())?);
    }
    direct::run_met(measurement, met)
}

/// The interface that the other host lends, where that is one.
fn only_one(mut lent: Vec<String>) -> Result<String, Failure> {
    match (lent.pop(), lent.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(last), false) => {
            lent.push(last);
            let says = format!("HOST lends {}: say --peer-nic", lent.join(" and "));
            Err(Failure::of(Cause::RAW_PACKETS, says))
        }
        (None, _) => {
            let says = "HOST lends no interface for frames, so its end can be no raw one";
            Err(Failure::of(Cause::NOT_LENT, says))
        }
    }
}

/// Says what this server does of the wire's rate through the interface.
fn say_wire_rate(nic: &str, args: &PacketsArgs, settings: &Settings) -> Result<(), Failure> {
    let host = narrows_host::read(&Root::live());
    let frame = match settings.told(&packets::IMIX) {
        Some(true) => Frame::Imix,
        _ => Frame::Bytes(settings.message_bytes().0),
    };
    let said: Said = args.set.iter().cloned().collect();
    let asked = Asked { host: &host, analysis: None, also: None, said: &said, nic: Some(nic) };
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

fn limit(why: StudyError) -> Failure {
    Failure::of(Cause::LIMIT, why.to_string())
}
