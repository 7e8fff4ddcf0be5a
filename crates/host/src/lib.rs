//! Reads a machine through a [`Root`]: the live `/`, or any directory that holds its `/sys` and
//! `/proc`. Reading a file and understanding its text are two functions everywhere, so that each
//! parser can be tested on machines nobody here owns.
//!
//! Nothing in here fails: what cannot be read is a [`narrows_model::Fact`] that says why.

pub mod acs;
pub mod ask;
pub mod bundle;
mod capture;
mod cgroup;
mod chassis;
mod command_line;
mod controllers;
mod cpu;
mod cpuinfo;
mod drives;
pub mod express;
mod folder;
mod garbled;
mod hwloc;
mod ids;
pub mod list;
pub mod memory;
mod modules;
mod nic;
mod node;
mod open;
mod os_release;
pub mod parts;
mod pci;
mod rdma;
pub mod readers;
mod root;
#[cfg(test)]
mod scratch;
mod system;
mod tree;
mod tuning;
mod unopened;
mod virt;

pub use cgroup::cpu_stats;
pub use cpu::id as cpu_id;
pub use open::{STANDARD_INPUT, is_fleet, of_redfish, open, open_together, open_with};
pub use root::Root;
pub use unopened::{Malformed, NoHost, NotATable};
pub use virt::hypervisor;

use narrows_model::host::Host;

/// Reads this machine and gives the text of a capture of it, masked.
pub fn capture() -> String {
    let root = Root::live().recording();
    read(&root);
    capture::write(root.into_answers(), &capture::Owner::live())
}

/// Reads the whole host. As an ordinary user some facts are `Denied`, each with the file it needs.
pub fn read(root: &Root) -> Host {
    let functions = pci::Functions::of(root);
    let nics = nic::read(root, &functions);
    let rdma = rdma::read(root);
    let firmware = memory::firmware(root);
    let cpu = cpu::read(root, firmware.sockets.clone());
    let (maps, unused) = memory::slot_maps::read(root);
    Host {
        identity: firmware.identity.clone(),
        name: root.text("proc/sys/kernel/hostname"),
        product: virt::product(root),
        kernel: root.text("proc/sys/kernel/osrelease"),
        system: system::read(root),
        chassis: chassis::read(root, &firmware.chassis),
        virtualised: virt::hypervisor(root),
        devices: functions.devices(&nics, &rdma),
        drives: drives::read(root),
        storage_controllers: controllers::read(root),
        expansion_slots: firmware.expansion.clone(),
        nodes: node::read(root),
        memory: memory::read(root, firmware, &maps, cpu.model.value()),
        cpu,
        nics,
        rdma,
        tuning: tuning::read(root),
        disagreements: Vec::new(),
        unused,
    }
}
