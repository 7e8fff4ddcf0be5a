//! `interrupts-isolated`: are interrupts served on CPUs that were to be left alone?
//!
//! CPUs named by isolcpus or nohz_full are kept free for one program; a NIC's interrupts on them
//! take its time, and the program that was to be undisturbed is not.

use super::evidence;
use crate::survey::{Survey, is_kernel_read, no_device, not_so};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::result::{Devices, Finding, Missing, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "interrupts-isolated",
    asks: "Are interrupts served on isolated CPUs?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let mut survey = Survey::default();
    let mut alone: Vec<u32> = Vec::new();
    for (name, list) in [("isolated", &host.cpu.isolated), ("tickless", &host.cpu.tickless)] {
        match list {
            Fact::Known { value, .. } => alone.extend(value),
            // A kernel without the file cannot keep CPUs so.
            Fact::Absent { .. } if !list.is_unasked() => {}
            other => survey.lacks(Missing::fact(format!("{name} CPUs"), other)),
        }
    }
    if alone.is_empty() && !is_kernel_read(host) {
        survey.lacks(Missing::unread("isolated CPUs"));
    }
    // Every CPU isolated leaves nowhere else to go.
    let elsewhere = host.cpu.online.value().is_none_or(|all| all.len() > alone.len());
    for nic in host.physical_nics().filter(|_| !alone.is_empty() && elsewhere) {
        let name = format!("CPUs of the interrupts of {}", nic.name);
        let Some(cpus) = survey.need(name, &nic.irq_cpus) else { continue };
        let from = nic.irq_cpus.source().0.clone();
        let on: Vec<u32> = cpus.iter().copied().filter(|cpu| alone.contains(cpu)).collect();
        if on.is_empty() {
            survey.fine(format!("{} interrupts CPUs {cpus:?}, none isolated", nic.name), from);
            continue;
        }
        let says = format!("Interrupts of {} are served on isolated CPUs {on:?}", nic.name);
        survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Advice,
            evidence: vec![evidence(says.clone(), from)],
            says,
            worth: None,
            remedy: "move them to the other CPUs: /proc/irq/*/smp_affinity_list, or irqaffinity= \
                     on the kernel's command line"
                .into(),
        });
    }
    survey.conclude(match alone.is_empty() {
        true => not_so(NotSo::NoIsolatedCpu),
        false if elsewhere => no_device(Devices::PhysicalNic),
        false => not_so(NotSo::AllIsolated),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown, known, of_host};
    use narrows_model::host::{Cpu, Host, Nic};

    #[test]
    fn an_interrupt_on_an_isolated_cpu_is_found() {
        let host = |irq: Vec<u32>, isolated: Vec<u32>| Host {
            cpu: Cpu {
                online: Fact::known(vec![0, 1, 2, 3], "/sys/devices/system/cpu/online"),
                isolated: known(isolated),
                tickless: Fact::absent("this kernel"),
                ..Cpu::default()
            },
            nics: vec![Nic { physical: true, irq_cpus: known(irq), ..Nic::default() }],
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host(vec![0, 3], vec![2, 3]))));
        assert!(is_clear(&of_host(&RULE, host(vec![0, 1], vec![2, 3]))));
        assert!(is_idle(&of_host(&RULE, host(vec![0, 1], Vec::new()))));
        assert!(is_unknown(&of_host(&RULE, Host::default())));
    }
}
