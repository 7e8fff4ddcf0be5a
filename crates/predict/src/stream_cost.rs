//! What one stream's busiest CPU spends on a message and on a byte: of streams with messages of one
//! size or of several.
//!
//! Time a message is `a + b x size`, neither below zero (docs/predict.md). One size alone leaves
//! open how much is whose, so what is said of another lies between all of the one and all of the
//! other.

use crate::measured::Measured;
use schemars::JsonSchema;
use serde::Serialize;

/// Sizes so near each other are one.
const SAME_SIZE: f64 = 1.01;

/// A stream of one message size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Payload of a message.
    pub message_bytes: f64,
    /// Gb/s that a full CPU allows.
    pub gbps: Measured,
}

impl Point {
    fn ns(&self) -> f64 {
        8.0 * self.message_bytes / self.gbps.value
    }
}

/// Streams of one protocol, by message size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StreamCost {
    points: Vec<Point>,
}

/// What is said of a message size.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowed {
    /// Gb/s that a full CPU allows.
    pub gbps: Measured,
    /// Nanoseconds a message and a byte, where several sizes told.
    pub parts_ns: Option<(f64, f64)>,
}

impl StreamCost {
    /// Takes a stream in; of several with one size the fastest.
    pub fn add(&mut self, point: Point) {
        let same = |known: &Point| known.message_bytes == point.message_bytes;
        match self.points.iter_mut().find(|known| same(known)) {
            Some(known) if known.gbps.value >= point.gbps.value => {}
            Some(known) => *known = point,
            None => self.points.push(point),
        }
        self.points.sort_by(|a, b| a.message_bytes.total_cmp(&b.message_bytes));
    }

    /// All streams, by message size.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// What a full CPU allows with messages of so many bytes; `None` where nothing was measured.
    pub fn at(&self, message_bytes: f64) -> Option<Allowed> {
        let far = |point: &&Point| (point.message_bytes / message_bytes).ln().abs();
        let nearest = self.points.iter().min_by(|a, b| far(a).total_cmp(&far(b)))?;
        let parts_ns = self.parts_ns();
        if far(&nearest) <= SAME_SIZE.ln() {
            return Some(Allowed { gbps: nearest.gbps.clone(), parts_ns });
        }
        // All of the time a message's, and all of it the bytes'.
        let (known, scale) = (&nearest.gbps, message_bytes / nearest.message_bytes);
        let (least, most) = (scale.min(1.0), scale.max(1.0));
        let one = |value: f64, low: f64, high: f64, from: String| Allowed {
            gbps: Measured { value, low: low.min(value), high: high.max(value), from },
            parts_ns,
        };
        let (low, high) = (known.low * least, known.high * most);
        let Some((message_ns, byte_ns)) = parts_ns else {
            let from = format!("{}, of {} B", known.from, nearest.message_bytes);
            return Some(one(known.value * scale.sqrt(), low, high, from));
        };
        let fitted = 8.0 * message_bytes / (message_ns + byte_ns * message_bytes);
        let sizes: Vec<String> =
            self.points.iter().map(|point| point.message_bytes.to_string()).collect();
        let from = format!("messages of {} B", sizes.join(", "));
        if self.is_between(message_bytes) {
            let half = self.half(message_ns, byte_ns);
            return Some(one(fitted, fitted * (-half).exp(), fitted * half.exp(), from));
        }
        Some(one(fitted.clamp(known.value * least, known.value * most), low, high, from))
    }

    fn is_between(&self, message_bytes: f64) -> bool {
        let ends = self.points.first().zip(self.points.last());
        ends.is_some_and(|(first, last)| {
            (first.message_bytes..=last.message_bytes).contains(&message_bytes)
        })
    }

    /// Half the range: the widest interval of a stream, with how far off the line is at most.
    fn half(&self, message_ns: f64, byte_ns: f64) -> f64 {
        let wide = most(&mut self.points.iter().map(|point| point.gbps.half()));
        let off =
            most(&mut self.points.iter().map(|point| {
                ((message_ns + byte_ns * point.message_bytes) / point.ns()).ln().abs()
            }));
        wide.hypot(off)
    }

    /// Nanoseconds a message and a byte: least squares of what the line is off in proportion.
    fn parts_ns(&self) -> Option<(f64, f64)> {
        if self.points.len() < 2 {
            return None;
        }
        // With weights 1/t, of 1 = a x + b y over all points, x = 1/t and y = size/t.
        let sums = self.points.iter().fold([0.0; 5], |[xx, xy, yy, x, y], point| {
            let (one, of) = (1.0 / point.ns(), point.message_bytes / point.ns());
            [xx + one * one, xy + one * of, yy + of * of, x + one, y + of]
        });
        let [xx, xy, yy, x, y] = sums;
        let whole = xx * yy - xy * xy;
        let (message, byte) = ((x * yy - y * xy) / whole, (y * xx - x * xy) / whole);
        let good = message.is_finite() && byte.is_finite();
        match good {
            true if message >= 0.0 && byte >= 0.0 => Some((message, byte)),
            true if message < 0.0 => Some((0.0, y / yy)),
            true => Some((x / xx, 0.0)),
            false => None,
        }
    }
}

fn most(all: &mut dyn Iterator<Item = f64>) -> f64 {
    all.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(sizes: &[f64], ns: impl Fn(f64) -> f64) -> StreamCost {
        let mut cost = StreamCost::default();
        for size in sizes {
            let gbps = 8.0 * size / ns(*size);
            let from = "measured here".to_owned();
            let gbps = Measured { value: gbps, low: gbps * 0.99, high: gbps * 1.01, from };
            cost.add(Point { message_bytes: *size, gbps });
        }
        cost
    }

    #[test]
    fn a_message_and_its_bytes_come_out() {
        let line = |size: f64| 700.0 + 0.1 * size;
        let cost = cost(&[100.0, 1000.0, 60_000.0], line);
        let (message, byte) = cost.parts_ns().expect("two parts");
        assert!((message - 700.0).abs() < 1e-6 && (byte - 0.1).abs() < 1e-9, "{message} {byte}");
        let between = cost.at(8000.0).expect("one").gbps;
        assert!((between.value - 64_000.0 / line(8000.0)).abs() < 1e-9);
        assert!(between.low > 0.95 * between.value && between.high < 1.05 * between.value);
        // Beyond what was measured the range is as wide as the two can make it.
        let beyond = cost.at(10.0).expect("one").gbps;
        assert!((beyond.value - 80.0 / line(10.0)).abs() < 1e-9, "{beyond:?}");
        assert!(beyond.high > 9.0 * beyond.low, "{beyond:?}");
    }

    #[test]
    fn one_size_says_little_of_others_and_all_of_itself() {
        let one = cost(&[1000.0], |_| 1000.0);
        let same = one.at(1000.0).expect("one");
        assert_eq!((same.gbps.value, same.parts_ns), (8.0, None));
        for line in [|_: f64| 1000.0, |size: f64| size, |size: f64| 500.0 + size / 2.0] {
            for size in [16.0, 200.0, 64_000.0] {
                let (truth, said) = (8.0 * size / line(size), one.at(size).expect("one").gbps);
                assert!(said.low <= truth && truth <= said.high, "{size}: {truth} {said:?}");
            }
        }
        assert_eq!(StreamCost::default().at(1.0), None);
    }

    #[test]
    fn neither_part_is_below_zero() {
        // Larger messages that cost less, and ones that cost more than in proportion.
        for sizes in [(500.0, 200.0), (100.0, 100_000.0)] {
            let ns = |size: f64| if size < 1000.0 { sizes.0 } else { sizes.1 };
            let cost = cost(&[100.0, 10_000.0], ns);
            let (message, byte) = cost.parts_ns().expect("two parts");
            assert!(message >= 0.0 && byte >= 0.0, "{message} {byte}");
            let said = cost.at(1000.0).expect("one").gbps;
            assert!(said.low > 0.0 && said.high.is_finite() && said.high > 1.05 * said.low);
        }
    }
}
