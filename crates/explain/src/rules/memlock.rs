//! `memlock`: may programs pin too little memory for RDMA?
//!
//! Verbs pin what a card reads and writes. The usual limit of 8 MiB (or 64 KiB on older systems) is
//! gone after a few buffers, and registration fails with ENOMEM. Judged where there is an RDMA
//! device.

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Missing, Verdict, Weight};

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
    let mut survey = Survey::default();
    if host.rdma.is_empty() {
        return survey.conclude(no_device(Devices::Rdma));
    }
    const NAME: &str = "process.memlock";
    let Some(fact) = host.tuning.get(NAME) else {
        return Verdict::unknown(Missing::unread(NAME));
    };
    let Some(value) = survey.need(NAME, fact) else {
        return survey.conclude(no_device(Devices::Rdma));
    };
    let from = fact.source().0.clone();
    let seen = format!("Max locked memory {value}");
    match value.parse::<u64>() {
        Ok(bytes) if bytes < PINNED_BYTES => survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            says: format!("A program may pin {bytes} B: RDMA needs its buffers pinned"),
            evidence: vec![evidence(seen, from)],
            worth: None,
            remedy: "ulimit -l unlimited, or `* - memlock unlimited` in /etc/security/limits.conf"
                .into(),
        }),
        Err(_) if value != "unlimited" => survey.lacks(Missing::malformed(NAME, &from, value)),
        _ => survey.fine(seen, from),
    }
    survey.conclude(no_device(Devices::Rdma))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::host::{Host, RdmaDevice};

    #[test]
    fn a_small_limit_is_found_where_there_is_a_device() {
        let host = |limit: &str, devices: usize| {
            let mut host = Host { rdma: vec![RdmaDevice::default(); devices], ..Host::default() };
            host.tuning.insert("process.memlock".into(), known(limit.into()));
            host
        };
        assert!(is_found(&of_host(&RULE, host("8388608", 1))));
        assert!(is_clear(&of_host(&RULE, host("unlimited", 1))));
        assert!(is_idle(&of_host(&RULE, host("8388608", 0))));
    }
}
