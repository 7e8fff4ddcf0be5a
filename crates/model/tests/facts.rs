//! A fact and why there is none: "not there", "not allowed", "garbled" and "not asked" stay apart.

use narrows_model::{Fact, Source};

fn denied() -> Fact<u32> {
    Fact::Denied { from: Source("/f".to_owned()) }
}

#[test]
fn a_fact_has_a_value_or_a_reason_and_always_a_source() {
    for (fact, value, gap) in [
        (Fact::known(7, "/f"), Some(7), None),
        (Fact::told(Some(7), "/f"), Some(7), None),
        (Fact::told(None, "/f"), None, Some("not offered by this machine (/f)")),
        (Fact::absent("/f"), None, Some("not offered by this machine (/f)")),
        (Fact::said_absent("/f", "-1"), None, Some("not offered by this machine (/f is -1)")),
        (denied(), None, Some("no permission to read /f")),
        (Fact::malformed("/f", "x"), None, Some("/f cannot be understood: x")),
    ] {
        assert_eq!(fact.value().copied(), value);
        assert_eq!(fact.gap().as_deref(), gap);
        assert_eq!(fact.source().to_string(), "/f");
        assert!(!fact.is_unasked());
    }
}

#[test]
fn what_nobody_asked_for_is_no_absence() {
    let unasked = Fact::<u32>::default();
    assert!(unasked.is_unasked());
    assert_eq!(unasked, Fact::absent("not asked for"));
    assert!(!Fact::known(1, "not asked for").is_unasked());
}

#[test]
fn a_turned_value_keeps_its_source_and_a_gap_stays_the_gap_that_it_was() {
    let half = |value: u32| if value.is_multiple_of(2) { Ok(value / 2) } else { Err("odd") };
    assert_eq!(Fact::known(8, "/f").and_then(half), Fact::known(4, "/f"));
    assert_eq!(Fact::known(7, "/f").and_then(half), Fact::malformed("/f", "odd"));
    assert_eq!(
        Fact::known(7, "/f").map(|value: u32| value.to_string()),
        Fact::known("7".into(), "/f")
    );
    for gap in [
        Fact::absent("/f"),
        Fact::said_absent("/f", "-1"),
        denied(),
        Fact::malformed("/f", "x"),
        Fact::default(),
    ] {
        assert_eq!(gap.clone().and_then(half), gap);
        assert_eq!(gap.clone().map(|value| value + 1), gap);
    }
}

#[test]
fn files_have_a_facts_state_by_a_word() {
    for (fact, text) in [
        (Fact::known(7, "/f"), r#"{"state":"known","value":7,"from":"/f"}"#),
        (Fact::absent("/f"), r#"{"state":"absent","from":"/f"}"#),
        (Fact::said_absent("/f", "-1"), r#"{"state":"absent","from":"/f","said":"-1"}"#),
        (denied(), r#"{"state":"denied","from":"/f"}"#),
        (Fact::malformed("/f", "x"), r#"{"state":"malformed","from":"/f","text":"x"}"#),
    ] {
        assert_eq!(serde_json::to_string(&fact).expect("JSON"), text);
        assert_eq!(serde_json::from_str::<Fact<u32>>(text).expect("a fact"), fact);
    }
}
