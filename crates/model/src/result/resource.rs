//! Resources that a path needs, as predictions, findings and reports name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A resource of one host, or of the path that leaves it. A stream has the rate of the one that
/// allows the least; a round trip has the sum of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub enum ResourceName {
    /// The link between two processors, where its rate is not known.
    BetweenProcessors,
    /// The link between chipset and processor, which all slots behind the chipset share.
    Chipset,
    /// All CPUs that carry the path's traffic.
    Cpu,
    /// Writes of a device to memory that may be outstanding at once.
    DeviceWrites,
    /// Both NICs, their slots and the wire, in a round trip.
    Devices,
    /// The memory channels' peak by their data sheet.
    Dram,
    /// Software of both hosts as measured inside one, in a round trip.
    Hosts,
    /// The link between two processors.
    InterSocket,
    /// Memory, by what copies of kernel buffers leave of it.
    Memory,
    /// Interrupts that a NIC holds back, in a round trip.
    Moderation,
    /// A NIC's own engine: packets or messages a second.
    Nic,
    /// The slot of a NIC.
    Pcie,
    /// The whole host, where not even its processor is known.
    Server,
    /// The kernel's network stack, in a round trip.
    Stack,
    /// The one CPU that a single stream can use.
    Stream,
    /// Switches between the hosts, in a round trip.
    Switch,
    /// Threads that are woken up, in a round trip.
    WakeUp,
    /// The link's bits, framing taken off.
    Wire,
}

impl ResourceName {
    const WORDS: [(Self, &'static str); 18] = [
        (Self::BetweenProcessors, "between the processors"),
        (Self::Chipset, "chipset"),
        (Self::Cpu, "cpu"),
        (Self::DeviceWrites, "device-writes"),
        (Self::Devices, "devices"),
        (Self::Dram, "dram"),
        (Self::Hosts, "hosts"),
        (Self::InterSocket, "inter-socket"),
        (Self::Memory, "memory"),
        (Self::Moderation, "moderation"),
        (Self::Nic, "nic"),
        (Self::Pcie, "pcie"),
        (Self::Server, "server"),
        (Self::Stack, "stack"),
        (Self::Stream, "stream"),
        (Self::Switch, "switch"),
        (Self::WakeUp, "wake-up"),
        (Self::Wire, "wire"),
    ];

    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(name, _)| *name == self).map_or("", |(_, word)| word)
    }

    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(name, _)| *name)
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ResourceName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

/// A resource at either end of a path, in files `cpu` or `peer's cpu`. A word of another version
/// of narrows is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
#[schemars(with = "String")]
pub enum ResourceAt {
    /// Of this host.
    Own(ResourceName),
    /// Of the host at the far end.
    Peer(ResourceName),
    /// A word that this version does not know.
    Other(String),
}

const OF_PEER: &str = "peer's ";

impl ResourceAt {
    /// The same resource, seen from the other end.
    pub fn at_peer(self) -> Self {
        match self {
            Self::Own(name) => Self::Peer(name),
            of_peer => of_peer,
        }
    }

    /// Which resource it is, whichever end has it.
    pub fn name(&self) -> Option<ResourceName> {
        match self {
            Self::Own(name) | Self::Peer(name) => Some(*name),
            Self::Other(_) => None,
        }
    }
}

impl From<ResourceName> for ResourceAt {
    fn from(name: ResourceName) -> Self {
        Self::Own(name)
    }
}

impl fmt::Display for ResourceAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(name) => write!(f, "{name}"),
            Self::Peer(name) => write!(f, "{OF_PEER}{name}"),
            Self::Other(word) => f.write_str(word),
        }
    }
}

impl From<ResourceAt> for String {
    fn from(at: ResourceAt) -> Self {
        at.to_string()
    }
}

impl From<String> for ResourceAt {
    fn from(word: String) -> Self {
        let of_peer = word.strip_prefix(OF_PEER).and_then(ResourceName::named);
        match (ResourceName::named(&word), of_peer) {
            (Some(name), _) => Self::Own(name),
            (None, Some(name)) => Self::Peer(name),
            (None, None) => Self::Other(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_at_either_end() {
        for (name, word) in ResourceName::WORDS {
            assert_eq!(name.as_str(), word);
            assert_eq!(ResourceAt::from(word.to_owned()), ResourceAt::Own(name));
            let of_peer = ResourceAt::from(format!("peer's {word}"));
            assert_eq!(of_peer, ResourceAt::Own(name).at_peer());
            assert_eq!(of_peer.to_string(), format!("peer's {word}"));
        }
    }

    /// Stored files and scripts have these words.
    #[test]
    fn the_words_are_those_of_older_files() {
        let words = ResourceName::WORDS.map(|(name, _)| name.to_string()).join(" ");
        let wanted = "between the processors chipset cpu device-writes devices dram hosts \
                      inter-socket memory moderation nic pcie server stack stream switch wake-up \
                      wire";
        assert_eq!(words, wanted);
    }

    #[test]
    fn a_word_of_another_version_is_kept() {
        for word in ["tlb", "peer's tlb", "peer's ", ""] {
            let read: ResourceAt =
                serde_json::from_value(serde_json::Value::from(word)).expect("a word");
            assert_eq!((&read, read.name()), (&ResourceAt::Other(word.into()), None));
            assert_eq!(serde_json::to_value(&read).expect("a word"), word);
        }
    }

    #[test]
    fn the_peers_stays_the_peers() {
        let of_peer = ResourceAt::Peer(ResourceName::Cpu);
        assert_eq!(of_peer.clone().at_peer(), of_peer);
        assert_eq!(format!("{:<5}|", ResourceName::Cpu), "cpu  |");
    }
}
