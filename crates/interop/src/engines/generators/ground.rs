//! The two interfaces of a generator's packets, each in its namespace, and their counters.

use super::{COUNTS_WITHIN, LOOK_UP, at_start};
use crate::engines::{Ended, Place};
use narrows_hostctl::netns;
use narrows_model::load::Bind;
use narrows_model::record::Stage;
use narrows_model::trial::Trial;
use narrows_workloads::packets::foreign::{Watch, having, toward};
use narrows_workloads::packets::link::Link;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Instant;

/// Counters of interfaces, those of the reading thread's namespace.
const COUNTERS: &str = "/proc/thread-self/net/dev";
/// Columns of that file behind the interface's name.
const RX_PACKETS: usize = 1;
const TX_PACKETS: usize = 9;
const TX_DROPPED: usize = 11;

/// One end of the link.
pub struct End {
    /// Path of its namespace; `None` is the caller's own.
    pub namespace: Option<String>,
    pub link: Link,
}

/// Both ends, and the addresses that their packets have.
pub struct Ground {
    pub near: End,
    pub far: End,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
}

/// What everybody had counted at one moment, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The generator's, as they came.
    pub came: u64,
    /// All that left the near interface.
    pub out: u64,
    pub out_dropped: u64,
    /// All that came to the far one.
    pub into: u64,
}

impl Ground {
    /// The ends of a trial's packets: two ports that it names, or those of two namespaces.
    pub fn find(trial: &Trial, place: &Place<'_>) -> Result<Self, Ended> {
        let bound = trial.ends.iter().find_map(|end| end.bind.as_ref());
        if let Some(Bind { device: Some(port), cable: Some(other), .. }) = bound {
            // Addresses of the host itself, which no kernel forwards.
            let own = Ipv4Addr::LOCALHOST;
            let (near, far) = (End::here(port)?, End::here(other)?);
            return Ok(Self { near, far, from: own, to: own });
        }
        let (Some(here), Some(there)) = (place.client_namespace, place.server_namespace) else {
            return Err(at_start("a generator sends between two namespaces, or two ports"));
        };
        let IpAddr::V4(to) = place.address else { return Err(at_start("packets are IPv4 here")) };
        let (near, from) = within(Some(here), || toward(to).map_err(at_start))?;
        let far = within(Some(there), || having(to).map_err(at_start))?;
        let near = End { namespace: Some(here.to_owned()), link: near };
        let far = End { namespace: Some(there.to_owned()), link: far };
        Ok(Self { near, far, from, to })
    }

    /// What has been counted so far.
    pub fn look(&self, watch: &Watch) -> Result<Looked, Ended> {
        let came = watch.came();
        let [_, out, out_dropped] = self.near.counters()?;
        let [into, ..] = self.far.counters()?;
        Ok(Looked { came, out, out_dropped, into })
    }

    /// The same after the end, once the near interface's counter has reached so many, or will not.
    pub fn settled(&self, watch: &Watch, out: u64) -> Result<Looked, Ended> {
        let end = Instant::now() + COUNTS_WITHIN;
        loop {
            let looked = self.look(watch)?;
            if looked.out >= out || Instant::now() >= end {
                return Ok(looked);
            }
            thread::sleep(LOOK_UP);
        }
    }
}

impl End {
    /// A port of the caller's own network.
    fn here(name: &str) -> Result<Self, Ended> {
        Ok(Self { namespace: None, link: Link::named(name).map_err(at_start)? })
    }

    /// Does something in its namespace.
    pub fn within<T: Send>(
        &self,
        doing: impl FnOnce() -> Result<T, Ended> + Send,
    ) -> Result<T, Ended> {
        within(self.namespace.as_deref(), doing)
    }

    fn counters(&self) -> Result<[u64; 3], Ended> {
        let text = self.within(|| {
            std::fs::read_to_string(COUNTERS)
                .map_err(|error| Ended::Failed(Stage::Run, format!("{COUNTERS}: {error}")))
        })?;
        counters_of(&self.link.name, &text).ok_or_else(|| {
            Ended::Failed(Stage::Run, format!("{} has no counters any more", self.link.name))
        })
    }
}

/// Does something on a thread of its own, in a namespace.
fn within<T: Send>(
    namespace: Option<&str>,
    doing: impl FnOnce() -> Result<T, Ended> + Send,
) -> Result<T, Ended> {
    let Some(namespace) = namespace else { return doing() };
    let done = thread::scope(|scope| {
        let inner = scope.spawn(|| {
            netns::enter(namespace).map_err(at_start)?;
            doing()
        });
        inner.join()
    });
    done.map_err(|_| at_start("a thread in a namespace panicked"))?
}

/// Packets that came to an interface, that left it, and that it dropped in place of sending them.
fn counters_of(name: &str, text: &str) -> Option<[u64; 3]> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, values) = lines.find(|(of, _)| of.trim() == name)?;
    let values: Vec<u64> = values.split_whitespace().map_while(|one| one.parse().ok()).collect();
    Some([*values.get(RX_PACKETS)?, *values.get(TX_PACKETS)?, *values.get(TX_DROPPED)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_interface_by_position() {
        let text = "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13\n \
                    eth1: 100 200 3 4 5 6 7 8 900 1000 11 1200 13 14 15 16\n";
        assert_eq!(counters_of("eth1", text), Some([200, 1000, 1200]));
        assert_eq!(counters_of("lo", text), Some([2, 10, 12]));
        assert_eq!(counters_of("eth", text), None);
    }
}
