//! What other programs print of a host: one format a file. Each turns a text into a
//! [`PartialHost`], what that text alone tells; [`crate::parts`] puts parts together. A format is
//! told by content.

mod ansible;
mod ethtool;
mod inspector;
mod ip;
mod json;
mod lscpu;
mod lshw;
mod lspci;
mod numactl;
pub mod redfish;

use crate::parts::PartialHost;
use thiserror::Error;

/// A program whose output is read: how it is known by its content, and what it says.
pub struct Reader {
    /// The program that writes it.
    pub name: &'static str,
    /// Whether a text is of this format, as far as can be told without reading all of it.
    pub is: fn(&str) -> bool,
    /// Reads a text; the second argument names it, as the source of every fact.
    pub read: fn(&str, &str) -> Result<PartialHost, BadText>,
}

/// All formats, by name. No text is of two.
pub static READERS: &[&Reader] = &[
    &ansible::READER,
    &ethtool::READER,
    &inspector::READER,
    &ip::READER,
    &lscpu::READER,
    &lshw::READER,
    &lspci::READER,
    &numactl::READER,
    &redfish::READER,
];

/// The reader of a text.
pub fn of(text: &str) -> Option<&'static Reader> {
    READERS.iter().copied().find(|reader| (reader.is)(text))
}

/// The programs whose outputs are read: `ethtool, ip, lscpu`.
pub fn names() -> String {
    READERS.iter().map(|reader| reader.name).collect::<Vec<_>>().join(", ")
}

/// Why a text in a known format cannot be read surely.
#[derive(Debug, Error)]
pub enum BadText {
    /// It ends before it tells what its own counts or its structure promise.
    #[error("the output of {program} is cut short: {missing}")]
    CutShort {
        program: &'static str,
        /// What is promised and not there.
        missing: String,
    },
    /// The program wrote in a language that is not read.
    #[error("the output of {program} is translated ('{line}'): run it again as LC_ALL=C {program}")]
    Translated {
        program: &'static str,
        /// The first line.
        line: String,
    },
    /// A value that cannot be one.
    #[error("{program}: '{text}' is no {what}")]
    Value { program: &'static str, what: &'static str, text: String },
    /// JSON that is none, or of another shape.
    #[error("{program}: {error}")]
    Json {
        program: &'static str,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
    /// XML that is none.
    #[error("{program}: {error}")]
    Xml {
        program: &'static str,
        /// What is wrong, and where.
        error: roxmltree::Error,
    },
    /// A text that tells of two machines.
    #[error("it holds {what} of two hosts, give them one by one")]
    SeveralHosts {
        /// What is there twice and differs.
        what: &'static str,
    },
    /// An output that tells nothing that is read here.
    #[error("{program} printed nothing: {why}")]
    Nothing {
        program: &'static str,
        /// What was asked of it, or what it said.
        why: &'static str,
    },
}

/// So much of a line as an error shows.
fn short(line: &str) -> String {
    crate::memory::sections::short(line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_stand_by_name() {
        let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    /// All that take a text for theirs.
    fn takers(text: &str) -> String {
        let readers = READERS.iter().map(|reader| (reader.name, (reader.is)(text)));
        let others = [
            ("hwloc", crate::hwloc::is_topology(text)),
            ("capture", crate::capture::is_capture(text)),
            ("dmidecode", crate::memory::sections::is_report(text)),
        ];
        let takers = readers.chain(others).filter(|(_, takes)| *takes).map(|(name, _)| name);
        takers.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_output_is_taken_by_the_one_program_that_prints_it() {
        for (text, program) in [
            (r#"{"ansible_facts": {"ansible_processor": ["0"]}}"#, "ansible"),
            (r#"host7 | SUCCESS => {"ansible_memtotal_mb": 9}"#, "ansible"),
            ("Settings for eth0:\n\tSpeed: 25000Mb/s", "ethtool"),
            ("driver: mlx5_core\nbus-info: 0000:3b:00.0", "ethtool"),
            (r#"{"inventory": {"memory": {}, "interfaces": []}}"#, "inspector"),
            (r#"{"inventory": {}, "plugin_data": {}}"#, "inspector"),
            (r#"{"numa_topology": {"ram": []}}"#, "inspector"),
            (r#"[{"ifindex": 2, "ifname": "eth0"}]"#, "ip"),
            ("2: eth0: <BROADCAST,UP> mtu 1500", "ip"),
            (r#"{ "lscpu": [] }"#, "lscpu"),
            (r#"{"cpus": []}"#, "lscpu"),
            ("$ lscpu\nArchitecture:   aarch64", "lscpu"),
            ("On-line CPU(s) list: 0-3", "lscpu"),
            ("CPU NODE SOCKET CORE\n0 0 0 0", "lscpu"),
            ("# CPU,Core,Socket\n0,0,0", "lscpu"),
            ("<?xml?><node id=\"host\" class=\"system\"/>", "lshw"),
            ("<?xml?><!-- generated by lshw-B -->", "lshw"),
            (r#"{"id": "host", "class": "system", "claimed": true}"#, "lshw"),
            ("3b:00.0 Ethernet controller: X", "lspci"),
            ("Slot:\t00:00.0", "lspci"),
            ("-[0000:00]-+-00.0", "lspci"),
            ("available: 2 nodes (0-1)", "numactl"),
            (r#"{"@odata.id": "/redfish/v1"}"#, "redfish"),
            (r#"{"@odata.type": "Memory"}"#, "redfish"),
            ("<?xml?>\n<topology version=\"3.0\">", "hwloc"),
            (r#"{"narrows_capture": 1}"#, "capture"),
            ("Handle 0x0041, DMI type 17, 84 bytes", "dmidecode"),
            ("# dmidecode 3.4", "dmidecode"),
            ("\tMemory Device", "dmidecode"),
        ] {
            assert_eq!(takers(text), program, "{text}");
        }
    }

    #[test]
    fn what_only_resembles_an_output_is_taken_by_nobody() {
        for text in [
            "",
            "{}",
            "<?xml?><system/>",
            "<?xml?><node id=\"host\" class=\"bus\"/>",
            "how lstopo writes <topology>",
            r#""narrows_capture" is a key"#,
            r#"host7 SUCCESS => {"ansible_memtotal_mb": 9}"#,
            r#"{"inventory": {"memory": {}}}"#,
            r#"{"inventory": {"interfaces": []}}"#,
            r#"{"numa_topology": {}}"#,
            r#"{"ifname": "eth0"}"#,
            r#"{"id": "host", "class": "system"}"#,
            r#"{"other": {"lscpu": []}}"#,
            "driver: mlx5_core",
            "Settings for eth0",
            "eth0: <BROADCAST,UP> mtu 1500",
            "machine/arch: x86_64",
            "arch=this: x86_64",
            ": x86_64",
            "CPU SOCKET\n0 0",
            "3b:00 Ethernet controller: X",
            "available: 2 nodes",
            "@odata.id",
            "Handle 0x0041, DMI type x, 84 bytes",
            "Handle 0x0041",
            "a Memory Device",
        ] {
            assert_eq!(takers(text), "", "{text}");
        }
    }
}
