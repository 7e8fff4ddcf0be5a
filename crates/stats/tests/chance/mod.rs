//! Chance that is the same each time.

/// Numbers between 0 and 1 that look like chance (Knuth's linear congruence).
pub struct Chance(u64);

impl Chance {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 1 by so much, the sum of three even numbers.
    pub fn around(&mut self, spread: f64) -> f64 {
        1.0 + spread * (self.next() + self.next() + self.next() - 1.5)
    }
}
