//! Reports that gather many files of one host: sosreport, supportconfig, sysinfo-snapshot,
//! nvidia-bug-report, and any archive or folder of outputs.
//!
//! Copies of `/sys` and `/proc` are read as those of a machine are; every other file that is the
//! output of a known program is a part.

mod archive;
mod sections;

pub use archive::{BadArchive, Unpacked, unpack};
pub use sections::is_divided;

use crate::parts::PartialHost;
use crate::tree::Tree;
use crate::{Root, read};
use std::path::Path;

/// Folders of a sosreport whose files are looked at; others hold logs and configuration.
const SOS_FOLDERS: [&str; 8] =
    ["hardware", "host", "infiniband", "kernel", "memory", "networking", "numa", "pci"];
/// The same, for processors.
const SOS_PROCESSOR: &str = "processor";
/// Files that are as deep as this below the top are outputs of programs; deeper ones are copies of
/// a system's files.
const OUTPUT_DEPTH_MAX: usize = 4;
/// Resources of Redfish lie in folders as their paths are:
/// `redfish/v1/Systems/1/Memory/1/index.json`.
const RESOURCE_DEPTH_MAX: usize = 16;
/// Files in a folder that is looked through.
const FOLDER_FILES_MAX: usize = 200_000;

/// Whether a file of an archive is kept.
pub fn is_wanted(path: &str, size_bytes: u64) -> bool {
    if !archive::is_small(size_bytes) {
        return false;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let kernel = parts.iter().take(2).position(|part| ["sys", "proc"].contains(part));
    if let Some(at) = kernel {
        // Processes, and what a capture of a running kernel has without end.
        let below = parts.get(at + 1).copied().unwrap_or_default();
        return !below.starts_with(|c: char| c.is_ascii_digit()) && below != "kcore";
    }
    if let Some(at) = parts.iter().position(|part| *part == "sos_commands") {
        let folder = parts.get(at + 1).copied().unwrap_or_default();
        // Deeper are those of namespaces and containers, which are not the host's.
        return parts.len() == at + 3 && (SOS_FOLDERS.contains(&folder) || folder == SOS_PROCESSOR);
    }
    let is_resource = parts.last().is_some_and(|name| name.ends_with(".json"));
    parts.len() <= if is_resource { RESOURCE_DEPTH_MAX } else { OUTPUT_DEPTH_MAX }
}

/// True for a folder that is more than a copy of `/sys` and `/proc`.
pub fn is_bundle(top: &Path) -> bool {
    top.join("sos_commands").is_dir() || top.join("basic-environment.txt").is_file()
}

/// The files of a folder that are looked at.
pub fn folder(top: &Path) -> std::io::Result<Tree> {
    let mut tree = Tree::default();
    let mut ahead = vec![String::new()];
    let mut seen = 0;
    while let Some(dir) = ahead.pop() {
        for entry in std::fs::read_dir(top.join(&dir))?.flatten() {
            seen += 1;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                let target = std::fs::read_link(entry.path()).ok();
                let target = target.as_ref().and_then(|target| target.to_str());
                target.into_iter().for_each(|target| tree.link(&path, target));
            } else if kind.is_dir() && seen < FOLDER_FILES_MAX {
                ahead.push(path);
            } else if kind.is_file() && is_wanted(&path, entry.metadata().map_or(0, |m| m.len())) {
                tree.put(&path, std::fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    Ok(tree)
}

/// The parts of a report; `part_of` reads one output by its text and its name.
pub fn parts<E: std::fmt::Display>(
    mut tree: Tree,
    shown: &str,
    part_of: impl Fn(&str, &str) -> Option<Result<PartialHost, E>>,
) -> Vec<PartialHost> {
    let mut parts: Vec<PartialHost> = Vec::new();
    let mut rest = PartialHost::of("bundle", shown);
    let mut copies: Vec<(String, String)> = Vec::new();
    let mut take = |text: &str, name: &str, rest: &mut PartialHost| match part_of(text, name) {
        Some(Ok(part)) => parts.push(part),
        Some(Err(why)) => rest.unused(why.to_string()),
        None => {}
    };
    for (path, bytes) in tree.files().filter(|(path, _)| !is_of_kernel(path)) {
        let Some(text) = crate::memory::sections::text(bytes) else { continue };
        let name = format!("{shown}: {path}");
        if is_divided(&text) {
            if sections::is_cut(&text) {
                rest.unused(format!("{name} is cut short: its last piece was not used"));
            }
            for piece in sections::pieces(&sections::plain(&text)) {
                if piece.is_file && is_of_kernel(piece.what.trim_start_matches('/')) {
                    copies.push((piece.what.to_owned(), piece.text.to_owned()))
                } else {
                    take(piece.text, &format!("{name}: {}", piece.what), &mut rest)
                }
                copies.extend(settings(piece.what, piece.text));
            }
        } else {
            take(&text, &name, &mut rest);
            copies.extend(settings(path, &text));
        }
    }
    copies.into_iter().for_each(|(path, text)| tree.put(&path, text.into_bytes()));
    if ["sys", "proc"].iter().any(|top| tree.has(top)) {
        let name = host_name(&tree);
        let mut own = PartialHost::whole("machine", shown, read(&Root::of_tree(tree)));
        own.marks.name = name;
        parts.push(own);
    }
    if !parts.is_empty() {
        parts.push(rest);
    }
    parts
}

fn is_of_kernel(path: &str) -> bool {
    path.starts_with("sys/") || path.starts_with("proc/")
}

/// Files below `/proc/sys` from `sysctl -a`: `net.core.rmem_max = 212992`.
fn settings(what: &str, text: &str) -> Vec<(String, String)> {
    let asked = what.rsplit('/').next().unwrap_or_default();
    if !["sysctl -a", "sysctl_-a"].contains(&asked) {
        return Vec::new();
    }
    let lines = text.lines().filter_map(|line| line.split_once(" = "));
    let plain = lines.filter(|(name, _)| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
    });
    plain.map(|(name, value)| (format!("proc/sys/{}", swap(name)), value.to_owned())).collect()
}

/// A dot in a name, as an interface's may have, is written as a slash.
fn swap(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c == '.' {
                '/'
            } else if c == '/' {
                '.'
            } else {
                c
            }
        })
        .collect()
}

fn host_name(tree: &Tree) -> Option<String> {
    let files = ["proc/sys/kernel/hostname", "sos_commands/host/hostname", "etc/hostname"];
    let name = files.iter().find_map(|file| tree.bytes(file))?;
    Some(String::from_utf8_lossy(name).trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_report_is_what_is_read() {
        for wanted in [
            "sos-x/sys/class/net/eth0/mtu",
            "sos-x/proc/meminfo",
            "sys/devices/system/cpu/online",
            "sos-x/sos_commands/pci/lspci_-nnvv",
            "scc_x/hardware.txt",
            "mockup/redfish/v1/Systems/1/Memory/DIMM1/index.json",
            "x/lspci.txt",
        ] {
            assert!(is_wanted(wanted, 100), "{wanted}");
        }
        for other in [
            "sos-x/var/log/messages/a/b",
            "sos-x/proc/1/maps",
            "sos-x/sos_commands/logs/journal",
            "sos-x/sos_commands/networking/namespaces/blue/ip_-d_address",
        ] {
            assert!(!is_wanted(other, 100), "{other}");
        }
        assert!(!is_wanted("sos-x/sos_commands/pci/lspci", 1 << 30));
    }

    #[test]
    fn settings_become_the_files_that_they_are_read_from() {
        let text = "net.core.rmem_max = 212992\nnet.ipv4.conf.eth0/7.rp_filter = 1\nbad line\n";
        let files = settings("sos_commands/kernel/sysctl_-a", text);
        assert_eq!(files[0], ("proc/sys/net/core/rmem_max".to_owned(), "212992".to_owned()));
        assert_eq!(files[1].0, "proc/sys/net/ipv4/conf/eth0.7/rp_filter");
        assert!(settings("lscpu", text).is_empty());
    }
}
