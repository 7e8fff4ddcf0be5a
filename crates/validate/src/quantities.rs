//! What single figures are of where their table does not declare it: a data file, keyed by table
//! and figure. No code knows a name; of a figure that is in neither the model says nothing.

use std::sync::LazyLock;
use toml::{Table as Fields, Value};

static FILE: LazyLock<Vec<Fields>> = LazyLock::new(|| figures(include_str!("../quantities.toml")));

/// The entries of a file.
fn figures(text: &str) -> Vec<Fields> {
    let file: Fields = toml::from_str(text).unwrap_or_default();
    let all = file.get("figure").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| one.as_table().cloned()).collect()
}

/// Declares the quantity of each row that has a name, none of its own, and an entry.
pub fn declare(table: &str, rows: &mut [Fields]) {
    declare_from(&FILE, table, rows);
}

fn declare_from(entries: &[Fields], table: &str, rows: &mut [Fields]) {
    for row in rows.iter_mut().filter(|row| !row.contains_key("quantity")) {
        let Some(name) = text(row, "name") else { continue };
        let Some(entry) = entries.iter().find(|entry| {
            text(entry, "table").as_deref() == Some(table)
                && text(entry, "name") == Some(name.clone())
        }) else {
            continue;
        };
        for (field, value) in entry.iter().filter(|(field, _)| *field != "table") {
            row.entry(field.clone()).or_insert_with(|| value.clone());
        }
    }
}

fn text(fields: &Fields, key: &str) -> Option<String> {
    fields.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_declares_its_own_figure_and_no_other() {
        let file = "[[figure]]\ntable = 'paper'\nname = 'gain'\nquantity = 'throughput-gain'\n";
        let row = |text: &str| toml::from_str::<Fields>(text).expect("a row");
        let mut rows = [
            row("name = 'gain'\nvalue = 0.2"),
            row("name = 'other'\nvalue = 0.2"),
            row("name = 'gain'\nvalue = 0.2\nquantity = 'receiver-cpu'\nremote = 0.5"),
        ];
        let mut elsewhere = rows.clone();
        declare_from(&figures(file), "paper", &mut rows);
        let said = |row: &Fields| row.get("quantity").and_then(Value::as_str).map(str::to_owned);
        let words = rows.iter().map(said).collect::<Vec<_>>();
        let wants = [Some("throughput-gain"), None, Some("receiver-cpu")];
        assert_eq!(words, wants.map(|want| want.map(str::to_owned)));
        assert!(!rows[0].contains_key("table"));
        declare_from(&figures(file), "another", &mut elsewhere);
        assert_eq!(said(&elsewhere[0]), None);
    }

    #[test]
    fn every_entry_has_a_table_a_name_and_a_quantity() {
        assert!(!FILE.is_empty());
        for entry in FILE.iter() {
            for key in ["table", "name", "quantity"] {
                assert!(entry.get(key).is_some_and(Value::is_str), "{entry}");
            }
        }
    }
}
