//! PCI functions on the way from the root complex to a device.

use crate::{Root, express};
use narrows_facts::Fact;
use narrows_facts::host::{Express, PciHop, PciLink};

/// The hops of a resolved device path, root port first.
pub fn path(root: &Root, device: &str) -> Vec<PciHop> {
    let mut hops = Vec::new();
    let mut dir = String::new();
    for part in device.split('/') {
        dir = if dir.is_empty() { part.to_owned() } else { format!("{dir}/{part}") };
        if is_address(part) {
            hops.push(hop(root, part, &dir));
        }
    }
    hops
}

/// True for `0000:3b:00.0`; the domain may be longer than four digits.
fn is_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hex = |text: &str, least: usize| {
        text.len() >= least && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    matches!(parts[..], [domain, bus, slot, function]
        if hex(domain, 4) && hex(bus, 2) && hex(slot, 2) && hex(function, 1))
}

fn hop(root: &Root, address: &str, dir: &str) -> PciHop {
    PciHop {
        address: address.to_owned(),
        name: name(root, dir),
        class: root.number(&format!("{dir}/class")).and_then(|class| {
            u32::try_from(class).map_err(|_| format!("{class} is not a class code"))
        }),
        link: link(root, dir),
        express: express(root, dir),
    }
}

fn name(root: &Root, dir: &str) -> String {
    let id = |file: &str| {
        let number = root.number(&format!("{dir}/{file}"));
        number.value().and_then(|number| u16::try_from(*number).ok())
    };
    let (Some(vendor), Some(device)) = (id("vendor"), id("device")) else {
        return "unknown".to_owned();
    };
    match pci_ids::Device::from_vid_pid(vendor, device) {
        Some(known) => format!("{} {}", known.vendor().name(), known.name()),
        None => format!("{vendor:04x}:{device:04x}"),
    }
}

/// The link of a function towards the root. A function without link files (conventional PCI,
/// virtio, an old kernel) is `Absent`; a link that is down reads as width 0.
fn link(root: &Root, dir: &str) -> Fact<PciLink> {
    let from = format!("/{dir}/current_link_speed");
    let number = |file: &str| {
        let text = root.text(&format!("{dir}/{file}"));
        let first = text.value()?.split_whitespace().next()?.parse::<f64>().ok();
        first.filter(|number| number.is_finite() && *number >= 0.0)
    };
    if !root.has(&from[1..]) {
        return Fact::absent(from);
    }
    let read = (|| {
        Some(PciLink {
            speed_gts: number("current_link_speed")?,
            width: number("current_link_width")? as u32,
            speed_max_gts: number("max_link_speed")?,
            width_max: number("max_link_width")? as u32,
        })
    })();
    match read {
        // 255 lanes and "Unknown" are what the kernel writes for a link it cannot read.
        Some(link) if link.width > 0 && link.width <= 64 && link.speed_gts > 0.0 => {
            Fact::known(link, from)
        }
        _ => Fact::absent(from),
    }
}

fn express(root: &Root, dir: &str) -> Fact<Express> {
    let config = root.bytes(&format!("{dir}/config"));
    let from = config.source().clone();
    let Some(bytes) = config.value() else { return config.and_then(|_| Err(String::new())) };
    match express::parse(bytes) {
        Ok(value) => Fact::Known { value, from },
        Err(express::Gap::Absent) => Fact::Absent { from },
        Err(express::Gap::Denied) => Fact::Denied { from },
        Err(express::Gap::Malformed(text)) => Fact::Malformed { from, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_directories() {
        assert!(is_address("0000:3b:00.0"));
        assert!(is_address("10000:e1:00.1"));
        for other in ["pci0000:3a", "virtio2", "0000:3b:00", "", "net", "0000:zz:00.0"] {
            assert!(!is_address(other), "{other}");
        }
    }
}
