//! What `--set`, `--given` and descriptions say: keys with what each can be, and numbers with where
//! they are from.

use crate::bounds::{self, Bound};
use crate::refused::Refused;
use narrows_model::result::Provenance;
use std::collections::BTreeMap;

/// A number and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The figure, in the unit of what was asked.
    pub value: f64,
    pub from: Provenance,
}

impl Known {
    /// A number from somewhere.
    pub fn new(value: f64, from: Provenance) -> Self {
        Self { value, from }
    }
}

/// A key of `--set`.
#[derive(Debug)]
pub struct Key {
    /// Its name; `memory.socketN` stands for one of each processor.
    pub name: &'static str,
    pub says: &'static str,
    /// What it can be, where it is one number.
    pub bound: Option<&'static Bound>,
}

const fn number_key(name: &'static str, says: &'static str, bound: &'static Bound) -> Key {
    Key { name, says, bound: Some(bound) }
}

const fn word_key(name: &'static str, says: &'static str) -> Key {
    Key { name, says, bound: None }
}

/// What `--set` takes.
pub static KEYS: &[Key] = &[
    word_key("cpu", "the processor, by name"),
    word_key("memory.socketN", "modules of each channel, controllers separated by slashes"),
    number_key("memory.mts", "speed of the modules", &bounds::MTS),
    number_key("memory.copy_gb_s", "crosses the bus when one node copies", &bounds::COPY_GB_S),
    number_key(
        "memory.core_gb_s",
        "what one core's memcpy reads and writes together, as numademo counted until 2023",
        &bounds::CORE_GB_S,
    ),
    number_key("mtu", "the interface's", &bounds::MTU),
    number_key("message", "bytes of a message", &bounds::MESSAGE),
    number_key("streams", "streams or queue pairs at once", &bounds::STREAMS),
    number_key("frame", "smallest packets, check sequence included, or imix", &bounds::FRAME),
    number_key("cpu.count", "CPUs that the host has", &bounds::CPUS),
    number_key("cpu.ghz", "clock of a core while few are busy", &bounds::GHZ),
    number_key("threads", "threads that share all streams, if fewer", &bounds::STREAMS),
    word_key("irq", "where the NIC interrupts: same-cpu, same-cache, other-cache"),
    word_key("offloads", "who merges segments below TCP: no, yes (the kernel), hardware"),
    word_key("congestion", "TCP's congestion control, where it is not the host's default"),
    word_key("ddio", "no: what devices write goes to memory and not to the last-level cache"),
    word_key("iommu", "yes: what devices write goes by translated addresses"),
    number_key("neighbours", "cores that load the memory during the traffic", &bounds::CPUS),
    word_key("neighbours.work", "what these do: read, read-write"),
    word_key("busy-poll", "yes: threads that wait for a packet poll the NIC"),
    number_key("switches", "switches between the two hosts", &bounds::SWITCHES),
    number_key("vlan", "tags of a frame", &bounds::TAGS),
    word_key("ip", "4 or 6"),
    word_key("link", "ethernet or infiniband"),
    number_key("nic.gbps", "rate of a port", &bounds::LINK_GBPS),
    number_key("nic.mpps", "millions of packets a second that the NIC can do", &bounds::MPPS),
    word_key("nic.model", "ConnectX-5, E810, XL710 and others, for what its engine does"),
    word_key("nic.pcie", "its slot: generation, lanes and payload, 4x16/256"),
    word_key("nic.uplink", "the chipset's uplink that the slot is behind, 3x4"),
    word_key("nic.socket", "the processor it is attached to, or several separated by commas"),
    number_key("nic.count", "NICs of that kind", &bounds::SOCKETS),
    word_key("nic.direct", "yes: one port with a slot on every processor"),
    number_key(
        "work.socket",
        "the processor that does the work, if not the NIC's",
        &bounds::SOCKET,
    ),
    word_key("sockets.links", "links between two processors and their rate, 3x10.4"),
    word_key("path", "only these, separated by commas: tcp, udp, rdma, mpi, packets"),
];

/// What was said, by key.
pub type Said = BTreeMap<String, String>;

/// A number that was said, within its key's bound.
pub(crate) fn number(said: &Said, key: &str) -> Result<Option<Known>, Refused> {
    let Some(text) = said.get(key) else { return Ok(None) };
    let value = text.trim().parse();
    let value: f64 = value.map_err(|_| Refused::NoNumber(key.to_owned(), text.clone()))?;
    let bound = KEYS.iter().find(|known| known.name == key).and_then(|known| known.bound);
    let bound = bound.ok_or_else(|| Refused::NotOneNumber(key.to_owned()))?;
    let value = bound.check(value).map_err(|why| Refused::Bounds(key.to_owned(), why))?;
    Ok(Some(Known::new(value, given())))
}

/// One of the words that a key can be.
pub(crate) fn word(
    said: &Said,
    key: &str,
    known: &[&'static str],
) -> Result<Option<&'static str>, Refused> {
    let Some(text) = said.get(key) else { return Ok(None) };
    let found = known.iter().find(|word| *word == text).copied();
    found.map(Some).ok_or_else(|| Refused::NoneOf(key.to_owned(), text.clone(), known.to_vec()))
}

/// The words of a list, which commas separate.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// Where what was said is from.
pub(crate) fn given() -> Provenance {
    Provenance::Given("--given or --set".to_owned())
}

/// What stands in a key after `memory.socket`; `None` of other keys.
pub(crate) fn of_socket(key: &str) -> Option<&str> {
    key.strip_prefix("memory.socket")
}

/// The number of a processor in a key or its value.
pub(crate) fn socket_of(key: &str, text: &str) -> Result<usize, Refused> {
    let at = text.trim().parse();
    let at: f64 = at.map_err(|_| Refused::NoSocket(key.to_owned(), text.to_owned()))?;
    let at = bounds::SOCKET.check(at).map_err(|why| Refused::Bounds(key.to_owned(), why))?;
    Ok(at as usize)
}
