//! Readings out of files. Runs of one kind have the same keys in the same order, by the hundred
//! thousand: each thread that reads remembers what a text meant and which keys stood together, so
//! that alike runs share them.

use super::Key;
use super::columns::Readings;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// Texts and orders that are remembered at most; no study of one host has as many.
const TEXTS_MAX: usize = 1 << 16;
const ORDERS_MAX: usize = 1 << 10;

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// What was read before on this thread.
#[derive(Default)]
struct Memory {
    /// The number of each text's key, by the word of its source; `None` for one that is not known.
    numbers: HashMap<String, HashMap<String, Option<u32>>>,
    /// The keys, by number.
    keys: Vec<Key>,
    texts: usize,
    /// By numbers as they stood in a file.
    orders: HashMap<Vec<u32>, Order>,
}

/// Keys in order, and where each stood.
struct Order {
    keys: Arc<Vec<Key>>,
    /// Place of each key's value among those of the file.
    places: Vec<u32>,
}

impl Memory {
    /// Forgets all where it has grown too large: between runs, whose numbers are of it.
    fn bounded(&mut self) {
        if self.texts > TEXTS_MAX || self.orders.len() > ORDERS_MAX {
            *self = Self::default();
        }
    }

    fn number(&mut self, source: &str, text: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(source).and_then(|of| of.get(text)) {
            return *number;
        }
        let number = Key::read(source, text).map(|key| {
            self.keys.push(key);
            (self.keys.len() - 1) as u32
        });
        self.texts += 1;
        let of = self.numbers.entry(source.to_owned()).or_default();
        of.insert(text.to_owned(), number);
        number
    }

    /// Keys and values in order. Of a key that stood twice the last counts.
    fn ordered(&mut self, numbers: Vec<u32>, values: &[u64]) -> (Arc<Vec<Key>>, Vec<u64>) {
        let Self { keys, orders, .. } = self;
        let order = orders.entry(numbers).or_insert_with_key(|numbers| {
            let placed = (0..).zip(numbers).map(|(place, number)| (&keys[*number as usize], place));
            let placed: BTreeMap<&Key, u32> = placed.collect();
            Order {
                keys: Arc::new(placed.keys().map(|key| (*key).clone()).collect()),
                places: placed.into_values().collect(),
            }
        });
        let values = order.places.iter().map(|place| values[*place as usize]);
        (Arc::clone(&order.keys), values.collect())
    }
}

impl<'de> serde::Deserialize<'de> for Readings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        MEMORY.with_borrow_mut(Memory::bounded);
        from.deserialize_map(Sources)
    }
}

/// Reads all sources.
struct Sources;

impl<'de> Visitor<'de> for Sources {
    type Value = Readings;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("readings by source")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Readings, A::Error> {
        let mut read = Read::default();
        while let Some(source) = map.next_key::<String>()? {
            map.next_value_seed(OfSource { source: &source, read: &mut read })?;
        }
        let Read { numbers, values, mut readings } = read;
        (readings.keys, readings.values) =
            MEMORY.with_borrow_mut(|memory| memory.ordered(numbers, &values));
        Ok(readings)
    }
}

/// What was read so far: numbers of keys with their values, and what is not known.
#[derive(Default)]
struct Read {
    numbers: Vec<u32>,
    values: Vec<u64>,
    readings: Readings,
}

/// Reads the keys of one source.
struct OfSource<'a> {
    source: &'a str,
    read: &'a mut Read,
}

impl<'de> DeserializeSeed<'de> for OfSource<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OfSource<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "numbers by name for the source '{}'", self.source.escape_debug())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(word) = map.next_key_seed(OfKey(self.source))? {
            let value = map.next_value::<u64>()?;
            match word {
                Word::Known(number) => {
                    self.read.numbers.push(number);
                    self.read.values.push(value);
                }
                Word::Unknown(text) => self.read.readings.put_unknown(self.source, &text, value),
            }
        }
        Ok(())
    }
}

/// A key as a file has it.
enum Word {
    Known(u32),
    Unknown(String),
}

/// Reads one key of a source.
struct OfKey<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for OfKey<'_> {
    type Value = Word;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Word, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for OfKey<'_> {
    type Value = Word;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the name of a reading")
    }

    fn visit_str<E>(self, text: &str) -> Result<Word, E> {
        let number = MEMORY.with_borrow_mut(|memory| memory.number(self.0, text));
        Ok(number.map_or_else(|| Word::Unknown(text.to_owned()), Word::Known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::columns::Words;
    use crate::reading::{Scope, Source, keys};

    fn read(text: &str) -> Readings {
        serde_json::from_str(text).expect(text)
    }

    const TWO: &str = r#"{"cpu":{"cpu1.user_ns":5},"tcp-info":{"flow0.sent_segments":7}}"#;

    #[test]
    fn what_is_read_is_what_was_written_in_whatever_order() {
        let turned = r#"{"tcp-info":{"flow0.sent_segments":7},"cpu":{"cpu1.user_ns":5}}"#;
        let readings = read(TWO);
        assert_eq!(readings.of(keys::SENT, Scope::Flow(0)), Some(7));
        assert_eq!(readings, read(turned));
        assert_eq!(serde_json::to_string(&readings).expect("JSON"), TWO);
        let words: Words = serde_json::from_str(TWO).expect("words");
        assert_eq!(readings, Readings::from(words));
    }

    #[test]
    fn alike_runs_share_their_keys_and_not_their_values() {
        let (one, other) = (read(TWO), read(&TWO.replace(":7}", ":9}")));
        assert!(Arc::ptr_eq(&one.keys, &other.keys));
        assert_eq!(one.total(keys::SENT), Some(7));
        assert_eq!(other.total(keys::SENT), Some(9));
        let mut changed = other.clone();
        changed.put(keys::SENT.key(Scope::Flow(1)), 1);
        assert_eq!(changed.total(keys::SENT), Some(10));
        assert_eq!(other.total(keys::SENT), Some(9), "what is shared is not changed");
        let fewer = read(r#"{"tcp-info":{"flow0.sent_segments":7}}"#);
        assert_eq!(fewer.total(keys::SENT), Some(7));
        assert_eq!(fewer.from_source(Source::Cpu).count(), 0);
    }

    #[test]
    fn of_a_key_that_stands_twice_the_last_counts_and_wrong_ones_are_refused() {
        let twice = r#"{"tcp-info":{"flow0.sent_segments":7,"flow0.sent_segments":8}}"#;
        assert_eq!(read(twice).total(keys::SENT), Some(8));
        assert_eq!(
            read(r#"{"tcp-info":{"fl\u006fw0.sent_segments":7}}"#).total(keys::SENT),
            Some(7)
        );
        for wrong in
            ["[]", r#"{"cpu":7}"#, r#"{"cpu":{"cpu0.user_ns":-1}}"#, r#"{"cpu":{"a":"b"}}"#]
        {
            assert!(serde_json::from_str::<Readings>(wrong).is_err(), "{wrong}");
        }
        let unknown = read(r#"{"later":{"x":1},"cpu":{"user":2}}"#);
        assert_eq!(unknown.keys.len(), 0);
        assert_eq!(
            serde_json::to_string(&unknown).expect("JSON"),
            r#"{"cpu":{"user":2},"later":{"x":1}}"#
        );
    }

    #[test]
    fn a_thread_remembers_no_more_than_it_may() {
        let many = |from: usize| {
            let all: Vec<String> = (from..from + 40_000)
                .map(|flow| format!("\"flow{flow}.sent_segments\":1"))
                .collect();
            format!("{{\"tcp-info\":{{{}}}}}", all.join(","))
        };
        for from in [0, 40_000, 80_000] {
            assert_eq!(read(&many(from)).total(keys::SENT), Some(40_000));
        }
        assert!(MEMORY.with_borrow(|memory| memory.texts) <= 40_000);
        assert_eq!(read(TWO).total(keys::SENT), Some(7));
    }
}
