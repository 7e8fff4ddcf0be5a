//! One rule a file, listed by name.

mod aspm;
mod clock_source;
mod congestion_control;
mod conntrack_full;
pub mod dimm_balance;
mod generator_bound;
mod idle_slow_start;
mod memory_mixed;
mod memory_size;
mod memory_speed;
mod nic_duplex;
mod nic_offloads;
mod nic_queues;
mod nic_remote_node;
mod nic_rings;
mod noisy_host;
mod packet_budget;
mod pcie_link;
mod pcie_shared;
mod rdma_port;
mod receive_autotuning;
mod rt_throttling;
mod socket_count;
mod tcp_sack;
mod tcp_timestamps;
mod udp_buffers;
mod window_scaling;
mod zone_reclaim;

use crate::Rule;

/// All rules, by name.
pub static RULES: &[&Rule] = &[
    &aspm::RULE,
    &clock_source::RULE,
    &congestion_control::RULE,
    &conntrack_full::RULE,
    &dimm_balance::RULE,
    &generator_bound::RULE,
    &idle_slow_start::RULE,
    &memory_mixed::RULE,
    &memory_size::RULE,
    &memory_speed::RULE,
    &nic_duplex::RULE,
    &nic_offloads::RULE,
    &nic_queues::RULE,
    &nic_remote_node::RULE,
    &nic_rings::RULE,
    &noisy_host::RULE,
    &packet_budget::RULE,
    &pcie_link::RULE,
    &pcie_shared::RULE,
    &rdma_port::RULE,
    &receive_autotuning::RULE,
    &rt_throttling::RULE,
    &socket_count::RULE,
    &tcp_sack::RULE,
    &tcp_timestamps::RULE,
    &udp_buffers::RULE,
    &window_scaling::RULE,
    &zone_reclaim::RULE,
];

use narrows_facts::result::Evidence;

/// A piece of evidence.
pub(crate) fn evidence(says: impl Into<String>, from: impl Into<String>) -> Evidence {
    Evidence { says: says.into(), from: from.into() }
}
