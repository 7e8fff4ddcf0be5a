//! What a search of populations answers is what makers' guides say.

use narrows_model::host::Host;
use narrows_predict::calibration::Calibration;
use narrows_predict::{Found, Kit, Predictor, Said, of_host, search};

/// A server of so many like processors without modules.
fn engine(processor: &str, mts: u32, sockets: usize, channels: &str) -> Predictor {
    let said = [
        ("cpu".to_owned(), processor.to_owned()),
        ("memory.mts".to_owned(), mts.to_string()),
        ("nic.gbps".to_owned(), "400".to_owned()),
    ];
    let memory = (0..sockets).map(|at| (format!("memory.socket{at}"), channels.to_owned()));
    let said: Said = said.into_iter().chain(memory).collect();
    of_host(&Host::default(), &said, &Calibration::default()).expect("a server")
}

fn best(engine: &Predictor, modules: u32) -> Found {
    let (_, found) = search(engine, &Kit::alike(modules), 1).expect("a search");
    found.into_iter().next().expect("a population")
}

const SKYLAKE: (&str, u32, &str) = ("Xeon Gold 6248", 2933, "0,0,0/0,0,0");
const WESTMERE: (&str, u32, &str) = ("Xeon X5670", 1333, "0,0,0");
const BROADWELL: (&str, u32, &str) = ("Xeon E5-2680 v4", 2400, "0,0,0,0");
const ROME: (&str, u32, &str) = ("AMD EPYC 7452", 3200, "0,0,0,0,0,0,0,0");

/// Who says so, processors, sockets, modules in all, and modules of each channel of a socket.
type Row = (&'static str, (&'static str, u32, &'static str), usize, u32, &'static [u32]);

/// All guides were read as far as these rows go.
const ROWS: &[Row] = &[
    // Independent channel mode, two processors: A1, A2, A4, A5 and the same of B; then A7, A8, A10,
    // A11 beside them.
    ("Dell PowerEdge T640 owner's manual", SKYLAKE, 2, 8, &[1, 1, 0, 1, 1, 0]),
    ("Dell PowerEdge T640 owner's manual", SKYLAKE, 2, 16, &[2, 2, 0, 2, 2, 0]),
    ("Dell PowerEdge T640 owner's manual", SKYLAKE, 2, 12, &[1, 1, 1, 1, 1, 1]),
    ("Dell PowerEdge T640 owner's manual", SKYLAKE, 2, 24, &[2, 2, 2, 2, 2, 2]),
    // Slots 6, 3, 7, 2, 8, 1: the controllers in turn.
    ("Lenovo LP1241, SD530", SKYLAKE, 1, 2, &[1, 0, 0, 1, 0, 0]),
    ("Lenovo LP1241, SD530", SKYLAKE, 1, 4, &[1, 1, 0, 1, 1, 0]),
    ("Lenovo LP1241, SD530", SKYLAKE, 1, 6, &[1, 1, 1, 1, 1, 1]),
    // All three channels first, with as much on each.
    ("IBM System x3650 M3 product guide", WESTMERE, 2, 6, &[1, 1, 1]),
    ("IBM System x3650 M3 product guide", WESTMERE, 2, 12, &[2, 2, 2]),
    // 1, 4, 9, 12 and 13, 16, 21, 24 first, the second slots of these channels next.
    ("Lenovo System x3650 M5 and x3500 M5 guides", BROADWELL, 2, 8, &[1, 1, 1, 1]),
    ("Lenovo System x3650 M5 and x3500 M5 guides", BROADWELL, 2, 16, &[2, 2, 2, 2]),
    // Eight and sixteen are balanced, four and twelve near-balanced, in the order of slots.
    ("Dell, balanced memory with EPYC 7002", ROME, 1, 4, &[1, 1, 1, 1, 0, 0, 0, 0]),
    ("Dell, balanced memory with EPYC 7002", ROME, 1, 8, &[1, 1, 1, 1, 1, 1, 1, 1]),
    ("Dell, balanced memory with EPYC 7002", ROME, 1, 12, &[2, 2, 2, 2, 1, 1, 1, 1]),
    ("Dell, balanced memory with EPYC 7002", ROME, 2, 32, &[2, 2, 2, 2, 2, 2, 2, 2]),
];

#[test]
fn searches_answer_what_makers_say() {
    for (source, (processor, mts, channels), sockets, modules, want) in ROWS {
        let found = best(&engine(processor, *mts, *sockets, channels), *modules);
        assert_eq!(found.modules, vec![want.to_vec(); *sockets], "{source}, {modules}: {found:?}");
    }
}

#[test]
fn no_processor_is_left_without_memory_and_none_gets_more_than_it_must() {
    for (processor, mts, channels) in [SKYLAKE, WESTMERE, BROADWELL, ROME] {
        let engine = engine(processor, mts, 2, channels);
        for modules in 2..=12 {
            let found = best(&engine, modules);
            let each: Vec<u32> = found.modules.iter().map(|own| own.iter().sum()).collect();
            assert_eq!(each.iter().sum::<u32>(), modules, "{processor}: {found:?}");
            assert!(each[0].abs_diff(each[1]) <= 1, "{processor}, {modules}: {each:?}");
            assert_eq!(found.uneven, modules % 2, "{processor}, {modules}");
        }
    }
}

#[test]
fn two_modules_a_channel_run_at_what_the_platform_allows() {
    let engine = engine(SKYLAKE.0, SKYLAKE.1, 2, SKYLAKE.2);
    let (one, two) = (best(&engine, 12), best(&engine, 24));
    assert_eq!((one.mts, two.mts), (2933.0, 2666.0));
    assert!((one.memory_gb_s - 12.0 * 2.933 * 8.0).abs() < 1e-6, "{one:?}");
    assert!((two.memory_gb_s - 12.0 * 2.666 * 8.0).abs() < 1e-6, "{two:?}");
    // Slower modules are not made faster.
    let slow = self::engine(SKYLAKE.0, 2133, 2, SKYLAKE.2);
    assert_eq!(best(&slow, 24).mts, 2133.0);
}

#[test]
fn sockets_alike_come_before_one_set_and_that_before_bandwidth() {
    let engine = engine(SKYLAKE.0, SKYLAKE.1, 2, SKYLAKE.2);
    let (_, found) = search(&engine, &Kit::alike(16), 60).expect("a search");
    let kind = |found: &Found| {
        let alike = found.uneven == 0 && found.sets[0] == found.sets[1];
        (!alike, found.sets.iter().any(|sets| sets.len() > 1))
    };
    let first_apart = found.iter().position(|one| kind(one).0).expect("some are apart");
    assert!(found[..first_apart].iter().all(|one| one.uneven == 0), "{found:?}");
    assert!(found[..first_apart].is_sorted_by_key(kind), "{found:?}");
    // Six and two channels a socket carry no more in their narrowest set, and are two sets.
    let two_sets = found.iter().find(|one| one.sets == [[6, 2], [6, 2]]).expect("it is there");
    assert!(two_sets.memory_gb_s < found[0].memory_gb_s && found[0].sets == [[4], [4]]);
}

/// Sizes of every channel's modules, of the best population of a kit.
fn best_of(processor: (&str, u32, &str), sockets: usize, kit: &str) -> Found {
    let engine = engine(processor.0, processor.1, sockets, processor.2);
    let kit = Kit::parse(kit).expect("a kit");
    let (tried, found) = search(&engine, &kit, 1).expect("a search");
    assert!(tried > 0);
    let best = found.into_iter().next().expect("a population");
    let placed: u32 = best.modules.iter().flatten().sum();
    assert_eq!(placed, kit.count(), "every module has a place: {best:?}");
    best
}

#[test]
fn two_sizes_are_one_set_where_every_channel_can_hold_as_much() {
    // A large and a small one on each channel: Dell's and Lenovo's manuals, capacities mixed.
    let found = best_of(SKYLAKE, 2, "12x64+12x32");
    assert_eq!(found.sets, [[6], [6]]);
    assert_eq!(found.sizes_gib, vec![vec![vec![64, 32]; 6]; 2]);
    assert_eq!((found.uneven, found.mts), (0, 2666.0));
    // Two small ones beside each large one: four channels alike, two of each controller.
    let found = best_of(SKYLAKE, 1, "2x64+4x32");
    assert_eq!(found.sets, [[4]]);
    assert_eq!(found.sizes_gib.concat().iter().map(|own| own.iter().sum::<u32>()).max(), Some(64));
    let found = best_of(ROME, 1, "8x64+8x32");
    assert_eq!((found.sets, found.sizes_gib), (vec![vec![8]], vec![vec![vec![64, 32]; 8]]));
    // What cannot be one set is said to be several: more memory on two channels than on four.
    let found = best_of(BROADWELL, 1, "2x64+3x32");
    assert!(found.sets[0].len() > 1, "{found:?}");
}

#[test]
fn sockets_get_as_many_of_each_size() {
    for kit in ["8x64+8x32", "6x64+2x32", "3x64+3x32", "5x64+2x32", "1x64+1x32"] {
        let found = best_of(SKYLAKE, 2, kit);
        let count = |socket: usize, gib: u32| {
            found.sizes_gib[socket].iter().flatten().filter(|size| **size == gib).count()
        };
        for gib in [64, 32] {
            assert!(count(0, gib).abs_diff(count(1, gib)) <= 1, "{kit}: {found:?}");
        }
        assert!([0, 1].iter().all(|at| found.modules[*at].iter().sum::<u32>() > 0), "{kit}");
    }
    let engine = engine(SKYLAKE.0, SKYLAKE.1, 1, SKYLAKE.2);
    let kit = Kit::parse("12x32+1x64").expect("a kit");
    assert!(search(&engine, &kit, 5).expect("a search").1.is_empty(), "13 modules, 12 slots");
}

#[test]
fn four_modules_of_an_epyc_are_on_channels_that_can_be_one_set() {
    let of = |processor: &str, modules: u32| best(&engine(processor, 3200, 1, ROME.2), modules);
    // Letters A to H in a row: ABCD, CDGH or EFGH; of 7003 six as AC or BC with D, EG or FG and H.
    let four = of(ROME.0, 4);
    assert!(
        [[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1]]
            .iter()
            .any(|want| four.modules[0] == want),
        "{four:?}"
    );
    let six = of("AMD EPYC 7543", 6);
    assert_eq!(six.sets, [[6]]);
    let row = &six.modules[0];
    assert_eq!((row[0] + row[1], row[2..4] == [1, 1], row[6..8] == [1, 1]), (1, true, true));
    assert_ne!(of(ROME.0, 6).sets, [[6]], "7002 has no set of six");
}
