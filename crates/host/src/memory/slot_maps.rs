//! Maps of slots that the owner of a host has put there: they hold for every command that reads the
//! host, the agent's too, and for a capture of it.

use super::FirmwareTables;
use crate::Root;
use narrows_dimm::board::Board;
use narrows_dimm::rule::{self, Confidence, Rule};
use narrows_dimm::{placement, platform};
use narrows_model::host::Unused;
use narrows_model::{Fact, Source};

/// Where the maps are, without the leading slash: all `*.json` of this folder, in order of names.
pub const FOLDER: &str = "etc/narrows/slotmaps";

/// The rules of all maps, and those files that are none.
pub fn read(root: &Root) -> (Vec<Rule>, Vec<Unused>) {
    let (mut rules, mut unused) = (Vec::new(), Vec::new());
    for name in root.names(FOLDER).iter().filter(|name| name.ends_with(".json")) {
        let (text, from) = match root.text(&format!("{FOLDER}/{name}")) {
            Fact::Known { value, from } => (value, from),
            other => {
                let from = Source(format!("/{FOLDER}/{name}"));
                unused.push(Unused {
                    from,
                    what: format!("a map of slots: {}", other.gap().unwrap_or_default()),
                });
                continue;
            }
        };
        match rule::given(&text) {
            Ok(given) => rules.extend(given),
            Err(error) => unused.push(Unused { from, what: format!("a map of slots: {error}") }),
        }
    }
    (rules, unused)
}

/// Places slots by these rules; what none of them places stays as it is.
pub fn place(rules: &[Rule], firmware: &mut FirmwareTables, processor: Option<&String>) {
    let Fact::Known { value: slots, .. } = &mut firmware.slots else { return };
    if rules.is_empty() {
        return;
    }
    let identity = firmware.identity.value().cloned().unwrap_or_default();
    let sockets = firmware.sockets.value().map(Vec::as_slice).unwrap_or_default();
    let arrays = firmware.arrays.value().map(Vec::as_slice).unwrap_or_default();
    let mut board = Board::of_firmware(identity, sockets, arrays, slots);
    let by_kernel = || processor.and_then(|processor| platform::named(processor));
    board.platform = board.platform.or_else(by_kernel);
    let trace = placement::trace(&board, rules);
    if trace.placed.as_ref().is_some_and(|placed| placed.confidence == Confidence::Given) {
        placement::put(slots, &trace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::dmidecode;
    use narrows_model::host::Slot;
    use std::fmt::Write as _;

    const MAP: &str = r#"{"maker": "Lenovo", "source": "LP1241, figure 1", "rules": [{"name": "sd530",
        "products": ["ThinkSystem SD530*"], "locators": ["DIMM {slot}"], "sockets": "even", "slots": [8],
        "channels": {"table": [["A", [6, 5, 14, 13]], ["B", [7, 15]], ["C", [8, 16]],
            ["D", [3, 4, 11, 12]], ["E", [2, 10]], ["F", [1, 9]]]}}]}"#;

    /// The paper's server with modules in these slots, as firmware lists it that leaves out sockets
    /// without a processor.
    fn firmware(processors: u32, modules: &[u32]) -> FirmwareTables {
        let mut text =
            "# dmidecode 3.3\nSMBIOS 3.2.0 present.\n\nHandle 0x0001, DMI type 1, 27 bytes\n\
            System Information\n\tManufacturer: Lenovo\n\tProduct Name: ThinkSystem SD530\n\n"
                .to_owned();
        for cpu in 1..=processors {
            let _ = write!(
                text,
                "Handle 0x004{cpu}, DMI type 4, 48 bytes\nProcessor Information\n\tSocket Designation: \
                 CPU {cpu}\n\tVersion: Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz\n\tStatus: \
                 Populated, Enabled\n\n"
            );
        }
        for slot in 1..=16_u32 {
            let size = if modules.contains(&slot) { "32 GB" } else { "No Module Installed" };
            let _ = write!(
                text,
                "Handle 0x11{slot:02}, DMI type 17, 84 bytes\nMemory Device\n\tSize: {size}\n\tLocator: \
                 DIMM {slot}\n\tBank Locator: Not Specified\n\tType: DDR4\n\n"
            );
        }
        FirmwareTables::of(Fact::known(dmidecode::parse(&text).expect("a report"), "dmidecode"))
    }

    /// Where a slot is, as `0 D`.
    fn at(slots: &[Slot], number: u32) -> String {
        let slot = slots.iter().find(|slot| slot.locator == format!("DIMM {number}"));
        let place = slot.and_then(|slot| slot.at.as_ref());
        place.map_or("-".to_owned(), |at| format!("{} {}", at.socket, at.channel))
    }

    fn of(folder: &str, files: &[(&str, &str)], firmware: FirmwareTables) -> (Vec<Slot>, usize) {
        let top = std::env::temp_dir().join(format!("narrows-{folder}-{}", std::process::id()));
        std::fs::create_dir_all(top.join(FOLDER)).expect("a folder");
        for (name, text) in files {
            std::fs::write(top.join(FOLDER).join(name), text).expect("a file");
        }
        let root = Root::at(&top);
        let (maps, unused) = read(&root);
        let memory = super::super::read(&root, firmware, &maps, None);
        std::fs::remove_dir_all(&top).expect("removed");
        (memory.slots.value().cloned().unwrap_or_default(), unused.len())
    }

    #[test]
    fn a_map_in_the_owners_folder_places_slots_of_every_reading() {
        let two = || firmware(2, &[6, 3, 14, 11]);
        let (unplaced, _) = of("no-map", &[], two());
        assert_eq!(at(&unplaced, 6), "-", "a rule of the program's would hide the map");
        let (slots, unused) = of("map", &[("sd530.json", MAP), ("a.txt", "no map")], two());
        let places = [6, 3, 8, 14, 9].map(|number| at(&slots, number));
        assert_eq!((places.join(", ").as_str(), unused), ("0 A, 0 D, 0 C, 1 A, 1 F", 0));
        // A file that is no map costs itself and no other.
        let (slots, unused) = of("broken", &[("a.json", "{"), ("b.json", MAP)], two());
        assert_eq!((at(&slots, 6).as_str(), unused), ("0 A", 1));
    }

    /// Numbers run over both sockets, of which firmware lists one: `slots` tells where it ends.
    #[test]
    fn slots_of_a_socket_that_is_not_listed_are_not_those_of_the_first() {
        let (slots, _) = of("one", &[("sd530.json", MAP)], firmware(1, &[6, 3]));
        assert_eq!([6, 3, 5, 14].map(|number| at(&slots, number)), ["0 A", "0 D", "0 A", "1 A"]);
        let bare = MAP.replace(", \"slots\": [8]", "");
        let (slots, _) = of("bare", &[("sd530.json", &bare)], firmware(1, &[6, 3]));
        assert_eq!(at(&slots, 6), "-", "four slots on a channel");
    }
}
