//! Who takes part in a cell, on which hosts, and where there.

use super::{Coalescing, Settings, StudyError, unsaid};
use crate::{Pattern, Seat, Spot, TwoPlaces, Unplaced, Where, cpus};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::load::{Bind, CpuList, Params};
use narrows_model::options::{packets, places};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Placement};
use narrows_model::workload::Workload;
use std::ops::RangeInclusive;

/// What the kernel lets an interface have at all: the least that IPv4 must carry whole (RFC 791),
/// and the longest packet (`ETH_MIN_MTU` and `ETH_MAX_MTU`, if_ether.h).
const MTU_TAKEN: RangeInclusive<u32> = 68..=65_535;

/// A host that a study names beside the one that narrows runs on.
#[derive(Clone, Copy)]
pub struct PeerHost<'a> {
    /// As the study or the user names it.
    pub name: &'a str,
    /// What is known of it; `None` for one that is away.
    pub host: Option<&'a Host>,
    /// Interface of this host that leads to it, where it is known.
    pub interface: Option<&'a str>,
    /// Why no cell can run with it now.
    pub away: Option<&'a str>,
}

/// Where the ends of network cells may be.
pub struct Ends<'a> {
    /// The host that narrows runs on.
    pub host: &'a Host,
    /// The others; empty: both ends are on this host.
    pub peers: &'a [PeerHost<'a>],
    pub path: NetworkPath,
    /// Interface that leads to the first peer.
    pub interface: Option<&'a str>,
}

/// The hosts of one cell.
pub(super) struct Cast<'a> {
    settings: &'a Settings,
    ends: &'a Ends<'a>,
    pattern: Option<Pattern>,
    /// Numbers of the hosts beside this one, in the cell's order.
    far: Vec<usize>,
}

impl<'a> Cast<'a> {
    /// The hosts that a cell names, or those of the session: of a pattern all, else the first.
    pub fn of(settings: &'a Settings, ends: &'a Ends<'a>) -> Result<Self, StudyError> {
        let (pattern, memory) = (settings.pattern()?, settings.kind().is_memory());
        let named: Vec<usize> = settings
            .peers
            .iter()
            .map(|name| {
                let found = ends.peers.iter().position(|peer| peer.name == *name);
                found.ok_or_else(|| StudyError::new("peers", format!("there is no peer '{name}'")))
            })
            .collect::<Result<_, _>>()?;
        let session = if pattern.is_some() { ends.peers.len() } else { ends.peers.len().min(1) };
        let far = if named.is_empty() { (0..session).collect() } else { named };
        if !memory && pattern.is_none() && far.len() > 1 {
            let why = format!("of {} hosts: say who sends to whom", far.len());
            return Err(StudyError::new(places::PATTERN.declared.key, why));
        }
        Ok(Self { settings, ends, pattern: pattern.filter(|_| !memory), far })
    }

    fn peers(&self) -> impl Iterator<Item = &PeerHost<'a>> {
        self.far.iter().filter_map(|at| self.ends.peers.get(*at))
    }

    /// The largest last-level cache of the hosts.
    pub fn cache_bytes(&self) -> Bytes {
        let far = self.peers().filter_map(|peer| peer.host).map(Host::last_level_cache_bytes);
        far.fold(self.ends.host.last_level_cache_bytes(), Bytes::max)
    }

    /// The ends of the cell's workload, and why they cannot run on these hosts: a pair for each
    /// interface that the cell names, each placed by its own.
    pub fn ends(
        &self,
        spot: &Spot,
        params: &Params,
    ) -> Result<(Vec<EndSpec>, Option<String>), StudyError> {
        if self.settings.ports().is_some() {
            self.check_ports()?;
            return self.of_one(spot, params);
        }
        let each = self.settings.by_interface();
        if each.is_empty() || self.pattern.is_some() {
            return self.of_one(spot, params);
        }
        self.check_several()?;
        let (mut ends, mut whys) = (Vec::new(), Vec::new());
        for settings in &each {
            let one = Cast { settings, ends: self.ends, pattern: None, far: self.far.clone() };
            let (pair, why) = one.of_one(spot, params)?;
            ends.extend(pair);
            whys.extend(why);
        }
        Ok((ends, whys.into_iter().next()))
    }

    /// Whether the cell's workload can go over several interfaces at once.
    fn check_several(&self) -> Result<(), StudyError> {
        let kind = self.settings.kind();
        if !(kind.is_tcp() || kind.is_udp()) || kind == Workload::Packets {
            return Err(several(format!(
                "{kind} goes over one interface; streams and round trips of TCP and UDP over \
                 several at once, packets between two ports of this host"
            )));
        }
        self.check_states()
    }

    /// Whether the cell can go over a cable between two ports of this host.
    fn check_ports(&self) -> Result<(), StudyError> {
        let settings = self.settings;
        if settings.container()?.is_some() {
            return Err(several(
                "the two ports of a cable are the host's, not a container's".into(),
            ));
        }
        if self.pattern.is_some() || !settings.peers.is_empty() {
            let why = "packets between two ports of this host have no other host: leave the peers \
                       out, or name one interface";
            return Err(several(why.into()));
        }
        self.check_states()
    }

    /// Whether all that is told can be had of several interfaces.
    fn check_states(&self) -> Result<(), StudyError> {
        let settings = self.settings;
        let not_with = [
            (settings.interrupts()?.is_some(), places::IRQ.declared.key),
            (settings.engine().is_some(), "engine"),
            (settings.told(&places::MTU).is_some(), places::MTU.declared.key),
            (!settings.offloads.is_empty(), "offloads"),
            (settings.coalescing != Coalescing::default(), "coalescing"),
        ];
        match not_with.into_iter().find(|(told, _)| *told) {
            Some((_, other)) => {
                Err(several(format!("{other} is of one interface, and not of several")))
            }
            None => Ok(()),
        }
    }

    /// The ends of a pattern, or of a pair over one interface.
    fn of_one(
        &self,
        spot: &Spot,
        params: &Params,
    ) -> Result<(Vec<EndSpec>, Option<String>), StudyError> {
        let away = self.peers().find_map(|peer| Some(format!("{}: {}", peer.name, peer.away?)));
        if let Some(pattern) = self.pattern {
            let (ends, why) = self.of_pattern(pattern, params)?;
            return Ok((ends, away.or(why)));
        }
        let reverse = params.is_reverse();
        let placed = self.two(spot, params)?;
        let (ends, why) = match placed {
            Ok(ends) => (ends, None),
            Err(why) => (TwoPlaces::default().ends(reverse), Some(why.to_string())),
        };
        let container = self.settings.container()?.map(|container| container.to_string());
        // A container does not see the private namespaces that a study without a peer is run in.
        let nowhere =
            (container.is_some() && self.ends.path == NetworkPath::Namespaces).then(|| {
                "an end in a container is measured to a peer: name one with --peer".to_owned()
            });
        let ends = ends.into_iter().map(|end| match end.host {
            EndHost::Controller => EndSpec { container: container.clone(), ..end },
            EndHost::Peer(_) => end,
        });
        let ends = ends.map(|end| self.at_its_peer(end)).collect();
        let unbound = self.no_interface().or_else(|| self.other_interface());
        let unbound = unbound.or_else(|| self.lends_nobody());
        let unbound = unbound.or_else(|| self.raw_unsaid());
        let unset = self.no_network().or_else(|| self.no_mtu());
        Ok((ends, away.or(why).or(nowhere).or(unbound).or(unset)))
    }

    /// A network of its own that what the end runs in cannot have.
    fn no_network(&self) -> Option<String> {
        let network = self.settings.told(&places::CONTAINER_NET)?;
        let inside = self.settings.container().ok()??;
        inside
            .check_network(&network)
            .err()
            .map(|why| format!("{} = '{network}': {why}", places::CONTAINER_NET.declared.key))
    }

    /// An MTU that no interface between two ends takes. What one card takes at most its driver says
    /// as it is set.
    fn no_mtu(&self) -> Option<String> {
        let mtu = self.settings.told(&places::MTU)?;
        let (least, most) = (*MTU_TAKEN.start(), *MTU_TAKEN.end());
        (!MTU_TAKEN.contains(&mtu))
            .then(|| format!("mtu = {mtu}: interfaces take {least} to {most} bytes"))
    }

    /// What must be said before raw frames leave for another host. Between namespaces nothing
    /// leaves.
    fn raw_unsaid(&self) -> Option<String> {
        if self.ends.peers.is_empty() && self.settings.ports().is_none() {
            return None;
        }
        unsaid(self.settings).map(|unsaid| format!("{unsaid}{}", unsaid.key()))
    }

    /// Why no interface of another host can be had.
    fn lends_nobody(&self) -> Option<String> {
        let lent = self.settings.lent()?;
        let why = if self.settings.ports().is_some() {
            "two ports of this host send to each other: leave it out, or name one interface"
        } else if self.ends.peers.is_empty() {
            "it is another host's: name one with --peer"
        } else {
            return None;
        };
        Some(format!("{} {lent}: {why}", packets::PEER_NIC.declared.key))
    }

    /// The ends of a pattern, all on other hosts.
    fn of_pattern(
        &self,
        pattern: Pattern,
        params: &Params,
    ) -> Result<(Vec<EndSpec>, Option<String>), StudyError> {
        let key = places::PATTERN.declared.key;
        let wrong = |why: String| Err(StudyError::new(key, why));
        let settings = self.settings;
        let kind = settings.kind();
        if !(kind.is_tcp() || kind.is_udp()) {
            return wrong(format!("{kind} has none; streams and round trips of TCP and UDP do"));
        }
        let not_with = [
            (settings.interrupts()?.is_some(), places::IRQ.declared.key),
            (settings.background()?.is_some(), places::MEMORY_LOAD.declared.key),
            (settings.bind().is_some(), places::BIND.declared.key),
            (settings.container()?.is_some(), places::IN.declared.key),
            (settings.engine().is_some(), "engine"),
            (settings.told(&places::MTU).is_some(), places::MTU.declared.key),
            (!settings.offloads.is_empty(), "offloads"),
            (settings.coalescing != Coalescing::default(), "coalescing"),
        ];
        if let Some((_, other)) = not_with.into_iter().find(|(told, _)| *told) {
            return wrong(format!("{other} is of this host, which has no end in a pattern"));
        }
        let far: Vec<u32> = self.far.iter().map(|at| *at as u32).collect();
        let ends = match pattern.ends(&far) {
            Ok(ends) => ends,
            // A file without hosts is for any number of them.
            Err(why) if settings.peers.is_empty() => {
                let why = format!("{why}: name them with --peer A,B or peers = [\"A\", \"B\"]");
                return Ok((TwoPlaces::default().ends(params.is_reverse()), Some(why)));
            }
            Err(why) => return wrong(why.to_string()),
        };
        let names: Vec<&str> = self.peers().map(|peer| peer.name).collect();
        let hosts: Vec<(&str, Option<&Host>)> =
            self.ends.peers.iter().map(|peer| (peer.name, peer.host)).collect();
        let placed = settings.places_by_end(&names)?.put(ends.clone(), &hosts, params.flows());
        Ok(match placed {
            Ok(placed) => (placed, None),
            Err(why) => (ends, Some(why.to_string())),
        })
    }

    /// Both ends in their places.
    fn two(
        &self,
        spot: &Spot,
        params: &Params,
    ) -> Result<Result<Vec<EndSpec>, Unplaced>, StudyError> {
        let (settings, ends) = (self.settings, self.ends);
        let (places, nodes) = (settings.places()?, settings.nodes()?);
        let interface = self.interface();
        let irq = settings.interrupts()?;
        let irq = irq.map(|place| cpus(ends.host, place, interface)).transpose();
        let placed = self.placed(places, nodes, spot, params);
        let own = placed.and_then(|places| Ok(steered(places.ends(params.is_reverse()), irq?)));
        Ok(own)
    }

    /// Why the interface that the cell names is none that its packets can leave from.
    fn no_interface(&self) -> Option<String> {
        let (device, ports) = (self.settings.bind()?.device?, self.settings.ports());
        let (host, is_alone) = (self.ends.host, self.ends.peers.is_empty() && ports.is_none());
        if !self.ends.peers.is_empty() && ports.is_some() {
            let why = "packets between two ports of this host are measured without --peer";
            return Some(why.to_owned());
        }
        // A host whose interfaces nobody listed may have it. One that lacks it is no better off
        // with a peer: a file may have a name that stands for one of the user's.
        let mut named = ports.map_or(vec![device.clone()], Vec::from).into_iter();
        let missing = named.find(|name| !host.nics.is_empty() && host.nic(name).is_none());
        let missing = missing.map(|name| format!("this host has no interface {name}"));
        missing.or_else(|| {
            is_alone.then(|| format!("{device} leads to another host: name one with --peer"))
        })
    }

    /// An end with the number of its peer, or with where its packets leave from.
    fn at_its_peer(&self, end: EndSpec) -> EndSpec {
        match (end.host, self.far.first()) {
            (EndHost::Controller, _) => EndSpec { bind: self.settings.bind(), ..end },
            (EndHost::Peer(_), Some(at)) => EndSpec { host: EndHost::Peer(*at as u32), ..end },
            (EndHost::Peer(_), None) => end,
        }
    }

    /// The interface that the cell's packets leave from, where it is known.
    fn interface(&self) -> Option<&str> {
        match self.settings.bind() {
            Some(Bind { device, .. }) => {
                let device = device?;
                self.ends.host.nic(&device).map(|nic| nic.name.as_str())
            }
            None => match self.peers().next() {
                Some(peer) => peer.interface,
                None => self.ends.interface,
            },
        }
    }

    /// Why states of the interface cannot be set: they are of the one that leads to the first peer.
    fn other_interface(&self) -> Option<String> {
        let settings = self.settings;
        let own = self.interface();
        let set = settings.told(&places::MTU).is_some()
            || !settings.offloads.is_empty()
            || settings.coalescing != Coalescing::default();
        (set && own != self.ends.interface).then(|| {
            let [own, first] = [own, self.ends.interface].map(|name| name.unwrap_or("unknown"));
            format!(
                "mtu, offloads and coalescing are set on {first}, and its packets leave from \
                 {own}"
            )
        })
    }

    /// The CPUs and nodes of both ends. Without words about them, ends of one host have a core
    /// each, and ends of two are not pinned.
    fn placed(
        &self,
        places: Option<(Seat, Seat)>,
        (local_node, remote_node): (Option<u32>, Option<u32>),
        spot: &Spot,
        params: &Params,
    ) -> Result<TwoPlaces, Unplaced> {
        let ends = self.ends;
        let (reverse, flows) = (params.is_reverse(), params.flows());
        let one_host = ends.path != NetworkPath::Peer;
        let bindings = places.as_ref().map(|(here, there)| (here.binding, there.binding));
        let (local_binding, remote_binding) = bindings.unwrap_or_default();
        let places = places.map(|(here, there)| (here.at, there.at));
        let (local, remote) = match places {
            None if one_host => (spot.pair.sender.cpus.clone(), spot.pair.receiver.cpus.clone()),
            None => (CpuList::default(), CpuList::default()),
            Some((here, there)) => {
                let local = CpuList(cpus(ends.host, here, self.interface())?);
                let far = self.peers().next().and_then(|peer| peer.host).unwrap_or(ends.host);
                let same_core = there == Where::SameCore;
                let remote = match there {
                    Where::SameCore => local.clone(),
                    there => CpuList(cpus(far, there, None)?),
                };
                // On one host the same place is the same CPUs: the other end begins with those that
                // this one leaves, so that two ends share none that they need not.
                let shared = one_host && !same_core && local == remote;
                (local, if shared { turned(remote, flows) } else { remote })
            }
        };
        let local = Placement { cpus: local, binding: local_binding, node: local_node };
        let remote = Placement { cpus: remote, binding: remote_binding, node: remote_node };
        Ok(if reverse && !one_host {
            TwoPlaces { sender: remote, receiver: local }
        } else {
            TwoPlaces { sender: local, receiver: remote }
        })
    }
}

fn several(why: String) -> StudyError {
    StudyError::new(places::BIND.declared.key, why)
}

/// The ends, with the interrupts of the controller's NIC on these CPUs.
fn steered(mut ends: Vec<EndSpec>, irq: Option<Vec<u32>>) -> Vec<EndSpec> {
    if let Some(near) = ends.iter_mut().find(|end| end.host == EndHost::Controller) {
        near.irq = irq.map(CpuList);
    }
    ends
}

/// The CPUs after those that `flows` threads take.
fn turned(mut cpus: CpuList, flows: u32) -> CpuList {
    let all = cpus.0.len().max(1);
    let turn = (flows as usize % all).max(usize::from(all > 1));
    cpus.0.rotate_left(turn % all);
    cpus
}
