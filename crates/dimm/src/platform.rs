//! Processor families: how many memory controllers and channels a socket has, and over how many
//! channels it can interleave. Data files in `platforms/`, one a maker, each with its source.

use narrows_model::host::{CpuId, Host};
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
    /// What CPUID says of them; nothing where others share it whose memory differs.
    #[serde(default)]
    cpuid: Option<Identity>,
    /// What it says of their maker; empty where the maker has no CPUID.
    #[serde(default)]
    vendor: String,
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

/// Processors of a maker by the numbers of CPUID.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Identity {
    family: u32,
    models: Vec<u32>,
    /// First and last where others share the model.
    steppings: Option<(u32, u32)>,
}

impl Identity {
    fn is_of(&self, id: &CpuId) -> bool {
        let within = |(first, last)| id.stepping.is_some_and(|step| (first..=last).contains(&step));
        self.family == id.family
            && self.models.contains(&id.model)
            && self.steppings.is_none_or(within)
    }
}

fn one() -> u32 {
    1
}

/// One maker's file.
#[derive(Deserialize)]
struct Maker {
    source: String,
    #[serde(default)]
    vendor: String,
    /// Where the numbers of CPUID are from. It is read by people; here it must be there.
    #[serde(rename = "cpuid_source", default)]
    _cpuid_source: String,
    platforms: Vec<Platform>,
}

static ALL: LazyLock<Vec<Platform>> = LazyLock::new(|| {
    let makers = FILES.iter().filter_map(|file| serde_json::from_str::<Maker>(file).ok());
    makers
        .flat_map(|maker| {
            let Maker { source, vendor, platforms, .. } = maker;
            platforms.into_iter().map(move |platform| Platform {
                source: source.clone(),
                vendor: vendor.clone(),
                ..platform
            })
        })
        .collect()
});

/// The family of a host's processors: by the name the kernel shows, else by firmware's, else, where
/// a hypervisor shows a name without a number, by CPUID.
pub fn of(host: &Host) -> Option<&'static Platform> {
    let kernel = host.cpu.model.value().map(String::as_str);
    let sockets = host.cpu.sockets.value().map(Vec::as_slice).unwrap_or_default();
    let firmware = sockets.iter().filter_map(|socket| socket.model.as_deref());
    let by_name = kernel.into_iter().chain(firmware).find_map(named);
    by_name.or_else(|| identified(host.cpu.id.value().filter(|_| kernel.is_some_and(is_hidden))?))
}

/// Whether a processor's name tells no model, as `Intel(R) Xeon(R) Processor @ 2.90GHz`: one that
/// has a number and is in no file may be of another line with the same CPUID, and other channels.
fn is_hidden(processor: &str) -> bool {
    !plain_name(processor).contains(|letter: char| letter.is_ascii_digit())
}

/// The family of a processor by CPUID.
fn identified(id: &CpuId) -> Option<&'static Platform> {
    let of_maker = ALL.iter().filter(|platform| platform.vendor == id.vendor);
    of_maker.into_iter().find(|one| one.cpuid.as_ref().is_some_and(|known| known.is_of(id)))
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
    use narrows_model::Fact;

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
                let has_source = !maker.vendor.is_empty() && !maker._cpuid_source.is_empty();
                assert!(platform.cpuid.is_none() || has_source, "{}", platform.name);
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

    #[test]
    fn a_processor_whose_name_a_hypervisor_hides_is_known_by_cpuid() {
        let (intel, amd) = ("GenuineIntel", "AuthenticAMD");
        let family = |name: &str, (vendor, family, model, stepping): (&str, u32, u32, u32)| {
            let id = CpuId { vendor: vendor.to_owned(), family, model, stepping: Some(stepping) };
            let mut host = Host::default();
            host.cpu.model = Fact::known(name.to_owned(), "/proc/cpuinfo");
            host.cpu.id = Fact::known(id, "/proc/cpuinfo");
            of(&host).map(|platform| platform.name.as_str())
        };
        for (name, id, want) in [
            ("Intel(R) Xeon(R) CPU @ 2.20GHz", (intel, 6, 0x4f, 0), "Broadwell-EP"),
            ("Intel(R) Xeon(R) Processor", (intel, 6, 0x55, 4), "Skylake-SP"),
            ("Intel Xeon Processor (Cascadelake)", (intel, 6, 0x55, 6), "Cascade Lake-SP"),
            ("Intel(R) Xeon(R) Processor", (intel, 6, 0x55, 11), "Cooper Lake-SP"),
            ("Intel(R) Xeon(R) Processor @ 2.90GHz", (intel, 6, 0x6a, 6), "Ice Lake-SP"),
            ("Intel(R) Xeon(R) Processor", (intel, 6, 0x8f, 8), "Sapphire Rapids-SP"),
            ("Intel(R) Xeon(R) Processor", (intel, 6, 0xcf, 2), "Emerald Rapids-SP"),
            ("AMD EPYC-Rome Processor", (amd, 0x17, 0x31, 0), "Rome"),
            ("AMD EPYC Processor (with IBPB)", (amd, 0x17, 1, 2), "Naples"),
            ("AMD EPYC-Genoa Processor", (amd, 0x19, 0x11, 0), "Genoa and Bergamo"),
            // The name decides where it tells the model.
            ("Intel(R) Xeon(R) Gold 6248 CPU", (intel, 6, 0xcf, 2), "Cascade Lake-SP"),
        ] {
            assert_eq!(family(name, id), Some(want), "{name} {id:?}");
        }
        for (name, id) in [
            ("Intel(R) Xeon(R) Processor", (intel, 6, 0x55, 8)),
            ("Intel(R) Xeon(R) Processor", (amd, 6, 0x4f, 0)),
            ("Intel(R) Xeon(R) Processor", (intel, 5, 0x4f, 0)),
            // Granite Rapids has two lines with different channels.
            ("Intel(R) Xeon(R) Processor", (intel, 6, 0xad, 1)),
            ("Intel(R) Xeon(R) W-9999 CPU", (intel, 6, 0x55, 7)),
        ] {
            assert_eq!(family(name, id), None, "{name} {id:?}");
        }
    }
}
