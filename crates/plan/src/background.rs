//! A background load as a user names it: a memory kernel on some CPUs and some node's memory.

use crate::place::{Seat, cpus};
use crate::unplaced::{MEMORY, THREADS_MAX, Unnamed, Unplaced};
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::load::{Binding, CpuList};
use narrows_model::trial::{EndSpec, MemoryLoad, Placement};
use narrows_model::workload::{Kernel, Workload};
use std::str::FromStr;

/// A memory kernel on this host while runs are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundLoad {
    pub kernel: Kernel,
    /// How many threads run the kernel.
    pub threads: u32,
    /// Their CPUs; `None` leaves them unpinned.
    pub seat: Option<Seat>,
    /// Node of its memory; `None` leaves it to the kernel.
    pub node: Option<u32>,
}

impl FromStr for BackgroundLoad {
    type Err = Unnamed;

    fn from_str(text: &str) -> Result<Self, Unnamed> {
        let (load, node) = match text.split_once(MEMORY) {
            Some((load, node)) => {
                let node = node.trim().parse();
                (load, Some(node.map_err(|_| Unnamed::Node(text.to_owned()))?))
            }
            None => (text, None),
        };
        let (load, seat) = match load.split_once('@') {
            Some((load, seat)) => (load, Some(seat.parse()?)),
            None => (load, None),
        };
        let (kernel, threads) = load.split_once(':').unwrap_or((load, "1"));
        let kernel = Kernel::named(kernel).ok_or_else(|| Unnamed::Kernel(kernel.to_owned()))?;
        let threads = threads.parse().ok().filter(|threads| (1..=THREADS_MAX).contains(threads));
        let threads = threads.ok_or_else(|| Unnamed::Threads(load.to_owned()))?;
        Ok(Self { kernel, threads, seat, node })
    }
}

impl BackgroundLoad {
    /// The end that makes the load on a host, in no more than half of its node's memory; or why
    /// there is no such place.
    pub fn on(&self, host: &Host, working_set_bytes: Bytes) -> Result<EndSpec, Unplaced> {
        let node = |id: u32| {
            let found = host.nodes.iter().find(|node| node.id == id);
            found.ok_or(Unplaced::Node(id))
        };
        let memory = self.node.map(node).transpose()?;
        let most = memory.and_then(|node| node.memory_bytes.value());
        if most == Some(&Bytes(0)) {
            return Err(Unplaced::NoMemory(self.node.unwrap_or_default()));
        }
        let binding = self.seat.as_ref().map_or(Binding::Each, |seat| seat.binding);
        let own = self.seat.as_ref().map(|seat| cpus(host, seat.at.clone(), None)).transpose()?;
        let load = MemoryLoad {
            kind: Workload::Memory(self.kernel),
            threads: self.threads,
            working_set_bytes: most
                .map_or(working_set_bytes, |most| Bytes(working_set_bytes.0.min(most.0 / 2))),
        };
        let cpus = CpuList(own.unwrap_or_default());
        Ok(EndSpec::background(load, Placement { cpus, binding, node: self.node }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Where;
    use narrows_model::Fact;
    use narrows_model::host::{CpuPlace, Node};

    fn two_nodes() -> Host {
        let node = |id: u32, cpus: [u32; 2], gib: u64| Node {
            id,
            cpus: cpus.to_vec(),
            memory_bytes: Fact::known(Bytes::gib(gib), "test"),
            ..Default::default()
        };
        let mut host = Host::default();
        host.cpu.online = Fact::known(vec![0, 1, 2, 3], "test");
        host.cpu.allowed = Fact::known(vec![0, 1, 2, 3], "test");
        let place =
            |cpu| CpuPlace { cpu, package: None, die: None, core: None, node: Some(cpu % 2) };
        host.cpu.places = (0..4).map(place).collect();
        host.nodes = vec![node(0, [0, 2], 8), node(1, [1, 3], 1), node(2, [4, 5], 0)];
        host
    }

    #[test]
    fn a_load_has_cpus_of_one_node_and_memory_of_another() {
        let on = |text: &str| {
            let load: BackgroundLoad = text.parse().expect("a load");
            let end = load.on(&two_nodes(), Bytes::gib(4))?;
            Ok::<_, Unplaced>((end.place, end.load.expect("a load")))
        };
        let (place, crossing) = on("copy:2@node:0/memory:1").expect("a place");
        assert_eq!((crossing.kind.as_str(), crossing.threads), ("memory-copy", 2));
        assert_eq!((place.cpus.0, place.node), (vec![0, 2], Some(1)));
        assert_eq!(place.binding, Binding::Each);
        assert_eq!(crossing.working_set_bytes, Bytes::mib(512), "half of the node");
        let (place, back) = on("read:4@node:1/all/memory:0").expect("a place");
        assert_eq!((place.cpus.0, place.node), (vec![1, 3], Some(0)));
        assert_eq!((place.binding, back.working_set_bytes), (Binding::All, Bytes::gib(4)));
        let (place, free) = on("read/memory:0").expect("a place");
        assert_eq!((free.threads, place.cpus.0, place.node), (1, vec![], Some(0)));
        assert!(on("read@node:0/memory:3").is_err_and(|why| why == Unplaced::Node(3)));
        assert!(on("read@node:0/memory:2").is_err_and(|why| why == Unplaced::NoMemory(2)));
        assert!(on("read@node:7").is_err_and(|why| why == Unplaced::NoCpu(7)));
    }

    #[test]
    fn what_is_no_load_is_told() {
        for text in [
            "",
            "tcp:1",
            "read:0",
            "read:1025",
            "read:x",
            "read@",
            "read/memory:",
            "read@0/memory:x",
            "read@0/some",
        ] {
            assert!(text.parse::<BackgroundLoad>().is_err(), "{text}");
        }
        let load: BackgroundLoad = "read:3@0+2".parse().expect("a load");
        let seat = Seat { at: Where::Cpus(vec![0, 2]), binding: Binding::Each };
        assert_eq!((load.threads, load.seat, load.node), (3, Some(seat), None));
    }
}
