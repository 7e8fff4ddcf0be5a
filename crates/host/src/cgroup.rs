//! The control groups of this process, version 1 and 2.

use crate::Root;
use narrows_model::{Bytes, Fact};

/// Folders of the group that has a controller, from this process's own up to the top.
fn folders(root: &Root, controller: &str) -> Vec<String> {
    let groups = root.text("proc/self/cgroup");
    let Some(groups) = groups.value() else { return Vec::new() };
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let mount = match controllers {
            "" => "sys/fs/cgroup".to_owned(),
            some if some.split(',').any(|name| name == controller) => {
                format!("sys/fs/cgroup/{controller}")
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
    for folder in folders(root, controller) {
        if let Some((value, path)) = limit(&folder)
            && least.as_ref().is_none_or(|(known, _)| value < *known)
        {
            least = Some((value, path));
        }
    }
    match least {
        Some((value, path)) => Fact::known(value, format!("/{path}")),
        None => Fact::absent(format!("/sys/fs/cgroup: no {controller} limit")),
    }
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
}
