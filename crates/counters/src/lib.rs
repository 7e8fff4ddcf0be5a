//! Counters around a run. One source a file in [`sources`]; reading a file and understanding its
//! text are two functions, so that the parsers can be tested on other machines' files.

pub mod sources;
mod table;
pub mod thread;

use narrows_model::record::Readings;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

/// What a source may look at.
pub struct Scene<'a> {
    /// The sockets of the flows.
    pub sockets: &'a [BorrowedFd<'a>],
}

/// One look at a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Running totals: the difference of two looks is what counts. Keys end with their unit.
    pub counters: BTreeMap<String, u64>,
    /// States: the later look is what counts.
    pub gauges: BTreeMap<String, u64>,
    /// States that count at both looks: that of the earlier one gets `opening:` before its name.
    pub levels: BTreeMap<String, u64>,
}

/// One source of counters.
pub struct Source {
    /// Its name in readings.
    pub name: &'static str,
    /// What it counts, and what it does not.
    pub says: &'static str,
    /// Takes a look; `None` when this machine does not offer it.
    pub take: fn(&Scene<'_>) -> Option<Sample>,
}

/// One look at many sources.
#[derive(Clone, Debug, Default)]
pub struct Look(BTreeMap<&'static str, Sample>);

/// Looks at the sources by these names; a source that is not there is left out.
pub fn look(names: &[&str], scene: &Scene<'_>) -> Look {
    let wanted = sources::SOURCES.iter().filter(|source| names.contains(&source.name));
    Look(wanted.filter_map(|source| Some((source.name, (source.take)(scene)?))).collect())
}

/// What happened between two looks. A counter that ran backwards (a device was replaced) is left
/// out, as is one that only one look has.
pub fn between(before: &Look, after: &Look) -> Readings {
    let mut readings = Readings::default();
    for (name, after) in &after.0 {
        let mut keys = after.gauges.clone();
        keys.extend(after.levels.clone());
        if let Some(before) = before.0.get(name) {
            for (key, early) in &before.levels {
                keys.insert(opening(key), *early);
            }
            for (key, late) in &after.counters {
                let early = before.counters.get(key);
                if let Some(grown) = early.and_then(|early| late.checked_sub(*early)) {
                    keys.insert(key.clone(), grown);
                }
            }
        }
        readings.0.insert((*name).to_owned(), keys);
    }
    readings
}

/// `flow0.waiting_bytes` as the window opened: `flow0.opening:waiting_bytes`.
fn opening(key: &str) -> String {
    match key.rsplit_once('.') {
        Some((scope, name)) => format!("{scope}.opening:{name}"),
        None => format!("opening:{key}"),
    }
}

/// Sources that tell of the whole host.
pub const HOST: [&str; 2] = ["cpu", "pressure"];
/// Sources that tell of one end of a network trial, read in its own namespace.
pub const END: [&str; 9] =
    ["cpu", "interface", "pause", "pressure", "rdma", "socket", "softnet", "tcp-info", "udp"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_looked_at() {
        let unread = sources::SOURCES.iter().map(|source| source.name);
        let unread: Vec<&str> =
            unread.filter(|name| !END.contains(name) && !HOST.contains(name)).collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn counters_are_subtracted_and_gauges_kept() {
        let sample = |count: u64, gauge: u64| Sample {
            counters: [("a_bytes".to_owned(), count)].into(),
            gauges: [("g_bytes".to_owned(), gauge)].into(),
            levels: [("flow0.l_bytes".to_owned(), 10 * gauge)].into(),
        };
        let look = |sample| Look([("x", sample)].into());
        let readings = between(&look(sample(3, 1)), &look(sample(10, 2)));
        assert_eq!(readings.get("x", "a_bytes"), Some(7));
        assert_eq!(readings.get("x", "g_bytes"), Some(2));
        assert_eq!(readings.get("x", "flow0.opening:l_bytes"), Some(10));
        assert_eq!(readings.get("x", "flow0.l_bytes"), Some(20));
        let backwards = between(&look(sample(10, 1)), &look(sample(3, 2)));
        assert_eq!(backwards.get("x", "a_bytes"), None);
    }

    #[test]
    fn this_machine_counts_its_cpu_time() {
        let scene = Scene { sockets: &[] };
        let before = look(&HOST, &scene);
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 120 {
            std::hint::black_box(0);
        }
        let readings = between(&before, &look(&HOST, &scene));
        let busy = readings.sum("cpu", ".user_ns").expect("user time");
        assert!(busy >= 50_000_000, "{readings:?}");
    }
}
