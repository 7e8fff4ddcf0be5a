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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_serials_and_addresses_of_a_machine_are_all_found() {
        let root = std::env::temp_dir().join(format!("narrows-owner-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        };
        put("proc/sys/kernel/hostname", "db7.example.org\n");
        put("proc/sys/kernel/domainname", "(none)\n");
        put("etc/hostname", "db7\n");
        put("etc/machine-id", "0123456789abcdef\n");
        put("proc/sys/kernel/random/boot_id", "b00t\n");
        for (file, text) in [
            ("product_uuid", "UUID1"),
            ("product_serial", "P1"),
            ("board_serial", "B1"),
            ("chassis_serial", "C1"),
            ("board_asset_tag", "BT"),
            ("chassis_asset_tag", " \n"),
            ("product_name", "Server"),
        ] {
            put(&format!("sys/class/dmi/id/{file}"), text);
        }
        put("sys/class/net/eth0/address", "02:00:00:00:00:01\n");
        let owner = Owner::at(&root);
        std::fs::remove_dir_all(&root).expect("a folder less");
        let wanted = Owner {
            names: ["db7.example.org", "db7", "db7"].map(str::to_owned).to_vec(),
            serials: ["0123456789abcdef", "b00t", "UUID1", "P1", "B1", "C1", "BT"]
                .map(str::to_owned)
                .to_vec(),
            hardware: vec!["02:00:00:00:00:01".to_owned()],
            addresses: Vec::new(),
        };
        assert_eq!(owner, wanted);
        assert_eq!(first_label("db7"), None);
        assert_eq!(Owner::at(Path::new("/nonexistent/narrows")), Owner::default());
    }
}
