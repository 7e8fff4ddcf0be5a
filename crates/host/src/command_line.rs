//! Words of the kernel's command line.

/// Words of the kernel's command line that move throughput; the rest is nobody's business.
const WORDS: [&str; 25] = [
    "amd_iommu",
    "amd_pstate",
    "cpuidle.off",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "iommu.passthrough",
    "iommu.strict",
    "isolcpus",
    "mem",
    "mitigations",
    "nohz_full",
    "nosmt",
    "numa",
    "numa_balancing",
    "pci",
    "pcie_aspm",
    "processor.max_cstate",
    "rcu_nocbs",
    "transparent_hugepage",
];

/// Whether a word of the command line is a setting that moves throughput.
pub fn is_setting(word: &str) -> bool {
    WORDS.contains(&word.split('=').next().unwrap_or_default())
}
