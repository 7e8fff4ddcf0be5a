//! Grades of latency under load, and round trips a minute.

use narrows_model::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much longer a round trip takes under load, as a school grade. The bounds are those of the
/// bufferbloat test of Waveform and of DSLReports before it: 5, 30, 60, 200 and 400 ms.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Grade {
    /// Less than 5 ms longer.
    #[serde(rename = "A+")]
    APlus,
    /// Less than 30 ms.
    A,
    /// Less than 60 ms.
    B,
    /// Less than 200 ms.
    C,
    /// Less than 400 ms.
    D,
    /// 400 ms and more, or half of the requests without an answer.
    F,
}

impl Grade {
    /// Each grade but the last, and what is no longer within it, in milliseconds.
    pub const BELOW_MS: [(Self, f64); 5] =
        [(Self::APlus, 5.0), (Self::A, 30.0), (Self::B, 60.0), (Self::C, 200.0), (Self::D, 400.0)];

    /// The grade of so many nanoseconds more than idle.
    pub fn of(rise_ns: f64) -> Self {
        let below = Self::BELOW_MS.into_iter().find(|(_, ms)| rise_ns < ms * 1e6);
        below.map_or(Self::F, |(grade, _)| grade)
    }

    /// The letter on a report.
    pub fn word(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Round trips that would fit into a minute, one after the other: responsiveness as the IETF's
/// draft on it counts (draft-ietf-ippm-responsiveness), of one kind of round trip.
pub fn per_minute(round_trip: Nanos) -> f64 {
    60e9 / round_trip.0.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grade_ends_where_the_next_begins() {
        let of = |ms: f64| Grade::of(ms * 1e6).word();
        let seen = [-3.0, 0.0, 4.99, 5.0, 29.99, 30.0, 59.9, 60.0, 199.0, 200.0, 399.9, 400.0, 9e3];
        let wanted = ["A+", "A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F", "F"];
        assert_eq!(seen.map(of), wanted);
        assert!(Grade::APlus < Grade::A && Grade::D < Grade::F, "the larger one is the worse");
    }

    #[test]
    fn responsiveness_is_a_minute_over_a_round_trip() {
        assert!((per_minute(Nanos::from_millis(100)) - 600.0).abs() < 1e-9);
        assert!((per_minute(Nanos::from_millis(20)) - 3000.0).abs() < 1e-9);
    }
}
