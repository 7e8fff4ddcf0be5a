//! What counters told of one run, in columns: the keys in order, which alike runs of a file share,
//! and a value for each. A study of many runs is mostly this, and rules look keys up by the
//! thousand.

use super::{Counter, Gauge, Key, Kind, Moment, Scope, Source, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys by source, as files have them.
pub type Words = BTreeMap<String, BTreeMap<String, u64>>;

/// What counters told of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(into = "Words")]
#[schemars(from = "Words")]
pub struct Readings {
    /// In order, each once.
    pub(super) keys: Arc<Vec<Key>>,
    /// The value of each key.
    pub(super) values: Vec<u64>,
    /// What another version, or another hand, wrote.
    pub(super) unknown: Option<Box<Words>>,
}

impl From<Words> for Readings {
    fn from(words: Words) -> Self {
        let mut readings = Self::default();
        for (source, keys) in words {
            for (text, value) in keys {
                readings.put_words(&source, &text, value);
            }
        }
        readings
    }
}

impl From<Readings> for Words {
    fn from(readings: Readings) -> Self {
        let mut words = readings.unknown.map_or_else(Words::new, |unknown| *unknown);
        for (key, value) in readings.keys.iter().zip(readings.values) {
            let of = words.entry(key.source.word().to_owned()).or_default();
            of.insert(key.to_string(), value);
        }
        words
    }
}

impl Extend<(Key, u64)> for Readings {
    fn extend<I: IntoIterator<Item = (Key, u64)>>(&mut self, readings: I) {
        let own = self.keys.iter().cloned().zip(std::mem::take(&mut self.values));
        let mut all: BTreeMap<Key, u64> = own.collect();
        all.extend(readings);
        let (keys, values): (Vec<Key>, Vec<u64>) = all.into_iter().unzip();
        (self.keys, self.values) = (Arc::new(keys), values);
    }
}

impl Readings {
    /// Adds a reading, in place of an older one of this key.
    pub fn put(&mut self, key: Key, value: u64) {
        match self.keys.binary_search(&key) {
            Ok(at) => self.values[at] = value,
            Err(at) => {
                Arc::make_mut(&mut self.keys).insert(at, key);
                self.values.insert(at, value);
            }
        }
    }

    /// The same by the words of files.
    pub fn put_words(&mut self, source: &str, text: &str, value: u64) {
        match Key::read(source, text) {
            Some(key) => self.put(key, value),
            None => self.put_unknown(source, text, value),
        }
    }

    pub(super) fn put_unknown(&mut self, source: &str, text: &str, value: u64) {
        let unknown = self.unknown.get_or_insert_default();
        unknown.entry(source.to_owned()).or_default().insert(text.to_owned(), value);
    }

    /// A count of one scope.
    pub fn of(&self, counter: Counter, scope: Scope) -> Option<u64> {
        let at = self.keys.binary_search(&counter.key(scope)).ok()?;
        Some(self.values[at])
    }

    /// A count over all its scopes; `None` where none was read.
    pub fn total(&self, counter: Counter) -> Option<u64> {
        let Counter { source, name, unit } = counter;
        let of = self.of_all_scopes((source, name, unit, Kind::Counter));
        of.map(|(_, value)| value).reduce(u64::saturating_add)
    }

    /// A state of each scope at one moment: what is of several flows does not add up.
    pub fn each(&self, gauge: Gauge, at: Moment) -> impl Iterator<Item = (&Scope, u64)> {
        let Gauge { source, name, unit } = gauge;
        let of = self.of_all_scopes((source, name, unit, Kind::Gauge(at)));
        of.map(|(key, value)| (&key.scope, value))
    }

    /// All readings of a source.
    pub fn from_source(&self, source: Source) -> impl Iterator<Item = (&Key, u64)> {
        let first = self.keys.partition_point(|key| key.source < source);
        self.beyond(first).take_while(move |(key, _)| key.source == source)
    }

    /// One count or state of all its scopes.
    fn of_all_scopes(
        &self,
        wanted: (Source, &'static str, Unit, Kind),
    ) -> impl Iterator<Item = (&Key, u64)> {
        let first = self.keys.partition_point(|key| without_scope(key) < wanted);
        self.beyond(first).take_while(move |(key, _)| without_scope(key) == wanted)
    }

    fn beyond(&self, first: usize) -> impl Iterator<Item = (&Key, u64)> {
        self.keys[first..].iter().zip(self.values[first..].iter().copied())
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

fn without_scope(key: &Key) -> (Source, &str, Unit, Kind) {
    (key.source, &key.name, key.unit, key.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::keys;
    use std::borrow::Cow;

    #[test]
    fn readings_of_a_source_are_all_of_it_and_nothing_beside() {
        let key = |source, scope, name: &'static str, unit, kind| Key {
            source,
            scope,
            name: Cow::Borrowed(name),
            unit,
            kind,
        };
        let gauge = Kind::Gauge(Moment::Opening);
        let own = [
            key(Source::Interface, Scope::Host, "", Unit::Bytes, Kind::Counter),
            key(Source::Interface, Scope::Host, "a", Unit::Options, gauge),
            key(Source::Interface, Scope::Nic("x".to_owned()), "a", Unit::Bytes, Kind::Counter),
            key(Source::Interface, Scope::Flow(9), "z", Unit::Bytes, gauge),
        ];
        let beside = [
            key(Source::Group, Scope::Flow(9), "z", Unit::Options, gauge),
            key(Source::Netstat, Scope::Host, "", Unit::Bytes, Kind::Counter),
        ];
        let mut readings = Readings::default();
        for key in own.iter().chain(&beside) {
            readings.put(key.clone(), 1);
        }
        let found: Vec<&Key> =
            readings.from_source(Source::Interface).map(|(key, _)| key).collect();
        let mut own: Vec<&Key> = own.iter().collect();
        own.sort();
        assert_eq!(found, own);
        assert_eq!(readings.from_source(Source::Pause).count(), 0);
    }

    #[test]
    fn what_is_not_known_is_kept_as_it_was_written() {
        let mut words = Words::new();
        for (source, text) in [
            ("cpu", "cpu007.user_ns"),
            ("cpu", "user"),
            ("tcp-info", "flow0.rtt_parsecs"),
            ("tcp-info", "rtt_ns"),
            ("later", "flow0.rtt_ns"),
            ("pause", "eth0.rx_frames"),
            ("nic", "eth0.rx_missed_errors_packets"),
            ("", ""),
            ("tcp-info", "flow0.rtt_ns"),
        ] {
            words.entry(source.to_owned()).or_default().insert(text.to_owned(), 5);
        }
        let readings = Readings::from(words.clone());
        assert_eq!(readings.keys.len(), 1, "{readings:?}");
        assert_eq!(Words::from(readings), words);
    }

    #[test]
    fn counts_add_up_and_states_do_not() {
        let mut readings = Readings::default();
        for flow in 0..8 {
            readings.put(keys::SENT.key(Scope::Flow(flow)), 100);
            readings.put(keys::RTT.key(Scope::Flow(flow), Moment::Closing), 80_000);
            readings.put(keys::RTT.key(Scope::Flow(flow), Moment::Opening), 1);
        }
        readings.put(keys::RX_BYTES.key(Scope::Nic("a".into())), u64::MAX);
        readings.put(keys::RX_BYTES.key(Scope::Nic("b".into())), 7);
        assert_eq!(readings.total(keys::SENT), Some(800));
        assert_eq!(readings.of(keys::SENT, Scope::Flow(3)), Some(100));
        assert_eq!(readings.total(keys::RX_BYTES), Some(u64::MAX));
        assert_eq!(readings.total(keys::RETRANSMITTED), None);
        let trips: Vec<u64> = readings.each(keys::RTT, Moment::Closing).map(|(_, n)| n).collect();
        assert_eq!(trips, [80_000; 8]);
    }

    #[test]
    fn nothing_is_left_once_cleared() {
        let mut readings = Readings::default();
        readings.put(keys::SENT.key(Scope::Flow(0)), 3);
        readings.put(keys::RX_BYTES.key(Scope::Nic("a".into())), 5);
        readings.clear();
        assert_eq!(readings, Readings::default());
    }
}
