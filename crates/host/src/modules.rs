//! Options of the kernel modules that move packets and RDMA: as they are loaded
//! (`/sys/module/NAME/parameters`), as `modprobe.d` wants them, and versions of drivers that are
//! not the kernel's own. What is not there has no fact.

use crate::Root;
use narrows_model::Fact;
use std::collections::BTreeMap;

/// Modules whose options are told: drivers of NICs from 10 Gb/s on, and the RDMA stack.
const MODULES: [&str; 28] = [
    "bnxt_en",
    "bnxt_re",
    "cxgb4",
    "hfi1",
    "i40e",
    "ib_core",
    "ib_ipoib",
    "ib_uverbs",
    "ice",
    "irdma",
    "iw_cm",
    "iw_cxgb4",
    "iw_nes",
    "ixgbe",
    "mlx4_core",
    "mlx4_en",
    "mlx4_ib",
    "mlx5_core",
    "mlx5_ib",
    "mlx_compat",
    "qede",
    "qedr",
    "rdma_cm",
    "rdma_rxe",
    "rdma_ucm",
    "siw",
    "tcp_bbr",
    "virtio_net",
];

/// Folders of `modprobe.d`; of two files with one name the first counts.
const FOLDERS: [&str; 3] = ["etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d"];
/// More options of one module than these are no options of a driver.
const OPTIONS_MAX: usize = 200;

/// Facts by name: `module.mlx5_core.prof_sel`, `modprobe.mlx5_core.prof_sel`,
/// `module-version.mlx5_core`, and `modprobe-install.iw_nes` for a command in place of loading.
pub fn read(root: &Root) -> BTreeMap<String, Fact<String>> {
    let mut facts = BTreeMap::new();
    for module in MODULES {
        loaded(root, module, &mut facts);
    }
    for (path, text) in files(root) {
        for line in lines(&text) {
            wanted(&line, &path, &mut facts);
        }
    }
    facts
}

fn loaded(root: &Root, module: &str, facts: &mut BTreeMap<String, Fact<String>>) {
    let folder = format!("sys/module/{module}/parameters");
    for option in root.names(&folder).into_iter().take(OPTIONS_MAX) {
        // Some can only be written, and some only be read by root.
        if let fact @ (Fact::Known { .. } | Fact::Denied { .. }) =
            root.text(&format!("{folder}/{option}"))
        {
            facts.insert(format!("module.{module}.{option}"), fact);
        }
    }
    if let fact @ Fact::Known { .. } = root.text(&format!("sys/module/{module}/version")) {
        facts.insert(format!("module-version.{module}"), fact);
    }
}

/// Each file with its text, in the order of their names, which is that of modprobe.
fn files(root: &Root) -> Vec<(String, String)> {
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    for folder in FOLDERS {
        for name in root.names(folder).into_iter().filter(|name| name.ends_with(".conf")) {
            let path = format!("{folder}/{name}");
            paths.entry(name).or_insert(path);
        }
    }
    let text = |path: String| Some((path.clone(), root.text(&path).value()?.clone()));
    paths.into_values().filter_map(text).collect()
}

/// Lines without comments; one that ends in a backslash goes on in the next.
fn lines(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let plain = joined.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    plain.map(str::to_owned).collect()
}

fn wanted(line: &str, path: &str, facts: &mut BTreeMap<String, Fact<String>>) {
    let mut words = line.split_whitespace();
    let (Some(does), Some(module)) = (words.next(), words.next()) else { return };
    // modprobe takes a dash for an underscore.
    let module = module.replace('-', "_");
    if !MODULES.contains(&module.as_str()) {
        return;
    }
    let from = format!("/{path}");
    match does {
        "options" => {
            for option in words.take(OPTIONS_MAX) {
                let (name, value) = option.split_once('=').unwrap_or((option, "Y"));
                // The kernel takes the last of several.
                let fact = Fact::known(value.trim_matches('"').to_owned(), from.as_str());
                facts.insert(format!("modprobe.{module}.{name}"), fact);
            }
        }
        "install" => {
            let command = words.collect::<Vec<_>>().join(" ");
            let fact = Fact::known(command, from.as_str());
            facts.insert(format!("modprobe-install.{module}"), fact);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's own file.
    const NES: &str = "# NetEffect\n\
        options iw_nes nes_drv_opt=0x110\n\
        options rdma-cm unify_tcp_port_space=1\n\
        alias eth2 iw_nes\n\
        install iw_nes /sbin/sysctl -w net.ipv4.tcp_sack=0 > /dev/null 2>&1; \\\n\
        /sbin/modprobe --ignore-install iw_nes\n\
        options snd_hda_intel model=auto\n\
        options mlx4_core\n";

    #[test]
    fn the_papers_file_is_read() {
        let mut facts = BTreeMap::new();
        lines(NES).iter().for_each(|line| wanted(line, "etc/modprobe.d/nes.conf", &mut facts));
        let value = |name: &str| facts.get(name).and_then(Fact::value).map(String::as_str);
        assert_eq!(value("modprobe.iw_nes.nes_drv_opt"), Some("0x110"));
        assert_eq!(value("modprobe.rdma_cm.unify_tcp_port_space"), Some("1"));
        let install = value("modprobe-install.iw_nes").expect("a command");
        assert!(install.starts_with("/sbin/sysctl -w net.ipv4.tcp_sack=0"), "{install}");
        assert!(install.ends_with("--ignore-install iw_nes"), "{install}");
        assert_eq!(facts.len(), 3, "{facts:?}");
        let from = facts["modprobe.iw_nes.nes_drv_opt"].source();
        assert_eq!(from.0, "/etc/modprobe.d/nes.conf");
    }
}
