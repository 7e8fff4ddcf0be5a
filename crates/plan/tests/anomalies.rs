//! The space of a search for anomalies, and the study that shows one.

use narrows_model::Bytes;
use narrows_model::explored::Point;
use narrows_model::options::flows;
use narrows_plan::anomalies::{NoSearch, Space, Traffic, Wanted};
use narrows_plan::study::{Definition, cells};

fn wanted(minutes: f64) -> Wanted {
    Wanted {
        minutes,
        traffic: Traffic::ALL.to_vec(),
        controls: vec!["bbr".to_owned()],
        mtu_bytes: 1500,
        has_nodes: false,
    }
}

#[test]
fn the_usual_point_asks_for_nothing_odd_and_every_choice_sets_something_of_its_own() {
    let space = Space::of(&wanted(10.0)).expect("a space");
    for (traffic, of) in space.explored.traffic.iter().enumerate() {
        let usual = Point { traffic, choices: of.usual() };
        let base = space.settings(&usual);
        assert_eq!(of.name_of(&usual), "as usual");
        for (at, option) in of.options.iter().enumerate() {
            assert!(!option.choices[option.usual].is_fine, "{}", option.name);
            let amounts: Vec<f64> = option.choices.iter().filter_map(|one| one.amount).collect();
            assert!(amounts.is_sorted(), "{}: {amounts:?}", option.name);
            for choice in (0..option.choices.len()).filter(|choice| *choice != option.usual) {
                let point = usual.with(at, choice);
                assert_ne!(space.settings(&point), base, "{} {}", of.name, option.name);
            }
        }
    }
}

#[test]
fn a_pair_is_a_study_of_two_cells_that_differ_in_one_option() {
    let space = Space::of(&wanted(1.0)).expect("a space");
    let of = &space.explored.traffic[0];
    let at = |name: &str| of.options.iter().position(|option| option.name == name).expect(name);
    let mut odd = Point { traffic: 0, choices: of.usual() };
    (odd.choices[at("message size")], odd.choices[at("flows")]) = (4, 2);
    let plain = odd.with(at("message size"), 5);
    let about = "TCP with 1 KiB messages carries \"less\"";
    let text = space.definition(about, &odd, &plain).expect("a definition");
    let definition = Definition::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    assert_eq!(definition.about, about);
    let all = cells(&definition).expect("cells");
    let lengths: Vec<_> =
        all.iter().filter_map(|cell| cell.settings.told(&flows::LENGTH)).collect();
    assert_eq!(lengths.iter().map(|bytes| bytes.0).collect::<Vec<_>>(), [1024, 2048]);
    for (cell, point) in all.iter().zip([&odd, &plain]) {
        assert_eq!(cell.settings, space.settings(point), "{text}");
        assert_eq!(cell.settings.told(&flows::PARALLEL), Some(4));
    }
}

#[test]
fn what_is_put_back_to_nothing_is_a_level_that_sets_nothing() {
    let space = Space::of(&wanted(1.0)).expect("a space");
    for (traffic, of) in space.explored.traffic.iter().enumerate() {
        let usual = Point { traffic, choices: of.usual() };
        for (at, option) in of.options.iter().enumerate() {
            let odd = usual.with(at, usize::from(option.usual == 0));
            let text = space.definition("a pair", &odd, &usual).expect("a definition");
            let definition = Definition::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
            let all = cells(&definition).expect("cells");
            for (cell, point) in all.iter().zip([&odd, &usual]) {
                let [own, wanted] = [&cell.settings, &space.settings(point)]
                    .map(|settings| settings.params(Bytes(0), Bytes(0)).expect("parameters"));
                assert_eq!(own, wanted, "{text}");
                assert_eq!(cell.settings.kind(), space.settings(point).kind());
            }
        }
    }
}

#[test]
fn a_time_that_is_too_short_is_refused() {
    assert!(matches!(Space::of(&wanted(0.1)), Err(NoSearch::TooShort { .. })));
    let short = Space::of(&wanted(1.0)).expect("a minute").window_seconds;
    let long = Space::of(&wanted(10.0)).expect("ten minutes").window_seconds;
    assert!(short < long, "{short} {long}");
}

#[test]
fn nodes_are_varied_where_there_are_several_and_segments_up_to_the_paths() {
    let choices = |mtu_bytes, has_nodes, option: &str| {
        let wanted = Wanted { mtu_bytes, has_nodes, ..wanted(1.0) };
        let space = Space::of(&wanted).expect("a space");
        let mut options = space.explored.traffic[0].options.iter();
        options.find(|one| one.name == option).map_or(Vec::new(), |one| one.choices.clone())
    };
    let names = |mtu_bytes, has_nodes, option: &str| -> Vec<String> {
        choices(mtu_bytes, has_nodes, option).into_iter().map(|one| one.name).collect()
    };
    assert!(names(1500, false, "node").is_empty());
    assert_eq!(names(1500, true, "node"), ["any", "the NIC's", "another"]);
    assert_eq!(names(1500, false, "segment size"), ["536 B", "1000 B", "1240 B", "as the path"]);
    let jumbo = ["536 B", "1000 B", "1240 B", "1460 B", "4056 B", "as the path"];
    assert_eq!(names(9000, false, "segment size"), jumbo);
    // A segment of MTU 1500 carries 1448 bytes beside its timestamps, and one of MTU 1280 1228.
    let amounts = choices(9000, false, "segment size").into_iter().map(|one| one.amount);
    let amounts: Vec<f64> = amounts.flatten().collect();
    assert_eq!(amounts, [524.0, 988.0, 1228.0, 1448.0, 4044.0, 8948.0]);
}
