//! What follows from a host for programs, of hosts that are planted.

mod planted;

use narrows_dimm::population::Balance;
use narrows_model::host::{Device, DeviceKind, Host, Nic, PciHop, PciLink};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_report::results::{Results, schema};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "planted")
}

/// A NIC of 100 Gb/s in a slot of eight lanes, through a root port of the chipset or the processor.
fn plug(host: &mut Host, root: &str) {
    let hop = |address: &str, name: &str| {
        let link = PciLink { speed_gts: 8.0, width: 8, speed_max_gts: 8.0, width_max: 16 };
        let (address, name) = (address.to_owned(), name.to_owned());
        PciHop { address, name, link: known(link), ..PciHop::default() }
    };
    let path = vec![hop("0000:00:01.0", root), hop("0000:3b:00.0", "Mellanox ConnectX-5")];
    host.devices.push(Device {
        kind: DeviceKind::Network,
        address: "0000:3b:00.0".into(),
        names: vec!["ens1f0".into()],
        driver: known("mlx5_core".into()),
        node: known(0),
        is_virtual: false,
        path: path.clone(),
    });
    host.nics.push(Nic {
        name: "ens1f0".into(),
        physical: true,
        driver: known("mlx5_core".into()),
        speed_bps: known(BitsPerSecond(100e9)),
        path,
        ..Nic::default()
    });
}

#[test]
fn a_full_processor_is_balanced_and_in_one_set() {
    let memory = Results::of(&planted::host([16; 6])).memory;
    assert_eq!(memory.balance, Some(Balance::Balanced));
    assert_eq!(memory.platform.as_deref(), Some("Cascade Lake-SP"));
    assert!(memory.missing.is_empty() && memory.moves.is_empty() && !memory.sockets_differ);
    let [set] = memory.sets.as_slice() else { panic!("{} sets", memory.sets.len()) };
    assert_eq!((set.socket, set.channels.len(), set.size_bytes), (0, 6, Bytes::gib(96)));
    // Six channels of 2933 MT/s and 8 B.
    assert_eq!(set.peak_bytes_per_second.map(|peak| peak.0), Some(6.0 * 8.0 * 2.933e9));
    let loss = memory.loss.expect("its peak is known");
    assert_eq!(loss.all_bytes_per_second.0, 6.0 * 8.0 * 2.933e9);
    assert_eq!(loss.lost_bytes_per_second.0, 0.0);
    assert_eq!(memory.lenovo_2019_balanced, Some(true));
    assert_eq!(memory.lenovo_2019_by_socket, [Some(true)]);
}

#[test]
fn modules_on_one_controller_lose_what_the_empty_channels_would_carry() {
    let memory = Results::of(&planted::host([16, 16, 0, 0, 0, 0])).memory;
    let loss = memory.loss.expect("its peak is known");
    assert_eq!(loss.lost_bytes_per_second.0, 4.0 * 8.0 * 2.933e9);
    assert!(loss.ports.is_empty(), "no port tells its rate");
    assert_eq!(memory.lenovo_2019_balanced, Some(false));
    assert_eq!(memory.lenovo_2019_by_socket, [Some(false)]);
}

#[test]
fn what_is_not_known_is_named_and_nothing_stands_for_it() {
    let memory = Results::of(&Host::default()).memory;
    assert_eq!((memory.balance, memory.platform, memory.lenovo_2019_balanced), (None, None, None));
    assert!(memory.sets.is_empty() && memory.loss.is_none());
    assert_eq!(memory.missing.len(), 1, "{:?}", memory.missing);
}

#[test]
fn a_devices_path_has_its_slowest_link_and_what_limits_it() {
    let mut host = planted::host([16; 6]);
    plug(&mut host, "Sky Lake-E PCI Express Root Port A");
    let results = Results::of(&host);
    let [path] = results.paths.as_slice() else { panic!("{} paths", results.paths.len()) };
    assert_eq!(path.address, "0000:3b:00.0");
    assert_eq!(path.behind_chipset, Some(false));
    assert_eq!(path.slowest_link.as_deref(), Some("0000:3b:00.0"));
    // 8 GT/s on eight lanes, 128 bits of 130: 63.0 Gb/s.
    let rate = path.rate_bits_per_second.expect("a link").0;
    assert!((rate / (8e9 * 8.0 * 128.0 / 130.0) - 1.0).abs() < 1e-6, "{rate}");
    let payload = path.payload_bits_per_second.expect("a link").0;
    assert!(payload > 0.75 * rate && payload < 0.95 * rate, "{payload} of {rate}");
    // Both ends could have sixteen lanes.
    assert_eq!(path.limited_by.as_deref(), Some("training"));
    let port = &results.memory.loss.expect("its peak is known").ports[0];
    assert_eq!((port.nic.as_str(), port.link_bits_per_second.0), ("ens1f0", 100e9));
    let schema = schema();
    for key in ["schema_version", "roads", "limited_by", "lost_bytes_per_second"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}
