//! `dimm-balance`: is every memory channel populated alike?
//!
//! Unequal channels split a socket's memory into several interleave sets, the narrowest of which
//! may have the bandwidth of one channel; the Lenovo study LP1241 measured 61 Gb/s of TCP instead
//! of 88 over such a set. How heavy a finding is follows from what the population costs this host
//! and not from its class: one module a processor is one set, and among the worst rows of LP1241;
//! eleven modules are several sets, and among the best.

use super::evidence;
use crate::{Case, Rule};
use narrows_dimm::interleave::Set;
use narrows_dimm::moves::moves;
use narrows_dimm::population::{Balance, Population, Socket, is_split};
use narrows_model::host::{ChannelId, Slot};
use narrows_model::result::{
    Estimate, Evidence, Finding, Method, Missing, Unclear, Verdict, Weight,
};
use narrows_model::units::Unit;
use narrows_predict::Unplaced;
use narrows_predict::loss::{Loss, PortLoss};

/// More empty slots than this are not named.
const MISSING_SHOWN: usize = 4;

/// Are all channels of all sockets filled alike?
pub static RULE: Rule = Rule {
    name: "dimm-balance",
    asks: "Is every memory channel populated alike?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    if host.memory.slots.value().is_none() {
        return Verdict::unknown(Missing::fact("memory slots", &host.memory.slots));
    }
    let population = match Population::of(host) {
        Ok(population) => population,
        Err(gap) => return Verdict::unknown(Unclear::Population(gap).into()),
    };
    let from = host.memory.slots.source().0.clone();
    if population.balance == Balance::Balanced {
        let each = population.sockets.iter().map(show).collect::<Vec<_>>();
        return Verdict::clear(evidence(each.join("; "), from));
    }
    let sockets = &population.sockets;
    let mut evidence: Vec<Evidence> =
        sockets.iter().map(|socket| evidence(show(socket), from.clone())).collect();
    evidence.extend(sets_say(&population));
    let says = match population.balance {
        Balance::NearBalanced => one_set(&population),
        Balance::SocketAsymmetric => "The sockets hold different memory".to_owned(),
        _ => format!("Memory is unbalanced: {}", uneven(&population)),
    };
    let loss = Loss::of(host, &population);
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    // What is near-balanced has one set: moving modules would not widen it.
    let moved = match population.balance {
        Balance::NearBalanced => None,
        _ => by_moving(slots, &population),
    };
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight: weight(&population, loss.as_ref().ok()),
            says: format!("{says}; {}", cost(&loss)),
            evidence,
            worth: loss.ok().map(|loss| worth(&loss)),
            remedy: moved.unwrap_or_else(|| remedy(population.balance, sockets, slots)),
        }],
    }
}

/// Lost share of a port's link from which a population is a fault: less is within the model's own
/// range (docs/predict.md).
const FAULT_SHARE: f64 = 0.05;

/// By what the ports lose. Where none tells its rate, memory that does not reach all processors, or
/// lies on one channel of several, is a fault; so are several sets.
fn weight(population: &Population, loss: Option<&Loss>) -> Weight {
    let lost = loss.and_then(Loss::worst).map(PortLoss::share);
    let is_fault = match lost {
        Some(share) => share >= FAULT_SHARE,
        None => {
            population.balance != Balance::NearBalanced
                || population
                    .sockets
                    .iter()
                    .any(|socket| socket.populated().len() == 1 && socket.width() > 2)
        }
    };
    if is_fault { Weight::Fault } else { Weight::Advice }
}

/// `it costs 117 of 141 GB/s of memory and 17.4 of 100 Gb/s of tcp on eth0`.
fn cost(loss: &Result<Loss, Unplaced>) -> String {
    let loss = match loss {
        Ok(loss) => loss,
        Err(why) => return format!("its cost is unknown: {why}"),
    };
    let memory = format!(
        "it costs {:.0} of {:.0} GB/s of memory",
        loss.bytes_per_second().gbytes(),
        loss.all.gbytes()
    );
    match loss.worst() {
        None => format!("{memory}; no NIC reports its rate, so the cost to them is unknown"),
        Some(port) if port.lost.value < 0.1e9 => {
            format!("{memory}, and TCP and UDP of no NIC")
        }
        Some(port) => format!(
            "{memory}, and {:.1} of {:.0} Gb/s of {} on {}",
            port.lost.value / 1e9,
            port.link.0 / 1e9,
            port.path,
            port.nic
        ),
    }
}

/// What a module on every channel is worth: to the port that loses most, else to memory.
fn worth(loss: &Loss) -> Estimate {
    if let Some(port) = loss.worst() {
        return port.lost;
    }
    let lost = loss.bytes_per_second().0;
    let unit = Unit::BytesPerSecond;
    Estimate { value: lost, low: lost, high: lost, unit, n: 0, by: Method::Model }
}

/// The interleave sets of each socket, when they are known.
fn sets_say(population: &Population) -> Option<Evidence> {
    let sets = population.sets.as_ref().ok()?;
    let each: Vec<String> = sets
        .by_socket
        .iter()
        .map(|(socket, sets)| format!("socket {socket}: {}", list(sets)))
        .collect();
    let platform = population.platform?;
    let assumed = if sets.by_label_order {
        ", channels given to controllers in the order of their labels"
    } else {
        ""
    };
    let from = format!("{}: {}{assumed}", platform.name, platform.source);
    Some(evidence(format!("interleave sets, {}", each.join("; ")), from))
}

/// `4-way 128 GiB, 1-way 32 GiB`.
pub fn list(sets: &[Set]) -> String {
    if sets.is_empty() {
        return "none".to_owned();
    }
    let each = sets.iter().map(|set| format!("{}-way {}", set.ways(), set.size_bytes));
    each.collect::<Vec<_>>().join(", ")
}

/// `socket 0: A 32+32, B 32, C -` in GiB.
fn show(socket: &Socket) -> String {
    let channels = socket.channels.iter().map(|(channel, modules)| {
        let sizes: Vec<String> = modules.iter().map(|mib| gib(*mib)).collect();
        format!("{channel} {}", if sizes.is_empty() { "-".into() } else { sizes.join("+") })
    });
    let mut channels: Vec<String> = channels.collect();
    if socket.unnamed > 0 {
        channels.push(format!("{} more -", socket.unnamed));
    }
    format!("socket {}: {} (GiB by channel)", socket.socket, channels.join(", "))
}

fn gib(mib: u64) -> String {
    if mib.is_multiple_of(1024) {
        format!("{}", mib / 1024)
    } else {
        format!("{:.1}", mib as f64 / 1024.0)
    }
}

/// What keeps one set a socket from being balanced: empty channels, else other modules.
fn one_set(population: &Population) -> String {
    if population.is_full() {
        return "Channels hold the same capacity in different modules".to_owned();
    }
    format!("Memory channels are empty: {}", empty(&population.sockets))
}

fn empty(population: &[Socket]) -> String {
    population
        .iter()
        .map(|socket| {
            let (have, all) = (socket.populated().len(), socket.width());
            format!("socket {} uses {have} of {all}", socket.socket)
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// What is uneven: the sets, where they are known, else the channels.
fn uneven(population: &Population) -> String {
    let Ok(sets) = &population.sets else { return uneven_channels(&population.sockets) };
    let split = sets.by_socket.iter().filter(|(_, sets)| is_split(sets)).map(|(socket, sets)| {
        let here = population.sockets.iter().find(|have| have.socket == *socket);
        let modules = here.map_or(0, |here| here.channels.values().map(Vec::len).sum::<usize>());
        let narrowest = sets.iter().map(Set::ways).min().unwrap_or(0);
        format!(
            "socket {socket} has {modules} modules in {} interleave sets ({}), the narrowest over {} \
             of {} channels",
            sets.len(),
            list(sets),
            narrowest,
            here.map_or(0, Socket::width)
        )
    });
    split.collect::<Vec<_>>().join("; ")
}

fn uneven_channels(population: &[Socket]) -> String {
    population.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

fn of(socket: &Socket) -> Option<String> {
    let populated = socket.populated();
    let most = populated.iter().max_by_key(|(_, modules)| (total(modules), modules.len()))?;
    let least = populated.iter().min_by_key(|(_, modules)| (total(modules), modules.len()))?;
    (most.1 != least.1).then(|| {
        format!(
            "on socket {} channel {} holds {} GiB in {} modules, channel {} holds {} GiB in {}",
            socket.socket,
            most.0,
            gib(total(most.1)),
            most.1.len(),
            least.0,
            gib(total(least.1)),
            least.1.len()
        )
    })
}

fn total(modules: &[u64]) -> u64 {
    modules.iter().copied().fold(0, u64::saturating_add)
}

/// `move the module from P1-DIMMA2 to P1-DIMMB1`, when moves alone even the sockets out.
fn by_moving(slots: &[Slot], population: &Population) -> Option<String> {
    let moves = moves(slots, population)?;
    let each = moves.iter().map(|step| format!("from {} to {}", step.from, step.to));
    let each: Vec<String> = each.collect();
    let what = if each.len() == 1 { "the module" } else { "modules" };
    Some(format!("move {what} {}: then the memory of every socket is one set", each.join(", ")))
}

/// Slots of channels that hold nothing, one a channel, when so few are missing: `: DIMM 16 is
/// empty`.
fn missing(population: &[Socket], slots: &[Slot], wanted: usize) -> String {
    let of = |socket: u32, channel: &ChannelId| {
        slots
            .iter()
            .find(|slot| {
                slot.at.as_ref().is_some_and(|at| at.socket == socket && at.channel == *channel)
            })
            .map(|slot| slot.locator.clone())
    };
    let empty = population.iter().flat_map(|socket| {
        let bare = socket.channels.iter().filter(|(_, modules)| modules.is_empty());
        bare.filter_map(|(channel, _)| of(socket.socket, channel)).collect::<Vec<_>>()
    });
    let empty: Vec<String> = empty.collect();
    match empty.as_slice() {
        [one] if wanted == 1 => format!("; the empty one is {one}"),
        many if many.len() == wanted && wanted <= MISSING_SHOWN => {
            format!("; the empty ones are {}", many.join(", "))
        }
        _ => String::new(),
    }
}

fn remedy(class: Balance, population: &[Socket], slots: &[Slot]) -> String {
    let all: usize = population.iter().map(modules_of).sum();
    let channels: usize = population.iter().map(Socket::width).sum();
    match class {
        Balance::NearBalanced if population.iter().any(|socket| !socket.is_even()) => {
            "use like modules on all channels: each runs at what its own modules allow".to_owned()
        }
        Balance::NearBalanced => format!(
            "for full bandwidth put one more like module into each empty channel ({} in all)",
            population.iter().map(|s| s.width() - s.populated().len()).sum::<usize>()
        ),
        Balance::SocketAsymmetric => {
            let most = population.iter().map(modules_of).max().unwrap_or(0) * population.len();
            let missing = missing(population, slots, most - all);
            format!("give every socket the same modules on the same channels{missing}")
        }
        _ if channels > 0 && all.is_multiple_of(channels) => {
            format!("spread the {all} modules evenly: {} of one kind a channel", all / channels)
        }
        _ => {
            let need = all.div_ceil(channels.max(1)) * channels;
            let missing = missing(population, slots, need.saturating_sub(all));
            format!(
                "use the same number of like modules on every channel: {channels} channels need \
                 {need} modules, {all} are fitted{missing}"
            )
        }
    }
}

fn modules_of(socket: &Socket) -> usize {
    socket.channels.values().map(Vec::len).sum::<usize>()
}
