//! Processors, their caches and what they do when idle.

use crate::{Bytes, Fact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processors of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Model name as the processor gives it.
    pub model: Fact<String>,
    /// Numbers by which its maker tells it apart, on x86.
    #[serde(default)]
    pub id: Fact<CpuId>,
    /// CPUs the kernel runs on, by number.
    pub online: Fact<Vec<u32>>,
    /// CPUs this process may use (affinity mask), by number.
    pub allowed: Fact<Vec<u32>>,
    /// Where each online CPU sits.
    pub places: Vec<CpuPlace>,
    /// Caches, each listed once with the CPUs that share it.
    pub caches: Vec<Cache>,
    /// CPUs that are there and switched off.
    #[serde(default)]
    pub offline: Fact<Vec<u32>>,
    /// CPUs kept free of the scheduler (`isolcpus`).
    #[serde(default)]
    pub isolated: Fact<Vec<u32>>,
    /// CPUs without a tick while one task runs (`nohz_full`).
    #[serde(default)]
    pub tickless: Fact<Vec<u32>>,
    /// CPU time that this process's control group may use, in CPUs.
    #[serde(default)]
    pub quota_cpus: Fact<f64>,
    /// Processor sockets as firmware lists them (SMBIOS type 4).
    #[serde(default)]
    pub sockets: Fact<Vec<CpuSocket>>,
    /// Share of CPU time since boot that the hypervisor gave to others.
    #[serde(default)]
    pub steal_share: Fact<f64>,
    /// What an idle CPU may fall into, the lightest first.
    #[serde(default)]
    pub idle_states: Fact<Vec<IdleState>>,
    /// Sockets and cores where a source counts them without saying which CPU is on which.
    #[serde(default)]
    pub counts: Fact<CpuCounts>,
}

/// A processor by the numbers of CPUID, which a hypervisor passes on where it hides the name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuId {
    /// Maker of the processors: `GenuineIntel`, `AuthenticAMD`.
    pub vendor: String,
    /// Family, base and extended added up.
    pub family: u32,
    /// Model, the extended one included.
    pub model: u32,
    /// Version of the chip, when the kernel says.
    pub stepping: Option<u32>,
}

/// How many sockets and cores there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCounts {
    /// Sockets with a processor.
    pub sockets: u32,
    /// Cores of all of them.
    pub cores: u32,
}

/// Package, die, core and node of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuPlace {
    /// Number of the logical CPU, as the kernel counts them.
    pub cpu: u32,
    /// Physical package (socket), when the kernel says.
    pub package: Option<u32>,
    /// Die inside the package, when the kernel says.
    #[serde(default)]
    pub die: Option<u32>,
    /// Core number, unique inside its die: the kernel's, or, where that repeats, the first CPU of
    /// the core.
    pub core: Option<u32>,
    /// NUMA node, when the kernel says.
    pub node: Option<u32>,
}

/// One cache of a CPU, or one that several share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of this one cache.
    pub size_bytes: Bytes,
    /// CPUs that share it.
    pub cpus: Vec<u32>,
}

/// One processor socket as firmware describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSocket {
    /// Designation on the board.
    pub name: String,
    /// Whether a processor is in it.
    pub populated: bool,
    /// Model of that processor.
    pub model: Option<String>,
    /// Its cores that are switched on.
    pub cores: Option<u32>,
    /// Threads of all its cores, switched off or not.
    pub threads: Option<u32>,
}

/// One idle state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Name that the driver gives it, such as `C6`.
    pub name: String,
    /// Time to wake from it, as the driver states.
    pub exit_latency_us: u64,
    /// CPUs on which it is switched off.
    pub disabled_on: u32,
}
