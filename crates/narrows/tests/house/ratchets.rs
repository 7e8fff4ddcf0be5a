//! Counts that may only fall, as `xtask figures` makes them, and the table of them in HACKING.md.
//! Whoever lowers one by much lowers its limit here with it.

use super::figures::{Counts, House, mentions};
use super::{table, top};
use std::sync::OnceLock;

/// Closures that are bound to a name, in 10,000 lines of code.
const NAMED_CLOSURES_MAX: usize = 55;
/// `match` on a bool, in 10,000 lines of code.
const BOOL_MATCHES_MAX: usize = 3;
/// Decisions on how a word begins or ends.
const TEXT_DECISIONS_MAX: usize = 29;

/// How far a figure of HACKING.md may be off: it is counted again now and then.
const STALE_SHARE: f64 = 0.05;
/// The same of figures that are small.
const STALE_LEAST: f64 = 0.3;

fn house() -> &'static House {
    static COUNTED: OnceLock<House> = OnceLock::new();
    COUNTED.get_or_init(|| House::count(&top()).expect("sources"))
}

#[test]
fn counts_of_the_house_only_fall() {
    let counts = &house().counts;
    let share = |count: usize| (10.0 * counts.per_thousand(count)).round() as usize;
    let (closures, matches) = (share(counts.named_closures), share(counts.bool_matches));
    println!("{closures} named closures and {matches} matches on a bool in 10,000 lines");
    assert!(closures <= NAMED_CLOSURES_MAX, "named closures: {closures}");
    assert!(matches <= BOOL_MATCHES_MAX, "matches on a bool: {matches}");
    let decisions = counts.text_decisions;
    assert!(decisions <= TEXT_DECISIONS_MAX, "decisions on ends of words: {decisions}");
    assert_eq!(counts.string_errors, 0, "errors that are text");
    assert_eq!(counts.short_docs, 0, "docs of one or two words");
}

#[test]
fn what_is_counted_is_seen() {
    let code = [
        "fn f() {",
        "    let f = |x: u8| x;",
        "    let mut g =",
        "        move || h();",
        "    let y = a | b;",
        "    match is {",
        "        true => 1,",
        "        false => 2,",
        "    }",
        "    name.strip_prefix(\"word\");",
        "    name.ends_with(['-', 'x']);",
        "}",
        "const fn k() -> Result<u8, String> {}",
        "fn l() -> Result<String, u8> {}",
        "struct S {",
        "    /// Its name.",
        "    name: u8,",
        "    /// Two words",
        "    /// and more.",
        "    long: u8,",
        "    /// In three words.",
        "    short: u8,",
        "}",
    ];
    let counts = Counts::of(&code.join("\n")).expect("a source");
    assert_eq!(counts.named_closures, 2);
    assert_eq!(counts.bool_matches, 1);
    assert_eq!((counts.string_errors, counts.results), (1, 2));
    assert_eq!(counts.short_docs, 1);
    assert_eq!(counts.text_decisions, 1);
    assert_eq!(counts.function_lines, [12, 1, 1]);
    assert_eq!(counts.code_lines, 23);
}

#[test]
fn an_option_is_named_by_its_name_or_its_constant_and_by_no_longer_one() {
    for named in ["params.dscp", "flows::DSCP.of(&params)", "\"dscp\"", "dscp"] {
        assert!(mentions(named, "dscp"), "{named}");
    }
    for other in ["dscp_of", "set_dscp", "DSCP_MAX", "Dscpx"] {
        assert!(!mentions(other, "dscp"), "{other}");
    }
    assert!(!mentions("tcp_congestion_control", "congestion"));
}

/// A text with its numbers taken out, and the numbers.
fn apart(text: &str) -> (String, Vec<f64>) {
    let mut words = String::new();
    let mut numbers = Vec::new();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    for part in text.split_inclusive(|c| !is_number(c)) {
        let number: String = part.chars().filter(|c| is_number(*c)).collect();
        numbers.extend(number.parse::<f64>().ok());
        words.extend(part.chars().filter(|c| !is_number(*c)));
    }
    (words, numbers)
}

/// The first figure that is too far from what it should be.
fn stale(is: &str, should: &str) -> Option<String> {
    let ((says, is), (should_say, should)) = (apart(is), apart(should));
    if says != should_say || is.len() != should.len() {
        return Some("another text".to_owned());
    }
    let far = is.iter().zip(&should).find(|(is, should)| {
        (*is - *should).abs() > (STALE_SHARE * is.max(**should)).max(STALE_LEAST)
    });
    far.map(|(is, should)| format!("{is} in place of {should}"))
}

#[test]
fn the_figures_of_the_house_are_current() {
    let (is, should) = table::hacking(&top(), house()).expect("HACKING.md");
    let again = "cargo run --manifest-path xtask/Cargo.toml -- figures";
    assert_eq!(stale(&is, &should), None, "count them again: {again}");
}

#[test]
fn figures_that_are_stale_are_seen() {
    let is = "| closures | 5.5 | 0 of 1456 | 8 in 4 crates |";
    for near in ["| closures | 5.7 | 0 of 1500 | 8 in 4 crates |", is] {
        assert_eq!(stale(is, near), None, "{near}");
    }
    for far in [
        "| closures | 6.1 | 0 of 1456 | 8 in 4 crates |",
        "| closures | 5.5 | 1 of 1456 | 8 in 4 crates |",
        "| closures | 5.5 | 0 of 1600 | 8 in 4 crates |",
        "| closures | 5.5 | 0 of 1456 | 9 in 4 crates |",
        "| closures | 5.5 | 0 of 1456 | 8 in 4 rooms |",
        "| closures | 5.5 | 0 of 1456 | - |",
    ] {
        assert!(stale(is, far).is_some(), "{far}");
    }
}
