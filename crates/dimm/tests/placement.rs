//! Slots of boards whose numbering is known are placed, and what is known of a board speaks against
//! a placement that does not fit it.

mod common;

use common::{planted, row, with_bank};
use narrows_dimm::board::Board;
use narrows_dimm::checks::Contradiction;
use narrows_dimm::placement::{WhyNot, trace};
use narrows_dimm::population::{Balance, Population};
use narrows_dimm::rule;

const E5: &str = "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz";
const SKYLAKE: &str = "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz";

#[test]
fn neighbours_share_a_channel_where_makers_say_so() {
    let gen9: Vec<String> = [
        row("PROC 1 DIMM #", 1..=12, &[1, 4, 9, 12]),
        row("PROC 2 DIMM #", 1..=12, &[1, 4, 9, 12]),
    ]
    .concat();
    let slots = with_bank(&gen9, "Not Specified");
    let hp = planted("HP", "ProLiant DL380 Gen9", &[E5, E5], &slots);
    let socket = |n: u32| {
        [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3].map(|channel| format!("{n}.{channel}")).join(" ")
    };
    assert_eq!(hp.told(), format!("hp-neighbours: {} {}", socket(0), socket(1)));
    let population = Population::of(&hp.host()).expect("population");
    assert_eq!(population.balance, Balance::Balanced, "one module on each of four channels");
    // Gen8 pads its numbers; G7 adds the letter of the order in which slots are filled.
    let gen8 = row("PROC  1 DIMM  #", 1..=8, &[1, 3, 6, 8]);
    let gen8 = planted("HP", "ProLiant BL460c Gen8", &[E5], &with_bank(&gen8, ""));
    assert_eq!(gen8.told(), "hp-neighbours: 0.0 0.0 0.1 0.1 0.2 0.2 0.3 0.3");
    let g7 = ["1G", "2D*", "3A*", "4H", "5E*", "6B*", "7I", "8F*", "9C*"];
    let g7 = g7.map(|name| format!("PROC 1 DIMM {name}"));
    let g7 = planted("HP", "ProLiant DL320 G6", &["Xeon X5670"], &with_bank(&g7, ""));
    assert_eq!(g7.told(), "hp-neighbours: 0.0 0.0 0.0 0.1 0.1 0.1 0.2 0.2 0.2");
    // Eight slots on six channels are no equal rows.
    let odd = row("PROC 1 DIMM #", 1..=8, &[1, 8]);
    let odd = planted("HPE", "ProLiant DL180 Gen10", &[SKYLAKE], &with_bank(&odd, ""));
    assert_eq!(odd.told(), "nothing");
    let count = WhyNot::Count { what: "slots", found: 8, wanted: 6 };
    assert_eq!(odd.why_not("hp-neighbours"), Some(count));
}

#[test]
fn dells_slots_count_through_the_channels_of_the_letters_processor() {
    let rows = [row("A#", 1..=8, &[1, 2, 3]), row("B#", 1..=4, &[1, 2, 3])].concat();
    let t430 = planted("Dell Inc.", "PowerEdge T430", &[E5, E5], &with_bank(&rows, ""));
    let want = "0.1 0.2 0.3 0.4 0.1 0.2 0.3 0.4 1.1 1.2 1.3 1.4";
    assert_eq!(t430.told(), format!("dell-letter-is-processor: {want}"));
    // Ten slots of six channels do not count on: the third and the sixth channel have one.
    let ten = [row("A#", 1..=10, &[1, 2, 4, 5, 7, 8, 9, 10]), row("B#", 1..=6, &[])].concat();
    let r540 = planted("Dell Inc.", "PowerEdge R540", &[SKYLAKE, ""], &with_bank(&ten, ""));
    let six = "0.1 0.2 0.3 0.4 0.5 0.6 0.1 0.2 0.4 0.5 1.1 1.2 1.3 1.4 1.5 1.6";
    assert_eq!(r540.told(), format!("dell-ten-of-six: {six}"));
    // The same board in a machine under another name.
    let mut other = planted("Someone", "CounterACT", &[E5, E5], &with_bank(&rows, ""));
    other.identity.board = "04N3DF".to_owned();
    assert_eq!(other.told(), format!("dell-board: {want}"));
    // Letters that name channels are no processors.
    let small = ["DIMM A2", "DIMM A1*", "DIMM B2", "DIMM B1*"].map(str::to_owned);
    let small =
        planted("Dell Inc.", "PowerEdge R210 II", &["Xeon E3-1240 V2"], &with_bank(&small, ""));
    assert_eq!(small.told(), "named-on-one-socket: 0.A 0.A 0.B 0.B");
}

#[test]
fn ibms_sixteen_slots_on_three_channels_are_three_three_and_two() {
    let rows = row("DIMM#", 1..=16, &[3, 6, 8, 11, 14, 16]);
    let m2 =
        planted("IBM", "System x3550 M2 -[794622V]-", &["Xeon E5504"; 2], &with_bank(&rows, ""));
    let want = "0.0 0.0 0.0 0.1 0.1 0.1 0.2 0.2 1.3 1.3 1.3 1.4 1.4 1.4 1.5 1.5";
    assert_eq!(m2.told(), format!("ibm-three-three-two: {want}"));
    assert_eq!(Population::of(&m2.host()).expect("population").balance, Balance::Balanced);
    // A blade that no rule names: counted, and so given only where equal modules are even.
    let hs22 = |full: &[u32]| {
        let rows = row("DIMM #", 1..=12, full);
        planted("IBM", "BladeCenter HS22 -[7870A1G]-", &["Xeon X5670"; 2], &with_bank(&rows, ""))
    };
    let even = "0.0 0.0 0.1 0.1 0.2 0.2 1.3 1.3 1.4 1.4 1.5 1.5";
    assert_eq!(hs22(&[2, 4, 6, 8, 10, 12]).told(), format!("ibm-counted: {even}"));
    assert_eq!(hs22(&[1, 2, 3, 7, 8, 9]).told(), "nothing");
}

const E7: &str = "Intel(R) Xeon(R) CPU E7- 4870 @ 2.40GHz";

#[test]
fn risers_of_a_processor_have_channels_of_their_own() {
    let risers = |letters: &str, slots: u32, full: &[u32]| {
        let riser = |letter: char| row(&format!("{letter}#"), 1..=slots, full);
        letters.chars().flat_map(riser).collect::<Vec<String>>()
    };
    let names = risers("ABCDEFGH", 12, &[1, 2, 3, 4]);
    let e7 = "Intel(R) Xeon(R) CPU E7-4850 v3 @ 2.20GHz";
    let r930 = planted("Dell Inc.", "PowerEdge R930", &[e7; 4], &with_bank(&names, ""));
    let told = r930.told();
    assert!(told.starts_with("dell-risers: 0.0.1 0.0.2 0.0.3 0.0.4 0.0.1"), "{told}");
    let population = Population::of(&r930.host()).expect("population");
    let widths: Vec<usize> = population.sockets.iter().map(|socket| socket.width()).collect();
    assert_eq!((widths, population.balance), (vec![8; 4], Balance::Balanced));
    // An R810 has half of its processors' channels; with two of four processors, what letters say
    // of the others' slots is not so.
    let names =
        risers("ABCD", 8, &[1, 2, 3, 4]).iter().map(|name| format!("DIMM {name}")).collect();
    let names: Vec<String> = names;
    let r810 =
        |fitted: &[&str]| planted("Dell Inc.", "PowerEdge R810", fitted, &with_bank(&names, ""));
    let population = Population::of(&r810(&[E7; 4]).host()).expect("population");
    assert_eq!((population.sockets.len(), population.balance), (4, Balance::NearBalanced));
    assert_eq!(r810(&[E7, E7, "", ""]).told(), "nothing");
    let slots = |letter: char, full: &[u32]| row(&format!("DIMM {letter}#"), 1..=8, full);
    let two = |full: [&[u32]; 4]| {
        let names: Vec<String> = "ABCD".chars().zip(full).flat_map(|(l, f)| slots(l, f)).collect();
        planted("Dell Inc.", "PowerEdge R810", &[E7, E7, "", ""], &with_bank(&names, "")).told()
    };
    assert!(two([&[1, 2, 3, 4], &[1, 2, 3, 4], &[], &[]]).starts_with("dell-r810"));
    // As many processors as letters with memory, and one of them has none.
    assert_eq!(two([&[1, 2, 3, 4], &[], &[1, 2, 3, 4], &[]]), "nothing");
}

#[test]
fn boards_that_are_numbered_alike_are_told_apart_by_their_arrays() {
    // Eight cards of eight slots, two a processor.
    let names: Vec<String> = (0..8).flat_map(|_| row("DIMM #", 1..=8, &[1, 3, 6, 8])).collect();
    let product = "System x3850 X5 -[7143B5G]-";
    let mut board = planted("IBM", product, &[E7; 4], &with_bank(&names, ""));
    assert_eq!(board.told(), "nothing");
    for (index, slot) in board.slots.iter_mut().enumerate() {
        slot.array = Some(index as u16 / 8);
    }
    let told = board.told();
    assert!(told.starts_with("ibm-ex5: 0.0 0.0 0.1 0.1 0.2 0.2 0.3 0.3 0.4 0.4"), "{told}");
    assert!(told.ends_with("3.6 3.6 3.7 3.7"), "{told}");
    assert_eq!(Population::of(&board.host()).expect("population").balance, Balance::Balanced);
}

#[test]
fn a_board_without_a_manual_is_placed_where_its_modules_bear_it_out() {
    let of = |full: &[u32]| {
        let names = row("DIMM#", 0..=31, full);
        let opteron = "AMD Opteron(tm) Processor 6174";
        planted("Somebody", "X", &[opteron; 4], &with_bank(&names, "BANK")).told()
    };
    let every_second: Vec<u32> = (0..32).step_by(2).collect();
    assert!(of(&every_second).starts_with("evident-neighbours: 0.0 0.0 0.1 0.1"));
    let first_half: Vec<u32> = (0..32).filter(|slot| slot % 8 < 4).collect();
    assert_eq!(of(&first_half), "nothing", "filled in order without a thought");
    let all: Vec<u32> = (0..32).collect();
    assert!(of(&all).starts_with("evident-neighbours"));
    // One module less, a processor without memory, or half of the channels: nothing bears it out.
    assert_eq!(of(&every_second[1..]), "nothing");
    assert_eq!(of(&every_second[4..]), "nothing");
    let half: Vec<u32> = (0..32).step_by(4).collect();
    assert_eq!(of(&half), "nothing");
}

#[test]
fn a_processor_whose_empty_slots_have_no_name_is_there_all_the_same() {
    let named: Vec<String> = "ABCD".chars().map(|c| format!("P1-DIMM{c}1*")).collect();
    let nameless = vec!["NO DIMM".to_owned(); 12];
    let rows = [named, nameless].concat();
    let board = |processors: &[&str]| {
        let board = planted("Supermicro", "X10DRi", processors, &with_bank(&rows, "NO DIMM"));
        Population::of(&board.host()).expect("population")
    };
    let two = board(&[E5, E5]);
    assert_eq!((two.sockets.len(), two.balance), (2, Balance::SocketAsymmetric));
    assert_eq!(two.sockets[1].width(), 4);
    let one = board(&[E5, ""]);
    assert_eq!((one.sockets.len(), one.balance), (1, Balance::Balanced));
}

#[test]
fn letters_run_on_only_where_there_are_as_many_as_channels() {
    let of = |letters: &str, processors: &[&str]| {
        let rows: Vec<String> = letters.chars().map(|c| format!("DIMM_{c}1*")).collect();
        planted("ASUSTeK", "Z9PE-D8 WS", processors, &with_bank(&rows, "BANK")).told()
    };
    let want = "letters-run-on: 0.A 0.B 0.C 0.D 1.E 1.F 1.G 1.H";
    assert_eq!(of("ABCDEFGH", &[E5, E5]), want);
    // Boards leave out the letter I.
    let want = "letters-run-on: 0.A 0.B 0.C 0.D 0.E 0.F 1.G 1.H 1.J 1.K 1.L 1.M";
    assert_eq!(of("ABCDEFGHJKLM", &[SKYLAKE, SKYLAKE]), want);
    assert_eq!(of("ABCDEF", &[E5, E5]), "nothing");
}

#[test]
fn what_bank_strings_add_is_read_with_the_locator() {
    let rows: Vec<String> =
        "ABCD".chars().flat_map(|c| [format!("DIMM_{c}1*"), format!("DIMM_{c}2")]).collect();
    let mut slots = with_bank(&rows, "NODE 1");
    slots.extend(with_bank(&rows, "NODE 2"));
    let board = planted("Intel", "S2600WTTR", &[E5, E5], &slots);
    assert!(board.told().starts_with("named-with-bank: 0.A 0.A 0.B"), "{}", board.told());
    assert!(board.told().ends_with("1.D 1.D"), "{}", board.told());
    // Four nodes are not four of two processors.
    let four: Vec<(&str, &str)> = rows
        .iter()
        .zip(["NODE 1", "NODE 2", "NODE 3", "NODE 4"].repeat(2))
        .map(|(r, b)| (r.as_str(), b))
        .collect();
    let board = planted("Intel", "S2600WTTR", &[E5, E5], &four);
    let named = WhyNot::Contradiction(Contradiction::Named { named: 4, listed: 2 });
    assert_eq!(board.why_not("named-with-bank"), Some(named));
    assert_eq!(board.told(), "nothing");
}

#[test]
fn numbers_are_channels_on_one_makers_boards_and_letters_on_anothers() {
    let x8 = ["P1-1A*", "P1-1B", "P1-2A*", "P1-2B", "P1-3A*", "P1-3B"].map(str::to_owned);
    let x8 = planted("Supermicro", "X8DT6", &["Xeon X5650"], &with_bank(&x8, "BANK0"));
    assert_eq!(x8.told(), "supermicro-number-is-channel: 0.1 0.1 0.2 0.2 0.3 0.3");
    let rx = ["DIMM-1A*", "DIMM-2A", "DIMM-1B*", "DIMM-2B"].map(str::to_owned);
    let rx = planted("FUJITSU", "PRIMERGY RX100 S6", &["Xeon X3430"], &with_bank(&rx, "n/a"));
    assert_eq!(rx.told(), "fujitsu-letters: 0.A 0.A 0.B 0.B");
}

#[test]
fn eight_modules_in_channel_a_are_no_balance() {
    let rows = row("DIMM_A#", 1..=8, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let board = planted("Somebody", "X", &["AMD EPYC 7302P"], &with_bank(&rows, "BANK"));
    assert_eq!(board.told(), "nothing");
    let count = WhyNot::Count { what: "letters", found: 1, wanted: 8 };
    assert_eq!(board.why_not("named-on-one-socket"), Some(count));
    let named = row("CPU1 CHANNEL A DIMM #", 1..=8, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let board = planted("Somebody", "X", &["AMD EPYC 7302P"], &with_bank(&named, "BANK"));
    let deep = Contradiction::Deep { socket: 0, channel: "A".into(), slots: 8, most: 3 };
    assert_eq!(board.why_not("named"), Some(WhyNot::Contradiction(deep)));
}

#[test]
fn a_map_with_holes_or_too_many_channels_or_processors_is_not_given() {
    let hole = ["CPU1_DIMM_A1*", "CPU1_DIMM_B1*", "spare*"].map(str::to_owned);
    let hole = planted("M", "P", &[E5], &with_bank(&hole, ""));
    assert_eq!(hole.told(), "nothing");
    let many: Vec<String> = "ABCDEF".chars().map(|c| format!("CPU1_DIMM_{c}1*")).collect();
    let many = planted("M", "P", &[E5], &with_bank(&many, ""));
    let channels = Contradiction::Channels { socket: 0, found: 6, most: 4 };
    assert_eq!(many.why_not("named"), Some(WhyNot::Contradiction(channels)));
    let two = ["CPU1_DIMM_A1*", "CPU2_DIMM_A1*"].map(str::to_owned);
    let two = planted("M", "P", &[E5, ""], &with_bank(&two, ""));
    let sockets = Contradiction::Sockets { found: 2, fitted: 1 };
    assert_eq!(two.why_not("named"), Some(WhyNot::Contradiction(sockets)));
}

#[test]
fn where_counts_alone_speak_equal_modules_must_not_be_even_the_other_way() {
    let of = |full: &[u32]| {
        let names = row("Node0_Dimm#", 0..=7, full);
        planted("Somebody", "X", &[E5], &with_bank(&names, "NODE 1"))
    };
    let want = "node-and-number: 0.0 0.0 0.1 0.1 0.2 0.2 0.3 0.3";
    assert_eq!(of(&[0, 2, 4, 6]).told(), want);
    assert_eq!(of(&[0, 1, 2, 4]).told(), want, "uneven either way");
    // Three modules: two and one on neighbours, one each if slots counted through the channels.
    assert_eq!(of(&[0, 1, 2]).told(), "nothing");
    let pairs = WhyNot::Contradiction(Contradiction::Pairs);
    assert_eq!(of(&[0, 1, 2]).why_not("node-and-number"), Some(pairs));
}

#[test]
fn an_array_of_slots_is_on_one_socket() {
    let names = ["CPU1_DIMM_A1*", "CPU2_DIMM_A1*", "CPU1_DIMM_B1*", "CPU2_DIMM_B1*"];
    let names = names.map(str::to_owned);
    let mut board = planted("M", "P", &[E5, E5], &with_bank(&names, ""));
    assert!(board.told().starts_with("named: "), "{}", board.told());
    for (slot, array) in board.slots.iter_mut().zip([1, 1, 2, 2]) {
        slot.array = Some(array);
    }
    let split = WhyNot::Contradiction(Contradiction::Array(1));
    assert_eq!(board.why_not("named"), Some(split));
    assert_eq!(board.told(), "nothing");
}

#[test]
fn arrays_are_controllers_where_there_are_as_many() {
    let names = ["DIMM5_CPU0", "DIMM3_CPU0*", "DIMM1_CPU0*", "DIMM6_CPU0", "DIMM4_CPU0*"];
    let names: Vec<String> =
        names.iter().chain(&["DIMM2_CPU0*"]).map(|n| (*n).to_owned()).collect();
    let mut board =
        planted("Dell Inc.", "Precision 7820 Tower", &[SKYLAKE], &with_bank(&names, ""));
    for (slot, array) in board.slots.iter_mut().zip([1, 1, 1, 2, 2, 2]) {
        slot.array = Some(array);
    }
    let placed = board.trace().placed.expect("placed");
    let controllers: Vec<Option<u32>> =
        placed.places.iter().map(|at| at.as_ref().and_then(|at| at.controller)).collect();
    assert_eq!(controllers, [0, 0, 0, 1, 1, 1].map(Some));
    // Two modules on each controller are one set; by the order of numbers they would be two.
    let population = Population::of(&board.host()).expect("population");
    assert_eq!(population.balance, Balance::NearBalanced);
}

#[test]
fn a_full_server_whose_names_number_controllers_has_no_phantom_channels() {
    let letters = "ABCDEF".chars().enumerate();
    let names: Vec<String> =
        letters.map(|(n, c)| format!("CPU0_MC{}_CHANNEL{c}_DIMM1*", n / 3)).collect();
    let board = planted("M", "P", &[SKYLAKE], &with_bank(&names, ""));
    let population = Population::of(&board.host()).expect("population");
    assert_eq!(population.balance, Balance::Balanced);
    assert_eq!(population.sockets[0].width(), 6);
}

#[test]
fn a_users_map_comes_first_and_is_checked_like_the_others() {
    let map = |channels: &str| {
        format!(
            r#"{{"maker": "me", "source": "board", "rules": [{{"name": "mine",
                "locators": ["SLOT{{slot}}"], "channels": {channels}}}]}}"#
        )
    };
    let names = row("SLOT#", 1..=8, &[1, 2, 3, 4]);
    let board = planted("Somebody", "X", &[E5], &with_bank(&names, ""));
    assert_eq!(board.told(), "nothing");
    let with = |channels: &str| {
        let rules = rule::given(&map(channels)).expect("a map");
        let board = Board::of_firmware(board.identity.clone(), &board.sockets, &[], &board.slots);
        trace(&board, &rules)
    };
    let placed = with("\"through\"").placed.expect("placed");
    assert_eq!((placed.rule.as_str(), placed.confidence), ("mine", rule::Confidence::Given));
    let wrong = with(r#"{"modulo": 6}"#);
    let channels = Contradiction::Channels { socket: 0, found: 6, most: 4 };
    assert_eq!(wrong.failed.first(), Some(&("mine".into(), WhyNot::Contradiction(channels))));
    assert!(wrong.placed.is_none());
}

#[test]
fn an_empty_socket_that_firmware_leaves_out_hides_no_module() {
    let slots: Vec<(String, String)> = (1..=16)
        .map(|n| (format!("DIMM {n}{}", if n == 3 { "*" } else { "" }), n))
        .map(bank)
        .collect();
    let slots: Vec<(&str, &str)> = slots.iter().map(|(l, b)| (l.as_str(), b.as_str())).collect();
    let board = planted("Lenovo", "ThinkSystem SD530 -[7X21CTO1WW]-", &[SKYLAKE], &slots);
    assert!(board.told().starts_with("lenovo-sr590: 0."), "{}", board.told());
}

/// The bank of a slot on a board with eight slots a processor.
fn bank((locator, slot): (String, u32)) -> (String, String) {
    (locator, format!("CPU {}", if slot < 9 { 1 } else { 2 }))
}
