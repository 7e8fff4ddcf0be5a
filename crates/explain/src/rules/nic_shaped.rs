//! `nic-shaped`: does a queueing discipline hold an interface back?
//!
//! A token bucket, a class of a shaper or an emulated delay limits what leaves, whatever the link
//! could do. Judged for NICs and for every interface that carried a measured flow.

use super::evidence;
use crate::survey::{Survey, is_down, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Finding, Verdict, Weight};

/// Whether an interface is shaped.
pub static RULE: Rule = Rule {
    name: "nic-shaped",
    asks: "Does a queueing discipline hold an interface back?",
    of_host: true,
    judge,
};

/// Disciplines that limit or delay by themselves (tc(8)).
const SHAPERS: [&str; 7] = ["cbq", "cbs", "hfsc", "htb", "netem", "taprio", "tbf"];

/// Whether a discipline limits or delays by itself.
pub fn is_shaper(qdisc: &str) -> bool {
    SHAPERS.contains(&qdisc)
}

fn judge(case: &Case<'_>) -> Verdict {
    let used: Vec<&str> =
        case.summaries.iter().filter_map(|s| s.effective.interface.as_deref()).collect();
    let mut survey = Survey::default();
    for nic in &case.study.host.nics {
        let meant = (nic.physical && !is_down(nic)) || used.contains(&nic.name.as_str());
        if !meant {
            continue;
        }
        let name = format!("queueing discipline of {}", nic.name);
        let Some(qdisc) = survey.need(name, &nic.qdisc) else { continue };
        if !is_shaper(qdisc) {
            let says = format!("qdisc {qdisc} on {}", nic.name);
            survey.fine(says, nic.qdisc.source().0.clone());
        } else {
            survey.found(Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                says: format!("What leaves {} passes {qdisc}, which limits or delays it", nic.name),
                evidence: vec![evidence(format!("qdisc {qdisc}"), nic.qdisc.source().0.clone())],
                worth: None,
                remedy: format!(
                    "see: tc -s qdisc show dev {0}; tc qdisc del dev {0} root",
                    nic.name
                ),
            });
        }
    }
    survey.conclude(no_device("NIC that is up"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::host::{Host, Nic};

    #[test]
    fn a_token_bucket_is_found() {
        let host = |qdisc: &str, physical: bool| {
            let nic = Nic { physical, qdisc: known(qdisc.into()), ..Nic::default() };
            Host { nics: vec![nic], ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host("tbf", true))));
        assert!(is_clear(&of_host(&RULE, host("mq", true))));
        assert!(is_clear(&of_host(&RULE, host("fq_codel", true))));
        assert!(is_idle(&of_host(&RULE, host("tbf", false))));
    }
}
