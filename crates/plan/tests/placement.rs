//! The matrix of placements of two hosts, and the study that is made of it.

use narrows_model::host::{CpuPlace, Host, Irq, Nic, Node};
use narrows_model::seating::{Axis, Seating};
use narrows_model::trial::NetworkPath;
use narrows_model::{Bytes, Fact};
use narrows_plan::placement::{Background, Between, Fixed, Matrix, NoMatrix, Threads, Wanted};
use narrows_plan::study::{Definition, Ends, PeerHost, cells, trials};
use std::collections::BTreeSet;

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "made")
}

/// So many nodes of two CPUs each, and a NIC at the last of them.
fn host(nodes: u32) -> Host {
    let mut host = Host::default();
    let all: Vec<u32> = (0..2 * nodes).collect();
    let place = |cpu| CpuPlace { cpu, package: None, die: None, core: None, node: Some(cpu / 2) };
    host.cpu.places = all.iter().copied().map(place).collect();
    (host.cpu.online, host.cpu.allowed) = (known(all.clone()), known(all));
    let distance = |from: u32, to: u32| if from == to { 10 } else { 10 + 11 * from.abs_diff(to) };
    let node = |id: u32| Node {
        id,
        cpus: vec![2 * id, 2 * id + 1],
        memory_bytes: known(Bytes::gib(8)),
        distances: known((0..nodes).map(|to| distance(id, to)).collect()),
        ..Node::default()
    };
    host.nodes = (0..nodes).map(node).collect();
    let irq = |number| Irq {
        number,
        name: None,
        allowed_cpus: vec![0],
        effective_cpus: vec![0],
        node: None,
    };
    let nic = |name: &str, node| Nic {
        name: name.into(),
        physical: true,
        node: known(node),
        irqs: known(vec![irq(40), irq(41)]),
        ..Nic::default()
    };
    host.nics = vec![nic("eth0", nodes - 1), nic("eth1", 0)];
    host
}

fn wanted(minutes: f64) -> Wanted {
    let (nics, threads) = (Vec::new(), Threads::Pinned);
    let (beside, prices) = (None, Vec::new());
    Wanted { minutes, seconds: 1.0, repeats: 10, flows: 4, nics, threads, beside, prices }
}

fn between<'a>(here: &'a Host, there: &'a Host) -> Between<'a> {
    Between { here, there, interface: Some("eth0"), far_interface: Some("eth0") }
}

fn names(matrix: &Matrix) -> Vec<String> {
    matrix.chosen.iter().map(Seating::to_string).collect()
}

#[test]
fn two_nodes_at_both_ends_make_32_placements_the_telling_ones_first() {
    let host = host(2);
    let matrix = Matrix::of(&wanted(100.0), &between(&host, &host)).expect("a matrix");
    let names = names(&matrix);
    assert_eq!((names.len(), matrix.left_out), (32, 0));
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 32, "each once");
    // The NIC is on node 1.
    let first = [
        "node 1 > node 1",
        "node 0, irq 1 > node 1",
        "node 1 > node 0",
        "node 0, irq 1 > node 0",
        "node 0, memory 1, irq 1 > node 1",
        "node 1, memory 0 > node 1",
        "node 1, irq 0 > node 1",
        "node 1 > node 0, memory 1",
        "node 1 > node 1, memory 0",
    ];
    assert_eq!(&names[..9], &first);
    assert_eq!(matrix.fixed, [(Axis::InterruptsThere, Fixed::OwnersInterrupts)]);
}

#[test]
fn what_does_not_fit_the_time_is_counted() {
    let host = host(2);
    // Two tests of ten runs of 1.7 s: 34 s a placement.
    let matrix = Matrix::of(&wanted(10.0), &between(&host, &host)).expect("a matrix");
    assert_eq!((matrix.chosen.len(), matrix.left_out), (17, 15));
    assert!(matrix.definition.contains("17 of 32 placements"), "{}", matrix.definition);
    let short = Matrix::of(&wanted(1.0), &between(&host, &host));
    assert!(matches!(short, Err(NoMatrix::TooShort { placements: 2, .. })), "{short:?}");
    let beside = Some("link".parse::<Background>().expect("a load"));
    let loaded = Matrix::of(&Wanted { beside, ..wanted(10.0) }, &between(&host, &host));
    assert_eq!(loaded.expect("a matrix").chosen.len(), 8);
}

#[test]
fn one_node_says_what_it_cannot_vary() {
    let host = host(1);
    let matrix = Matrix::of(&wanted(10.0), &between(&host, &host)).expect("a matrix");
    assert_eq!(names(&matrix), ["node 0 > node 0"]);
    let why = |axis| matrix.fixed.iter().find(|(known, _)| *known == axis).map(|(_, why)| why);
    assert_eq!(why(Axis::ProcessHere), Some(&Fixed::OneNode));
    assert_eq!(why(Axis::MemoryThere), Some(&Fixed::OneMemory));
    assert!(matrix.definition.contains("Not varied: "), "{}", matrix.definition);
    let link = Wanted { beside: Some(Background::Link(5)), ..wanted(10.0) };
    assert_eq!(Matrix::of(&link, &between(&host, &host)), Err(NoMatrix::NoLink));
}

#[test]
fn far_nodes_come_before_near_ones_and_nics_take_turns() {
    let host = host(4);
    let nics = vec!["eth0".to_owned(), "eth1".to_owned()];
    let matrix = Matrix::of(&Wanted { nics, ..wanted(4.0) }, &between(&host, &host));
    let names = names(&matrix.expect("a matrix"));
    assert_eq!(names[..2], ["eth0: node 3 > node 3", "eth1: node 0 > node 3"]);
    // Node 0 is the farthest from eth0, node 3 from eth1.
    assert_eq!(names[2..4], ["eth0: node 0, irq 3 > node 3", "eth1: node 3, irq 0 > node 3"]);
    let nics = vec!["eth7".to_owned()];
    let missing = Matrix::of(&Wanted { nics, ..wanted(4.0) }, &between(&host, &host));
    assert_eq!(missing, Err(NoMatrix::NoNic("eth7".into())));
}

/// What the file says is what the ends of its trials are told.
#[test]
fn every_placement_is_read_back_from_its_trial() {
    let (here, there) = (host(2), host(2));
    for threads in [Threads::Pinned, Threads::Floating, Threads::Both] {
        let asked = Wanted {
            threads,
            beside: Some(Background::Link(5)),
            nics: vec!["eth0".into(), "eth1".into()],
            ..wanted(180.0)
        };
        let matrix = Matrix::of(&asked, &between(&here, &there)).expect("a matrix");
        let definition = Definition::parse(&matrix.definition);
        let definition = definition.unwrap_or_else(|why| panic!("{why}: {}", matrix.definition));
        let cells = cells(&definition).expect("cells");
        assert_eq!(cells.len(), matrix.chosen.len() * 2 * 2);
        let peer =
            PeerHost { name: "there", host: Some(&there), interface: Some("eth0"), away: None };
        let (path, interface) = (NetworkPath::Peer, Some("eth0"));
        let ends = Ends { host: &here, peers: &[peer], path, interface };
        for (trial, why_not) in trials(&cells, &ends).expect("trials") {
            assert_eq!(why_not, None, "{}", trial.label);
            let seating = Seating::of(&trial, &here, &there).expect("a seating");
            let named = trial.level("placement").expect("a level");
            assert_eq!(seating.to_string(), named);
            assert!(matrix.chosen.contains(&seating), "{named}");
            let load = trial.background().map(|end| (end.place.cpus.0.clone(), end.place.node));
            let wanted = (trial.level("beside") != Some("nothing")).then(|| (vec![0, 1], Some(1)));
            assert_eq!(load, wanted, "threads on node 0 and memory of node 1, where the NIC is");
        }
    }
}

#[test]
fn a_placement_costs_what_its_nic_costs() {
    let host = host(2);
    let nics = vec!["eth0".to_owned(), "eth1".to_owned()];
    let prices = vec![("eth0".to_owned(), 480.0), ("eth1".to_owned(), 260.5)];
    let asked = Wanted { nics: nics.clone(), prices, ..wanted(4.0) };
    let matrix = Matrix::of(&asked, &between(&host, &host)).expect("a matrix");
    let definition = Definition::parse(&matrix.definition);
    let definition = definition.unwrap_or_else(|why| panic!("{why}: {}", matrix.definition));
    let price = |name: &str| definition.report.prices.get(name).copied();
    for name in names(&matrix) {
        let expected = if name.starts_with("eth0") { 480.0 } else { 260.5 };
        assert_eq!(price(&name), Some(expected), "{name}");
    }
    let other = Wanted { prices: vec![("eth1".into(), 1.0)], ..wanted(10.0) };
    let refused = Matrix::of(&other, &between(&host, &host));
    assert_eq!(refused, Err(NoMatrix::NoPriced("eth1".into())));
}

#[test]
fn a_price_is_an_amount_of_a_level_that_there_is() {
    let of = |prices: &str| {
        let text = format!(
            "name = 's'\nrepeats = 1\n[base]\n[[factor]]\nname = 'f'\nlevels = [{{name='a'}}, \
             {{name='b'}}]\n[report]\nprices = {{ {prices} }}\n"
        );
        Definition::parse(&text).map(|definition| definition.report.prices)
    };
    assert_eq!(of("a = 3").expect("a price").get("a"), Some(&3.0));
    for (prices, says) in [
        ("c = 3", "no level 'c'"),
        ("a = -1", "-1 is not a price"),
        ("a = nan", "NaN is not a price"),
    ] {
        let why = of(prices).expect_err(prices).to_string();
        assert!(why.contains(says) && why.contains("report.prices"), "{why}");
    }
}

#[test]
fn each_end_has_the_nodes_of_its_own_host_and_the_other_that_of_its_own_nic() {
    let (here, there) = (host(2), host(4));
    // Here eth0 is at node 1, there eth1 at node 0, and eth0 at node 3.
    for (far, first) in [("eth1", "node 1 > node 0"), ("eth0", "node 1 > node 3")] {
        let between = Between { far_interface: Some(far), ..between(&here, &there) };
        let matrix = Matrix::of(&wanted(60.0), &between).expect("a matrix");
        assert_eq!(names(&matrix)[0], first);
        let of = |axis: Axis| {
            let nodes: BTreeSet<u32> =
                matrix.chosen.iter().filter_map(|seating| seating.node(axis)).collect();
            nodes.into_iter().collect::<Vec<u32>>()
        };
        assert_eq!((of(Axis::ProcessHere), of(Axis::ProcessThere)), (vec![0, 1], vec![0, 1, 2, 3]));
    }
}

#[test]
fn a_nic_that_was_asked_for_is_named_and_flows_are_counted_in_words() {
    let host = host(2);
    let of = |nics: &[&str], flows: u32| {
        let nics = nics.iter().map(|name| (*name).to_owned()).collect();
        let wanted = Wanted { nics, flows, ..wanted(60.0) };
        Matrix::of(&wanted, &between(&host, &host)).expect("a matrix")
    };
    assert_eq!(names(&of(&[], 4))[0], "node 1 > node 1");
    assert_eq!(names(&of(&["eth0"], 4))[0], "eth0: node 1 > node 1");
    assert_eq!(names(&of(&["eth1"], 4))[0], "eth1: node 0 > node 1");
    for (flows, name) in [(1, "\"TCP, 1 flow\""), (2, "\"TCP, 2 flows\"")] {
        let text = of(&[], flows).definition;
        assert!(text.contains(name) && text.contains(&format!("parallel = {flows} ")), "{text}");
    }
}
