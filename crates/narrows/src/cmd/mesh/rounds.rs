//! What a user sees while a mesh is measured: which round it is, the time that the others should
//! take, and the figures of the last one.

use crate::progress::Shown;
use narrows_report::words;
use narrows_runner::Progress;
use narrows_stats::mesh::Figures;
use std::time::{Duration, Instant};

/// Rounds, as they go on.
pub struct Rounds {
    shown: Shown,
    began: Instant,
    planned: usize,
    done: usize,
    /// What one takes, before any is done.
    each: Duration,
    last: String,
}

impl Rounds {
    /// None is done yet, of so many that should take so long each.
    pub fn new(planned: usize, each: Duration) -> Self {
        let shown = Shown::new(None);
        Self { shown, began: Instant::now(), planned, done: 0, each, last: String::new() }
    }

    /// So many more are to be run.
    pub fn add(&mut self, more: usize) {
        self.planned += more;
    }

    /// A round of so many pairs begins.
    pub fn begins(&mut self, pairs: usize) {
        let left = self.left();
        let label = format!("{} at once{}", words::counted(pairs, "pair"), self.last);
        let (done, total) = (self.done, self.planned);
        self.shown.step(&Progress { done, total, label: &label, left });
    }

    fn left(&self) -> Duration {
        let more = self.planned.saturating_sub(self.done);
        match self.done {
            0 => left(more, 1, self.each),
            done => left(more, done, self.began.elapsed()),
        }
    }

    /// It is over.
    pub fn ran(&mut self, figures: Option<Figures>) {
        self.done += 1;
        self.last = figures.map_or_else(|| "; the last round gave no figure".to_owned(), told);
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        self.shown.clear();
    }
}

/// What so many more should take: as long as those that are done, in so long.
fn left(more: usize, done: usize, so_far: Duration) -> Duration {
    so_far.mul_f64(more as f64 / done as f64)
}

fn told(figures: Figures) -> String {
    let [least, most] =
        [figures.least, figures.most].map(|value| words::value(value, figures.unit));
    if least == most {
        return format!("; the last round: {least}");
    }
    format!("; the last round: {least} to {most}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::units::Unit;

    #[test]
    fn the_time_left_is_that_of_the_rounds_so_far() {
        assert_eq!(left(5, 3, Duration::from_secs(6)), Duration::from_secs(10));
        assert_eq!(left(0, 3, Duration::from_secs(6)), Duration::ZERO);
        let mut rounds = Rounds::new(8, Duration::from_secs(2));
        assert_eq!(rounds.left(), Duration::from_secs(16), "none is done");
        (0..8).for_each(|_| rounds.ran(None));
        assert_eq!(rounds.left(), Duration::ZERO);
    }

    #[test]
    fn the_last_round_is_told_by_its_least_and_most() {
        let figures = |least, most| Figures { least, most, unit: Unit::BitsPerSecond };
        assert_eq!(told(figures(7.6e6, 8e6)), "; the last round: 7.60 Mb/s to 8.00 Mb/s");
        assert_eq!(told(figures(8e6, 8e6)), "; the last round: 8.00 Mb/s");
    }
}
