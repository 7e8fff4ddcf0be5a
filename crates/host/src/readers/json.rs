//! What the readers of JSON share: values by path, and numbers that are written as text.

use super::BadText;
use narrows_model::Fact;
use serde_json::Value;

/// Reads a document; `program` is who wrote it.
pub fn document(text: &str, program: &'static str) -> Result<Value, BadText> {
    serde_json::from_str(text).map_err(|error| BadText::Json { program, error })
}

/// True for text that begins as a document of JSON does and names a key near its beginning.
pub fn names(text: &str, keys: &[&str]) -> bool {
    let begins = text.trim_start().starts_with(['{', '[']);
    begins && keys.iter().all(|key| text.contains(&format!("\"{key}\"")))
}

/// A text that is not empty.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// A text of one's own; empty where it is not told.
pub fn owned(value: &Value, key: &str) -> String {
    text(value, key).unwrap_or_default().to_owned()
}

/// What a text says, as far as it is there.
pub fn told(text: Option<&str>, from: &str) -> Fact<String> {
    Fact::told(text.map(str::to_owned), from)
}

/// A count, as a number or as the text of one.
pub fn count(value: &Value, key: &str) -> Option<u64> {
    let value = value.get(key)?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Members of an array; none where it is not there.
pub fn members<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
