//! The real machines of a session: this host, its peer or its two namespaces, and why a trial
//! cannot run there.

use crate::controller::{Ends, receiver_job, sender_job};
use crate::error::RunError;
use crate::live::LiveSettings;
use crate::refusal::Refusal;
use crate::session::Site;
use crate::study::Defined;
use narrows_control::key::Key;
use narrows_control::{Peer, address};
use narrows_host::Root;
use narrows_hostctl::namespaces::Namespaces;
use narrows_interop::engines;
use narrows_model::host::Host;
use narrows_model::trial::{NetworkPath, Trial};
use std::net::Ipv4Addr;

/// The machines of a session, reached.
pub struct Machines {
    /// What is known of them.
    pub site: Site,
    peers: Vec<Peer>,
    namespaces: Option<Namespaces>,
}

/// The agent on the other machine.
pub struct Agent<'a> {
    /// Its name or address.
    pub host: &'a str,
    /// Its TCP port.
    pub port: u16,
    /// What proves that this side may measure with it.
    pub key: &'a Key,
}

impl Machines {
    /// Looks at this host, and at the peer where there is one. Without one the ends are in two
    /// namespaces of this host, or on loopback where those cannot be made.
    pub fn reach(agent: Option<&Agent<'_>>) -> Result<Self, RunError> {
        let host = narrows_host::read(&Root::live());
        let mut peers = Vec::new();
        if let Some(Agent { host, port, key }) = agent {
            peers.push(Peer::connect(host, *port, None, key)?);
        }
        let peer_hosts: Vec<Host> =
            peers.iter_mut().map(Peer::describe).collect::<Result<_, _>>()?;
        let interface = peers.first().map(Peer::own_address).and_then(address::interface);
        let mut namespaces = None;
        let path = match peers.first() {
            Some(peer) if peer.is_own_host() => NetworkPath::Loopback,
            Some(_) => NetworkPath::Peer,
            None => {
                namespaces = Namespaces::make().ok();
                if namespaces.is_some() { NetworkPath::Namespaces } else { NetworkPath::Loopback }
            }
        };
        Ok(Self { site: Site { host, peer_hosts, path, interface }, peers, namespaces })
    }

    /// What joins the ends, in words.
    pub fn path_says(&self) -> String {
        match (self.site.path, self.peers.first()) {
            (NetworkPath::Peer, Some(peer)) => format!("to {}", peer.address()),
            (NetworkPath::Namespaces, _) => {
                "between two namespaces of this host: the stack, no NIC and no wire".to_owned()
            }
            _ => "over loopback: not a network result".to_owned(),
        }
    }

    /// Why a trial cannot run here.
    pub fn why_not(&self, trial: &Trial) -> Option<String> {
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
        if trial.engine.is_some() {
            return engines::engine(trial).err().map(|why| why.to_string());
        }
        let can = self.peers.first().map_or(Ok(()), |peer| peer.can(trial));
        let job =
            if trial.path == NetworkPath::Memory { receiver_job(trial) } else { sender_job(trial) };
        let job = job.and_then(|job| Ok(narrows_workloads::check(&job).map(drop)?));
        can.map_err(RunError::from).and(job).err().map(|error| error.to_string())
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
            return Some("RDMA is measured to a peer: name one with --peer".to_owned());
        }
        let bare = self.site.peer_hosts.iter().any(|host| host.rdma.is_empty());
        if bare {
            return Some("the peer has no RDMA device".to_owned());
        }
        let asked = asked?;
        let (own, far) = match trial.params.is_reverse() {
            false => (&asked.sender, &asked.receiver),
            true => (&asked.receiver, &asked.sender),
        };
        let hosts = [(own, Some(&self.site.host)), (far, self.site.peer_hosts.first())];
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

/// Refuses words for outside tools that no study may give them.
pub fn check_engines(defined: &Defined) -> Result<(), Refusal> {
    for cell in &defined.cells {
        let engine = cell.settings.engine().unwrap_or_default();
        engines::check_words(&engine)
            .map_err(|why| Refusal::EngineWords { cell: cell.label(), why })?;
    }
    Ok(())
}
