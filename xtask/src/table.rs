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
    before: &'static str,
    anew: &'static str,
    now: fn(&House) -> String,
    models: [&'static str; 2],
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
    Row {
        count: "`Result<_, String>` of all Results",
        before: "124 of 621",
        anew: "30 of 1083",
        now: |house| format!("{} of {}", house.counts.string_errors, house.counts.results),
        models: ["0", "0"],
    },
    Row {
        count: "named closures a 1000 lines",
        before: "15.2",
        anew: "12.8",
        now: |house| share(house, house.counts.named_closures),
        models: ["0.4", "2.0"],
    },
    Row {
        count: "matches on a bool a 1000 lines",
        before: "3.1",
        anew: "2.2",
        now: |house| share(house, house.counts.bool_matches),
        models: ["0", "0"],
    },
    Row {
        count: "functions: median lines",
        before: "10",
        anew: "8",
        now: |house| house.function(0.5).to_string(),
        models: ["4", "10"],
    },
    Row {
        count: "functions over 70 lines",
        before: "0 ¹",
        anew: "0 ¹",
        now: |house| house.long_functions().to_string(),
        models: ["0.9 %", "3.1 %"],
    },
    Row {
        count: "lines of modules that import each other in a circle",
        before: "34 % ¹",
        anew: "0 ¹",
        now: |house| format!("{:.1} %", house.circular_percent()),
        models: ["27 % ¹", "45 % ¹"],
    },
    Row {
        count: "docs of one or two words",
        before: "302",
        anew: "208",
        now: |house| house.counts.short_docs.to_string(),
        models: ["-", "-"],
    },
    Row {
        count: "decisions on how a word begins or ends",
        before: "-",
        anew: "-",
        now: |house| house.counts.text_decisions.to_string(),
        models: ["-", "-"],
    },
    Row {
        count: "files that name `dscp`",
        before: "10 in 6 crates ¹",
        anew: "6 in 3 crates ¹",
        now: dscp,
        models: ["-", "-"],
    },
];

fn rows(house: &House) -> String {
    let mut text = "| count | before | laid anew | now | ripgrep | hyperfine |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    for Row { count, before, anew, now, models: [ripgrep, hyperfine] } in &ROWS {
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
