//! `interrupts-on-one-cpu`: does one CPU serve all queues of a fast NIC?
//!
//! Several queues help only when several CPUs serve them. Judged from 10 Gb/s, with two queues or
//! more and four CPUs or more.

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "interrupts-on-one-cpu",
    asks: "Does one CPU serve all queues of a fast NIC?",
    of_host: true,
    judge,
};

const SPEED_BPS: f64 = 10e9;
const CPUS: usize = 4;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let (mut findings, mut looked) = (Vec::new(), false);
    for nic in host.physical_nics() {
        let fast = nic.speed_bps.value().is_some_and(|speed| speed.0 >= SPEED_BPS);
        let many = host.cpu.online.value().is_some_and(|cpus| cpus.len() >= CPUS);
        let queues = nic.queues.value().map_or(0, |queues| queues.rx);
        let Some(cpus) = nic.irq_cpus.value().filter(|cpus| fast && many && !cpus.is_empty())
        else {
            continue;
        };
        looked = true;
        if queues >= 2 && cpus.len() == 1 {
            let says = format!(
                "CPU {} serves the interrupts of all {queues} queues of {}",
                cpus[0], nic.name
            );
            findings.push(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), nic.irq_cpus.source().0.clone())],
                says,
                worth: None,
                remedy: "spread them over the CPUs of the NIC's node, or start irqbalance".into(),
            });
        }
    }
    conclude(findings, looked, "interrupts go to several CPUs", "no fast NIC tells its interrupts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::BitsPerSecond;
    use narrows_facts::host::{Cpu, Host, Nic, Queues};

    #[test]
    fn eight_queues_on_one_cpu_are_found() {
        let host = |cpus: Vec<u32>, queues: u32, speed: f64| {
            let nic = Nic {
                physical: true,
                speed_bps: known(BitsPerSecond(speed)),
                queues: known(Queues { rx: queues, tx: queues }),
                irq_cpus: known(cpus),
                ..Nic::default()
            };
            let cpu = Cpu { online: known((0..8).collect()), ..Cpu::default() };
            Host { cpu, nics: vec![nic], ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host(vec![0], 8, 25e9))));
        assert!(is_clear(&of_host(&RULE, host(vec![0, 1, 2], 8, 25e9))));
        assert!(is_clear(&of_host(&RULE, host(vec![0], 1, 25e9))));
        assert!(is_clear(&of_host(&RULE, host(vec![0], 8, 1e9))));
    }
}
