//! Why a question does not arise.

use super::Activity;
use super::missing::as_text;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Why a question does not arise on this host or in this study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Inapplicable {
    /// The kernel has no such setting.
    NoSetting {
        /// Name of the setting, as the kernel spells it.
        name: String,
        /// Where it was looked for.
        from: String,
    },
    /// The host has none of the devices that are meant.
    NoDevice {
        /// Which: `NIC of 10 Gb/s or more that is up`.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        of: Devices,
    },
    /// None of the runs did what the question is about.
    NoRun {
        /// What they would have done: `binds memory to a node`.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        that: Activity,
    },
    /// The host is not built or set up so that the question would arise.
    NotSo {
        /// What it is not: `no CPU is kept free of other work`.
        #[serde(serialize_with = "as_text")]
        #[schemars(with = "String")]
        because: NotSo,
    },
}

impl fmt::Display for Inapplicable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSetting { name, from } => write!(f, "this kernel has no {name} ({from})"),
            Self::NoDevice { of } => write!(f, "this host has no {of}"),
            Self::NoRun { that } => write!(f, "no run {that}"),
            Self::NotSo { because } => write!(f, "{because}"),
        }
    }
}

/// Devices that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    NicUp,
    FastNic,
    FastNicOnPci,
    PhysicalNic,
    NicOnPci,
    Rdma,
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NicUp => "NIC that is up",
            Self::FastNic => "NIC of 10 Gb/s or more that is up",
            Self::FastNicOnPci => "NIC of 25 Gb/s or more that is up, on PCI",
            Self::PhysicalNic => "NIC with a device behind it",
            Self::NicOnPci => "NIC on PCI",
            Self::Rdma => "RDMA device",
        })
    }
}

/// How a host is built or set up where a question does not arise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSo {
    SourcesAgree,
    NoCpu,
    OneNode,
    CpusOnOneNode,
    NoMemory,
    NoIsolatedCpu,
    AllIsolated,
    NoStackSetting,
    NoSharedLink,
    NoSlotWithLanes,
    NoPathToPeer,
    NoConntrack,
    NoSharedSwitch,
    NoCongestionControl,
    NoModuleOption,
    NotVirtual,
    /// So few CPUs that nothing can be spread over them.
    Cpus(usize),
    /// A hypervisor of this name made up what firmware says of the modules.
    ModulesOfGuest(&'static str),
}

impl fmt::Display for NotSo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let says = match self {
            Self::Cpus(count) => return write!(f, "this host has {count} CPUs"),
            Self::ModulesOfGuest(name) => {
                return write!(f, "the modules are those that {name} tells a virtual machine of");
            }
            Self::SourcesAgree => "all descriptions agree",
            Self::NoCpu => "there is no CPU",
            Self::OneNode => "this host has one node",
            Self::CpusOnOneNode => "all CPUs are on one node",
            Self::NoMemory => "there is no memory",
            Self::NoIsolatedCpu => "no CPU is kept free of other work",
            Self::AllIsolated => "every CPU is kept free: interrupts have nowhere else to go",
            Self::NoStackSetting => "none of these settings is there",
            Self::NoSharedLink => "no link with a network port is shared",
            Self::NoSlotWithLanes => "no NIC is in a slot whose lanes firmware reports",
            Self::NoPathToPeer => "no path to another host was measured",
            Self::NoConntrack => "connections are not tracked",
            Self::NoSharedSwitch => "no NIC and accelerator share a PCIe switch",
            Self::NoCongestionControl => "no congestion control is in use",
            Self::NoModuleOption => {
                "modprobe.d has no option of a NIC's driver or of RDMA that is loaded"
            }
            Self::NotVirtual => "nothing shows that this is a virtual machine",
        };
        f.write_str(says)
    }
}
