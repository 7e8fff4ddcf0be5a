//! Populations of modules of two sizes. Sockets alike come first in every maker's guide, so only
//! those are tried that give each socket as many of each size as can be.

use super::kit::Batch;
use super::{Choice, Found, exchangeable, weigh};
use crate::engine::Predictor;
use crate::sockets::ways_of_sizes;
use narrows_dimm::platform::Platform;
use std::collections::BTreeMap;

/// All even populations: how many were tried, and one of each kind.
pub(super) fn of_sizes(
    by_depth: &[Predictor],
    platform: &Platform,
    batches: &[Batch],
    sockets: usize,
) -> (u64, Vec<Found>) {
    let Some(server) = by_depth.first().map(|engine| &engine.server) else { return (0, vec![]) };
    let slots = server.slots_per_channel as usize;
    let (mut all, mut found) = (0u64, Vec::new());
    for shares in shares(batches, sockets) {
        let each: Vec<Vec<Choice>> =
            shares.iter().map(|share| choices(platform, batches, share, slots)).collect();
        let tried = each.iter().map(|choices| choices.iter().map(|one| one.like_it).sum::<u64>());
        all = all.saturating_add(tried.product());
        match each.as_slice() {
            [near] => found.extend(near.iter().filter_map(|one| weigh(by_depth, &[one]))),
            [near, far] => {
                for near in near {
                    found.extend(far.iter().filter_map(|far| weigh(by_depth, &[near, far])));
                }
            }
            _ => {}
        }
    }
    (all, found)
}

/// How many modules of each batch each socket gets: what is odd goes to one or the other, and the
/// first socket gets no fewer in all.
fn shares(batches: &[Batch], sockets: usize) -> Vec<Vec<Vec<u32>>> {
    let counts: Vec<u32> = batches.iter().map(|batch| batch.count).collect();
    if sockets == 1 {
        return vec![vec![counts]];
    }
    let odd: Vec<usize> = (0..counts.len()).filter(|at| counts[*at] % 2 == 1).collect();
    let ways = (0..1usize << odd.len()).map(|which| {
        let mut pair = [0, 1].map(|_| counts.iter().map(|count| count / 2).collect::<Vec<u32>>());
        for (bit, at) in odd.iter().enumerate() {
            pair[which >> bit & 1][*at] += 1;
        }
        pair.to_vec()
    });
    let even = ways.filter(|pair| {
        let (near, far) = (pair[0].iter().sum::<u32>(), pair[1].iter().sum::<u32>());
        near >= far && near - far <= 1
    });
    even.collect()
}

/// What one channel holds: modules of each batch.
type Content = Vec<u32>;

/// Every kind of population of a socket with just these modules.
fn choices(platform: &Platform, batches: &[Batch], share: &[u32], slots: usize) -> Vec<Choice> {
    let contents = contents(share, slots);
    let (groups, channels) = exchangeable(platform);
    let mut all: Vec<(Vec<usize>, Vec<u32>)> = vec![(Vec::new(), share.to_vec())];
    for at in 0..groups * channels {
        // In a group the order of channels does not matter: contents fall.
        let room = ((groups * channels - at - 1) * slots) as u32;
        all = all
            .iter()
            .flat_map(|(before, left)| {
                let from = before.last().filter(|_| at % channels > 0).copied().unwrap_or(0);
                (from..contents.len()).filter_map(|which| {
                    let left = less(left, &contents[which])?;
                    (left.iter().sum::<u32>() <= room)
                        .then(|| ([&before[..], &[which]].concat(), left))
                })
            })
            .collect();
    }
    let mut kinds: BTreeMap<(Vec<usize>, usize), Choice> = BTreeMap::new();
    for (which, _) in all {
        let sizes: Vec<Vec<u32>> =
            which.iter().map(|which| sizes(&contents[*which], batches)).collect();
        let sets = ways_of_sizes(&sizes, platform).unwrap_or_default();
        let modules: Vec<u32> = sizes.iter().map(|sizes| sizes.len() as u32).collect();
        let depth = sizes.iter().map(Vec::len).max().unwrap_or(0);
        let kind = kinds.entry((sets.clone(), depth)).or_insert_with(|| {
            let count = modules.iter().sum();
            Choice { modules, sizes, count, sets, like_it: 0 }
        });
        kind.like_it = kind.like_it.saturating_add(1);
    }
    kinds.into_values().collect()
}

/// Everything that a channel can hold, most and largest first.
fn contents(share: &[u32], slots: usize) -> Vec<Content> {
    let mut all: Vec<Content> = vec![Vec::new()];
    for most in share {
        let grown = all.iter().flat_map(|before| {
            let used = before.iter().sum::<u32>() as usize;
            let least = (*most).min((slots - used) as u32);
            (0..=least).map(|count| [&before[..], &[count]].concat()).collect::<Vec<_>>()
        });
        all = grown.collect();
    }
    all.sort_by_key(|content| std::cmp::Reverse((content.iter().sum::<u32>(), content.clone())));
    all
}

fn less(left: &[u32], content: &[u32]) -> Option<Vec<u32>> {
    left.iter().zip(content).map(|(left, used)| left.checked_sub(*used)).collect()
}

/// Sizes of a channel's modules in GiB, the largest first, as makers fill slots.
fn sizes(content: &[u32], batches: &[Batch]) -> Vec<u32> {
    let each = content.iter().zip(batches);
    each.flat_map(|(count, batch)| vec![batch.gib.unwrap_or(0); *count as usize]).collect()
}
