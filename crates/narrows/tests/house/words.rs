//! A workload is a type: nobody decides by how its name, or its kernel's or label's, is spelt.

use super::{code, decisions::Decisions, rooms, sources};
use narrows_model::workload::Workload;

/// Places that do, of which there may be no more: seven, and nine that ask other things called so.
const ON_WORKLOADS_MAX: usize = 16;

#[test]
fn a_workload_is_a_type_and_no_word() {
    // One is the name of a command too, and what interfaces count.
    let named = Workload::named().filter(|kind| *kind != Workload::Packets);
    let words: Vec<String> = named.map(|kind| format!("\"{kind}\"")).collect();
    for room in rooms() {
        for file in sources(&room) {
            // Other tools have words of their own, and a list has to be somewhere.
            let path = file.display().to_string();
            let has_words = ["model/src/workload.rs", "interop/src/import/"];
            if has_words.iter().any(|known| path.contains(known)) {
                continue;
            }
            let code = code(&file);
            let word = words.iter().find(|word| code.contains(word.as_str()));
            assert!(word.is_none(), "{path}: {word:?} in place of a Workload");
        }
    }
}

fn decisions(code: &str) -> Vec<(usize, String)> {
    Decisions::of(&syn::parse_file(code).expect("a source")).on_workloads
}

#[test]
fn decisions_on_a_workloads_name_only_become_fewer() {
    let mut all = Vec::new();
    for file in rooms().iter().flat_map(|room| sources(room)) {
        let found = decisions(super::sources::code(&file).expect("a source"));
        all.extend(found.iter().map(|(line, call)| format!("{}:{line}: {call}", file.display())));
    }
    let (count, told) = (all.len(), all.join("\n"));
    assert!(count <= ON_WORKLOADS_MAX, "{count} in place of {ON_WORKLOADS_MAX}:\n{told}");
}

#[test]
fn decisions_on_a_workloads_name_are_seen() {
    for asks in [
        "kind.starts_with(\"x\")",
        "kind.to_string().split('-').next() == Some(word)",
        "trial.label.contains(\"small\")",
        "of(kernel).split_once('-')",
        "name.strip_prefix(\"tcp-\")",
        "name.strip_suffix(\"-rr\")",
        "name.ends_with(\"stream\")",
        "name.starts_with([\"rdma\", \"udp\"])",
        "name.contains(\"memory\")",
        "names.iter().any(|name| name.trim_end_matches(\"-latency\").is_empty())",
        "assert_that(name).find(\"mpi\")",
    ] {
        let code = format!("fn f() -> bool {{ {asks}; true }}");
        assert_eq!(decisions(&code).len(), 1, "{asks}");
    }
    for other in [
        "range.split_once('-')",
        "line.strip_prefix(\"Max locked memory\")",
        "key.starts_with(\"memory.socket\")",
        "kinds.contains(&kind)",
        "kind.starts_with(other)",
        "names.contains(&\"-\".to_owned())",
    ] {
        let code = format!("fn f() -> bool {{ {other}; true }}");
        assert_eq!(decisions(&code).len(), 0, "{other}");
    }
}
