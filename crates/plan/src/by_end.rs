//! What the ends of a pattern are told, by their role or by their host:
//! `sender=node:0,receiver=0-3,n7=4`.

use crate::place::{Seat, cpus};
use crate::unplaced::Unplaced;
use narrows_model::host::Host;
use narrows_model::load::{Binding, Role};
use narrows_model::trial::{EndHost, EndSpec, Placement};
use std::collections::BTreeMap;
use thiserror::Error;

/// A value for each end that is told one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByEnd<T> {
    /// Of all ends of a role.
    roles: BTreeMap<Role, T>,
    /// Of the ends on a host, before what its role has.
    hosts: BTreeMap<String, T>,
}

impl<T> Default for ByEnd<T> {
    fn default() -> Self {
        Self { roles: BTreeMap::new(), hosts: BTreeMap::new() }
    }
}

/// Why a text tells the ends of a pattern nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotByEnd {
    /// A part says not whom it is for.
    #[error("'{0}': of a pattern say sender=, receiver= or HOST= before each")]
    Whom(String),
    /// The same end is told two things.
    #[error("'{0}' is given twice")]
    Twice(String),
    /// What an end is told cannot be read.
    #[error("{whom}: {why}")]
    Unread {
        /// The role or the host.
        whom: String,
        /// What is wrong, in words.
        why: String,
    },
    /// No host of the pattern has the name.
    #[error("'{0}' is not a host of the pattern")]
    NoHost(String),
}

impl<T> ByEnd<T> {
    /// Reads a text; `read` reads what stands behind each name.
    pub fn parse<E: ToString>(
        text: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Self, NotByEnd> {
        let mut own = Self::default();
        for part in text.split(',') {
            let both = part.split_once('=').filter(|(whom, _)| !whom.trim().is_empty());
            let (whom, value) = both.ok_or_else(|| NotByEnd::Whom(part.to_owned()))?;
            let (whom, value) = (whom.trim(), read(value.trim()));
            let value = value
                .map_err(|why| NotByEnd::Unread { whom: whom.to_owned(), why: why.to_string() })?;
            let before = match whom {
                "sender" => own.roles.insert(Role::Sender, value),
                "receiver" => own.roles.insert(Role::Receiver, value),
                host => own.hosts.insert(host.to_owned(), value),
            };
            if before.is_some() {
                return Err(NotByEnd::Twice(whom.to_owned()));
            }
        }
        Ok(own)
    }

    /// What an end on a host is told.
    fn of(&self, role: Role, host: &str) -> Option<&T> {
        self.hosts.get(host).or_else(|| self.roles.get(&role))
    }

    /// Whether every host that it names is one of these.
    pub fn check(&self, hosts: &[&str]) -> Result<(), NotByEnd> {
        let unknown = self.hosts.keys().find(|name| !hosts.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| Err(NotByEnd::NoHost(name.clone())))
    }
}

/// Where the ends of a pattern are on their hosts.
#[derive(Clone, Debug, Default)]
pub struct PlacesByEnd {
    /// CPUs of the threads, by end.
    pub seats: ByEnd<Seat>,
    /// Nodes of their buffers.
    pub nodes: ByEnd<u32>,
}

/// A host of a pattern that has no such place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{host}: {why}")]
pub struct UnplacedAt {
    /// The host as it was named.
    pub host: String,
    /// Why there is no such place.
    pub why: Unplaced,
}

impl PlacesByEnd {
    /// Puts ends in their places. Ends that share CPUs of a host take turns in them, `flows` each.
    /// `hosts` has the peers by their numbers: their names, and what is known of them.
    pub fn put(
        &self,
        mut ends: Vec<EndSpec>,
        hosts: &[(&str, Option<&Host>)],
        flows: u32,
    ) -> Result<Vec<EndSpec>, UnplacedAt> {
        let mut taken = BTreeMap::<EndHost, usize>::new();
        for end in &mut ends {
            let EndHost::Peer(at) = end.host else { continue };
            let Some((name, Some(host))) = hosts.get(at as usize) else { continue };
            let mut place =
                Placement { node: self.nodes.of(end.role, name).copied(), ..Placement::default() };
            let unplaced = |why| UnplacedAt { host: (*name).to_owned(), why };
            if let Some(node) = place.node.filter(|id| host.nodes.iter().all(|own| own.id != *id)) {
                return Err(unplaced(Unplaced::Node(node)));
            }
            if let Some(seat) = self.seats.of(end.role, name) {
                place.cpus.0 = cpus(host, seat.at.clone(), None).map_err(unplaced)?;
                place.binding = seat.binding;
                if seat.binding == Binding::Each {
                    let turn = taken.entry(end.host).or_default();
                    let all = place.cpus.0.len().max(1);
                    place.cpus.0.rotate_left(*turn % all);
                    *turn += flows as usize;
                }
            }
            end.place = place;
        }
        Ok(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;
    use narrows_model::Fact;

    fn seats(text: &str) -> Result<ByEnd<Seat>, NotByEnd> {
        ByEnd::parse(text, str::parse::<Seat>)
    }

    fn host(cpus: u32) -> Host {
        let mut host = Host::default();
        host.cpu.online = Fact::known((0..cpus).collect(), "test");
        host.nodes = vec![narrows_model::host::Node { id: 1, ..Default::default() }];
        host
    }

    #[test]
    fn ends_are_placed_by_role_and_by_host() {
        let known = host(4);
        let hosts = [("a", Some(&known)), ("b", Some(&known)), ("c", Some(&known))];
        let places = PlacesByEnd {
            seats: seats("sender=0,receiver=0-3,c=2+3/all").expect("seats"),
            nodes: ByEnd::parse("receiver=1", str::parse::<u32>).expect("nodes"),
        };
        let ends = Pattern::FanIn.ends(&[0, 1, 2]).expect("ends");
        let put = places.put(ends.clone(), &hosts, 2).expect("places");
        let cpus: Vec<&[u32]> = put.iter().map(|end| end.place.cpus.0.as_slice()).collect();
        // Both receivers are on the first host, and the second begins where the first ends.
        assert_eq!(cpus, [&[0][..], &[0, 1, 2, 3], &[2, 3], &[2, 3, 0, 1]]);
        let nodes: Vec<Option<u32>> = put.iter().map(|end| end.place.node).collect();
        assert_eq!(nodes, [None, Some(1), None, Some(1)]);
        assert!(put[2].place.is_free() && !put[0].place.is_free());
        let beyond = PlacesByEnd { seats: seats("b=4").expect("seats"), ..Default::default() };
        let why = beyond.put(ends.clone(), &hosts, 1).expect_err("no such CPU");
        assert_eq!(why.to_string(), "b: there is no CPU 4");
        let nodes = ByEnd::parse("sender=0", str::parse::<u32>).expect("nodes");
        let why = PlacesByEnd { nodes, ..Default::default() }.put(ends, &hosts, 1);
        assert_eq!(why.expect_err("no such node").to_string(), "b: there is no node 0");
    }

    #[test]
    fn what_tells_no_end_is_refused() {
        let why = |text: &str| seats(text).expect_err(text).to_string();
        assert!(why("0,1").contains("say sender=, receiver= or HOST="), "{}", why("0,1"));
        assert!(why("sender=0,sender=1").contains("given twice"));
        assert!(why("sender=x").starts_with("sender: 'x' is not a CPU"), "{}", why("sender=x"));
        assert!(why("=0").contains("say sender="));
        let own = seats("n9=0").expect("seats");
        assert_eq!(own.check(&["n1"]), Err(NotByEnd::NoHost("n9".to_owned())));
        assert_eq!(own.check(&["n1", "n9"]), Ok(()));
    }
}
