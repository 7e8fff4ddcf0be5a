//! The control groups of this process, version 1 and 2.

use crate::Root;
use narrows_model::{Bytes, Fact, Source};

/// Folders of the group that has a controller, from this process's own up to the top. Where a
/// namespace has a `/sys` of its own (`ip netns exec` mounts one without control groups), the
/// groups hold the process all the same: then as the nearest process that it descends from sees
/// them.
fn folders(root: &Root, controller: &str) -> Vec<String> {
    let own = mounted(root, controller, "");
    let mut ancestor = "self".to_owned();
    let mut seen = own.clone();
    for _ in 0..ANCESTORS {
        if seen.iter().any(|folder| is_there(root, folder)) {
            return seen;
        }
        let Some(parent) = parent(root, &ancestor) else { break };
        seen = mounted(root, controller, &format!("proc/{parent}/{SEEN}/"));
        ancestor = parent;
    }
    own
}

/// By which proc(5) shows the file system as a process sees it.
const SEEN: &str = "root";
/// A worker, its narrows, a shell or two and what entered the namespace.
const ANCESTORS: usize = 8;

/// The parent of a process, by proc(5): the second field after the name in brackets.
fn parent(root: &Root, process: &str) -> Option<String> {
    let stat = root.text(&format!("proc/{process}/stat"));
    let (_, fields) = stat.value()?.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.to_owned();
    (parent != "0").then_some(parent)
}

/// Whether a folder is a control group: each has this file, in both versions.
fn is_there(root: &Root, folder: &str) -> bool {
    root.text(&format!("{folder}/cgroup.procs")).value().is_some()
        || ["cpu.max", "cpu.stat", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes"]
            .iter()
            .any(|file| root.text(&format!("{folder}/{file}")).value().is_some())
}

/// The folders of the group below a place at which the file systems of `/sys` are seen.
fn mounted(root: &Root, controller: &str, place: &str) -> Vec<String> {
    let groups = root.text("proc/self/cgroup");
    let Some(groups) = groups.value() else { return Vec::new() };
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let mount = match controllers {
            "" => format!("{place}sys/fs/cgroup"),
            some if some.split(',').any(|name| name == controller) => {
                format!("{place}sys/fs/cgroup/{controller}")
            }
            _ => continue,
        };
        let mut group = group.trim_matches('/');
        loop {
            folders.push(format!("{mount}/{group}").trim_end_matches('/').to_owned());
            if group.is_empty() {
                break;
            }
            group = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }
    folders
}

/// The tightest of the limits that `limit` finds in the groups' folders.
fn tightest<T: PartialOrd>(
    root: &Root,
    controller: &str,
    limit: impl Fn(&str) -> Option<(T, String)>,
) -> Fact<T> {
    let mut least: Option<(T, String)> = None;
    let folders = folders(root, controller);
    for folder in &folders {
        if let Some((value, path)) = limit(folder)
            && least.as_ref().is_none_or(|(known, _)| value < *known)
        {
            least = Some((value, path));
        }
    }
    match least {
        Some((value, path)) => Fact::known(value, format!("/{path}")),
        None if is_hidden(root, &folders) => Fact::Denied {
            from: Source(format!("/sys/fs/cgroup: this process's {controller} group is not seen")),
        },
        None => Fact::absent(format!("/sys/fs/cgroup: no {controller} limit")),
    }
}

/// Whether the process is in a group of which nothing is seen: what holds it there is not known
/// then. A top group holds nobody.
fn is_hidden(root: &Root, folders: &[String]) -> bool {
    folders.len() > 1 && !folders.iter().any(|folder| is_there(root, folder))
}

/// The tightest limit of memory.
pub fn memory_limit(root: &Root) -> Fact<Bytes> {
    tightest(root, "memory", |folder| {
        ["memory.max", "memory.limit_in_bytes"].iter().find_map(|file| {
            let path = format!("{folder}/{file}");
            let limit = root.number(&path).value().and_then(|bytes| u64::try_from(*bytes).ok())?;
            // Version 1 writes "no limit" as the largest page-aligned number.
            (limit < 1 << 60).then_some((Bytes(limit), path))
        })
    })
}

/// The `cpu.stat` files of the control groups that may hold this process's CPU time back, its own
/// first, as paths of this machine.
pub fn cpu_stats(root: &Root) -> Vec<String> {
    folders(root, "cpu").into_iter().map(|folder| format!("/{folder}/cpu.stat")).collect()
}

/// The tightest quota of CPU time, in CPUs.
pub fn cpu_quota(root: &Root) -> Fact<f64> {
    tightest(root, "cpu", |folder| {
        let path = format!("{folder}/cpu.max");
        if let Some(text) = root.text(&path).value() {
            let (quota, period) = text.split_once(' ')?;
            return Some((quota.parse::<f64>().ok()? / positive(period)?, path));
        }
        let path = format!("{folder}/cpu.cfs_quota_us");
        let quota = root.number(&path).value().copied().filter(|quota| *quota > 0)?;
        let period = root.text(&format!("{folder}/cpu.cfs_period_us"));
        Some((quota as f64 / positive(period.value()?)?, path))
    })
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str, files: &[(&str, &str)]) -> Root {
        let dir =
            std::env::temp_dir().join(format!("narrows-cgroup-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("file");
        }
        Root::at(dir)
    }

    fn remove(name: &str) {
        let _ = std::fs::remove_dir_all(
            std::env::temp_dir().join(format!("narrows-cgroup-{name}-{}", std::process::id())),
        );
    }

    #[test]
    fn the_tightest_of_own_group_and_parents_counts() {
        let two = root(
            "v2",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/cpu.max", "250000 100000\n"),
                ("sys/fs/cgroup/a/b/memory.max", "1073741824\n"),
                ("sys/fs/cgroup/a/memory.max", "max\n"),
            ],
        );
        assert_eq!(cpu_quota(&two).value(), Some(&2.5));
        assert_eq!(memory_limit(&two).value(), Some(&Bytes::gib(1)));
        let one = root(
            "v1",
            &[
                ("proc/self/cgroup", "4:memory:/c\n3:cpu,cpuacct:/c\n"),
                ("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000"),
                ("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
                ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712"),
            ],
        );
        assert_eq!(cpu_quota(&one).value(), Some(&0.5));
        assert!(matches!(memory_limit(&one), Fact::Absent { .. }));
        ["v1", "v2"].into_iter().for_each(remove);
    }

    #[test]
    fn groups_that_a_namespace_hides_are_seen_as_an_ancestor_sees_them() {
        let place = format!("proc/40/{SEEN}/sys/fs/cgroup/cpu/c");
        let (own, period) =
            (format!("{place}/cpu.cfs_quota_us"), format!("{place}/cpu.cfs_period_us"));
        let known = [
            ("proc/self/cgroup", "3:cpu,cpuacct:/c\n"),
            ("proc/self/stat", "42 (na) rrows) S 41 42 42 0 -1\n"),
            ("proc/41/stat", "41 (sh) S 40 42 42 0 -1\n"),
            (&own, "10000"),
            (&period, "100000"),
        ];
        let hidden = root("hidden", &known);
        assert_eq!(cpu_quota(&hidden).value(), Some(&0.1));
        assert!(cpu_stats(&hidden)[0].starts_with("/proc/40/"));
        // An agent that gave root up sees neither: that is no answer.
        let unseen = root("unseen", &known[..3]);
        assert!(matches!(cpu_quota(&unseen), Fact::Denied { .. }));
        let top = root("top", &[("proc/self/cgroup", "3:cpu,cpuacct:/\n")]);
        assert!(matches!(cpu_quota(&top), Fact::Absent { .. }));
        // Where it sees its own, nothing of another's view counts.
        let seen = ("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1");
        let both = root("both", &[&known[..], &[seen]].concat());
        assert!(matches!(cpu_quota(&both), Fact::Absent { .. }));
        ["hidden", "unseen", "top", "both"].into_iter().for_each(remove);
    }
}
