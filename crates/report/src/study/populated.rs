//! How memory was populated in the cells of a study, by processor: as the source says, or as the
//! host of the session was read.

use super::FILE;
use narrows_dimm::population::{Balance, Population, Socket, controllers_equal};
use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{Level, Trial};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a source writes of a processor without memory.
const NONE: &str = "none";

/// How memory is populated on the processors of a cell, from best to worst. Each word claims only
/// what it says: who has a fraction of the channels must not read that they are balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Every channel holds the same.
    Balanced,
    /// The source calls it balanced.
    BalancedBySource,
    /// Both controllers hold the same in one interleave set, which the study LP1241 calls balanced;
    /// some channels are empty.
    ControllersAlike,
    /// Some channels are empty and the others alike, on processors that LP1241 does not speak of.
    NearBalanced,
    /// None of these: several sets, a processor without memory, one controller that holds more.
    Uneven,
}

/// How memory was populated on one processor, in words and as its recommendation needs it; no class
/// where nothing shows that there is a processor with memory of its own.
pub type Populated = (String, Option<Memory>);

/// How memory was populated in each session, by processor.
pub fn populations(stored: &StoredStudy) -> BTreeMap<u32, Vec<Populated>> {
    stored
        .sessions
        .iter()
        .filter_map(|session| {
            let words = by_processor(&session.host);
            (!words.is_empty()).then_some((session.number, words))
        })
        .collect()
}

/// The balance of each processor's memory as everywhere else, and beside it what the study LP1241
/// calls it, for the processors that it is about.
fn by_processor(host: &Host) -> Vec<Populated> {
    let Ok(population) = Population::of(host) else { return Vec::new() };
    let processor = host.cpu.model.value().map_or("", String::as_str);
    let each = population.sockets.iter().zip(population.by_socket());
    let word = |(socket, balance): (&Socket, Option<Balance>)| {
        let Some(balance) = balance else { return (NONE.to_owned(), Some(Memory::Uneven)) };
        let alike = controllers_equal(std::slice::from_ref(socket), processor);
        let label = match alike {
            Some(true) => " (lenovo-2019: balanced)",
            Some(false) => " (lenovo-2019: unbalanced)",
            None => "",
        };
        let memory = match (balance, alike) {
            (Balance::Balanced, _) => Memory::Balanced,
            (Balance::NearBalanced, Some(true)) => Memory::ControllersAlike,
            (Balance::NearBalanced, None) => Memory::NearBalanced,
            _ => Memory::Uneven,
        };
        (format!("{balance}{label}"), Some(memory))
    };
    each.map(word).collect()
}

/// Of one cell: as its source says, or as it was read in the session that measured it.
pub fn population(
    stored: &StoredStudy,
    trial: &Trial,
    populations: &BTreeMap<u32, Vec<Populated>>,
) -> Vec<Populated> {
    if !trial.notes.is_empty() {
        let said = |(at, note): (usize, &Level)| {
            // The source's own word.
            let memory = match note.level.to_lowercase().as_str() {
                "balanced" => Some(Memory::BalancedBySource),
                NONE if !is_filled_elsewhere(stored, trial, at) => None,
                _ => Some(Memory::Uneven),
            };
            // Columns and lists have processors in their order.
            let is_plain = note.factor.eq_ignore_ascii_case(&format!("cpu{}", at + 1));
            let word = format!("{} {}", note.factor, note.level);
            (if is_plain { note.level.clone() } else { word }, memory)
        };
        return trial.notes.iter().enumerate().map(said).collect();
    }
    let session = stored.records_of(trial).map(|record| record.session).next();
    session.and_then(|session| populations.get(&session)).cloned().unwrap_or_default()
}

/// Whether another cell of the same source has memory on this processor: only then does one that
/// has none lack it. A table of one processor says `None` of the other in every row.
fn is_filled_elsewhere(stored: &StoredStudy, trial: &Trial, processor: usize) -> bool {
    let mut cells = stored.trials.iter().filter(|cell| cell.level(FILE) == trial.level(FILE));
    cells.any(|cell| {
        let note = cell.notes.get(processor);
        note.is_some_and(|note| !note.level.eq_ignore_ascii_case(NONE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::host::{Module, Slot, SlotPlace};
    use narrows_model::{Bytes, Fact};

    /// Half of the channels of a newer processor, one like module each: one interleave set.
    #[test]
    fn a_table_calls_a_population_what_the_host_view_calls_it() {
        let mut host = Host::default();
        host.cpu.model = Fact::known("AMD EPYC 7742".to_owned(), "planted");
        let slot = |channel: u8| {
            let module = Module {
                size_bytes: Some(Bytes::gib(32)),
                is_dram: true,
                configured_mts: Some(3200),
                ..Module::default()
            };
            let label = char::from(b'A' + channel).to_string().into();
            let at = SlotPlace { socket: 0, channel: label, controller: None };
            let module = (channel < 4).then_some(module);
            Slot { at: Some(at), module, ..Slot::default() }
        };
        host.memory.slots = Fact::known((0..8).map(slot).collect(), "planted");
        let population = Population::of(&host).expect("a population");
        assert_eq!(population.balance, Balance::NearBalanced);
        assert_eq!(by_processor(&host), [("near-balanced".to_owned(), Some(Memory::NearBalanced))]);
    }
}
