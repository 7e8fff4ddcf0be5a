//! `cpu-quota`: may this process use less CPU time than it has CPUs?
//!
//! A control group's quota stops all threads once its share of each period (usually 100 ms) is used
//! up: throughput falls, and the tail of latency becomes tens of milliseconds (kernel,
//! Documentation/scheduler/sched-bwc.rst).

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "cpu-quota",
    asks: "May this process use less CPU time than it has CPUs?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let cpu = &case.study.host.cpu;
    let cpus = cpu.allowed.value().map_or(0, Vec::len);
    let quota = cpu.quota_cpus.value().filter(|quota| **quota < cpus as f64);
    let findings = quota.map(|quota| Finding {
        rule: RULE.name.into(),
        weight: Weight::Caution,
        says: format!("This process has {cpus} CPUs and may use the time of {quota:.2}"),
        evidence: vec![evidence(
            format!("quota {quota:.2} CPUs"),
            cpu.quota_cpus.source().0.clone(),
        )],
        worth: None,
        remedy: "run outside the control group, or raise its cpu.max (in Kubernetes: limits.cpu)"
            .into(),
    });
    let clear = "no quota of CPU time below the CPUs it may use";
    conclude(findings.into_iter().collect(), true, clear, clear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{Cpu, Host};

    #[test]
    fn a_quota_below_the_cpus_is_found() {
        let host = |quota: f64| Host {
            cpu: Cpu { allowed: known(vec![0, 1]), quota_cpus: known(quota), ..Cpu::default() },
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host(0.5))));
        assert!(is_clear(&of_host(&RULE, host(2.0))));
        assert!(is_clear(&of_host(&RULE, Host::default())));
    }
}
