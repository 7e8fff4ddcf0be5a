//! The list of workloads against the model's.

use narrows_model::workload::Workload;
use narrows_workloads::kinds::KINDS;

#[test]
fn each_workload_of_narrows_is_run_by_one_file() {
    let run: Vec<&str> = KINDS.iter().map(|kind| kind.workload.as_str()).collect();
    let named: Vec<Workload> = Workload::named().filter(Workload::is_own).collect();
    assert_eq!(run, named.iter().map(Workload::as_str).collect::<Vec<_>>());
}
