//! Memory bandwidth monitoring by the caches (Linux, Documentation/filesystems/resctrl.rst): what a
//! group of threads moved between the last-level cache and memory, and how much of it to and from
//! memory of its own node. It needs no PMU, and tells this end's threads from all others.
//!
//! The group is a folder that this process makes and removes. A thread that is already in a group
//! of somebody's is left there.

use narrows_host::Root;
use narrows_model::Fact;
use narrows_model::memory_traffic::{Count, CountedBy, Quantity, Uncounted};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

const TOP: &str = "sys/fs/resctrl";
const FEATURES: &str = "sys/fs/resctrl/info/L3_MON/mon_features";
const GROUPS: &str = "proc/self/cpu_resctrl_groups";
const CPUS: &str = "sys/devices/system/cpu";
/// What the names of our groups begin with; the rest is the number of the process.
const PREFIX: &str = "narrows-";
/// Files of a cache, and what they count.
const EVENTS: [(&str, Quantity); 2] =
    [("mbm_total_bytes", Quantity::OwnThreads), ("mbm_local_bytes", Quantity::OwnThreadsLocal)];

/// Bytes by quantity and last-level cache.
type Bytes = BTreeMap<(Quantity, u32), u64>;

/// A monitoring group with the threads of this process, and of those that they start.
pub struct Monitored {
    root: Root,
    /// Of the group, as [`Root`] takes it.
    group: String,
    /// The same folder, to be removed.
    made: PathBuf,
    events: Vec<(&'static str, Quantity)>,
    /// Packages by the number of their last-level caches.
    packages: BTreeMap<u32, u32>,
    opening: Result<Bytes, Uncounted>,
}

fn unavailable(what: impl Into<String>) -> Uncounted {
    Uncounted::ResctrlUnavailable { what: what.into() }
}

fn failed(path: &Path, error: &io::Error) -> Uncounted {
    unavailable(format!("{}: {error}", path.display()))
}

impl Monitored {
    /// Puts the threads of this process into a group of their own. Files of `root` lie in `dir`.
    pub fn join(root: &Root, dir: &Path) -> Result<Self, Uncounted> {
        let events = events(root)?;
        let base = format!("{}/mon_groups", control_group(root)?);
        remove_left_over(root, dir, &base);
        let group = format!("{base}/{PREFIX}{}", std::process::id());
        let made = dir.join(&group);
        match fs::create_dir(&made) {
            // A process of this number was killed before it could remove its own.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failed(&made, &error));
            }
            Ok(()) | Err(_) => {}
        }
        // From here on the group goes when this does.
        let packages = packages(root);
        let opening = Ok(Bytes::new());
        let joined = Self { root: root.clone(), group, made, events, packages, opening };
        joined.add_threads()?;
        Ok(joined)
    }

    fn add_threads(&self) -> Result<(), Uncounted> {
        let tasks = self.made.join("tasks");
        let at = |error: io::Error| failed(&tasks, &error);
        let mut file = OpenOptions::new().write(true).open(&tasks).map_err(at)?;
        for thread in self.root.names("proc/self/task") {
            match file.write_all(format!("{thread}\n").as_bytes()) {
                // It has ended since it was listed.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                done => done.map_err(at)?,
            }
        }
        Ok(())
    }

    /// Notes where the counts are as the window opens.
    pub fn start(&mut self) {
        self.opening = self.read();
    }

    /// What was counted from [`Self::start`] on, or why that is not known.
    pub fn close(self) -> Result<Vec<Count>, Uncounted> {
        let (opening, closing) = (self.opening.as_ref().map_err(Clone::clone)?, self.read()?);
        let caches = |of: &Bytes| of.keys().copied().collect::<BTreeSet<_>>();
        if caches(opening) != caches(&closing) {
            return Err(unavailable("caches came or went while the window was open"));
        }
        let mut sums: BTreeMap<(Quantity, Option<u32>), (u64, u32)> = BTreeMap::new();
        for ((of, cache), late) in closing {
            let early = opening.get(&(of, cache)).copied().unwrap_or(0);
            let grown = late.checked_sub(early);
            let grown = grown.ok_or_else(|| unavailable(format!("cache {cache} was set back")))?;
            let sum = sums.entry((of, self.packages.get(&cache).copied())).or_default();
            *sum = (sum.0.saturating_add(grown), sum.1 + 1);
        }
        Ok(sums
            .into_iter()
            .map(|((of, package), (bytes, counters))| Count {
                of,
                by: CountedBy::Resctrl,
                package,
                bytes,
                counters,
                ran_thousandths: None,
            })
            .collect())
    }

    fn read(&self) -> Result<Bytes, Uncounted> {
        let folder = format!("{}/mon_data", self.group);
        let mut all = Bytes::new();
        for name in self.root.names(&folder) {
            let Some(cache) = name.strip_prefix("mon_L3_").and_then(|n| n.parse().ok()) else {
                continue;
            };
            for (file, of) in &self.events {
                let path = format!("{folder}/{name}/{file}");
                all.insert((*of, cache), number(&path, &self.root.text(&path))?);
            }
        }
        let none = all.is_empty();
        if none { Err(unavailable(format!("/{folder}: no cache counts"))) } else { Ok(all) }
    }
}

impl Drop for Monitored {
    fn drop(&mut self) {
        // Its threads go back to the group that they were taken from.
        let _ = fs::remove_dir(&self.made);
    }
}

/// A count, which the kernel writes as a number, or as a word where it has none.
fn number(path: &str, text: &Fact<String>) -> Result<u64, Uncounted> {
    match text {
        Fact::Known { value, .. } => {
            value.parse().map_err(|_| unavailable(format!("/{path} says '{value}'")))
        }
        Fact::Absent { .. } => Err(unavailable(format!("/{path} is not there"))),
        Fact::Denied { .. } => Err(unavailable(format!("/{path} may not be read"))),
        Fact::Malformed { .. } => Err(unavailable(format!("/{path} is not text"))),
    }
}

/// What the caches count here.
fn events(root: &Root) -> Result<Vec<(&'static str, Quantity)>, Uncounted> {
    let features = root.text(FEATURES);
    if let Some(features) = features.value() {
        let has = |event: &str| features.lines().any(|line| line.trim() == event);
        let events: Vec<_> = EVENTS.into_iter().filter(|(event, _)| has(event)).collect();
        let none = events.is_empty();
        return if none {
            Err(unavailable(format!("no mbm event in /{FEATURES}")))
        } else {
            Ok(events)
        };
    }
    let cpu = root.text("proc/cpuinfo");
    let cpu = cpu.value().map_or("", String::as_str);
    Err(unavailable(if cpu.split_whitespace().any(|flag| flag == "cqm_mbm_total") {
        "the processor monitors memory bandwidth, and /sys/fs/resctrl is not mounted"
    } else {
        "no monitoring of memory bandwidth (cqm_mbm_total in /proc/cpuinfo)"
    }))
}

/// The control group that this process is in. A group of its own may be made beneath it only.
fn control_group(root: &Root) -> Result<String, Uncounted> {
    let text = root.text(GROUPS);
    let told = |name: &str| text.value()?.lines().find_map(|line| line.trim().strip_prefix(name));
    match (told("res:"), told("mon:")) {
        (_, Some(group)) if !group.is_empty() => {
            Err(unavailable(format!("this process is in the monitoring group '{group}' already")))
        }
        (Some("/") | None, _) => Ok(TOP.to_owned()),
        (Some(""), _) => Err(unavailable(format!("/{GROUPS} names no group"))),
        (Some(group), _) => Ok(format!("{TOP}/{group}")),
    }
}

/// Removes groups of processes that are gone: each takes one of few numbers of the hardware.
fn remove_left_over(root: &Root, dir: &Path, base: &str) {
    for name in root.names(base) {
        let process = name.strip_prefix(PREFIX).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !dir.join("proc").join(number.to_string()).exists()) {
            let _ = fs::remove_dir(dir.join(base).join(name));
        }
    }
}

/// The package of each last-level cache, by the CPUs that share it.
fn packages(root: &Root) -> BTreeMap<u32, u32> {
    let cpus = root.names(CPUS).into_iter();
    cpus.filter(|name| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok()))
        .filter_map(|cpu| {
            let told = |file: &str| root.number(&format!("{CPUS}/{cpu}/{file}")).value().copied();
            let (cache, package) =
                told("cache/index3/id").zip(told("topology/physical_package_id"))?;
            Some((u32::try_from(cache).ok()?, u32::try_from(package).ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::Machine;
    use super::*;

    /// Two sockets with a cache each, mounted, with the group that the kernel would fill.
    fn mounted(name: &str) -> Machine {
        let machine = Machine::new(name);
        machine.cpus(&[0, 1]).put(FEATURES, "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
        for (cpu, cache) in [(0, 4), (1, 7)] {
            machine.put(&format!("{CPUS}/cpu{cpu}/cache/index3/id"), &cache.to_string());
        }
        machine.put("proc/self/task/11/comm", "a").put("proc/self/task/12/comm", "b");
        machine.put(&format!("{}/tasks", own(TOP)), "");
        machine
    }

    fn own(base: &str) -> String {
        format!("{base}/mon_groups/{PREFIX}{}", std::process::id())
    }

    fn counts(machine: &Machine, base: &str, all: [[&str; 2]; 2]) {
        for (cache, [total, local]) in ["04", "07"].into_iter().zip(all) {
            let at = format!("{}/mon_data/mon_L3_{cache}", own(base));
            machine.put(&format!("{at}/mbm_total_bytes"), total);
            machine.put(&format!("{at}/mbm_local_bytes"), local);
        }
    }

    fn run(machine: &Machine, early: [[&str; 2]; 2], late: [[&str; 2]; 2]) -> Vec<Count> {
        tried(machine, early, late).expect("counts")
    }

    fn tried(
        machine: &Machine,
        early: [[&str; 2]; 2],
        late: [[&str; 2]; 2],
    ) -> Result<Vec<Count>, Uncounted> {
        counts(machine, TOP, early);
        let mut group = Monitored::join(&machine.root(), machine.dir())?;
        group.start();
        counts(machine, TOP, late);
        group.close()
    }

    fn why(of: Result<impl Sized, Uncounted>) -> String {
        of.err().map_or_else(String::new, |why| why.to_string())
    }

    #[test]
    fn threads_are_joined_and_counts_are_what_they_grew_by_on_each_package() {
        let machine = mounted("mbm");
        let all = run(&machine, [["100", "90"], ["1000", "10"]], [["164", "122"], ["1512", "10"]]);
        let told: Vec<_> = all.iter().map(|one| (one.of, one.package, one.bytes)).collect();
        let (whole, local) = (Quantity::OwnThreads, Quantity::OwnThreadsLocal);
        let expected = [
            (whole, Some(0), 64),
            (whole, Some(1), 512),
            (local, Some(0), 32),
            (local, Some(1), 0),
        ];
        assert_eq!(told, expected);
        assert!(all.iter().all(|one| one.by == CountedBy::Resctrl && one.counters == 1));
        assert_eq!(machine.text(&format!("{}/tasks", own(TOP))), "11\n12\n");
    }

    #[test]
    fn a_count_that_is_a_word_or_runs_backwards_makes_no_figure() {
        let fine = [["1", "1"], ["1", "1"]];
        for (late, says) in [
            ([["Unavailable", "2"], ["2", "2"]], "mbm_total_bytes says 'Unavailable'"),
            ([["2", "2"], ["2", "Unassigned"]], "mbm_local_bytes says 'Unassigned'"),
            ([["2", "2"], ["0", "2"]], "cache 7 was set back"),
        ] {
            let machine = mounted("words");
            let why = why(tried(&machine, fine, late));
            assert!(why.contains(says), "{says}: {why}");
        }
        let machine = mounted("early");
        assert!(why(tried(&machine, [["Error", "1"], ["1", "1"]], fine)).contains("'Error'"));
    }

    #[test]
    fn a_cache_that_goes_offline_makes_no_figure() {
        let machine = mounted("offline");
        counts(&machine, TOP, [["1", "1"], ["1", "1"]]);
        let mut group = Monitored::join(&machine.root(), machine.dir()).expect("a group");
        group.start();
        let gone = machine.dir().join(own(TOP)).join("mon_data/mon_L3_07");
        fs::remove_dir_all(gone).expect("removed");
        assert!(why(group.close()).contains("came or went"));
    }

    #[test]
    fn machines_without_it_say_what_is_missing() {
        let join = |machine: &Machine| why(Monitored::join(&machine.root(), machine.dir()));
        let none = Machine::new("no-mbm");
        none.put("proc/cpuinfo", "flags : fpu sse\n");
        assert!(join(&none).contains("no monitoring of memory bandwidth"));
        none.put("proc/cpuinfo", "flags : fpu cqm_mbm_total sse\n");
        assert!(join(&none).contains("not mounted"));
        none.put(FEATURES, "llc_occupancy\n");
        assert!(join(&none).contains("no mbm event"));
        let bare = Machine::new("bare");
        bare.put(FEATURES, "mbm_total_bytes\n");
        let text = join(&bare);
        assert!(text.contains("mon_groups/narrows-"), "{text}");
        fs::create_dir_all(bare.dir().join(TOP).join("mon_groups")).expect("folder");
        assert!(join(&bare).contains("/tasks: "), "a folder that is no resctrl");
        let left = fs::read_dir(bare.dir().join(TOP).join("mon_groups")).expect("folder").count();
        assert_eq!(left, 0, "and what was made there is gone again");
    }

    #[test]
    fn somebodys_groups_are_left_alone_and_those_of_dead_processes_removed() {
        let machine = mounted("groups");
        let groups = machine.dir().join(TOP).join("mon_groups");
        for name in ["narrows-77", "narrows-78", "theirs"] {
            fs::create_dir_all(groups.join(name)).expect("folder");
        }
        machine.put("proc/78/comm", "narrows").put(GROUPS, "res:/\nmon:\n");
        let fine = [["1", "1"], ["1", "1"]];
        assert_eq!(run(&machine, fine, fine).len(), 4);
        let there = |name: &str| groups.join(name).exists();
        assert_eq!(
            (there("narrows-77"), there("narrows-78"), there("theirs")),
            (false, true, true)
        );
        machine.put(GROUPS, "res:/\nmon:theirs\n");
        assert!(why(tried(&machine, fine, fine)).contains("group 'theirs' already"));
        // A control group of its own has its own monitoring groups.
        machine.put(GROUPS, "res:slow\nmon:\n");
        machine.put(&format!("{}/tasks", own("sys/fs/resctrl/slow")), "");
        counts(&machine, "sys/fs/resctrl/slow", fine);
        let mut group = Monitored::join(&machine.root(), machine.dir()).expect("a group");
        group.start();
        assert_eq!(group.close().map(|all| all.len()), Ok(4));
        assert_eq!(machine.text(&format!("{}/tasks", own("sys/fs/resctrl/slow"))), "11\n12\n");
    }
}
