//! The two ends of a cell: what is known of the host that each of them ran on.

use crate::measured::Cell;
use narrows_model::host::{Host, Nic};
use narrows_model::load::{Bind, EndReport, Role};
use narrows_model::trial::{EndHost, NetworkPath, Trial};

/// One end of a cell.
#[derive(Clone, Copy)]
pub struct End<'a> {
    /// The facts of its host.
    pub host: &'a Host,
    /// Where it is, as findings call it: `here` or `at the peer`.
    pub at: &'static str,
    /// What it reported in the first run.
    pub report: Option<&'a EndReport>,
}

impl<'a> End<'a> {
    /// A setting's value.
    pub fn setting(&self, name: &str) -> Option<&'a str> {
        self.host.tuning.get(name)?.value().map(|value| value.trim())
    }

    /// A metric of a route that leads to the interface of the flows, such as `eth0 10, eth1 20` has
    /// it; the least of several.
    pub fn route_metric(&self, name: &str) -> Option<f64> {
        let interface = self.report?.effective.interface.as_deref()?;
        let of_interface = |one: &str| {
            let (name, value) = one.trim().split_once(' ')?;
            value.parse::<f64>().ok().filter(|_| name == interface)
        };
        self.setting(name)?.split(',').filter_map(of_interface).reduce(f64::min)
    }

    /// The largest of a setting of three sizes: the least, the first and the largest.
    pub fn largest_bytes(&self, setting: &str) -> Option<u64> {
        self.setting(setting)?.split_whitespace().nth(2)?.parse().ok()
    }

    /// Whether a switch is known to be off.
    pub fn is_off(&self, name: &str) -> bool {
        self.setting(name) == Some("0")
    }

    /// The interface that the flows used.
    pub fn nic(&self) -> Option<&'a Nic> {
        self.host.nic(self.report?.effective.interface.as_deref()?)
    }
}

impl<'a> Cell<'a> {
    /// The end that sent; `None` where its host is not known.
    pub fn sender(&self) -> Option<End<'a>> {
        let report = self.done.first().and_then(|record| record.sender());
        self.end(Role::Sender, report)
    }

    /// The end that received.
    pub fn receiver(&self) -> Option<End<'a>> {
        let report = self.done.first().and_then(|record| record.receiver());
        self.end(Role::Receiver, report)
    }

    /// The NIC of this host by which the cell's other end is reached, where it is known.
    pub fn nic_to_peer(&self) -> Option<&'a Nic> {
        self.study.host.nic(self.study.interface_of(self.trial)?)
    }

    /// Whether a trial of the study is between the cell's two hosts, by the same addresses, in
    /// either direction: what one of them meets on the path says something of the other.
    pub fn is_beside(&self, other: &Trial) -> bool {
        let (own, its) = (way_of(self.trial), way_of(other));
        let is_as_many = own.len() == its.len() && self.trial.path == other.path;
        is_as_many && own.iter().zip(&its).all(|(one, other)| one.is_same(other))
    }

    fn end(&self, role: Role, report: Option<&'a EndReport>) -> Option<End<'a>> {
        let here = Some(End { host: &self.study.host, at: "here", report });
        if self.trial.path != NetworkPath::Peer {
            return here;
        }
        let of = self.trial.ends_of(role).next();
        let peers = self.study.peer_hosts.as_slice();
        match of.map_or(EndHost::Controller, |end| end.host) {
            EndHost::Controller => here,
            EndHost::Peer(at) => {
                let at_it = match (peers, role) {
                    ([_], _) => "at the peer",
                    (_, Role::Sender) => "at the sender",
                    _ => "at the receiver",
                };
                Some(End { host: peers.get(at as usize)?, at: at_it, report })
            }
        }
    }
}

/// A host, and what a trial's end there is bound to.
struct Place<'a> {
    host: EndHost,
    bind: Option<&'a Bind>,
}

impl Place<'_> {
    /// A probe is told where to leave from at one end alone.
    fn is_same(&self, other: &Self) -> bool {
        let is_bound_alike = self.bind == other.bind || self.bind.is_none() || other.bind.is_none();
        self.host == other.host && is_bound_alike
    }
}

/// The hosts that a trial's packets go between, in one order.
fn way_of(trial: &Trial) -> Vec<Place<'_>> {
    let ends = trial.ends_of(Role::Receiver).chain(trial.ends_of(Role::Sender));
    let places = ends.map(|end| Place { host: end.host, bind: end.bind.as_ref() });
    let mut places: Vec<Place<'_>> = places.collect();
    places.sort_by_key(|place| place.host);
    places
}
