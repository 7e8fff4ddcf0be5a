//! The real machines of a session: this host, its peer or its two namespaces, and why a trial
//! cannot run there.

use crate::controller::{Ends, peer_of, receiver_job, sender_job};
use crate::error::RunError;
use crate::launch::Brought;
use crate::live::LiveSettings;
use crate::refusal::Refusal;
use crate::session::{Far, Site};
use crate::study::Defined;
use narrows_control::{Calling, ControlError, Peer, Reached, reach};
use narrows_host::Root;
use narrows_hostctl::container::Launcher;
use narrows_hostctl::namespaces::{HUGE_PAGES, Namespaces, sysctl_path};
use narrows_interop::engines::{self, NoRanks};
use narrows_model::container::Container;
use narrows_model::host::Host;
use narrows_model::trial::{EndHost, NetworkPath, Trial};
use narrows_workloads::harness::way;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The machines of a session, reached.
pub struct Machines {
    /// What is known of them.
    pub site: Site,
    /// In the order of the study's peers; `None` of those that are away.
    peers: Vec<Option<Peer>>,
    namespaces: Option<Namespaces>,
    /// Whether the launcher of an MPI starts ranks on a host, by its address.
    launcher: RefCell<BTreeMap<IpAddr, Result<(), NoRanks>>>,
    /// Why a container does not start, by its words; none where it did.
    containers: RefCell<BTreeMap<String, Option<String>>>,
    /// Last, so that sessions end before agents do.
    brought: Vec<Brought>,
}

impl Machines {
    /// Looks at this host, and at the agents of the others where there are any. Without one the
    /// ends are in two namespaces of this host, or on loopback where those cannot be made. Of
    /// several agents some may be away: their cells cannot run.
    ///
    /// `calling` has the names or addresses by which the hosts are called, in their order.
    pub fn reach(
        hosts: &[String],
        calling: Option<(&[String], &Calling)>,
    ) -> Result<Self, RunError> {
        let host = narrows_host::read(&Root::live());
        let reached = calling.map_or(Vec::new(), |(called, calling)| reach(called, calling));
        if !reached.is_empty() && reached.iter().all(Result::is_err) {
            return Err(most_telling(reached.into_iter().filter_map(Result::err)));
        }
        let (mut peers, mut far) = (Vec::new(), Vec::new());
        for (name, reached) in hosts.iter().zip(reached) {
            let (peer, seen) = far_host(name, reached);
            peers.push(peer);
            far.push(seen);
        }
        let mut namespaces = None;
        let mut present = peers.iter().flatten();
        let path = if peers.is_empty() {
            namespaces = Namespaces::make().ok();
            if namespaces.is_some() { NetworkPath::Namespaces } else { NetworkPath::Loopback }
        } else if present.all(Peer::is_own_host) {
            NetworkPath::Loopback
        } else {
            NetworkPath::Peer
        };
        let interface = far.iter().find_map(|far| far.interface.clone());
        let site = Site { host, peers: far, path, interface };
        let (launcher, containers) = (RefCell::default(), RefCell::default());
        Ok(Self { site, peers, namespaces, launcher, containers, brought: Vec::new() })
    }

    /// This host, and others that nobody asks anything: what a study would run there, as far as its
    /// file and this host tell.
    pub fn unasked(hosts: &[String]) -> Self {
        let site = Site {
            host: narrows_host::read(&Root::live()),
            peers: hosts.iter().map(|name| Far::unasked(name)).collect(),
            path: NetworkPath::Peer,
            interface: None,
        };
        let peers = hosts.iter().map(|_| None).collect();
        let (launcher, containers) = (RefCell::default(), RefCell::default());
        Self { site, peers, namespaces: None, launcher, containers, brought: Vec::new() }
    }

    /// Keeps agents that were brought to these machines for as long as they are used.
    pub fn keep(&mut self, brought: Vec<Brought>) {
        self.brought.extend(brought);
    }

    /// What joins the ends, in words.
    pub fn path_says(&self) -> String {
        match (self.site.path, self.peers.as_slice()) {
            (NetworkPath::Peer, [Some(peer)]) => format!("to {}", peer.address()),
            (NetworkPath::Peer, _) if self.site.peers.iter().any(|far| !far.asked) => {
                let names = self.site.peers.iter().map(|far| far.name.as_str());
                format!("between this host and {}", names.collect::<Vec<_>>().join(", "))
            }
            (NetworkPath::Peer, peers) => {
                format!("between {} hosts", peers.iter().flatten().count())
            }
            (NetworkPath::Namespaces, _) => {
                "between two namespaces of this host: the stack, no NIC and no wire".to_owned()
            }
            _ => "over loopback: not a network result".to_owned(),
        }
    }

    /// Why the agents of a trial cannot run it.
    fn agents_cannot(&self, trial: &Trial) -> Option<String> {
        let used = trial.ends.iter().filter_map(|end| match end.host {
            EndHost::Peer(at) => self.peers.get(at as usize)?.as_ref(),
            EndHost::Controller => None,
        });
        let meets = trial.is_of_agents();
        let (near, far): (Vec<&Peer>, Vec<&Peer>) = used.partition(|peer| is_local(peer));
        if let Some(peer) = near.first().filter(|_| meets && !far.is_empty()) {
            return Some(format!("the other hosts cannot reach {}", peer.address()));
        }
        near.iter()
            .chain(&far)
            .find_map(|peer| {
                let can = peer.can(trial);
                can.and_then(|()| if meets { peer.can_meet() } else { Ok(()) }).err()
            })
            .map(|why| why.to_string())
    }

    /// Why a trial cannot run here. Where launchers are tried for it, `stop` ends them.
    pub fn why_not(&self, trial: &Trial, stop: &AtomicBool) -> Option<String> {
        if trial.engine.is_none()
            && let Err(error) = narrows_workloads::kind(&trial.kind)
        {
            return Some(error.to_string());
        }
        if trial.kind.is_rdma()
            && let Some(why) = self.without_rdma(trial)
        {
            return Some(why);
        }
        if let Some(why) = without_program(trial) {
            return Some(why);
        }
        if trial.engine.is_some() {
            let cannot = engines::engine(trial).err().map(|why| why.to_string());
            return cannot.or_else(|| self.ranks_apart(trial, stop));
        }
        if !self.peers.is_empty()
            && trial.path != NetworkPath::Memory
            && let Some(why) = self.agents_cannot(trial)
        {
            return Some(why);
        }
        let job =
            if trial.path == NetworkPath::Memory { receiver_job(trial) } else { sender_job(trial) };
        let job = job.and_then(|job| Ok(narrows_workloads::check(&job).map(drop)?));
        job.err().map(|error| error.to_string())
    }

    /// Why a setting of the kernel cannot be made for a trial, where its ends are in private
    /// namespaces: those have no more than a part of the host's.
    pub fn without_setting<'a>(
        &self,
        trial: &Trial,
        mut names: impl Iterator<Item = &'a String>,
    ) -> Option<String> {
        let pair = self.namespaces.as_ref().filter(|_| trial.path == NetworkPath::Namespaces)?;
        // Pages are the host's own, and set there.
        let name = names.find(|name| *name != HUGE_PAGES && !pair.can_set(name))?;
        let of_host = sysctl_path(name).is_ok_and(|path| Path::new(&path).exists());
        Some(if of_host {
            format!(
                "sysctl {name} is the host's alone, and cannot be set in a private network \
                 namespace: with --peer it is set on this host"
            )
        } else {
            format!("this kernel has no sysctl {name}, or it is none of the network")
        })
    }

    /// Why the container of this host's end does not start, where a trial has one: it is tried once
    /// a session. `note` is told before that, and `stop` ends it.
    pub fn without_container(
        &self,
        trial: &Trial,
        binary: &Path,
        note: fn(&str),
        stop: &AtomicBool,
    ) -> Option<String> {
        let words = trial.controllers()?.container.as_deref()?;
        let mut tried = self.containers.borrow_mut();
        let why = tried.entry(words.to_owned()).or_insert_with(|| {
            let inside = Container::stored(words);
            let launcher = Launcher { inside, ..Launcher::plain(binary.to_owned()) };
            launcher.try_once(note, stop).err().map(|why| why.to_string())
        });
        why.clone()
    }

    /// Why ranks here and at the peer do not meet, where the trial has some. A launcher is asked
    /// once a host: what it reaches stays so for the session.
    fn ranks_apart(&self, trial: &Trial, stop: &AtomicBool) -> Option<String> {
        if !engines::has_ranks(trial) {
            return None;
        }
        // A host that was not called cannot be asked; the plan says so by itself.
        let peer = self.peers.get(peer_of(trial)).and_then(Option::as_ref)?;
        let mut asked = self.launcher.borrow_mut();
        let met = asked
            .entry(peer.address())
            .or_insert_with(|| engines::ranks_meet(&engines::with_here(peer.address()), stop));
        met.as_ref().err().map(|why| match why {
            NoRanks::Stopped => why.to_string(),
            NoRanks::Failed { .. } => format!("{why} (hint: {})", engines::NO_RANKS_HINT),
        })
    }

    /// What is missing for RDMA at either end.
    fn without_rdma(&self, trial: &Trial) -> Option<String> {
        let asked = trial.params.rdma.as_ref();
        if let Err(error) = narrows_workloads::rdma::available(asked) {
            return Some(match error.hint() {
                Some(hint) => format!("{error} ({hint})"),
                None => error.to_string(),
            });
        }
        if asked.is_some_and(|asked| asked.via.is_some()) {
            return None;
        }
        if self.peers.is_empty() {
            return without_devices(trial, &self.site.host);
        }
        let peer = trial.ends.iter().find_map(|end| match end.host {
            EndHost::Peer(at) => self.site.peers.get(at as usize),
            EndHost::Controller => None,
        });
        let peer = peer.filter(|far| far.asked);
        let bare = peer.is_some_and(|far| far.host.rdma.is_empty());
        if bare {
            return Some("the peer has no RDMA device".to_owned());
        }
        let asked = asked?;
        let (own, far) = if trial.params.is_reverse() {
            (&asked.receiver, &asked.sender)
        } else {
            (&asked.sender, &asked.receiver)
        };
        let hosts = [(own, Some(&self.site.host)), (far, peer.map(|far| &far.host))];
        hosts.into_iter().find_map(|(place, host)| {
            let (named, host) = (place.device.as_ref()?, host?);
            let has = host.rdma.iter().any(|device| device.name == *named);
            (!has).then(|| {
                let host = host.name.value().map_or("a host", String::as_str);
                format!("{host} has no RDMA device {named}")
            })
        })
    }

    /// The ends of network trials on these machines, and their settings. `binary` is this program,
    /// which puts settings back if it is killed.
    pub fn parts<'a>(&'a mut self, binary: &'a std::path::Path) -> (Ends<'a>, LiveSettings<'a>) {
        let namespaces = self.namespaces.as_ref();
        let settings = LiveSettings::new(&self.site, namespaces, binary);
        let ends = if self.peers.is_empty() {
            Ends::Local {
                address: namespaces
                    .map_or(Ipv4Addr::LOCALHOST.into(), Namespaces::receiver_address),
                receiver_namespace: namespaces.map(Namespaces::receiver_path),
                sender_namespace: namespaces.map(Namespaces::sender_path),
            }
        } else {
            Ends::Peers(&mut self.peers)
        };
        (ends, settings)
    }
}

/// One that answers and refuses says more than those that are not there.
fn most_telling(whys: impl Iterator<Item = ControlError>) -> RunError {
    whys.min_by_key(ControlError::is_no_answer).map_or(RunError::NoPeer, RunError::from)
}

fn is_local(peer: &Peer) -> bool {
    peer.address().is_loopback()
}

/// The program that starts the container of this host's end, where it is not installed.
fn without_program(trial: &Trial) -> Option<String> {
    let words = trial.controllers()?.container.as_deref()?;
    let program = Container::stored(words)?.program();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    (!is_there).then(|| format!("{program} is not installed"))
}

/// Why both ends of an RDMA trial cannot be on this host.
fn without_devices(trial: &Trial, host: &Host) -> Option<String> {
    let named = trial.params.rdma.as_ref().map(|asked| [&asked.sender, &asked.receiver]);
    let Some(places) = named.filter(|_| trial.path == NetworkPath::Devices) else {
        let says = "RDMA is measured to a peer: name one with --peer, or for both ends on this host \
                    both devices (device = \"mlx5_0,mlx5_0\")";
        return Some(says.to_owned());
    };
    let mut devices = places.into_iter().filter_map(|place| place.device.as_ref());
    let missing = devices.find(|name| host.rdma.iter().all(|device| device.name != **name))?;
    Some(format!("this host has no RDMA device {missing}"))
}

/// What is known of a host that was called, and the connection to it.
fn far_host(name: &str, reached: Result<Reached, ControlError>) -> (Option<Peer>, Far) {
    let name = name.to_owned();
    match reached {
        Ok(Reached { peer, host }) => {
            let interface = way::toward(peer.address(), peer.own_address());
            (Some(peer), Far { name, host, interface, away: None, asked: true })
        }
        Err(why) => {
            let away = Some(why.to_string());
            (None, Far { name, host: Host::default(), interface: None, away, asked: true })
        }
    }
}

/// Refuses words for outside tools that no study may give them.
pub fn check_engines(defined: &Defined) -> Result<(), Refusal> {
    for cell in &defined.cells {
        let engine = cell.settings.engine().unwrap_or_default();
        engines::check_words(&engine)
            .map_err(|why| Refusal::EngineWords { cell: cell.label(), why })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_answers_and_refuses_is_told_before_who_is_not_there() {
        let vanished = |peer: &str| ControlError::Vanished {
            peer: peer.to_owned(),
            silent: Duration::from_secs(1),
        };
        let closed = |peer: &str| ControlError::Unreachable {
            peer: peer.to_owned(),
            why: narrows_control::Gone::Closed,
        };
        let of = |whys: Vec<ControlError>| most_telling(whys.into_iter()).to_string();
        assert_eq!(of(vec![closed("a"), vanished("b")]), "b vanished: silent for 1s");
        assert_eq!(of(vec![vanished("b"), closed("a")]), "b vanished: silent for 1s");
        assert_eq!(of(vec![closed("a"), closed("b")]), "a closed the connection");
        assert_eq!(of(Vec::new()), "no peer is named");
    }

    #[test]
    fn what_joins_the_ends_is_said_of_each_path() {
        let names = ["a", "b"].map(str::to_owned);
        let mut machines = Machines::unasked(&names);
        assert_eq!(machines.path_says(), "between this host and a, b");
        machines.site.peers[0].asked = true;
        assert_eq!(machines.path_says(), "between this host and a, b", "b was not asked");
        machines.site.peers[1].asked = true;
        assert_eq!(machines.path_says(), "between 0 hosts", "nobody is there");
        machines.site.path = NetworkPath::Namespaces;
        assert!(machines.path_says().starts_with("between two namespaces of this host"));
        machines.site.path = NetworkPath::Loopback;
        assert_eq!(machines.path_says(), "over loopback: not a network result");
    }

    #[test]
    fn a_host_that_did_not_answer_is_away_and_known_by_its_name() {
        let gone = ControlError::Vanished { peer: "p".into(), silent: Duration::from_secs(1) };
        let (peer, far) = far_host("a", Err(gone));
        assert!(peer.is_none() && far.asked && far.host == Host::default());
        assert_eq!((far.name.as_str(), far.interface), ("a", None));
        assert_eq!(far.away.as_deref(), Some("p vanished: silent for 1s"));
    }
}
