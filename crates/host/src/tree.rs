//! Files of an archive, kept in memory: what a [`Root`](crate::Root) reads where there is no
//! folder.

use std::collections::BTreeMap;

/// Links on the way to a file, at most.
const LINKS_MAX: usize = 40;

/// One file of the archive.
#[derive(Clone, Debug)]
enum Entry {
    File(Vec<u8>),
    Link(String),
}

/// Files and links by their path, without a leading slash; folders are those on the way.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// Keeps a file, unless there is one at its path.
    pub fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.entries.entry(clean(path)).or_insert(Entry::File(bytes));
    }

    /// Keeps a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.entries.entry(clean(path)).or_insert(Entry::Link(target.to_owned()));
    }

    /// All files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::File(bytes) => Some((path.as_str(), bytes.as_slice())),
            Entry::Link(_) => None,
        })
    }

    /// The tree below the one folder that holds everything, as archives have it.
    pub fn below_top(self) -> Self {
        let mut tops = self.entries.keys().map(|path| first(path));
        let top = tops.next().flatten();
        let Some(top) = top.filter(|top| tops.all(|other| other.as_ref() == Some(top))) else {
            return self;
        };
        if ["sys", "proc", "sos_commands"].contains(&top.as_str()) {
            return self;
        }
        Self {
            entries: self
                .entries
                .into_iter()
                .map(|(path, entry)| (path[top.len() + 1..].to_owned(), entry))
                .collect(),
        }
    }

    /// Whether there is a file, a link or a folder.
    pub fn has(&self, path: &str) -> bool {
        let Some((parent, name)) = split(path) else { return !self.entries.is_empty() };
        let Some(parent) = self.resolve(parent) else { return false };
        let path = joined(&parent, name);
        self.entries.contains_key(&path) || self.is_folder(&path)
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(&self.resolve(path)?)? {
            Entry::File(bytes) => Some(bytes),
            Entry::Link(_) => None,
        }
    }

    /// Where a link leads, as it is written.
    pub fn target(&self, path: &str) -> Option<&str> {
        let (parent, name) = split(path)?;
        match self.entries.get(&joined(&self.resolve(parent)?, name))? {
            Entry::Link(target) => Some(target),
            Entry::File(_) => None,
        }
    }

    /// Names in a folder, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Some(path) = self.resolve(path) else { return Vec::new() };
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.entries.range(prefix.clone()..);
        let inside = below.take_while(|(path, _)| path.starts_with(&prefix));
        let mut names: Vec<String> = Vec::new();
        for (path, _) in inside {
            let name = path[prefix.len()..].split('/').next().unwrap_or_default();
            if names.last().is_none_or(|last| last != name) {
                names.push(name.to_owned());
            }
        }
        names.sort();
        names.dedup();
        names
    }

    fn is_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        path.is_empty()
            || self
                .entries
                .range(prefix.clone()..)
                .next()
                .is_some_and(|(p, _)| p.starts_with(&prefix))
    }

    /// A path with its links followed; one that leads out of the tree is cut at its top. `None`
    /// where something on the way is not there.
    pub fn resolve(&self, path: &str) -> Option<String> {
        let mut done: Vec<String> = Vec::new();
        let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => drop(done.pop()),
                _ => {
                    done.push(part);
                    let here = done.join("/");
                    match self.entries.get(&here) {
                        Some(Entry::Link(target)) => {
                            links += 1;
                            done.pop();
                            if target.starts_with('/') {
                                done.clear();
                            }
                            ahead.extend(target.split('/').rev().map(str::to_owned));
                        }
                        Some(Entry::File(_)) => {}
                        None if self.is_folder(&here) => {}
                        None => return None,
                    }
                }
            }
            if links > LINKS_MAX {
                return None;
            }
        }
        Some(done.join("/"))
    }
}

fn first(path: &str) -> Option<String> {
    path.split_once('/').map(|(first, _)| first.to_owned())
}

/// Without dots and double slashes, and never above the top.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_matches('/');
    match path.rsplit_once('/') {
        Some(halves) => Some(halves),
        None if path.is_empty() => None,
        None => Some(("", path)),
    }
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_inside_and_never_outside() {
        let mut tree = Tree::default();
        tree.put("top/sys/devices/pci0/net/eth0/mtu", b"1500".to_vec());
        tree.link("top/sys/class/net/eth0", "../../devices/pci0/net/eth0");
        tree.link("top/loop", "loop");
        tree.link("top/out", "/../../sys/devices");
        tree.put("top/../../etc/passwd", b"x".to_vec());
        let up = tree.clone().below_top();
        assert!(up.bytes("sys/class/net/eth0/mtu").is_none(), "two tops: etc is beside");
        let tree = Tree {
            entries: tree.entries.into_iter().filter(|(p, _)| p.starts_with("top")).collect(),
        };
        let tree = tree.below_top();
        assert_eq!(tree.bytes("sys/class/net/eth0/mtu"), Some(b"1500".as_slice()));
        assert_eq!(tree.names("sys/class/net"), ["eth0"]);
        assert_eq!(tree.names("out"), ["pci0"]);
        assert_eq!(tree.target("sys/class/net/eth0"), Some("../../devices/pci0/net/eth0"));
        assert_eq!(
            tree.resolve("sys/class/net/eth0").as_deref(),
            Some("sys/devices/pci0/net/eth0")
        );
        assert_eq!(tree.resolve("loop"), None);
        assert!(tree.has("sys/devices") && tree.has("loop") && !tree.has("sys/none"));
    }
}
