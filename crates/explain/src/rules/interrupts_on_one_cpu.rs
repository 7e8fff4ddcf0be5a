//! `interrupts-on-one-cpu`: does one CPU serve all queues of a fast NIC?
//!
//! Several queues help only when several CPUs serve them. Judged from 10 Gb/s, with two queues or
//! more and four CPUs or more.

use super::evidence;
use crate::survey::{Survey, no_device, not_so};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Missing, NotSo, Verdict, Weight};

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
    let mut survey = Survey::default();
    let fast = survey.fast_nics(host, SPEED_BPS);
    if fast.is_empty() {
        return survey.conclude(no_device(Devices::FastNic));
    }
    let Some(online) = survey.need("online CPUs", &host.cpu.online) else {
        return survey.conclude(not_so(NotSo::NoCpu));
    };
    if online.len() < CPUS {
        return survey.conclude(not_so(NotSo::Cpus(online.len())));
    }
    for nic in fast {
        let queues = survey.need(format!("queues of {}", nic.name), &nic.queues);
        let name = format!("CPUs of the interrupts of {}", nic.name);
        let cpus = survey.need(name.as_str(), &nic.irq_cpus);
        let (Some(queues), Some(cpus)) = (queues.map(|queues| queues.rx), cpus) else { continue };
        let from = nic.irq_cpus.source().0.clone();
        match cpus.as_slice() {
            [] => survey.lacks(Missing::malformed(&name, &from, "no interrupt")),
            [one] if queues >= 2 => {
                let name = &nic.name;
                let says =
                    format!("CPU {one} serves the interrupts of all {queues} queues of {name}");
                survey.found(Finding {
                    rule: RULE.name.into(),
                    weight: Weight::Advice,
                    evidence: vec![evidence(says.clone(), from)],
                    says,
                    worth: None,
                    remedy: "spread them over the CPUs of the NIC's node, or start irqbalance"
                        .into(),
                });
            }
            several => {
                let cpus = several.len();
                let says = format!("{} has {queues} queues, served by {cpus} CPUs", nic.name);
                survey.fine(says, from);
            }
        }
    }
    survey.conclude(no_device(Devices::FastNic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Cpu, Host, Nic, Queues};

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
        assert!(is_idle(&of_host(&RULE, host(vec![0], 8, 1e9))));
    }
}
