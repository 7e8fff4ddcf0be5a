//! Studies of a host with one known fault, and the verdicts of one rule on them.
#![allow(dead_code)]

use narrows_explain::{Case, judge};
use narrows_host::{Root, read};
use narrows_model::Fact;
use narrows_model::host::Host;
use narrows_model::result::{Finding, Verdict};
use narrows_model::study::{StoredStudy, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::NetworkPath;
use narrows_stats::summarise;

/// A host of which nothing is known.
pub fn bare() -> Host {
    read(&Root::at("/nowhere/at/all"))
}

pub fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "planted")
}

pub fn study(host: Host) -> StoredStudy {
    StoredStudy {
        study: Study::new(StudyKind::Check, NetworkPath::Namespaces, 6, 1),
        ended: None,
        definition: None,
        sessions: Vec::new(),
        host,
        peer_hosts: Vec::new(),
        trials: Vec::new(),
        records: Vec::new(),
    }
}

/// The verdict of one rule.
pub fn verdict(study: &StoredStudy, rule: &str) -> Verdict {
    let summaries = summarise(study);
    let case = Case { study, summaries: &summaries, predictions: &[] };
    let judged = judge(&case);
    judged.into_iter().find(|judged| judged.rule == rule).expect(rule).verdict
}

pub fn found(study: &StoredStudy, rule: &str) -> Vec<Finding> {
    match verdict(study, rule) {
        Verdict::Found { findings } => findings,
        other => panic!("{rule}: {other:?}"),
    }
}

pub fn is_clear(study: &StoredStudy, rule: &str) -> bool {
    matches!(verdict(study, rule), Verdict::Clear { .. })
}
