//! Units as types. Network rates are decimal bits per second, memory rates decimal bytes per
//! second, sizes bytes; each prints itself with its unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A span of time in nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A network rate in bits per second; 1 Gb/s is 10^9.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct BitsPerSecond(pub f64);

/// A memory or bus rate in bytes per second; 1 GB/s is 10^9.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct BytesPerSecond(pub f64);

/// A rate of floating-point operations; 1 Gflop/s is 10^9 of them a second.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct FlopsPerSecond(pub f64);

impl Bytes {
    /// `n` KiB (2^10 bytes).
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }
    /// `n` MiB (2^20 bytes).
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }
    /// `n` GiB (2^30 bytes).
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
}

impl Nanos {
    /// A time of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// A time of so many seconds, less what is no whole nanosecond; 0 for less than none.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9) as u64)
    }
    /// The span in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl BitsPerSecond {
    /// The rate in Gb/s.
    pub fn gbps(self) -> f64 {
        self.0 / 1e9
    }
}

impl BytesPerSecond {
    /// The rate in GB/s.
    pub fn gbytes(self) -> f64 {
        self.0 / 1e9
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let Some((step, unit)) = STEPS.iter().find(|(step, _)| self.0 >= *step) else {
            return write!(f, "{} B", self.0);
        };
        if self.0 < 10 << 10 && !self.0.is_multiple_of(*step) {
            return write!(f, "{} B", self.0);
        }
        if self.0.is_multiple_of(*step) {
            return write!(f, "{} {unit}", self.0 / step);
        }
        write!(f, "{:.1} {unit}", self.0 as f64 / *step as f64)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 1_000 => write!(f, "{n} ns"),
            n if n < 1_000_000 => write!(f, "{:.1} us", n as f64 / 1e3),
            n if n < 1_000_000_000 => write!(f, "{:.1} ms", n as f64 / 1e6),
            n => write!(f, "{:.1} s", n as f64 / 1e9),
        }
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1e9 {
            return write!(f, "{} Gb/s", three_digits(self.0 / 1e9));
        }
        write!(f, "{} Mb/s", three_digits(self.0 / 1e6))
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GB/s", three_digits(self.0 / 1e9))
    }
}

impl fmt::Display for FlopsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, unit) = match self.0 {
            rate if rate >= 1e12 => (1e12, "Tflop/s"),
            rate if rate >= 1e9 => (1e9, "Gflop/s"),
            _ => (1e6, "Mflop/s"),
        };
        write!(f, "{} {unit}", three_digits(self.0 / step))
    }
}

/// Prints with three significant digits, never in exponent form.
pub fn three_digits(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// Why a text is no size and no rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAQuantity {
    /// No number, or a suffix that is not K, M or G.
    Number(String),
    /// Below zero, or without end.
    Size(String),
    /// Part of a byte, or more than 1e15 of them.
    WholeBytes(String),
}

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => write!(f, "'{text}' is not a number with an optional K, M or G"),
            Self::Size(text) => write!(f, "'{text}' is not a size"),
            Self::WholeBytes(text) => write!(f, "'{text}' is not a whole number of bytes"),
        }
    }
}

impl Error for NotAQuantity {}

/// Splits `text` into a number and a binary suffix K, M or G (iperf's rule: powers of two).
fn with_suffix(text: &str, step: f64) -> Result<f64, NotAQuantity> {
    let text = text.trim();
    let (digits, power) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1),
        Some('m' | 'M') => (&text[..text.len() - 1], 2),
        Some('g' | 'G') => (&text[..text.len() - 1], 3),
        _ => (text, 0),
    };
    let number: f64 = digits.parse().map_err(|_| NotAQuantity::Number(text.to_owned()))?;
    if !number.is_finite() || number < 0.0 {
        return Err(NotAQuantity::Size(text.to_owned()));
    }
    Ok(number * step.powi(power))
}

impl FromStr for Bytes {
    type Err = NotAQuantity;
    /// Reads `64K`, `1M`, `1472`; suffixes are powers of two, as in iperf.
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        let bytes = with_suffix(text, 1024.0)?;
        if bytes > 1e15 || bytes.fract() != 0.0 {
            return Err(NotAQuantity::WholeBytes(text.to_owned()));
        }
        Ok(Self(bytes as u64))
    }
}

impl FromStr for BitsPerSecond {
    type Err = NotAQuantity;
    /// Reads `1G`, `500M`; suffixes are powers of ten, as rates are.
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        with_suffix(text, 1000.0).map(Self)
    }
}

/// Unit of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Nanoseconds of a duration.
    #[serde(rename = "ns")]
    Nanos,
    /// A share between 0 and 1.
    #[serde(rename = "share")]
    Share,
    /// Datagrams per second.
    #[serde(rename = "datagram/s")]
    DatagramsPerSecond,
    /// Packets per second.
    #[serde(rename = "packet/s")]
    PacketsPerSecond,
    /// Events per second: round trips, connections, system calls, packets.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Floating-point operations per second.
    #[serde(rename = "flop/s")]
    FlopsPerSecond,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_powers_of_two_and_rates_as_powers_of_ten() {
        assert_eq!("64K".parse::<Bytes>(), Ok(Bytes(65536)));
        assert_eq!("1472".parse::<Bytes>(), Ok(Bytes(1472)));
        assert_eq!("2g".parse::<Bytes>(), Ok(Bytes::gib(2)));
        assert_eq!("1G".parse::<BitsPerSecond>(), Ok(BitsPerSecond(1e9)));
        for bad in ["", "K", "-1", "nan", "1.0001", "1e99", "64KiB"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_quantity_prints_with_its_unit() {
        assert_eq!(Bytes::kib(64).to_string(), "64 KiB");
        assert_eq!(Bytes(1500).to_string(), "1500 B");
        assert_eq!(Bytes(15_360).to_string(), "15 KiB");
        assert_eq!(Bytes(15_872).to_string(), "15.5 KiB");
        assert_eq!(Nanos(70_500).to_string(), "70.5 us");
        assert_eq!(BitsPerSecond(61.25e9).to_string(), "61.2 Gb/s");
        assert_eq!(BytesPerSecond(23.47e9).to_string(), "23.5 GB/s");
        for (rate, said) in [
            (7.017e8, "702 Mflop/s"),
            (1e9, "1.00 Gflop/s"),
            (5.463e9, "5.46 Gflop/s"),
            (1e12, "1.00 Tflop/s"),
        ] {
            assert_eq!(FlopsPerSecond(rate).to_string(), said);
        }
    }

    #[test]
    fn a_size_has_the_largest_unit_that_it_fills() {
        for (bytes, said) in [
            (1023, "1023 B"),
            (1 << 10, "1 KiB"),
            (10 << 10, "10 KiB"),
            ((10 << 10) - 1, "10239 B"),
            ((1 << 20) - 512, "1023.5 KiB"),
            (1 << 20, "1 MiB"),
            (3 << 19, "1.5 MiB"),
            ((1 << 30) - (1 << 19), "1023.5 MiB"),
            (1 << 30, "1 GiB"),
            (3 << 29, "1.5 GiB"),
            ((1 << 40) - (1 << 29), "1023.5 GiB"),
            (1 << 40, "1 TiB"),
            (3 << 39, "1.5 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), said, "{bytes}");
        }
        let times =
            [(999, "999 ns"), (1000, "1.0 us"), (1_000_000, "1.0 ms"), (1_500_000_000, "1.5 s")];
        for (ns, said) in times {
            assert_eq!(Nanos(ns).to_string(), said);
        }
        assert_eq!((BitsPerSecond(25e9).gbps(), BytesPerSecond(3e9).gbytes()), (25.0, 3.0));
    }
}
