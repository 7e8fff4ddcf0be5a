//! Files of older versions: they open, and mean what they meant.

mod common;

use common::{folder, narrows, out, run};

/// A run of two ends beside a background load, and one of memory, as narrows 0.1 stored them.
const OF_0_1: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/files/two-ends-0.1.narrows");
/// The head of its chain, as narrows 0.1 printed it.
const HEAD: &str = "bfcd7ad66c3e412ccbd4697058a135428f7a61f5cfd9a534cce8d8bf0e83b13a";

#[test]
fn a_study_of_0_1_means_what_it_meant() {
    let file = folder("older").join("older.narrows");
    std::fs::copy(OF_0_1, &file).expect("a copy");
    // Among what it looks at is whether each cell's id follows from the cell.
    let verified = run(narrows().arg("verify").arg(&file));
    assert_eq!(verified.status.code(), Some(0), "{}", out(&verified));
    assert!(out(&verified).contains(HEAD), "{}", out(&verified));
    let stored = narrows_store::read(&file).expect("a study");
    let mut seen = Vec::new();
    for (trial, summary) in stored.trials.iter().zip(narrows_stats::summarise(&stored)) {
        let median = |estimate: narrows_model::result::Estimate| estimate.value;
        let beside = summary.background.map(median);
        let value = summary.estimate.map(median);
        seen.push((trial.kind.to_string(), trial.id.0.clone(), value, beside));
    }
    // What narrows 0.1 reported of the same file.
    let of = |kind: &str, id: &str, value: f64, beside: Option<f64>| {
        (kind.to_owned(), id.to_owned(), Some(value), beside)
    };
    let stream = 6_397_530_516.100_613;
    let reads = 19_689_831_449.109_71;
    let told = [
        of("tcp-stream", "5070068655b83d33", stream, Some(reads)),
        of("memory-latency", "1467d5b8a9ac162c", 24.430_446_302_492_633, None),
    ];
    assert_eq!(seen, told);
}
