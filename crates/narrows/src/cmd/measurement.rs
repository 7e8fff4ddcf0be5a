//! One direct measurement, before its first run.

use super::demands;
use super::far::Far;
use super::lacks;
use super::variants::{contrasts, control, sweep, with_both_ways, with_probe, with_uncopied};
use crate::args::{PeerArgs, SocketArgs};
use crate::cause::Cause;
use crate::failure::Failure;
use crate::output;
use crate::{cmd, stop};
use narrows_control::address;
use narrows_control::key as keys;
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::guard::Guard;
use narrows_hostctl::netns;
use narrows_model::container::Container;
use narrows_model::host::{Host, Nic};
use narrows_model::interfaces::Interfaces;
use narrows_model::load::{Bind, CpuList, Params};
use narrows_model::options::{flows, runs};
use narrows_model::study::Study;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use narrows_plan::latency::{self, Wanted};
use narrows_plan::study::{Settings, StudyError};
use narrows_plan::{BackgroundLoad, Pattern, TwoPlaces, Unplaced, Where, direct as plan};
use narrows_runner::RunError;
use narrows_store::Store;
use narrows_workloads::harness::way;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub struct Measurement<'a> {
    /// Name of the command.
    pub command: StudyKind,
    pub peer: &'a PeerArgs,
    pub socket: Option<&'a SocketArgs>,
    /// Length of the slices, where it was told.
    pub interval: Option<Nanos>,
    /// The workload and its options, as a cell of a study has them.
    pub settings: Settings,
    /// Also without the copy to the program.
    pub copy_share: bool,
    /// Also what tells causes apart.
    pub explain: bool,
    /// Also a probe of the path, before the same is tried with one thing changed at a time.
    pub diagnose: bool,
    /// Both ways, round trips and a probe of the path.
    pub both_ways: bool,
    /// Round trips beside streams, in place of the workload alone.
    pub beside: Option<&'a Wanted>,
    /// A trial for each of these sizes; empty: one, of the options' size.
    pub sizes: Vec<Bytes>,
}

impl<'a> Measurement<'a> {
    /// The workload of the settings alone, with nothing beside it.
    pub fn of(command: StudyKind, peer: &'a PeerArgs, settings: Settings) -> Self {
        Self {
            command,
            peer,
            socket: None,
            interval: None,
            settings,
            copy_share: false,
            explain: false,
            diagnose: false,
            both_ways: false,
            beside: None,
            sizes: Vec::new(),
        }
    }
}

impl Measurement<'_> {
    fn is_iperf3(&self) -> bool {
        self.socket.is_some_and(|socket| socket.iperf3)
    }

    /// What the workload is told; `cache` is the largest last-level cache of the hosts.
    fn params(&self, cache: Bytes) -> Result<Params, Failure> {
        let params = self.settings.params(cache, Bytes(0));
        params.map_err(|why| Failure::of(Cause::LIMIT, why.to_string()))
    }

    /// The same, with datagrams of a size that nobody told in one packet each.
    fn fitting(&self, params: Params, met: &Met) -> Params {
        let settings = &self.settings;
        if settings.kind() != Workload::UDP_STREAM || settings.told(&flows::LENGTH).is_some() {
            return params;
        }
        let is_ipv6 = met.own_address.to_canonical().is_ipv6();
        let usual = params.message_bytes;
        let message_bytes = plan::datagram_bytes(usual, met.far.path_mtu(), is_ipv6);
        Params { message_bytes, ..params }
    }

    /// The background load on this host.
    fn background(&self, host: &Host) -> Result<Option<EndSpec>, Failure> {
        let load = self.settings.background();
        let load = load.map_err(|why| Failure::of(Cause::NO_PLACE, why.to_string()))?;
        load.map(|load| background(&load, host)).transpose()
    }

    fn pattern(&self) -> Result<Option<Pattern>, Failure> {
        self.settings.pattern().map_err(|why| Failure::of(Cause::PATTERN, why.to_string()))
    }

    /// The ends of a pattern, none of which runs here, in their places on hosts that are known.
    fn ends_of(&self, pattern: Pattern, known: &[Host]) -> Result<Vec<EndSpec>, Failure> {
        let settings = &self.settings;
        let here = [
            (settings.interrupts().map_err(slip)?.is_some(), "--irq"),
            (settings.background().map_err(slip)?.is_some(), "--memory-load"),
        ];
        if let Some((_, option)) = here.into_iter().find(|(told, _)| *told) {
            let says = format!("{option} is for an end on this host; --pattern has none here");
            return Err(Failure::of(Cause::PATTERN, says));
        }
        let names: Vec<&str> = self.peer.hosts.iter().map(String::as_str).collect();
        let numbers: Vec<u32> = (0..).take(names.len()).collect();
        let ends = pattern.ends(&numbers);
        let ends = ends.map_err(|why| Failure::of(Cause::PATTERN, format!("--pattern: {why}")))?;
        let places = settings.places_by_end(&names).map_err(slip)?;
        let hosts: Vec<(&str, Option<&Host>)> =
            names.iter().enumerate().map(|(at, name)| (*name, known.get(at))).collect();
        let flows = settings.told(&flows::PARALLEL).unwrap_or(1);
        let placed = places.put(ends, &hosts, flows);
        placed.map_err(|why| Failure::of(Cause::NO_PLACE, why.to_string()))
    }

    /// How this host's end is started.
    pub fn launcher(&self) -> Result<Launcher, Failure> {
        if let Some((inside, socket)) =
            self.socket.and_then(|one| Some((one.inside.as_ref()?, one)))
        {
            inside.check_network(&socket.container_net).map_err(|why| {
                let text = format!("--container-net {}: {why}", socket.container_net);
                Failure::of(Cause::HOSTS_NETWORK, text)
            })?;
        }
        Ok(Launcher { inside: self.container(), ..Launcher::plain(cmd::own_binary()?) })
    }

    /// What this host's end runs in.
    fn container(&self) -> Option<Container> {
        let socket = self.socket?;
        Some(socket.inside.clone()?.in_network(&socket.container_net))
    }

    /// Its name, as a condition of the trial.
    fn container_name(&self) -> Option<String> {
        self.container().map(|container| container.to_string())
    }
}

/// The largest last-level cache of the hosts.
fn largest_cache(host: &Host, peers: &[Host]) -> Bytes {
    let caches = peers.iter().map(Host::last_level_cache_bytes);
    caches.fold(host.last_level_cache_bytes(), Bytes::max)
}

/// A direct measurement before its first run: the hosts have met, and the file is there.
pub struct Opened {
    /// The other side.
    pub far: Far,
    /// The host that narrows runs on, as it was read.
    pub host: Host,
    /// Those at the other side, where they describe themselves.
    pub peer_hosts: Vec<Host>,
    /// The head of the file.
    pub study: Study,
    /// Trials, one a cell, in their order.
    pub trials: Vec<Trial>,
    pub file: PathBuf,
    /// The file itself, open.
    pub store: Store,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
    /// Puts interrupts back.
    _put_back: Option<Guard>,
}

impl Opened {
    /// The hosts, for another measurement once this one is over.
    pub fn met_again(self) -> Result<Met, Failure> {
        let Self { far, host, peer_hosts, study, .. } = self;
        let (own_address, _) = far.addresses().ok_or(RunError::NoPeer)?;
        Ok(Met {
            far,
            host,
            peer_hosts,
            path: study.path,
            interfaces: study.interfaces,
            own_address,
        })
    }
}

/// The hosts of a direct measurement when they have met, before anything is planned.
pub struct Met {
    /// The other side.
    pub far: Far,
    /// The host that narrows runs on, as it was read.
    pub host: Host,
    /// Those at the other side, where they describe themselves.
    pub peer_hosts: Vec<Host>,
    pub path: NetworkPath,
    /// Interfaces of this host that lead to the others.
    pub interfaces: Interfaces,
    own_address: IpAddr,
}

impl Met {
    /// What is known of the host of an end.
    fn host_of(&self, at: EndHost) -> Option<&Host> {
        match at {
            EndHost::Controller => Some(&self.host),
            EndHost::Peer(number) => self.peer_hosts.get(number as usize),
        }
    }

    fn sides(&self) -> Sides<'_> {
        Sides {
            host: &self.host,
            peer_hosts: &self.peer_hosts,
            interface: self.interfaces.to(EndHost::Peer(0)),
            round_trip: self.far.round_trip(),
        }
    }
}

/// Reaches the other side.
pub fn meet(measurement: &Measurement<'_>) -> Result<Met, Failure> {
    let args = measurement.peer;
    output::check_folder(&args.out.out)?;
    // A network namespace has settings of its own under /proc/sys/net.
    if let Some(name) = &args.netns {
        netns::enter(name)?;
    }
    let host = narrows_host::read(&Root::live());
    // Before anybody is called.
    let pattern = measurement.pattern()?;
    pattern.map(|pattern| measurement.ends_of(pattern, &[])).transpose()?;
    let far = Far::find(args, measurement.is_iperf3(), measurement.explain)?;
    let peer_hosts = far.hosts();
    let (own_address, address) = far.addresses().ok_or(RunError::NoPeer)?;
    // A peer with our own address is reached over loopback, whatever the address looks like.
    let path = if own_address == address { NetworkPath::Loopback } else { NetworkPath::Peer };
    let ways = far.all_addresses().into_iter().map(|(own, there)| way::toward(there, own));
    let interfaces: Interfaces = ways.collect();
    Ok(Met { far, host, peer_hosts, path, interfaces, own_address })
}

/// Reaches the other side and makes the file.
pub fn open(measurement: &Measurement<'_>) -> Result<Opened, Failure> {
    open_met(measurement, meet(measurement)?)
}

/// Makes the file of a measurement between hosts that have met.
pub fn open_met(measurement: &Measurement<'_>, met: Met) -> Result<Opened, Failure> {
    let params = measurement.params(largest_cache(&met.host, &met.peer_hosts))?;
    let params = measurement.fitting(params, &met);
    let sides = met.sides();
    let mut trials = measurement.varied(measurement.trials(&params, met.path, &sides)?, &sides)?;
    if measurement.beside.is_some() {
        // All at one agent.
        trials.iter().try_for_each(|trial| met.far.can(std::slice::from_ref(trial)))?;
    }
    met.far.can(&trials)?;
    trials.retain(|trial| trial.kind != Workload::PathProbe || met.far.can_probe(trial));
    if measurement.pattern()?.is_some() {
        met.far.can_meet()?;
    }
    lacks::check_memory(&trials, |at| met.host_of(at))?;
    lacks::check_bind(&trials)?;
    lacks::check_container(&measurement.launcher()?)?;
    let study = measurement.study(met.path, met.interfaces.clone(), &met.far, &met.host)?;
    begin(measurement, met, study, trials)
}

/// Makes the file of what was planned between hosts that have met.
pub fn begin(
    measurement: &Measurement<'_>,
    met: Met,
    study: Study,
    trials: Vec<Trial>,
) -> Result<Opened, Failure> {
    let Met { far, host, peer_hosts, path, own_address, .. } = met;
    demands::check(&trials, &measurement.peer.out.demands)?;
    // Until here there is nothing to clean up, and a peer may be slow to answer.
    let stop = stop::flag()?;
    let folder = &measurement.peer.out;
    let file = output::study_path(folder, measurement.command.as_str(), study.began_unix_ns);
    let mut draft = Store::draft(&file, &study, &host)?;
    draft.put_trials(&trials)?;
    draft.put_peer_hosts(&peer_hosts)?;
    let store = draft.publish_numbered()?;
    let file = store.path().to_owned();
    // Of an own address the NIC that has it is meant, though packets do not pass it.
    let nic = match path {
        NetworkPath::Loopback => address::interface(own_address),
        _ => study.interfaces.to(EndHost::Peer(0)).map(str::to_owned),
    };
    let irq = trials.first().and_then(Trial::irq);
    let _put_back = steer_interrupts(irq, sides_nic(&host, nic.as_deref()))?;
    Ok(Opened { far, host, peer_hosts, study, trials, file, store, stop, _put_back })
}

impl Measurement<'_> {
    /// The head of the file of hosts that have met.
    pub fn head(&self, met: &Met) -> Result<Study, Failure> {
        self.study(met.path, met.interfaces.clone(), &met.far, &met.host)
    }

    /// The trial of these settings over a path between hosts that have met.
    pub fn trial(&self, path: NetworkPath, sides: &Sides<'_>) -> Result<Trial, Failure> {
        let params = self.params(largest_cache(sides.host, sides.peer_hosts))?;
        let trials = self.trials(&params, path, sides)?;
        trials.into_iter().next().ok_or_else(|| RunError::NoPeer.into())
    }
}

impl Measurement<'_> {
    /// The head of the file.
    fn study(
        &self,
        path: NetworkPath,
        interfaces: Interfaces,
        far: &Far,
        host: &Host,
    ) -> Result<Study, Failure> {
        let args = self.peer;
        Ok(Study {
            peer: Some(args.hosts.join(", ") + if self.is_iperf3() { " (iperf3)" } else { "" }),
            together: self.beside.is_some() || args.hosts.len() > 1 && self.pattern()?.is_none(),
            interfaces,
            began_unix_ns: output::now(),
            path_mtu_bytes: far.path_mtu(),
            cache_bytes: host.last_level_cache_bytes(),
            ..Study::new(
                self.command.clone(),
                path,
                args.repeats,
                keys::chance().map(narrows_plan::seed_from)?,
            )
        })
    }
}

fn sides_nic<'a>(host: &'a Host, interface: Option<&str>) -> Option<&'a Nic> {
    host.nic(interface?)
}

/// Sends the interrupts of the NIC where they were asked to go, until the guard is dropped.
fn steer_interrupts(cpus: Option<&CpuList>, nic: Option<&Nic>) -> Result<Option<Guard>, Failure> {
    let Some(cpus) = cpus else { return Ok(None) };
    let nic = nic.ok_or_else(|| no_interrupts("the interface to the peer is not known"))?;
    let irqs = nic.irqs.value().filter(|irqs| !irqs.is_empty());
    let irqs =
        irqs.ok_or_else(|| no_interrupts(&format!("{} has no interrupts of its own", nic.name)))?;
    let mut guard = Guard::start(&cmd::own_binary()?)?;
    let list: Vec<String> = cpus.0.iter().map(u32::to_string).collect();
    for irq in irqs {
        guard.set(&format!("/proc/irq/{}/smp_affinity_list", irq.number), &list.join(","))?;
    }
    Ok(Some(guard))
}

fn no_interrupts(why: &str) -> Failure {
    Failure::of(Cause::NO_INTERRUPTS, format!("--irq: {why}"))
}

/// The hosts of a direct measurement.
pub struct Sides<'a> {
    /// The host that narrows runs on.
    pub host: &'a Host,
    /// In order of the peers; empty where the other side does not describe itself.
    pub peer_hosts: &'a [Host],
    /// That leads to the first peer.
    pub interface: Option<&'a str>,
    /// About what a round trip takes.
    pub round_trip: Duration,
}

impl Sides<'_> {
    /// The hosts whose TCP sends the data of a trial of one peer, as far as they are known.
    fn senders(&self, params: &Params) -> Vec<&Host> {
        let far = self.peer_hosts.first().into_iter();
        match (params.is_bidirectional(), params.is_reverse()) {
            (true, _) => far.chain([self.host]).collect(),
            (_, true) => far.collect(),
            _ => vec![self.host],
        }
    }
}

impl Measurement<'_> {
    /// One trial a peer.
    fn trials(
        &self,
        params: &Params,
        path: NetworkPath,
        sides: &Sides<'_>,
    ) -> Result<Vec<Trial>, Failure> {
        let hosts = &self.peer.hosts;
        if let Some(wanted) = self.beside {
            return under_load(wanted, path, |reverse| self.bound(EndSpec::anywhere(reverse)));
        }
        if let Some(pattern) = self.pattern()? {
            let ends = self.ends_of(pattern, sides.peer_hosts)?;
            return Ok(vec![self.timed(params, ends, path, sides.round_trip)]);
        }
        hosts
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let ends = self.ends(params, sides, index)?;
                let trial = self.timed(params, ends, path, sides.round_trip);
                check(&trial)?;
                Ok(if hosts.len() > 1 { plan::with(trial, name) } else { trial })
            })
            .collect()
    }

    /// Where packets of this host's end leave from, and the other host's interface that raw frames
    /// go to.
    fn bind(&self) -> Option<Bind> {
        let own = self.peer.bind.as_deref().map(Bind::from_words)?;
        Some(Bind { lent: self.settings.lent(), ..own })
    }

    /// Ends of which this host's sends from where it was told to.
    fn bound(&self, ends: Vec<EndSpec>) -> Vec<EndSpec> {
        let bind = self.bind();
        let of = |end: EndSpec| match end.host {
            EndHost::Controller => EndSpec { bind: bind.clone(), ..end },
            EndHost::Peer(_) => end,
        };
        ends.into_iter().map(of).collect()
    }

    /// The trial of these ends, with its time line.
    fn timed(
        &self,
        params: &Params,
        ends: Vec<EndSpec>,
        path: NetworkPath,
        round_trip: Duration,
    ) -> Trial {
        let settings = &self.settings;
        let own = plan::window(&settings.kind(), params, round_trip);
        let window = settings.told(&runs::SECONDS).map_or(own, Nanos::from_seconds);
        let make = if self.is_iperf3() { plan::trial_of_iperf3 } else { plan::trial_of };
        let made = make(settings.kind(), params.clone(), ends, path, window);
        let trial = plan::sliced(made, self.interval);
        match settings.told(&runs::WARMUP_SECONDS) {
            Some(seconds) => plan::warmed(trial, Nanos::from_seconds(seconds)),
            None => trial,
        }
    }

    /// The trials, and those beside them that a share of copies or a sweep of sizes takes.
    fn varied(&self, trials: Vec<Trial>, sides: &Sides<'_>) -> Result<Vec<Trial>, Failure> {
        let senders = trials.first().map(|trial| sides.senders(&trial.params)).unwrap_or_default();
        let trials =
            if self.both_ways { with_both_ways(trials, sides.round_trip)? } else { trials };
        // A check has its probe; both are beside the trial that was asked for, which is the first.
        let beside = match (self.explain, self.both_ways) {
            (true, true) => control(&trials, &senders).into_iter().collect(),
            (true, false) => contrasts(&trials, &senders)?,
            (false, _) => Vec::new(),
        };
        let trials = if self.copy_share { with_uncopied(trials)? } else { trials };
        let trials = trials.into_iter().chain(beside).collect();
        let trials = if self.diagnose { with_probe(trials)? } else { trials };
        if self.sizes.is_empty() { Ok(trials) } else { sweep(trials, &self.sizes) }
    }

    /// Both ends, and the background load. The local ends of several peers take turns in the local
    /// CPUs.
    fn ends(
        &self,
        params: &Params,
        sides: &Sides<'_>,
        index: usize,
    ) -> Result<Vec<EndSpec>, Failure> {
        let settings = &self.settings;
        let (mut local, mut remote) = (Placement::default(), Placement::default());
        if let Some((here, there)) = settings.places().map_err(slip)? {
            (local.binding, remote.binding) = (here.binding, there.binding);
            local.cpus = cpus("-A", sides.host, here.at, sides.interface)?;
            let turn = index * params.flows() as usize % local.cpus.0.len().max(1);
            local.cpus.0.rotate_left(turn);
            remote.cpus = remote_cpus(there.at, &local.cpus, sides.peer_hosts.get(index))?;
        }
        (local.node, remote.node) = settings.nodes().map_err(slip)?;
        let irq = settings.interrupts().map_err(slip)?;
        let irq = irq.map(|place| cpus("--irq", sides.host, place, sides.interface)).transpose()?;
        let reverse = params.is_reverse();
        let (receiver, sender) = if reverse { (local, remote) } else { (remote, local) };
        let ends =
            TwoPlaces { receiver, sender }.ends(reverse).into_iter().map(|end| match end.host {
                EndHost::Peer(_) => EndSpec { host: EndHost::Peer(index as u32), ..end },
                EndHost::Controller => EndSpec {
                    bind: self.bind(),
                    irq: irq.clone(),
                    container: self.container_name(),
                    ..end
                },
            });
        Ok(ends.chain(self.background(sides.host)?).collect())
    }
}

fn slip(error: StudyError) -> Failure {
    Failure::of(Cause::NO_PLACE, error.to_string())
}

fn no_place(option: &str) -> impl Fn(Unplaced) -> Failure {
    move |why| Failure::of(Cause::NO_PLACE, format!("{option}: {why}"))
}

/// The CPUs of the peer's end.
fn remote_cpus(at: Where, local: &CpuList, peer: Option<&Host>) -> Result<CpuList, Failure> {
    match (at, peer) {
        (Where::SameCore, _) => Ok(local.clone()),
        (there, Some(peer)) => cpus("-A", peer, there, None),
        // A side that does not describe itself may have any CPU.
        (Where::Cpus(cpus), None) => Ok(CpuList(cpus)),
        (_, None) => {
            let says = "-A: the other side does not describe itself".to_owned();
            Err(Failure::of(Cause::UNKNOWN_PLACE, says))
        }
    }
}

/// The background load, within four times this host's caches and its free memory.
pub fn background(load: &BackgroundLoad, host: &Host) -> Result<EndSpec, Failure> {
    load.on(host, narrows_plan::choose(host).working_set_bytes).map_err(no_place("--memory-load"))
}

fn cpus(
    option: &str,
    host: &Host,
    place: Where,
    interface: Option<&str>,
) -> Result<CpuList, Failure> {
    narrows_plan::cpus(host, place, interface).map(CpuList).map_err(no_place(option))
}

/// Round trips beside streams both ways, the trials of one run; what cannot be had is told.
pub fn under_load(
    wanted: &Wanted,
    path: NetworkPath,
    ends: impl Fn(bool) -> Vec<EndSpec>,
) -> Result<Vec<Trial>, Failure> {
    let trials = latency::trials(wanted, path, ends);
    let trials = trials.map_err(|why| Failure::of(Cause::PHASES, why.to_string()))?;
    trials.iter().try_for_each(check)?;
    Ok(trials.into())
}

/// Refuses here what the agent would refuse there.
pub fn check(trial: &Trial) -> Result<(), Failure> {
    let job = narrows_runner::controller::sender_job(trial)?;
    narrows_workloads::check(&job)
        .map(drop)
        .map_err(|error| Failure::of(Cause::LIMIT, error.to_string()))
}

#[cfg(test)]
mod tests;
