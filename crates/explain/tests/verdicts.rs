//! Clear, not applicable and unknown are three answers, over all rules: none says clear of what it
//! did not look at.

use narrows_explain::{Case, Judged, judge, judge_host, rules::RULES};
use narrows_host::{Root, read};
use narrows_model::host::Host;
use narrows_model::result::{Inapplicable, LookedAt, Verdict};
use narrows_model::study::StoredStudy;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Rules that compare what is known, so that where nothing is there is nothing to compare.
const OF_WHAT_IS_KNOWN: [&str; 3] = ["pcie-bifurcated", "pcie-shared", "sources-disagree"];

fn of(host: Host) -> Vec<Judged> {
    let study = StoredStudy::unmeasured(host);
    judge(&Case { study: &study, summaries: &[], predictions: &[] })
}

fn clear(judged: &Judged) -> Option<&LookedAt> {
    match &judged.verdict {
        Verdict::Clear { looked_at } => Some(looked_at),
        _ => None,
    }
}

/// The same host without the facts that `gone` picks by their source, as if nobody had asked.
fn without(host: &Host, gone: &dyn Fn(&str) -> bool) -> Host {
    fn forget(value: &mut Value, gone: &dyn Fn(&str) -> bool) {
        let source = value.get("state").and(value.get("from")).and_then(Value::as_str);
        if source.is_some_and(gone) {
            *value = json!({ "state": "absent", "from": "not asked for" });
            return;
        }
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|field| forget(field, gone)),
            Value::Array(items) => items.iter_mut().for_each(|item| forget(item, gone)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(host).expect("a host");
    forget(&mut value, gone);
    serde_json::from_value(value).expect("a host")
}

#[test]
fn nothing_is_clear_of_a_host_of_which_nothing_is_known() {
    for host in [Host::default(), read(&Root::at("/nowhere/at/all"))] {
        let judged = of(host);
        assert_eq!(judged.len(), RULES.len());
        let clear: Vec<&str> =
            judged.iter().filter(|j| clear(j).is_some()).map(|j| j.rule.as_str()).collect();
        assert!(clear.is_empty(), "said clear without having looked: {clear:?}");
        for judged in &judged {
            if let Verdict::Unknown { missing, .. } = &judged.verdict {
                assert!(!missing.is_empty(), "{}: nothing is named as missing", judged.rule);
            }
        }
    }
}

/// What a program's output says of a host says nothing of the files that nobody read.
#[test]
fn a_question_that_nobody_looked_at_is_not_said_not_to_arise() {
    let judged = judge_host(&read(&Root::at("/nowhere/at/all")));
    for judged in &judged {
        if let Verdict::NotApplicable { why: Inapplicable::NotSo { because } } = &judged.verdict {
            assert!(OF_WHAT_IS_KNOWN.contains(&&*judged.rule), "{}: {because}", judged.rule);
        }
    }
}

/// Without the facts that a clear verdict rests on, it is clear no longer.
#[test]
fn what_was_looked_at_is_what_the_verdict_rests_on() {
    let host = read(&Root::live());
    let mut looked = 0;
    for judged in judge_host(&host) {
        let Some(seen) = clear(&judged) else { continue };
        let sources: BTreeSet<&str> = seen.all().iter().map(|e| e.from.as_str()).collect();
        assert!(seen.all().iter().all(|e| !e.says.is_empty() && !e.from.is_empty()));
        let blind = without(&host, &|from| sources.contains(from));
        let again = judge_host(&blind).into_iter().find(|j| j.rule == judged.rule);
        let again = again.expect("the same rule");
        assert!(clear(&again).is_none(), "{} without {sources:?}: {again:?}", judged.rule);
        looked += 1;
    }
    assert!(looked > 0, "a Linux host has settings that are as they should be");
}

#[test]
fn forgetting_every_fact_leaves_nothing_clear() {
    let host = without(&read(&Root::live()), &|_| true);
    let clear: Vec<Judged> = of(host).into_iter().filter(|j| clear(j).is_some()).collect();
    assert!(clear.is_empty(), "{clear:?}");
}

#[test]
fn a_clear_verdict_without_evidence_cannot_be_made() {
    let bare = json!([]);
    assert!(serde_json::from_value::<LookedAt>(bare).is_err());
    assert!(LookedAt::try_from(Vec::new()).is_err());
}

#[test]
fn the_four_answers_have_names_of_their_own_in_json() {
    let answers: BTreeSet<String> = of(read(&Root::live()))
        .iter()
        .map(|judged| serde_json::to_value(judged).expect("JSON")["verdict"].to_string())
        .collect();
    let known = ["\"clear\"", "\"found\"", "\"not-applicable\"", "\"unknown\""];
    assert!(answers.iter().all(|answer| known.contains(&answer.as_str())), "{answers:?}");
    assert!(answers.contains("\"clear\"") && answers.contains("\"unknown\""), "{answers:?}");
}
