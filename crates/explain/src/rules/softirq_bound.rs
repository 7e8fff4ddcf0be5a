//! `softirq-bound`: does handling packets fill a CPU?
//!
//! What drivers, bridges, tunnels and filters do with packets runs in software interrupts, beside
//! the threads of the measurement and often on one CPU. Linux counts it by its ticks. Where that
//! takes most of a CPU and more than the end's own threads do, it and not the program is what is
//! full.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::{Scope, Source, keys};
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "softirq-bound",
    asks: "Does handling packets fill a CPU?",
    of_host: false,
    judge,
};

/// Of a CPU's time. Healthy streams between namespaces of a machine that others used gave 0.02 to
/// 0.67 over its two CPUs together, 3,000 rules of a filter between them 0.79.
const SOFTIRQ_SHARE: f64 = 0.65;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::CpuTime, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let (here, there) = (cell.of_sender(softirq), cell.of_receiver(softirq));
    let (end, share, own) = match (here, there) {
        (None, None) => return Err(cell.lacks(Measure::SoftirqTime)),
        (Some(sends), takes) if sends >= takes.unwrap_or(0.0) => {
            ("sender", sends, cell.of_sender(threads))
        }
        (_, takes) => ("receiver", takes.unwrap_or(0.0), cell.of_receiver(threads)),
    };
    let seen = format!(
        "software interrupts took {:.0} % of a CPU at the {end}, its own threads {:.0} %",
        100.0 * share,
        100.0 * own.unwrap_or(0.0)
    );
    let wrong = share >= SOFTIRQ_SHARE && share >= own.unwrap_or(0.0);
    let wrong = wrong.then(|| {
        let says = format!(
            "Handling packets fills a CPU of the {end}'s host in {}: software interrupts (softirq) \
             took {:.0} % of one",
            cell.trial.label,
            100.0 * share
        );
        let remedy = "see what is done for each packet: nft list ruleset and iptables -S (long \
                      lists of rules, rules that log: LOG, NFLOG), bridges, tunnels, tc filters; \
                      perf top names it. Spread it: more queues (ethtool -L), RPS; larger packets: GRO and GSO on, a larger MTU";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Time of all threads of an end, as a share of one CPU: where it sends and receives there are two.
fn threads(end: &EndReport) -> Option<f64> {
    let ran = end.threads.iter().map(|thread| thread.user_ns.0 + thread.system_ns.0).sum::<u64>();
    (end.window_ns.0 > 0).then(|| ran as f64 / end.window_ns.0 as f64)
}

/// The largest share of its time that a CPU of an end's host spent in software interrupts.
fn softirq(end: &EndReport) -> Option<f64> {
    let of_cpus = end.readings.from_source(Source::Cpu).filter_map(|(key, ns)| {
        (matches!(key.scope, Scope::Cpu(_)) && *key.name == *keys::SOFTIRQ.name).then_some(ns)
    });
    let busiest_ns = of_cpus.max()? as f64;
    (end.window_ns.0 > 0).then(|| busiest_ns / end.window_ns.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::Role;

    #[test]
    fn a_cpu_full_of_software_interrupts_is_found() {
        let of = |softirq_ms: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "cpu", "cpu1.softirq_ns", softirq_ms * 1_000_000);
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(800)));
        // The threads take half of a CPU.
        assert!(is_clear(&of(300)));
        // Two threads, one for each direction, take more than that together.
        let mut both = stream("tcp-stream");
        read(&mut both, "cpu", "cpu1.softirq_ns", 800_000_000);
        for record in &mut both.records {
            for end in record.of_mut(Role::Sender) {
                let thread = end.threads[0].clone();
                end.threads.push(thread);
            }
        }
        assert!(is_clear(&of_study(&RULE, &both)));
        // Two CPUs, neither of them full.
        let mut study = stream("tcp-stream");
        for cpu in [0, 1] {
            read(&mut study, "cpu", &format!("cpu{cpu}.softirq_ns"), 400_000_000);
        }
        assert!(is_clear(&of_study(&RULE, &study)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
