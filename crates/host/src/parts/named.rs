//! Interfaces that management software names in its own way, by the names of the system.

use super::PartialHost;
use std::collections::BTreeMap;

/// Renames the ports that a management controller tells to the interfaces with their hardware
/// addresses, so that one port is one interface.
pub fn by_address(parts: &mut [PartialHost]) {
    let (controllers, others): (Vec<&mut PartialHost>, Vec<&mut PartialHost>) =
        parts.iter_mut().partition(|part| part.program == "redfish");
    let names: BTreeMap<String, &String> = others
        .iter()
        .flat_map(|part| &part.marks.macs)
        .map(|(name, mac)| (plain(mac), name))
        .collect();
    for part in controllers {
        let macs = std::mem::take(&mut part.marks.macs);
        for (old, mac) in macs {
            let name = names.get(&plain(&mac)).map_or(&old, |name| *name).clone();
            for nic in part.host.nics.iter_mut().filter(|nic| nic.name == old && name != old) {
                nic.name.clone_from(&name);
                // The system knows where it is; the controller's name for that is none of its own.
                nic.path.retain(|hop| crate::pci::is_address(&hop.address));
            }
            part.marks.macs.insert(name, mac);
        }
    }
}

/// `b0:26:28:d8:68:c0`, `B0-26-28-D8-68-C0` and `B02628D868C0` are one.
fn plain(mac: &str) -> String {
    mac.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::join;
    use super::*;
    use narrows_model::host::Nic;
    use narrows_model::{BitsPerSecond, Fact};

    fn part(program: &'static str, name: &str, mac: &str, speed: Option<f64>) -> PartialHost {
        let mut part = PartialHost::of(program, program);
        let speed_bps = match speed {
            Some(speed) => Fact::known(BitsPerSecond(speed), program),
            None => Fact::absent(program),
        };
        part.host.nics.push(Nic { name: name.to_owned(), speed_bps, ..Nic::default() });
        part.marks.macs.insert(name.to_owned(), mac.to_owned());
        part
    }

    #[test]
    fn a_controllers_port_is_the_interface_with_its_address() {
        let host = join(vec![
            part("ip", "eth0", "b0:26:28:d8:68:c0", None),
            part("redfish", "NIC.1 port 1", "B0:26:28:D8:68:C0", Some(25e9)),
        ]);
        let nics = host.expect("one host").nics;
        assert_eq!(nics.len(), 1, "{nics:?}");
        assert_eq!(nics[0].name, "eth0");
        assert_eq!(nics[0].speed_bps.value().map(|speed| speed.0), Some(25e9));
    }

    #[test]
    fn a_port_that_no_interface_has_keeps_its_name() {
        let mut parts = vec![part("redfish", "NIC.1 port 1", "B0-26-28-D8-68-C0", Some(25e9))];
        by_address(&mut parts);
        assert_eq!(parts[0].host.nics[0].name, "NIC.1 port 1");
        assert_eq!(parts[0].marks.macs.len(), 1);
    }
}
