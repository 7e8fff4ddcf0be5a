//! Paths inside a host beside their likes: what is planted is named, and nothing else.

mod inside;

use inside::{Planted, QUIET, even, host, known, link, over, simulated};
use narrows_model::host::{Host, Nic};
use narrows_model::workload::Metric;
use narrows_stats::{Away, Change, PathTest, Standing, paths, placements, summarise};

fn tests(host: &Host, planted: Planted) -> Vec<PathTest> {
    let study = simulated(host, planted);
    paths(&study, &summarise(&study))
}

/// A path's name, and what is said of it, in a word with the like that it is against.
fn said(test: &PathTest, study_names: &[String]) -> Vec<String> {
    let name = |at: usize| study_names[test.cells[at].trial].split(',').next().unwrap_or("");
    let one = |at: usize| match &test.cells[at].standing {
        Standing::Alone => "alone".to_owned(),
        Standing::NoFigure => "no figure".to_owned(),
        Standing::Slow { than, .. } => format!("slow: {}", name(*than)),
        Standing::NotTold { .. } => "not told".to_owned(),
        Standing::AsGood => "as good".to_owned(),
    };
    (0..test.cells.len()).map(one).collect()
}

fn all_said(host: &Host, planted: Planted) -> Vec<(String, Vec<String>)> {
    let study = simulated(host, planted);
    let path = |trial: &narrows_model::trial::Trial| {
        trial.level("path").map(|level| level.replace(", ", "@")).unwrap_or_default()
    };
    let names: Vec<String> = study.trials.iter().map(path).collect();
    let tests = paths(&study, &summarise(&study));
    tests.iter().map(|test| (test.name.clone(), said(test, &names))).collect()
}

const NAMES: [&str; 3] = ["RDMA write", "RDMA read", "RDMA read, one at a time"];

/// Two ports and a cable between them, and nothing else.
#[test]
fn a_cable_is_a_path_and_no_placement() {
    let ports = ["p0", "p1"].map(|name| Nic {
        name: name.into(),
        physical: true,
        node: known(0),
        ..Nic::default()
    });
    let mut host = host();
    host.rdma.clear();
    host.nics = ports.to_vec();
    let cable = ports.map(|port| port.name);
    let study = over(&host, QUIET, Some(cable));
    let tests = paths(&study, &summarise(&study));
    assert_eq!(tests.iter().map(|test| test.cells.len()).sum::<usize>(), 2, "{tests:?}");
    assert!(placements(&study).is_empty(), "{:?}", placements(&study));
}

#[test]
fn likes_are_of_one_kind_of_card_at_one_distance() {
    let tests = tests(&host(), QUIET);
    assert_eq!(tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(), NAMES);
    let cells = &tests[0].cells;
    let away: Vec<Away> = cells.iter().map(|cell| cell.likeness.away).collect();
    let far = Away::Distance(21);
    assert_eq!(away, [Away::Local, Away::Local, far, far, far, far]);
    // Each has its counterpart, and nothing across is like loop-back.
    assert!(cells.iter().all(|cell| cell.likes == 1), "{cells:?}");
    // A card that can do less is another kind.
    let mut other = host();
    let narrow = narrows_model::host::PciLink {
        width: 8,
        width_max: 8,
        ..*link(16.0, 16).value().expect("a link")
    };
    other.nics[1].path[1].link = known(narrow);
    let said = all_said(&other, QUIET);
    assert!(said[0].1[..4].iter().all(|one| one == "alone"), "{said:?}");
    // One that is trained below what it can do is the same kind.
    let mut slow = host();
    slow.nics[1].path[1].link = link(8.0, 8);
    assert!(all_said(&slow, QUIET)[0].1.iter().all(|one| one == "as good"));
}

#[test]
fn half_the_rate_is_named_with_the_like_that_it_is_half_of() {
    fn half(path: &str, metric: Metric) -> f64 {
        let is_it = path == "mlx5_1, node 1" && metric.larger_is_better();
        if is_it { 0.5 } else { 1.0 }
    }
    let said = all_said(&host(), Planted { times: half, ..QUIET });
    let slow = ["as good", "slow: mlx5_0@node 0", "as good", "as good", "as good", "as good"];
    assert_eq!(said[0].1, slow);
    assert_eq!(said[1].1, slow);
    assert_eq!(said[2].1, ["as good"; 6], "its times are those of its like");
    let tests = tests(&host(), Planted { times: half, ..QUIET });
    let Standing::Slow { compared, .. } = tests[0].cells[1].standing else { panic!("slow") };
    assert!((compared.ratio.value - 0.5).abs() < 0.01, "{compared:?}");
    assert!(compared.ratio.high < 0.52 && compared.p < 0.001, "{compared:?}");
    assert_eq!((compared.change, compared.cliffs_delta), (Change::Worse, -1.0));
}

#[test]
fn twice_the_time_is_named_and_no_rate() {
    fn twice(path: &str, metric: Metric) -> f64 {
        let is_it = path == "mlx5_0 > mlx5_1" && !metric.larger_is_better();
        if is_it { 2.0 } else { 1.0 }
    }
    let said = all_said(&host(), Planted { times: twice, ..QUIET });
    assert_eq!((&said[0].1, &said[1].1), (&vec!["as good".to_owned(); 6], &said[0].1));
    assert_eq!(said[2].1[4..], ["slow: mlx5_1 > mlx5_0", "as good"]);
    assert_eq!(said[2].1[..4], ["as good"; 4]);
}

#[test]
fn equal_paths_are_not_accused_and_noisy_ones_are_left_open() {
    for (_, said) in all_said(&host(), QUIET) {
        assert_eq!(said, ["as good"; 6]);
    }
    // Runs that differ by half from each other, all of one level.
    for (_, said) in all_said(&host(), Planted { spread: 0.5, ..QUIET }) {
        assert_eq!(said, ["not told"; 6]);
    }
    // Three runs carry no verdict, whatever they say.
    fn half(path: &str, metric: Metric) -> f64 {
        if path == "mlx5_1, node 1" { 0.5 } else { even(path, metric) }
    }
    let few = all_said(&host(), Planted { times: half, repeats: 3, ..QUIET });
    assert_eq!(few[0].1, ["not told"; 6]);
}

#[test]
fn a_path_without_a_like_or_a_figure_says_so() {
    let mut one = host();
    one.rdma.pop();
    one.nodes.pop();
    assert_eq!(all_said(&one, QUIET)[0].1, ["alone"]);
    let mut study = simulated(&host(), QUIET);
    let lost = study.trials[0].id.clone();
    study.records.retain(|record| record.trial != lost);
    let test = &paths(&study, &summarise(&study))[0];
    assert_eq!((&test.cells[0].standing, test.cells[0].likes), (&Standing::NoFigure, 0));
    assert_eq!(test.cells[1].standing, Standing::NoFigure, "nothing to hold it against");
    assert_eq!(test.cells[2].standing, Standing::AsGood);
}

/// Where nothing tells a device's node, the same node of memory is the like, and no distance.
#[test]
fn a_device_without_a_node_is_like_those_to_the_same_memory() {
    let mut host = host();
    host.rdma.iter_mut().for_each(|device| device.node = Default::default());
    host.nics.iter_mut().for_each(|nic| nic.node = Default::default());
    let cells = &tests(&host, QUIET)[0].cells;
    let away: Vec<Away> = cells.iter().map(|cell| cell.likeness.away).collect();
    let [zero, one] = [0, 1].map(|node| Away::Unknown(Some(node)));
    // The plan has the nodes in the order of their numbers then.
    assert_eq!(away[..4], [zero, one, zero, one]);
}
