//! Interleave sets: over how many channels each part of a socket's memory is spread.
//!
//! Modules are taken in layers of equal capacity a channel. In a layer, channels of all controllers
//! that are used form one set when each controller has as many; else one set takes the least number
//! from each, and the rest forms further sets. A set has a number of ways that the processor can
//! do; what is over forms another. The rules reproduce the regions behind the tables of LP1241 on
//! two controllers of three channels; elsewhere they are from makers' population guides.

use crate::platform::Platform;
use narrows_model::host::{ChannelId, Host, Label, Slot};
use narrows_model::result::PopulationGap;
use narrows_model::{Bytes, BytesPerSecond};
use std::collections::{BTreeMap, BTreeSet};

/// One interleave set.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Part of the socket that it belongs to, from 0: a node when firmware splits the socket.
    pub cluster: u32,
    /// Channels that it is spread over.
    pub channels: Vec<ChannelId>,
    /// Memory in it.
    pub size_bytes: Bytes,
    /// Peak of its channels together, when the speed of all is known.
    pub peak_bytes_per_second: Option<BytesPerSecond>,
}

impl Set {
    /// Channels that an address range alternates between.
    pub fn ways(&self) -> usize {
        self.channels.len()
    }
}

/// Sets by socket, with what had to be assumed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sets {
    /// The sets of each socket.
    pub by_socket: BTreeMap<u32, Vec<Set>>,
    /// Controller (or group of controllers) of each socket's channels, by label.
    pub controllers: BTreeMap<(u32, ChannelId), u32>,
    /// True when channels were given to controllers in the order of their labels.
    pub by_label_order: bool,
}

/// One channel of a socket.
#[derive(Clone, Debug)]
struct Channel {
    label: ChannelId,
    controller: u32,
    left_mib: u64,
    mts: Option<u32>,
}

/// Bytes of a transfer on one memory channel (JEDEC: 64 data bits).
const CHANNEL_BYTES: f64 = 8.0;

/// Parts that each socket's memory is split into: by the nodes with memory where they are known,
/// else by the processor's dies.
pub fn clusters(host: &Host, platform: &Platform, sockets: usize) -> u32 {
    let with_cpus = host.nodes.iter().filter(|node| !node.cpus.is_empty());
    let nodes = with_cpus.filter(|node| has_memory(node.memory_bytes.value())).count();
    let even = nodes.is_multiple_of(sockets.max(1)) && nodes >= sockets;
    match nodes / sockets.max(1) {
        split if nodes > 0 && even => u32::try_from(split).unwrap_or(1),
        _ => platform.dies,
    }
}

fn has_memory(bytes: Option<&Bytes>) -> bool {
    bytes.is_some_and(|bytes| bytes.0 > 0)
}

/// The sets of every socket; an error says what is not known.
pub fn sets(slots: &[Slot], platform: &Platform, clusters: u32) -> Result<Sets, PopulationGap> {
    if platform.ways.is_empty() {
        return Err(PopulationGap::WaysOf(platform.name.clone()));
    }
    let mut sets = Sets::default();
    for socket in
        slots.iter().filter_map(|slot| Some(slot.at.as_ref()?.socket)).collect::<BTreeSet<_>>()
    {
        let (channels, assumed) = channels(slots, socket, platform)?;
        sets.by_label_order |= assumed;
        sets.controllers.extend(
            channels.iter().map(|channel| ((socket, channel.label.clone()), channel.controller)),
        );
        // Firmware splits a socket between its controllers.
        let split =
            if platform.controllers.is_multiple_of(clusters.max(1)) { clusters.max(1) } else { 1 };
        let each = platform.controllers / split;
        let parts = (0..split).flat_map(|cluster| {
            let range = cluster * each..(cluster + 1) * each;
            let here = channels.iter().filter(|channel| range.contains(&channel.controller));
            of_cluster(cluster, here.cloned().collect(), platform)
        });
        sets.by_socket.insert(socket, parts.collect());
    }
    Ok(sets)
}

/// The channels of a socket and whether their controllers had to be assumed.
fn channels(
    slots: &[Slot],
    socket: u32,
    platform: &Platform,
) -> Result<(Vec<Channel>, bool), PopulationGap> {
    let mut channels: BTreeMap<&ChannelId, Channel> = BTreeMap::new();
    let mut told = true;
    for slot in slots {
        let Some(at) = slot.at.as_ref().filter(|at| at.socket == socket) else { continue };
        let channel = channels.entry(&at.channel).or_insert_with(|| Channel {
            label: at.channel.clone(),
            // A number beyond the family's is no number: then the order of labels decides.
            controller: at.controller.and_then(|n| platform.group_of(n)).unwrap_or(0),
            left_mib: 0,
            mts: None,
        });
        told &= at.controller.is_some_and(|number| platform.group_of(number).is_some());
        let Some(module) = slot.module.as_ref().filter(|module| module.is_dram) else { continue };
        let size = module.size_bytes.ok_or_else(|| PopulationGap::SizeOf(slot.locator.clone()))?;
        // A channel runs at the speed of its slowest module; one unknown leaves it unknown.
        let first = channel.left_mib == 0;
        channel.mts = match (first, channel.mts, module.configured_mts) {
            (true, _, mts) => mts,
            (false, Some(known), Some(mts)) => Some(known.min(mts)),
            _ => None,
        };
        channel.left_mib = channel.left_mib.saturating_add(size.0 >> 20);
    }
    let mut channels: Vec<Channel> = channels.into_values().collect();
    if channels.len() > platform.channels_per_socket() as usize {
        return Err(PopulationGap::MoreChannels {
            socket,
            named: u32::try_from(channels.len()).unwrap_or(u32::MAX),
            family: platform.name.clone(),
            has: platform.channels_per_socket(),
        });
    }
    let assumed = !told && platform.controllers > 1;
    // Where some have no name, the first named need not be the first.
    if assumed && channels.len() < platform.channels_per_socket() as usize {
        let (named, all) = (channels.len(), platform.channels_per_socket());
        return Err(PopulationGap::Controllers { socket, named, all });
    }
    if !told {
        for (index, channel) in channels.iter_mut().enumerate() {
            channel.controller = index as u32 / platform.channels;
        }
    }
    Ok((channels, assumed))
}

fn of_cluster(cluster: u32, mut channels: Vec<Channel>, platform: &Platform) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    let lettered = letters(&channels, platform);
    loop {
        channels.retain(|channel| channel.left_mib > 0);
        let Some(layer) = channels.iter().map(|channel| channel.left_mib).min() else { break };
        let layered = match &lettered {
            Some(letters) => by_letter(&channels, letters, platform),
            None => groups(&channels, &platform.ways),
        };
        for group in layered {
            let labels: Vec<ChannelId> =
                group.iter().map(|channel| channel.label.clone()).collect();
            let size = Bytes::mib(layer.saturating_mul(labels.len() as u64));
            let speeds: Option<Vec<f64>> =
                group.iter().map(|channel| Some(f64::from(channel.mts?))).collect();
            // All channels of a set wait for its slowest.
            let slowest = speeds.map(|speeds| speeds.into_iter().fold(f64::INFINITY, f64::min));
            let peak =
                slowest.map(|mts| BytesPerSecond(mts * 1e6 * CHANNEL_BYTES * labels.len() as f64));
            sets.push(Set {
                cluster,
                channels: labels,
                size_bytes: size,
                peak_bytes_per_second: peak,
            });
        }
        channels.iter_mut().for_each(|channel| channel.left_mib -= layer);
    }
    sets
}

/// The maker's letter of each channel by its label, where the family has sets of certain channels
/// and the board names its channels in a row: by letters from A on, or behind those of the sockets
/// before it, or by the numbers of one node, which count the letters.
fn letters(channels: &[Channel], platform: &Platform) -> Option<BTreeMap<ChannelId, char>> {
    let all = platform.channels_per_socket() as usize;
    let places: Option<BTreeMap<u8, &ChannelId>> =
        channels.iter().map(|channel| Some((place(&channel.label)?, &channel.label))).collect();
    let places = places.filter(|places| places.len() == all && channels.len() == all)?;
    let (first, last) = (*places.first_key_value()?.0, *places.last_key_value()?.0);
    let in_a_row = usize::from(last - first) + 1 == all && usize::from(first).is_multiple_of(all);
    (!platform.sets.is_empty() && in_a_row).then(|| {
        places
            .iter()
            .map(|(place, label)| ((*label).clone(), char::from(b'A' + (place - first))))
            .collect()
    })
}

/// Where a label stands among all: 2 for `C`, 5 for `N0C5`, channel 5 of node 0.
fn place(channel: &ChannelId) -> Option<u8> {
    match channel {
        ChannelId::OfSocket(Label::Letter(letter)) => Some(u8::try_from(*letter).ok()? - b'A'),
        ChannelId::OfNode { node: 0, label: Label::Number(number) } => {
            u8::try_from(*number).ok().filter(|number| *number < 10)
        }
        _ => None,
    }
}

/// The channels of one layer, by set: all of them where the family can, else by pairs.
fn by_letter<'a>(
    channels: &'a [Channel],
    letters: &BTreeMap<ChannelId, char>,
    platform: &Platform,
) -> Vec<Vec<&'a Channel>> {
    let letter = |channel: &Channel| letters.get(&channel.label).copied().unwrap_or('?');
    let can = |group: &[&Channel]| {
        let mut name: Vec<char> = group.iter().map(|channel| letter(channel)).collect();
        name.sort_unstable();
        platform.sets.contains(&name.into_iter().collect())
    };
    let whole: Vec<&Channel> = channels.iter().collect();
    if can(&whole) {
        return vec![whole];
    }
    let mut groups: Vec<Vec<&Channel>> = Vec::new();
    for channel in channels {
        match groups.last_mut() {
            Some(last) if last.len() == 1 && can(&[last[0], channel]) => last.push(channel),
            _ => groups.push(vec![channel]),
        }
    }
    groups
}

/// The channels of one layer, by set, where any channels of the controllers can be one.
fn groups<'a>(channels: &'a [Channel], ways: &[u32]) -> Vec<Vec<&'a Channel>> {
    let mut groups = Vec::new();
    let mut by_controller: BTreeMap<u32, Vec<&Channel>> = BTreeMap::new();
    for channel in channels {
        by_controller.entry(channel.controller).or_default().push(channel);
    }
    let mut used: Vec<Vec<&Channel>> = by_controller.into_values().collect();
    while !used.is_empty() {
        let least = used.iter().map(Vec::len).min().unwrap_or(0);
        let mut row: Vec<&Channel> = Vec::new();
        for controller in &mut used {
            row.extend(controller.drain(..least));
        }
        used.retain(|controller| !controller.is_empty());
        while !row.is_empty() {
            let most = ways.iter().map(|ways| *ways as usize).filter(|ways| *ways <= row.len());
            let take = most.max().unwrap_or(1);
            groups.push(row.drain(..take).collect());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::named;
    use narrows_model::host::{Module, SlotPlace};

    /// Slots of one socket: for each channel, in the order of labels, the sizes of its modules.
    fn socket(number: u32, channels: &[&[u64]]) -> Vec<Slot> {
        let mut slots = Vec::new();
        for (channel, modules) in channels.iter().enumerate() {
            let at =
                SlotPlace { socket: number, channel: channel.to_string().into(), controller: None };
            slots.push(Slot { at: Some(at.clone()), ..Slot::default() });
            slots.extend(modules.iter().map(|gib| {
                let module = Module {
                    size_bytes: Some(Bytes::gib(*gib)),
                    is_dram: true,
                    configured_mts: Some(2933),
                    ..Module::default()
                };
                Slot { at: Some(at.clone()), module: Some(module), ..Slot::default() }
            }));
        }
        slots
    }

    fn ways(processor: &str, clusters: u32, channels: &[&[u64]]) -> Vec<usize> {
        let platform = named(processor).expect("platform");
        let sets = sets(&socket(0, channels), platform, clusters).expect("sets");
        sets.by_socket[&0].iter().map(Set::ways).collect()
    }

    const ONE: &[u64] = &[32];
    const TWO: &[u64] = &[32, 32];
    const NONE: &[u64] = &[];

    #[test]
    fn two_controllers_of_three_channels() {
        let of = |first: [u64; 3], second: [u64; 3]| {
            let all: Vec<&[u64]> = [first, second]
                .concat()
                .iter()
                .map(|count| match count {
                    0 => NONE,
                    1 => ONE,
                    _ => TWO,
                })
                .collect();
            ways("Xeon Platinum 8280", 1, &all)
        };
        // The populations of LP1241 on one socket: 1 to 6 modules, alternating controllers.
        assert_eq!(of([1, 0, 0], [0, 0, 0]), [1]);
        assert_eq!(of([1, 0, 0], [1, 0, 0]), [2]);
        assert_eq!(of([1, 1, 0], [1, 0, 0]), [2, 1]);
        assert_eq!(of([1, 1, 0], [1, 1, 0]), [4]);
        assert_eq!(of([1, 1, 1], [1, 1, 0]), [4, 1]);
        assert_eq!(of([1, 1, 1], [1, 1, 1]), [6]);
        assert_eq!(of([1, 1, 1], [0, 0, 0]), [3]);
        assert_eq!(of([2, 1, 1], [2, 1, 1]), [6, 2]);
    }

    #[test]
    fn other_processors_have_other_ways() {
        assert_eq!(ways("Xeon X5570", 1, &[TWO, TWO, ONE]), [3, 2]);
        assert_eq!(ways("Xeon Gold 6342", 1, &[ONE, ONE, ONE, NONE, ONE, ONE, ONE, NONE]), [6]);
        assert_eq!(ways("Xeon Gold 6342", 1, &[ONE, ONE, ONE, ONE, ONE, ONE, ONE, NONE]), [6, 1]);
        assert_eq!(ways("AMD EPYC 7302", 1, &[ONE, ONE, ONE, NONE, ONE, ONE, ONE, NONE]), [4, 2]);
        assert_eq!(ways("AMD EPYC 7713", 1, &[ONE, ONE, ONE, NONE, ONE, ONE, ONE, NONE]), [6]);
        // Split in two, each controller is on its own.
        assert_eq!(ways("Xeon Gold 6230", 2, &[ONE; 6]), [3, 3]);
        assert_eq!(ways("AMD EPYC 7601", 4, &[ONE; 8]), [2, 2, 2, 2]);
        let slots = socket(0, &[ONE; 7]);
        let named = |name: &str| named(name).expect("platform");
        assert!(sets(&slots, named("Xeon Gold 6230"), 1).is_err());
        assert!(sets(&slots, named("Xeon 6980P"), 1).is_err());
    }

    #[test]
    fn controllers_that_a_driver_numbers_are_joined_into_groups() {
        // Four controllers of two channels, one module on each of the first six.
        let mut slots = socket(0, &[ONE; 6]);
        for slot in &mut slots {
            if let Some(at) = &mut slot.at {
                let channel: u32 = at.channel.to_string().parse().expect("a number");
                at.controller = Some(channel / 2);
                at.channel = format!("M{}C{}", channel / 2, channel % 2).into();
            }
        }
        let of = |slots: &[Slot]| {
            let sets = sets(slots, named("Xeon Gold 5416S").expect("platform"), 1).expect("sets");
            let ways: Vec<usize> = sets.by_socket[&0].iter().map(Set::ways).collect();
            (ways, sets.by_label_order)
        };
        assert_eq!(of(&slots), (vec![4, 2], false));
        // The last of them on the fourth controller: three on each side.
        for at in slots.iter_mut().filter_map(|slot| slot.at.as_mut()) {
            if at.channel.to_string() == "M1C1" {
                (at.controller, at.channel) = (Some(3), "M3C0".into());
            }
        }
        assert_eq!(of(&slots), (vec![6], false));
    }

    #[test]
    fn a_set_has_the_peak_of_its_channels_and_its_share_of_the_memory() {
        let slots = socket(0, &[TWO, ONE, ONE, ONE, ONE, ONE]);
        let sets = sets(&slots, named("Xeon Gold 6248").expect("platform"), 1).expect("sets");
        assert!(sets.by_label_order);
        let [wide, narrow] = sets.by_socket[&0].as_slice() else { panic!("{sets:?}") };
        assert_eq!((wide.size_bytes, narrow.size_bytes), (Bytes::gib(192), Bytes::gib(32)));
        let peak = |set: &Set| set.peak_bytes_per_second.map(|peak| peak.gbytes().round());
        assert_eq!((peak(wide), peak(narrow)), (Some(141.0), Some(23.0)));
        assert_eq!(narrow.channels, ["0".into()]);
    }

    /// Ways of the sets of a socket with a module on these channels of eight, whose first label is
    /// the letter given.
    fn lettered(processor: &str, first: char, populated: &str) -> Vec<usize> {
        let module = || Module {
            size_bytes: Some(Bytes::gib(32)),
            is_dram: true,
            configured_mts: Some(3200),
            ..Module::default()
        };
        let slots: Vec<Slot> = ('A'..='H')
            .map(|letter| {
                let label = (letter as u8 - b'A' + first as u8) as char;
                let at =
                    SlotPlace { socket: 0, channel: label.to_string().into(), controller: None };
                let module = populated.contains(letter).then(module);
                Slot { at: Some(at), module, ..Slot::default() }
            })
            .collect();
        let platform = named(processor).expect("platform");
        let sets = sets(&slots, platform, 1).expect("sets");
        sets.by_socket[&0].iter().map(Set::ways).collect()
    }

    #[test]
    fn channels_of_rome_and_milan_are_sets_by_their_letters() {
        const ROME: &str = "AMD EPYC 7302 16-Core Processor";
        const MILAN: &str = "AMD EPYC 7313 16-Core Processor";
        for (populated, rome, milan) in [
            ("ABCDEFGH", vec![8], vec![8]),
            ("CDGH", vec![4], vec![4]),
            ("ABCD", vec![4], vec![4]),
            ("ABEF", vec![2, 2], vec![2, 2]),
            ("ACEG", vec![1, 1, 1, 1], vec![1, 1, 1, 1]),
            ("CD", vec![2], vec![2]),
            ("BC", vec![1, 1], vec![1, 1]),
            ("BCDFGH", vec![1, 2, 1, 2], vec![6]),
            ("ABCDEF", vec![2, 2, 2], vec![2, 2, 2]),
            ("D", vec![1], vec![1]),
        ] {
            for first in ['A', 'I'] {
                assert_eq!(lettered(ROME, first, populated), rome, "Rome {first} {populated}");
                assert_eq!(lettered(MILAN, first, populated), milan, "Milan {first} {populated}");
            }
        }
        assert_eq!(
            ["C", "N0C5", "12", "M0C1"].map(|text| place(&text.into())),
            [Some(2), Some(5), None, None]
        );
        // Letters that do not begin a socket are a board's own: then counts alone decide.
        assert_eq!(lettered(ROME, 'B', "ACEG"), [4]);
    }

    #[test]
    fn a_channel_has_the_controller_that_is_told_or_that_of_its_labels_place() {
        let of = |slots: &[Slot]| {
            let sets = sets(slots, named("Xeon Gold 6248").expect("platform"), 1).expect("sets");
            let told: Vec<(u32, String, u32)> = sets
                .controllers
                .into_iter()
                .map(|((socket, channel), controller)| (socket, channel.to_string(), controller))
                .collect();
            (told, sets.by_label_order)
        };
        let all = |socket: u32, of: [u32; 6]| {
            let channels = of.into_iter().enumerate();
            channels.map(|(at, of)| (socket, at.to_string(), of)).collect::<Vec<_>>()
        };
        let mut slots = [socket(0, &[ONE; 6]), socket(1, &[ONE; 6])].concat();
        let both = [all(0, [0, 0, 0, 1, 1, 1]), all(1, [0, 0, 0, 1, 1, 1])].concat();
        assert_eq!(of(&slots), (both, true));
        // Told for all, against the order of the labels.
        for at in slots.iter_mut().filter_map(|slot| slot.at.as_mut()) {
            let channel: u32 = at.channel.to_string().parse().expect("a number");
            at.controller = Some((channel + 1 + at.socket) % 2);
        }
        let told = [all(0, [1, 0, 1, 0, 1, 0]), all(1, [0, 1, 0, 1, 0, 1])].concat();
        assert_eq!(of(&slots), (told, false));
        // One that is not told leaves its socket to the labels, and so does one beyond the family.
        for wrong in [None, Some(2)] {
            let mut some = slots.clone();
            some[0].at.as_mut().expect("a place").controller = wrong;
            let by_label = [all(0, [0, 0, 0, 1, 1, 1]), all(1, [0, 1, 0, 1, 0, 1])].concat();
            assert_eq!(of(&some), (by_label, true), "{wrong:?}");
        }
    }

    #[test]
    fn a_layer_runs_at_its_slowest_module_and_one_of_unknown_speed_has_no_peak() {
        let platform = named("Xeon Gold 6248").expect("platform");
        let peaks = |change: &dyn Fn(&mut Vec<Slot>)| {
            let mut slots = socket(0, &[ONE; 6]);
            change(&mut slots);
            let sets = sets(&slots, platform, 1).expect("sets");
            sets.by_socket[&0].iter().map(|set| set.peak_bytes_per_second).collect::<Vec<_>>()
        };
        let speed = |slots: &mut Vec<Slot>, at: usize, mts: Option<u32>| {
            let modules = slots.iter_mut().filter_map(|slot| slot.module.as_mut());
            modules.skip(at).take(1).for_each(|module| module.configured_mts = mts);
        };
        let six = |mts: f64| vec![Some(BytesPerSecond(mts * 8e6 * 6.0))];
        assert_eq!(peaks(&|_| {}), six(2933.0));
        assert_eq!(peaks(&|slots| speed(slots, 3, Some(2400))), six(2400.0));
        assert_eq!(peaks(&|slots| speed(slots, 3, Some(3200))), six(2933.0));
        assert_eq!(peaks(&|slots| speed(slots, 0, None)), [None]);
    }
}
