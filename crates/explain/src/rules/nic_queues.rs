//! `nic-queues`: does one queue carry a fast NIC on a host with many CPUs?
//!
//! Packets of one queue are handled by one CPU at a time, about 42 Gb/s with all offloads and a
//! few million packets a second without.

use super::evidence;
use crate::survey::{Survey, no_device, not_so};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "nic-queues",
    asks: "Does one queue carry a fast NIC on a host with many CPUs?",
    of_host: true,
    judge,
};

/// Below both of these one queue is enough.
const SPEED_BPS: f64 = 10e9;
const CPUS: usize = 4;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let mut survey = Survey::default();
    let fast = survey.fast_nics(host, SPEED_BPS);
    if fast.is_empty() {
        return survey.conclude(no_device(Devices::FastNic));
    }
    let Some(cpus) = survey.need("online CPUs", &host.cpu.online).map(Vec::len) else {
        return survey.conclude(not_so(NotSo::NoCpu));
    };
    for nic in fast {
        let Some(queues) = survey.need(format!("queues of {}", nic.name), &nic.queues) else {
            continue;
        };
        if queues.rx > 1 || cpus < CPUS {
            let says = format!("{} has {} receive queues, {cpus} CPUs", nic.name, queues.rx);
            survey.fine(says, nic.queues.source().0.clone());
        } else {
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("{} receives by one queue, and so by one of {cpus} CPUs", nic.name),
                evidence: vec![evidence("1 receive queue", nic.queues.source().0.clone())],
                worth: None,
                remedy: format!("ethtool -L {} combined {}", nic.name, cpus.min(16)),
            });
        }
    }
    survey.conclude(no_device(Devices::FastNic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Host, Nic, Queues};

    #[test]
    fn one_queue_is_found_where_it_matters() {
        let host = |rx: u32, cpus: u32| {
            let nic = Nic {
                physical: true,
                speed_bps: known(BitsPerSecond(100e9)),
                queues: known(Queues { rx, tx: rx }),
                ..Nic::default()
            };
            let mut host = Host { nics: vec![nic], ..Host::default() };
            host.cpu.online = known((0..cpus).collect());
            host
        };
        assert!(is_found(&of_host(&RULE, host(1, 16))));
        assert!(is_clear(&of_host(&RULE, host(16, 16))));
        assert!(is_clear(&of_host(&RULE, host(1, 2))));
    }
}
