//! Which levels a machine is at, read from the machine; and what to change by hand for another.

use super::definition::When;
use super::{Definition, Factor, LevelOf};
use narrows_model::host::{Host, Slot};
use narrows_model::study::Found;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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
    /// Factor whose levels are changed by hand.
    pub factor: String,
    /// What is missing, or in the way.
    pub why: NoLevel,
}

/// Why a machine is at none of a factor's levels that could be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLevel {
    /// The user names a level that the factor does not have.
    NoSuch { said: String, levels: Vec<String> },
    /// The user names one level, and the machine is at another.
    Other { at: String, said: String },
    /// The user names a level, and the machine is at none.
    NotAt { said: String },
    /// The machine is at none of the levels.
    None {
        /// The nearest, where it is a matter of moving modules.
        nearest: Option<Change>,
    },
    /// The machine is at several.
    Several {
        /// Names of the levels, in the order of the file.
        levels: Vec<String>,
    },
    /// What would tell is not known; `None` when nothing would.
    LevelUnknown {
        /// Factor whose levels are changed by hand.
        factor: String,
        missing: Option<LevelUnknown>,
        /// The levels that could be said, in the order of the file.
        levels: Vec<String>,
    },
}

impl fmt::Display for NoLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuch { said, levels } => {
                write!(f, "it has no level '{said}', but {}", levels.join(", "))
            }
            Self::Other { at, said } => write!(f, "the machine is at '{at}', and not at '{said}'"),
            Self::NotAt { said } => write!(f, "the machine is not at '{said}'"),
            Self::None { nearest: None } => f.write_str("the machine is at none of its levels"),
            Self::None { nearest: Some(Change { to, says, .. }) } => {
                write!(f, "the machine is at none of its levels; for '{to}': {says}")
            }
            Self::Several { levels } => {
                write!(f, "the machine is at several levels: {}", levels.join(", "))
            }
            Self::LevelUnknown { factor, missing, levels } => {
                match missing {
                    Some(missing) => missing.fmt(f)?,
                    None => f.write_str("no fact tells")?,
                }
                write!(f, "; say it with --at {factor}=LEVEL, one of {}", levels.join(", "))
            }
        }
    }
}

/// A fact that would tell a machine's level, and does not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LevelUnknown {
    /// The memory slots, with why they are not known.
    Slots(String),
    /// The socket of a slot.
    Socket,
    /// No slot has this label.
    NoSlot(String),
    /// Two slots may be meant.
    TwoSlots {
        /// What the study calls it.
        label: String,
        /// Locators of the two slots that could be meant.
        either: [String; 2],
    },
    /// Nothing is at this JSON pointer.
    NoFact(String),
    /// A fact has no value.
    NoValue {
        /// Its JSON pointer.
        pointer: String,
        /// `absent`, `denied` or `malformed`.
        state: String,
    },
    /// The facts cannot be looked at as JSON.
    Json(String),
    /// All of these of the other host.
    OfPeer(Box<LevelUnknown>),
}

impl fmt::Display for LevelUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(gap) => write!(f, "memory slots are not known: {gap}"),
            Self::Socket => f.write_str("the socket of a memory slot is not known"),
            Self::NoSlot(label) => write!(f, "there is no memory slot '{label}'"),
            Self::TwoSlots { label, either: [first, second] } => {
                write!(f, "memory slot '{label}' may be '{first}' or '{second}'")
            }
            Self::NoFact(pointer) => write!(f, "there is no fact {pointer}"),
            Self::NoValue { pointer, state } => write!(f, "{pointer} is {state}"),
            Self::Json(why) => f.write_str(why),
            Self::OfPeer(why) => write!(f, "the peer: {why}"),
        }
    }
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

fn level(factor: &Factor, machine: &Machine<'_>) -> Result<Found, NoLevel> {
    let said = machine.said.get(&factor.name);
    let has = |name: &String| factor.levels.iter().any(|level| level.name == *name);
    let names = || factor.levels.iter().map(|level| level.name.clone()).collect();
    if let Some(said) = said.filter(|said| !has(said)) {
        return Err(NoLevel::NoSuch { said: said.clone(), levels: names() });
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
        ([one], Some(said)) => Err(NoLevel::Other { at: (*one).to_owned(), said: said.clone() }),
        ([], Some(said)) if can_be_said(factor, said) => {
            Ok(Found { level: said.clone(), read: false })
        }
        ([], Some(said)) => match whys.first() {
            // The facts that would tell cannot be read: the user's word is taken, and marked.
            Some(_) => Ok(Found { level: said.clone(), read: false }),
            None => Err(NoLevel::NotAt { said: said.clone() }),
        },
        ([], None) => {
            let missing = whys.into_iter().next();
            let untold = missing.is_some() || factor.levels.iter().all(|one| one.when.is_none());
            Err(if untold {
                NoLevel::LevelUnknown { factor: factor.name.clone(), missing, levels: names() }
            } else {
                NoLevel::None { nearest: nearest(factor, machine) }
            })
        }
        (many, _) => {
            let levels = many.iter().map(|level| (*level).to_owned()).collect();
            Err(NoLevel::Several { levels })
        }
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

fn fits(when: &When, machine: &Machine<'_>) -> Result<bool, LevelUnknown> {
    let here = fits_host(when, machine.host)?;
    match machine.peer.filter(|_| here && !when.here_only) {
        Some(peer) => fits_host(when, peer).map_err(|why| LevelUnknown::OfPeer(Box::new(why))),
        None => Ok(here),
    }
}

fn fits_host(when: &When, host: &Host) -> Result<bool, LevelUnknown> {
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
            let at = slot.at.as_ref().ok_or(LevelUnknown::Socket)?;
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

fn facts_fit(wanted: &BTreeMap<String, toml::Value>, host: &Host) -> Result<bool, LevelUnknown> {
    if wanted.is_empty() {
        return Ok(true);
    }
    let facts =
        serde_json::to_value(host).map_err(|error| LevelUnknown::Json(error.to_string()))?;
    for (pointer, wanted) in wanted {
        let wanted =
            serde_json::to_value(wanted).map_err(|error| LevelUnknown::Json(error.to_string()))?;
        let fact = facts.pointer(pointer).ok_or_else(|| LevelUnknown::NoFact(pointer.clone()))?;
        // A fact that was read holds its value beside its source.
        let value = match fact.get("state").and_then(serde_json::Value::as_str) {
            Some("known") => fact.get("value").unwrap_or(fact),
            Some(state) => {
                let (pointer, state) = (pointer.clone(), state.to_owned());
                return Err(LevelUnknown::NoValue { pointer, state });
            }
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

fn slots(host: &Host) -> Result<&[Slot], LevelUnknown> {
    let slots = host.memory.slots.value().map(Vec::as_slice);
    slots.ok_or_else(|| LevelUnknown::Slots(host.memory.slots.gap().unwrap_or_default()))
}

fn populated(slots: &[Slot]) -> impl Iterator<Item = &Slot> {
    slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|module| module.is_dram))
}

/// The slot by the label on the board: the whole locator, or its last word or number.
fn slot<'a>(slots: &'a [Slot], label: &str) -> Result<&'a Slot, LevelUnknown> {
    if let Some(slot) = slots.iter().find(|slot| slot.locator.eq_ignore_ascii_case(label)) {
        return Ok(slot);
    }
    let found: Vec<&Slot> = slots
        .iter()
        .filter(|slot| {
            let word = slot.locator.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
            let word = word.unwrap_or_default();
            let number = word.trim_start_matches(|c: char| !c.is_ascii_digit());
            word.eq_ignore_ascii_case(label) || (!number.is_empty() && number == label)
        })
        .collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(LevelUnknown::NoSlot(label.to_owned())),
        [first, second, ..] => Err(LevelUnknown::TwoSlots {
            label: label.to_owned(),
            either: [first.locator.clone(), second.locator.clone()],
        }),
    }
}

/// What to change by hand for another level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Factor whose levels are changed by hand.
    pub factor: String,
    /// The level to go to.
    pub to: String,
    /// What to do, in words.
    pub says: String,
    /// What there is to do: modules to move, put in or take out, or one setting to change.
    pub steps: usize,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.factor, self.to, self.says)
    }
}

/// How to get from the machine as it is to a level of a factor.
pub fn change(factor: &Factor, to: &LevelOf, machine: &Machine<'_>) -> Change {
    let when = to.when.as_ref();
    let peer = machine.peer.filter(|_| when.is_some_and(|when| !when.here_only));
    let wanted = when.and_then(|when| when.populated.as_ref());
    let moves = |host: &Host| wanted.and_then(|wanted| memory_moves(wanted, host).ok());
    let (says, steps) = match (moves(machine.host), peer.map(moves)) {
        (None, there) => {
            let both = if there.is_some() { ", on both hosts" } else { "" };
            let says = match wanted {
                Some(slots) => {
                    format!("modules in slots {}, and no others{both}", slots.join(", "))
                }
                None => format!("set {} to '{}'{both}", factor.name, to.name),
            };
            (says, 1)
        }
        (Some(here), Some(Some(there))) => {
            (moves_of_two(&here.join(", "), &there.join(", ")), here.len() + there.len())
        }
        (Some(here), None) => (format!("power down, {}", here.join(", ")), here.len()),
        (Some(here), Some(None)) => {
            let moves = here.join(", ");
            let says =
                format!("power down, {moves}, on this host; what the peer needs is not known");
            (says, here.len())
        }
    };
    Change { factor: factor.name.clone(), to: to.name.clone(), says, steps }
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
fn memory_moves(wanted: &[String], host: &Host) -> Result<Vec<String>, LevelUnknown> {
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
    Ok(moves.chain(more).chain(less).collect())
}
