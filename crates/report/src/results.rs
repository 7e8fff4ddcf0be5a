//! What is computed of a host, for programs: beside the facts and never among them.

use narrows_dimm::moves::moves;
use narrows_dimm::population::{Balance, Population, controllers_equal, sockets_differ};
use narrows_explain::{Judged, judge_host};
use narrows_model::host::Host;
use narrows_model::result::{Estimate, Weight};
use narrows_model::{BitsPerSecond, Bytes, BytesPerSecond};
use narrows_predict::loss::Loss;
use narrows_predict::pcie_paths::{PciePath, SharedLink, Uplink, pcie_paths, shared};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Read;

/// A host as `narrows host --json` prints it.
#[derive(Serialize, JsonSchema)]
pub struct HostDocument {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    /// What was read.
    pub host: Host,
    /// What follows from it.
    pub results: Results,
}

/// Reads the host of such a document; what follows from it is computed anew.
pub fn host_of(document: impl Read) -> serde_json::Result<Host> {
    #[derive(Deserialize)]
    struct Part {
        host: Host,
    }
    serde_json::from_reader(document).map(|part: Part| part.host)
}

/// Everything that is computed of a host alone.
#[derive(Serialize, JsonSchema)]
pub struct Results {
    /// The population of memory.
    pub memory: MemoryResult,
    /// The way of every device that moves much.
    #[serde(rename = "roads")]
    pub paths: Vec<PciePathResult>,
    /// Links that several of them use.
    pub shared_links: Vec<SharedResult>,
    /// What the rules say that look at the host alone.
    pub rules: Vec<Judged>,
}

/// The population of memory.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct MemoryResult {
    /// Class, when it is known.
    pub balance: Option<Balance>,
    /// True when the sockets hold different memory, whatever else is true.
    pub sockets_differ: bool,
    /// Label of the study LP1241, for processors that it was coined for.
    pub lenovo_2019_balanced: Option<bool>,
    /// The same of each socket by itself, in their order; none for one without memory.
    #[serde(default)]
    pub lenovo_2019_by_socket: Vec<Option<bool>>,
    /// What the population costs against one module on every channel, where that is known.
    #[serde(default)]
    pub loss: Option<LossResult>,
    /// The processors' family.
    pub platform: Option<String>,
    /// Interleave sets, in order of sockets and parts.
    pub sets: Vec<SetResult>,
    /// True when channels were given to controllers in the order of their labels.
    pub controllers_by_label_order: bool,
    /// Moves that make an unbalanced population balanced.
    pub moves: Vec<MoveResult>,
    /// What is missing for the above.
    pub missing: Vec<String>,
}

/// What a population costs.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct LossResult {
    /// Peak of all channels of the processors.
    pub all_bytes_per_second: BytesPerSecond,
    /// That less the peak of the narrowest interleave set of every processor.
    pub lost_bytes_per_second: BytesPerSecond,
    /// Of every port that tells its rate.
    pub ports: Vec<PortLossResult>,
}

/// What it costs one port.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct PortLossResult {
    /// Name of the interface that it is of.
    pub nic: String,
    /// TCP or UDP, whichever loses more.
    pub path: String,
    /// Rate of the link.
    pub link_bits_per_second: BitsPerSecond,
    /// What the path should reach as the memory is.
    pub now_bits_per_second: BitsPerSecond,
    /// What it should reach more with a module on every channel, with an 80 % range.
    pub lost: Estimate,
}

/// One interleave set.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct SetResult {
    /// Socket, from 0.
    pub socket: u32,
    /// Part of the socket, from 0.
    pub cluster: u32,
    /// Channels it is spread over.
    pub channels: Vec<String>,
    /// Memory in it.
    pub size_bytes: Bytes,
    /// Peak of its channels.
    pub peak_bytes_per_second: Option<BytesPerSecond>,
}

/// One module to be moved.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct MoveResult {
    /// Slot that holds it.
    pub from: String,
    /// The empty slot that it goes to.
    pub to: String,
}

/// The way of one device.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct PciePathResult {
    /// Address of the device.
    pub address: String,
    /// Slot it is in, by the board's name.
    pub slot: Option<String>,
    /// Whether its root port is the chipset's; unknown without one.
    pub behind_chipset: Option<bool>,
    /// Address at the lower end of the slowest link.
    pub slowest_link: Option<String>,
    /// Rate of that link after line coding.
    pub rate_bits_per_second: Option<BitsPerSecond>,
    /// What full packets leave of it.
    pub payload_bits_per_second: Option<BitsPerSecond>,
    /// What keeps it from more: `training`, `slot`, `device`, `neither end`.
    pub limited_by: Option<String>,
}

/// One link that several devices use.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct SharedResult {
    /// What it is.
    pub link: String,
    /// Addresses of the devices.
    pub devices: Vec<String>,
    /// What full packets leave of it.
    pub payload_bits_per_second: Option<BitsPerSecond>,
    /// Rates of the network ports on it together.
    pub ports_bits_per_second: BitsPerSecond,
    /// Devices on it whose demand is not known.
    pub others: usize,
}

impl Results {
    /// True when a rule found a fault of the hardware: the exit code tells.
    pub fn has_fault(&self) -> bool {
        let findings = narrows_explain::findings(&self.rules);
        findings.iter().any(|finding| finding.weight == Weight::Fault)
    }

    /// What follows from the facts of a host.
    pub fn of(host: &Host) -> Self {
        let paths = pcie_paths(host);
        Self {
            memory: memory(host),
            shared_links: shared(&paths).into_iter().map(of_shared).collect(),
            paths: paths.iter().map(|path| of_path(host, path)).collect(),
            rules: judge_host(host),
        }
    }
}

fn memory(host: &Host) -> MemoryResult {
    let population = match Population::of(host) {
        Ok(population) => population,
        Err(missing) => {
            return MemoryResult {
                balance: None,
                sockets_differ: false,
                lenovo_2019_balanced: None,
                lenovo_2019_by_socket: Vec::new(),
                loss: None,
                platform: None,
                sets: Vec::new(),
                controllers_by_label_order: false,
                moves: Vec::new(),
                missing: vec![missing.to_string()],
            };
        }
    };
    let processor = host.cpu.model.value().map_or("", String::as_str);
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    let needs = !matches!(population.balance, Balance::Balanced | Balance::NearBalanced);
    let moves = moves(slots, &population).filter(|_| needs).unwrap_or_default();
    let (sets, by_label_order, missing) = match &population.sets {
        Ok(sets) => (Some(sets), sets.by_label_order, Vec::new()),
        Err(missing) => (None, false, vec![missing.to_string()]),
    };
    let sets = sets.into_iter().flat_map(|sets| &sets.by_socket).flat_map(|(socket, sets)| {
        sets.iter().map(|set| SetResult {
            socket: *socket,
            cluster: set.cluster,
            channels: set.channels.iter().map(ToString::to_string).collect(),
            size_bytes: set.size_bytes,
            peak_bytes_per_second: set.peak_bytes_per_second,
        })
    });
    MemoryResult {
        balance: Some(population.balance),
        sockets_differ: sockets_differ(&population.sockets),
        lenovo_2019_balanced: controllers_equal(&population.sockets, processor),
        lenovo_2019_by_socket: by_socket(&population, processor),
        loss: Loss::of(host, &population).ok().map(of_loss),
        platform: population.platform.map(|platform| platform.name.clone()),
        sets: sets.collect(),
        controllers_by_label_order: by_label_order,
        moves: moves.into_iter().map(|m| MoveResult { from: m.from, to: m.to }).collect(),
        missing,
    }
}

fn by_socket(population: &Population, processor: &str) -> Vec<Option<bool>> {
    population
        .sockets
        .iter()
        .map(|socket| {
            let alike = controllers_equal(std::slice::from_ref(socket), processor);
            alike.filter(|_| !socket.populated().is_empty())
        })
        .collect()
}

fn of_loss(loss: Loss) -> LossResult {
    let lost_bytes_per_second = loss.bytes_per_second();
    LossResult {
        all_bytes_per_second: loss.all,
        lost_bytes_per_second,
        ports: loss
            .ports
            .into_iter()
            .map(|port| PortLossResult {
                nic: port.nic,
                path: port.path,
                link_bits_per_second: port.link,
                now_bits_per_second: port.now,
                lost: port.lost,
            })
            .collect(),
    }
}

fn of_path(host: &Host, path: &PciePath<'_>) -> PciePathResult {
    let slowest = path.slowest();
    PciePathResult {
        address: path.device.address.clone(),
        slot: host.slot_of(&path.device.path).map(|slot| slot.name.clone()),
        behind_chipset: match path.uplink {
            Uplink::Chipset { .. } => Some(true),
            Uplink::Processor => Some(false),
            Uplink::Unknown => None,
        },
        slowest_link: slowest.map(|joint| joint.lower.address.clone()),
        rate_bits_per_second: slowest.map(|joint| BitsPerSecond(joint.raw_bps)),
        payload_bits_per_second: slowest.map(|joint| BitsPerSecond(joint.payload_bps())),
        limited_by: slowest.and_then(|joint| joint.limit()).map(|limit| limit.word().to_owned()),
    }
}

fn of_shared(link: SharedLink) -> SharedResult {
    SharedResult {
        link: link.says,
        devices: link.devices,
        payload_bits_per_second: link.payload_bps.map(BitsPerSecond),
        ports_bits_per_second: BitsPerSecond(link.ports_bps),
        others: link.others,
    }
}

/// The JSON schema of [`HostDocument`].
pub fn schema() -> String {
    let schema = schemars::schema_for!(HostDocument);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
