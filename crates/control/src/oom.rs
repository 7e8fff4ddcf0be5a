//! Whether the kernel killed a process because its control group was out of memory.

use narrows_model::Bytes;
use narrows_model::record::LostBy;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where the memory controllers of both versions are mounted.
const MOUNTS: [&str; 3] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
/// Version 1 writes "no limit" as the largest page-aligned number.
const NO_LIMIT: u64 = 1 << 60;

/// The kernel killed a process to get memory back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The group that was out of memory, or whose process was chosen.
    pub group: PathBuf,
    /// The tightest limit of the group and those above it; `None` where the host was out of memory.
    pub limit: Option<Bytes>,
}

impl From<&OutOfMemory> for LostBy {
    fn from(killed: &OutOfMemory) -> Self {
        let group = killed.group.display().to_string();
        Self::OutOfMemory { group, limit_bytes: killed.limit }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        LostBy::from(self).fmt(f)
    }
}

/// The group of a process, and how often the kernel had killed there when it began.
#[derive(Debug)]
pub struct Watched {
    folder: PathBuf,
    top: PathBuf,
    killed: u64,
}

impl Watched {
    /// Watches the group of a process; `None` where no memory controller counts.
    pub fn begin(pid: u32) -> Option<Self> {
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let group = group_of(&groups)?;
        MOUNTS.iter().find_map(|mount| Self::at(Path::new(mount), group))
    }

    fn at(top: &Path, group: &str) -> Option<Self> {
        let folder = top.join(group.trim_matches('/'));
        // In a container the path may be the host's, and the mount the container's own group.
        let folder = [folder, top.to_owned()].into_iter().find(|at| killed(at).is_some())?;
        let killed = killed(&folder)?;
        Some(Self { folder, top: top.to_owned(), killed })
    }

    /// Whether the kernel has killed since.
    pub fn killed(&self) -> Option<OutOfMemory> {
        let new = killed(&self.folder)? > self.killed;
        let within = self.folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        let limit = within.filter_map(limit).min();
        new.then(|| OutOfMemory { group: self.folder.clone(), limit: limit.map(Bytes) })
    }
}

/// The path of the group that the memory controller counts: its own line in version 1, or the
/// one line of version 2.
fn group_of(groups: &str) -> Option<&str> {
    let lines = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let lines: Vec<_> = lines.collect();
    let found = lines.iter().find(|line| own(line));
    found
        .or_else(|| lines.iter().find(|(controllers, _)| controllers.is_empty()))
        .map(|line| line.1)
}

fn own((controllers, _): &(&str, &str)) -> bool {
    controllers.split(',').any(|name| name == "memory")
}

fn killed(folder: &Path) -> Option<u64> {
    ["memory.events", "memory.oom_control"]
        .iter()
        .find_map(|file| counted(&std::fs::read_to_string(folder.join(file)).ok()?))
}

/// The count of kills in the text of either version's file.
fn counted(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

fn limit(folder: &Path) -> Option<u64> {
    ["memory.max", "memory.limit_in_bytes"]
        .iter()
        .find_map(|file| limited(&std::fs::read_to_string(folder.join(file)).ok()?))
}

/// The limit in the text of either version's file.
fn limited(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_understood() {
        let two = "low 0\nhigh 0\nmax 71\noom 2\noom_kill 1\noom_group_kill 0\n";
        let one = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!((counted(two), counted(one)), (Some(1), Some(3)));
        assert_eq!(counted("oom_kill_disable 0\nunder_oom 0\n"), None, "before Linux 4.13");
        assert_eq!(limited("33554432\n"), Some(32 << 20));
        assert_eq!((limited("max\n"), limited("9223372036854771712\n")), (None, None));
        assert_eq!(group_of("4:memory:/a:b\n0::/c\n"), Some("/a:b"));
        assert_eq!(group_of("5:cpu,memory:/x\n"), Some("/x"));
        assert_eq!(group_of("0::/user.slice/y\n"), Some("/user.slice/y"));
        assert_eq!(group_of("3:cpu:/z\n"), None);
    }

    #[test]
    fn the_tightest_limit_up_to_the_top_is_named() {
        let top = std::env::temp_dir().join(format!("narrows-oom-{}", std::process::id()));
        let group = top.join("a/b");
        std::fs::create_dir_all(&group).expect("folders");
        let write = |path: &str, text: &str| std::fs::write(top.join(path), text).expect("file");
        write("a/b/memory.events", "oom 0\noom_kill 4\n");
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1048576\n");
        let watched = Watched::at(&top, "/a/b").expect("a group");
        assert_eq!(watched.killed(), None, "what was killed before it began is not told");
        write("a/b/memory.events", "oom 1\noom_kill 5\n");
        let found = watched.killed().expect("killed");
        assert_eq!(found, OutOfMemory { group: group.clone(), limit: Some(Bytes(1 << 20)) });
        let said = found.to_string();
        assert!(said.starts_with("killed by the kernel: out of memory in cgroup "), "{said}");
        assert!(said.ends_with("a/b, limit 1 MiB"), "{said}");
        write("a/memory.max", "max\n");
        let said = watched.killed().map(|found| found.to_string()).unwrap_or_default();
        assert!(said.ends_with("no limit: the host was out of memory"), "{said}");
        std::fs::remove_dir_all(&top).expect("removed");
    }
}
