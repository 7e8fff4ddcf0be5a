//! `memlock`: may programs pin too little memory for RDMA?
//!
//! Verbs pin what a card reads and writes. The usual limit of 8 MiB (or 64 KiB on older systems) is
//! gone after a few buffers, and registration fails with ENOMEM. Judged where there is an RDMA
//! device.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "memlock",
    asks: "May programs pin too little memory for RDMA?",
    of_host: true,
    judge,
};

/// Enough for a few dozen queue pairs with their buffers.
const PINNED_BYTES: u64 = 64 << 20;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let limit = host.tuning.get("process.memlock");
    let limit = limit.and_then(|fact| Some((fact.value()?, fact.source())));
    let (mut findings, mut looked) = (Vec::new(), false);
    if let (Some((value, from)), false) = (limit, host.rdma.is_empty()) {
        looked = true;
        if let Some(bytes) = value.parse::<u64>().ok().filter(|bytes| *bytes < PINNED_BYTES) {
            findings.push(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("A program may pin {bytes} B: RDMA needs its buffers pinned"),
                evidence: vec![evidence(format!("Max locked memory {value}"), from.0.clone())],
                worth: None,
                remedy: "ulimit -l unlimited, or `* - memlock unlimited` in \
                         /etc/security/limits.conf"
                    .into(),
            });
        }
    }
    conclude(findings, looked, "enough memory may be pinned", "there is no RDMA device")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{Host, RdmaDevice};

    #[test]
    fn a_small_limit_is_found_where_there_is_a_device() {
        let host = |limit: &str, devices: usize| {
            let mut host = Host { rdma: vec![RdmaDevice::default(); devices], ..Host::default() };
            host.tuning.insert("process.memlock".into(), known(limit.into()));
            host
        };
        assert!(is_found(&of_host(&RULE, host("8388608", 1))));
        assert!(is_clear(&of_host(&RULE, host("unlimited", 1))));
        assert!(is_clear(&of_host(&RULE, host("8388608", 0))));
    }
}
