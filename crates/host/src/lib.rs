//! Reads a machine through a [`Root`]: the live `/`, or any directory that holds its `/sys` and
//! `/proc`. Reading a file and understanding its text are two functions everywhere, so that each
//! parser can be tested on machines nobody here owns.
//!
//! Nothing in here fails: what cannot be read is a [`narrows_facts::Fact`] that says why.

#![forbid(unsafe_code)]

mod capture;
mod cpu;
pub mod express;
pub mod list;
pub mod memory;
mod nic;
mod node;
mod open;
mod pci;
mod root;
mod tuning;
mod virt;

pub use open::open;
pub use root::Root;

use narrows_facts::host::Host;

/// Reads this machine and gives the text of a capture of it, masked.
pub fn capture() -> String {
    let root = Root::recording();
    read(&root);
    capture::write(root.into_answers())
}

/// Reads the whole host. As an ordinary user some facts are `Denied`, each with the file it needs.
pub fn read(root: &Root) -> Host {
    Host {
        name: root.text("proc/sys/kernel/hostname"),
        product: virt::product(root),
        kernel: root.text("proc/sys/kernel/osrelease"),
        virtualised: virt::hypervisor(root),
        cpu: cpu::read(root),
        nodes: node::read(root),
        memory: memory::read(root),
        nics: nic::read(root),
        tuning: tuning::read(root),
    }
}
