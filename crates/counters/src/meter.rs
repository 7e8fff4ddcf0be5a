//! Sources while they are open.

use crate::Scene;
use narrows_model::reading::{Gauge, Key, Kind, Moment, Readings, Scope, keys};
use std::collections::BTreeMap;

/// A source that is open: it knows what it read as the window opened.
pub trait Meter {
    /// Reads states while the window is open.
    fn sample(&mut self, scene: &Scene<'_>);
    /// Reads once more, and tells what grew and what the states were. A counter that ran backwards
    /// (a device was replaced) is left out, as is one that only one look has.
    fn close(&mut self, scene: &Scene<'_>, readings: &mut Readings);
}

/// One look at a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Running totals, which grow from one look to the next.
    totals: BTreeMap<Key, u64>,
    /// States; their keys are those of the closing.
    states: BTreeMap<Key, u64>,
}

impl Look {
    /// Notes a running total; several of one key add up.
    pub fn total(&mut self, key: Key, value: u64) {
        let sum = self.totals.entry(key).or_default();
        *sum = sum.saturating_add(value);
    }

    /// Notes a state.
    pub fn state(&mut self, gauge: Gauge, scope: Scope, value: u64) {
        self.states.insert(gauge.key(scope, Moment::Closing), value);
    }

    /// `None` where there was nothing to see.
    pub fn seen(self) -> Option<Self> {
        (!self.totals.is_empty() || !self.states.is_empty()).then_some(self)
    }

    /// What the words of files call so; for tests.
    #[cfg(test)]
    pub fn of(&self, source: &str, text: &str) -> Option<u64> {
        let key = Key::read(source, text).expect(text);
        self.totals.get(&key).or_else(|| self.states.get(&key)).copied()
    }

    /// How many totals and states there are; for tests.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.totals.len() + self.states.len()
    }
}

/// Takes a look at a source.
type Read = fn(&Scene<'_>) -> Option<Look>;

/// A source that is read as a whole each time.
struct Watched {
    read: Read,
    opening: Look,
    /// The lowest and the highest of each state that was sampled.
    extremes: BTreeMap<Key, (u64, u64)>,
}

/// Opens a source that is read as a whole each time.
pub fn watch(scene: &Scene<'_>, read: Read) -> Option<Box<dyn Meter>> {
    let opening = read(scene)?;
    Some(Box::new(Watched { read, opening, extremes: BTreeMap::new() }))
}

impl Meter for Watched {
    fn sample(&mut self, scene: &Scene<'_>) {
        for (key, state) in (self.read)(scene).unwrap_or_default().states {
            widen(&mut self.extremes, key, state);
        }
    }

    fn close(&mut self, scene: &Scene<'_>, readings: &mut Readings) {
        let Some(closing) = (self.read)(scene) else { return };
        let mut extremes = std::mem::take(&mut self.extremes);
        let is_sampled = !extremes.is_empty();
        for (key, late) in closing.totals {
            let early = self.opening.totals.get(&key);
            if let Some(grown) = early.and_then(|early| late.checked_sub(*early)) {
                readings.put(key, grown);
            }
        }
        for (key, state) in closing.states {
            let changes = keys::CHANGING.iter().any(|gauge| gauge.is(&key));
            if let Some(early) = self.opening.states.get(&key).filter(|_| changes) {
                readings.put(at(&key, Moment::Opening), *early);
                widen(&mut extremes, key.clone(), *early);
            }
            if changes && is_sampled {
                widen(&mut extremes, key.clone(), state);
                let (lowest, highest) = extremes.get(&key).copied().unwrap_or((state, state));
                readings.put(at(&key, Moment::Lowest), lowest);
                readings.put(at(&key, Moment::Highest), highest);
            }
            readings.put(key, state);
        }
    }
}

fn widen(extremes: &mut BTreeMap<Key, (u64, u64)>, key: Key, state: u64) {
    let (lowest, highest) = extremes.entry(key).or_insert((state, state));
    (*lowest, *highest) = ((*lowest).min(state), (*highest).max(state));
}

/// The same state at another moment.
fn at(key: &Key, moment: Moment) -> Key {
    Key { kind: Kind::Gauge(moment), ..key.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::reading::Source;
    use std::cell::Cell;

    thread_local! {
        /// What the test's source reads next: a total, a state that changes, one that does not.
        static NEXT: Cell<Option<(u64, u64, u64)>> = const { Cell::new(None) };
    }

    fn read(_: &Scene<'_>) -> Option<Look> {
        let (total, rtt, mtu) = NEXT.get()?;
        let mut look = Look::default();
        look.total(keys::SENT.key(Scope::Flow(0)), total);
        look.state(keys::RTT, Scope::Flow(0), rtt);
        look.state(keys::PATH_MTU, Scope::Flow(0), mtu);
        look.seen()
    }

    fn told(looks: &[(u64, u64, u64)]) -> Vec<(String, u64)> {
        NEXT.set(looks.first().copied());
        let mut meter = watch(&Scene::HOST, read).expect("a meter");
        for between in &looks[1..looks.len() - 1] {
            NEXT.set(Some(*between));
            meter.sample(&Scene::HOST);
        }
        NEXT.set(looks.last().copied());
        let mut readings = Readings::default();
        meter.close(&Scene::HOST, &mut readings);
        let all = readings.from_source(Source::TcpInfo);
        let mut all: Vec<(String, u64)> = all.map(|(key, n)| (key.to_string(), n)).collect();
        all.sort();
        all
    }

    fn words(of: &[(&str, u64)]) -> Vec<(String, u64)> {
        of.iter().map(|(key, n)| ((*key).to_owned(), *n)).collect()
    }

    #[test]
    fn totals_are_told_by_their_growth_and_states_by_their_moments() {
        assert_eq!(
            told(&[(3, 50, 1500), (5, 90, 1500), (7, 20, 1500), (10, 60, 1400)]),
            words(&[
                ("flow0.highest:rtt_ns", 90),
                ("flow0.lowest:rtt_ns", 20),
                ("flow0.opening:rtt_ns", 50),
                ("flow0.path_mtu_bytes", 1400),
                ("flow0.rtt_ns", 60),
                ("flow0.sent_segments", 7),
            ])
        );
        // The edges are samples too.
        let told_of = told(&[(3, 10, 1), (3, 50, 1), (3, 60, 1)]);
        assert!(told_of.contains(&("flow0.lowest:rtt_ns".to_owned(), 10)), "{told_of:?}");
        assert!(told_of.contains(&("flow0.highest:rtt_ns".to_owned(), 60)), "{told_of:?}");
    }

    #[test]
    fn a_total_that_ran_backwards_is_left_out_and_unsampled_states_have_no_extremes() {
        assert_eq!(
            told(&[(10, 50, 1500), (3, 60, 1500)]),
            words(&[
                ("flow0.opening:rtt_ns", 50),
                ("flow0.path_mtu_bytes", 1500),
                ("flow0.rtt_ns", 60),
            ])
        );
        NEXT.set(None);
        assert!(watch(&Scene::HOST, read).is_none(), "a source that is not there");
    }
}
