//! `memory-limit`: is there room for buffers larger than the caches?
//!
//! Memory is measured with at least four times the last-level caches (STREAM's rule). A control
//! group that allows less makes memory figures those of a cache.

use super::evidence;
use crate::{Case, Rule};
use narrows_model::result::{Finding, Missing, Verdict, Weight};
use narrows_model::{Bytes, Fact};

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
    if cache.0 == 0 {
        return Verdict::unknown(Missing::unread("size of the last-level caches"));
    }
    let fact = &host.memory.cgroup_limit_bytes;
    let from = fact.source().0.clone();
    match fact {
        Fact::Known { value: limit, .. } if limit.0 < cache.0.saturating_mul(CACHES) => {
            Verdict::Found { findings: vec![short(*limit, cache, from)] }
        }
        Fact::Known { value: limit, .. } => {
            Verdict::clear(evidence(format!("limit {limit}, caches {cache}"), from))
        }
        Fact::Absent { .. } if !fact.is_unasked() => {
            Verdict::clear(evidence("no limit on this control group's memory", from))
        }
        other => Verdict::unknown(Missing::fact("limit of this control group's memory", other)),
    }
}

fn short(limit: Bytes, cache: Bytes, from: String) -> Finding {
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Caution,
        says: format!("This control group may have {limit} of memory, the caches are {cache}"),
        evidence: vec![evidence(format!("limit {limit}"), from)],
        worth: None,
        remedy: "raise memory.max of the control group, or measure outside of it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, known, of_host};
    use narrows_model::Bytes;
    use narrows_model::host::{Cache, Host};

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
        assert!(is_unknown(&of_host(&RULE, Host::default())));
    }
}
