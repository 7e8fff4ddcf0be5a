//! Drives: whole block devices with a device behind them. Serial numbers and world-wide names are
//! not asked for.

use crate::Root;
use crate::folder::Folder;
use crate::garbled::Garbled;
use narrows_model::host::{Drive, Transport};
use narrows_model::{Bytes, Fact};

const BLOCKS: &str = "sys/block";
/// What `size` counts in, whatever the sectors of the drive are.
const SECTOR_BYTES: u64 = 512;
/// A drive for discs (SCSI's peripheral device type).
const DISCS: i64 = 5;
/// What controllers write as the maker of any drive that speaks ATA.
const ATA: &str = "ATA";

/// The drives by name.
pub(crate) fn read(root: &Root) -> Fact<Vec<Drive>> {
    if !root.has(BLOCKS) {
        return Fact::absent(format!("/{BLOCKS}"));
    }
    let drives = root.names(BLOCKS).into_iter().filter_map(|name| drive(root, name));
    Fact::known(drives.collect(), format!("/{BLOCKS}"))
}

/// The drive of an entry; `None` for what the kernel makes up (loop, ram, dm, md), for parts of
/// drives, for further ways to one that has a name already, and for readers of discs or cards with
/// nothing in them.
fn drive(root: &Root, name: String) -> Option<Drive> {
    let path = root.resolve(&format!("{BLOCKS}/{name}"))?;
    let block = Folder::of(root, path.as_str());
    let device = Folder::of(root, block.path_of("device"));
    if !block.has("device") || block.has("partition") {
        return None;
    }
    let is_other_way = block.number("hidden").value() == Some(&1);
    if is_other_way || device.number("type").value() == Some(&DISCS) {
        return None;
    }
    let size_bytes = block.number("size").and_then(size);
    if size_bytes.value() == Some(&Bytes(0)) {
        return None;
    }
    // A virtio device has a number there, and no model.
    let maker = device.told("vendor");
    let is_rotating = block.number("queue/rotational").map(|turns| turns != 0);
    let transport = transport(root, &path, maker.as_deref());
    let model = device.text("model").map(|model| match &maker {
        Some(maker) if maker != ATA => format!("{maker} {model}"),
        _ => model,
    });
    Some(Drive { name, model, size_bytes, is_rotating, transport })
}

fn size(sectors: i64) -> Result<Bytes, Garbled> {
    let bytes = u64::try_from(sectors).ok().and_then(|of| of.checked_mul(SECTOR_BYTES));
    bytes.map(Bytes).ok_or(Garbled::Sectors(sectors))
}

/// What the way to the device in `/sys/devices` tells; the bus next to the drive counts.
fn transport(root: &Root, path: &str, maker: Option<&str>) -> Fact<Transport> {
    let from = format!("/{path}");
    let mut dir = path;
    while let Some((above, part)) = dir.rsplit_once('/') {
        let bus = part.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | '-'));
        let found = match bus {
            "virtio" => Some(Transport::Virtio),
            "usb" => Some(Transport::Usb),
            // A controller of SAS takes serial ATA too.
            "end_device" if maker == Some(ATA) => Some(Transport::Sata),
            "end_device" => Some(Transport::Sas),
            "ata" => return ata(root, dir, part),
            "nvme-subsys" | "nvme" => Some(Transport::Nvme),
            _ => None,
        };
        if let Some(found) = found {
            return Fact::known(found, from);
        }
        dir = above;
    }
    Fact::absent(from)
}

/// A port of ATA is a serial one where its link has a speed.
fn ata(root: &Root, port: &str, name: &str) -> Fact<Transport> {
    let link = name.replace("ata", "link");
    let speed = root.text(&format!("{port}/{link}/ata_link/{link}/sata_spd"));
    match speed {
        // `6.0 Gbps`, and for a parallel port `<unknown>`.
        Fact::Known { value, from } if value.contains("Gbps") => {
            Fact::Known { value: Transport::Sata, from }
        }
        Fact::Known { value, from } => Fact::Absent { from, said: Some(value) },
        gap => gap.map(|_| Transport::Sata),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const PCI: &str = "sys/devices/pci0000:00/0000:00:17.0";

    /// A machine with one more entry of `/sys/block` at this place below the host bridge.
    fn entry(machine: &Scratch, way: &str, files: &[(&str, &str)]) {
        let name = way.rsplit('/').next().expect("a name");
        machine.link(&format!("sys/block/{name}"), &format!("../../{way}"));
        for (file, text) in files {
            machine.put(&format!("{way}/{file}"), text);
        }
    }

    fn read_of(machine: &Scratch) -> Vec<Drive> {
        read(&machine.root()).value().cloned().expect("a list")
    }

    #[test]
    fn each_transport_is_told_by_the_way_to_the_drive() {
        let machine = Scratch::of("transports", &[]);
        machine.put(&format!("{PCI}/ata3/link3/ata_link/link3/sata_spd"), "6.0 Gbps\n");
        machine.put(&format!("{PCI}/ata4/link4/ata_link/link4/sata_spd"), "<unknown>\n");
        for (way, maker, wanted) in [
            ("ata3/host2/target2:0:0/2:0:0:0/block/sda", "ATA", Some(Transport::Sata)),
            ("ata4/host3/target3:0:0/3:0:0:0/block/sdb", "ATA", None),
            ("ata5/host4/target4:0:0/4:0:0:0/block/sdc", "ATA", None),
            (
                "host0/port-0:0/expander-0:0/port-0:0:5/end_device-0:0:5/target0:0:5/0:0:5:0/block/sdd",
                "SEAGATE",
                Some(Transport::Sas),
            ),
            (
                "host0/port-0:1/end_device-0:1/target0:0:1/0:0:1:0/block/sde",
                "ATA",
                Some(Transport::Sata),
            ),
            ("host1/target1:2:0/1:2:0:0/block/sdf", "DELL", None),
            (
                "usb1/1-4/1-4:1.0/host5/target5:0:0/5:0:0:0/block/sdg",
                "Kingston",
                Some(Transport::Usb),
            ),
            ("virtio1/block/vda", "0x1af4", Some(Transport::Virtio)),
            ("virtio2/host6/target6:0:0/6:0:0:0/block/sdh", "QEMU", Some(Transport::Virtio)),
            ("nvme/nvme0/nvme0n1", "", Some(Transport::Nvme)),
        ] {
            let way = format!("{PCI}/{way}");
            entry(&machine, &way, &[("size", "8"), ("device/vendor", maker)]);
            let name = way.rsplit('/').next().expect("a name");
            let all = read_of(&machine);
            let drive = all.iter().find(|drive| drive.name == name).expect(name);
            assert_eq!(drive.transport.value().copied(), wanted, "{way}");
        }
        let shared = "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1n1";
        entry(&machine, shared, &[("size", "8"), ("device/model", "M")]);
        let all = read_of(&machine);
        let drive = all.iter().find(|drive| drive.name == "nvme1n1").expect("a drive");
        assert_eq!(drive.transport.value(), Some(&Transport::Nvme));
    }

    #[test]
    fn sizes_are_in_sectors_of_512_bytes_whatever_the_drive_has() {
        let machine = Scratch::of("drive-sizes", &[]);
        let files = [
            ("size", "1875385008\n"),
            ("queue/rotational", "0\n"),
            ("queue/logical_block_size", "4096\n"),
            ("device/model", "SSDPE2KX010T8 \n"),
        ];
        entry(&machine, &format!("{PCI}/nvme/nvme0/nvme0n1"), &files);
        let files = [
            ("size", "2344225968\n"),
            ("queue/rotational", "1\n"),
            ("device/vendor", "SEAGATE \n"),
            ("device/model", "ST1200MM0088\n"),
        ];
        entry(&machine, &format!("{PCI}/host0/target0:2:0/0:2:0:0/block/sda"), &files);
        let told = |drive: &Drive| {
            let size = drive.size_bytes.value().map(|size| size.0);
            (drive.model.value().cloned(), size, drive.is_rotating.value().copied())
        };
        let all: Vec<_> = read_of(&machine).iter().map(told).collect();
        assert_eq!(
            all,
            [
                (Some("SSDPE2KX010T8".to_owned()), Some(960_197_124_096), Some(false)),
                (Some("SEAGATE ST1200MM0088".to_owned()), Some(1_200_243_695_616), Some(true)),
            ]
        );
        assert!(size(-1).is_err() && size(i64::MAX).is_err());
    }

    #[test]
    fn only_whole_drives_with_a_device_and_something_in_them_count() {
        let machine = Scratch::of("no-drives", &[]);
        assert_eq!(read(&machine.root()), Fact::absent("/sys/block"));
        let disk = format!("{PCI}/host0/target0:0:0/0:0:0:0/block");
        for name in ["loop0", "ram0", "zram0", "dm-0", "md127"] {
            entry(&machine, &format!("sys/devices/virtual/block/{name}"), &[("size", "8")]);
        }
        let device = ("device/model", "M");
        let part = [("size", "8"), device, ("partition", "1")];
        entry(&machine, &format!("{disk}/sda1"), &part);
        entry(&machine, &format!("{disk}/sr0"), &[("size", "8"), device, ("device/type", "5")]);
        entry(&machine, &format!("{disk}/sdb"), &[("size", "0"), device]);
        let way = [("size", "8"), device, ("hidden", "1")];
        entry(&machine, &format!("{PCI}/nvme/nvme0/nvme0c0n1"), &way);
        machine.link("sys/block/sdz", "../devices/gone/sdz");
        assert_eq!(read(&machine.root()), Fact::known(Vec::new(), "/sys/block"));
        entry(&machine, &format!("{disk}/sdc"), &[("size", "8"), device, ("device/type", "0")]);
        // Without a size it is a drive of which that is not known.
        entry(&machine, &format!("{disk}/sdd"), &[device]);
        let names: Vec<String> = read_of(&machine).into_iter().map(|drive| drive.name).collect();
        assert_eq!(names, ["sdc", "sdd"]);
    }
}
