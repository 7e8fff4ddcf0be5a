//! A host put together from parts, each what one source tells: a file that somebody attached, or
//! one of many in an archive.

mod join;
mod marks;
mod named;

pub use join::join;
pub use marks::{Function, Marks, TwoHosts};

use narrows_model::host::{Host, PciHop, Unused};
use narrows_model::{Fact, Source};

/// What one source tells of a host. Facts that it does not tell are `Absent`.
#[derive(Clone, Debug, Default)]
pub struct PartialHost {
    /// Program whose output it is, or what kind of description.
    pub program: &'static str,
    /// Name of the source.
    pub from: String,
    /// What this source says of the host; what it does not say is absent.
    pub host: Host,
    /// What names the machine, to tell parts of two machines apart.
    pub marks: Marks,
    /// True for a listing of all PCI functions: a function that is not in it is not there.
    pub is_listing: bool,
    /// True for a description that stands alone, with a source for each gap.
    pub is_whole: bool,
    /// Resources of Redfish, which are assembled when all are there.
    pub resources: Vec<serde_json::Value>,
}

impl PartialHost {
    /// A part that tells nothing yet.
    pub fn of(program: &'static str, from: &str) -> Self {
        Self { program, from: from.to_owned(), ..Self::default() }
    }

    /// A part that is a description of its own: a tree, a table, a topology.
    pub fn whole(program: &'static str, from: &str, host: Host) -> Self {
        Self { host, is_whole: true, ..Self::of(program, from) }
    }

    /// Keeps that something in it could not be used.
    pub fn unused(&mut self, what: impl Into<String>) {
        let from = Source(self.from.clone());
        self.host.unused.push(Unused { from, what: what.into() });
    }

    /// How far a part is believed where another says otherwise: what the kernel shows before what
    /// programs make of it, and what programs read before what management software keeps.
    fn trust(&self) -> usize {
        const ORDER: [&str; 14] = [
            "machine",
            "capture",
            "SMBIOS",
            "dmidecode",
            "lspci",
            "ethtool",
            "ip",
            "lscpu",
            "numactl",
            "hwloc",
            "lshw",
            "ansible",
            "inspector",
            "redfish",
        ];
        ORDER.iter().position(|program| *program == self.program).unwrap_or(ORDER.len())
    }
}

/// The way to a device of which only the address is known.
pub fn bare_path(address: &str) -> Vec<PciHop> {
    let unknown = || Fact::absent("only the address is known");
    vec![PciHop {
        address: address.to_ascii_lowercase(),
        name: "unknown".to_owned(),
        class: unknown(),
        link: Fact::absent("only the address is known"),
        rate_bytes_per_second: Fact::absent("only the address is known"),
        express: Fact::absent("only the address is known"),
        acs: Fact::absent("only the address is known"),
    }]
}
