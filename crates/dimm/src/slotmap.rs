//! Makers' slot maps: which channel a slot is on, where the locator does not spell it out but the
//! maker's manual says how slots are numbered. One data file per maker in `slotmaps/`, each with
//! its source; products that are in no file stay unplaced.

use crate::locator::matches;
use narrows_model::host::SlotPlace;
use serde::Deserialize;
use wildmatch::WildMatch;

/// The files, by maker.
const FILES: [&str; 4] = [
    include_str!("../slotmaps/dell.json"),
    include_str!("../slotmaps/hpe.json"),
    include_str!("../slotmaps/lenovo.json"),
    include_str!("../slotmaps/supermicro.json"),
];

/// One maker's file.
#[derive(Deserialize)]
struct Maker {
    maker: String,
    source: String,
    rules: Vec<Rule>,
}

/// How some products number their slots.
#[derive(Clone, Deserialize)]
struct Rule {
    /// Product names; `?` stands for one character, `*` for any.
    products: Vec<String>,
    /// Patterns of the slot's locator, as in [`matches`].
    locators: Vec<String>,
    /// What the fields of the pattern are: `socket`, `channel`, `slot`.
    fields: Vec<String>,
    /// Pattern of the bank string, whose one field is the socket.
    bank: Option<String>,
    channels: Channels,
    /// Channels of each memory controller, where they are not in order.
    #[serde(default)]
    controllers: Vec<Vec<String>>,
}

/// From a slot's number to its channel.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Channels {
    /// Slots count through the channels: slot n is on channel (n - 1) mod so many, plus 1.
    Modulo(u32),
    /// So many neighbouring slots share a channel, counted from 0.
    Pair(u32),
    /// Named channels and their slots.
    Table(Vec<(String, Vec<u32>)>),
    /// The locator names the channel itself.
    Named,
}

/// The slot map of one product.
pub struct SlotMap {
    rule: Rule,
    /// Where the map is from.
    pub source: String,
}

/// The map for a product, when its maker's file has it.
pub fn of(maker: &str, product: &str) -> Option<SlotMap> {
    let makers = FILES.iter().filter_map(|file| serde_json::from_str::<Maker>(file).ok());
    for file in makers.filter(|file| maker.trim().starts_with(&file.maker)) {
        let wanted = |rule: &&Rule| {
            rule.products.iter().any(|glob| WildMatch::new(glob).matches(product.trim()))
        };
        if let Some(rule) = file.rules.iter().find(wanted) {
            return Some(SlotMap { rule: rule.clone(), source: file.source });
        }
    }
    None
}

impl SlotMap {
    /// Place of a slot; the socket keeps the board's number.
    pub fn place(&self, locator: &str, bank: &str) -> Option<SlotPlace> {
        let rule = &self.rule;
        let found = rule.locators.iter().find_map(|pattern| matches(pattern, locator))?;
        let field = |name: &str| {
            let at = rule.fields.iter().position(|field| field == name)?;
            found.get(at).map(String::as_str)
        };
        let socket = match &rule.bank {
            Some(pattern) => number(matches(pattern, bank)?.first()?)?,
            None => number(field("socket")?)?,
        };
        let slot = || field("slot")?.parse::<u32>().ok()?.checked_sub(1);
        let channel = match &rule.channels {
            Channels::Modulo(channels) => (slot()? % channels + 1).to_string(),
            Channels::Pair(slots) => (slot()? / slots).to_string(),
            Channels::Named => field("channel")?.to_owned(),
            Channels::Table(table) => {
                let slot = slot()? + 1;
                table.iter().find(|(_, slots)| slots.contains(&slot))?.0.clone()
            }
        };
        let mut controllers = rule.controllers.iter();
        let controller = controllers.position(|channels| channels.contains(&channel));
        let controller = controller.and_then(|index| u32::try_from(index).ok());
        Some(SlotPlace { socket, channel, controller })
    }
}

/// A socket's label as a number: digits, or a letter counted from A.
fn number(label: &str) -> Option<u32> {
    let letter = label.chars().next().filter(char::is_ascii_alphabetic);
    label.parse().ok().or_else(|| Some(letter? as u32 - 'A' as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_reads_and_names_its_source() {
        for file in FILES {
            let maker: Maker = serde_json::from_str(file).expect(file);
            assert!(!maker.source.is_empty() && !maker.rules.is_empty(), "{}", maker.maker);
        }
    }

    #[test]
    fn slots_count_as_the_maker_says() {
        let place = |maker: &str, product: &str, locator: &str, bank: &str| {
            let at = of(maker, product)?.place(locator, bank)?;
            Some((at.socket, at.channel))
        };
        let at = |socket: u32, channel: &str| Some((socket, channel.to_owned()));
        assert_eq!(place("Dell Inc.", "PowerEdge R740", "B7", ""), at(1, "1"));
        assert_eq!(place("Dell Inc.", "PowerEdge R710", "DIMM_A3 ", ""), at(0, "3"));
        assert_eq!(place("HPE", "ProLiant DL360 Gen10", "PROC 2 DIMM 12", ""), at(2, "5"));
        assert_eq!(place("Lenovo", "ThinkSystem SR590 -[7X99]-", "DIMM 12", "CPU 2"), at(2, "A"));
        assert_eq!(place("HP", "ProLiant DL380 Gen9", "PROC 1 DIMM 1", ""), None);
        assert_eq!(place("Dell Inc.", "PowerEdge R740", "A0", ""), None);
        // Entry servers have two channels: not in the file, so not placed.
        assert_eq!(place("Dell Inc.", "PowerEdge R250", "A1", ""), None);
        let r750 = of("Dell Inc.", "PowerEdge R750").expect("map");
        let controller = |slot: &str| r750.place(slot, "").and_then(|at| at.controller);
        assert_eq!(
            (controller("A1"), controller("A13"), controller("B2")),
            (Some(0), Some(0), Some(2))
        );
        assert_eq!(place("Nobody", "PowerEdge R740", "A1", ""), None);
    }
}
