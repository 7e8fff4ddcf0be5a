//! Options of workloads and of where they run, each declared once: its key in a study's file, its
//! flags, its help, its bounds, the workloads that it is for, its words in reports and the
//! capability that an agent must offer. Commands, study files, agents, reports and documents are
//! made from this table.

mod code_points;
mod declared;
mod effective;
mod fits;
pub mod flows;
mod kept;
pub mod kernels;
pub mod packets;
mod params;
pub mod places;
pub mod rdma;
pub mod runs;
mod stored;
mod told;
pub mod trips;
mod value;

pub use declared::{Command, Declared, Flag, Kept, Opt, Scene, Section, Unset};
pub use effective::{Effective, IpVersion};
pub use fits::Fits;
pub use kept::Options;
pub use params::{
    Binding, CpuList, MemoryParams, Params, SocketParams, StreamParams, TripParams, Wait,
};
pub use stored::{StoredLoad, StoredParams};
pub use told::{Key, KeyOf, ValueOf};
pub use value::{Form, Takes, Told, Value, Written, WrongValue};

use crate::workload::Workload;
use std::fmt;

/// All options. Those that older versions had come in the order in which these wrote them: the
/// identities of studies are made of that text.
pub static ALL: &[&Declared] = &[
    &runs::LOAD.declared,
    &runs::ENGINE.declared,
    &runs::ENGINE_CLIENT.declared,
    &runs::ENGINE_SERVER.declared,
    &runs::SECONDS.declared,
    &runs::WARMUP_SECONDS.declared,
    &flows::LENGTH.declared,
    &flows::PARALLEL.declared,
    &flows::WINDOW.declared,
    &flows::BITRATE.declared,
    &flows::CONGESTION.declared,
    &flows::SENDER.declared,
    &flows::RECEIVER.declared,
    &flows::WAIT.declared,
    &flows::BUFFER.declared,
    &flows::TOUCH.declared,
    &flows::VERIFY.declared,
    &flows::REVERSE.declared,
    &flows::BIDIRECTIONAL.declared,
    &flows::NAGLE.declared,
    &flows::MSS.declared,
    &flows::DSCP.declared,
    &flows::QUICKACK.declared,
    &flows::UNSENT.declared,
    &trips::RESPONSE.declared,
    &trips::PER_SECOND.declared,
    &places::AFFINITY.declared,
    &places::MEMORY_NODE.declared,
    &places::IRQ.declared,
    &places::MEMORY_LOAD.declared,
    &kernels::THREADS.declared,
    &kernels::SIZE.declared,
    &kernels::NODE.declared,
    &kernels::VECTOR.declared,
    &kernels::PAGES.declared,
    &kernels::CHAINS.declared,
    &kernels::INTERLEAVE.declared,
    &places::MTU.declared,
    &places::PATTERN.declared,
    &places::BIND.declared,
    &places::CONTAINER_NET.declared,
    &places::IN.declared,
    &rdma::DEVICE.declared,
    &rdma::IB_PORT.declared,
    &rdma::GID_INDEX.declared,
    &rdma::CONNECTION.declared,
    &rdma::SERVICE.declared,
    &rdma::DEPTH.declared,
    &rdma::POST_LIST.declared,
    &rdma::SIGNAL_EVERY.declared,
    &rdma::INLINE.declared,
    &rdma::PATH_MTU.declared,
    &rdma::SERVICE_LEVEL.declared,
    &rdma::TRAFFIC_CLASS.declared,
    &rdma::RELAXED_ORDERING.declared,
    &rdma::PAGES.declared,
    &rdma::VIA.declared,
    &rdma::PROVIDER.declared,
    &runs::PROFILE.declared,
    &packets::FLOWS.declared,
    &packets::RATE.declared,
    &packets::IMIX.declared,
    &packets::BURST.declared,
    &packets::MAC.declared,
    &packets::I_KNOW.declared,
    &packets::PEER_NIC.declared,
    &trips::OVERLAP.declared,
    &runs::AFTER.declared,
    &rdma::GID.declared,
    &rdma::ALTERNATE.declared,
    &runs::RANKS.declared,
];

/// The option of a key in a section.
pub fn find(section: Section, key: &str) -> Option<&'static Declared> {
    ALL.iter().copied().find(|option| option.section == section && option.key == key)
}

/// Why an order's options are refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The option is not for this workload.
    Unfit {
        /// The option's key.
        key: &'static str,
        /// The workloads that it is for.
        fits: &'static str,
        /// The workload that it was told.
        workload: Workload,
    },
    /// Its value is not one that it takes.
    Wrong {
        /// The option's key.
        key: &'static str,
        /// What is wrong with the value.
        why: WrongValue,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit { key, fits, workload } => {
                write!(f, "'{key}' is for {fits}, not for {workload}")
            }
            Self::Wrong { key, why } => write!(f, "{key}: {why}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Holds what a workload is told to the table: each option fits the workload and is within bounds.
pub fn check(workload: &Workload, params: &Params) -> Result<(), Refusal> {
    for (option, value) in told(params) {
        let key = option.key;
        if !(option.fits.holds)(workload) {
            let (fits, workload) = (option.fits.what, workload.clone());
            return Err(Refusal::Unfit { key, fits, workload });
        }
        option.takes.check(&value).map_err(|why| Refusal::Wrong { key, why })?;
    }
    Ok(())
}

/// What a workload is told, in the order of the table.
pub fn told(params: &Params) -> impl Iterator<Item = (&'static Declared, Value)> {
    ALL.iter().filter_map(|option| Some((*option, option.of(params)?)))
}

/// The words that an agent offers, one for each option that not every agent of the protocol knows.
pub fn capabilities() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter_map(|option| option.capability)
}

/// What a report says of a workload's options; `used` is what was set, read back.
pub fn words(params: &Params, used: &Effective) -> Vec<String> {
    told(params).filter_map(|(option, value)| (option.shown)(&value, used)).collect()
}
