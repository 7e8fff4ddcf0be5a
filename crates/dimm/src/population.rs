//! How the memory channels of each socket are populated, and into which interleave sets.

use crate::board::is_memory_slot;
use crate::interleave::{self, Sets};
use crate::platform::{self, Platform};
use narrows_model::host::{ChannelId, Host, Label, Memory, Slot};
use narrows_model::result::{FamilyFor, PopulationGap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The population of a host with what follows from it.
pub struct Population {
    /// What each socket holds, in order of their numbers.
    pub sockets: Vec<Socket>,
    /// The processors' family, when it is known.
    pub platform: Option<&'static Platform>,
    /// Parts that a socket's memory is split into.
    pub clusters: u32,
    /// The interleave sets, or what is missing for them.
    pub sets: Result<Sets, PopulationGap>,
    /// How even it is.
    pub balance: Balance,
}

impl Population {
    /// Looks at a host; an error says what is not known.
    pub fn of(host: &Host) -> Result<Self, PopulationGap> {
        let slots = host.memory.slots.value();
        let slots = slots
            .ok_or_else(|| PopulationGap::Slots(host.memory.slots.gap().unwrap_or_default()))?;
        let platform = platform::of(host);
        // The controllers' driver lists no empty channels, and without the family nobody does.
        let by_driver = slots_from(&host.memory) == SlotsFrom::Driver;
        if by_driver && platform.is_none() {
            return Err(PopulationGap::Family(FamilyFor::EmptyChannels));
        }
        let sockets = whole(sockets(slots)?, platform, by_driver);
        if !by_driver {
            every_processor(&sockets, slots, host)?;
        }
        let sockets = with_processor(sockets, host);
        let sockets = of_family(with_unnamed(sockets, slots, host), platform)?;
        let clusters =
            platform.map_or(1, |platform| interleave::clusters(host, platform, sockets.len()));
        let sets = match platform {
            Some(platform) => interleave::sets(slots, platform, clusters),
            None => Err(PopulationGap::Family(FamilyFor::Sets)),
        };
        let balance = balance(&sockets, sets.as_ref().ok());
        let nameless = slots.iter().any(|slot| slot.module.is_none() && slot.at.is_none());
        if balance == Balance::Balanced && nameless && platform.is_none() {
            return Err(PopulationGap::Family(FamilyFor::NamelessSlots));
        }
        Ok(Self { sockets, platform, clusters, sets, balance })
    }

    /// Whether every channel of every socket holds a module.
    pub fn is_full(&self) -> bool {
        self.sockets.iter().all(|socket| socket.populated().len() == socket.width())
    }

    /// The balance of every socket by itself; `None` for one without memory.
    pub fn by_socket(&self) -> Vec<Option<Balance>> {
        by_socket(&self.sockets, self.sets.as_ref().ok())
    }
}

/// The sockets without those that hold neither memory nor a processor: an empty half of a board is
/// no asymmetry. Firmware lists its processor sockets in the order of its slots' sockets; where it
/// lists fewer, those that hold memory are the ones that are fitted.
fn with_processor(sockets: Vec<Socket>, host: &Host) -> Vec<Socket> {
    let listed = host.cpu.sockets.value();
    let fitted = fitted(host);
    let filled = sockets.iter().filter(|socket| !socket.populated().is_empty()).count();
    let no_more = fitted > 0 && filled == fitted;
    let listed = listed.filter(|listed| listed.len() == sockets.len());
    let is_empty = |index: usize| no_more || listed.is_some_and(|listed| !listed[index].populated);
    let sockets = sockets.into_iter().enumerate();
    sockets
        .filter(|(index, socket)| !(is_empty(*index) && socket.populated().is_empty()))
        .map(|(_, socket)| socket)
        .collect()
}

/// Processors that firmware says are fitted; 0 where it does not tell.
fn fitted(host: &Host) -> usize {
    let listed = host.cpu.sockets.value();
    listed.map_or(0, |listed| listed.iter().filter(|socket| socket.populated).count())
}

/// Where a board calls every empty slot alike, no slot names a processor without memory. It is
/// fitted all the same, and nothing is on its channels: without it half a machine looks whole.
fn with_unnamed(mut sockets: Vec<Socket>, slots: &[Slot], host: &Host) -> Vec<Socket> {
    let nameless = slots.iter().any(nameless);
    let next = sockets.iter().map(|socket| socket.socket + 1).max().unwrap_or(0);
    let missing = fitted(host).saturating_sub(sockets.len());
    sockets.extend((next..).take(if nameless { missing } else { 0 }).map(|socket| Socket {
        socket,
        channels: BTreeMap::new(),
        unnamed: 0,
    }));
    sockets
}

/// An error where firmware lists slots of fewer processors than are fitted, and none without a
/// name: the others may have memory that it does not tell.
fn every_processor(sockets: &[Socket], slots: &[Slot], host: &Host) -> Result<(), PopulationGap> {
    let (told, fitted) = (sockets.len(), fitted(host));
    match told < fitted && !slots.iter().any(nameless) {
        true => Err(PopulationGap::SlotsOfProcessors { told, fitted }),
        false => Ok(()),
    }
}

fn nameless(slot: &Slot) -> bool {
    is_memory_slot(slot) && slot.module.is_none() && slot.at.is_none()
}

/// Where the slots of a host are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotsFrom {
    /// Firmware's table, which lists empty slots too.
    Firmware,
    /// The driver of the memory controllers (EDAC), which lists modules only.
    Driver,
}

/// The slots are the driver's when they and its list of modules are one fact.
pub fn slots_from(memory: &Memory) -> SlotsFrom {
    let known = memory.slots.value().is_some() && memory.controllers.value().is_some();
    if known && memory.slots.source() == memory.controllers.source() {
        SlotsFrom::Driver
    } else {
        SlotsFrom::Firmware
    }
}

/// The sockets with the channels that a driver does not list, for they are empty. Firmware that
/// numbers channels by controller (`MC0_CHANNELA`) lists them itself.
fn whole(
    mut sockets: Vec<Socket>,
    platform: Option<&'static Platform>,
    by_driver: bool,
) -> Vec<Socket> {
    let Some(platform) = platform.filter(|_| by_driver) else { return sockets };
    let (controllers, channels) = platform.numbered();
    for socket in &mut sockets {
        for controller in 0..controllers {
            for channel in 0..channels {
                let label = Label::Number(channel);
                let id = ChannelId::OfController { controller, label };
                socket.channels.entry(id).or_default();
            }
        }
    }
    sockets
}

/// The sockets with as many channels as the processors' family has: firmware names no channel for
/// the empty slots of some boards, and boards may lack some. An error where it names more, for then
/// one of the two is taken wrongly.
fn of_family(
    mut sockets: Vec<Socket>,
    platform: Option<&'static Platform>,
) -> Result<Vec<Socket>, PopulationGap> {
    let Some(platform) = platform else { return Ok(sockets) };
    let all = platform.channels_per_socket();
    for socket in &mut sockets {
        let named = u32::try_from(socket.channels.len()).unwrap_or(u32::MAX);
        socket.unnamed = all.checked_sub(named).ok_or_else(|| PopulationGap::MoreChannels {
            socket: socket.socket,
            named,
            family: platform.name.clone(),
            has: all,
        })?;
    }
    Ok(sockets)
}

/// Population of one socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Socket, from 0.
    pub socket: u32,
    /// Per channel label, the sizes of its modules in MiB, ascending; empty for an empty channel.
    pub channels: BTreeMap<ChannelId, Vec<u64>>,
    /// Channels that the processors' family has beside these: empty, for a module would name them.
    #[serde(default)]
    pub unnamed: u32,
}

/// How even a population is (docs/explain.md states the rules).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Every channel holds the same modules.
    Balanced,
    /// The memory of each socket is one interleave set, and some channels are empty or hold as much
    /// in other modules.
    NearBalanced,
    /// Each socket is even in itself, but the sockets differ.
    SocketAsymmetric,
    /// The memory of one socket is several interleave sets.
    Unbalanced,
}

/// The population by socket, or what is not known of it.
pub fn sockets(slots: &[Slot]) -> Result<Vec<Socket>, PopulationGap> {
    let mut sockets: BTreeMap<u32, Socket> = BTreeMap::new();
    for slot in slots {
        let module = slot.module.as_ref().filter(|module| module.is_dram);
        let Some(at) = &slot.at else {
            if module.is_some() {
                return Err(PopulationGap::ChannelOf(slot.locator.clone()));
            }
            continue;
        };
        let socket = sockets.entry(at.socket).or_insert_with(|| Socket {
            socket: at.socket,
            channels: BTreeMap::new(),
            unnamed: 0,
        });
        let channel = socket.channels.entry(at.channel.clone()).or_default();
        if let Some(module) = module {
            let size =
                module.size_bytes.ok_or_else(|| PopulationGap::SizeOf(slot.locator.clone()))?;
            channel.push(size.0 >> 20);
            channel.sort_unstable();
        }
    }
    let sockets: Vec<Socket> = sockets.into_values().collect();
    if sockets.iter().any(|socket| !socket.populated().is_empty()) {
        Ok(sockets)
    } else {
        Err(PopulationGap::Modules)
    }
}

impl Socket {
    /// The channels that hold something.
    pub fn populated(&self) -> Vec<(&ChannelId, &Vec<u64>)> {
        self.channels.iter().filter(|(_, modules)| !modules.is_empty()).collect()
    }

    /// How many channels there are, named or not.
    pub fn width(&self) -> usize {
        self.channels.len() + self.unnamed as usize
    }

    /// How even its own memory is, by its interleave sets where those are known; `None` for a
    /// socket without memory. The only rule for one socket: a host's balance follows from it.
    ///
    /// One set over all channels is not yet balanced: two modules of 4 GiB beside one of 8 are one
    /// set, and their channels have other ranks and speeds.
    pub fn balance(&self, sets: Option<&[interleave::Set]>) -> Option<Balance> {
        let populated = self.populated().len();
        let is_split = sets.map_or_else(|| !self.has_equal_capacity(), is_split);
        match () {
            () if populated == 0 => None,
            () if is_split => Some(Balance::Unbalanced),
            () if populated == self.width() && self.is_even() => Some(Balance::Balanced),
            () => Some(Balance::NearBalanced),
        }
    }

    /// Whether the populated channels hold as much as each other, in whatever modules.
    fn has_equal_capacity(&self) -> bool {
        self.populated().windows(2).all(|pair| sizes(pair[0].1) == sizes(pair[1].1))
    }

    /// Whether the populated channels hold the same modules.
    pub fn is_even(&self) -> bool {
        let populated = self.populated();
        populated.windows(2).all(|pair| pair[0].1 == pair[1].1)
    }

    /// What the populated channels hold, without regard to which they are.
    fn shape(&self) -> Vec<&Vec<u64>> {
        let mut shape: Vec<&Vec<u64>> =
            self.populated().into_iter().map(|(_, modules)| modules).collect();
        shape.sort();
        shape
    }
}

fn sizes(modules: &[u64]) -> u64 {
    modules.iter().copied().fold(0, u64::saturating_add)
}

/// The balance of a whole host: that of its worst socket, or the sockets' difference. Channels may
/// hold the same and still form several sets: three alike on two controllers do.
pub fn balance(sockets: &[Socket], sets: Option<&Sets>) -> Balance {
    let each = by_socket(sockets, sets);
    if each.contains(&Some(Balance::Unbalanced)) {
        return Balance::Unbalanced;
    }
    if sockets_differ(sockets) {
        return Balance::SocketAsymmetric;
    }
    if each.iter().all(|one| *one == Some(Balance::Balanced)) {
        Balance::Balanced
    } else {
        Balance::NearBalanced
    }
}

/// The balance of every socket by itself.
fn by_socket(sockets: &[Socket], sets: Option<&Sets>) -> Vec<Option<Balance>> {
    sockets
        .iter()
        .map(|socket| {
            let own = sets.and_then(|sets| sets.by_socket.get(&socket.socket));
            socket.balance(own.map(Vec::as_slice))
        })
        .collect()
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Balanced => "balanced",
            Self::NearBalanced => "near-balanced",
            Self::SocketAsymmetric => "socket-asymmetric",
            Self::Unbalanced => "unbalanced",
        })
    }
}

/// True when the sockets hold different memory.
pub fn sockets_differ(sockets: &[Socket]) -> bool {
    sockets.windows(2).any(|pair| pair[0].shape() != pair[1].shape())
}

/// True when a part of the socket has several sets, or its parts differ.
pub fn is_split(sets: &[interleave::Set]) -> bool {
    sets.windows(2).any(|pair| {
        pair[0].cluster == pair[1].cluster
            || (pair[0].ways(), pair[0].size_bytes) != (pair[1].ways(), pair[1].size_bytes)
    })
}

/// Whether both memory controllers of every populated socket hold the same, which is what the
/// Lenovo study LP1241 of 2019 calls balanced. Only for processors with two controllers of three
/// channels (Xeon Scalable of the first two generations); `None` for others. Channels are taken in
/// the order of their labels: the first three belong to one controller.
pub fn controllers_equal(sockets: &[Socket], processor: &str) -> Option<bool> {
    let two_by_three = platform::named(processor)
        .is_some_and(|platform| (platform.controllers, platform.channels) == (2, 3));
    if !two_by_three || sockets.iter().any(|socket| socket.channels.len() != 6) {
        return None;
    }
    Some(sockets.iter().filter(|socket| !socket.populated().is_empty()).all(|socket| {
        let channels: Vec<&Vec<u64>> = socket.channels.values().collect();
        let mut halves = channels.chunks(3).map(|half| {
            let mut held = half.to_vec();
            held.sort();
            held
        });
        halves.next() == halves.next()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::host::{Module, SlotPlace};
    use narrows_model::{Bytes, Fact};

    /// Sockets given as lists of channels, each a list of module sizes.
    fn host(sockets: &[&[&[u64]]]) -> Vec<Socket> {
        let channels = |list: &[&[u64]]| {
            list.iter()
                .enumerate()
                .map(|(at, modules)| (ChannelId::numbered(at), modules.to_vec()))
                .collect()
        };
        let sockets = sockets.iter().enumerate();
        let of = |(at, list): (usize, &&[&[u64]])| Socket {
            socket: at as u32,
            channels: channels(list),
            unnamed: 0,
        };
        sockets.map(of).collect()
    }

    #[test]
    fn channels_are_those_of_the_family_whatever_firmware_names() {
        let platform = platform::named("Intel(R) Xeon(R) CPU E5-2667 v3 @ 3.20GHz");
        let one: &[&[u64]] = &[&[32]];
        let sockets = of_family(host(&[one, one]), platform).expect("fits");
        assert_eq!((sockets[0].populated().len(), sockets[0].width()), (1, 4));
        assert_eq!(balance(&sockets, None), Balance::NearBalanced);
        let five: &[&[u64]] = &[&[32], &[32], &[32], &[32], &[32]];
        assert!(
            of_family(host(&[five]), platform)
                .is_err_and(|why| why.to_string().contains("5 channels"))
        );
    }

    #[test]
    fn each_class_has_its_population() {
        let full: &[&[u64]] = &[&[32], &[32]];
        let half: &[&[u64]] = &[&[32], &[]];
        let uneven: &[&[u64]] = &[&[32, 32], &[32]];
        assert_eq!(balance(&host(&[full, full]), None), Balance::Balanced);
        assert_eq!(balance(&host(&[half, half]), None), Balance::NearBalanced);
        assert_eq!(balance(&host(&[full, half]), None), Balance::SocketAsymmetric);
        assert_eq!(balance(&host(&[full, uneven]), None), Balance::Unbalanced);
        assert_eq!(balance(&host(&[&[&[32], &[16]]]), None), Balance::Unbalanced);
        assert_eq!(balance(&host(&[&[&[32], &[16, 16]]]), None), Balance::NearBalanced);
    }

    #[test]
    fn controllers_of_two_by_three_channels_hold_the_same_or_not() {
        const LAKE: &str = "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz";
        let one: &[u64] = &[32];
        let two: &[u64] = &[32, 32];
        let none: &[u64] = &[];
        for (channels, equal) in [
            ([one, one, one, one, one, one], Some(true)),
            ([one, none, none, one, none, none], Some(true)),
            // In any order within a controller.
            ([two, one, none, none, two, one], Some(true)),
            ([one, one, none, one, none, none], Some(false)),
            ([two, one, one, one, one, one], Some(false)),
            ([none, none, none, none, none, none], Some(true)),
        ] {
            assert_eq!(controllers_equal(&host(&[&channels]), LAKE), equal, "{channels:?}");
        }
        let uneven = [one, one, one, one, one, none];
        assert_eq!(controllers_equal(&host(&[&[one; 6], &uneven]), LAKE), Some(false));
        assert_eq!(controllers_equal(&host(&[&[one; 5]]), LAKE), None);
        for other in ["Intel(R) Xeon(R) Gold 6342 CPU @ 2.80GHz", "AMD EPYC 7302", "unknown"] {
            assert_eq!(controllers_equal(&host(&[&[one; 6]]), other), None, "{other}");
        }
    }

    #[test]
    fn slots_are_the_drivers_only_where_both_lists_are_one_fact() {
        let memory = |slots: Option<&'static str>, driver: Option<&'static str>| {
            let mut memory = Memory::default();
            if let Some(from) = slots {
                memory.slots = Fact::known(Vec::new(), from);
            }
            if let Some(from) = driver {
                memory.controllers = Fact::known(Vec::new(), from);
            }
            slots_from(&memory)
        };
        assert_eq!(memory(Some("edac"), Some("edac")), SlotsFrom::Driver);
        assert_eq!(memory(Some("dmi"), Some("edac")), SlotsFrom::Firmware);
        assert_eq!(memory(Some("dmi"), None), SlotsFrom::Firmware);
        assert_eq!(memory(None, Some("edac")), SlotsFrom::Firmware);
        assert_eq!(memory(None, None), SlotsFrom::Firmware);
    }

    #[test]
    fn a_host_of_no_known_family_is_one_cluster_a_socket_and_has_no_sets() {
        let slot = |channel: &str, gib: u64| Slot {
            at: Some(SlotPlace { socket: 0, channel: channel.into(), controller: None }),
            module: (gib > 0).then(|| Module {
                size_bytes: Some(Bytes::gib(gib)),
                is_dram: true,
                ..Module::default()
            }),
            ..Slot::default()
        };
        let of = |slots: Vec<Slot>| {
            let mut host = Host::default();
            host.memory.slots = Fact::known(slots, "planted");
            Population::of(&host)
        };
        let both = of(vec![slot("A", 16), slot("B", 16)]).expect("a population");
        assert_eq!((both.clusters, both.balance), (1, Balance::Balanced));
        assert_eq!(both.sets, Err(PopulationGap::Family(FamilyFor::Sets)));
        let one = of(vec![slot("A", 16), slot("B", 0)]).expect("a population");
        assert_eq!((one.balance, one.is_full()), (Balance::NearBalanced, false));
        let nameless = Slot::default();
        let unknown = of(vec![slot("A", 16), slot("B", 16), nameless]);
        assert_eq!(unknown.err(), Some(PopulationGap::Family(FamilyFor::NamelessSlots)));
    }
}
