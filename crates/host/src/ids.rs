//! Names of PCI vendors and devices, by the PCI ID Repository's list of 2025-07-11, which is in the
//! program: `lab/pci-ids` makes the file of a newer one.

use flate2::read::GzDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// A line a vendor (`8086  Intel Corporation`), and below it one a device, after a tab.
static LIST: LazyLock<String> = LazyLock::new(|| {
    let mut list = String::new();
    let packed: &[u8] = include_bytes!("../data/pci.ids.gz");
    // What cannot be read knows no names; the tests read all of it.
    match GzDecoder::new(packed).read_to_string(&mut list) {
        Ok(_) => list,
        Err(_) => String::new(),
    }
});

/// Vendor and device by name, where the list has both.
pub fn name(vendor: u16, device: u16) -> Option<String> {
    in_list(&LIST, vendor, device)
}

fn in_list(list: &str, vendor: u16, device: u16) -> Option<String> {
    let (vendor, rest) = after(list, &format!("\n{vendor:04x}  "))?;
    let own = format!("{device:04x}");
    // The next line without a tab is another vendor's.
    let mut devices = rest.lines().skip(1).map_while(|line| line.split_once('\t'));
    let device = devices.find_map(|(_, line)| {
        let (id, name) = line.split_once("  ")?;
        (id == own).then_some(name)
    })?;
    Some(format!("{vendor} {device}"))
}

/// What follows a mark up to the end of its line, and all from there on.
fn after<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let rest = &text[text.find(mark)? + mark.len()..];
    Some((rest.lines().next()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_have_the_names_that_lspci_prints() {
        // As printed by `lspci` of pciutils.
        for (vendor, device, known) in [
            (0x15b3, 0x1017, "Mellanox Technologies MT27800 Family [ConnectX-5]"),
            (0x8086, 0x1572, "Intel Corporation Ethernet Controller X710 for 10GbE SFP+"),
            (0x1af4, 0x1041, "Red Hat, Inc. Virtio 1.0 network device"),
        ] {
            assert_eq!(name(vendor, device).as_deref(), Some(known));
        }
    }

    #[test]
    fn a_device_of_another_vendor_and_the_unknown_have_no_name() {
        let list = "# list\n\n0001  One\n\t0002  Card\n0003  Two\n\t0004  Other\n";
        assert_eq!(in_list(list, 1, 2).as_deref(), Some("One Card"));
        assert_eq!(in_list(list, 3, 4).as_deref(), Some("Two Other"));
        assert_eq!(in_list(list, 1, 4), None, "the vendor below has it");
        assert_eq!(in_list(list, 2, 2), None, "a device is no vendor");
        assert_eq!(in_list(list, 3, 2), None);
    }

    #[test]
    fn the_whole_list_is_vendors_and_their_devices_with_its_licence() {
        let (mut vendors, mut devices) = (0, 0);
        for line in LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (id, name) = line.trim_start_matches('\t').split_once("  ").expect(line);
            assert!(id.len() == 4 && u16::from_str_radix(id, 16).is_ok(), "{line}");
            assert!(!name.trim().is_empty(), "{line}");
            *(if line.starts_with('\t') { &mut devices } else { &mut vendors }) += 1;
        }
        assert!(vendors > 2000 && devices > 19_000, "{vendors} and {devices}");
        assert!(LIST.contains("3-clause BSD License"));
    }
}
