//! `numa-balancing`: did the kernel move pages that were placed by hand?
//!
//! Automatic balancing unmaps pages now and then to see who touches them, and moves them: it helps
//! programs that nobody placed, and costs faults in runs whose memory is bound to a node (kernel,
//! Documentation/admin-guide/sysctl/kernel.rst, numa_balancing).

use crate::measured::{self, Blind, finding};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::load::Role;
use narrows_model::result::{Activity, Missing, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "numa-balancing",
    asks: "Did the kernel move pages that were bound to a node?",
    of_host: false,
    judge,
};

const SETTING: &str = "kernel.numa_balancing";

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let fact = host.tuning.get(SETTING);
    let idle = Some(Activity::BindsMemory);
    measured::judge(case, Needed::BoundMemory, idle, |cell| {
        let mut ends = cell.trial.ends.iter().filter(|end| end.role != Role::Background);
        let bound = ends.any(|end| end.place.node.is_some());
        if !bound {
            return Err(Blind::OtherKind);
        }
        let value = match fact {
            Some(Fact::Known { value, .. }) => value,
            Some(Fact::Absent { from, .. }) if !fact.is_some_and(Fact::is_unasked) => {
                return cell.saw(format!("this kernel has no {SETTING} ({from})"), None);
            }
            Some(other) => return Err(Blind::Lacks(Missing::fact(SETTING, other))),
            None => return Err(Blind::Lacks(Missing::unread(SETTING))),
        };
        let seen = format!("{SETTING} = {value} on {} nodes", host.nodes.len());
        let wrong = (value != "0" && host.nodes.len() > 1).then(|| {
            let says = format!(
                "{} has its memory bound to a node, and the kernel moves pages on its own",
                cell.trial.label
            );
            let remedy = "sysctl -w kernel.numa_balancing=0 while measuring";
            finding(&RULE, cell, Weight::Caution, says, seen.clone(), remedy)
        });
        cell.saw(seen, wrong)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::known;
    use crate::setting::testing::{is_clear, is_found, is_idle};
    use narrows_model::host::Node;
    use narrows_model::trial::{EndSpec, Placement};

    #[test]
    fn balancing_of_bound_memory_is_told() {
        let study = |value: &str, bound: bool| {
            let mut study = stream("tcp-stream");
            study.host.nodes = vec![Node::default(), Node { id: 1, ..Node::default() }];
            study.host.tuning.insert(SETTING.into(), known(value.into()));
            let place = Placement { node: bound.then_some(0), ..Placement::default() };
            study.trials[0].ends = EndSpec::pair(Placement::default(), place, false);
            read(&mut study, "tcp-info", "flow0.rtt_ns", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study("1", true))));
        assert!(is_clear(&of_study(&RULE, &study("0", true))));
        assert!(is_idle(&of_study(&RULE, &study("1", false))));
    }
}
