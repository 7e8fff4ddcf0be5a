//! What a processor's family does in a clock: a data file, `processors/families.json`, with where
//! its numbers are from.

use narrows_dimm::platform::Platform;
use serde::Deserialize;
use std::sync::LazyLock;

/// A family of processors, relative to Skylake where no unit is told.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Processor {
    /// Its name, as `dimm/platforms` has it.
    pub family: String,
    /// Clock of a core while few are busy, in GHz.
    pub clock_ghz: f64,
    /// Work of one core in a clock, that of Skylake being 1.
    pub work_per_clock: f64,
}

/// `processors/families.json` as it is written.
#[derive(Deserialize)]
struct File {
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and a test that it is there"))]
    source: String,
    families: Vec<Processor>,
}

/// Of a family that is not known: in the middle of those that servers have had since 2012.
const UNKNOWN_CLOCK_GHZ: f64 = 3.2;
const UNKNOWN_WORK_PER_CLOCK: f64 = 1.0;

static FILE: LazyLock<Option<File>> = LazyLock::new(|| {
    let text = include_str!("../processors/families.json");
    serde_json::from_str(text).ok()
});

/// The row of a family; one in the middle where it is not known.
pub fn of(platform: Option<&Platform>) -> Processor {
    let known = platform.and_then(|platform| {
        let families = FILE.as_ref().map(|file| file.families.iter())?;
        families.clone().find(|one| one.family == platform.name)
    });
    known.cloned().unwrap_or(Processor {
        family: String::new(),
        clock_ghz: UNKNOWN_CLOCK_GHZ,
        work_per_clock: UNKNOWN_WORK_PER_CLOCK,
    })
}

impl Processor {
    /// Whether the table has it.
    pub fn is_known(&self) -> bool {
        !self.family.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_dimm::platform;

    #[test]
    fn every_family_has_a_row_and_a_source() {
        let file = FILE.as_ref().expect("the file reads");
        assert!(file.source.contains("from knowledge"), "{}", file.source);
        for processor in ["Xeon E5-2690 0", "Xeon Platinum 8280", "AMD EPYC 9654", "AWS Graviton3"]
        {
            let platform = platform::named(processor).expect("a platform");
            assert!(of(Some(platform)).is_known(), "{}", platform.name);
        }
        for row in &file.families {
            assert!((2.0..6.0).contains(&row.clock_ghz), "{row:?}");
            assert!((0.4..2.0).contains(&row.work_per_clock), "{row:?}");
        }
        assert!(!of(None).is_known());
    }

    #[test]
    fn newer_cores_do_more() {
        let speed = |name: &str| {
            let row = of(platform::named(name));
            row.clock_ghz * row.work_per_clock
        };
        let generations = ["Xeon E5-2690 0", "Xeon E5-2680 v4", "Xeon Gold 6140", "Xeon Gold 6342"];
        assert!(generations.windows(2).all(|pair| speed(pair[0]) < speed(pair[1])));
    }
}
