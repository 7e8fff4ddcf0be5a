//! Counts that may only fall. They are made on text, by less than `xtask figures` sees, and no
//! test is in them. Whoever lowers one by much lowers its limit here with it.

use super::{code, fails_by_string, read, rooms, sources};

/// Closures that are bound to a name, in 10,000 lines of code.
const NAMED_CLOSURES_MAX: usize = 64;
/// `match` on a bool, in 10,000 lines of code.
const BOOL_MATCHES_MAX: usize = 3;

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    code_lines: usize,
    named_closures: usize,
    bool_matches: usize,
    string_errors: usize,
    short_docs: usize,
}

impl Counts {
    fn of(code: &str, whole: &str) -> Self {
        let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
        let arms = words.matches("{ true =>").count() + words.matches("{ false =>").count();
        let results = words.split("-> Result<").skip(1);
        Self {
            code_lines: code.lines().filter(|line| !line.trim().is_empty()).count(),
            named_closures: words.split("let ").skip(1).filter(|rest| names_closure(rest)).count(),
            bool_matches: arms,
            string_errors: results.filter(|rest| fails_by_string(rest)).count(),
            short_docs: short_docs(whole),
        }
    }

    fn add(&mut self, more: &Self) {
        self.code_lines += more.code_lines;
        self.named_closures += more.named_closures;
        self.bool_matches += more.bool_matches;
        self.string_errors += more.string_errors;
        self.short_docs += more.short_docs;
    }
}

/// Whether what follows a `let` is a name and a closure.
fn names_closure(rest: &str) -> bool {
    let Some((name, value)) = rest.split_once(" = ") else { return false };
    let value = value.strip_prefix("move ").unwrap_or(value);
    let name = name.strip_prefix("mut ").unwrap_or(name);
    value.starts_with('|') && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Doc comments of one line with one or two words.
fn short_docs(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_doc = |at: Option<usize>| {
        at.and_then(|at| lines.get(at)).is_some_and(|line| line.starts_with("///"))
    };
    (0..lines.len())
        .filter(|at| is_doc(Some(*at)) && !is_doc(at.checked_sub(1)) && !is_doc(Some(at + 1)))
        .filter(|at| lines[*at].split_whitespace().count() <= 3)
        .count()
}

#[test]
fn counts_of_the_house_only_fall() {
    let mut all = Counts::default();
    for room in rooms() {
        for file in sources(&room) {
            let name = file.to_string_lossy();
            if !name.ends_with("bindings.rs") && !name.contains("tests") {
                all.add(&Counts::of(&code(&file), &read(&file)));
            }
        }
    }
    println!("{all:?}");
    let share = |count: usize| count * 10_000 / all.code_lines;
    assert!(share(all.named_closures) <= NAMED_CLOSURES_MAX, "named closures: {all:?}");
    assert!(share(all.bool_matches) <= BOOL_MATCHES_MAX, "matches on a bool: {all:?}");
    assert_eq!(all.string_errors, 0, "errors that are text: {all:?}");
    assert_eq!(all.short_docs, 0, "docs of one or two words: {all:?}");
}

#[test]
fn what_is_counted_is_seen() {
    let code = "let f = |x: u8| x;\nlet mut g =\n    move || h();\nlet y = a | b;\nlet z: u8 = 1;\n\
                match is {\n    true => 1,\n    false => 2,\n}\n\
                fn k() -> Result<u8, String> {}\nfn l() -> Result<String, u8> {}";
    let docs =
        "/// Its name.\nname: u8,\n/// Two words\n/// and more.\nlong: u8,\n/// In three words.\n";
    let counted = Counts::of(code, docs);
    let wanted = Counts {
        code_lines: 11,
        named_closures: 2,
        bool_matches: 1,
        string_errors: 1,
        short_docs: 1,
    };
    assert_eq!(counted, wanted);
}
