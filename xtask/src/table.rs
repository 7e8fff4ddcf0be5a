//! The figures of HACKING.md: what was counted once is kept here, what is so now is counted. The
//! house test uses this file too.

use crate::figures::House;
use std::fs;
use std::io;
use std::path::Path;

const BEGIN: &str = "<!-- counted by xtask figures -->\n";
const END: &str = "<!-- end of the figures -->\n";

/// What a row counts: before the core was laid anew (2026-11-22), after that, now, and in two models
/// of such tools.
struct Row {
    count: &'static str,
    then: [&'static str; 2],
    now: fn(&House) -> String,
    models: [&'static str; 2],
}

const fn row(
    count: &'static str,
    then: [&'static str; 2],
    now: fn(&House) -> String,
    models: [&'static str; 2],
) -> Row {
    Row { count, then, now, models }
}

/// So many of something in a thousand lines of code.
fn share(house: &House, count: usize) -> String {
    format!("{:.1}", house.counts.per_thousand(count))
}

fn dscp(house: &House) -> String {
    let (files, crates) = house.spread.get("dscp").copied().unwrap_or_default();
    format!("{files} in {crates} crates")
}

const ROWS: [Row; 9] = [
    row(
        "`Result<_, String>` of all Results",
        ["124 of 621", "30 of 1083"],
        |house| format!("{} of {}", house.counts.string_errors, house.counts.results),
        ["0", "0"],
    ),
    row(
        "named closures a 1000 lines",
        ["15.2", "12.8"],
        |house| share(house, house.counts.named_closures),
        ["0.4", "2.0"],
    ),
    row(
        "matches on a bool a 1000 lines",
        ["3.1", "2.2"],
        |house| share(house, house.counts.bool_matches),
        ["0", "0"],
    ),
    row(
        "functions: median lines",
        ["10", "8"],
        |house| house.function(0.5).to_string(),
        ["4", "10"],
    ),
    row(
        "functions over 70 lines",
        ["0 ¹", "0 ¹"],
        |house| house.long_functions().to_string(),
        ["0.9 %", "3.1 %"],
    ),
    row(
        "lines of modules that import each other in a circle",
        ["34 % ¹", "0 ¹"],
        |house| format!("{:.1} %", house.circular_percent()),
        ["27 % ¹", "45 % ¹"],
    ),
    row(
        "docs of one or two words",
        ["302", "208"],
        |house| house.counts.short_docs.to_string(),
        ["-", "-"],
    ),
    row(
        "decisions on how a word begins or ends",
        ["-", "-"],
        |house| house.counts.text_decisions.to_string(),
        ["-", "-"],
    ),
    row("files that name `dscp`", ["10 in 6 crates ¹", "6 in 3 crates ¹"], dscp, ["-", "-"]),
];

fn rows(house: &House) -> String {
    let mut text = "| count | before | laid anew | now | ripgrep | hyperfine |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for Row { count, then: [before, anew], now, models: [ripgrep, hyperfine] } in &ROWS {
        let now = now(house);
        text += &format!("| {count} | {before} | {anew} | {now} | {ripgrep} | {hyperfine} |\n");
    }
    text
}

/// HACKING.md as it is, and with the figures of today.
pub fn hacking(top: &Path, house: &House) -> io::Result<(String, String)> {
    let is = fs::read_to_string(top.join("HACKING.md"))?;
    let missing = || io::Error::other("HACKING.md has no place for the figures");
    let (before, rest) = is.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let should = format!("{before}{BEGIN}{}{END}{after}", rows(house));
    Ok((is, should))
}
