//! One rule a file, listed by name.

mod congestion_control;
mod dimm_balance;
mod memory_size;
mod nic_remote_node;
mod noisy_host;
mod pcie_link;

use crate::Rule;

/// All rules, by name.
pub static RULES: &[&Rule] = &[
    &congestion_control::RULE,
    &dimm_balance::RULE,
    &memory_size::RULE,
    &nic_remote_node::RULE,
    &noisy_host::RULE,
    &pcie_link::RULE,
];

use narrows_facts::result::Evidence;

/// A piece of evidence.
fn evidence(says: impl Into<String>, from: impl Into<String>) -> Evidence {
    Evidence { says: says.into(), from: from.into() }
}
