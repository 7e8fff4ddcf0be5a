//! Which levels a machine is at, read from the machine; and what to change by hand for another.

use super::definition::When;
use super::{Definition, Factor, LevelOf};
use narrows_model::host::{Host, Slot};
use narrows_model::study::Found;
use std::collections::{BTreeMap, BTreeSet};

/// The machines of a session.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The host that narrows runs on.
    pub host: &'a Host,
    /// The other, when there is one.
    pub peer: Option<&'a Host>,
    /// What the user says of factors that no fact tells.
    pub said: &'a BTreeMap<String, String>,
}

/// Why a factor's level is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The factor.
    pub factor: String,
    /// What is missing, or in the way.
    pub why: String,
}

/// Levels of the factors that are changed by hand, and those that cannot be told.
pub type Standing = (BTreeMap<String, Found>, Vec<Unread>);

/// At which levels the machine is.
pub fn standing(definition: &Definition, machine: &Machine<'_>) -> Standing {
    let mut found = BTreeMap::new();
    let mut unread = Vec::new();
    for factor in definition.factors.iter().filter(|factor| factor.by_hand) {
        match level(factor, machine) {
            Ok(level) => {
                found.insert(factor.name.clone(), level);
            }
            Err(why) => unread.push(Unread { factor: factor.name.clone(), why }),
        }
    }
    (found, unread)
}

fn level(factor: &Factor, machine: &Machine<'_>) -> Result<Found, String> {
    let names = || factor.levels.iter().map(|level| level.name.as_str()).collect::<Vec<_>>();
    let said = machine.said.get(&factor.name);
    if let Some(said) = said.filter(|said| !names().contains(&said.as_str())) {
        return Err(format!("it has no level '{said}', but {}", names().join(", ")));
    }
    let (mut at, mut whys) = (Vec::new(), BTreeSet::new());
    for level in &factor.levels {
        let Some(when) = &level.when else { continue };
        match fits(when, machine) {
            Ok(true) => at.push(level.name.as_str()),
            Ok(false) => {}
            Err(why) => drop(whys.insert(why)),
        }
    }
    match (at.as_slice(), said) {
        ([one], None) => Ok(Found { level: (*one).to_owned(), read: true }),
        ([one], Some(said)) if *one == said.as_str() => {
            Ok(Found { level: said.clone(), read: true })
        }
        // What is read goes before what is said.
        ([one], Some(said)) => Err(format!("the machine is at '{one}', and not at '{said}'")),
        ([], Some(said)) if can_be_said(factor, said) => {
            Ok(Found { level: said.clone(), read: false })
        }
        ([], Some(said)) => match whys.first() {
            // The facts that would tell cannot be read: the user's word is taken, and marked.
            Some(_) => Ok(Found { level: said.clone(), read: false }),
            None => Err(format!("the machine is not at '{said}'")),
        },
        ([], None) => Err(match whys.first() {
            Some(why) => format!("{why}; say it with --at {}=LEVEL", factor.name),
            None if factor.levels.iter().all(|level| level.when.is_none()) => {
                format!("no fact tells; say it with --at {}=LEVEL", factor.name)
            }
            None => match nearest(factor, machine) {
                Some(Change { to, says, .. }) => {
                    format!("the machine is at none of its levels; for '{to}': {says}")
                }
                None => "the machine is at none of its levels".to_owned(),
            },
        }),
        (many, _) => Err(format!("the machine is at several levels: {}", many.join(", "))),
    }
}

/// The way to the level of memory slots that is nearest: the fewest modules to touch, and of those
/// the one with as many modules as there are.
fn nearest(factor: &Factor, machine: &Machine<'_>) -> Option<Change> {
    let slots = slots(machine.host).ok()?;
    let have: BTreeSet<&String> = populated(slots).map(|slot| &slot.locator).collect();
    let steps = |level: &&LevelOf| {
        let wanted = level.when.as_ref()?.populated.as_ref()?;
        let wanted = wanted.iter().map(|label| slot(slots, label).map(|slot| &slot.locator));
        let wanted: BTreeSet<&String> = wanted.collect::<Result<_, _>>().ok()?;
        let (out, into) = (have.difference(&wanted).count(), wanted.difference(&have).count());
        Some((out.max(into), out.abs_diff(into)))
    };
    let known = factor.levels.iter().filter_map(|level| Some((steps(&level)?, level)));
    let (_, level) = known.min_by_key(|(steps, _)| *steps)?;
    Some(change(factor, level, machine))
}

/// True for a level that no fact is asked about.
fn can_be_said(factor: &Factor, said: &str) -> bool {
    factor.levels.iter().any(|level| level.name == said && level.when.is_none())
}

fn fits(when: &When, machine: &Machine<'_>) -> Result<bool, String> {
    let here = fits_host(when, machine.host)?;
    match machine.peer.filter(|_| here && !when.here_only) {
        Some(peer) => fits_host(when, peer).map_err(|why| format!("the peer: {why}")),
        None => Ok(here),
    }
}

fn fits_host(when: &When, host: &Host) -> Result<bool, String> {
    if let Some(wanted) = &when.populated {
        let slots = slots(host)?;
        let wanted = wanted.iter().map(|label| slot(slots, label).map(|slot| &slot.locator));
        let wanted: BTreeSet<&String> = wanted.collect::<Result<_, _>>()?;
        let have = populated(slots).map(|slot| &slot.locator).collect::<BTreeSet<_>>();
        if have != wanted {
            return Ok(false);
        }
    }
    if let Some(wanted) = &when.modules_by_socket {
        let mut have = vec![0u32; wanted.len()];
        for slot in populated(slots(host)?) {
            let at = slot.at.as_ref().ok_or("the socket of a memory slot is not known")?;
            match have.get_mut(at.socket as usize) {
                Some(count) => *count += 1,
                None => return Ok(false),
            }
        }
        if have != *wanted {
            return Ok(false);
        }
    }
    facts_fit(&when.facts, host)
}

fn facts_fit(wanted: &BTreeMap<String, toml::Value>, host: &Host) -> Result<bool, String> {
    if wanted.is_empty() {
        return Ok(true);
    }
    let facts = serde_json::to_value(host).map_err(|error| error.to_string())?;
    for (pointer, wanted) in wanted {
        let wanted = serde_json::to_value(wanted).map_err(|error| error.to_string())?;
        let fact = facts.pointer(pointer).ok_or(format!("there is no fact {pointer}"))?;
        // A fact that was read holds its value beside its source.
        let value = match fact.get("state").and_then(serde_json::Value::as_str) {
            Some("known") => fact.get("value").unwrap_or(fact),
            Some(gap) => return Err(format!("{pointer} is {gap}")),
            None => fact,
        };
        let equal = match (value.as_f64(), wanted.as_f64()) {
            (Some(have), Some(want)) => have == want,
            _ => *value == wanted,
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

fn slots(host: &Host) -> Result<&[Slot], String> {
    let slots = host.memory.slots.value().map(Vec::as_slice);
    slots.ok_or_else(|| {
        let gap = host.memory.slots.gap().unwrap_or_default();
        format!("memory slots are not known: {gap}")
    })
}

fn populated(slots: &[Slot]) -> impl Iterator<Item = &Slot> {
    slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|module| module.is_dram))
}

/// The slot by the label on the board: the whole locator, or its last word or number.
fn slot<'a>(slots: &'a [Slot], label: &str) -> Result<&'a Slot, String> {
    let whole = |slot: &&Slot| slot.locator.eq_ignore_ascii_case(label);
    if let Some(slot) = slots.iter().find(whole) {
        return Ok(slot);
    }
    let last = |slot: &&Slot| {
        let word = slot.locator.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        let word = word.unwrap_or_default();
        let number = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        word.eq_ignore_ascii_case(label) || (!number.is_empty() && number == label)
    };
    let found: Vec<&Slot> = slots.iter().filter(last).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no memory slot '{label}'")),
        [first, second, ..] => {
            Err(format!("memory slot '{label}' may be '{}' or '{}'", first.locator, second.locator))
        }
    }
}

/// What to change by hand for another level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The factor.
    pub factor: String,
    /// The level to go to.
    pub to: String,
    /// What to do, in words.
    pub says: String,
}

/// How to get from the machine as it is to a level of a factor.
pub fn change(factor: &Factor, to: &LevelOf, machine: &Machine<'_>) -> Change {
    let when = to.when.as_ref();
    let peer = machine.peer.filter(|_| when.is_some_and(|when| !when.here_only));
    let wanted = when.and_then(|when| when.populated.as_ref());
    let moves = |host: &Host| wanted.and_then(|wanted| memory_moves(wanted, host).ok());
    let says = match (moves(machine.host), peer.map(moves)) {
        (None, there) => {
            let both = if there.is_some() { ", on both hosts" } else { "" };
            format!("set {} to '{}'{both}", factor.name, to.name)
        }
        (Some(here), Some(Some(there))) => moves_of_two(&here, &there),
        (Some(here), None) => format!("power down, {here}"),
        (Some(here), Some(None)) => {
            format!("power down, {here}, on this host; what the peer needs is not known")
        }
    };
    Change { factor: factor.name.clone(), to: to.name.clone(), says }
}

/// What to move in two hosts, which need not be at the same.
fn moves_of_two(here: &str, there: &str) -> String {
    match (here, there) {
        (here, there) if here == there => format!("power down, {here}, on both hosts"),
        ("", there) => format!("power down the peer, {there} there"),
        (here, "") => format!("power down, {here}, on this host"),
        _ => format!("power down both hosts; on this one {here}; on the peer {there}"),
    }
}

/// Modules to move, add and take out: one that is taken out of one slot is put into another.
fn memory_moves(wanted: &[String], host: &Host) -> Result<String, String> {
    let slots = slots(host)?;
    let wanted: Vec<&str> = wanted
        .iter()
        .map(|label| slot(slots, label).map(|slot| slot.locator.as_str()))
        .collect::<Result<_, _>>()?;
    let have: Vec<&str> = populated(slots).map(|slot| slot.locator.as_str()).collect();
    let out = have.iter().filter(|slot| !wanted.contains(slot));
    let into = wanted.iter().filter(|slot| !have.contains(slot));
    let (out, into): (Vec<&&str>, Vec<&&str>) = (out.collect(), into.collect());
    let moved = out.len().min(into.len());
    let moves = out.iter().zip(&into).map(|(from, to)| format!("move the DIMM of {from} to {to}"));
    let more = into.iter().skip(moved).map(|to| format!("put a DIMM into {to}"));
    let less = out.iter().skip(moved).map(|from| format!("take the DIMM out of {from}"));
    Ok(moves.chain(more).chain(less).collect::<Vec<String>>().join(", "))
}
