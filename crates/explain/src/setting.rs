//! What rules about single settings share.

use crate::rules::evidence;
use crate::{Case, Rule};
use narrows_facts::Fact;
use narrows_facts::result::{Finding, Verdict, Weight};

/// What is wrong with a setting.
pub struct Trouble {
    /// In a sentence.
    pub says: String,
    /// What to do.
    pub remedy: String,
}

/// Judges one setting by its value. A kernel without it has nothing wrong with it; one that may not
/// be read is unknown.
pub fn judge(
    case: &Case<'_>,
    rule: &Rule,
    name: &str,
    of: impl Fn(&str) -> Option<Trouble>,
) -> Verdict {
    let fact = case.study.host.tuning.get(name);
    let (value, from) = match fact {
        Some(Fact::Known { value, from }) => (value.trim(), from),
        None | Some(Fact::Absent { .. }) => {
            return Verdict::Clear { because: format!("there is no setting {name} here") };
        }
        Some(other) => {
            let gap = other.gap().unwrap_or_default();
            return Verdict::Unknown { missing: vec![format!("{name}: {gap}")] };
        }
    };
    match of(value) {
        None => Verdict::Clear { because: format!("{name} is {value}") },
        Some(trouble) => Verdict::Found {
            findings: vec![Finding {
                rule: rule.name.into(),
                weight: Weight::Advice,
                says: trouble.says,
                evidence: vec![evidence(format!("{name} = {value}"), from.0.clone())],
                worth: None,
                remedy: trouble.remedy,
            }],
        },
    }
}

/// The findings of a rule that looks at several things, or why there are none.
pub fn conclude(findings: Vec<Finding>, looked: bool, clear: &str, nothing: &str) -> Verdict {
    match (findings.is_empty(), looked) {
        (false, _) => Verdict::Found { findings },
        (true, true) => Verdict::Clear { because: clear.to_owned() },
        (true, false) => Verdict::Clear { because: nothing.to_owned() },
    }
}

#[cfg(test)]
pub mod testing {
    //! A host with settings, and what a rule says of it.

    use crate::{Case, Rule};
    use narrows_facts::host::Host;
    use narrows_facts::result::Verdict;
    use narrows_facts::study::StoredStudy;
    use narrows_facts::{Fact, Source};

    /// A fact that was read.
    pub fn known<T>(value: T) -> Fact<T> {
        Fact::Known { value, from: Source("test".into()) }
    }

    /// What a rule says of a host.
    pub fn of_host(rule: &Rule, host: Host) -> Verdict {
        let study = StoredStudy::unmeasured(host);
        (rule.judge)(&Case { study: &study, summaries: &[], predictions: &[] })
    }

    /// What a rule says of one setting.
    pub fn of_setting(rule: &Rule, name: &str, value: &str) -> Verdict {
        let mut host = Host::default();
        host.tuning.insert(name.into(), known(value.into()));
        of_host(rule, host)
    }

    /// True for a finding.
    pub fn is_found(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Found { .. })
    }

    /// True when nothing is wrong.
    pub fn is_clear(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Clear { .. })
    }
}
