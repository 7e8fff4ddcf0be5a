//! All populations of so many modules in a server's slots, ranked.

use crate::resources::Group;
use crate::server::Server;
use crate::traffic::Traffic;
use narrows_dimm::platform::Platform;
use serde::Serialize;
use std::collections::BTreeMap;

/// One population of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Modules of every channel by socket.
    pub modules: Vec<Vec<u32>>,
    /// TCP and UDP that memory and wire allow, in Gb/s.
    pub tcp_gbps: f64,
    /// UDP.
    pub udp_gbps: f64,
    /// Channels of all sets: a measure of what is left for programs.
    pub channels: usize,
    /// Sets of each socket.
    pub sets: Vec<Vec<usize>>,
}

/// All populations of so many modules, best first: by the lower of TCP and UDP, then those that
/// share them evenly between sockets, then by channels, then by the fewest sets. Of those with the
/// same sets one stands for all. How many there are, and the best `keep`; an error for more sockets
/// than the model has seen.
pub fn search(server: &Server, modules: u32, keep: usize) -> Result<(u64, Vec<Found>), String> {
    let sockets = server.modules.len().max(1);
    if sockets > 2 {
        return Err(format!("{sockets} sockets: a search knows one or two"));
    }
    let platform = server.platform.filter(|platform| !platform.ways.is_empty());
    let platform =
        platform.ok_or("a search needs to know how the processors interleave: cpu=NAME")?;
    let port = Group { socket: 0, nics: 1, work: 0 };
    let wires = [Traffic::Tcp, Traffic::Udp]
        .map(|traffic| server.port_gbps(traffic, &port).unwrap_or(f64::INFINITY));
    let each = choices(server, platform, modules);
    let none = [Choice { modules: Vec::new(), count: 0, sets: Vec::new(), like_it: 1 }];
    let others: &[Choice] = if sockets == 1 { &none } else { &each };
    let mut found: Vec<(u32, Found)> = Vec::new();
    let mut all = 0u64;
    for near in &each {
        for far in others.iter().filter(|far| near.count + far.count == modules) {
            all = all.saturating_add(near.like_it.saturating_mul(far.like_it));
            let reach = |traffic: Traffic, wire: f64| {
                server.carried(traffic, &near.sets, far.count > 0, sockets).min(wire)
            };
            let both = if sockets == 1 { vec![near] } else { vec![near, far] };
            let uneven = if sockets == 1 { 0 } else { near.count.abs_diff(far.count) };
            let one = Found {
                modules: both.iter().map(|choice| choice.modules.clone()).collect(),
                tcp_gbps: reach(Traffic::Tcp, wires[0]),
                udp_gbps: reach(Traffic::Udp, wires[1]),
                channels: both.iter().map(|choice| choice.sets.iter().sum::<usize>()).sum(),
                sets: both.iter().map(|choice| choice.sets.clone()).collect(),
            };
            found.push((uneven, one));
        }
    }
    let lower = |found: &Found| found.tcp_gbps.min(found.udp_gbps);
    let sets = |found: &Found| found.sets.iter().map(Vec::len).sum::<usize>();
    found.sort_by(|(uneven_a, a), (uneven_b, b)| {
        let rest = uneven_a.cmp(uneven_b).then(b.channels.cmp(&a.channels));
        lower(b).total_cmp(&lower(a)).then(rest).then(sets(a).cmp(&sets(b)))
    });
    Ok((all, found.into_iter().map(|(_, found)| found).take(keep).collect()))
}

/// The populations of one socket with the same number of modules and the same sets.
struct Choice {
    /// One of them.
    modules: Vec<u32>,
    count: u32,
    sets: Vec<usize>,
    /// How many there are.
    like_it: u64,
}

/// Every kind of population of a socket with at most so many modules. Which channels of a
/// controller hold how many does not matter to the sets, only how many channels do: so controllers
/// are filled in falling order, and counted as often as their channels can be exchanged.
fn choices(server: &Server, platform: &Platform, modules: u32) -> Vec<Choice> {
    let slots = server.slots_per_channel;
    let mut one: Vec<(Vec<u32>, u64)> = Vec::new();
    falling(platform.channels.max(1) as usize, slots, &mut Vec::new(), &mut one);
    let mut all: Vec<(Vec<u32>, u64)> = vec![(Vec::new(), 1)];
    for _ in 0..platform.controllers {
        let with = |(before, n): &(Vec<u32>, u64)| {
            let more =
                one.iter().map(|(own, m)| ([&before[..], own].concat(), n.saturating_mul(*m)));
            more.filter(|(all, _)| all.iter().sum::<u32>() <= modules).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let mut kinds = BTreeMap::<(u32, Vec<usize>), Choice>::new();
    for (modules, like_it) in all {
        let (count, sets) = (modules.iter().sum(), server.ways(&modules));
        let kind = kinds.entry((count, sets.clone()));
        let kind = kind.or_insert(Choice { modules, count, sets, like_it: 0 });
        kind.like_it = kind.like_it.saturating_add(like_it);
    }
    kinds.into_values().collect()
}

/// Modules of a controller's channels, most first, and in how many orders they can be.
fn falling(channels: usize, most: u32, before: &mut Vec<u32>, out: &mut Vec<(Vec<u32>, u64)>) {
    if before.len() == channels {
        let factorial = |n: usize| (1..=n as u64).product::<u64>();
        let same = before.chunk_by(|a, b| a == b).map(|run| factorial(run.len()));
        return out.push((before.clone(), factorial(channels) / same.product::<u64>()));
    }
    for modules in 0..=most {
        before.push(modules);
        falling(channels, modules, before, out);
        before.pop();
    }
}
