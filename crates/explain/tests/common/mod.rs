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

/// A text for a file that keeps it: of what is the same in JSON, numbers to six digits.
pub fn kept(value: &impl serde::Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("JSON");
    round(&mut value);
    value.to_string()
}

fn round(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Number(number) if number.is_f64() => {
            let digits = format!("{:.5e}", number.as_f64().expect("a double"));
            *value = Value::from(digits.parse::<f64>().expect("a number"));
        }
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

/// That a text is as `tests/NAME` keeps it; `NARROWS_GOLDEN=write` keeps it anew.
#[track_caller]
pub fn is_as_kept(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    if std::env::var_os("NARROWS_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("written");
    }
    let before = std::fs::read_to_string(&path).expect(name);
    for (now, before) in text.lines().zip(before.lines()) {
        assert_eq!(now, before, "{name}; NARROWS_GOLDEN=write keeps what is right anew");
    }
    assert_eq!(text.lines().count(), before.lines().count(), "{name}");
}
