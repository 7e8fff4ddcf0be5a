//! `same-cpu`: did both ends share a CPU?
//!
//! Sender and receiver on one CPU take turns: the rate is that of neither, and tools that are
//! pinned by a copied command line do it often. Also found for the two threads of one core.

use crate::ends::End;
use crate::measured::{self, Blind, Cell, finding};
use crate::{Case, Rule};
use narrows_model::host::Host;
use narrows_model::load::Role;
use narrows_model::result::{Activity, Needed, Verdict, Weight};
use narrows_model::trial::{NetworkPath, Placement};

pub static RULE: Rule =
    Rule { name: "same-cpu", asks: "Did both ends share a CPU?", of_host: false, judge };

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let idle = Some(Activity::PinsBothInside);
    measured::judge(case, Needed::PinnedInside, idle, |cell| {
        let [receiver, sender] = [Role::Receiver, Role::Sender].map(|role| cell.trial.place(role));
        // Threads that may move between CPUs keep out of each other's way.
        let is_free = receiver.is_free() || sender.is_free();
        if is_free || !cell.summary.is_one_host() {
            return Err(Blind::OtherKind);
        }
        let (Some(receivers), Some(senders)) =
            (cpus(cell, receiver, cell.receiver()), cpus(cell, sender, cell.sender()))
        else {
            return Err(Blind::OtherKind);
        };
        let shared = receivers.iter().find_map(|receives| {
            let with = senders.iter().find(|sends| share_core(host, *receives, **sends))?;
            Some((*receives, *with))
        });
        let seen = format!("receiver on CPUs {receivers:?}, sender on CPUs {senders:?}");
        let wrong = shared.map(|(receives, sends)| {
            let what = if receives == sends {
                format!("CPU {receives}")
            } else {
                format!("the core of CPUs {receives} and {sends}")
            };
            let says = format!("Both ends of {} shared {what}", cell.trial.label);
            let remedy = "give the two ends different cores: -A LOCAL,REMOTE, and see what bound \
                          the processes (taskset -pc PID, cpuset of their control groups)";
            finding(&RULE, cell, Weight::Caution, says, seen.clone(), remedy)
        });
        cell.saw(seen, wrong)
    })
}

/// The CPUs that an end's threads were bound to, or, where only one is left to its process, that
/// one.
fn cpus(cell: &Cell<'_>, place: &Placement, end: Option<End<'_>>) -> Option<Vec<u32>> {
    if !place.cpus.0.is_empty() {
        return Some(place.taken(cell.trial.params.flows()).to_vec());
    }
    // A process that others bound (taskset, a cpuset) chose nothing itself.
    let allowed = end?.host.cpu.allowed.value()?;
    let is_one = allowed.len() == 1 && cell.trial.path == NetworkPath::Peer;
    is_one.then(|| allowed.clone())
}

fn share_core(host: &Host, one: u32, other: u32) -> bool {
    let core = |cpu: u32| {
        let place = host.cpu.places.iter().find(|place| place.cpu == cpu)?;
        Some((place.package, place.die, place.core?))
    };
    one == other || core(one).is_some_and(|at| core(other) == Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::known;
    use crate::setting::testing::{is_clear, is_found, is_idle};
    use narrows_model::host::{Cpu, CpuPlace};
    use narrows_model::trial::EndSpec;

    #[test]
    fn one_cpu_and_one_core_are_found() {
        let study = |receiver: u32, sender: u32| {
            let mut study = stream("tcp-stream");
            let place =
                |cpu: u32, core: u32| CpuPlace { cpu, core: Some(core), ..CpuPlace::default() };
            study.host.cpu.places = vec![place(0, 0), place(1, 1), place(2, 0)];
            study.trials[0].path = NetworkPath::Namespaces;
            let (receiver, sender) = (Placement::on([receiver]), Placement::on([sender]));
            study.trials[0].ends = EndSpec::pair(receiver, sender, false);
            read(&mut study, "tcp-info", "flow0.rtt_ns", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(0, 0))));
        assert!(is_found(&of_study(&RULE, &study(0, 2))));
        assert!(is_clear(&of_study(&RULE, &study(0, 1))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
        // Of a list each flow's thread has one CPU, in turn.
        let of_lists = |flows: u32| {
            let mut study = study(0, 1);
            let (receiver, sender) = (Placement::on([1, 0]), Placement::on([0, 1]));
            study.trials[0].ends = EndSpec::pair(receiver, sender, false);
            study.trials[0].params.streams = flows;
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of_lists(1)));
        assert!(is_found(&of_lists(2)));
        let bound = |own: u32, far: u32| {
            let mut study = study(0, 0);
            (study.trials[0].path, study.trials[0].ends) =
                (NetworkPath::Peer, EndSpec::anywhere(false));
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.effective.machine = Some("one".into());
            }
            let host = |cpu: u32| {
                let cpu = Cpu { allowed: known(vec![cpu]), ..Cpu::default() };
                Host { cpu, ..Host::default() }
            };
            (study.host, study.peer_hosts) = (host(own), vec![host(far)]);
            of_study(&RULE, &study)
        };
        assert!(is_found(&bound(1, 1)), "by taskset");
        assert!(is_clear(&bound(0, 1)));
    }
}
