//! What names this machine and its owner, to be searched for in a capture: most of it is no part of
//! one, but firmware, drivers and people write it into names and texts that are.

use std::net::IpAddr;
use std::path::Path;

/// Names, numbers and addresses of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Host and domain names.
    pub names: Vec<String>,
    /// Serial numbers, asset tags, UUIDs, machine id.
    pub serials: Vec<String>,
    /// Hardware addresses as the kernel writes them, with colons.
    pub hardware: Vec<String>,
    /// IP addresses of all interfaces.
    pub addresses: Vec<IpAddr>,
}

impl Owner {
    /// Of the machine whose files are in this folder.
    pub fn at(root: &Path) -> Self {
        let text = |path: &str| {
            let text = std::fs::read_to_string(root.join(path)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty() && text != "(none)")
        };
        let files = |paths: &[&str]| paths.iter().filter_map(|path| text(path)).collect();
        let dmi = ["product_uuid", "product_serial", "board_serial", "chassis_serial"];
        let tags = ["board_asset_tag", "chassis_asset_tag"];
        let mut serials: Vec<String> = files(&["etc/machine-id", "proc/sys/kernel/random/boot_id"]);
        let dmi = dmi.iter().chain(&tags).map(|file| format!("sys/class/dmi/id/{file}"));
        serials.extend(dmi.filter_map(|path| text(&path)));
        let interfaces = std::fs::read_dir(root.join("sys/class/net"));
        let interfaces = interfaces.into_iter().flatten().flatten();
        let hardware = interfaces
            .filter_map(|interface| std::fs::read_to_string(interface.path().join("address")).ok());
        let mut names: Vec<String> =
            files(&["proc/sys/kernel/hostname", "proc/sys/kernel/domainname", "etc/hostname"]);
        let parts: Vec<String> = names.iter().filter_map(|name| first_label(name)).collect();
        names.extend(parts);
        Self {
            names,
            serials,
            hardware: hardware.map(|address| address.trim().to_owned()).collect(),
            addresses: Vec::new(),
        }
    }

    /// What identifies the machine that this runs on.
    pub fn live() -> Self {
        Self { addresses: crate::ask::addresses::ask(), ..Self::at(Path::new("/")) }
    }
}

/// `db7` of `db7.example.org`; its domain is found with the whole.
fn first_label(name: &str) -> Option<String> {
    name.split_once('.').map(|(label, _)| label.to_owned())
}
