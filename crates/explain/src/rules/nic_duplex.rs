//! `nic-duplex`: does a link send or receive, but not both?
//!
//! Half duplex means that negotiation failed on one side: every packet may meet one that comes, and
//! rates fall to a few per cent (IEEE 802.3, clause 4).

use super::evidence;
use crate::survey::{Survey, is_down, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Verdict, Weight};

pub static RULE: Rule =
    Rule { name: "nic-duplex", asks: "Does a link run at half duplex?", of_host: true, judge };

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    for nic in case.study.host.physical_nics().filter(|nic| !is_down(nic)) {
        let Some(duplex) = survey.need(format!("duplex of {}", nic.name), &nic.duplex) else {
            continue;
        };
        let from = nic.duplex.source().0.clone();
        if duplex != "half" {
            survey.fine(format!("duplex of {} is {duplex}", nic.name), from);
            continue;
        }
        survey.found(Finding {
            rule: RULE.name.into(),
            weight: Weight::Fault,
            says: format!("{} runs at half duplex", nic.name),
            evidence: vec![evidence("duplex is half", from)],
            worth: None,
            remedy: "let both sides negotiate, and change the cable".into(),
        });
    }
    survey.conclude(no_device(Devices::NicUp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_idle, known, of_host};
    use narrows_model::host::{Host, Nic};

    #[test]
    fn half_is_found_and_full_is_not() {
        let host = |word: &str| Host {
            nics: vec![Nic { physical: true, duplex: known(word.into()), ..Nic::default() }],
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host("half"))));
        assert!(is_clear(&of_host(&RULE, host("full"))));
        assert!(is_idle(&of_host(&RULE, Host::default())));
    }
}
