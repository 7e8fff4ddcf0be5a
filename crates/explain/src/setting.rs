//! What rules about single settings share.

use crate::evidence::evidence;
use crate::{Case, Rule};
use narrows_model::Fact;
use narrows_model::result::{Finding, Inapplicable, Missing, Verdict, Weight};

/// What is wrong with a setting.
pub struct Trouble {
    /// In a sentence.
    pub says: String,
    pub remedy: String,
}

/// What a setting's value says.
pub enum Reading {
    /// As it should be.
    Fine,
    /// Not as it should be.
    Wrong(Trouble),
    /// It is none of the values that the setting has.
    Garbled,
}

impl From<Option<Trouble>> for Reading {
    fn from(trouble: Option<Trouble>) -> Self {
        trouble.map_or(Self::Fine, Self::Wrong)
    }
}

/// A switch that should be on: 0 is trouble, another number is fine.
pub fn off(value: &str, trouble: impl FnOnce() -> Trouble) -> Reading {
    match value.parse::<i64>() {
        Ok(0) => Reading::Wrong(trouble()),
        Ok(_) => Reading::Fine,
        Err(_) => Reading::Garbled,
    }
}

/// A number that should be at least so much.
pub fn below(value: Option<&str>, least: u64, trouble: impl FnOnce(u64) -> Trouble) -> Reading {
    match value.and_then(|word| word.parse::<u64>().ok()) {
        Some(number) if number < least => Reading::Wrong(trouble(number)),
        Some(_) => Reading::Fine,
        None => Reading::Garbled,
    }
}

/// Settings of the network that every kernel has: where one is not seen, a namespace hides it.
const IN_EVERY_KERNEL: [&str; 2] = ["net.core.", "net.ipv4."];

/// Judges one setting by its value. Where the kernel has no such setting there is nothing to
/// judge; one that nobody read, that may not be read or is hidden, is unknown.
pub fn judge<R: Into<Reading>>(
    case: &Case<'_>,
    rule: &Rule,
    name: &str,
    of: impl Fn(&str) -> R,
) -> Verdict {
    let Some(fact) = case.study.host.tuning.get(name) else {
        return Verdict::unknown(Missing::unread(name));
    };
    let hidden = IN_EVERY_KERNEL.iter().any(|prefix| name.starts_with(prefix));
    let (value, from) = match fact {
        Fact::Known { value, from } => (value.trim(), from),
        Fact::Absent { from, .. } if !hidden && !fact.is_unasked() => {
            let (name, from) = (name.to_owned(), from.0.clone());
            return Verdict::NotApplicable { why: Inapplicable::NoSetting { name, from } };
        }
        other => return Verdict::unknown(Missing::fact(name, other)),
    };
    match of(value).into() {
        Reading::Fine => Verdict::clear(evidence(format!("{name} is {value}"), from.0.clone())),
        Reading::Garbled => Verdict::unknown(Missing::malformed(name, &from.0, value)),
        Reading::Wrong(trouble) => Verdict::Found {
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

#[cfg(test)]
pub mod testing {
    //! A host with settings, and what a rule says of it.

    use crate::{Case, Rule};
    use narrows_model::host::Host;
    use narrows_model::result::Verdict;
    use narrows_model::study::StoredStudy;
    use narrows_model::{Fact, Source};

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
        of_host(rule, host_with(name, value))
    }

    /// A host with one setting.
    pub fn host_with(name: &str, value: &str) -> Host {
        let mut host = Host::default();
        host.tuning.insert(name.into(), known(value.into()));
        host
    }

    /// True for a finding.
    pub fn is_found(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Found { .. })
    }

    /// True when it was looked at and nothing is wrong.
    pub fn is_clear(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Clear { .. })
    }

    /// True where the question does not arise.
    pub fn is_idle(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::NotApplicable { .. })
    }

    /// True where it could not be told.
    pub fn is_unknown(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Unknown { .. })
    }
}
