//! Where a study's file says what: the line and the column of each key's value.

use super::StudyError;
use super::position::{Position, Positions};
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Error, ValueDeserializer};

/// A study's text with the places of what it says.
pub(super) struct Source<'a> {
    text: &'a str,
    root: DeValue<'a>,
}

impl<'a> Source<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, StudyError> {
        let root = DeTable::parse(text).map_err(|error| StudyError::read(text, &error))?;
        Ok(Self { text, root: DeValue::Table(root.into_inner()) })
    }

    /// The value at a path of keys with dots between them.
    fn at(&self, path: &str) -> Option<&Spanned<DeValue<'a>>> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
        let value = self.root.get(first)?;
        rest.map_or(Some(value), |key| value.get_ref().get(key))
    }

    /// Where the value of a key is, or of the table in which it is missing.
    pub(super) fn of(&self, path: &str) -> Option<Position> {
        let table = path.split('.').next().unwrap_or(path);
        let value = self.at(path).or_else(|| self.at(table))?;
        Some(position(self.text, value.span().start))
    }

    /// Where the options of the table at this key are.
    pub(super) fn table(&self, key: &str) -> Positions {
        self.at(key)
            .and_then(|value| value.get_ref().as_table())
            .map_or_else(Positions::default, |table| self.keys(table))
    }

    fn keys(&self, table: &DeTable<'a>) -> Positions {
        let mut all = Vec::new();
        for (key, value) in table {
            let at = position(self.text, value.span().start);
            all.push((key.get_ref().to_string(), at));
            let within = value.get_ref().as_table().into_iter().flatten();
            all.extend(within.map(|(inner, value)| {
                let at = position(self.text, value.span().start);
                (format!("{}.{}", key.get_ref(), inner.get_ref()), at)
            }));
        }
        Positions::new(all)
    }

    fn value<T: DeserializeOwned>(&self, value: Spanned<DeValue<'_>>) -> Result<T, StudyError> {
        let value = T::deserialize(ValueDeserializer::from(value));
        value.map_err(|error| StudyError::read(self.text, &error))
    }

    /// One factor of the file, by its number.
    pub(super) fn factor(&self, number: usize) -> Option<FactorSource<'_, 'a>> {
        let value = self.root.get("factor")?.get_ref().get(number)?;
        Some(FactorSource { source: self, value })
    }
}

/// What a factor of the file says.
pub(super) struct FactorSource<'s, 'a> {
    source: &'s Source<'a>,
    value: &'s Spanned<DeValue<'a>>,
}

impl<'s, 'a> FactorSource<'s, 'a> {
    /// Where it begins.
    pub(super) fn position(&self) -> Position {
        position(self.source.text, self.value.span().start)
    }

    /// Its levels as tables, in order; `set` is the key that a level sets which is no table.
    pub(super) fn levels(&self, set: Option<&str>) -> impl Iterator<Item = LevelSource<'s, 'a>> {
        let levels = self.value.get_ref().get("levels");
        let levels = levels.and_then(|levels| levels.get_ref().as_array());
        let source = self.source;
        levels.into_iter().flatten().map(move |value| {
            let span = value.span();
            let table = match (value.get_ref(), set) {
                (DeValue::Table(table), _) => table.clone(),
                (_, None) => DeTable::new(),
                (scalar, Some(set)) => {
                    let key = Spanned::new(span.clone(), DeString::Owned(set.to_owned()));
                    DeTable::from_iter([(key, Spanned::new(span.clone(), scalar.clone()))])
                }
            };
            LevelSource { source, span, table }
        })
    }
}

/// What a level of a factor says, as a table.
pub(super) struct LevelSource<'s, 'a> {
    source: &'s Source<'a>,
    span: Range<usize>,
    table: DeTable<'a>,
}

impl LevelSource<'_, '_> {
    /// Where it begins.
    pub(super) fn position(&self) -> Position {
        position(self.source.text, self.span.start)
    }

    /// Takes out what a key says, where the level has it.
    pub(super) fn take<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, StudyError> {
        self.table.remove(key).map(|value| self.source.value(value)).transpose()
    }

    /// What the keys that are left say, and where each says it.
    pub(super) fn rest<T: DeserializeOwned>(self) -> Result<(T, Positions), StudyError> {
        let positions = self.source.keys(&self.table);
        let table = Spanned::new(self.span, DeValue::Table(self.table));
        Ok((self.source.value(table)?, positions))
    }
}

/// Where a byte of a text is.
fn position(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or(before);
    Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
}

impl StudyError {
    /// What a reader of TOML says of a text.
    pub(super) fn read(text: &str, error: &Error) -> Self {
        let position = error.span().map(|span| position(text, span.start));
        Self { position, at: String::new(), why: error.message().to_owned() }
    }

    /// The same, at a place where none is known yet.
    #[must_use]
    pub(super) fn or_at(self, position: Option<Position>) -> Self {
        Self { position: self.position.or(position), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = 'a'\n[base]\nload = 'tcp-rr'\nrdma = { depth = 2 }\n\
        [[factor]]\nname = 'f'\nset = 'length'\nlevels = ['\u{b5}', 1]\n\
        [[factor]]\nname = 'g'\nlevels = [{name = 'x', mss = 9}]\n";

    fn at(line: usize, column: usize) -> Option<Position> {
        Some(Position { line, column })
    }

    #[test]
    fn keys_have_the_line_and_the_column_of_their_value() {
        let source = Source::read(TEXT).expect("a text");
        assert_eq!(source.of("name"), at(1, 8));
        assert_eq!(source.of("base.load"), at(3, 8));
        assert_eq!(source.of("base.seconds"), source.of("base"), "the table in which it is not");
        assert_eq!(source.of("repeats"), None);
        let base = source.table("base");
        assert_eq!(base.of("load"), at(3, 8));
        assert_eq!(base.of("rdma.depth"), at(4, 18));
        assert_eq!(base.of("depth"), None);
    }

    #[test]
    fn levels_have_their_own() {
        let source = Source::read(TEXT).expect("a text");
        let of = |number, set, key: &str| -> Vec<_> {
            let factor = source.factor(number).expect("a factor");
            factor.levels(set).map(|level| source.keys(&level.table).of(key)).collect()
        };
        // Columns are characters, and not bytes.
        assert_eq!(of(0, Some("length"), "length"), [at(8, 11), at(8, 16)]);
        assert_eq!(of(1, None, "mss"), [at(11, 30)]);
        assert!(source.factor(2).is_none());
    }

    #[test]
    fn what_is_set_last_is_where_a_setting_stands() {
        let source = Source::read(TEXT).expect("a text");
        let over = Positions::new(vec![("load".to_owned(), Position { line: 9, column: 9 })]);
        let both = source.table("base").with(&over);
        assert_eq!((both.of("load"), both.of("rdma")), (at(9, 9), at(4, 8)));
        assert_eq!(both, Positions::default(), "no part of what is said");
    }
}
