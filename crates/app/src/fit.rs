//! Run time by ranks and fabric as `t(p) = comp / p + messages * latency + bytes / bandwidth`: what
//! is computed, shared by the ranks, and what a rank waits for its messages, one after the other.
//!
//! With the time of one rank known, two fabrics give messages and bytes of each number of ranks,
//! and a third shows how wrong that is. Compute that does not scale (memory that ranks share) is in
//! what is left over, and so in the error.

use serde::Serialize;

/// A fabric between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// One way of a short message, in seconds.
    pub latency_s: f64,
    /// Of long messages, in bytes a second.
    pub bytes_per_s: f64,
}

/// The application over one fabric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the fabric, with its place and MTU.
    pub fabric: String,
    /// What the fabric is capable of.
    pub speed: Speed,
    /// Run time, in seconds.
    pub time_s: f64,
}

/// What a run sends and computes, as far as its time tells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Time of one rank, in seconds.
    pub comp_s: f64,
    /// Ranks that share it.
    pub ranks: u32,
    /// Messages that are waited for, one after the other.
    pub messages: f64,
    /// Bytes that are waited for.
    pub bytes: f64,
}

impl Fit {
    /// Run time over a fabric, in seconds.
    pub fn time_s(&self, speed: &Speed) -> f64 {
        self.comp_s / f64::from(self.ranks)
            + self.messages * speed.latency_s
            + self.bytes / speed.bytes_per_s
    }
}

/// A fabric that was left out, and what the others say of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Name of the fabric.
    pub fabric: String,
    /// What the model was fitted on.
    pub from: [String; 2],
    /// The three terms as fitted on two fabrics.
    pub fit: Fit,
    /// By the model, in seconds.
    pub predicted_s: f64,
    /// By its runs, in seconds.
    pub measured_s: f64,
}

impl Predicted {
    /// How far the model is off, as a share of what was measured; above 0 it says too much.
    pub fn error(&self) -> f64 {
        self.predicted_s / self.measured_s - 1.0
    }
}

/// Fits on two fabrics. Neither messages nor bytes are below none: where the best pair would be,
/// the one that explains more alone is taken. `None` where the two are too alike to tell messages
/// from bytes, or a figure is no figure.
pub fn fit(comp_s: f64, ranks: u32, two: [&Point; 2]) -> Option<Fit> {
    let rows = two.map(|point| {
        let rest = point.time_s - comp_s / f64::from(ranks.max(1));
        (point.speed.latency_s, 1.0 / point.speed.bytes_per_s, rest)
    });
    let [(a, b, r), (c, d, s)] = rows;
    let sound = [a, b, c, d].iter().all(|x| x.is_finite() && *x > 0.0)
        && [comp_s, r, s].iter().all(|x| x.is_finite());
    let determinant = a * d - b * c;
    // Fabrics whose latencies stand to each other as their rates do have one equation between them.
    let is_apart = determinant.abs() > APART * (a * d).max(b * c);
    if !sound || !is_apart || ranks < 2 {
        return None;
    }
    let both = ((r * d - b * s) / determinant, (a * s - c * r) / determinant);
    let (messages, bytes) = match both {
        (messages, bytes) if messages >= 0.0 && bytes >= 0.0 => both,
        _ => one_of([(a, c), (b, d)], (r, s)),
    };
    Some(Fit { comp_s, ranks, messages, bytes })
}

/// How different the ratios of latencies and of rates must be, as a share.
const APART: f64 = 0.05;

/// Messages alone or bytes alone, by least squares, whichever leaves less.
fn one_of(columns: [(f64, f64); 2], (r, s): (f64, f64)) -> (f64, f64) {
    let [messages, bytes] = columns.map(|(x, y)| {
        let many = ((x * r + y * s) / (x * x + y * y)).max(0.0);
        (many, (r - many * x).powi(2) + (s - many * y).powi(2))
    });
    if messages.1 <= bytes.1 { (messages.0, 0.0) } else { (0.0, bytes.0) }
}

/// Each fabric by two of the others, those whose latencies lie furthest apart.
pub fn predictions(comp_s: f64, ranks: u32, points: &[Point]) -> Vec<Predicted> {
    let mut all = Vec::new();
    for (at, third) in points.iter().enumerate() {
        let mut others: Vec<&Point> =
            points.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, p)| p).collect();
        others.sort_by(|x, y| x.speed.latency_s.total_cmp(&y.speed.latency_s));
        let (Some(first), Some(last)) = (others.first(), others.last()) else { continue };
        if others.len() < 2 {
            continue;
        }
        let Some(fit) = fit(comp_s, ranks, [first, last]) else { continue };
        all.push(Predicted {
            fabric: third.fabric.clone(),
            from: [first.fabric.clone(), last.fabric.clone()],
            fit,
            predicted_s: fit.time_s(&third.speed),
            measured_s: third.time_s,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHM: Speed = Speed { latency_s: 0.25e-6, bytes_per_s: 20e9 };
    const LO: Speed = Speed { latency_s: 4e-6, bytes_per_s: 10e9 };
    const WIRE: Speed = Speed { latency_s: 30e-6, bytes_per_s: 1.25e9 };
    /// 8 s of compute, 20,000 messages, 3 GB.
    const KNOWN: Fit = Fit { comp_s: 8.0, ranks: 4, messages: 2e4, bytes: 3e9 };

    fn point(name: &str, speed: Speed) -> Point {
        Point { fabric: name.to_owned(), speed, time_s: KNOWN.time_s(&speed) }
    }

    #[test]
    fn what_is_known_comes_out_and_the_third_fabric_is_met() {
        // 2 s + 20000 x 30 us + 3 GB over 1.25 GB/s.
        assert!((KNOWN.time_s(&WIRE) - 5.0).abs() < 1e-12);
        let points = [point("shm", SHM), point("lo", LO), point("wire", WIRE)];
        let all = predictions(8.0, 4, &points);
        assert_eq!(all.len(), 3);
        for one in &all {
            assert!((one.fit.messages / 2e4 - 1.0).abs() < 1e-6, "{one:?}");
            assert!((one.fit.bytes / 3e9 - 1.0).abs() < 1e-6, "{one:?}");
            assert!(one.error().abs() < 1e-9, "{one:?}");
        }
        let wire = all.iter().find(|one| one.fabric == "wire").expect("the third");
        assert_eq!(wire.from, ["shm", "lo"]);
    }

    #[test]
    fn an_error_is_that_of_the_measured_time() {
        let mut points = [point("shm", SHM), point("lo", LO), point("wire", WIRE)];
        points[2].time_s = 4.0;
        let all = predictions(8.0, 4, &points);
        let wire = all.iter().find(|one| one.fabric == "wire").expect("the third");
        assert!((wire.error() - 0.25).abs() < 1e-9, "{wire:?}");
    }

    #[test]
    fn nothing_is_sent_fewer_than_no_times() {
        // Faster over the slower fabric: the plain solution has messages below none.
        let fast = Point { time_s: 2.30, ..point("shm", SHM) };
        let slow = Point { time_s: 2.20, ..point("wire", WIRE) };
        let fit = fit(8.0, 4, [&fast, &slow]).expect("a fit");
        assert!(fit.messages >= 0.0 && fit.bytes >= 0.0, "{fit:?}");
        assert!(fit.messages == 0.0 || fit.bytes == 0.0, "{fit:?}");
    }

    #[test]
    fn fabrics_that_are_alike_tell_nothing() {
        let twice = Speed { latency_s: 8e-6, bytes_per_s: 5e9 };
        assert_eq!(fit(8.0, 4, [&point("lo", LO), &point("twice", twice)]), None);
        assert_eq!(fit(8.0, 1, [&point("shm", SHM), &point("lo", LO)]), None);
        let broken = Speed { latency_s: 0.0, ..LO };
        assert_eq!(fit(8.0, 4, [&point("shm", SHM), &point("broken", broken)]), None);
        assert_eq!(predictions(8.0, 4, &[point("shm", SHM), point("lo", LO)]), []);
    }
}
