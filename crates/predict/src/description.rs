//! A server described in TOML: the keys of `--set` as a file, and prices.
//!
//! ```toml
//! cpu = "Xeon Gold 6248"
//! [memory]
//! mts = 2933
//! socket0 = [[1, 1, 1], [0, 0, 0]]
//! [nic]
//! gbps = 100
//! pcie = "3x16"
//! [price]
//! dimm = 140
//! ```

use crate::said::Said;
use std::fmt;
use toml::Value;

/// What a file says, and its prices by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Keys of `--set`.
    pub said: Said,
    /// Price of each part by its name, in the user's currency.
    pub prices: Vec<(String, f64)>,
}

/// Why a text describes no server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undescribed {
    /// It is no TOML.
    Toml {
        /// Line, from 1.
        line: usize,
        says: String,
    },
    /// The value of this key is neither a number nor a text, nor a list of those.
    Value(String),
    /// Prices are a table of parts.
    Prices,
    /// The price of this part is no number, or below zero.
    Price(String),
}

impl fmt::Display for Undescribed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml { line, says } => write!(f, "line {line}: {says}"),
            Self::Value(key) => write!(f, "{key}: neither a number nor a text"),
            Self::Prices => f.write_str("price: no table of parts"),
            Self::Price(part) => write!(f, "price.{part}: no number"),
        }
    }
}

/// Reads one. An error names the line or the key.
pub fn parse(text: &str) -> Result<Description, Undescribed> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count());
        Undescribed::Toml { line: at.max(1), says: error.message().to_owned() }
    })?;
    let mut found = Description::default();
    for (key, value) in &table {
        if key == "price" {
            found.prices = prices(value)?;
            continue;
        }
        match value {
            Value::Table(inner) => {
                for (name, value) in inner {
                    let key = format!("{key}.{name}");
                    let text = word(value).ok_or_else(|| Undescribed::Value(key.clone()))?;
                    found.said.insert(key, text);
                }
            }
            other => {
                let text = word(other).ok_or_else(|| Undescribed::Value(key.clone()))?;
                found.said.insert(key.clone(), text);
            }
        }
    }
    Ok(found)
}

fn prices(value: &Value) -> Result<Vec<(String, f64)>, Undescribed> {
    let table = value.as_table().ok_or(Undescribed::Prices)?;
    table
        .iter()
        .map(|(part, value)| {
            let price = number(value).filter(|price| *price >= 0.0 && price.is_finite());
            Ok((part.clone(), price.ok_or_else(|| Undescribed::Price(part.clone()))?))
        })
        .collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|n| n as f64))
}

/// A value as `--set` has it: lists by commas, lists of lists by `|`.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(is) => Some(if *is { "yes" } else { "no" }.to_owned()),
        Value::Array(list) => {
            let nested = list.iter().any(Value::is_array);
            let words: Option<Vec<String>> = list.iter().map(word).collect();
            Some(words?.join(if nested { "/" } else { "," }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_set_says() {
        let text = "cpu = 'Xeon Gold 6248'\n[memory]\nmts = 2933\nsocket0 = [[1, 1, 0], [1, 0, 0]]\n\
                    [nic]\ngbps = 100\nsocket = [0, 1]\ndirect = true\n[price]\ndimm = 140\n";
        let found = parse(text).expect("a description");
        let said = |key: &str| found.said.get(key).map(String::as_str);
        assert_eq!(said("memory.socket0"), Some("1,1,0/1,0,0"));
        assert_eq!((said("nic.socket"), said("nic.direct")), (Some("0,1"), Some("yes")));
        assert_eq!(found.prices, [("dimm".to_owned(), 140.0)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let why = |text: &str| parse(text).expect_err(text).to_string();
        assert!(why("cpu = \n").contains("line 1"));
        assert_eq!(why("[price]\ndimm = 'dear'\n"), "price.dimm: no number");
        assert!(why("[nic]\ngbps = {}\n").contains("nic.gbps"));
    }
}
