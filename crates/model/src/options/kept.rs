//! What options are told, by their keys.

use super::value::Value;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What options of one section are told, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Options(BTreeMap<&'static str, Value>);

impl Options {
    /// True where nothing is told.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the option of a key is told.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// These, with what the others set in their place.
    pub fn with(&self, over: &Self) -> Self {
        Self(self.0.iter().chain(&over.0).map(|(key, value)| (*key, value.clone())).collect())
    }

    /// Takes away what the option of a key is told.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Tells the option of a key, in place of what it was told before.
    pub(super) fn put(&mut self, key: &'static str, value: Value) {
        self.0.insert(key, value);
    }
}
