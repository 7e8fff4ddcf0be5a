//! The words of a study's file, its cells, and the machine they fit.

use narrows_model::host::{Host, Module, Slot};
use narrows_model::load::{Binding, CpuList, Role};
use narrows_model::options::{Declared, flows, runs};
use narrows_model::study::Found;
use narrows_model::trial::{NetworkPath, Placement};
use narrows_model::{Bytes, Fact, Nanos, Source};
use narrows_plan::study::{Cut, Definition, Ends, Machine, cells, change, due, standing, trials};
use std::collections::BTreeMap;

const LENOVO: &str = r#"
name = "population"
repeats = 30
[base]
seconds = 30
[[factor]]
name = "DIMMs"
by = "hand"
slots_in_order = ["6", "3", "7", "2", "8", "1"]
[[factor]]
name = "protocol"
levels = [
  { name = "TCP", load = "tcp-stream", parallel = 4 },
  { name = "UDP", load = "udp-stream", parallel = 120, length = "64K", bitrate = "120G" },
]
[[factor]]
name = "length"
set = "length"
levels = ["64", 1024]
[[exclude]]
protocol = "UDP"
length = ["64", "1024"]
"#;

/// A host with sixteen slots, of which these hold a module.
fn with(populated: &[u32]) -> Host {
    let slot = |number: u32| Slot {
        locator: format!("DIMM {number}"),
        module: populated.contains(&number).then(|| Module { is_dram: true, ..Module::default() }),
        ..Slot::default()
    };
    let from = Source("test".into());
    let mut host = Host::default();
    host.memory.slots = Fact::Known { value: (1..=16).map(slot).collect(), from };
    host
}

fn at(host: &Host, peer: Option<&Host>, said: &[(&str, &str)]) -> Result<Found, String> {
    let definition = Definition::parse(LENOVO).expect("a study");
    let said: BTreeMap<String, String> =
        said.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let (found, unread) = standing(&definition, &Machine { host, peer, said: &said });
    match unread.into_iter().next() {
        Some(unread) => Err(unread.why.to_string()),
        None => Ok(found["DIMMs"].clone()),
    }
}

#[test]
fn cells_are_all_combinations_but_the_excluded() {
    let cells = cells(&Definition::parse(LENOVO).expect("a study")).expect("cells");
    assert_eq!(cells.len(), 6 * 2, "UDP is left out at both lengths");
    assert_eq!(cells[0].label(), "1, TCP, 64");
    assert_eq!(cells[0].settings.told(&runs::SECONDS), Some(30.0));
    assert_eq!(cells[1].settings.told(&flows::LENGTH), Some(Bytes(1024)));
    assert_eq!(cells[1].settings.told(&flows::PARALLEL), Some(4));
    let udp = cells.iter().find(|cell| cell.level("protocol") == Some("UDP"));
    assert!(udp.is_none());
    let text = LENOVO.replace("length = [\"64\", \"1024\"]", "length = \"64\"");
    let paced = narrows_plan::study::cells(&Definition::parse(&text).expect("a study"));
    let paced = paced.expect("cells");
    let udp = paced.iter().find(|cell| cell.level("protocol") == Some("UDP")).expect("a cell");
    let params = udp.settings.params(Bytes(0), Bytes(0)).expect("parameters");
    assert_eq!(
        (udp.settings.kind().as_str(), params.rate_bps),
        ("udp-stream", Some(120_000_000_000))
    );
    assert_eq!((params.streams, params.message_bytes), (120, Bytes(1024)));
    let ids: std::collections::BTreeSet<_> = cells.iter().map(|cell| &cell.id).collect();
    assert_eq!(ids.len(), cells.len());
}

#[test]
fn the_population_is_read_and_not_typed() {
    let read = |level: &str| Ok(Found { level: level.into(), read: true });
    assert_eq!(at(&with(&[6, 3, 7]), None, &[]), read("3"));
    assert_eq!(at(&with(&[6]), None, &[]), read("1"));
    let none = at(&with(&[6, 7]), None, &[]).expect_err("no level");
    let nearest = "none of its levels; for '2': power down, move the DIMM of DIMM 7 to DIMM 3";
    assert!(none.contains(nearest), "{none}");
    let lie = at(&with(&[6]), None, &[("DIMMs", "3")]).expect_err("a lie");
    assert!(lie.contains("at '1', and not at '3'"), "{lie}");
    let differs = at(&with(&[6, 3]), Some(&with(&[6])), &[]).expect_err("peers differ");
    assert!(differs.contains("none"), "{differs}");
    assert_eq!(at(&with(&[6, 3]), Some(&with(&[6, 3])), &[]), read("2"));
    // Where firmware cannot be read the user's word is taken, and marked as that.
    let blind = Host::default();
    assert!(at(&blind, None, &[]).expect_err("unknown").contains("--at DIMMs=LEVEL"));
    let said = at(&blind, None, &[("DIMMs", "4")]);
    assert_eq!(said, Ok(Found { level: "4".into(), read: false }));
    assert!(at(&blind, None, &[("DIMMs", "9")]).is_err());
}

#[test]
fn what_to_change_is_said() {
    let definition = Definition::parse(LENOVO).expect("a study");
    let factor = &definition.factors[0];
    let said = BTreeMap::new();
    let says = |populated: &[u32], level: usize, peer: Option<&Host>| {
        let machine = Machine { host: &with(populated), peer, said: &said };
        change(factor, &factor.levels[level], &machine).says
    };
    assert_eq!(says(&[6, 3], 2, None), "power down, put a DIMM into DIMM 7");
    assert_eq!(says(&[6, 7], 1, None), "power down, move the DIMM of DIMM 7 to DIMM 3");
    let both = says(&[6, 3, 7, 2], 2, Some(&with(&[6, 3, 7, 2])));
    assert_eq!(both, "power down, take the DIMM out of DIMM 2, on both hosts");
    // Each host is told what it needs.
    let there = says(&[6, 3], 1, Some(&with(&[6])));
    assert_eq!(there, "power down the peer, put a DIMM into DIMM 3 there");
    let here = says(&[6], 1, Some(&with(&[6, 3])));
    assert_eq!(here, "power down, put a DIMM into DIMM 3, on this host");
    let two = says(&[6, 3, 7], 1, Some(&with(&[6])));
    assert_eq!(
        two,
        "power down both hosts; on this one take the DIMM out of DIMM 7; on the peer put a DIMM \
         into DIMM 3"
    );
    // The way there is as long as modules are touched, on whichever host.
    let steps = |populated: &[u32], level: usize, peer: Option<&Host>| {
        let machine = Machine { host: &with(populated), peer, said: &said };
        change(factor, &factor.levels[level], &machine).steps
    };
    assert_eq!(steps(&[6, 7], 1, None), 1);
    assert_eq!(steps(&[6, 3, 7], 1, Some(&with(&[6]))), 2);
    assert_eq!(steps(&[6], 5, None), 5);
}

#[test]
fn trials_keep_the_cells_ids_on_any_machine() {
    let cells = cells(&Definition::parse(LENOVO).expect("a study")).expect("cells");
    let of = |host: &Host| {
        let ends = Ends { host, peers: &[], path: NetworkPath::Loopback, interface: None };
        let planned = trials(&cells, &ends).expect("trials");
        planned.into_iter().map(|(trial, _)| trial).collect::<Vec<_>>()
    };
    let (small, large) = (of(&with(&[6])), of(&with(&[6, 3, 7, 2, 8, 1])));
    assert!(small.iter().zip(&large).all(|(a, b)| a.id == b.id));
    assert_eq!(small[0].level("protocol"), Some("TCP"));
    assert_eq!(small[0].timeline.window_ns.seconds(), 30.0);
}

#[test]
fn slips_of_the_pen_are_told_with_their_place() {
    let wrong = [
        ("name = 'a'\nrepeats = 'x'", "line 2, column 11: invalid type"),
        ("name = 'a/b'\nrepeats = 1", "line 1, column 8: name: must be"),
        ("name = 'a'\nrepeats = 0", "line 2, column 11: repeats: must be 1 to 100000"),
        ("name = 'a'\nrepeats = 1\nrepeat = 2", "line 3, column 1: unknown field `repeat`"),
        ("name = 'a'\nrepeats = 1\n[base]\nlenght = 2", "line 4, column 1: unknown field `lenght`"),
        (
            "name = 'a'\nrepeats = 1\n[base]\n\ndscp = 64",
            "line 5, column 8: dscp: 64 is out of bounds",
        ),
        (
            "name = 'a'\nrepeats = 1\n[base]\nrdma = { depht = 2 }",
            "line 4, column 10: unknown field `depht`, expected one of device",
        ),
        (
            "name = 'a'\nrepeats = 1\n[[factor]]\nname = 'f'",
            "line 3, column 1: factor 'f': has no levels",
        ),
        (
            "name = 'a'\nrepeats = 1\n[[factor]]\nname = 'f'\nlevels = [{name = 'x', lenght = 1}]",
            "line 5, column 24: factor 'f', level 'x': unknown field `lenght`",
        ),
        (
            "name = 'a'\nrepeats = 1\n[[factor]]\nname = 'f'\nset = 'length'\nlevels = ['1Q']",
            "line 6, column 11: factor 'f', level '1Q': length: '1Q' is not a size",
        ),
        (
            "name = 'a'\nrepeats = 1\n[[factor]]\nname = 'f'\nlevels = ['x']\n[[exclude]]\nf = 'y'",
            "no level 'y'",
        ),
        ("name = 'a'\nrepeats = 9\n[precision]\nwithin_percent = 2\nrepeats_max = 5", "precision"),
        (
            "name = 'a'\nrepeats = 1\n[quick]\nseconds = 0.01",
            "line 4, column 11: quick.seconds: 0.01",
        ),
        (
            "name = 'a'\nrepeats = 1\n[[factor]]\nname = 'f'\nlevels = ['x']\n[[factor]]\nname = \
             'f'\nlevels = ['x']",
            "line 6, column 1: factor 'f': is given twice",
        ),
        ("name = 'a'\nrepeats = 1\n[base]\naffinity = 'x'\n", ""),
    ];
    for (text, says) in &wrong[..wrong.len() - 1] {
        let error = Definition::parse(text).expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let host = Host::default();
    let cells = cells(&Definition::parse(wrong[wrong.len() - 1].0).expect("a study"));
    let ends = Ends { host: &host, peers: &[], path: NetworkPath::Loopback, interface: None };
    let error = trials(&cells.expect("cells"), &ends).expect_err("no place").to_string();
    assert!(error.contains("not LOCAL,REMOTE"), "{error}");
    assert!(error.starts_with("line 4, column 12: cell 'tcp-stream': affinity: "), "{error}");
}

/// A study's file and a command are held to the same bounds, and told so in the same words.
#[test]
fn times_of_a_file_have_the_bounds_of_the_commands() {
    let bounds: [(&Declared, &str, &[&str]); 3] = [
        (&runs::SECONDS.declared, "0.05 to 2400", &["0", "0.049", "-1", "2401", "86400"]),
        (&runs::WARMUP_SECONDS.declared, "0 to 600", &["-0.1", "601"]),
        (&runs::AFTER.declared, "0 to 120", &["-1", "121"]),
    ];
    for (option, bound, wrong) in bounds {
        let key = option.key;
        let head = "name = 'a'\nrepeats = 1\n";
        for told in wrong {
            let says = option.takes.parse(told).expect_err(told).to_string();
            assert!(says.ends_with(&format!("out of bounds, must be {bound}")), "{says}");
            let column = key.len() + 4;
            let base = Definition::parse(&format!("{head}[base]\n{key} = {told}"));
            let expected = format!("line 4, column {column}: {key}: {says}");
            assert_eq!(base.expect_err(told).to_string(), expected);
            let level = format!("{head}[[factor]]\nname = 'f'\nset = '{key}'\nlevels = [{told}]");
            let level = Definition::parse(&level).expect_err(told).to_string();
            let expected = format!("line 6, column 11: factor 'f', level '{told}': {key}: {says}");
            assert_eq!(level, expected);
        }
        let flags = option.flags.iter();
        assert!(flags.clone().all(|flag| flag.takes.is_none()), "{key} has bounds of its own");
    }
}

#[test]
fn sessions_are_apart_and_their_blocks_are_not() {
    let text = LENOVO.replace("[base]", "[spread]\nsessions = 3\napart_minutes = 60\n[base]");
    let definition = Definition::parse(&text).expect("a study");
    assert_eq!(definition.repeats, 90, "thirty in each session");
    let cut = Cut::of(&definition, 1);
    let hour = 3_600_000_000_000;
    let at = |block, last| due(&cut, block, Some((last, Nanos(5)))).map(|due| due.0);
    assert_eq!(due(&cut, 0, None), None);
    assert_eq!((at(29, 28), at(30, 29), at(60, 59)), (None, Some(5 + hour), Some(5 + hour)));
    assert_eq!(at(30, 30), None, "the session has begun");
    assert_eq!(at(12, 40), None, "a cell that failed is made good at once");
    let slips = ["sessions = 1\napart_minutes = 9", "sessions = 3\napart_minutes = -1"];
    for slip in slips {
        let text = text.replace("sessions = 3\napart_minutes = 60", slip);
        let error = Definition::parse(&text).expect_err(slip).to_string();
        assert!(error.contains("spread: sessions is 2 to 1000"), "{error}");
    }
    assert_eq!(definition.quickly().spread, None);
}

#[test]
fn quickly_means_short_and_few() {
    let text =
        LENOVO.replace("[base]", "[quick]\nrepeats = 2\nseconds = 0.2\nparallel_max = 2\n[base]");
    let quick = Definition::parse(&text).expect("a study").quickly();
    assert_eq!(quick.repeats, 2);
    let cells = cells(&quick).expect("cells");
    assert!(cells.iter().all(|cell| cell.settings.told(&runs::SECONDS) == Some(0.2)));
    assert!(cells.iter().all(|cell| cell.settings.told(&flows::PARALLEL).is_none_or(|n| n <= 2)));
}

#[test]
fn two_ends_of_one_host_share_no_cpu_that_they_need_not() {
    let mut host = Host::default();
    let from = Source("test".into());
    host.cpu.online = Fact::Known { value: (0..4).collect(), from: from.clone() };
    host.cpu.allowed = Fact::Known { value: (0..4).collect(), from };
    let of = |affinity: &str, parallel: u32| {
        let text = format!(
            "name = 'x'\nrepeats = 1\n[base]\naffinity = '{affinity}'\nparallel = {parallel}\n"
        );
        let cells = cells(&Definition::parse(&text).expect("a study")).expect("cells");
        let ends = Ends { host: &host, peers: &[], path: NetworkPath::Namespaces, interface: None };
        let trial = trials(&cells, &ends).expect("trials").remove(0).0;
        let cpus = |role| trial.place(role).cpus.0.clone();
        (cpus(Role::Sender), cpus(Role::Receiver))
    };
    assert_eq!(of("0-3,0-3", 1), (vec![0, 1, 2, 3], vec![1, 2, 3, 0]));
    assert_eq!(of("0-3,0-3", 2), (vec![0, 1, 2, 3], vec![2, 3, 0, 1]));
    assert_eq!(of("0-3,0-3", 4), (vec![0, 1, 2, 3], vec![1, 2, 3, 0]));
    assert_eq!(of("0+2,1+3", 1), (vec![0, 2], vec![1, 3]));
    assert_eq!(of("0,same-core", 1), (vec![0], vec![0]));
    assert_eq!(of("1,1", 1), (vec![1], vec![1]));
}

#[test]
fn a_place_is_bound_to_as_a_whole_and_a_load_crosses_nodes() {
    let node = |id: u32, cpus: [u32; 2]| narrows_model::host::Node {
        id,
        cpus: cpus.to_vec(),
        ..Default::default()
    };
    let mut host = Host::default();
    let from = Source("test".into());
    host.cpu.online = Fact::Known { value: (0..4).collect(), from: from.clone() };
    host.cpu.allowed = Fact::Known { value: (0..4).collect(), from };
    let place = |cpu| narrows_model::host::CpuPlace {
        cpu,
        package: None,
        die: None,
        core: None,
        node: Some(cpu / 2),
    };
    host.cpu.places = (0..4).map(place).collect();
    host.nodes = vec![node(0, [0, 1]), node(1, [2, 3])];
    let of = |words: &str| {
        let text = format!("name = 'x'\nrepeats = 1\n[base]\n{words}\n");
        let cells = cells(&Definition::parse(&text).expect("a study")).expect("cells");
        let ends = Ends { host: &host, peers: &[], path: NetworkPath::Namespaces, interface: None };
        trials(&cells, &ends).expect("trials").remove(0)
    };
    let (set, why_not) = of("affinity = 'node:0/all,node:1'");
    assert_eq!(why_not, None);
    let free = Placement { binding: Binding::All, ..Placement::on([0, 1]) };
    assert_eq!(set.place(Role::Sender), &free);
    assert_eq!(set.place(Role::Receiver), &Placement::on([2, 3]));
    let (load, _) = of("memory_load = 'triad:5@node:0/all/memory:1'");
    let load = load.background().expect("a background load");
    assert_eq!(load.place, Placement { node: Some(1), ..free });
    let (none, why_not) = of("memory_load = 'triad:5@node:0/memory:2'");
    assert!(none.background().is_none());
    assert!(why_not.is_some_and(|why| why.contains("memory_load: there is no node 2")));
}

#[test]
fn interrupts_and_rdma_devices_reach_the_trials() {
    let text = "name = 'x'\nrepeats = 1\n[base]\nload = 'rdma-send-rr'\n[[factor]]\nname = 'fabric'\n\
                levels = [{ name = 'a', irq = '0', rdma = { device = 'siw0,siw1' } },\n\
                { name = 'b', rdma = { device = 'rxe0', service = 'RC' } }]\n";
    let definition = Definition::parse(text).expect("a study");
    let mut host = with(&[]);
    let from = Source("test".into());
    host.cpu.online = Fact::Known { value: vec![0, 1], from: from.clone() };
    host.cpu.allowed = Fact::Known { value: vec![0, 1], from };
    let ends = Ends { host: &host, peers: &[], path: NetworkPath::Loopback, interface: None };
    let planned = trials(&cells(&definition).expect("cells"), &ends).expect("trials");
    let [(a, _), (b, _)] = planned.as_slice() else { panic!("{planned:?}") };
    assert_eq!(a.irq(), Some(&CpuList(vec![0])));
    let rdma = a.params.rdma.clone().expect("words");
    assert_eq!(rdma.sender.device.as_deref(), Some("siw0"));
    assert_eq!(rdma.receiver.device.as_deref(), Some("siw1"));
    assert_eq!(b.irq(), None);
    assert_eq!(b.params.rdma.clone().expect("words").service, None, "rc is what is taken anyway");
}

/// The slip's place and what is wrong, of a file with this beside its name.
fn slip(text: &str) -> Option<(String, String)> {
    let slip = Definition::parse(&format!("name = 'a'\n{text}\n")).err()?;
    Some((slip.at, slip.why))
}

#[test]
fn numbers_of_a_study_are_held_to_their_bounds() {
    let precision = |more: &str| format!("repeats = 6\n[precision]\nwithin_percent = 5\n{more}");
    let within = |percent: &str| {
        format!("repeats = 6\n[precision]\nwithin_percent = {percent}\nrepeats_max = 9")
    };
    let spread = |sessions: u32, apart: &str| {
        format!("repeats = 6\n[spread]\nsessions = {sessions}\napart_minutes = {apart}")
    };
    for (at, good, wrong) in [
        ("repeats", "repeats = 1".to_owned(), "repeats = 0".to_owned()),
        ("repeats", "repeats = 100000".to_owned(), "repeats = 100001".to_owned()),
        ("precision", within("0.01"), within("0.009")),
        ("precision", within("100"), within("100.1")),
        ("precision", precision("repeats_max = 6"), precision("repeats_max = 5")),
        (
            "precision",
            precision("repeats_max = 6\nconfidence_percent = 50"),
            precision("repeats_max = 6\nconfidence_percent = 49.9"),
        ),
        (
            "precision",
            precision("repeats_max = 6\nconfidence_percent = 99.9"),
            precision("repeats_max = 6\nconfidence_percent = 99.95"),
        ),
        ("spread", spread(2, "0"), spread(1, "0")),
        ("spread", spread(1000, "0"), spread(1001, "0")),
        ("spread", spread(2, "100000"), spread(2, "100001")),
        ("spread", spread(2, "0.5"), spread(2, "-0.5")),
    ] {
        assert_eq!(slip(&good), None, "{good}");
        let (found, _) = slip(&wrong).expect(&wrong);
        assert_eq!(found, at, "{wrong}");
    }
}

#[test]
fn a_slip_in_a_factor_is_told_with_its_place_and_its_words() {
    let of = |factor: &str| slip(&format!("repeats = 1\n[[factor]]\nname = 'f'\n{factor}"));
    for (factor, at, why) in [
        ("by = 'foot'\nlevels = ['x']", "factor 'f'", "by = \"foot\": only \"hand\" is known"),
        ("levels = []", "factor 'f'", "has no levels"),
        ("by = 'hand'\nlevels = ['x', 'y', 'x']", "factor 'f'", "level 'x' is given twice"),
        (
            "levels = [{ name = 'x', when = { populated = ['A1'] } }]",
            "factor 'f'",
            "level 'x' has `when`: then it is by = \"hand\"",
        ),
        ("levels = [{ length = 64 }]", "factor 'f'", "a level has no name"),
        (
            "by = 'hand'\nlevels = ['x']\n[[factor]]\nname = 'f'\nby = 'hand'\nlevels = ['y']",
            "factor 'f'",
            "is given twice",
        ),
        (
            "by = 'hand'\nlevels = ['x']\n[[exclude]]\ng = 'x'",
            "exclude or report",
            "there is no factor 'g', but f",
        ),
        (
            "by = 'hand'\nlevels = ['x']\n[[exclude]]\nf = 'y'",
            "exclude",
            "factor 'f' has no level 'y'",
        ),
        (
            "by = 'hand'\nlevels = ['x']\n[report]\nprices = { y = 1.0 }",
            "report.prices",
            "factor 'f' has no level 'y'",
        ),
        (
            "by = 'hand'\nlevels = ['x']\n[report]\nprices = { x = -1.0 }",
            "report.prices",
            "-1 is not a price",
        ),
    ] {
        assert_eq!(of(factor), Some((at.to_owned(), why.to_owned())), "{factor}");
    }
    assert_eq!(of("by = 'hand'\nlevels = ['x']\n[report]\nprices = { x = 0.0 }"), None);
}
