//! `narrows paths` where there is nothing to measure, and paths of two hosts beside each other.

mod common;
#[path = "../../stats/tests/inside/mod.rs"]
mod inside;

use common::{err, fails, folder, narrows, out, run, skip};
use inside::{Planted, QUIET, even, host, simulated};
use narrows_model::workload::Metric;
use std::path::{Path, PathBuf};

/// A file of a simulated host's paths.
fn stored(dir: &Path, name: &str, planted: Planted) -> PathBuf {
    let study = simulated(&host(), planted);
    let file = dir.join(format!("{name}.narrows"));
    let mut draft = narrows_store::Store::draft(&file, &study.study, &study.host).expect("draft");
    draft.put_trials(&study.trials).expect("trials");
    draft.put_records(&study.records).expect("records");
    drop(draft.publish().expect("a file"));
    file
}

fn half(path: &str, metric: Metric) -> f64 {
    let is_it = path == "mlx5_1, node 1" && metric.larger_is_better();
    if is_it { 0.5 } else { even(path, metric) }
}

/// Hosts that are built alike have the same paths by the same names: one that is slower than on the
/// other is told, and no other.
#[test]
fn paths_of_two_hosts_are_compared_by_their_names() {
    let dir = folder("paths-of-hosts");
    let good = stored(&dir, "good", QUIET);
    let bad = stored(&dir, "bad", Planted { times: half, ..QUIET });
    let output = run(narrows().arg("compare").arg(&good).arg(&bad));
    let told = out(&output);
    assert_eq!(output.status.code(), Some(1), "{told}{}", err(&output));
    let worse: Vec<&str> = told.lines().filter(|line| line.contains("WORSE")).collect();
    assert_eq!(worse.len(), 2, "{told}");
    assert!(worse.iter().all(|line| line.starts_with("mlx5_1, node 1")), "{told}");
    assert!(told.contains("2 worse, 0 better, 16 alike"), "{told}");
    let report = out(&run(narrows().arg("report").arg(&bad)));
    let (_, paths) = report.split_once("Paths inside this host\n").expect("a section");
    let named = "mlx5_1, node 1 is slower than its like mlx5_0, node 0: RDMA write -50.";
    assert!(paths.starts_with(named), "{paths}");
}

#[test]
fn what_cannot_be_measured_is_named_with_a_hint() {
    let dir = folder("paths-none");
    let mut command = narrows();
    fails(command.args(["paths", "-d", "mlx5_77", "--out"]).arg(&dir), 2, "no RDMA device mlx5_77");
    let mut command = narrows();
    command.args(["paths", "--cable", "nowhere0,nowhere1", "--out"]).arg(&dir);
    fails(&mut command, 2, "this host has no interface nowhere0");
    for odd in ["eth0", "eth0,eth0", "eth0,", "a,b,c"] {
        let mut command = narrows();
        fails(command.args(["paths", "--cable", odd]), 2, "PORT,PORT");
    }
    if std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut all| all.next().is_some()) {
        return skip("what_cannot_be_measured", "there is an RDMA device");
    }
    for more in ["--dry-run", "--print"] {
        let mut command = narrows();
        command.args(["paths", more, "--out"]).arg(&dir);
        fails(&mut command, 5, "this host has no RDMA device; packets from port to port");
    }
}
