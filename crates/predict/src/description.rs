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
use toml::Value;

/// What a file says, and its prices by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Keys of `--set`.
    pub said: Said,
    /// Prices.
    pub prices: Vec<(String, f64)>,
}

/// Reads one. An error names the line or the key.
pub fn parse(text: &str) -> Result<Description, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count());
        format!("line {}: {}", at.max(1), error.message())
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
                    let text = word(value).ok_or(format!("{key}: neither a number nor a text"))?;
                    found.said.insert(key, text);
                }
            }
            other => {
                let text = word(other).ok_or(format!("{key}: neither a number nor a text"))?;
                found.said.insert(key.clone(), text);
            }
        }
    }
    Ok(found)
}

fn prices(value: &Value) -> Result<Vec<(String, f64)>, String> {
    let table = value.as_table().ok_or("price: no table of parts")?;
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64));
    let one = |(part, value): (&String, &Value)| {
        let price = number(value).filter(|price| *price >= 0.0 && price.is_finite());
        Ok((part.clone(), price.ok_or(format!("price.{part}: no number"))?))
    };
    table.iter().map(one).collect()
}

/// A value as `--set` has it: lists by commas, lists of lists by strokes.
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
        assert!(parse("cpu = \n").expect_err("no value").contains("line 1"));
        assert!(parse("[price]\ndimm = 'dear'\n").expect_err("no number").contains("price.dimm"));
        assert!(parse("[nic]\ngbps = {}\n").expect_err("a table").contains("nic.gbps"));
    }
}
