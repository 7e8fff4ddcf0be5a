//! `work-on-remote-node`: did this host's end work on another node than its NIC or its memory?
//!
//! Each byte then crosses the link between sockets. Dell's note on socket-direct NICs measured 24 %
//! more bandwidth and 40 % less latency on the NIC's own node. Judged for threads that were pinned.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::survey::not_so;
use crate::{Case, Rule};
use narrows_model::host::Host;
use narrows_model::result::{Missing, Needed, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "work-on-remote-node",
    asks: "Did this host's end work on another node than its NIC or its memory?",
    of_host: false,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    if host.nodes.len() == 1 {
        return Verdict::NotApplicable { why: not_so(NotSo::OneNode) };
    }
    let needs = Needed::Pinned;
    measured::judge(case, needs, None, |cell| look(host, cell))
}

fn look(host: &Host, cell: &Cell<'_>) -> Looked {
    let near = cell.trial.controllers().ok_or(Blind::OtherKind)?;
    let (cpus, memory) = (&near.place.cpus, near.place.node);
    let first = cpus.0.first().ok_or(Blind::OtherKind)?;
    let node = host.node_of_cpu(*first);
    let on = node.ok_or_else(|| Blind::Lacks(Missing::unread(format!("node of CPU {first}"))))?;
    let own = cell.summary.settings.ends().iter().filter(|end| end.host == near.host);
    let nic = own.filter_map(|end| host.nic(end.effective.interface.as_deref()?)).next();
    let nic_node = nic.and_then(|nic| Some((nic.name.as_str(), *nic.node.value()?)));
    if nic_node.is_none() && memory.is_none() {
        return Err(Blind::OtherKind);
    }
    let away = nic_node.filter(|(_, node)| *node != on);
    let far = memory.filter(|node| *node != on);
    let seen = format!("worked on CPUs {:?} of node {on}", cpus.0);
    let wrong = (away.is_some() || far.is_some()).then(|| {
        let mut of = Vec::new();
        of.extend(away.map(|(name, node)| format!("{name} is on node {node}")));
        of.extend(far.map(|node| format!("its buffers are on node {node}")));
        let says = format!("{} ran on node {on} here, and {}", cell.trial.label, of.join(" and "));
        let seen = format!("{seen}; {}", of.join("; "));
        let remedy = "run on the NIC's node: -A nic,nic, and leave memory to that node";
        finding(&RULE, cell, Weight::Advice, says, seen, remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::known;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::host::{CpuPlace, Nic};
    use narrows_model::load::Role;
    use narrows_model::trial::{EndSpec, Placement};

    #[test]
    fn another_node_than_the_nic_is_found() {
        let study = |cpu: u32, memory: Option<u32>| {
            let mut study = stream("tcp-stream");
            let place = |cpu: u32| CpuPlace { cpu, node: Some(cpu / 4), ..CpuPlace::default() };
            study.host.cpu.places = (0..8).map(place).collect();
            let nic = Nic { name: "e0".into(), node: known(0), ..Nic::default() };
            study.host.nics.push(nic);
            let place = Placement { node: memory, ..Placement::on([cpu]) };
            study.trials[0].ends = EndSpec::pair(Placement::default(), place, false);
            for end in
                study.records.iter_mut().filter_map(|record| record.of_mut(Role::Sender).next())
            {
                end.effective.interface = Some("e0".into());
            }
            read(&mut study, "tcp-info", "flow0.rtt_ns", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(5, None))));
        assert!(is_found(&of_study(&RULE, &study(1, Some(1)))));
        assert!(is_clear(&of_study(&RULE, &study(1, None))));
        assert!(is_clear(&of_study(&RULE, &study(1, Some(0)))));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
