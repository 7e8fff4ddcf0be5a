//! Sessions: what the runs of one cover, and what another would measure.
//!
//! Runs of one session share what changes slowly: where memory lies, what else the machine does,
//! its temperature. Their interval says what more runs of the same session would; another day's may
//! lie beside it.

use crate::done::Value;
use crate::order::median;
use narrows_model::Nanos;
use narrows_model::record::Record;
use narrows_model::study::StoredStudy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// A pause at least this long ends a session.
const PAUSE_NS: u64 = 30 * 60 * 1_000_000_000;
/// A pause that a study makes is found again by a little less of it.
const PAUSE_SHARE: f64 = 0.9;
/// Fewer sessions than this say nothing of another.
pub const SESSIONS_MIN: usize = 3;

/// When the sessions of a study began: its runs in time, parted by pauses. A restart without a
/// pause is none, whatever it is counted as elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sessions {
    began: Vec<u64>,
}

impl Sessions {
    /// Of all runs of a study.
    pub fn of(study: &StoredStudy) -> Self {
        let planned = study.study.spread.map(|spread| {
            let pause = spread.apart_minutes * 60e9 * PAUSE_SHARE;
            (pause as u64).min(PAUSE_NS)
        });
        Self::parted(study.records.iter(), planned.unwrap_or(PAUSE_NS))
    }

    fn parted<'a>(records: impl Iterator<Item = &'a Record>, pause_ns: u64) -> Self {
        let mut spans: Vec<(u64, u64)> = records
            .map(|record| {
                let Nanos(began) = record.around.began_unix_ns;
                (began, began.saturating_add(record.around.took_ns.0))
            })
            .collect();
        spans.sort_unstable();
        let (mut began, mut ended): (Vec<u64>, u64) = (Vec::new(), 0);
        for (from, to) in spans {
            if began.is_empty() || from.saturating_sub(ended) >= pause_ns.max(1) {
                began.push(from);
            }
            ended = ended.max(to);
        }
        Self { began }
    }

    /// Which session a run belongs to, from 0.
    pub fn session(&self, record: &Record) -> u32 {
        let at = self.began.partition_point(|began| *began <= record.around.began_unix_ns.0);
        at.saturating_sub(1) as u32
    }
}

/// What a median's interval, or a comparison, covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// Runs of one session, or of the few that were made: another session may lie outside.
    TheseSessions,
    /// Other sessions too.
    OtherSessions,
}

impl Covers {
    /// The statement as reports print it.
    pub fn says(self) -> &'static str {
        match self {
            Self::TheseSessions => "intervals cover more runs of this session, not another day's",
            Self::OtherSessions => "intervals cover other sessions",
        }
    }
}

/// What another session on the same machine would measure, with 95 % confidence: from the scatter
/// between sessions beside that within them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproducibility {
    /// Sessions that it rests on.
    pub sessions: u32,
    /// Runs of all of them.
    pub runs: u32,
    /// Middle of the sessions' medians.
    pub value: f64,
    /// Lower end for the median of another session of as many runs.
    pub session_low: f64,
    /// Upper end for another session's median, in the unit of the values.
    pub session_high: f64,
    /// Lower end for a single run of another session; `None` with one run a session.
    pub run_low: Option<f64>,
    /// Upper end for one run of another session, in the unit of the values.
    pub run_high: Option<f64>,
    /// Standard deviation of sessions' medians, as a share.
    pub between_share: f64,
    /// Standard deviation of runs within a session, as a share; `None` with one run a session.
    pub within_share: Option<f64>,
}

/// From the values of each session. Sessions are taken to scatter normally about one middle, by
/// their logarithms where all values are above zero; the interval is that of Student for one more.
/// `None` with fewer than three sessions.
pub fn reproducibility(sessions: &[Vec<f64>]) -> Option<Reproducibility> {
    let sessions: Vec<&Vec<f64>> = sessions.iter().filter(|runs| !runs.is_empty()).collect();
    if sessions.len() < SESSIONS_MIN {
        return None;
    }
    let by_logarithm = sessions.iter().all(|runs| runs.iter().all(|value| *value > 0.0));
    let scale = |value: f64| if by_logarithm { value.ln() } else { value };
    let back = |value: f64| if by_logarithm { value.exp() } else { value };
    let medians: Vec<f64> = sessions.iter().filter_map(|runs| median(runs).map(scale)).collect();
    let (m, middle) = (medians.len() as f64, mean(&medians));
    let between = squares(&medians) / (m - 1.0);
    let of_session = reach(between * (1.0 + 1.0 / m), m - 1.0)?;
    let runs: usize = sessions.iter().map(|runs| runs.len()).sum();
    let scaled = sessions.iter().map(|runs| runs.iter().map(|v| scale(*v)).collect::<Vec<f64>>());
    let scaled: Vec<Vec<f64>> = scaled.collect();
    let free = runs as f64 - m;
    let within = (free > 0.0).then(|| scaled.iter().map(|s| squares(s)).sum::<f64>() / free);
    // A single run scatters about its session, whose mean scatters by part of that already.
    let of_run = within.and_then(|within| {
        let means: Vec<f64> = scaled.iter().map(|session| mean(session)).collect();
        let each = sessions.iter().map(|runs| 1.0 / runs.len() as f64).sum::<f64>() / m;
        let outer = squares(&means) / (m - 1.0) * (1.0 + 1.0 / m);
        let inner = within * (1.0 - each);
        // Satterthwaite's degrees are more, and cover too rarely with three sessions.
        Some((mean(&means), reach(outer + inner, m - 1.0)?))
    });
    let share = |variance: f64| {
        if by_logarithm {
            variance.exp_m1().sqrt()
        } else {
            variance.sqrt() / middle.abs().max(f64::MIN_POSITIVE)
        }
    };
    Some(Reproducibility {
        sessions: medians.len() as u32,
        runs: runs as u32,
        value: back(middle),
        session_low: back(middle - of_session),
        session_high: back(middle + of_session),
        run_low: of_run.map(|(middle, reach)| back(middle - reach)),
        run_high: of_run.map(|(middle, reach)| back(middle + reach)),
        between_share: share(between),
        within_share: within.map(share),
    })
}

fn reach(variance: f64, degrees: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf(0.975);
    Some(t * variance.sqrt())
}

/// Values of each session that has any.
pub(crate) fn by_session(values: &[Value]) -> Vec<Vec<f64>> {
    let mut sessions: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for value in values {
        sessions.entry(value.session).or_default().push(value.value);
    }
    sessions.into_values().collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Sum of squared distances from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy 1.17.1: `m, s = mean(log([90, 100, 110, 105])), std(.., ddof=1)`;
    /// `exp(m + t.ppf(.975, 3) * s * sqrt(1 + 1 / 4))`, and with minus.
    #[test]
    fn the_interval_for_another_session_is_students() {
        let of = |values: [f64; 4]| values.map(|value| vec![value]).to_vec();
        let told = reproducibility(&of([90.0, 100.0, 110.0, 105.0])).expect("sessions");
        let logs: Vec<f64> = [90.0f64, 100.0, 110.0, 105.0].map(f64::ln).to_vec();
        let reach = 3.1824463052837078 * (squares(&logs) / 3.0 * 1.25).sqrt();
        assert!((told.session_high / (mean(&logs) + reach).exp() - 1.0).abs() < 1e-9);
        assert!((told.session_low / (mean(&logs) - reach).exp() - 1.0).abs() < 1e-9);
        assert_eq!((told.run_low, told.within_share), (None, None));
        assert_eq!(reproducibility(&of([1.0, 2.0, 3.0, 4.0])[..2]), None);
        // A session that reached nothing: no logarithm, and no panic.
        let zero = reproducibility(&of([0.0, 100.0, 110.0, 105.0])).expect("sessions");
        assert!(zero.session_low < 0.0 && zero.session_high.is_finite());
    }

    #[test]
    fn pauses_part_sessions_and_restarts_do_not() {
        let minute = 60_000_000_000;
        let mut sessions = Sessions { began: vec![0, 90 * minute, 24 * 60 * minute] };
        let mut record = Record {
            trial: narrows_model::trial::TrialId("x".into()),
            repeat: 0,
            block: 0,
            outcome: narrows_model::record::Outcome::Done,
            reports: Vec::new(),
            around: narrows_model::record::Stamp::default(),
            session: 0,
            external: None,
        };
        let mut at = |minutes: u64| {
            record.around.began_unix_ns = Nanos(minutes * minute);
            record.around.took_ns = Nanos(minute);
            record.clone()
        };
        let runs: Vec<Record> = [91, 0, 20, 95, 24 * 60].map(&mut at).to_vec();
        let parted = Sessions::parted(runs.iter(), PAUSE_NS);
        sessions.began[1] = 91 * minute;
        assert_eq!(parted, sessions);
        let of: Vec<u32> = runs.iter().map(|record| parted.session(record)).collect();
        assert_eq!(of, [1, 0, 0, 1, 2]);
    }
}
