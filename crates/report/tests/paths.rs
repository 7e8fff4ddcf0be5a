//! What the report says of paths inside a host, one of which is planted to be slow.

#[path = "../../stats/tests/inside/mod.rs"]
mod inside;

use inside::{Planted, QUIET, even, host, link, simulated};
use narrows_model::workload::Metric;
use narrows_report::Analysis;
use narrows_report::paths::verdict;

fn half(path: &str, metric: Metric) -> f64 {
    let is_it = path == "mlx5_1, node 1" && metric.larger_is_better();
    if is_it { 0.5 } else { even(path, metric) }
}

fn written(analysis: &Analysis<'_>, format: &str) -> String {
    (narrows_report::formats::format(format).expect("a format").write)(analysis)
}

#[test]
fn a_slow_path_is_named_first_with_what_differs() {
    let mut host = host();
    host.nics[1].path[1].link = link(8.0, 8);
    let study = simulated(&host, Planted { times: half, ..QUIET });
    let analysis = Analysis::of(&study);
    let lines = verdict(&analysis);
    assert!(lines.len() <= 5, "{lines:?}");
    let named = "mlx5_1, node 1 is slower than its like mlx5_0, node 0: RDMA write -50.";
    assert!(lines[0].starts_with(named) && lines[0].contains(", RDMA read -"), "{lines:?}");
    assert!(!lines[0].contains("one at a time"), "its times are as good: {lines:?}");
    let link = "differs: link 8 GT/s x8 of 16 GT/s x16, its like's 16 GT/s x16 of 16 GT/s x16";
    assert!(lines[0].contains(link) && lines[0].contains("nodes 1 to 1, its like's 0 to 0"));
    assert!(!lines[0].contains("MaxPayload"), "that is alike: {lines:?}");
    let last = lines.last().expect("a line");
    assert!(last.contains("not a network result") && last.contains("PCIe twice"), "{last}");
    let text = written(&analysis, "text");
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, section) = whole.split_once("Paths inside this host").expect("a section");
    let place = |words: &str| section.find(words).unwrap_or_else(|| panic!("{words}: {section}"));
    assert!(place("is slower than its") < place("from device to memory of node"));
    assert_eq!(section.matches("SLOW").count(), 2, "{section}");
    assert!(!whole.contains("no place matters"), "nodes are where paths lead: {whole}");
    assert!(section.contains("Not measured: packets from port to port"), "{section}");
    assert!(section.contains("mlx5_1: at most ") && section.contains("8 GT/s x8 (modelled)"));
    let json: serde_json::Value = serde_json::from_str(&written(&analysis, "json")).expect("JSON");
    assert_eq!(json["slow_paths"][0]["path"]["device"], "mlx5_1");
    assert_eq!(json["slow_paths"][0]["differs"][0]["what"], "link");
    assert_eq!(json["paths"][0]["cells"][1]["is"], "slow");
    let page = written(&analysis, "html");
    let (_, head) = page.split_once("class=\"figure\">").expect("a headline");
    assert!(head.starts_with(named), "the page leads with it: {}", &head[..300]);
    assert!(page.contains("id=\"paths\""));
}

#[test]
fn where_nothing_was_read_that_differs_it_is_said() {
    let study = simulated(&host(), Planted { times: half, ..QUIET });
    let lines = verdict(&Analysis::of(&study));
    assert!(
        lines[0].contains("; nothing read explains it (3 facts not read); nodes 1 to 1"),
        "{lines:?}"
    );
    let text = written(&Analysis::of(&study), "text");
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("mlx5_1, node 1: not read of it or of its like: driver, rate of"));
}

#[test]
fn equal_paths_are_accused_of_nothing_and_noise_is_inconclusive() {
    let even = simulated(&host(), QUIET);
    let analysis = Analysis::of(&even);
    let lines = verdict(&analysis);
    let none = "no path is shown to be slower than its like: 18 figures are as good within 5 %";
    assert_eq!((lines[0].as_str(), lines.len()), (none, 2), "{lines:?}");
    assert!(analysis.slow_paths.is_empty());
    let noisy = simulated(&host(), Planted { spread: 0.5, ..QUIET });
    let lines = verdict(&Analysis::of(&noisy));
    assert_eq!(lines[0], "no path is shown to be slower than its like");
    assert!(lines[1].starts_with("inconclusive: 18 (runs differ too much"), "{lines:?}");
    let mut alone = host();
    alone.rdma.pop();
    let lines = verdict(&Analysis::of(&simulated(&alone, QUIET)));
    assert!(lines[1].starts_with("inconclusive: 6 (no like path"), "{lines:?}");
}
