//! `nic-remote-node`: does a NIC hang on a node that its work is not on?
//!
//! Every byte then crosses the link between the sockets. Dell's note on socket-direct NICs measured
//! 24 % more bandwidth and 40 % less latency on the NIC's own node.

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::host::{Host, Nic};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "nic-remote-node",
    asks: "Does a NIC hang on a node that its work is not on?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let working: Vec<u32> =
        host.nodes.iter().filter(|node| !node.cpus.is_empty()).map(|node| node.id).collect();
    if working.len() <= 1 {
        return Verdict::Clear { because: "all CPUs are on one node".into() };
    }
    let (mut findings, mut missing) = (Vec::new(), Vec::new());
    let mut judged = 0;
    for nic in host.physical_nics() {
        let Some(node) = nic.node.value() else {
            missing.push(format!("node of {}: {}", nic.name, nic.node.gap().unwrap_or_default()));
            continue;
        };
        judged += 1;
        findings.extend(without_memory(host, nic, *node));
        findings.extend(without_cpus(host, nic, *node));
        findings.extend(interrupts_elsewhere(host, nic, *node));
    }
    match (findings.is_empty(), judged) {
        (false, _) => Verdict::Found { findings },
        (true, 0) if missing.is_empty() => {
            Verdict::Clear { because: "there is no NIC with a device behind it".into() }
        }
        (true, _) if !missing.is_empty() => Verdict::Unknown { missing },
        _ => Verdict::Clear {
            because: "every NIC's node has memory, usable CPUs and the NIC's interrupts".into(),
        },
    }
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
