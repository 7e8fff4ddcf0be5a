//! Which top modules of a crate import each other in a circle. A parent and its child (`mod.rs` and
//! the files beside it) are one module here. The house test uses this file too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One crate's top modules: their code lines and which of each other they name.
#[derive(Default)]
pub struct Modules {
    lines: BTreeMap<String, usize>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Modules {
    /// Of the files below a crate's `src`, but for tests and what is generated.
    pub fn read(source: &Path) -> io::Result<Self> {
        let mut modules = Self::default();
        for path in files(source)? {
            let below = path.strip_prefix(source).unwrap_or(&path).with_extension("");
            let Some(module) = below.iter().next().and_then(|name| name.to_str()) else { continue };
            if module != "lib" && module != "main" {
                modules.add(module, &code(&fs::read_to_string(&path)?));
            }
        }
        Ok(modules)
    }

    fn add(&mut self, module: &str, code: &str) {
        let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
        *self.lines.entry(module.to_owned()).or_default() += lines;
        let uses = self.uses.entry(module.to_owned()).or_default();
        uses.extend(named(code).into_iter().filter(|name| name != module));
    }

    /// The modules that can be reached from themselves, by name, with their code lines.
    pub fn in_cycles(&self) -> BTreeMap<&str, usize> {
        let circular = self.lines.iter().filter(|(module, _)| self.reaches_itself(module));
        circular.map(|(module, lines)| (module.as_str(), *lines)).collect()
    }

    fn reaches_itself(&self, start: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = self.uses.get(start).into_iter().flatten().collect();
        while let Some(module) = next.pop() {
            if module == start {
                return true;
            }
            if seen.insert(module) {
                next.extend(self.uses.get(module).into_iter().flatten());
            }
        }
        false
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if name.ends_with(".rs") && !name.ends_with("bindings.rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A source without its unit tests and line comments.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// Every NAME of `crate::NAME`, also within a group.
fn named(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(first_names(group)),
            None => names.extend(first_word(rest)),
        }
    }
    names
}

/// The first names of a group's entries, whose own groups are passed over.
fn first_names(group: &str) -> Vec<String> {
    let (mut names, mut depth, mut begins) = (Vec::new(), 0, true);
    for (at, mark) in group.char_indices() {
        match mark {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && !mark.is_whitespace() => {
                names.extend(first_word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// Of every crate below `top`, the modules in cycles with their code lines.
pub fn of_crates(top: &Path) -> io::Result<BTreeMap<String, BTreeMap<String, usize>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(top.join("crates"))? {
        let room = entry?;
        let modules = Modules::read(&room.path().join("src"))?;
        let circular = modules.in_cycles();
        if !circular.is_empty() {
            let owned = circular.into_iter().map(|(name, lines)| (name.to_owned(), lines));
            found.insert(room.file_name().to_string_lossy().into_owned(), owned.collect());
        }
    }
    Ok(found)
}
