//! Which limit is named, of simulated streams.

mod hosts;
mod paths;
mod windows;

use super::*;
use crate::judge;
use crate::measured::testing::{read, slices, stream};
use narrows_model::host::Nic;
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
