//! Bisection with answers that are not always right: where a rate is lost that the path carries, by
//! a host that was kept busy, or none at one that it does not carry, by a queue that took it all.
//!
//! What is known is a probability for each place that the border can be at, and for how often runs
//! are wrong; each run changes it by Bayes' rule, and the next is made at the middle (Horstein
//! 1963; Waeber, Frazier, Henderson 2013). A wrong run is outvoted by later ones, wherever it was.

use narrows_model::study::Search;

/// How often runs may be wrong: a loss below the border, and none above it. Each pair is as
/// probable as the others before the first run. No machine is taken for better than one that is
/// wrong in one run of fifty: a border never rests on one run.
const FALSE_LOSS: [f64; 5] = [0.02, 0.08, 0.15, 0.25, 0.35];
const FALSE_PASS: [f64; 3] = [0.03, 0.08, 0.15];
/// Once so many runs fell short of their rates, none beyond the highest that was reached is tried.
const SHORT_MAX: u32 = 2;
/// The border is known when it lies within so many steps.
const STEPS: usize = 2;

/// What one run says of its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Packets that were sent a second.
    pub sent_per_second: f64,
    /// What share of them did not come.
    pub lost_share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stand {
    /// Another run is wanted, at the rate of this index.
    Next(usize),
    /// Between the two: all rates up to `passes` do, and from `loses` on packets are lost.
    Found(Border),
    /// The sender reaches no more than this rate, and nothing is lost at it.
    SenderBound(Border),
    /// As many runs as are allowed did not narrow it down.
    Undecided(Border),
}

/// Between which two rates the border lies, at the search's confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    /// Index of the highest rate that passes; `None` where even the lowest loses.
    pub passes: Option<usize>,
    /// Index of the lowest rate that loses; `None` where none does.
    pub loses: Option<usize>,
}

/// What is known of the border among rates.
#[derive(Clone, Debug)]
pub struct Bisection {
    search: Search,
    rates: Vec<u64>,
    /// By kind of error, then by how many of the rates pass: the probability of both.
    known: Vec<Vec<f64>>,
    /// Runs that fell short of the rate that was asked for.
    short: u32,
    /// The highest rate that the sender kept, in packets a second.
    reached: f64,
    runs: u32,
    /// Where it stands after the last of them, and how many are wanted at least: asked more often
    /// than it changes.
    stand: Stand,
    runs_left: u32,
}

impl Bisection {
    /// Of a search of which no run has been made.
    pub fn new(search: &Search) -> Self {
        let rates = search.rates();
        let kinds = FALSE_LOSS.len() * FALSE_PASS.len();
        let each = 1.0 / ((rates.len() + 1) * kinds) as f64;
        let known = vec![vec![each; rates.len() + 1]; kinds];
        let stand = Stand::Next(0);
        let (short, reached, runs, runs_left) = (0, 0.0, 0, 1);
        let search = *search;
        let mut new = Self { search, rates, known, short, reached, runs, stand, runs_left };
        new.look();
        new
    }

    /// The rates, in packets a second, from the lowest.
    pub fn rates(&self) -> &[u64] {
        &self.rates
    }

    /// Runs that were made.
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// Takes what a run at the rate of an index says. One whose sender kept another rate is of the
    /// rate that it kept; one that nothing is known of is counted and says nothing.
    pub fn take(&mut self, asked: usize, seen: Option<Seen>) {
        self.runs += 1;
        if let Some(seen) = seen {
            self.weigh(asked, seen);
        }
        self.look();
    }

    fn weigh(&mut self, asked: usize, seen: Seen) {
        let (step, rate) = (self.search.step(), self.rates[asked] as f64);
        let passed = seen.lost_share * 100.0 <= self.search.loss_percent;
        let is_short = seen.sent_per_second < rate / (1.0 + step);
        self.short += u32::from(is_short);
        self.reached = self.reached.max(seen.sent_per_second);
        let kept = is_short || seen.sent_per_second > rate * (1.0 + step);
        let at = if kept { self.nearest(seen.sent_per_second, passed) } else { Some(asked) };
        if let Some(at) = at {
            self.learn(at, passed);
        }
    }

    /// The rate that a run is of whose sender kept one of its own: nothing is claimed of rates
    /// above one that passed, nor of those below one that lost.
    fn nearest(&self, sent_per_second: f64, passed: bool) -> Option<usize> {
        let above = self.rates.partition_point(|rate| *rate as f64 <= sent_per_second);
        if passed { above.checked_sub(1) } else { Some(above).filter(|at| *at < self.rates.len()) }
    }

    fn learn(&mut self, at: usize, passed: bool) {
        for (kind, border) in self.known.iter_mut().enumerate() {
            let (loss, pass) =
                (FALSE_LOSS[kind / FALSE_PASS.len()], FALSE_PASS[kind % FALSE_PASS.len()]);
            for (passing, probability) in border.iter_mut().enumerate() {
                let right = match (passing > at, passed) {
                    (true, true) => 1.0 - loss,
                    (true, false) => loss,
                    (false, true) => pass,
                    (false, false) => 1.0 - pass,
                };
                *probability *= right;
            }
        }
        let sum: f64 = self.known.iter().flatten().sum();
        self.known.iter_mut().flatten().for_each(|probability| *probability /= sum);
    }

    /// The probability that so many of the rates pass, from none to all.
    fn passing(&self) -> Vec<f64> {
        (0..=self.rates.len()).map(|at| self.known.iter().map(|border| border[at]).sum()).collect()
    }

    /// Index of the lowest rate that the sender does not reach; the number of rates where it
    /// reaches all.
    fn ceiling(&self) -> usize {
        if self.short < SHORT_MAX {
            return self.rates.len();
        }
        let reached = self.reached * (1.0 + self.search.step());
        self.rates.partition_point(|rate| *rate as f64 <= reached).max(1)
    }

    /// The border at the search's confidence: as much is left out below it as above.
    fn border(&self, passing: &[f64]) -> (usize, usize) {
        let out = (1.0 - self.search.confidence_percent / 100.0) / 2.0;
        let low = first_beyond(passing.iter(), out);
        let high = passing.len() - 1 - first_beyond(passing.iter().rev(), out);
        (low, high.max(low))
    }

    pub fn stand(&self) -> Stand {
        self.stand
    }

    fn look(&mut self) {
        let passing = self.passing();
        // None tells more than one bit of where the border is.
        let bits: f64 = passing.iter().filter(|p| **p > 0.0).map(|p| -p * p.log2()).sum();
        self.runs_left = ((bits - 1.0).ceil() as u32).max(1);
        self.stand = self.stand_by(&passing);
    }

    fn stand_by(&self, passing: &[f64]) -> Stand {
        let (low, high) = self.border(passing);
        let of = |low: usize, high: usize| Border {
            passes: low.checked_sub(1),
            loses: Some(high).filter(|high| *high < self.rates.len()),
        };
        let ceiling = self.ceiling();
        if ceiling < self.rates.len() && low + STEPS >= ceiling {
            // The rates beyond were never sent: whether they pass is not known.
            return Stand::SenderBound(Border { loses: None, ..of(low.min(ceiling), high) });
        }
        if high - low <= STEPS {
            return Stand::Found(of(low, high));
        }
        if self.runs >= self.search.runs_max {
            return Stand::Undecided(of(low, high));
        }
        // Beyond the ceiling nothing can be told apart.
        let beyond: f64 = passing[ceiling..].iter().sum();
        Stand::Next(most_telling(&[&passing[..ceiling], &[beyond]].concat()))
    }

    /// Runs that are wanted at least.
    pub fn runs_left(&self) -> u32 {
        self.runs_left
    }
}

/// The rate whose run tells most: as much of what is known lies to one side of it as to the other.
/// Where one border holds most of that, it is the side with more left, so that both are tried.
fn most_telling(passing: &[f64]) -> usize {
    let all: f64 = passing.iter().sum();
    let (mut below, mut best, mut at) = (0.0, -1.0, 0);
    for (rate, share) in passing.iter().enumerate().take(passing.len().saturating_sub(1)) {
        below += share;
        let lesser = f64::min(below, all - below);
        if lesser > best {
            (best, at) = (lesser, rate);
        }
    }
    at
}

/// The first place up to which more than a share is.
fn first_beyond<'a>(shares: impl ExactSizeIterator<Item = &'a f64>, beyond: f64) -> usize {
    let (mut sum, last) = (0.0, shares.len().saturating_sub(1));
    for (at, share) in shares.enumerate() {
        sum += share;
        if sum > beyond {
            return at;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(rate_max: f64) -> Search {
        Search {
            rate_max_packets_per_second: rate_max,
            burst_max_frames: None,
            throughput_packets_per_second: None,
            rate_min_packets_per_second: None,
            resolution_percent: 2.0,
            loss_percent: 0.0,
            confidence_percent: 95.0,
            runs_max: 200,
        }
    }

    /// A path that carries so many packets a second and a sender that makes at most so many; the
    /// search's last stand.
    fn exact(search: &Search, carries: f64, makes: f64) -> (Bisection, Stand) {
        let mut bisection = Bisection::new(search);
        loop {
            let Stand::Next(at) = bisection.stand() else {
                let stand = bisection.stand();
                return (bisection, stand);
            };
            let sent = (bisection.rates()[at] as f64).min(makes);
            let lost_share = (1.0 - carries / sent).max(0.0);
            bisection.take(at, Some(Seen { sent_per_second: sent, lost_share }));
        }
    }

    #[test]
    fn the_border_of_a_path_without_noise_is_found_in_few_runs() {
        for carries in [1_100.0, 23_456.0, 50_000.0, 98_000.0] {
            let (bisection, stand) = exact(&search(1e5), carries, 1e9);
            let Stand::Found(Border { passes: Some(low), loses: Some(high) }) = stand else {
                panic!("{carries}: {stand:?}");
            };
            let rates = bisection.rates();
            assert!((rates[low] as f64) <= carries && carries < rates[high] as f64, "{carries}");
            assert!(rates[high] as f64 <= 1.031 * rates[low] as f64, "{carries}");
            assert!(bisection.runs() <= 30, "{carries}: {} runs", bisection.runs());
        }
    }

    #[test]
    fn a_path_that_carries_all_or_nothing_has_a_border_at_the_end() {
        let (_, all) = exact(&search(1e5), 2e5, 1e9);
        let Stand::Found(Border { passes: Some(_), loses: None }) = all else { panic!("{all:?}") };
        let (_, none) = exact(&search(1e5), 10.0, 1e9);
        let Stand::Found(Border { passes: None, .. }) = none else { panic!("{none:?}") };
    }

    #[test]
    fn a_sender_that_reaches_no_more_is_the_answer_and_not_the_path() {
        let (bisection, stand) = exact(&search(1e5), 9e4, 30_000.0);
        let Stand::SenderBound(Border { passes: Some(low), loses: None }) = stand else {
            panic!("{stand:?}");
        };
        let reached = bisection.rates()[low] as f64;
        // A rate counts as reached where no more than a step is missing.
        assert!((0.96 * 30_000.0..=1.01 * 30_000.0).contains(&reached), "{reached}");
        // One that loses before its own limit is told by what it loses.
        let (bisection, stand) = exact(&search(1e5), 20_000.0, 30_000.0);
        let Stand::Found(Border { loses: Some(high), .. }) = stand else { panic!("{stand:?}") };
        assert!((bisection.rates()[high] as f64) < 20_700.0);
    }

    #[test]
    fn what_may_be_lost_is_no_loss() {
        let lossy = Search { loss_percent: 10.0, ..search(1e5) };
        let (bisection, stand) = exact(&lossy, 45_000.0, 1e9);
        let Stand::Found(Border { loses: Some(high), .. }) = stand else { panic!("{stand:?}") };
        let rate = bisection.rates()[high] as f64;
        assert!((50_000.0..51_600.0).contains(&rate), "a tenth of {rate} is lost");
    }

    #[test]
    fn runs_that_nothing_is_known_of_end_a_search_undecided() {
        let mut bisection = Bisection::new(&Search { runs_max: 5, ..search(1e5) });
        let Stand::Next(first) = bisection.stand() else { panic!("no first run") };
        (0..5).for_each(|_| bisection.take(first, None));
        let Stand::Undecided(border) = bisection.stand() else { panic!("decided") };
        // 95 % of a flat distribution.
        let (low, high) = (border.passes.expect("a rate"), border.loses.expect("a rate"));
        let share = (high - low) as f64 / bisection.rates().len() as f64;
        assert!((0.94..0.97).contains(&share), "{share}");
    }

    /// A queue of so many frames that a slower path empties: the longest burst of it is known.
    #[test]
    fn the_longest_burst_is_that_which_a_planted_queue_holds() {
        let bursts = Search {
            burst_max_frames: Some(10_000),
            rate_max_packets_per_second: 0.0,
            ..search(0.0)
        };
        for (queue, throughput, sender) in
            [(200.0, 1e3, 3e5), (1000.0, 2e5, 4e5), (5000.0, 0.0, 1e6)]
        {
            let holds: f64 = queue / (1.0 - throughput / sender);
            let mut bisection = Bisection::new(&bursts);
            let stand = loop {
                let Stand::Next(at) = bisection.stand() else { break bisection.stand() };
                let burst = bisection.rates()[at] as f64;
                let lost_share = (1.0 - holds / burst).max(0.0);
                bisection.take(at, Some(Seen { sent_per_second: burst, lost_share }));
            };
            let Stand::Found(Border { passes: Some(low), loses: Some(high) }) = stand else {
                panic!("{queue}: {stand:?}");
            };
            let (low, high) = (bisection.rates()[low] as f64, bisection.rates()[high] as f64);
            assert!(low <= holds && holds < high, "{queue}: {low} to {high}");
            // The RFC's correction gives the queue back, within the resolution.
            let found = crate::buffer(low, sender, Some(throughput)).corrected_frames;
            let off = found.expect("a throughput") / queue - 1.0;
            assert!((-0.04..=0.001).contains(&off), "{queue}: {found:?}");
        }
    }
}
