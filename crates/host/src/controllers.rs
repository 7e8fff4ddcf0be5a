//! Storage controllers: PCI functions that drives hang on, other than NVMe.

use crate::Root;
use crate::pci::{self, FUNCTIONS};
use narrows_model::Fact;
use narrows_model::host::{ControllerKind, StorageController};

/// The controllers by address.
pub(crate) fn read(root: &Root) -> Fact<Vec<StorageController>> {
    if !root.has(FUNCTIONS) {
        return Fact::absent(format!("/{FUNCTIONS}"));
    }
    let addresses = root.names(FUNCTIONS).into_iter().filter(|name| pci::is_address(name));
    let all = addresses.filter_map(|address| controller(root, address));
    Fact::known(all.collect(), format!("/{FUNCTIONS}"))
}

fn controller(root: &Root, address: String) -> Option<StorageController> {
    let entry = format!("{FUNCTIONS}/{address}");
    let class = u32::try_from(*root.number(&format!("{entry}/class")).value()?).ok()?;
    let kind = kind(class)?;
    let dir = root.resolve(&entry)?;
    let driver = root.link_name(&format!("{dir}/driver"));
    Some(StorageController { kind, name: pci::name(root, &dir), driver, address })
}

/// What a class of functions is; `None` for those without drives, and for NVMe.
fn kind(class: u32) -> Option<ControllerKind> {
    match (class >> 16, class >> 8 & 0xff) {
        (0x01, 0x00) => Some(ControllerKind::Scsi),
        (0x01, 0x04) => Some(ControllerKind::Raid),
        (0x01, 0x06) => Some(ControllerKind::Sata),
        (0x01, 0x07) => Some(ControllerKind::Sas),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn controllers_have_kind_name_and_driver_and_nvme_is_none() {
        let nothing = Scratch::of("no-controllers", &[]);
        assert_eq!(read(&nothing.root()), Fact::absent("/sys/bus/pci/devices"));
        let machine = Scratch::of("controllers", &[]);
        for (address, class, ids) in [
            ("0000:00:17.0", "0x010601", ("0x8086", "0xa182")),
            ("0000:18:00.0", "0x010400", ("0x1000", "0x005f")),
            ("0000:19:00.0", "0x010700", ("0x1000", "0x0097")),
            ("0000:1a:00.0", "0x010000", ("0x1af4", "0x1048")),
            ("0000:3b:00.0", "0x010802", ("0x144d", "0xa822")),
            ("0000:5e:00.0", "0x020000", ("0x15b3", "0x1017")),
        ] {
            let dir = format!("sys/devices/pci0000:00/{address}");
            machine.put(&format!("{dir}/class"), class);
            machine.put(&format!("{dir}/vendor"), ids.0);
            machine.put(&format!("{dir}/device"), ids.1);
            machine.link(&format!("sys/bus/pci/devices/{address}"), &format!("../../../../{dir}"));
        }
        let raid = "sys/devices/pci0000:00/0000:18:00.0/driver";
        machine.link(raid, "../../../bus/pci/drivers/megaraid_sas");
        let all = read(&machine.root()).value().cloned().expect("a list");
        let kinds: Vec<ControllerKind> = all.iter().map(|one| one.kind).collect();
        use ControllerKind as K;
        assert_eq!(kinds, [K::Sata, K::Raid, K::Sas, K::Scsi]);
        assert_eq!(all[1].driver.value().map(String::as_str), Some("megaraid_sas"));
        assert!(all[1].name.contains("MegaRAID SAS-3 3008"), "{}", all[1].name);
        assert_eq!(all[1].address, "0000:18:00.0");
        assert_eq!(all[0].driver.value(), None);
    }
}
