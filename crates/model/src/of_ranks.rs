//! What ranks of an MPI do, by the names of `narrows mpi` and by the words of their workloads,
//! which are those of the OSU benchmarks.

use crate::workload::Workload;

/// Each pattern of `narrows mpi`, and the word of its workload.
pub const PATTERNS: [(&str, &str); 6] = [
    ("pingpong", "mpi-latency"),
    ("bandwidth", "mpi-bandwidth"),
    ("both-ways", "mpi-bi-directional-bandwidth"),
    ("pairs", "mpi-multiple-bandwidth"),
    ("allreduce", "mpi-allreduce-latency"),
    ("alltoall", "mpi-all-to-all-latency"),
];

/// The pattern of a workload; `None` of what no ranks do.
pub fn pattern_of(workload: &Workload) -> Option<&'static str> {
    let word = workload.as_str();
    PATTERNS.into_iter().find(|(_, of)| *of == word).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_found_by_its_workload_and_nothing_else_is() {
        for (name, word) in PATTERNS {
            assert_eq!(pattern_of(&Workload::from(word)), Some(name));
        }
        assert_eq!(pattern_of(&Workload::from("mpi-reduce-latency")), None);
        assert_eq!(pattern_of(&Workload::MemoryLatency), None);
    }
}
