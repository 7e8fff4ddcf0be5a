//! `cpu-quota`: may this process use less CPU time than it has CPUs?
//!
//! A control group's quota stops all threads once its share of each period (usually 100 ms) is used
//! up: throughput falls, and the tail of latency becomes tens of milliseconds (kernel,
//! Documentation/scheduler/sched-bwc.rst).

use super::evidence;
use crate::survey::{Survey, not_so};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::result::{Finding, Missing, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "cpu-quota",
    asks: "Does a quota give this process less CPU time than it has CPUs?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let cpu = &case.study.host.cpu;
    let mut survey = Survey::default();
    let cpus = survey.need("CPUs that this process may use", &cpu.allowed).map_or(0, Vec::len);
    let from = cpu.quota_cpus.source().0.clone();
    match &cpu.quota_cpus {
        Fact::Known { value, .. } if *value < cpus as f64 => {
            survey.found(small(*value, cpus, from))
        }
        Fact::Known { value, .. } => survey.fine(format!("quota {value:.2} of {cpus} CPUs"), from),
        Fact::Absent { .. } if !cpu.quota_cpus.is_unasked() => {
            survey.fine(format!("no quota on the time of {cpus} CPUs"), from);
        }
        fact => survey.lacks(Missing::fact("quota of CPU time", fact)),
    }
    survey.conclude(not_so(NotSo::NoCpu))
}

fn small(quota: f64, cpus: usize, from: String) -> Finding {
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Caution,
        says: format!("This process has {cpus} CPUs, and its quota allows the time of {quota:.2}"),
        evidence: vec![evidence(format!("quota {quota:.2} CPUs"), from)],
        worth: None,
        remedy: "run outside the control group, or raise its quota: cpu.max (cgroup v2), \
                 cpu.cfs_quota_us (v1), limits.cpu in Kubernetes"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, known, of_host};
    use narrows_model::host::{Cpu, Host};

    #[test]
    fn a_quota_below_the_cpus_is_found() {
        let host = |quota: f64| Host {
            cpu: Cpu { allowed: known(vec![0, 1]), quota_cpus: known(quota), ..Cpu::default() },
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host(0.5))));
        assert!(is_clear(&of_host(&RULE, host(2.0))));
        assert!(is_unknown(&of_host(&RULE, Host::default())));
        let mut free = host(2.0);
        free.cpu.quota_cpus = Fact::absent("/sys/fs/cgroup/cpu.max");
        assert!(is_clear(&of_host(&RULE, free)));
    }
}
