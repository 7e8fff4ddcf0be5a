//! `generator-bound`: did a thread of the measurement, and not the path, set the rate?
//!
//! A thread that used all of its CPU could not have sent or received more; the path might have
//! carried it. Spinning threads and paced streams are left out, as their labels are.

use super::evidence;
use crate::survey::{Survey, not_so};
use crate::{Case, Rule};
use narrows_model::result::{Finding, Measure, Needed, NotSo, Unmeasured, Verdict, Weight};
use narrows_model::trial::NetworkPath;
use narrows_stats::Label;

pub static RULE: Rule = Rule {
    name: "generator-bound",
    asks: "Did a measuring thread, and not the path, limit the rate?",
    of_host: false,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    // Inside one host the threads are the path: there is nothing else to find.
    let over: Vec<_> =
        case.summaries.iter().filter(|s| s.path == NetworkPath::Peer && s.done > 0).collect();
    if over.is_empty() {
        return Verdict::unknown(Unmeasured::Run(Needed::ToPeer).into());
    }
    let bound = |label: Label| over.iter().filter(move |s| s.labels.contains(&label));
    let finding = |label: Label, end: &str, remedy: &str| {
        let cells: Vec<&str> = bound(label).map(|summary| summary.label.as_str()).collect();
        (!cells.is_empty()).then(|| Finding {
            rule: RULE.name.into(),
            weight: Weight::Caution,
            says: format!(
                "The {end}'s thread filled its CPU in {}: the path may carry more",
                cells.join(", ")
            ),
            evidence: vec![evidence("CPU time of the ends' threads", "the runs themselves")],
            worth: None,
            remedy: remedy.to_owned(),
        })
    };
    let findings: Vec<Finding> = [
        finding(
            Label::SenderBound,
            "sender",
            "more flows (-P), larger writes (-l), or another --sender",
        ),
        finding(
            Label::ReceiverBound,
            "receiver",
            "more flows (-P), or a receiver on its NIC's node (-A)",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut survey = Survey::default();
    for summary in over {
        let cpu = summary.cpu.as_ref();
        let shares = cpu.map(|cpu| (cpu.sender_share, cpu.receiver_share));
        let Some((Some(sender), Some(receiver))) = shares else {
            let (lacks, trial) = (Measure::ThreadTimeOfBoth, summary.label.clone());
            survey.lacks(Unmeasured::In { lacks, trial }.into());
            continue;
        };
        let says = format!(
            "the busiest thread used {:.0} % of its CPU at the sender, {:.0} % at the receiver",
            100.0 * sender,
            100.0 * receiver
        );
        survey.fine(says, format!("{} runs of {}", summary.done, summary.label));
    }
    findings.into_iter().for_each(|finding| survey.found(finding));
    survey.conclude(not_so(NotSo::NoPathToPeer))
}
