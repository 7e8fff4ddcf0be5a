//! How many files a process may have open: each flow of an end is one, and each agent of a
//! controller two.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// What an end has open beside its flows: pipes, counters, files that are read on the way.
const BESIDE: u64 = 64;

/// Raises the limit to what a process of so many flows needs, as far as it may: shells start
/// programs with 1,024. Where it may not, the flow that is one too many is told.
pub fn allow(flows: usize) {
    let needed = flows as u64 + BESIDE;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && let Some(soft) = raised(needed, soft, hard)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft, hard);
    }
}

/// The soft limit to set; `None` where it is enough, or as high as it may be.
fn raised(needed: u64, soft: u64, hard: u64) -> Option<u64> {
    Some(needed.min(hard)).filter(|most| *most > soft)
}

#[cfg(test)]
mod tests {
    use super::raised;

    #[test]
    fn a_limit_is_raised_as_far_as_it_may_be_and_never_lowered() {
        assert_eq!(raised(1100, 1024, 1 << 20), Some(1100));
        assert_eq!(raised(1100, 1024, 1050), Some(1050));
        assert_eq!(raised(1100, 1024, 1024), None);
        assert_eq!(raised(100, 1024, 4096), None);
        assert_eq!(raised(1100, u64::MAX, u64::MAX), None, "without a limit");
    }
}
