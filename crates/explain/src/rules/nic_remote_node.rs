//! `nic-remote-node`: does a NIC hang on a node that its work is not on?
//!
//! Every byte then crosses the link between the sockets. Dell's note on socket-direct NICs measured
//! 24 % more bandwidth and 40 % less latency on the NIC's own node.

use super::evidence;
use crate::survey::{Survey, no_device, not_so};
use crate::{Case, Rule};
use narrows_model::host::{Host, Nic};
use narrows_model::result::{Devices, Finding, Missing, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "nic-remote-node",
    asks: "Is a NIC attached to another node than its work?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let working: Vec<u32> =
        host.nodes.iter().filter(|node| !node.cpus.is_empty()).map(|node| node.id).collect();
    match working.as_slice() {
        [] => return Verdict::unknown(Missing::unread("CPUs of the nodes")),
        [_] => return Verdict::NotApplicable { why: not_so(NotSo::CpusOnOneNode) },
        _ => {}
    }
    let mut survey = Survey::default();
    for nic in host.physical_nics() {
        let Some(node) = survey.need(format!("node of {}", nic.name), &nic.node).copied() else {
            continue;
        };
        let looks = [without_memory, without_cpus, interrupts_elsewhere];
        for finding in looks.iter().filter_map(|look| look(host, nic, node)) {
            survey.found(finding);
        }
        survey.need("CPUs that this process may use", &host.cpu.allowed);
        let at = host.nodes.iter().find(|have| have.id == node);
        match at.map(|at| &at.memory_bytes) {
            Some(memory) => {
                survey.need(format!("memory of node {node}"), memory);
            }
            None => survey.lacks(Missing::unread(format!("node {node}"))),
        }
        let interrupts = match nic.irq_cpus.value() {
            Some(cpus) => format!("its interrupts go to CPUs {cpus:?}"),
            None => "its interrupts are not reported".to_owned(),
        };
        let says =
            format!("{} is on node {node}, which has memory and CPUs; {interrupts}", nic.name);
        survey.fine(says, nic.node.source().0.clone());
    }
    survey.conclude(no_device(Devices::PhysicalNic))
}

fn finding(nic: &Nic, node: u32, says: String, from: String, remedy: String) -> Finding {
    let at = evidence(format!("{} is on node {node}", nic.name), nic.node.source().0.clone());
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        evidence: vec![at, evidence(says.clone(), from)],
        says,
        worth: None,
        remedy,
    }
}

fn without_memory(host: &Host, nic: &Nic, node: u32) -> Option<Finding> {
    let memory = &host.nodes.iter().find(|have| have.id == node)?.memory_bytes;
    (memory.value()?.0 == 0).then(|| {
        let says = format!("{} is on node {node}, which has no memory", nic.name);
        let remedy = "populate that socket's memory, or move the card to a slot of another socket";
        finding(nic, node, says, memory.source().0.clone(), remedy.into())
    })
}

fn without_cpus(host: &Host, nic: &Nic, node: u32) -> Option<Finding> {
    let allowed = host.cpu.allowed.value()?;
    let on_node = allowed.iter().any(|cpu| host.node_of_cpu(*cpu) == Some(node));
    (!on_node).then(|| {
        let says = format!("This process may use no CPU of node {node}, where {} is", nic.name);
        let from = host.cpu.allowed.source().0.clone();
        finding(
            nic,
            node,
            says,
            from,
            format!("run with: numactl --cpunodebind={node} --membind={node}"),
        )
    })
}

fn interrupts_elsewhere(host: &Host, nic: &Nic, node: u32) -> Option<Finding> {
    let cpus = nic.irq_cpus.value()?;
    let away =
        cpus.iter().filter(|cpu| host.node_of_cpu(**cpu).is_some_and(|at| at != node)).count();
    (away > 0).then(|| {
        let says = format!(
            "{away} of {} CPUs that serve the interrupts of {} are not on its node {node}",
            cpus.len(),
            nic.name
        );
        let remedy = format!("set the affinity of its interrupts to the CPUs of node {node}");
        finding(nic, node, says, nic.irq_cpus.source().0.clone(), remedy)
    })
}
