//! Agents of many hosts, called all at once.

use crate::at_once;
use crate::error::{ControlError, Gone, NoAddress, Refusal};
use crate::key::Key;
use crate::peer::{Family, Peer};
use narrows_model::host::Host;
use narrows_model::peer_name::host_and_port;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long names may take to be looked up, and agents to be reached and to describe themselves,
/// all together. Resolvers give up after 5 to 20 s.
pub const REACH_WITHIN: Duration = Duration::from_secs(30);

/// An agent that was reached, and its host as it reads itself.
pub struct Reached {
    /// The control connection to the agent.
    pub peer: Peer,
    /// The agent's host as it reads itself.
    pub host: Host,
}

#[derive(Clone)]
pub struct Calling {
    /// TCP port of those whose name has none.
    pub port: u16,
    /// Addresses of one family alone.
    pub family: Option<Family>,
    /// The key that they share.
    pub key: Key,
}

/// Reaches the agents of these hosts all at once, each with its answer in their order. None takes
/// longer than [`REACH_WITHIN`]; one that is listed under two names is reached under the first.
pub fn reach(hosts: &[String], calling: &Calling) -> Vec<Result<Reached, ControlError>> {
    let until = Instant::now() + REACH_WITHIN;
    let port = calling.port;
    let looked = at_once::until(hosts, until, move |name| {
        let (host, own) = host_and_port(name).map_err(io::Error::other)?;
        (host, own.unwrap_or(port)).to_socket_addrs().map(Iterator::collect::<Vec<_>>)
    });
    let mut first = BTreeMap::<SocketAddr, &str>::new();
    let mut twice = BTreeMap::new();
    for (at, (host, found)) in hosts.iter().zip(&looked).enumerate() {
        let Some(Ok(addresses)) = found else { continue };
        let Some(address) = addresses.first() else { continue };
        match first.get(address) {
            Some(other) => drop(twice.insert(at, doubled(host, other, *address))),
            None => drop(first.insert(*address, host)),
        }
    }
    let called: Vec<String> = (0..)
        .zip(hosts)
        .filter(|(at, _)| !twice.contains_key(at))
        .map(|(_, host)| host.clone())
        .collect();
    let calling = calling.clone();
    let mut reached = at_once::until(&called, until, move |host| call(host, &calling)).into_iter();
    let late = |name: &str| {
        let (host, own) = host_and_port(name).unwrap_or((name, None));
        let port = own.unwrap_or(port);
        ControlError::gone(&format!("{host} port {port}"), Gone::NoAnswer(REACH_WITHIN))
    };
    hosts
        .iter()
        .enumerate()
        .map(|(at, host)| match twice.remove(&at) {
            Some(why) => Err(why),
            None => reached.next().flatten().unwrap_or_else(|| Err(late(host))),
        })
        .collect()
}

fn doubled(host: &str, other: &str, address: SocketAddr) -> ControlError {
    ControlError::refused(host, Refusal::SameAgent { other: other.to_owned(), address })
}

fn call(name: &str, calling: &Calling) -> Result<Reached, ControlError> {
    let (host, port) = host_and_port(name).map_err(|why| ControlError::UnknownHost {
        host: name.to_owned(),
        why: NoAddress::Name(why),
    })?;
    let port = port.unwrap_or(calling.port);
    let mut peer = Peer::connect(host, port, calling.family, &calling.key)?;
    let host = peer.describe()?;
    Ok(Reached { peer, host })
}
