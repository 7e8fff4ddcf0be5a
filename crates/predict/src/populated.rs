//! Which channels of a host hold modules: as it tells, and as was said.

use crate::bounds;
use crate::refused::{Refused, Unplaced};
use crate::said::{Said, of_socket, socket_of};
use narrows_dimm::interleave::{Set, sets};
use narrows_dimm::platform::Platform;
use narrows_model::host::{ChannelId, Host};
use std::collections::BTreeMap;

/// What is known of a host's modules.
pub(crate) struct Populated {
    /// Modules of every channel by socket; none where that is not known.
    pub modules: Vec<Vec<u32>>,
    /// Ways of the interleave sets of every socket that the host tells and nobody overrides.
    pub sets: Vec<Vec<usize>>,
    /// Slots of every channel; two where that is not known.
    pub slots_per_channel: u32,
    /// What is missing to know them, with what says it; what is needed first comes first.
    pub gaps: Vec<String>,
}

impl Populated {
    fn not_known(gaps: Vec<String>) -> Self {
        Self { modules: Vec::new(), sets: Vec::new(), slots_per_channel: 2, gaps }
    }
}

/// Modules as they are and as was said. An error is something said that cannot be.
pub(crate) fn populated(
    host: &Host,
    said: &Said,
    platform: Option<&Platform>,
    has_speed: bool,
) -> Result<Populated, Refused> {
    let asked = said.keys().any(|key| of_socket(key).is_some());
    let Some(platform) = platform.filter(|platform| !platform.ways.is_empty()) else {
        return match (asked, platform) {
            (true, _) => Err(Refused::Interleaving),
            (false, Some(one)) => {
                let gap = format!("how {} interleaves is not known: memory.copy_gb_s=20", one.name);
                Ok(Populated::not_known(vec![gap]))
            }
            (false, None) => {
                let family = "the processor's family is not known: cpu=NAME, or \
                              memory.copy_gb_s=20";
                let slots =
                    host.memory.slots.value().is_none().then(|| no_modules(&Unplaced::Slots));
                let more = slots.into_iter().chain(no_speed(has_speed));
                Ok(Populated::not_known([family.to_owned()].into_iter().chain(more).collect()))
            }
        };
    };
    let found = match population(host, platform) {
        Ok(found) => found,
        Err(_) if asked => Populated::not_known(Vec::new()),
        Err(why) => {
            let gaps = [no_modules(&why)].into_iter().chain(no_speed(has_speed));
            return Ok(Populated::not_known(gaps.collect()));
        }
    };
    let Populated { mut modules, mut sets, slots_per_channel, .. } = found;
    for (key, text) in said {
        let Some(socket) = of_socket(key) else { continue };
        let at = socket_of(key, socket)?;
        if at > modules.len() {
            let next = modules.len();
            return Err(Refused::NextSocket(key.clone(), next));
        }
        let channels = channels(key, text, platform)?;
        let empty = vec![0; platform.channels_per_socket() as usize];
        modules.resize(modules.len().max(at + 1), empty);
        modules[at] = channels;
        if let Some(sets) = sets.get_mut(at) {
            sets.clear();
        }
    }
    match no_speed(has_speed) {
        None => Ok(Populated { modules, sets, slots_per_channel, gaps: Vec::new() }),
        Some(gap) => Ok(Populated::not_known(vec![gap])),
    }
}

fn no_modules(why: &Unplaced) -> String {
    format!("{why}: memory.socket0=1,1,1/0,0,0")
}

fn no_speed(has_speed: bool) -> Option<String> {
    (!has_speed).then(|| "the speed of memory is not known: memory.mts=2933".to_owned())
}

/// `1,1,1/0,0,0`: modules of each channel, controllers separated by slashes.
fn channels(key: &str, text: &str, platform: &Platform) -> Result<Vec<u32>, Refused> {
    let all: Option<Vec<u32>> = text
        .split(['/', ','])
        .map(|word| {
            let modules: f64 = word.trim().parse().ok()?;
            bounds::MODULES.check(modules).ok().map(|modules| modules as u32)
        })
        .collect();
    let all = all.ok_or_else(|| Refused::Modules(key.to_owned(), text.to_owned()))?;
    let own = platform.channels_per_socket();
    if all.len() == own as usize {
        Ok(all)
    } else {
        Err(Refused::Channels(key.to_owned(), platform.name.clone(), own))
    }
}

/// Modules of every channel as they are, and the slots of a channel.
fn population(host: &Host, platform: &Platform) -> Result<Populated, Unplaced> {
    let slots = host.memory.slots.value().ok_or(Unplaced::Slots)?;
    let known = sets(slots, platform, 1).map_err(Unplaced::Sets)?;
    let each = platform.channels_per_socket() as usize;
    let mut by_socket = BTreeMap::<u32, BTreeMap<(u32, &ChannelId), (u32, u32)>>::new();
    for slot in slots {
        let Some(at) = &slot.at else { continue };
        let controller =
            known.controllers.get(&(at.socket, at.channel.clone())).copied().unwrap_or(0);
        let key = (controller, &at.channel);
        let channel = by_socket.entry(at.socket).or_default().entry(key).or_default();
        channel.0 += 1;
        channel.1 += u32::from(slot.module.as_ref().is_some_and(|module| module.is_dram));
    }
    let most = by_socket.values().flat_map(BTreeMap::values).map(|channel| channel.0).max();
    let modules: Vec<Vec<u32>> = by_socket
        .values()
        .map(|channels| {
            let mut all: Vec<u32> = channels.values().map(|channel| channel.1).collect();
            all.resize(each, 0);
            all
        })
        .collect();
    if modules.is_empty() {
        return Err(Unplaced::Channels);
    }
    let sets = by_socket
        .keys()
        .map(|socket| {
            let sets = known.by_socket.get(socket).map(Vec::as_slice).unwrap_or_default();
            sets.iter().map(Set::ways).filter(|ways| *ways > 0).collect::<Vec<usize>>()
        })
        .collect();
    Ok(Populated { modules, sets, slots_per_channel: most.unwrap_or(1), gaps: Vec::new() })
}
