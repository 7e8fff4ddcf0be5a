//! The space of a search for anomalies, and the study that shows one.

use narrows_model::Bytes;
use narrows_model::Fact;
use narrows_model::explored::Point;
use narrows_model::host::Host;
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
        devices: Vec::new(),
        sleeps: false,
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

#[test]
fn of_rdma_packets_up_to_the_paths_two_sizes_and_both_ways_to_wait_are_varied() {
    let choices = |mtu_bytes, sleeps, option: &str| {
        let space = Space::of(&Wanted { mtu_bytes, sleeps, ..wanted(1.0) }).expect("a space");
        let mut options = space.explored.traffic[2].options.iter();
        options.find(|one| one.name == option).map_or(Vec::new(), |one| one.choices.clone())
    };
    let names = |mtu_bytes, sleeps, option: &str| -> Vec<String> {
        choices(mtu_bytes, sleeps, option).into_iter().map(|one| one.name).collect()
    };
    let sizes = |mtu_bytes| -> Vec<f64> {
        let all = choices(mtu_bytes, false, "packet size").into_iter();
        all.filter_map(|one| one.amount).collect()
    };
    // Of 1119 B a packet has 512, of 1120 B 1024, and of 2144 B 2048: each less 96 B of headers.
    assert_eq!(sizes(1119), [256.0, 4096.0]);
    assert_eq!(sizes(1120), [256.0, 4096.0]);
    assert_eq!(sizes(2143), [256.0, 4096.0]);
    assert_eq!(sizes(2144), [256.0, 1024.0, 4096.0]);
    assert!(sizes(300).is_empty(), "there are none below 256");
    assert_eq!(names(1500, false, "sizes"), ["one", "two"]);
    assert_eq!(names(1500, false, "completions"), ["spin", "block"]);
    assert!(names(1500, true, "completions").is_empty(), "too few CPUs for threads that look");
}

#[test]
fn a_window_is_as_long_as_lets_400_runs_fit_between_a_fifth_of_a_second_and_one() {
    // Beside its window a run takes 0.15 s to warm up, 0.2 s to cool down and 0.3 s to start.
    for (minutes, window) in [(1.0, 0.2), (6.0, 0.25), (8.0, 0.55), (10.0, 0.85), (60.0, 1.0)] {
        let space = Space::of(&wanted(minutes)).expect("a space");
        let told = (space.window_seconds, space.run_seconds());
        let near = (told.0 - window).abs() < 1e-9 && (told.1 - window - 0.65).abs() < 1e-9;
        assert!(near, "{minutes} min: {told:?}");
    }
}

/// What a search varies, an option a line: its name, the usual choice, and all with their
/// amounts and the nanoseconds that they cost a message.
#[test]
fn what_tcp_varies_is_this() {
    let told = |mtu_bytes: u64, has_nodes: bool| {
        let wanted = Wanted { mtu_bytes, has_nodes, ..wanted(10.0) };
        let space = Space::of(&wanted).expect("a space");
        let of = &space.explored.traffic[0];
        let line = |option: &narrows_model::explored::Explorable| {
            let choices = option.choices.iter().map(|one| {
                let amount = one.amount.map_or(String::new(), |amount| format!("={amount:e}"));
                let mark = if one.is_fine { "~" } else { "" };
                let cost = if one.message_ns > 0.0 {
                    format!("+{}", one.message_ns)
                } else {
                    String::new()
                };
                format!("{mark}{}{amount}{cost}", one.name)
            });
            let usual = &option.choices[option.usual].name;
            format!("{} ({usual}): {}", option.name, choices.collect::<Vec<_>>().join(" "))
        };
        of.options.iter().map(line).collect::<Vec<String>>()
    };
    let all = told(1500, true);
    let known = [
        "message size (64 KiB): 64 B=6.4e1 ~128 B=1.28e2 256 B=2.56e2 ~512 B=5.12e2 1 KiB=1.024e3 \
         ~2 KiB=2.048e3 4 KiB=4.096e3 ~8 KiB=8.192e3 16 KiB=1.6384e4 ~32 KiB=3.2768e4 \
         64 KiB=6.5536e4 ~128 KiB=1.31072e5 256 KiB=2.62144e5",
        "flows (1): 1=1e0 ~2=2e0 4=4e0 ~8=8e0 16=1.6e1",
        "socket buffer (as sized): 64 KiB=6.5536e4 256 KiB=2.62144e5 1 MiB=1.048576e6 \
         as sized=6.291456e6",
        // 1500 less 40 of headers and 12 of timestamps.
        "segment size (as the path): 536 B=5.24e2 1000 B=9.88e2 1240 B=1.228e3 as the path=1.448e3",
        "pace (none): 100 Mb/s=1e8 1000 Mb/s=1e9 none=1.7976931348623157e308",
        "direction (there): there back both ways",
        "node (any): any the NIC's another",
        "congestion control (as set): as set bbr",
        "Nagle (on): on off+10000",
        "sender (write): write sendfile+10000 zerocopy+10000 vmsplice+10000",
        "receiver (recv): recv truncate+10000",
        "acknowledgements (delayed): delayed at once+10000",
    ];
    assert_eq!(all, known);
    // An MTU of 1500 has segments of 1460 already; what is larger has them as a choice.
    let first = "segment size (as the path): 536 B=5.24e2 1000 B=9.88e2 1240 B=1.228e3";
    let segments = |mtu| told(mtu, false).into_iter().find(|line| line.starts_with("segment"));
    let larger = segments(1501).expect("segments");
    assert_eq!(larger, format!("{first} 1460 B=1.448e3 as the path=1.449e3"));
    let jumbo = segments(9000).expect("segments");
    assert_eq!(jumbo, format!("{first} 1460 B=1.448e3 4056 B=4.044e3 as the path=8.948e3"));
    assert_eq!(segments(576), None, "nothing below the path's");
}

#[test]
fn threads_of_rdma_look_all_the_time_only_where_cpus_are_left() {
    let with = |online: u32, allowed: Option<u32>| {
        let mut host = Host::default();
        host.cpu.online = Fact::known((0..online).collect(), "test");
        if let Some(allowed) = allowed {
            host.cpu.allowed = Fact::known((0..allowed).collect(), "test");
        }
        Wanted::must_sleep(&host)
    };
    assert_eq!([1, 2, 3, 64].map(|online| with(online, None)), [true, true, false, false]);
    assert_eq!([1, 2, 3].map(|allowed| with(64, Some(allowed))), [true, true, false]);
    assert!(!Wanted::must_sleep(&Host::default()));
    for (sleeps, wait) in [(true, "block"), (false, "spin")] {
        let traffic = vec![Traffic::Rdma];
        let space = Space::of(&Wanted { sleeps, traffic, ..wanted(1.0) }).expect("a space");
        let usual = Point { traffic: 0, choices: space.explored.traffic[0].usual() };
        let settings = space.settings(&usual);
        assert_eq!(settings.told(&flows::WAIT).as_deref(), Some(wait));
    }
}
