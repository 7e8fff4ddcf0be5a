//! The drawing of the house in ARCHITECTURE.md, from the crates' manifests: `cargo run
//! --manifest-path xtask/Cargo.toml -- drawing`. The house test uses this file too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

const BEGIN: &str = "<!-- drawn by xtask -->\n";
const END: &str = "<!-- end of the drawing -->\n";

/// Which crates each crate uses, tests left out.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn read(top: &Path) -> io::Result<Uses> {
    let mut uses = Uses::new();
    for entry in fs::read_dir(top.join("crates"))? {
        let room = entry?;
        let manifest = fs::read_to_string(room.path().join("Cargo.toml"))?;
        let normal = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let names =
            normal.lines().filter_map(|line| line.strip_prefix("narrows-")?.split(' ').next());
        let names = names.map(str::to_owned).collect();
        uses.insert(room.file_name().to_string_lossy().into_owned(), names);
    }
    Ok(uses)
}

/// How far a crate stands above those that use none.
fn floor(uses: &Uses, room: &str) -> usize {
    uses[room].iter().map(|used| floor(uses, used) + 1).max().unwrap_or(0)
}

/// What a crate uses and what it does not reach through another one.
fn direct<'a>(uses: &'a Uses, room: &str) -> Vec<&'a str> {
    let through =
        |used: &str| uses[room].iter().any(|other| other != used && reaches(uses, other, used));
    uses[room].iter().map(String::as_str).filter(|used| !through(used)).collect()
}

fn reaches(uses: &Uses, from: &str, to: &str) -> bool {
    uses[from].iter().any(|used| used == to || reaches(uses, used, to))
}

/// Floors from the roof down; each crate with those that it stands on.
fn draw(uses: &Uses) -> String {
    let mut floors: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
    for room in uses.keys() {
        floors.entry(floor(uses, room)).or_default().push(room);
    }
    let mut text = String::from("```\n");
    for (height, rooms) in floors.iter().rev() {
        for (at, room) in rooms.iter().enumerate() {
            let height = if at == 0 { height.to_string() } else { String::new() };
            let on = direct(uses, room).join(" ");
            let line = format!("{height:>2}  {room:<10} {}", if on.is_empty() { "-" } else { &on });
            text += line.trim_end();
            text.push('\n');
        }
    }
    text + "```\n"
}

/// ARCHITECTURE.md with the drawing of the crates below `top`, and without.
pub fn architecture(top: &Path) -> io::Result<(String, String)> {
    let is = fs::read_to_string(top.join("ARCHITECTURE.md"))?;
    let missing = || io::Error::other("ARCHITECTURE.md has no place for the drawing");
    let (before, rest) = is.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let should = format!("{before}{BEGIN}{}{END}{after}", draw(&read(top)?));
    Ok((is, should))
}
