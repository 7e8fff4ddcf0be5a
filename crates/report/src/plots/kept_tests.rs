//! Pictures of made data, each element in a line, as they were looked at and found right:
//! `NARROWS_GOLDEN=write` keeps them anew in `tests/plots.txt`.

use super::{bars, curves, facets, heat, host, ranks, slowdown};
use narrows_model::host::*;
use narrows_model::result::{Estimate, Method};
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, Bytes, BytesPerSecond, Fact};
use std::path::Path;

fn estimate(value: f64, unit: Unit) -> Estimate {
    Estimate { value, low: 0.8 * value, high: 1.3 * value, unit, n: 6, by: Method::MedianRatio }
}

fn all_bars() -> String {
    let bar = |name: &str, value, interval| bars::Bar { name: name.into(), value, interval };
    let long = "a name that has more letters than there is room for in the line of a bar";
    let all = [
        bar("one", 9.4e9, Some((9.1e9, 9.6e9))),
        bar(long, 4.7e9, None),
        bar("nothing", 0.0, Some((0.0, 1e9))),
    ];
    bars::draw("Bars", Unit::BitsPerSecond, &all) + &bars::draw("None", Unit::Share, &[])
}

fn by_size() -> String {
    let point = |kib: u64, gbps: f64, cpu| curves::Point {
        size: Bytes::kib(kib),
        median: gbps * 1e9,
        low: gbps * 0.9e9,
        high: gbps * 1.2e9,
        cpu,
    };
    let series = |name: &str, points| curves::Series { name: name.into(), points };
    let one = vec![
        point(1, 0.5, [Some(1.0), Some(0.25)]),
        point(4, 2.0, [Some(0.5), None]),
        point(64, 30.0, [None, None]),
    ];
    let other = vec![point(1, 0.1, [Some(0.1), Some(0.2)]), point(1024, 40.0, [None, Some(0.9)])];
    let many =
        (0..10).map(|at| series(&format!("number {at}"), vec![point(1 << at, 1.0, [None; 2])]));
    let many: Vec<curves::Series> = many.collect();
    curves::draw("Two", Unit::BitsPerSecond, &[series("one", one), series("other", other)])
        + &curves::draw("Ten", Unit::BitsPerSecond, &many)
        + &curves::draw("None", Unit::BitsPerSecond, &[])
}

fn all_facets() -> String {
    let series = |name: &str, points: &[(u32, f64, bool)]| facets::Series {
        name: name.into(),
        points: points
            .iter()
            .map(|(ranks, times, is_scaling)| facets::Point {
                ranks: *ranks,
                times: estimate(*times, Unit::Share),
                says: format!("{ranks} s"),
                is_scaling: *is_scaling,
            })
            .collect(),
    };
    let facet =
        |name: &str, base_ranks, series| facets::Facet { name: name.into(), base_ranks, series };
    let near = vec![series("shm", &[(1, 1.0, true), (2, 1.9, true), (4, 1.2, false)])];
    let far = vec![
        series("tcp", &[(2, 1.0, true), (4, 1.5, true), (64, 20.0, true)]),
        series("shm", &[(2, 1.0, true), (3, 1.4, true)]),
    ];
    let all =
        [facet("near", Some(1), near), facet("far", Some(2), far), facet("empty", None, vec![])];
    facets::draw("Facets", &all)
}

fn by_ranks() -> String {
    let point = |ranks, value, is_scaling| ranks::Point {
        ranks,
        figure: estimate(value, Unit::Nanos),
        is_scaling,
    };
    let all = [
        ranks::Series {
            name: "shm".into(),
            points: vec![point(1, 8.0, true), point(2, 4.5, true), point(8, 6.0, false)],
        },
        ranks::Series {
            name: "tcp".into(),
            points: vec![point(2, 5.0, true), point(16, 1.0, true)],
        },
    ];
    ranks::draw("Ranks", &all) + &ranks::draw("None", &[])
}

fn slower() -> String {
    let point =
        |cores, times: f64| slowdown::Point { cores, times, low: 0.9 * times, high: 1.2 * times };
    let lines = [
        slowdown::Line { name: "reads", points: vec![point(0, 1.0), point(1, 1.2), point(6, 3.5)] },
        slowdown::Line { name: "network", points: vec![point(0, 1.0), point(6, 1.1)] },
    ];
    slowdown::draw("Slower", &lines) + &slowdown::draw("None", &[])
}

fn fields() -> String {
    let field = |row: &str, column: &str, says: &str, better| heat::Field {
        row: row.into(),
        column: column.into(),
        says: says.into(),
        better,
        open: None,
    };
    let long = "a placement whose words are more than fit the line";
    let all = [
        field("node 0", "node 0", "9.4 Gb/s", Some(1.0)),
        field("node 0", "node 1", "7.0 Gb/s", Some(0.74)),
        field(long, "node 0", "20 Gb/s", Some(2.1)),
        field(long, "node 1", "failed", None),
        field("node 2", "node 1", "0.1 Gb/s", Some(0.01)),
    ];
    heat::draw("Placements", &all)
        + &heat::draw_of("Pairs", "from, to", &all[..2])
        + &heat::draw("", &[])
}

/// Two sockets with a slot each of two channels, two nodes and a NIC at the second; then the same
/// of which less is known.
fn hosts() -> String {
    let known = |text: &str| Fact::known(text.to_owned(), "made");
    let mut of = Host::default();
    of.cpu.model = known("Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz");
    of.cpu.online = Fact::known((0..8).collect(), "made");
    let place = |cpu: u32| CpuPlace {
        cpu,
        package: Some(cpu / 4),
        node: Some(cpu / 4),
        ..CpuPlace::default()
    };
    of.cpu.places = (0..8).map(place).collect();
    of.nodes = (0..2)
        .map(|id| Node {
            id,
            cpus: (4 * id..4 * id + 4).collect(),
            memory_bytes: Fact::known(Bytes::gib(32 * u64::from(id + 1)), "made"),
            distances: Fact::known(vec![10, 21], "made"),
            ..Node::default()
        })
        .collect();
    of.memory.total_bytes = Fact::known(Bytes::gib(96), "made");
    let slot = |socket: u32, channel: &str, gib: u64| Slot {
        locator: format!("CPU{} DIMM {channel}1", socket + 1),
        at: Some(SlotPlace { socket, channel: channel.into(), controller: None }),
        module: (gib > 0).then(|| Module {
            size_bytes: Some(Bytes::gib(gib)),
            technology: "DDR4".into(),
            is_dram: true,
            configured_mts: Some(2933),
            rated_mts: Some(2933),
            ranks: Some(2),
        }),
        ..Slot::default()
    };
    let slots = [(0, "A", 16), (0, "B", 16), (0, "C", 0), (1, "A", 32), (1, "B", 32), (1, "C", 0)];
    let slots = slots.map(|(socket, channel, gib)| slot(socket, channel, gib));
    of.memory.slots = Fact::known(slots.to_vec(), "made");
    let nic = |name: &str, node, gbps: f64, state: &str| Nic {
        name: name.into(),
        physical: true,
        speed_bps: Fact::known(BitsPerSecond(gbps * 1e9), "made"),
        state: known(state),
        node: Fact::known(node, "made"),
        ..Nic::default()
    };
    of.nics = vec![nic("e0", 1, 100.0, "up"), nic("e1", 0, 10.0, "down")];
    let whole = host::draw(&of, Some(1), Some(BytesPerSecond(12.3e9)));
    of.memory.slots = Fact::absent("made");
    of.nodes.truncate(1);
    of.nics[1].node = Fact::absent("made");
    whole
        + &host::draw(&of, None, Some(BytesPerSecond(45.6e9)))
        + &host::draw(&Host::default(), None, None)
}

#[test]
fn pictures_are_as_they_were_found_right() {
    let mut text = String::new();
    for (name, drawn) in [
        ("bars", all_bars()),
        ("curves", by_size()),
        ("facets", all_facets()),
        ("heat", fields()),
        ("host", hosts()),
        ("pipe", super::pipe::tests::all()),
        ("ranks", by_ranks()),
        ("slowdown", slower()),
    ] {
        text += &format!("==== {name}{}\n", drawn.replace('<', "\n<").replace("\n</", "</"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plots.txt");
    if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
        std::fs::write(&path, &text).expect("written");
    }
    let before = std::fs::read_to_string(&path).expect("what was kept");
    for (at, (now, before)) in text.lines().zip(before.lines()).enumerate() {
        assert_eq!(now, before, "line {}: NARROWS_GOLDEN=write keeps it anew", at + 1);
    }
    assert_eq!(text.lines().count(), before.lines().count());
}
