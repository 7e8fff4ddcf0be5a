//! Options with what they are told: how it is told, written and read.

use super::declared::{Declared, Kept, Opt, Section};
use super::kept::Options;
use super::value::{Told, Value, Written};
use super::{ALL, find};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use std::fmt;

impl Options {
    /// What an option is told.
    pub fn told<T: Told>(&self, option: &Opt<T>) -> Option<T> {
        self.get(option.declared.key).and_then(T::of)
    }

    /// Tells an option, in place of what it was told before.
    pub fn set(&mut self, option: &'static Declared, value: Value) {
        self.put(option.key, value);
    }

    /// Tells an option, in place of what it was told before.
    pub fn tell<T: Told>(&mut self, option: &'static Opt<T>, value: T) {
        self.set(&option.declared, value.told());
    }

    /// Writes all options of a section, in the order of the table: identities of studies are made
    /// of this text.
    pub fn write_section<M: SerializeMap>(
        &self,
        section: Section,
        to: &mut M,
    ) -> Result<(), M::Error> {
        use super::declared::Unset;
        for option in ALL.iter().filter(|option| option.section == section) {
            match (self.get(option.key), option.unset) {
                (Some(value), _) => to.serialize_entry(option.key, value)?,
                (None, Unset::Left) => {}
                (None, Unset::Null) => to.serialize_entry(option.key, &None::<()>)?,
                (None, Unset::False) => to.serialize_entry(option.key, &false)?,
            }
        }
        Ok(())
    }
}

/// Reads the value of an option, within its bounds.
pub struct ValueOf(pub &'static Declared);

impl<'de> de::DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let value = self.0.takes.read(&Written::deserialize(from)?);
        value.map_err(|wrong| de::Error::custom(format!("{}: {wrong}", self.0.key)))
    }
}

/// Reads a key that is an option's of a section, or one of these others.
pub struct KeyOf {
    /// Section of the trial that keeps it.
    pub section: Section,
    /// Keys of the same table that are no options.
    pub others: &'static [&'static str],
}

/// A key of a table with options.
pub enum Key {
    /// Key of an option that is declared.
    Option(&'static Declared),
    /// Key that no option declares.
    Other(&'static str),
}

impl<'de> de::DeserializeSeed<'de> for KeyOf {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key, D::Error> {
        let key = String::deserialize(from)?;
        if let Some(option) = find(self.section, &key) {
            return Ok(Key::Option(option));
        }
        let other = self.others.iter().find(|other| **other == key);
        other.map(|other| Key::Other(other)).ok_or_else(|| {
            let own = ALL.iter().filter(|option| option.section == self.section);
            let known: Vec<&str> =
                own.map(|option| option.key).chain(self.others.iter().copied()).collect();
            de::Error::custom(format!(
                "unknown field `{key}`, expected one of {}",
                known.join(", ")
            ))
        })
    }
}

/// Options that trials keep by their keys. A key that is not known was told by a newer version: to
/// leave it out would be to measure something else.
impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ByKey;
        impl<'de> Visitor<'de> for ByKey {
            type Value = Options;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options by their keys")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Options, M::Error> {
                let mut options = Options::default();
                while let Some(key) = map.next_key::<String>()? {
                    let mut kept = ALL.iter().filter(|option| matches!(option.kept, Kept::Key));
                    let option = kept.find(|option| option.key == key).ok_or_else(|| {
                        de::Error::custom(format!("this version knows no option '{key}'"))
                    })?;
                    options.set(option, map.next_value_seed(ValueOf(option))?);
                }
                Ok(options)
            }
        }
        from.deserialize_map(ByKey)
    }
}
