//! Who is named for the pairs of a mesh that are slow or failed: a host where several partners say
//! so, a path where others of both its hosts are well, and else either of them.

use super::{Gone, MeshPair, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What slow or failed pairs have in common.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Suspect {
    /// It was not there, or no pair of this host gave a figure.
    Dead {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// It ended in the course of the mesh.
    Gone {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// Most pairs in which it sends or receives are slow.
    Host {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// Most pairs in which it sends are slow.
    Sends {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// Most pairs in which it receives are slow.
    Receives {
        /// Its place in the list of hosts that were named.
        host: usize,
    },
    /// One pair, and not its hosts' others: the sender sends well to another, and the receiver
    /// receives well from another.
    Path {
        /// Place of the host that sends.
        from: usize,
        /// Place of the host that receives.
        to: usize,
    },
    /// One pair, of which no other pair tells whether it is the path or one of the two hosts.
    Either {
        /// Place of the host that sends.
        from: usize,
        /// Place of the host that receives.
        to: usize,
    },
}

/// A suspect, and the pairs that it is named for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Who or what it is.
    pub suspect: Suspect,
    /// Pairs that are slow or failed.
    pub pairs: usize,
    /// Of so many that it was in.
    pub of: usize,
    /// The worst of them, against the best of all: above 1, a latency; below 1, a rate.
    pub worst_ratio: Option<f64>,
}

/// Which hosts and paths explain the bad pairs, the one that explains the most first: what is
/// explained by one is not held against its partners. What a host that is gone did not do is its
/// own.
pub(super) fn named(cells: &[MeshPair], gone: &[Gone], best: Option<f64>) -> Vec<Named> {
    let mut left: Vec<&MeshPair> = cells.iter().filter(|cell| is_bad(cell)).collect();
    let mut named = Vec::new();
    for one in gone {
        let suspect = gone_as(one);
        let of = cells.iter().filter(|cell| is_of(suspect, cell)).count();
        // A pair of two that are gone is the first one's, and failed for the other as well.
        let own = cells.iter().filter(|cell| is_of(suspect, cell));
        let pairs = own.filter(|cell| has_failed(cell)).count();
        left.retain(|cell| !is_of(suspect, cell) || !has_failed(cell));
        named.push(Named { suspect, pairs, of, worst_ratio: None });
    }
    while let Some((suspect, pairs, of)) = heaviest(&left, cells) {
        let (explained, rest): (Vec<&MeshPair>, Vec<&MeshPair>) =
            left.into_iter().partition(|cell| is_of(suspect, cell));
        left = rest;
        named.push(Named { suspect, pairs, of, worst_ratio: worst_ratio(&explained, best) });
    }
    for cell in left {
        let suspect = of_one(cell, cells);
        named.push(Named { suspect, pairs: 1, of: 1, worst_ratio: worst_ratio(&[cell], best) });
    }
    named
}

fn gone_as(gone: &Gone) -> Suspect {
    let host = gone.host;
    if gone.was_never_there() { Suspect::Dead { host } } else { Suspect::Gone { host } }
}

/// What a single bad pair is named for.
fn of_one(cell: &MeshPair, cells: &[MeshPair]) -> Suspect {
    let MeshPair { from, to, .. } = *cell;
    if sends_well(from, cells) && receives_well(to, cells) {
        Suspect::Path { from, to }
    } else {
        Suspect::Either { from, to }
    }
}

/// Whether some pair in which it sends is well.
pub(super) fn sends_well(host: usize, cells: &[MeshPair]) -> bool {
    cells.iter().any(|cell| cell.from == host && !is_bad(cell))
}

/// Whether some pair in which it receives is well.
pub(super) fn receives_well(host: usize, cells: &[MeshPair]) -> bool {
    cells.iter().any(|cell| cell.to == host && !is_bad(cell))
}

pub(super) fn is_bad(cell: &MeshPair) -> bool {
    matches!(cell.state, State::Slow | State::Failed)
}

fn worst_ratio(cells: &[&MeshPair], best: Option<f64>) -> Option<f64> {
    let best = best.filter(|best| *best > 0.0)?;
    let ratios = cells.iter().filter_map(|cell| cell.last()).map(|value| value / best);
    ratios.max_by(|one, other| one.ln().abs().total_cmp(&other.ln().abs()))
}

/// Whether a pair is among those that a suspect is named for.
fn is_of(suspect: Suspect, cell: &MeshPair) -> bool {
    match suspect {
        Suspect::Dead { host } | Suspect::Gone { host } | Suspect::Host { host } => {
            cell.from == host || cell.to == host
        }
        Suspect::Sends { host } => cell.from == host,
        Suspect::Receives { host } => cell.to == host,
        Suspect::Path { from, to } | Suspect::Either { from, to } => {
            (cell.from, cell.to) == (from, to)
        }
    }
}

/// The host that explains the most of the bad pairs which are left: two or more, and more than half
/// of those that it was in, with two partners or more the same way. One partner might be why as
/// well, and so may two of which it sends to the one and receives from the other.
fn heaviest(left: &[&MeshPair], all: &[MeshPair]) -> Option<(Suspect, usize, usize)> {
    let hosts: BTreeSet<usize> = left.iter().flat_map(|cell| [cell.from, cell.to]).collect();
    let mut best: Option<(Suspect, usize, usize)> = None;
    for host in hosts {
        let dead = Suspect::Dead { host };
        let is_dead = all.iter().filter(|cell| is_of(dead, cell)).all(has_failed);
        let whole = if is_dead { dead } else { Suspect::Host { host } };
        for suspect in [whole, Suspect::Sends { host }, Suspect::Receives { host }] {
            let own: Vec<&MeshPair> =
                left.iter().copied().filter(|cell| is_of(suspect, cell)).collect();
            let pairs = own.len();
            let of = all.iter().filter(|cell| is_of(suspect, cell)).count();
            let sent = own.iter().filter(|cell| cell.from == host).count();
            let is_most = sent.max(pairs - sent) >= 2 && 2 * pairs > of;
            // A host that is bad one way alone is named for that way.
            let halves = matches!(suspect, Suspect::Host { .. }) && 4 * pairs < 3 * of;
            let before = best.map_or(0, |(_, pairs, _)| pairs);
            if is_most && !halves && pairs > before {
                best = Some((suspect, pairs, of));
            }
        }
    }
    best
}

fn has_failed(cell: &MeshPair) -> bool {
    cell.state == State::Failed
}
