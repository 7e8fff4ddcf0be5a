//! `sources-disagree`: do the descriptions that a host was read from say the same?
//!
//! What is attached to a case is often of several days: a card that was moved, a link that trained
//! otherwise after a reboot, a processor or a module that the kernel no longer sees.

use super::evidence;
use crate::survey::not_so;
use crate::{Case, Rule};
use narrows_model::host::{Disagreement, Topic};
use narrows_model::result::{Evidence, Finding, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "sources-disagree",
    asks: "Do the descriptions of this host agree?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let all = &case.study.host.disagreements;
    if all.is_empty() {
        return Verdict::NotApplicable { why: not_so(NotSo::SourcesAgree) };
    }
    Verdict::Found { findings: all.iter().map(finding).collect() }
}

fn finding(one: &Disagreement) -> Finding {
    let of = one.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
    let values: Vec<&str> = one.said.iter().map(|said| said.value.as_str()).collect();
    let said = one.said.iter();
    let evidence: Vec<Evidence> =
        said.map(|said| evidence(said.value.clone(), said.from.0.clone())).collect();
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!("Sources differ on the {}{of}: {}", one.topic, values.join(" and ")),
        evidence,
        worth: None,
        remedy: remedy(one.topic).to_owned(),
    }
}

/// What to look at first.
fn remedy(topic: Topic) -> &'static str {
    match topic {
        Topic::MemoryBytes | Topic::Modules => {
            "look in firmware's log for a module that was switched off, and read the memory again"
        }
        Topic::Sockets | Topic::Cores | Topic::Cpus | Topic::Nodes | Topic::NodeCpus => {
            "look for processors switched off in firmware or on the kernel's command line"
        }
        Topic::Link | Topic::PacketSizes | Topic::Address => {
            "read all of them again in one boot: a link may train otherwise, a card may have moved"
        }
        _ => "read all of them again at one time: the first named is the one that was believed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_found, of_host};
    use narrows_model::Source;
    use narrows_model::host::{Host, Said};

    #[test]
    fn what_two_sources_say_is_told_with_both() {
        let said =
            |value: &str, from: &str| Said { value: value.into(), from: Source(from.into()) };
        let one = Disagreement {
            of: Some("0000:3b:00.0".into()),
            topic: Topic::Link,
            said: vec![said("8 GT/s x8", "lspci"), said("8 GT/s x16", "lshw")],
        };
        let host = Host { disagreements: vec![one], ..Host::default() };
        assert!(is_found(&of_host(&RULE, host)));
        assert!(!is_found(&of_host(&RULE, Host::default())));
    }
}
