//! `memory-limit`: is there room for buffers larger than the caches?
//!
//! Memory is measured with at least four times the last-level caches (STREAM's rule). A control
//! group that allows less makes memory figures those of a cache.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "memory-limit",
    asks: "Is there room for buffers larger than the caches?",
    of_host: true,
    judge,
};

/// STREAM's rule: four times the caches.
const CACHES: u64 = 4;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let cache = host.last_level_cache_bytes();
    let limit = host.memory.cgroup_limit_bytes.value();
    let short = limit.filter(|limit| limit.0 < cache.0.saturating_mul(CACHES));
    let findings = short.map(|limit| Finding {
        rule: RULE.name.into(),
        weight: Weight::Caution,
        says: format!("This control group may have {limit} of memory, the caches are {cache}"),
        evidence: vec![evidence(
            format!("limit {limit}"),
            host.memory.cgroup_limit_bytes.source().0.clone(),
        )],
        worth: None,
        remedy: "raise memory.max of the control group, or measure outside of it".into(),
    });
    let clear = "no control group holds memory below four times the caches";
    conclude(findings.into_iter().collect(), true, clear, clear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::Bytes;
    use narrows_facts::host::{Cache, Host};

    #[test]
    fn a_limit_near_the_caches_is_found() {
        let host = |limit: u64| {
            let cache = Cache {
                level: 3,
                kind: "Unified".into(),
                size_bytes: Bytes(32 << 20),
                cpus: vec![0],
            };
            let mut host = Host::default();
            host.cpu.caches = vec![cache];
            host.memory.cgroup_limit_bytes = known(Bytes(limit));
            host
        };
        assert!(is_found(&of_host(&RULE, host(100 << 20))));
        assert!(is_clear(&of_host(&RULE, host(1 << 30))));
        assert!(is_clear(&of_host(&RULE, Host::default())));
    }
}
