//! `interrupts-isolated`: are interrupts served on CPUs that were to be left alone?
//!
//! CPUs named by isolcpus or nohz_full are kept free for one program; a NIC's interrupts on them
//! take its time, and the program that was to be undisturbed is not.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "interrupts-isolated",
    asks: "Are interrupts served on CPUs that were to be left alone?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let lists = [&host.cpu.isolated, &host.cpu.tickless];
    let alone: Vec<u32> = lists.iter().filter_map(|list| list.value()).flatten().copied().collect();
    let mut findings = Vec::new();
    for nic in host.physical_nics() {
        let Some(cpus) = nic.irq_cpus.value() else { continue };
        let on: Vec<u32> = cpus.iter().copied().filter(|cpu| alone.contains(cpu)).collect();
        // Every CPU isolated leaves nowhere else to go.
        if on.is_empty() || host.cpu.online.value().is_some_and(|all| all.len() <= alone.len()) {
            continue;
        }
        let says = format!("Interrupts of {} are served on isolated CPUs {on:?}", nic.name);
        findings.push(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            evidence: vec![evidence(says.clone(), nic.irq_cpus.source().0.clone())],
            says,
            worth: None,
            remedy: "move them to the other CPUs: /proc/irq/*/smp_affinity_list, or irqaffinity= \
                     on the kernel's command line"
                .into(),
        });
    }
    let nothing = "no CPU is kept free of other work";
    conclude(findings, !alone.is_empty(), "isolated CPUs serve no NIC", nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{Cpu, Host, Nic};

    #[test]
    fn an_interrupt_on_an_isolated_cpu_is_found() {
        let host = |irq: Vec<u32>, isolated: Vec<u32>| Host {
            cpu: Cpu {
                online: known(vec![0, 1, 2, 3]),
                isolated: known(isolated),
                ..Cpu::default()
            },
            nics: vec![Nic { physical: true, irq_cpus: known(irq), ..Nic::default() }],
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host(vec![0, 3], vec![2, 3]))));
        assert!(is_clear(&of_host(&RULE, host(vec![0, 1], vec![2, 3]))));
        assert!(is_clear(&of_host(&RULE, host(vec![0, 1], Vec::new()))));
    }
}
