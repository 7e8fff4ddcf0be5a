//! The other side of a direct measurement: agents, which are there or are brought, or an iperf3
//! server.

use super::calling::{bring, key_for};
use crate::args::PeerArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_control::{Calling, ControlError, Family, Peer, Reached, reach, wire};
use narrows_interop::iperf3::{self, client::Iperf3Server};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::trial::Trial;
use narrows_runner::controller::Ends;
use narrows_runner::launch::Brought;
use std::net::IpAddr;
use std::time::Duration;

/// What helps where ssh reached a host, its agent listens, and does not answer.
const BEHIND_SSH: &str = "ssh reached it and its agent listens: a firewall lets ssh pass and not \
                          this port; what it drops is in the log there (`journalctl -k`, `nft list \
                          ruleset`); -p takes a port that it lets pass";

/// The other side of a direct measurement.
pub enum Far {
    /// Agents of narrows, with what their hosts say of themselves.
    #[allow(missing_docs)]
    Agents {
        peers: Vec<Option<Peer>>,
        hosts: Vec<Host>,
        /// Those that were brought by ssh; last, so that sessions end before agents do.
        _brought: Vec<Brought>,
    },
    /// An iperf3 server.
    Iperf3(Iperf3Server),
}

impl Far {
    /// Reaches all of them, and brings those that are named `ssh:HOST`.
    pub fn find(args: &PeerArgs, is_iperf3: bool, explains: bool) -> Result<Self, Failure> {
        let family = match (args.ipv4, args.ipv6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        };
        if is_iperf3 {
            if explains {
                let says = "--explain probes the path, which an iperf3 server does not answer";
                return Err(Failure::of(Cause::NO_AGENT, says));
            }
            let [host] = args.hosts.as_slice() else {
                let says = "iperf3 servers are measured one at a time";
                return Err(Failure::of(Cause::ONE_HOST, says));
            };
            let port = args.port.unwrap_or(iperf3::PORT);
            return Ok(Self::Iperf3(Iperf3Server::find(host, port, family)?));
        }
        let given = args.key.given()?;
        let calling = Calling {
            port: args.port.unwrap_or(wire::PORT),
            family,
            key: key_for(&args.hosts, given)?,
        };
        let (hosts, brought) = bring(&args.hosts, &calling)?;
        Self::agents(reach(&hosts, &calling), brought)
    }

    /// All agents; of several that cannot be had the first is told as the cause.
    fn agents(
        reached: Vec<Result<Reached, ControlError>>,
        brought: Vec<Brought>,
    ) -> Result<Self, Failure> {
        let (mut peers, mut hosts, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for one in reached {
            match one {
                Ok(Reached { peer, host }) => {
                    tell_silent(&peer);
                    peers.push(Some(peer));
                    hosts.push(host);
                }
                Err(why) => missing.push(why),
            }
        }
        let mut missing = missing.into_iter();
        let Some(first) = missing.next() else {
            return Ok(Self::Agents { peers, hosts, _brought: brought });
        };
        missing.for_each(|why| note!("{why}"));
        Err(of_brought(first.into(), !brought.is_empty()))
    }

    /// This host's and the other's address, of the first pair.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        self.all_addresses().into_iter().next()
    }

    /// This host's and the other's address, of each pair.
    pub fn all_addresses(&self) -> Vec<(IpAddr, IpAddr)> {
        match self {
            Self::Agents { peers, .. } => {
                peers.iter().flatten().map(|peer| (peer.own_address(), peer.address())).collect()
            }
            Self::Iperf3(server) => vec![(server.own_address(), server.at().ip())],
        }
    }

    /// The agents' hosts, as they read themselves.
    pub fn hosts(&self) -> Vec<Host> {
        match self {
            Self::Agents { hosts, .. } => hosts.clone(),
            Self::Iperf3(_) => Vec::new(),
        }
    }

    /// Whether agents of narrows are at the other side.
    pub fn has_agents(&self) -> bool {
        !self.agents_there().is_empty()
    }

    fn agents_there(&self) -> Vec<&Peer> {
        match self {
            Self::Agents { peers, .. } => peers.iter().flatten().collect(),
            Self::Iperf3(_) => Vec::new(),
        }
    }

    /// Whether each agent can run its trial.
    pub fn can(&self, trials: &[Trial]) -> Result<(), Failure> {
        let last = trials.last();
        let pairs =
            self.agents_there().into_iter().zip(trials.iter().chain(last.into_iter().cycle()));
        pairs.map(|(peer, trial)| peer.can(trial)).collect::<Result<Vec<()>, _>>()?;
        Ok(())
    }

    /// Whether the agent can take part in a probe of the path; of an older one that is said.
    pub fn can_probe(&self, probe: &Trial) -> bool {
        let peers = self.agents_there();
        if peers.is_empty() {
            return false;
        }
        let can = peers.into_iter().try_for_each(|peer| peer.can(probe));
        if let Err(why) = &can {
            note!("the path is not probed: {why}");
        }
        can.is_ok()
    }

    /// Whether the agents' ends can meet: each by an address that the others can reach.
    pub fn can_meet(&self) -> Result<(), Failure> {
        let peers = self.agents_there();
        if let Some(peer) =
            peers.iter().find(is_local).filter(|_| !peers.iter().all(|p| is_local(&p)))
        {
            let says = format!("the other hosts cannot reach {}", peer.address());
            return Err(Failure::of(Cause::PATTERN, says));
        }
        peers.into_iter().try_for_each(Peer::can_meet).map_err(Failure::from)
    }

    /// Names of the interfaces that the first agent's owner lends for raw frames.
    pub fn interfaces(&self) -> Vec<String> {
        self.agents_there().first().map(|peer| peer.interfaces()).unwrap_or_default()
    }

    /// MTU of the path to the first agent, where the kernel knows it.
    pub fn path_mtu(&self) -> Option<Bytes> {
        match self {
            Self::Agents { peers, .. } => peers.iter().flatten().next()?.path_mtu(),
            Self::Iperf3(_) => None,
        }
    }

    /// A round trip of the longest path, as connections to the agents took to be made.
    pub fn round_trip(&self) -> Duration {
        self.agents_there().into_iter().map(Peer::dialled_in).max().unwrap_or_default()
    }

    /// Where the ends of trials are.
    pub fn ends(&mut self) -> Ends<'_> {
        match self {
            Self::Agents { peers, .. } => Ends::Peers(peers),
            Self::Iperf3(server) => Ends::Iperf3(server),
        }
    }
}

/// Says which addresses of a peer's name nothing came from.
fn tell_silent(peer: &Peer) {
    peer.silent().iter().for_each(|silent| note!("{}", says_silent(*silent, peer.address())));
}

fn says_silent(silent: IpAddr, measured: IpAddr) -> String {
    let (family, only) = if silent.is_ipv6() { ("IPv6", "-6") } else { ("IPv4", "-4") };
    format!(
        "{silent} ({family}), which its name has too, did not answer: {measured} is measured in its \
         place, and programs that try {family} first wait for it ({only} measures it alone)"
    )
}

/// A failure of agents of which some were brought: one that does not answer is no agent that nobody
/// started.
fn of_brought(failure: Failure, are_brought: bool) -> Failure {
    let is_silent = failure.is_no_answer() && are_brought;
    if is_silent { failure.helped_by(BEHIND_SSH) } else { failure }
}

fn is_local(peer: &&&Peer) -> bool {
    peer.address().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_was_brought_and_is_silent_is_behind_a_firewall() {
        let silent = || Failure::of(Cause::UNREACHABLE, "192.0.2.7 does not answer");
        let told = |failure: Failure| failure.in_one_line();
        assert!(told(of_brought(silent(), true)).contains("`journalctl -k`"));
        assert!(!told(of_brought(silent(), false)).contains("journalctl"));
        let other = Failure::of(Cause::BAD_KEY, "another key");
        assert!(!told(of_brought(other, true)).contains("journalctl"));
    }

    #[test]
    fn a_silent_address_is_told_with_its_family_and_what_is_measured_in_its_place() {
        let (v6, v4) =
            (IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 7]), IpAddr::from([192, 0, 2, 7]));
        let told = says_silent(v6, v4);
        assert!(told.starts_with("2001:db8::7 (IPv6), which its name has too"), "{told}");
        assert!(told.contains("192.0.2.7 is measured in its place"), "{told}");
        assert!(told.ends_with("try IPv6 first wait for it (-6 measures it alone)"), "{told}");
        let told = says_silent(v4, v6);
        assert!(told.starts_with("192.0.2.7 (IPv4)"), "{told}");
        assert!(told.ends_with("try IPv4 first wait for it (-4 measures it alone)"), "{told}");
    }
}
