//! One rule a file, listed by name.

mod congestion_control;
pub mod dimm_balance;
mod memory_size;
mod memory_speed;
mod nic_remote_node;
mod noisy_host;
mod pcie_link;
mod pcie_shared;
mod socket_count;

use crate::Rule;

/// All rules, by name.
pub static RULES: &[&Rule] = &[
    &congestion_control::RULE,
    &dimm_balance::RULE,
    &memory_size::RULE,
    &memory_speed::RULE,
    &nic_remote_node::RULE,
    &noisy_host::RULE,
    &pcie_link::RULE,
    &pcie_shared::RULE,
    &socket_count::RULE,
];

use narrows_facts::result::Evidence;

/// A piece of evidence.
fn evidence(says: impl Into<String>, from: impl Into<String>) -> Evidence {
    Evidence { says: says.into(), from: from.into() }
}
