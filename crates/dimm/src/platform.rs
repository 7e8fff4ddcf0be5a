//! Processor families: how many memory controllers and channels a socket has, and over how many
//! channels it can interleave. Data files in `platforms/`, one a maker, each with its source.

use narrows_model::host::Host;
use serde::Deserialize;
use std::sync::LazyLock;
use wildmatch::WildMatch;

/// The files, by maker.
const FILES: [&str; 3] = [
    include_str!("../platforms/amd.json"),
    include_str!("../platforms/arm.json"),
    include_str!("../platforms/intel.json"),
];

/// A family of processors and what its memory is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Platform {
    /// Name of the family, as its maker has it.
    pub name: String,
    /// Patterns of its processors' names, as [`plain_name`] writes them.
    processors: Vec<String>,
    /// Memory controllers of a socket, or groups of them that interleave among themselves.
    pub controllers: u32,
    /// Channels of each.
    pub channels: u32,
    /// Memory controllers by the numbers that boards and drivers give them, where `controllers` are
    /// groups of several; 0 where both are the same.
    #[serde(default)]
    numbered: u32,
    /// Dies that are nodes of their own unless firmware joins them.
    #[serde(default = "one")]
    pub dies: u32,
    /// Numbers of channels that one interleave set can have; empty where that is not known.
    pub ways: Vec<u32>,
    /// Channels that can be one set, by the letters of the processor's maker from A on; empty where
    /// any so many can.
    #[serde(default)]
    pub sets: Vec<String>,
    /// The most that modules run at with one, two and three on the fullest channel, in MT/s; empty
    /// where that is not known.
    #[serde(default)]
    mts: Vec<u32>,
    /// Links to one other processor and their rate in GT/s: the most that the family has.
    #[serde(default)]
    pub socket_links: Option<(u32, f64)>,
    /// Whether the shares of kernel sockets were fitted on its processors (docs/predict.md).
    #[serde(default)]
    pub is_fitted: bool,
    #[serde(default)]
    pub source: String,
}

fn one() -> u32 {
    1
}

/// One maker's file.
#[derive(Deserialize)]
struct Maker {
    source: String,
    platforms: Vec<Platform>,
}

static ALL: LazyLock<Vec<Platform>> = LazyLock::new(|| {
    let makers = FILES.iter().filter_map(|file| serde_json::from_str::<Maker>(file).ok());
    makers
        .flat_map(|maker| {
            let source = maker.source;
            maker.platforms.into_iter().map(move |p| Platform { source: source.clone(), ..p })
        })
        .collect()
});

/// The family of a host's processors: by the name the kernel shows, else by firmware's.
pub fn of(host: &Host) -> Option<&'static Platform> {
    let kernel = host.cpu.model.value().map(String::as_str);
    let sockets = host.cpu.sockets.value().map(Vec::as_slice).unwrap_or_default();
    let firmware = sockets.iter().filter_map(|socket| socket.model.as_deref());
    kernel.into_iter().chain(firmware).find_map(named)
}

/// The family of a processor by its name.
pub fn named(processor: &str) -> Option<&'static Platform> {
    let name = plain_name(processor);
    ALL.iter()
        .find(|platform| platform.processors.iter().any(|glob| WildMatch::new(glob).matches(&name)))
}

/// A processor's name in capitals without marks, clock, core count and the words that all have:
/// `Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz` is `XEON GOLD 6248`.
fn plain_name(processor: &str) -> String {
    let upper = processor.to_uppercase().replace("(R)", " ").replace("(TM)", " ");
    let head = upper.split('@').next().unwrap_or_default();
    head.split_whitespace()
        .filter(|word| {
            !matches!(*word, "INTEL" | "AMD" | "CPU" | "PROCESSOR") && !word.ends_with("-CORE")
        })
        .collect::<Vec<_>>()
        .join(" ")
}

impl Platform {
    /// Memory controllers of a socket by number, and the channels of each.
    pub fn numbered(&self) -> (u32, u32) {
        let controllers = if self.numbered == 0 { self.controllers } else { self.numbered };
        (controllers, self.channels_per_socket() / controllers)
    }

    /// The group that a numbered controller belongs to; `None` for a number beyond the family's.
    pub fn group_of(&self, controller: u32) -> Option<u32> {
        let (controllers, _) = self.numbered();
        (controller < controllers).then(|| controller / (controllers / self.controllers))
    }

    /// The most that modules run at with so many on the fullest channel, in MT/s.
    pub fn mts_at(&self, depth: u32) -> Option<u32> {
        let index = (depth.max(1) - 1) as usize;
        self.mts.get(index).or(self.mts.last()).copied()
    }

    /// Channels of a socket.
    pub fn channels_per_socket(&self) -> u32 {
        self.controllers * self.channels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_reads_and_its_numbers_hold_together() {
        for file in FILES {
            let maker: Maker = serde_json::from_str(file).expect(file);
            assert!(!maker.source.is_empty());
            for platform in maker.platforms {
                let all = platform.channels_per_socket();
                assert!(platform.ways.iter().all(|ways| *ways <= all), "{}", platform.name);
                assert!(platform.controllers.is_multiple_of(platform.dies) || platform.dies == 1);
                let known = |set: &String| platform.ways.contains(&(set.len() as u32));
                assert!(platform.sets.iter().all(known), "{}", platform.name);
                assert!(platform.mts.is_sorted_by(|a, b| a >= b), "{}", platform.name);
                assert!(platform.mts.len() <= 3, "{}", platform.name);
                let (controllers, channels) = platform.numbered();
                assert!(controllers.is_multiple_of(platform.controllers), "{}", platform.name);
                assert_eq!(controllers * channels, all, "{}", platform.name);
            }
        }
    }

    #[test]
    fn more_modules_on_a_channel_are_never_faster() {
        let at = |name: &str, depth| named(name).and_then(|platform| platform.mts_at(depth));
        assert_eq!(at("Xeon X5670", 2), Some(1333));
        assert_eq!(at("Xeon X5670", 3), Some(800));
        assert_eq!(at("Xeon E5-2680 v4", 3), Some(1866));
        assert_eq!([1, 2, 3].map(|n| at("Xeon Gold 6248", n)), [2933, 2666, 2666].map(Some));
        assert_eq!(at("Xeon E3-1240 V2", 2), None);
    }

    #[test]
    fn processors_are_known_by_name() {
        let name = |processor: &str| named(processor).map(|platform| platform.name.as_str());
        for (processor, want) in [
            ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "Cascade Lake-SP"),
            ("Intel(R) Xeon(R) Gold 6263CY CPU @ 2.60GHz", "Cascade Lake-SP"),
            ("Intel(R) Xeon(R) Platinum 8280L CPU @ 2.60GHz", "Cascade Lake-SP"),
            ("Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", "Skylake-SP"),
            ("Intel(R) Xeon(R) Gold 6342 CPU @ 2.80GHz", "Ice Lake-SP"),
            ("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", "Cooper Lake-SP"),
            ("Intel(R) Xeon(R) Gold 5416S", "Sapphire Rapids-SP"),
            ("INTEL(R) XEON(R) PLATINUM 8592+", "Emerald Rapids-SP"),
            ("Intel(R) Xeon(R) 6980P", "Granite Rapids-AP"),
            ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", "Sandy Bridge-EP"),
            ("Intel(R) Xeon(R) CPU E5-2680 v2 @ 2.80GHz", "Ivy Bridge-EP"),
            ("Intel(R) Xeon(R) CPU E5-2697A v4 @ 2.60GHz", "Broadwell-EP"),
            ("Intel(R) Xeon(R) CPU E5-2407 v2 @ 2.40GHz", "Ivy Bridge-EN"),
            ("Intel(R) Xeon(R) CPU X5570 @ 2.93GHz", "Nehalem-EP"),
            ("Intel(R) Xeon(R) CPU L5630 @ 2.13GHz", "Westmere-EP"),
            ("AMD Opteron(tm) Processor 6174", "Magny-Cours to Abu Dhabi (G34)"),
            ("AMD EPYC 7601 32-Core Processor", "Naples"),
            ("AMD EPYC 7262 8-Core Processor", "Rome"),
            ("AMD EPYC 7773X 64-Core Processor", "Milan"),
            ("AMD EPYC 9654 96-Core Processor", "Genoa and Bergamo"),
            ("AMD EPYC 9755 128-Core Processor", "Turin"),
            ("Kunpeng 920-4826", "Kunpeng 920"),
            ("AWS Graviton3", "Graviton3"),
            ("Ampere(R) Altra(R) Processor", "Ampere Altra"),
        ] {
            assert_eq!(name(processor), Some(want), "{processor}");
        }
        for unknown in ["", "AMD EPYC", "Intel(R) Xeon(R) Processor", "Intel(R) Xeon(R) Gold"] {
            assert_eq!(name(unknown), None, "{unknown}");
        }
    }
}
