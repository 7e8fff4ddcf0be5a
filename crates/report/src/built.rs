//! What a host is built of beside processors, memory and NICs: drives, what they hang on,
//! accelerators, the chassis and the system, each in one line.

use narrows_model::Fact;
use narrows_model::host::{DeviceKind, Drive, Host, StorageController, Transport};
use narrows_model::units::three_digits;
use std::collections::BTreeMap;

/// What stands for a kind of thing that a host is known to have none of.
pub const NONE: &str = "none";

/// What is told of a host in one line, with its name; `None` where it has no such thing or does
/// not tell.
pub fn lines(host: &Host) -> Vec<(&'static str, String)> {
    let lines = [
        ("system", told(&host.system, Clone::clone)),
        ("chassis", told(&host.chassis, Clone::clone)),
        ("drives", told(&host.drives, |all| of_drives(all))),
        ("storage controllers", told(&host.storage_controllers, |all| of_controllers(all))),
    ];
    let lines = lines.into_iter().filter_map(|(name, line)| Some((name, line?)));
    lines.filter(|(_, line)| line != NONE).collect()
}

/// The value in words, or why there is none where the host would have one.
fn told<T>(fact: &Fact<T>, says: impl Fn(&T) -> String) -> Option<String> {
    match fact {
        Fact::Known { value, .. } => Some(says(value)),
        Fact::Absent { .. } => None,
        gap => gap.gap(),
    }
}

/// Drives by kind: `2 x 960 GB SATA SSD SSDSC2KB960G8`.
pub fn drives(host: &Host) -> Option<String> {
    host.drives.value().map(|all| of_drives(all))
}

/// Storage controllers by kind: `RAID: MegaRAID SAS-3 3008 (megaraid_sas)`.
pub fn controllers(host: &Host) -> Option<String> {
    host.storage_controllers.value().map(|all| of_controllers(all))
}

/// Accelerators by name, without virtual functions; `None` where no PCI functions were read.
pub fn accelerators(host: &Host) -> Option<String> {
    let own = host.devices.iter().filter(|device| device.kind == DeviceKind::Accelerator);
    let own = own.filter(|device| !device.is_virtual);
    let names = own.map(|device| {
        device.path.last().map_or_else(|| device.address.clone(), |hop| hop.name.clone())
    });
    (!host.devices.is_empty()).then(|| counted(names))
}

fn of_drives(all: &[Drive]) -> String {
    counted(all.iter().map(drive))
}

fn of_controllers(all: &[StorageController]) -> String {
    counted(all.iter().map(|one| {
        let driver = one.driver.value().map_or(String::new(), |driver| format!(" ({driver})"));
        format!("{}: {}{driver}", one.kind, one.name)
    }))
}

fn drive(drive: &Drive) -> String {
    let transport = drive.transport.value();
    let kind = match drive.is_rotating.value() {
        // What a virtual machine says of it is no property of a drive.
        _ if transport == Some(&Transport::Virtio) => "drive",
        Some(true) => "hard disk",
        Some(false) => "SSD",
        None => "drive",
    };
    let parts = [
        drive.size_bytes.value().map(|size| as_sold(size.0)),
        transport.map(ToString::to_string),
        Some(kind.to_owned()),
        drive.model.value().cloned(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A size in powers of ten, as makers label drives.
fn as_sold(bytes: u64) -> String {
    const STEPS: [(f64, &str); 2] = [(1e12, "TB"), (1e9, "GB")];
    let bytes = bytes as f64;
    let step = STEPS.into_iter().find(|(step, _)| bytes >= *step);
    let (step, unit) = step.unwrap_or((1e6, "MB"));
    format!("{} {unit}", three_digits(bytes / step))
}

/// `2 x A, B`, in the order of their first ones.
fn counted(things: impl Iterator<Item = String>) -> String {
    let mut order: Vec<String> = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for thing in things {
        let count = counts.entry(thing.clone()).or_default();
        *count += 1;
        if *count == 1 {
            order.push(thing);
        }
    }
    let parts = order.into_iter().map(|thing| match counts[&thing] {
        1 => thing,
        many => format!("{many} x {thing}"),
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { NONE.to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::host::ControllerKind;

    fn known<T>(value: T) -> Fact<T> {
        Fact::known(value, "planted")
    }

    #[test]
    fn drives_are_counted_by_kind_in_sizes_as_they_are_sold() {
        let drive = |size: u64, turns: bool, transport: Option<Transport>, model: &str| Drive {
            name: "x".into(),
            model: Fact::told((!model.is_empty()).then(|| model.to_owned()), "planted"),
            size_bytes: known(Bytes(size)),
            is_rotating: known(turns),
            transport: Fact::told(transport, "planted"),
        };
        let sata = drive(960_197_124_096, false, Some(Transport::Sata), "SSDSC2KB960G7");
        let disk = drive(1_200_243_695_616, true, Some(Transport::Sas), "SEAGATE ST1200MM0088");
        let volume = drive(479_559_942_144, false, None, "DELL PERC H330 Mini");
        let guest = drive(536_870_912, true, Some(Transport::Virtio), "");
        let mut host = Host { drives: known(vec![sata.clone(), disk, sata]), ..Host::default() };
        let wanted =
            "2 x 960 GB SATA SSD SSDSC2KB960G7, 1.20 TB SAS hard disk SEAGATE ST1200MM0088";
        assert_eq!(drives(&host).as_deref(), Some(wanted));
        host.drives = known(vec![volume, guest]);
        let wanted = "480 GB SSD DELL PERC H330 Mini, 537 MB virtio drive";
        assert_eq!(drives(&host).as_deref(), Some(wanted));
        host.drives = known(vec![Drive { name: "x".into(), ..Drive::default() }]);
        assert_eq!(drives(&host).as_deref(), Some("drive"));
    }

    #[test]
    fn a_line_is_of_what_is_there_or_may_not_be_read() {
        assert_eq!(lines(&Host::default()), []);
        let raid = StorageController {
            address: "0000:18:00.0".into(),
            kind: ControllerKind::Raid,
            name: "MegaRAID SAS-3 3008".into(),
            driver: known("megaraid_sas".into()),
        };
        let host = Host {
            system: known("Debian GNU/Linux 12 (bookworm)".into()),
            chassis: Fact::Denied { from: narrows_model::Source("/the/table".into()) },
            drives: known(Vec::new()),
            storage_controllers: known(vec![raid]),
            ..Host::default()
        };
        let wanted = [
            ("system", "Debian GNU/Linux 12 (bookworm)"),
            ("chassis", "no permission to read /the/table"),
            ("storage controllers", "RAID: MegaRAID SAS-3 3008 (megaraid_sas)"),
        ];
        assert_eq!(lines(&host), wanted.map(|(name, line)| (name, line.to_owned())));
        assert_eq!((drives(&host).as_deref(), accelerators(&host)), (Some(NONE), None));
    }
}
