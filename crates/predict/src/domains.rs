//! Domains of the network inside the host: between two stations a part of the host has so many
//! lines in flight and no more, so that it carries `credits x 64 B / latency` at most, however
//! empty its links are. A data file, `domains/families.json`, with where its numbers are from.

use crate::under_load::UnderLoad;
pub use crate::under_load::{EVEN, READS, loaded, reached};
use narrows_dimm::platform::Platform;
use narrows_stats::LINE_BYTES;
use serde::Deserialize;
use std::sync::LazyLock;

/// One part of the way to memory.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Domain {
    /// Lines that can be in flight at once; of cores that of each.
    pub credits: f64,
    /// What a line takes through it while nothing else is going on, in nanoseconds.
    pub unloaded_ns: f64,
}

/// The domains of a family of processors.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Domains {
    /// The family's name, as `dimm/platforms` has it.
    pub family: String,
    /// Who measured them, and on what.
    pub source: String,
    /// A core's reads, from its fill buffers to memory.
    pub core_read: Domain,
    /// A core's writes, as far as the cache's agent: memory's own wait is behind it.
    pub core_write: Domain,
    /// A device's writes, from the root complex to the memory controller's queue.
    pub device_write: Domain,
    /// The same where the last-level cache takes them (DDIO), in nanoseconds.
    pub device_write_to_cache_ns: f64,
    /// Lines of a device's reads that were seen in flight; how many there can be was not found.
    pub device_read_credits_least: f64,
    /// How long lines wait under load on the host that is asked about; none for the published
    /// shape.
    #[serde(skip)]
    pub under_load: Option<UnderLoad>,
}

/// `domains/families.json` as it is written.
#[derive(Deserialize)]
struct File {
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and a test that it is there"))]
    source: String,
    families: Vec<Domains>,
}

static FILE: LazyLock<Option<File>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../domains/families.json")).ok());

/// The domains of a family, where somebody has published them.
pub fn of(platform: Option<&Platform>) -> Option<&'static Domains> {
    let name = platform?.name.as_str();
    FILE.as_ref()?.families.iter().find(|one| one.family == name)
}

impl Domains {
    /// What was published of the family, in words.
    pub fn published(&self) -> String {
        format!(
            "published for {}: {} reads and {} writes of a core, {} writes and over {} reads of a \
             device ({})",
            self.family,
            self.core_read.credits,
            self.core_write.credits,
            self.device_write.credits,
            self.device_read_credits_least,
            self.source
        )
    }

    /// The same on a host that was measured under load.
    pub fn with(&self, under_load: Option<&UnderLoad>) -> Self {
        Self { under_load: under_load.cloned(), ..self.clone() }
    }

    /// Those of so many devices, each on a root complex of its own.
    pub fn of_devices(&self, count: f64) -> Self {
        let mut all = self.clone();
        all.device_write.credits *= count;
        all
    }

    /// How long a line waits behind memory at a share of its use, in nanoseconds.
    pub fn wait_ns(&self, used: f64) -> f64 {
        match &self.under_load {
            Some(measured) => measured.wait_ns(used),
            None => self.core_read.unloaded_ns * (loaded(used) - 1.0),
        }
    }
}

impl Domain {
    /// Gb/s that its credits carry while a line takes so long.
    pub fn gbps(&self, latency_ns: f64) -> f64 {
        self.credits * LINE_BYTES * 8.0 / latency_ns
    }

    /// The latency in nanoseconds from which on it carries less than so many Gb/s.
    pub fn break_even_ns(&self, gbps: f64) -> f64 {
        self.credits * LINE_BYTES * 8.0 / gbps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_dimm::platform;

    fn cascade_lake() -> &'static Domains {
        of(platform::named("Xeon Gold 6234")).expect("published")
    }

    #[test]
    fn credits_over_latency_is_what_was_published() {
        let writes = cascade_lake().device_write;
        assert!((writes.break_even_ns(100.0) - 471.0).abs() < 0.1);
        // 200 Gb/s are beyond them even while nothing else goes on.
        assert!(writes.gbps(writes.unloaded_ns) < 200.0);
        assert!((writes.gbps(312.0) - 151.0).abs() < 0.1);
        // Slowdowns of 98 Gb/s at latencies that were measured: 1.22, 1.52, 1.67 were published.
        for (ns, slower) in [(580.0, 1.22), (722.0, 1.52), (791.0, 1.67)] {
            let is = 98.0 / writes.gbps(ns);
            assert!((is / slower - 1.0).abs() < 0.02, "{ns}: {is}");
        }
        let core = cascade_lake().core_read;
        assert!((core.gbps(71.0) / 8.0 - 9.9).abs() < 0.05);
    }

    #[test]
    fn families_that_nobody_published_have_none() {
        for name in ["AMD EPYC 9654", "AWS Graviton3", "Xeon Platinum 8360Y"] {
            assert_eq!(of(platform::named(name)), None, "{name}");
        }
        assert!(FILE.as_ref().is_some_and(|file| file.source.contains("nobody has published")));
    }
}
