//! Nodes of a job, and the words that srun is called with.

use super::*;

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn job(named: &[&str], nodes: Option<&str>, count: Option<&str>) -> Result<Vec<String>, StepError> {
    of_job(owned(named), nodes.map(str::to_owned), count.map(str::to_owned))
}

#[test]
fn the_nodes_are_those_of_the_job_or_some_of_them() {
    for (list, count, nodes) in [
        ("n[1-3,8]", "4", &["n1", "n2", "n3", "n8"][..]),
        ("n[08-10]", "3", &["n08", "n09", "n10"]),
        ("r[1-2]n[1-2],login", "5", &["r1n1", "r1n2", "r2n1", "r2n2", "login"]),
        ("gpu-a1", "1", &["gpu-a1"]),
    ] {
        assert_eq!(job(&[], Some(list), Some(count)).unwrap(), owned(nodes));
        assert_eq!(job(&[], Some(list), None).unwrap(), owned(nodes));
    }
    assert_eq!(job(&["n8", "n2"], Some("n[1-8]"), Some("8")).unwrap(), owned(&["n8", "n2"]));
    for (named, nodes, count, says) in [
        (&[][..], None, None, "SLURM_JOB_NODELIST is not set: this runs in no job of Slurm"),
        (&["n9"], Some("n[1-8]"), None, "n9 is no node of this job"),
        (
            &[],
            Some("n[1-3]"),
            Some("4"),
            "SLURM_JOB_NODELIST names 3 nodes, and SLURM_JOB_NUM_NODES is 4",
        ),
        (
            &[],
            Some("n[1-"),
            None,
            "SLURM_JOB_NODELIST: 'n[1-' has a bracket without its other half",
        ),
    ] {
        assert_eq!(job(named, nodes, count).unwrap_err().to_string(), says);
    }
}

#[test]
fn srun_is_called_for_one_task_a_node_and_never_told_the_key() {
    let (key, stop) = (Key::random().unwrap(), AtomicBool::new(false));
    let binary = Path::new("/opt/narrows");
    let order = Order { binary, key: &key, port: 7500, stop: &stop };
    let words = words(&["n1", "n2"], &order, "10.0.0.1,10.0.0.2");
    let told = words.join(" ");
    let begins = "--nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist=n1,n2 --overlap --mem=0 \
                  --cpu-bind=none --mpi=none --no-kill --kill-on-bad-exit=0 --wait=0 --input=all \
                  --output=all --label --export=ALL --job-name=narrows-agents sh -c ";
    assert!(told.starts_with(begins), "{told}");
    assert!(told.ends_with(" /opt/narrows 7500 10.0.0.1,10.0.0.2"), "{told}");
    assert!(!told.contains(&key.show()) && !REMOTE.contains('\''));
    let command = of_slurm("srun");
    let kept = |name: &str| command.get_envs().any(|(is, _)| is == name);
    assert!(kept("PATH") && !kept("NARROWS_KEY"));
}
