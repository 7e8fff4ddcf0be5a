//! Kernel sockets and memory: what the narrowest interleave set carries for TCP and UDP.
//!
//! `8 eta w C / m / (share of the traffic in that set)` Gb/s: w channels of C GB/s, of which copies
//! reach eta, and m bytes of memory traffic for each payload byte. Shared by published tables,
//! which fit the parameters, and the engine, which has those of one fit.

use narrows_dimm::interleave::sets;
use narrows_dimm::platform::Platform;
use narrows_model::Bytes;
use narrows_model::host::{ChannelId, Label, Module, Slot, SlotPlace};
use narrows_model::result::PopulationGap;

/// Share of the channels' peak that one read for each write reaches (measured on one Cascade Lake
/// node with a vendor's checker; field notes).
pub const ETA: f64 = 0.71;

/// Parameters, all without unit.
#[derive(Clone, Copy, Debug)]
pub struct Theta {
    /// Share of the framing's rate that the kernel reaches when nothing else binds.
    pub kappa: f64,
    /// Bytes of memory traffic for each payload byte.
    pub m: f64,
    /// Factor on m for TCP when there are two processors.
    pub g: f64,
    /// Share of UDP's traffic in a wider set, when the socket has one beside the narrowest.
    pub r: f64,
    /// Share of UDP's traffic in the other socket's memory, when it has any.
    pub q: f64,
    /// Share of all traffic in the other socket's memory, when it has any.
    pub x: f64,
}

/// Where the stack's pages can be.
#[derive(Clone, Copy, Debug)]
pub struct Pages<'a> {
    /// Ways of the interleave sets of the socket that works.
    pub near: &'a [usize],
    /// Whether another socket has memory.
    pub far: bool,
    /// Processors whose memory is used, 1 or 2.
    pub sockets: usize,
    /// Peak of one channel.
    pub channel_gb_s: f64,
}

impl Theta {
    /// Gb/s of payload that memory carries; 0 without memory.
    pub fn memory_gbps(&self, pages: &Pages<'_>, udp: bool, eta: f64) -> f64 {
        let Some(narrowest) = pages.near.iter().min().copied() else { return 0.0 };
        let wider = pages.near.iter().any(|ways| *ways > narrowest);
        let m = self.m * if !udp && pages.sockets > 1 { self.g } else { 1.0 };
        let here = less(udp && wider, self.r) * less(udp && pages.far, self.q);
        let here = here * less(pages.far, self.x);
        8.0 * eta * narrowest as f64 * pages.channel_gb_s / m / here
    }
}

fn less(is: bool, share: f64) -> f64 {
    if is { 1.0 - share } else { 1.0 }
}

/// Ways of the interleave sets of one socket, from the modules of its channels, controllers one
/// after the other. An error says what of the platform is not known.
pub fn ways(modules: &[u32], platform: &Platform) -> Result<Vec<usize>, PopulationGap> {
    let alike: Vec<Vec<u32>> =
        modules.iter().map(|count| vec![ALIKE_GIB; *count as usize]).collect();
    ways_of_sizes(&alike, platform)
}

/// Size that modules are taken to have where only their number matters.
const ALIKE_GIB: u32 = 32;

/// The same from the sizes of each channel's modules in GiB. Where the family can join certain
/// channels only, they stand in the order of the processor maker's letters.
pub fn ways_of_sizes(
    channels: &[Vec<u32>],
    platform: &Platform,
) -> Result<Vec<usize>, PopulationGap> {
    let each = platform.channels.max(1) as usize;
    let named = |at: usize| match letter(at).filter(|_| !platform.sets.is_empty()) {
        Some(letter) => ChannelId::OfSocket(Label::from(letter.to_string().as_str())),
        None => ChannelId::numbered(at),
    };
    let one = |at: usize, gib: Option<u32>| Slot {
        at: Some(SlotPlace { socket: 0, channel: named(at), controller: Some((at / each) as u32) }),
        module: gib.map(|gib| Module {
            size_bytes: Some(Bytes::gib(u64::from(gib))),
            is_dram: true,
            ..Module::default()
        }),
        ..Slot::default()
    };
    let mut slots: Vec<Slot> = Vec::new();
    for (at, sizes) in channels.iter().enumerate() {
        // An empty slot each, so that a channel without modules is there.
        slots.push(one(at, None));
        slots.extend(sizes.iter().map(|gib| one(at, Some(*gib))));
    }
    let found = sets(&slots, platform, 1)?;
    let found = found.by_socket.into_values().flatten();
    Ok(found.map(|set| set.ways()).filter(|ways| *ways > 0).collect())
}

fn letter(at: usize) -> Option<char> {
    u8::try_from(at).ok().map(|at| char::from(b'A'.saturating_add(at)))
}
