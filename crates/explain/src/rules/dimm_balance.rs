//! `dimm-balance`: is every memory channel populated alike?
//!
//! Unequal channels split a socket's memory into several interleave sets, the narrowest of which
//! may have the bandwidth of one channel; the Lenovo study LP1241 measured 61 Gb/s of TCP instead
//! of 88 over such a set. What a move would bring on this host is not predicted here.

use super::evidence;
use crate::population::{Balance, Socket, balance, moves, sockets};
use crate::{Case, Rule};
use narrows_facts::host::Slot;
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule =
    Rule { name: "dimm-balance", asks: "Is every memory channel populated alike?", judge };

fn judge(case: &Case<'_>) -> Verdict {
    let fact = &case.study.host.memory.slots;
    let Some(slots) = fact.value() else {
        let why = fact.gap().unwrap_or_default();
        return Verdict::Unknown { missing: vec![format!("memory slots: {why}")] };
    };
    let population = match sockets(slots) {
        Ok(population) => population,
        Err(missing) => return Verdict::Unknown { missing: vec![missing] },
    };
    let class = balance(&population);
    if class == Balance::Balanced {
        return Verdict::Clear { because: "every channel of every socket holds the same".into() };
    }
    let from = fact.source().0.clone();
    let evidence = population.iter().map(|socket| evidence(show(socket), from.clone())).collect();
    let (weight, says) = match class {
        Balance::NearBalanced => {
            (Weight::Advice, format!("Memory channels are empty: {}", empty(&population)))
        }
        Balance::SocketAsymmetric => {
            (Weight::Fault, "The sockets hold different memory".to_owned())
        }
        _ => (Weight::Fault, format!("Memory is unbalanced: {}", uneven(&population))),
    };
    Verdict::Found {
        findings: vec![Finding {
            rule: RULE.name.into(),
            weight,
            says,
            evidence,
            worth: None,
            remedy: by_moving(slots).unwrap_or_else(|| remedy(class, &population)),
        }],
    }
}

/// `socket 0: A 32+32, B 32, C -` in GiB.
fn show(socket: &Socket) -> String {
    let channels = socket.channels.iter().map(|(channel, modules)| {
        let sizes: Vec<String> = modules.iter().map(|mib| gib(*mib)).collect();
        format!("{channel} {}", if sizes.is_empty() { "-".into() } else { sizes.join("+") })
    });
    let channels: Vec<String> = channels.collect();
    format!("socket {}: {} (GiB by channel)", socket.socket, channels.join(", "))
}

fn gib(mib: u64) -> String {
    if mib.is_multiple_of(1024) {
        format!("{}", mib / 1024)
    } else {
        format!("{:.1}", mib as f64 / 1024.0)
    }
}

fn empty(population: &[Socket]) -> String {
    let of = |socket: &Socket| {
        let (have, all) = (socket.populated().len(), socket.channels.len());
        format!("socket {} uses {have} of {all}", socket.socket)
    };
    population.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn uneven(population: &[Socket]) -> String {
    let of = |socket: &Socket| {
        let total = |modules: &Vec<u64>| modules.iter().copied().fold(0, u64::saturating_add);
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
    };
    population.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

/// `move the module from P1-DIMMA2 to P1-DIMMB1`, when moves alone even a socket out.
fn by_moving(slots: &[Slot]) -> Option<String> {
    let moves = moves(slots)?;
    let each = moves.iter().map(|step| format!("from {} to {}", step.from, step.to));
    let each: Vec<String> = each.collect();
    let what = if each.len() == 1 { "the module" } else { "modules" };
    Some(format!("move {what} {}: then every channel of a socket holds the same", each.join(", ")))
}

fn remedy(class: Balance, population: &[Socket]) -> String {
    let modules = |socket: &Socket| socket.channels.values().map(Vec::len).sum::<usize>();
    let all: usize = population.iter().map(modules).sum();
    let channels: usize = population.iter().map(|socket| socket.channels.len()).sum();
    match class {
        Balance::NearBalanced => format!(
            "for full bandwidth put one more like module into each empty channel ({} in all)",
            population.iter().map(|s| s.channels.len() - s.populated().len()).sum::<usize>()
        ),
        Balance::SocketAsymmetric => {
            "give every socket the same modules on the same channels".into()
        }
        _ if channels > 0 && all.is_multiple_of(channels) => {
            format!("spread the {all} modules evenly: {} of one kind a channel", all / channels)
        }
        _ => format!(
            "use the same number of like modules on every channel: {channels} channels need {} \
             modules, {all} are fitted",
            all.div_ceil(channels.max(1)) * channels
        ),
    }
}
