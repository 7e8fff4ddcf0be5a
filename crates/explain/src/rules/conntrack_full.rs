//! `conntrack-full`: will new connections soon be refused?
//!
//! Every flow through connection tracking takes an entry; when all are taken, the first packet of a
//! new one is dropped without a word to the program (nf_conntrack-sysctl, Linux documentation).

use super::evidence;
use crate::survey::{Survey, absent, not_so};
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::result::{Finding, Missing, NotSo, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "conntrack-full",
    asks: "Will new connections soon be refused?",
    of_host: true,
    judge,
};

/// From this share on.
const SHARE: f64 = 0.8;

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    let tuning = &case.study.host.tuning;
    let names = ["net.conntrack.count", "net.conntrack.max"];
    let facts = names.map(|name| tuning.get(name));
    if facts.iter().flatten().any(|fact| matches!(fact, Fact::Absent { .. } if !fact.is_unasked()))
    {
        let what = "/proc/sys/net/netfilter";
        return absent(&case.study.host, what, NotSo::NoConntrack);
    }
    let mut number = |name: &str, fact: Option<&Fact<String>>| -> Option<f64> {
        let Some(fact) = fact else {
            survey.lacks(Missing::unread(name));
            return None;
        };
        let text = survey.need(name, fact)?;
        let number = text.trim().parse().ok();
        if number.is_none() {
            survey.lacks(Missing::malformed(name, &fact.source().0, text));
        }
        number
    };
    let both = number(names[0], facts[0]).zip(number(names[1], facts[1]));
    if let Some((count, most)) = both.filter(|(_, most)| *most > 0.0) {
        let says = format!("{count:.0} of {most:.0} entries for connections are taken");
        let from = facts[0].map_or(String::new(), |fact| fact.source().0.clone());
        if count >= SHARE * most { survey.found(full(says, from)) } else { survey.fine(says, from) }
    }
    survey.conclude(not_so(NotSo::NoConntrack))
}

fn full(says: String, from: String) -> Finding {
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        evidence: vec![evidence(says.clone(), from)],
        says,
        worth: None,
        remedy: "sysctl -w net.netfilter.nf_conntrack_max=..., or do not track these flows".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, known, of_host};
    use narrows_model::host::Host;

    #[test]
    fn a_full_table_is_found_and_an_empty_one_is_not() {
        let host = |count: &str| {
            let mut host = Host::default();
            for (name, value) in [("net.conntrack.count", count), ("net.conntrack.max", "1000")] {
                host.tuning.insert(name.into(), known(value.into()));
            }
            host
        };
        assert!(is_found(&of_host(&RULE, host("900"))));
        assert!(is_clear(&of_host(&RULE, host("12"))));
        assert!(is_unknown(&of_host(&RULE, Host::default())));
    }
}
