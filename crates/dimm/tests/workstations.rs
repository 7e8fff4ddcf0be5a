//! Boards that no server's rule knew: workstations, boards under other names, firmware that numbers
//! memory controllers or lists no slots of a processor. From reports of linuxhw/DMI.

mod common;

use common::{Planted, planted, row, with_bank};
use narrows_dimm::placement::WhyNot;
use narrows_dimm::population::{Balance, Population};
use narrows_model::result::PopulationGap;

const E5: &str = "Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz";
const X5675: &str = "Intel(R) Xeon(R) CPU X5675 @ 3.07GHz";

fn balance(board: &Planted) -> Balance {
    Population::of(&board.host()).expect("population").balance
}

#[test]
fn a_precision_with_one_processor_counts_through_its_channels() {
    let of = |full: &[u32]| {
        let row = row("DIMM#", 1..=8, full);
        let model = "Intel(R) Xeon(R) CPU E5-1650 v4 @ 3.60GHz";
        planted("Dell Inc.", "Precision Tower 5810", &[model], &with_bank(&row, ""))
    };
    let four = of(&[1, 2, 3, 4]);
    assert_eq!(four.told(), "dell-precision-numbers: 0.1 0.2 0.3 0.4 0.1 0.2 0.3 0.4");
    assert_eq!(balance(&four), Balance::Balanced);
    // Every second slot is two channels: neighbours would make it look balanced.
    assert_eq!(balance(&of(&[1, 3, 5, 7])), Balance::NearBalanced);
}

#[test]
fn neighbours_of_hps_workstations_share_a_channel() {
    let rows: Vec<String> =
        (0..2).flat_map(|cpu| row(&format!("CPU{cpu} DIMM#"), 1..=6, &[1, 3, 5])).collect();
    let z800 =
        planted("Hewlett-Packard", "HP Z800 Workstation", &[X5675; 2], &with_bank(&rows, ""));
    let want = "0.0 0.0 0.1 0.1 0.2 0.2 1.0 1.0 1.1 1.1 1.2 1.2";
    assert_eq!(z800.told(), format!("hp-workstations: {want}"));
    assert_eq!(balance(&z800), Balance::Balanced);
}

#[test]
fn slots_three_and_four_of_a_mac_pro_share_a_channel() {
    let of = |full: &[u32]| {
        let row = row("DIMM #", 1..=8, full);
        planted("Apple Inc.", "MacPro5,1", &[X5675; 2], &with_bank(&row, ""))
    };
    let six = of(&[1, 2, 3, 5, 6, 7]);
    assert_eq!(six.told(), "apple-mac-pro: 0.1 0.2 0.3 0.3 1.1 1.2 1.3 1.3");
    assert_eq!(balance(&six), Balance::Balanced);
    assert_eq!(balance(&of(&[1, 2, 3, 4, 5, 6, 7, 8])), Balance::Unbalanced);
}

#[test]
fn lenovos_banks_tell_what_their_names_do_not() {
    let names = ["1*", "4", "2*", "5", "3*", "6"].map(|n| format!("CPU1_DIMM{n}"));
    let banks = ["00", "01", "10", "11", "20", "21"].map(|n| format!("DIMM {n}"));
    let slots: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(banks.iter().map(String::as_str)).collect();
    let d20 = planted("LENOVO", "4158AF8", &[X5675], &slots);
    assert_eq!(d20.told(), "lenovo-d20: 0.1 0.1 0.2 0.2 0.3 0.3");
    let names = row("CPU0_Dimm#", 0..=7, &[0, 2, 4, 6]);
    let banks = [0, 0, 1, 1, 2, 2, 3, 3].map(|bank| format!("CPU0_Bank{bank}"));
    let slots: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(banks.iter().map(String::as_str)).collect();
    let s30 = planted("LENOVO", "056847U", &["Intel(R) Xeon(R) CPU E5-2690 0 @ 2.90GHz"], &slots);
    assert_eq!(s30.told(), "lenovo-s30: 0.0 0.0 0.1 0.1 0.2 0.2 0.3 0.3");
    assert_eq!(balance(&s30), Balance::Balanced);
}

/// Slots `DIMM_A1` to `DIMM_H1` of two processors with two arrays each; full ones name their node.
fn agents(full: &str) -> Planted {
    let names: Vec<(String, String)> = "ABCDEFGH"
        .chars()
        .enumerate()
        .map(|(n, c)| match full.contains(c) {
            true => (format!("DIMM_{c}1*"), format!("NODE {}", n / 2 + 1)),
            false => (format!("DIMM_{c}1"), "NO DIMM".to_owned()),
        })
        .collect();
    let slots: Vec<(&str, &str)> =
        names.iter().map(|(name, bank)| (name.as_str(), bank.as_str())).collect();
    let mut board = planted("ASUSTeK", "Z10PE-D8 WS", &[E5; 2], &slots);
    for (index, slot) in board.slots.iter_mut().enumerate() {
        slot.array = Some(0x60 + index as u16 / 2);
    }
    board
}

#[test]
fn nodes_that_number_memory_controllers_are_no_processors() {
    let all = agents("ABCDEFGH");
    let want = "named-with-controller: 0.A 0.B 0.C 0.D 1.E 1.F 1.G 1.H";
    assert_eq!((all.told().as_str(), balance(&all)), (want, Balance::Balanced));
    // All memory on the second processor: by nodes 3 and 4 as processors it looked even.
    let second = agents("EFGH");
    assert_eq!((second.told().as_str(), balance(&second)), (want, Balance::SocketAsymmetric));
    // As many arrays as processors: they say nothing of controllers.
    let mut plain = agents("ABCDEFGH");
    for (index, slot) in plain.slots.iter_mut().enumerate() {
        slot.array = Some(0x60 + index as u16 / 4);
    }
    assert_eq!(plain.why_not("named-with-controller"), Some(WhyNot::Sockets));
    assert!(plain.told().starts_with("letters-run-on: 0.A"), "{}", plain.told());
}

#[test]
fn slots_of_the_same_names_in_each_array_are_told_apart_by_it() {
    let names: Vec<String> = ["A", "B", "C"]
        .iter()
        .flat_map(|c| [format!("Channel{c}_Dimm0*"), format!("Channel{c}_Dimm1")])
        .collect();
    let twice: Vec<String> = [names.clone(), names].concat();
    let model = "Intel(R) Xeon(R) CPU C5549 @ 2.53GHz";
    let mut board = planted("To be filled", "X", &[model; 2], &with_bank(&twice, "BANK"));
    assert_eq!(board.why_not("named-in-each-array"), Some(WhyNot::Sockets));
    for (index, slot) in board.slots.iter_mut().enumerate() {
        slot.array = Some(index as u16 / 6);
    }
    let want = "0.A 0.A 0.B 0.B 0.C 0.C 1.A 1.A 1.B 1.B 1.C 1.C";
    assert_eq!(board.told(), format!("named-in-each-array: {want}"));
    assert_eq!(balance(&board), Balance::Balanced);
}

#[test]
fn a_processor_of_which_no_slot_is_listed_may_have_memory() {
    let row = row("Node0_Dimm#", 0..=3, &[0, 1, 2, 3]);
    let board = planted("To be filled", "X79", &[E5; 2], &with_bank(&row, "Node0_Bank0"));
    assert!(board.told().starts_with("node-and-number"), "{}", board.told());
    let missing = Population::of(&board.host()).err();
    assert_eq!(missing, Some(PopulationGap::SlotsOfProcessors { told: 1, fitted: 2 }));
}

#[test]
fn arrays_of_reference_firmware_are_no_channels() {
    let rows = row("A1_DIMM#", 0..=11, &[]);
    let mut slots = with_bank(&rows, "A1_BANK0");
    slots.extend([("DIMM_A1*", "NODE 1"), ("DIMM_B1*", "NODE 1")]);
    slots.extend([("DIMM_C1*", "NODE 2"), ("DIMM_D1*", "NODE 2")]);
    let board = planted("MACHINIST", "E5-MR9S", &["Intel(R) Xeon(R) CPU E5-2690 v4"], &slots);
    assert!(board.told().ends_with("- 0.A 0.B 0.C 0.D"), "{}", board.told());
    assert_eq!(balance(&board), Balance::Balanced);
}
