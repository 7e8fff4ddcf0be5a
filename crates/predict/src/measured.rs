//! A figure that was measured here, with its interval and what it is of.

use narrows_model::result::Provenance;
use narrows_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// A rate measured today is not exactly tomorrow's: added to every interval (assumed).
const FROM_DAY_TO_DAY: f64 = 0.02;

/// A measured figure, its interval, and of what.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// The median, in the unit of what was measured.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// What was measured: `tcp-stream, 5 runs`.
    pub from: String,
}

impl Measured {
    /// Half its interval as a logarithm, with what differs from day to day.
    pub fn half(&self) -> f64 {
        let half = (self.high / self.low).ln().abs() / 2.0;
        if half.is_finite() { half.hypot(FROM_DAY_TO_DAY) } else { 1.0 }
    }

    /// As where a number is from.
    pub fn origin(&self) -> Provenance {
        Provenance::Measured(self.from.clone())
    }

    /// Of a cell that has a figure, in another unit by the factor; `None` without one above zero.
    pub(crate) fn of(summary: &Summary, factor: f64) -> Option<Self> {
        let estimate = summary.estimate?;
        // Fewer than six runs have no interval of 95 %, but their range.
        let (low, high) = (estimate.low.min(estimate.value), estimate.high.max(estimate.value));
        let good = low > 0.0 && high.is_finite();
        good.then(|| Self {
            value: estimate.value * factor,
            low: low * factor,
            high: high * factor,
            from: format!("{}, {} runs", summary.label, summary.done),
        })
    }
}
