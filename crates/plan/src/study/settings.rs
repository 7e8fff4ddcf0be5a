//! What one cell asks for: options of the table in [`narrows_model::options`], and states of the
//! host that have names of their own.

use super::{Coalescing, Position, Positions, StudyError};
use crate::{BackgroundLoad, ByEnd, NoPattern, Pattern, PlacesByEnd, Seat, Unnamed, Where};
use narrows_model::Bytes;
use narrows_model::container::Container;
use narrows_model::load::{Bind, MemoryParams, Params};
use narrows_model::options::{
    ALL, Key, KeyOf, Opt, Options, Scene, Section, Told, Value, ValueOf, flows, packets, places,
    rdma, runs,
};
use narrows_model::packets::{IMIX_BYTES, NotAPacketRate, PacketRate};
use narrows_model::peer_name::host_and_port;
use narrows_model::trial::Engine;
use narrows_model::workload::Workload;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Keys of a cell that are no options: a table of options, states of the host by name, and hosts.
const TABLES: &[&str] = &["rdma", "offloads", "coalescing", "sysctl", "peers"];

/// Everything that a study can set. What is not told is left as the command line would.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Options, by key.
    pub options: Options,
    /// Options of RDMA, by key; a level's table takes the place of the base's as a whole.
    pub rdma: Option<Options>,
    /// Offloads of the interface between the ends by ethtool's words, which narrows sets and puts
    /// back.
    pub offloads: BTreeMap<String, bool>,
    /// Interrupt coalescing of that interface, the same.
    pub coalescing: Coalescing,
    /// Kernel settings by name, which narrows sets and puts back.
    pub sysctl: BTreeMap<String, String>,
    /// Hosts that take part beside this one, by name or address; empty: the study's only peer.
    pub peers: Vec<String>,
    /// Where the study's file says each of them.
    pub positions: Positions,
}

impl Settings {
    /// What an option is told.
    pub fn told<T: Told>(&self, option: &Opt<T>) -> Option<T> {
        match option.declared.section {
            Section::Top => self.options.told(option),
            Section::Rdma => self.rdma.as_ref()?.told(option),
        }
    }

    /// Tells an option.
    pub fn tell<T: Told>(&mut self, option: &'static Opt<T>, value: T) {
        match option.declared.section {
            Section::Top => self.options.tell(option, value),
            Section::Rdma => self.rdma.get_or_insert_default().tell(option, value),
        }
    }

    /// Takes away what an option is told.
    pub fn take<T: Told>(&mut self, option: &'static Opt<T>) -> Option<T> {
        let key = option.declared.key;
        let value = match option.declared.section {
            Section::Top => self.options.take(key),
            Section::Rdma => self.rdma.as_mut()?.take(key),
        };
        value.as_ref().and_then(T::of)
    }

    /// These, with what the other sets in their place.
    #[must_use]
    pub fn with(&self, over: &Self) -> Self {
        let mut sysctl = self.sysctl.clone();
        sysctl.extend(over.sysctl.clone());
        let mut offloads = self.offloads.clone();
        offloads.extend(over.offloads.clone());
        let coalescing = self.coalescing.with(over.coalescing);
        let rdma = over.rdma.as_ref().or(self.rdma.as_ref()).cloned();
        let peers = if over.peers.is_empty() { &self.peers } else { &over.peers }.clone();
        let options = self.options.with(&over.options);
        let positions = self.positions.with(&over.positions);
        Self { options, rdma, offloads, coalescing, sysctl, peers, positions }
    }

    /// Where the study's file tells an option, or one of RDMA's, by its key.
    pub fn position(&self, key: &str) -> Option<Position> {
        self.positions.of(key).or_else(|| self.positions.of(&format!("rdma.{key}")))
    }

    /// What the cell runs; a TCP stream unless it says so.
    pub fn kind(&self) -> Workload {
        match self.options.get(runs::LOAD.declared.key) {
            Some(Value::Text(load)) => load.as_str().into(),
            _ => Workload::TCP_STREAM,
        }
    }

    /// What the workload is told, as a job has it. `cache` is the largest last-level cache of the
    /// hosts, `working_set` what a memory kernel has without a size.
    pub fn params(&self, cache: Bytes, working_set: Bytes) -> Result<Params, StudyError> {
        let workload = self.kind();
        let memory = workload.is_memory();
        let mut params = if memory {
            Params::of_memory(1, working_set, MemoryParams::default())
        } else {
            Params::of_network(workload.message_bytes(None), 1)
        };
        let scene = Scene { workload: &workload, cache };
        for option in ALL {
            let told = match option.section {
                Section::Top => Some(&self.options),
                Section::Rdma => self.rdma.as_ref(),
            };
            let value = told.and_then(|told| told.get(option.key));
            // A base may have options of networks and of memory kernels: a cell takes its own.
            let own = if memory { (option.fits.holds)(&workload) } else { !option.is_of_kernels() };
            if let Some(value) = value.filter(|_| own) {
                option.put(&mut params, value, &scene);
            }
        }
        if packets::IMIX.of(&params) == Some(true) {
            params.message_bytes = IMIX_BYTES;
        }
        if !memory {
            self.pace(&mut params)?;
        }
        let params = params.tidied();
        if let Some(rdma) = &params.rdma
            && let (None, Some(provider)) = (&rdma.via, &rdma.provider)
        {
            let why = format!("'{provider}' is a provider of libfabric: say via libfabric too");
            return Err(StudyError::new(rdma::PROVIDER.declared.key, why));
        }
        Ok(params)
    }

    /// Packets a second, as they are told.
    pub fn packet_rate(&self) -> Result<Option<PacketRate>, StudyError> {
        let told = self.told(&packets::RATE).as_deref().map(str::parse).transpose();
        told.map_err(|why: NotAPacketRate| StudyError::new(RATE, why.to_string()))
    }

    /// Whether a study's search chooses its rate: packets to which no rate is told.
    pub fn is_searched(&self) -> bool {
        self.kind() == Workload::Packets
            && self.told(&flows::BITRATE).is_none()
            && self.told(&packets::RATE).is_none()
    }

    /// Paces packets by their number: a trial keeps the bits of their frames.
    fn pace(&self, params: &mut Params) -> Result<(), StudyError> {
        let Some(rate) = self.packet_rate()? else { return Ok(()) };
        let workload = self.kind();
        if workload != Workload::Packets {
            return Err(StudyError::new(RATE, format!("is for packets, not for {workload}")));
        }
        if params.rate_bps.is_some() {
            let bits = flows::BITRATE.declared.key;
            return Err(StudyError::new(RATE, format!("and {bits} are both told: leave one out")));
        }
        if let PacketRate::PerSecond(rate) = rate {
            params.rate_bps = Some((rate * 8.0 * params.message_bytes.0 as f64) as u64);
        }
        Ok(())
    }

    /// Bytes of each frame or message, of a mix on average.
    pub fn message_bytes(&self) -> Bytes {
        match self.told(&packets::IMIX) {
            Some(true) => IMIX_BYTES,
            _ => self.kind().message_bytes(self.told(&flows::LENGTH)),
        }
    }

    /// The outside tool, with its words.
    pub fn engine(&self) -> Option<Engine> {
        let words = |option| -> Vec<String> {
            let text = self.told::<String>(option).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        let tool = self.told(&runs::ENGINE)?;
        let (client, server) = (words(&runs::ENGINE_CLIENT), words(&runs::ENGINE_SERVER));
        Some(Engine { tool, client, server })
    }

    /// Who sends to whom among the hosts; `None` where this one has an end.
    pub fn pattern(&self) -> Result<Option<Pattern>, StudyError> {
        let pattern = self.told(&places::PATTERN).as_deref().map(str::parse).transpose();
        pattern.map_err(|why: NoPattern| {
            StudyError::new(places::PATTERN.declared.key, why.to_string())
        })
    }

    /// Where the ends of a pattern among these hosts are.
    pub fn places_by_end(&self, hosts: &[&str]) -> Result<PlacesByEnd, StudyError> {
        let seats = self.by_end(&places::AFFINITY, hosts, str::parse::<Seat>)?;
        let nodes = self.by_end(&places::MEMORY_NODE, hosts, str::parse::<u32>)?;
        Ok(PlacesByEnd { seats, nodes })
    }

    fn by_end<T, E: ToString>(
        &self,
        option: &Opt<String>,
        hosts: &[&str],
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<ByEnd<T>, StudyError> {
        let Some(text) = self.told(option) else { return Ok(ByEnd::default()) };
        let told = ByEnd::parse(&text, read);
        let told = told.and_then(|told| told.check(hosts).map(|()| told));
        told.map_err(|why| StudyError::new(option.declared.key, why.to_string()))
    }

    /// CPUs of both ends, as places.
    pub fn places(&self) -> Result<Option<(Seat, Seat)>, StudyError> {
        self.told(&places::AFFINITY).as_deref().map(seats).transpose()
    }

    /// Where interrupts go, as a place.
    pub fn interrupts(&self) -> Result<Option<Where>, StudyError> {
        let place = self.told(&places::IRQ).as_deref().map(str::parse).transpose();
        place.map_err(|why: Unnamed| StudyError::new(places::IRQ.declared.key, why.to_string()))
    }

    /// Where the packets of this host's end leave from.
    pub fn bind(&self) -> Option<Bind> {
        let words = self.told(&places::BIND)?;
        let ports = Bind::of_ports(&words).filter(|_| self.kind() == Workload::Packets);
        Some(ports.unwrap_or_else(|| Bind { lent: self.lent(), ..Bind::from_words(&words) }))
    }

    /// The interface of the other host that raw frames go to, or come from.
    pub fn lent(&self) -> Option<String> {
        self.told(&packets::PEER_NIC).filter(|_| self.kind() == Workload::Packets)
    }

    /// Two ports of this host that a cable joins: packets that are bound to two interfaces.
    pub fn ports(&self) -> Option<[String; 2]> {
        let Bind { device, cable, .. } = self.bind()?;
        Some([device?, cable?])
    }

    /// The RDMA devices of both ends, where both are named: `device = "mlx5_0,mlx5_0"`. Without a
    /// peer both are of this host. One name alone stands for hosts that are built alike.
    pub fn devices(&self) -> Option<[String; 2]> {
        let told = self.told(&rdma::DEVICE).filter(|_| self.kind().is_rdma())?;
        let (here, there) = told.split_once(',')?;
        let both = [here, there].map(|name| name.trim().to_owned());
        Some(both).filter(|both| both.iter().all(|name| !name.is_empty()))
    }

    /// The same settings for each of several interfaces or addresses; none where there are not
    /// several, or where they are the two ends of one cable.
    pub fn by_interface(&self) -> Vec<Self> {
        if self.ports().is_some() {
            return Vec::new();
        }
        let told = self.told(&places::BIND).filter(|told| told.contains(','));
        let told = told.unwrap_or_default();
        let names = told.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| {
                let mut one = self.clone();
                one.tell(&places::BIND, name.to_owned());
                one
            })
            .collect()
    }

    /// What this host's end runs in, where that is not the host itself.
    pub fn container(&self) -> Result<Option<Container>, StudyError> {
        let told = self.told(&places::IN).filter(|told| told != "host");
        let Some(told) = told else { return Ok(None) };
        let container = told.parse::<Container>();
        let container =
            container.map_err(|why| StudyError::new(places::IN.declared.key, why.to_string()))?;
        if let Some(engine) = self.engine() {
            let why = format!("engine '{}' runs on the host itself", engine.tool);
            return Err(StudyError::new(places::IN.declared.key, why));
        }
        let network = self.told(&places::CONTAINER_NET);
        match network.as_deref() {
            None => Ok(Some(container)),
            Some(name) if is_word(&name) && !name.is_empty() => {
                Ok(Some(container.in_network(name)))
            }
            Some(name) => {
                let why = format!("'{name}' is not a network name");
                Err(StudyError::new(places::CONTAINER_NET.declared.key, why))
            }
        }
    }

    /// Nodes of both ends' buffers.
    pub fn nodes(&self) -> Result<(Option<u32>, Option<u32>), StudyError> {
        self.told(&places::MEMORY_NODE).as_deref().map_or(Ok((None, None)), nodes)
    }

    /// Node of a memory kernel's memory: a number alone, since `LOCAL,REMOTE` is of two ends.
    pub fn kernel_node(&self) -> Result<Option<u32>, StudyError> {
        let Some(told) = self.told(&places::MEMORY_NODE) else { return Ok(None) };
        if told.contains([',', '=']) {
            let why = format!(
                "'{told}' is of the ends of a network, and a memory kernel has one end: name one \
                 node, or leave these cells out by an exclude"
            );
            return Err(StudyError::new(MEMORY_NODE, why));
        }
        node(&told)
    }

    /// The background load.
    pub fn background(&self) -> Result<Option<BackgroundLoad>, StudyError> {
        let load = self.told(&places::MEMORY_LOAD).as_deref().map(str::parse).transpose();
        load.map_err(|why: Unnamed| {
            StudyError::new(places::MEMORY_LOAD.declared.key, why.to_string())
        })
    }
}

fn is_word(name: &&str) -> bool {
    !name.starts_with('-') && !name.contains([' ', ','])
}

/// Reads the places of two ends, `LOCAL,REMOTE`.
pub fn seats(text: &str) -> Result<(Seat, Seat), StudyError> {
    let both = text.split_once(',').ok_or_else(|| wrong(Unnamed::Pair(text.to_owned())))?;
    Ok((both.0.parse().map_err(wrong)?, both.1.parse().map_err(wrong)?))
}

fn wrong(why: Unnamed) -> StudyError {
    StudyError::new(places::AFFINITY.declared.key, why.to_string())
}

/// Reads the nodes of two ends, `LOCAL,REMOTE`; a dash leaves an end's to the kernel.
pub fn nodes(text: &str) -> Result<(Option<u32>, Option<u32>), StudyError> {
    let both = text.split_once(',');
    let both = both
        .ok_or_else(|| StudyError::new(MEMORY_NODE, Unnamed::Pair(text.to_owned()).to_string()))?;
    Ok((node(both.0)?, node(both.1)?))
}

/// The key of a rate of packets.
const RATE: &str = packets::RATE.declared.key;
/// The key of what [`nodes`] reads.
const MEMORY_NODE: &str = places::MEMORY_NODE.declared.key;

fn node(text: &str) -> Result<Option<u32>, StudyError> {
    match text.trim() {
        "-" => Ok(None),
        number => number.parse().map(Some).map_err(|_| {
            StudyError::new(MEMORY_NODE, format!("'{number}' is neither a node nor a dash"))
        }),
    }
}

/// The options of one section, as an identity has them.
struct InOrder<'a>(Section, &'a Options);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        self.1.write_section(self.0, &mut map)?;
        map.end()
    }
}

/// The text that identities of cells are made of.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        self.options.write_section(Section::Top, &mut map)?;
        if let Some(rdma) = &self.rdma {
            map.serialize_entry("rdma", &InOrder(Section::Rdma, rdma))?;
        }
        if !self.offloads.is_empty() {
            map.serialize_entry("offloads", &self.offloads)?;
        }
        if self.coalescing != Coalescing::default() {
            map.serialize_entry("coalescing", &self.coalescing)?;
        }
        map.serialize_entry("sysctl", &self.sysctl)?;
        if !self.peers.is_empty() {
            map.serialize_entry("peers", &self.peers)?;
        }
        map.end()
    }
}

/// A table of RDMA's options.
struct RdmaTable(Options);

impl<'de> Deserialize<'de> for RdmaTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = RdmaTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of options of RDMA")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<RdmaTable, M::Error> {
                let mut options = Options::default();
                while let Some(key) = map.next_key_seed(keys())? {
                    if let Key::Option(option) = key {
                        options.set(option, map.next_value_seed(ValueOf(option))?);
                    }
                }
                Ok(RdmaTable(options))
            }
        }
        from.deserialize_map(Table)
    }
}

fn keys() -> KeyOf {
    KeyOf { section: Section::Rdma, others: &[] }
}

/// Names of hosts, each once.
struct Peers(Vec<String>);

impl<'de> Deserialize<'de> for Peers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        let mut seen = BTreeSet::new();
        if names.is_empty() {
            return Err(de::Error::custom("peers: no host is named"));
        }
        for name in &names {
            if name.is_empty() || name.contains([',', ' ']) {
                return Err(de::Error::custom(format!("peers: '{name}' is not a host name")));
            }
            host_and_port(name).map_err(|why| de::Error::custom(format!("peers: {why}")))?;
            if !seen.insert(name) {
                return Err(de::Error::custom(format!("peers: '{name}' is listed twice")));
            }
        }
        Ok(Self(names))
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Settings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of options")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Settings, M::Error> {
                let mut settings = Settings::default();
                let keys = || KeyOf { section: Section::Top, others: TABLES };
                while let Some(key) = map.next_key_seed(keys())? {
                    match key {
                        Key::Option(option) => {
                            let value = map.next_value_seed(ValueOf(option))?;
                            settings.options.set(option, value);
                        }
                        Key::Other("rdma") => {
                            settings.rdma = Some(map.next_value::<RdmaTable>()?.0);
                        }
                        Key::Other("offloads") => settings.offloads = map.next_value()?,
                        Key::Other("coalescing") => settings.coalescing = map.next_value()?,
                        Key::Other("peers") => settings.peers = map.next_value::<Peers>()?.0,
                        Key::Other(_) => settings.sysctl = map.next_value()?,
                    }
                }
                Ok(settings)
            }
        }
        from.deserialize_map(Table)
    }
}
