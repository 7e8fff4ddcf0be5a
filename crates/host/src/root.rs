//! The directory that a machine is read through.

use crate::capture::{Answers, Content};
use crate::tree::Tree;
use narrows_model::Fact;
use std::cell::RefCell;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Files larger than this are not read: no file of `/proc` or `/sys` that narrows wants is.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What a machine is read through: `/` when live, a folder, or a capture.
#[derive(Clone, Debug)]
pub struct Root {
    dir: PathBuf,
    replayed: Option<Answers>,
    tree: Option<Arc<Tree>>,
    recorded: Option<RefCell<Answers>>,
}

impl Root {
    /// The machine that narrows runs on.
    pub fn live() -> Self {
        Self::at("/")
    }
    /// A directory that holds `sys` and `proc` of some machine.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), replayed: None, tree: None, recorded: None }
    }
    /// The answers of a capture.
    pub fn replay(answers: Answers) -> Self {
        Self { replayed: Some(answers), ..Self::at("/nonexistent") }
    }
    /// The files of an archive.
    pub fn of_tree(tree: Tree) -> Self {
        Self { tree: Some(Arc::new(tree)), ..Self::at("/nonexistent") }
    }
    /// The same, every answer kept for a capture.
    pub fn recording(self) -> Self {
        Self { recorded: Some(RefCell::default()), ..self }
    }
    /// The answers so far, of a recording root.
    pub fn into_answers(self) -> Answers {
        self.recorded.map(RefCell::into_inner).unwrap_or_default()
    }
    /// True when the files of the reading process itself are that machine's.
    pub fn has_own_process(&self) -> bool {
        self.dir == Path::new("/") || self.replayed.is_some()
    }

    fn record(&self, keep: impl FnOnce(&mut Answers)) {
        if let Some(recorded) = &self.recorded {
            keep(&mut recorded.borrow_mut());
        }
    }

    /// The bytes of a file, given without a leading slash.
    pub fn bytes(&self, path: &str) -> Fact<Vec<u8>> {
        if let Some(replayed) = &self.replayed {
            let kept = replayed.files.get(path).cloned();
            let kept = kept.unwrap_or_else(|| Fact::absent(format!("/{path}")));
            return kept.and_then(|content| content.bytes());
        }
        let read = self.read_bytes(path);
        if !matches!(read, Fact::Absent { .. }) {
            let kept = read.clone().map(|bytes| Content::of(&bytes));
            self.record(|answers| drop(answers.files.insert(path.to_owned(), kept)));
        }
        read
    }

    fn read_bytes(&self, path: &str) -> Fact<Vec<u8>> {
        let shown = format!("/{path}");
        if let Some(tree) = &self.tree {
            return match tree.bytes(path) {
                Some(bytes) => Fact::known(bytes.to_vec(), shown),
                None => Fact::absent(shown),
            };
        }
        let mut bytes = Vec::new();
        let read = fs::File::open(self.dir.join(path))
            .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() as u64 > FILE_BYTES_MAX => {
                Fact::malformed(shown, format!("larger than {FILE_BYTES_MAX} bytes"))
            }
            Ok(_) => Fact::known(bytes, shown),
            Err(error) => gap(shown, &error),
        }
    }

    /// The text of a file without surrounding blanks. An empty file is `Absent`.
    pub fn text(&self, path: &str) -> Fact<String> {
        let text = self.bytes(path).and_then(|bytes| {
            String::from_utf8(bytes).map(|text| text.trim().to_owned()).map_err(|e| e.to_string())
        });
        match text {
            Fact::Known { value, from } if value.is_empty() => Fact::Absent { from, said: None },
            text => text,
        }
    }

    /// A file that holds one number, decimal or `0x` hexadecimal.
    pub fn number(&self, path: &str) -> Fact<i64> {
        self.text(path).and_then(|text| {
            let number = match text.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16),
                None => text.parse(),
            };
            number.map_err(|_| format!("'{text}' is not a number"))
        })
    }

    /// What only the living machine answers, kept under a path of its own as if a file held it.
    pub fn asked(&self, path: &str, ask: impl FnOnce() -> Fact<String>) -> Fact<String> {
        // A folder's answers are recorded as its files are.
        if self.replayed.is_some() || self.dir != Path::new("/") {
            return self.text(path);
        }
        let answer = ask();
        // Absence too: a replay could not tell where the machine was asked.
        let kept = answer.clone().map(|text| Content::of(text.as_bytes()));
        self.record(|answers| drop(answers.files.insert(path.to_owned(), kept)));
        answer
    }

    /// Names in a directory, sorted; empty when it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        if let Some(replayed) = &self.replayed {
            return replayed.folders.get(path).cloned().unwrap_or_default();
        }
        if let Some(tree) = &self.tree {
            return tree.names(path);
        }
        let Ok(entries) = fs::read_dir(self.dir.join(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        self.record(|answers| drop(answers.folders.insert(path.to_owned(), names.clone())));
        names
    }

    /// Numbers N of entries called `<prefix>N` in a directory, ascending.
    pub fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let names = self.names(path);
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// True when the path exists.
    pub fn has(&self, path: &str) -> bool {
        if let Some(replayed) = &self.replayed {
            return replayed.there.contains_key(path);
        }
        if let Some(tree) = &self.tree {
            return tree.has(path);
        }
        let there = self.dir.join(path).symlink_metadata().is_ok();
        if there {
            self.record(|answers| {
                answers.there.insert(path.to_owned(), true);
            });
        }
        there
    }

    /// Last component of a symbolic link's target.
    pub fn link_name(&self, path: &str) -> Fact<String> {
        if let Some(replayed) = &self.replayed {
            let kept = replayed.links.get(path).cloned();
            return kept.unwrap_or_else(|| Fact::absent(format!("/{path}")));
        }
        let name = self.read_link_name(path);
        if !matches!(name, Fact::Absent { .. }) {
            self.record(|answers| drop(answers.links.insert(path.to_owned(), name.clone())));
        }
        name
    }

    fn read_link_name(&self, path: &str) -> Fact<String> {
        if let Some(tree) = &self.tree {
            let name = tree.target(path).and_then(|target| target.rsplit('/').next());
            return match name.filter(|name| !name.is_empty()) {
                Some(name) => Fact::known(name.to_owned(), format!("/{path}")),
                None => Fact::absent(format!("/{path}")),
            };
        }
        match fs::read_link(self.dir.join(path)) {
            Ok(target) => match target.file_name().and_then(|name| name.to_str()) {
                Some(name) => Fact::known(name.to_owned(), format!("/{path}")),
                None => Fact::malformed(format!("/{path}"), "link without a name"),
            },
            Err(error) => gap(format!("/{path}"), &error),
        }
    }

    /// A path with its symbolic links resolved inside this root; links that leave it are cut at it.
    /// `None` when something on the way does not exist.
    pub fn resolve(&self, path: &str) -> Option<String> {
        if let Some(replayed) = &self.replayed {
            return replayed.resolved.get(path).cloned().flatten();
        }
        let resolved = match &self.tree {
            Some(tree) => tree.resolve(path),
            None => self.resolve_links(path),
        };
        if resolved.is_some() {
            let kept = resolved.clone();
            self.record(|answers| drop(answers.resolved.insert(path.to_owned(), kept)));
        }
        resolved
    }

    fn resolve_links(&self, path: &str) -> Option<String> {
        let mut done: Vec<String> = Vec::new();
        let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        for _ in 0..1000 {
            let Some(part) = ahead.pop() else { return Some(done.join("/")) };
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    done.pop();
                    continue;
                }
                _ => done.push(part),
            }
            let here = self.dir.join(done.join("/"));
            if !here.symlink_metadata().ok()?.is_symlink() {
                continue;
            }
            let target = fs::read_link(&here).ok()?;
            done.pop();
            if target.is_absolute() {
                done.clear();
            }
            for component in target.components().rev() {
                match component {
                    Component::Normal(name) => ahead.push(name.to_str()?.to_owned()),
                    Component::ParentDir => ahead.push("..".into()),
                    _ => {}
                }
            }
        }
        None
    }
}

/// What an error of a read means as a fact. Drivers answer EINVAL or ENODEV for "not known now".
fn gap<T>(from: String, error: &std::io::Error) -> Fact<T> {
    match error.kind() {
        ErrorKind::PermissionDenied => Fact::Denied { from: narrows_model::Source(from) },
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput => {
            Fact::absent(from)
        }
        _ if matches!(
            error.raw_os_error(),
            Some(libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO)
        ) =>
        {
            Fact::absent(from)
        }
        _ => Fact::malformed(from, error.to_string()),
    }
}
