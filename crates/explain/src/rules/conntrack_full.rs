//! `conntrack-full`: will new connections soon be refused?
//!
//! Every flow through connection tracking takes an entry; when all are taken, the first packet of a
//! new one is dropped without a word to the program (nf_conntrack-sysctl, Linux documentation).

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::result::{Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "conntrack-full",
    asks: "Will new connections soon be refused?",
    of_host: true,
    judge,
};

/// From this share on.
const SHARE: f64 = 0.8;

fn judge(case: &Case<'_>) -> Verdict {
    let number = |name: &str| -> Option<(f64, String)> {
        let fact = case.study.host.tuning.get(name)?;
        Some((fact.value()?.trim().parse().ok()?, fact.source().0.clone()))
    };
    let both = number("net.conntrack.count").zip(number("net.conntrack.max"));
    let Some(((count, from), (most, _))) = both.filter(|(_, (most, _))| *most > 0.0) else {
        return Verdict::Clear { because: "connections are not tracked".into() };
    };
    let says = format!("{count:.0} of {most:.0} entries for connections are taken");
    match count >= SHARE * most {
        false => Verdict::Clear { because: says },
        true => Verdict::Found {
            findings: vec![Finding {
                rule: RULE.name.into(),
                weight: Weight::Advice,
                evidence: vec![evidence(says.clone(), from)],
                says,
                worth: None,
                remedy: "sysctl -w net.netfilter.nf_conntrack_max=..., or do not track these flows"
                    .into(),
            }],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_facts::host::Host;

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
        assert!(is_clear(&of_host(&RULE, Host::default())));
    }
}
