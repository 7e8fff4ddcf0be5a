//! JSON schemas: those in the docs are the program's, what it prints follows them, and a key that a
//! schema lacks is noticed.

#[path = "../../report/tests/closed/mod.rs"]
mod closed;
mod common;

use closed::{closed, errors};
use common::imported::series;
use common::{folder, narrows, out, run};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Commands with a schema in the docs; `latency` writes what `report` does.
const COMMANDS: [&str; 8] =
    ["compare", "explain", "history", "list", "predict", "report", "tune", "verify"];

fn text(words: &[&str]) -> String {
    out(&run(narrows().args(words)))
}

fn schema_of(command: &str) -> Value {
    serde_json::from_str(&text(&[command, "--schema"])).expect("a schema")
}

fn document(words: &[&str]) -> Value {
    serde_json::from_str(&text(words)).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// Two studies of one cell each, the second of lower figures.
fn studies(name: &str) -> (PathBuf, [String; 2]) {
    let dir = folder(name);
    let of = |name: &str, rates: &[f64]| series(&dir, name, rates).display().to_string();
    let files = [of("before", &[90.0, 91.0, 92.0, 90.0]), of("after", &[60.0, 61.0, 62.0, 60.0])];
    (dir, files)
}

#[test]
fn those_in_the_docs_are_the_programs() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for command in COMMANDS {
        let (printed, file) = (text(&[command, "--schema"]), format!("{command}.schema.json"));
        if std::env::var("NARROWS_GOLDEN").is_ok_and(|how| how == "write") {
            std::fs::write(docs.join(&file), &printed).expect("written");
        }
        let published = std::fs::read_to_string(docs.join(&file)).unwrap_or_default();
        assert!(printed == published, "NARROWS_GOLDEN=write writes docs/{file} anew");
    }
    assert_eq!(schema_of("latency"), schema_of("report"), "a study as others are");
}

#[test]
fn what_is_printed_has_no_other_keys() {
    let (dir, [before, after]) = studies("schemas");
    let dir = dir.display().to_string();
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/../validate/tables");
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/server.toml");
    let from = ["predict", "--json", "--from", server];
    let told: Vec<Vec<&str>> = vec![
        vec!["compare", &before, &after, "--json"],
        vec!["explain", &before, "--json"],
        vec!["history", &dir, "--json"],
        vec!["list", &dir, "--json"],
        vec!["report", &before, "--json"],
        vec!["report", &before, &after, "--json"],
        vec!["tune", "--json"],
        vec!["tune", "--json", "--profile", "rdma"],
        vec!["verify", &before, &after, "--json"],
        vec!["predict", "--json", "--score", tables],
        from.to_vec(),
        [&from[..], &["--set", "streams=2"]].concat(),
        [&from[..], &["--traffic"]].concat(),
        [&from[..], &["--search", "dimms=8"]].concat(),
    ];
    for words in told {
        let (schema, document) = (schema_of(words[0]), document(&words));
        let wrong = errors(&closed(&schema), &document);
        assert!(wrong.is_empty(), "{words:?}: {}", wrong.join("\n"));
    }
}

#[test]
fn a_key_that_a_schema_lacks_and_one_by_another_name_are_noticed() {
    let (_, [before, _]) = studies("schemas-lacking");
    let document = document(&["report", &before, "--json"]);
    let schema = closed(&schema_of("report"));
    assert_eq!(errors(&schema, &document), Vec::<String>::new());
    let mut lacking = schema.clone();
    let keys = lacking["properties"].as_object_mut().map(|keys| keys.remove("results"));
    assert!(keys.flatten().is_some(), "results is a key");
    assert!(!errors(&lacking, &document).is_empty(), "a key that the schema lacks");
    let mut renamed = document.clone();
    let first = &mut renamed["results"][0];
    let of: &mut Map<String, Value> = first.as_object_mut().expect("a cell");
    let value = of.remove("label").expect("a label");
    of.insert("name".to_owned(), value);
    assert!(!errors(&schema, &renamed).is_empty(), "a key by another name");
}
