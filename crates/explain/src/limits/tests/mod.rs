//! Which limit is named, of simulated streams.

mod beside;
mod hosts;
mod paths;
mod windows;

use super::*;
use crate::judge;
use crate::measured::testing::{read, slices, stream};
use narrows_model::host::Nic;
use narrows_model::load::Role;
use narrows_model::result::{Ceiling, Method, PredictedPath, Prediction, ResourceName};
use narrows_model::study::StoredStudy;
use narrows_model::units::Unit;
use narrows_model::{Bytes, Fact, Nanos};

pub fn limit_of(study: &StoredStudy, predictions: &[Prediction]) -> Limit {
    let summaries = narrows_stats::summarise(study);
    let case = Case { study, summaries: &summaries, predictions };
    let mut all = limits(&case, &judge(&case));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// A shaped stream: a standing queue and a constant rate.
fn shaped() -> StoredStudy {
    let mut study = stream("tcp-stream");
    slices(&mut study, &[125_000_000; 10]);
    for (key, value) in [
        ("rtt_min_ns", 20_000),
        ("rtt_ns", 20_000_000),
        ("lowest:rtt_ns", 20_000_000),
        ("highest:rtt_ns", 20_000_000),
        ("send_mss_bytes", 1448),
        ("sent_segments", 900_000),
        ("retransmitted_segments", 9_000),
        ("limited_by_receive_window_ns", 0),
    ] {
        read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
    }
    study
}

#[test]
fn a_limit_is_named_where_it_was_counted_and_a_symptom_where_a_probe_tells_more() {
    let limit = |sureness, rule: Option<&str>| Limit {
        cell: "tcp-stream".to_owned(),
        rule: rule.map(str::to_owned),
        what: "something".to_owned(),
        sureness,
        excludes: vec!["the CPU".to_owned(), "the wire".to_owned()],
        next: None,
        action: None,
        worth: None,
        second: None,
    };
    use Sureness::{Compared, Counted, Inferred, Possible, Unexplained};
    for (sureness, is_named) in [
        (Compared, true),
        (Counted, true),
        (Inferred, true),
        (Possible, false),
        (Unexplained, false),
    ] {
        assert_eq!(limit(sureness, None).is_named(), is_named, "{sureness:?}");
    }
    for (rule, is_symptom) in [
        (Some(names::TCP_RETRANSMITS), true),
        (Some(names::DATAGRAMS_DROPPED), true),
        (Some(names::PATH_MTU_BLACK_HOLE), true),
        (Some(names::HANDSHAKE_LOSS), true),
        (Some(names::PATH_POLICED), true),
        (Some(names::PATH_VOLUME), true),
        (Some(names::PATH_OUTAGES), true),
        (Some(names::CONGESTION_CONTROL), false),
        (None, false),
    ] {
        assert_eq!(limit(Counted, rule).is_symptom(), is_symptom, "{rule:?}");
    }
    let told = limit(Counted, None).to_string();
    assert_eq!(told, "tcp-stream: something limits (counted); not the CPU, not the wire");
    let told = limit(Unexplained, None).to_string();
    assert_eq!(told, "tcp-stream: something; not the CPU, not the wire");
}
