//! mpi4py's own benchmarks beside ours: `narrows mpi` has the launcher start them as it starts its
//! own ranks, on the same hosts over the same fabric.

use super::words::Takes;
use super::{Engine, Runs, mpi};
use narrows_model::of_ranks::PATTERNS;
use narrows_model::workload::Workload;
use std::borrow::Cow::Borrowed;

/// How the ranks are started, and what they tell.
pub static ENGINE: Engine = Engine {
    name: "mpi4py",
    program: |_| "mpirun",
    server_program: None,
    runs: Runs::Ranks,
    package: "openmpi-bin",
    // Its ring of two ranks is a ping-pong.
    kinds: &[Workload::Other(Borrowed(PATTERNS[0].1))],
    takes: &["length"],
    port: 0,
    server: |_, _| Vec::new(),
    client: |trial, address, _| {
        let mut all = mpi::words(trial, &mpi::with_here(address));
        all.extend(["--program", "mpi4py"].map(str::to_owned));
        all
    },
    client_words: &[(Takes::Fabric, &["--fabric"])],
    server_words: &[],
    reach: mpi::ENGINE.reach,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_ping_pong_is_one_of_its_rings() {
        let words: Vec<&str> = ENGINE.kinds.iter().map(Workload::as_str).collect();
        assert_eq!(words, ["mpi-latency"]);
    }
}
