//! `nic-duplex`: does a link send or receive, but not both?
//!
//! Half duplex means that negotiation failed on one side: every packet may meet one that comes, and
//! rates fall to a few per cent (IEEE 802.3, clause 4).

use super::evidence;
use crate::setting::conclude;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "nic-duplex",
    asks: "Does a link send or receive, but not both?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let known = || case.study.host.physical_nics().filter(|nic| nic.duplex.value().is_some());
    let half = known().filter(|nic| nic.duplex.value().is_some_and(|word| word == "half"));
    let finding = |nic: &narrows_facts::host::Nic| Finding {
        rule: RULE.name.into(),
        weight: Weight::Fault,
        says: format!("{} runs at half duplex", nic.name),
        evidence: vec![evidence("duplex is half", nic.duplex.source().0.clone())],
        worth: None,
        remedy: "let both sides negotiate, and change the cable".into(),
    };
    let findings = half.map(finding).collect();
    let looked = known().next().is_some();
    conclude(findings, looked, "links that tell run at full duplex", "no link tells its duplex")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::{Host, Nic};

    #[test]
    fn half_is_found_and_full_is_not() {
        let host = |word: &str| Host {
            nics: vec![Nic { physical: true, duplex: known(word.into()), ..Nic::default() }],
            ..Host::default()
        };
        assert!(is_found(&of_host(&RULE, host("half"))));
        assert!(is_clear(&of_host(&RULE, host("full"))));
        assert!(is_clear(&of_host(&RULE, Host::default())));
    }
}
