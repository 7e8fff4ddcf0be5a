//! Schemas whose objects have no other keys than those that they name.

use serde_json::{Value, json};

/// This schema so.
pub fn closed(schema: &Value) -> Value {
    let mut closed = schema.clone();
    close(&mut closed, false);
    closed
}

/// Parts that are of an object which has `properties` too are closed with it: each alone knows not
/// all of its keys.
fn close(part: &mut Value, is_of_another: bool) {
    let Value::Object(keys) = part else {
        part.as_array_mut().into_iter().flatten().for_each(|part| close(part, is_of_another));
        return;
    };
    let is_object = keys.contains_key("properties");
    let joins = ["oneOf", "anyOf", "allOf"];
    for (key, part) in keys.iter_mut() {
        close(part, joins.contains(&key.as_str()) && (is_object || is_of_another));
    }
    if is_object && !is_of_another {
        keys.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}

/// What of a document does not follow a schema.
pub fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    let all = validator.iter_errors(document);
    all.map(|error| format!("{} at {}", error, error.instance_path())).collect()
}
