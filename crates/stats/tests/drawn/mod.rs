//! Values to simulate with: shapes of distributions, each with a median of 100.

#![allow(dead_code, reason = "not every test draws every shape")]

use rand::RngExt;
use rand_pcg::Pcg64;
use statrs::distribution::{ContinuousCDF, Normal};

/// A shape of distribution.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Normal around the median.
    Normal,
    /// Lognormal, of a logarithm that spreads five times as much: skewed.
    Skewed,
    /// Student's with two degrees: no variance.
    HeavyTailed,
    /// Two modes, 60 % and 40 %, six spreads apart.
    Bimodal,
    /// The normal, to whole spreads: many runs are equal.
    Ties,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Normal, Self::Skewed, Self::HeavyTailed, Self::Bimodal, Self::Ties];

    /// One value; `spread` is a share of the median.
    pub fn draw(self, random: &mut Pcg64, spread: f64) -> f64 {
        let u: f64 = random.random_range(1e-12..1.0);
        let z = Normal::standard().inverse_cdf(u);
        let of = match self {
            Self::Normal => z * spread,
            Self::Skewed => (5.0 * spread * z).exp() - 1.0,
            // With two degrees the quantiles have a closed form.
            Self::HeavyTailed => spread * (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt(),
            // The median is that of the larger mode's upper part.
            Self::Bimodal => {
                let middle = Normal::standard().inverse_cdf(0.5 / 0.6);
                let lower = random.random_bool(0.6);
                spread * (z - middle + if lower { 0.0 } else { 6.0 })
            }
            Self::Ties => z.round() * spread,
        };
        100.0 * (1.0 + of)
    }
}
