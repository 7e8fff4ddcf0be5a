//! Memory: what the kernel manages, and the slots as firmware describes them.

pub mod dmidecode;
pub mod locator;
pub mod slotmap;
mod smbios;

use crate::Root;
use narrows_facts::host::{Memory, Slot};
use narrows_facts::{Bytes, Fact};

pub use smbios::{names as smbios_names, parse as parse_smbios};

/// Reads the memory.
pub fn read(root: &Root) -> Memory {
    let meminfo = root.text("proc/meminfo");
    let line = |key: &str| meminfo.clone().and_then(|text| meminfo_line(&text, key));
    Memory {
        total_bytes: line("MemTotal"),
        available_bytes: line("MemAvailable"),
        cgroup_limit_bytes: cgroup_limit(root),
        slots: slots(root),
    }
}

/// One line of `/proc/meminfo`.
fn meminfo_line(text: &str, key: &str) -> Result<Bytes, String> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let rest = rest.ok_or_else(|| format!("no line {key}"))?;
    let kib = rest.trim().strip_suffix("kB").and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .map(Bytes)
        .ok_or_else(|| format!("'{key}:{rest}' is not a number of kB"))
}

/// The tightest memory limit of this process's control groups, version 2 or 1, own group and
/// parents.
fn cgroup_limit(root: &Root) -> Fact<Bytes> {
    let groups = root.text("proc/self/cgroup");
    let Some(groups) = groups.value() else { return Fact::absent("/proc/self/cgroup") };
    let mut tightest: Option<(u64, String)> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut group = group.trim_matches('/');
        loop {
            let path = format!("{mount}/{group}/{file}").replace("//", "/");
            if let Some(limit) = root.number(&path).value().and_then(|n| u64::try_from(*n).ok())
                && tightest.as_ref().is_none_or(|(least, _)| limit < *least)
            {
                tightest = Some((limit, path));
            }
            if group.is_empty() {
                break;
            }
            group = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }
    match tightest {
        // Version 1 writes "no limit" as the largest page-aligned number.
        Some((limit, path)) if limit < 1 << 60 => Fact::known(Bytes(limit), format!("/{path}")),
        _ => Fact::absent("/sys/fs/cgroup: no memory limit"),
    }
}

/// Slots from the table as a whole, else from the structures one by one.
fn slots(root: &Root) -> Fact<Vec<Slot>> {
    let table = root.bytes("sys/firmware/dmi/tables/DMI");
    if !matches!(table, Fact::Absent { .. }) {
        return table.and_then(|bytes| smbios::parse(&bytes));
    }
    let entries = root.names("sys/firmware/dmi/entries");
    let mut all: Vec<u8> = Vec::new();
    let mut entries: Vec<&String> = entries.iter().filter(|name| name.starts_with("17-")).collect();
    if entries.is_empty() {
        return Fact::absent(table.source().0.clone());
    }
    entries.sort_by_key(|name| name[3..].parse::<u32>().unwrap_or(u32::MAX));
    for name in entries {
        match root.bytes(&format!("sys/firmware/dmi/entries/{name}/raw")) {
            Fact::Known { value, .. } => all.extend(value),
            gap => return gap.and_then(|_| Ok(Vec::new())),
        }
    }
    Fact::known(all, "/sys/firmware/dmi/entries/17-*/raw").and_then(|all| smbios::parse(&all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_lines_are_exact() {
        let text = "MemTotal:       24684084 kB\nMemAvailable: 7 kB\nHugePages_Total: 3";
        assert_eq!(meminfo_line(text, "MemTotal"), Ok(Bytes::kib(24_684_084)));
        assert_eq!(meminfo_line(text, "MemAvailable"), Ok(Bytes::kib(7)));
        assert!(meminfo_line(text, "HugePages_Total").is_err());
        assert!(meminfo_line(text, "Mem").is_err());
    }
}
