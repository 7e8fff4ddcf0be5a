use super::*;
use crate::capture::{parse, write};
use crate::{Root, read};
use std::path::{Path, PathBuf};

const MAC: &str = "24:8a:07:a1:b2:c3";
const PORT: &str = "ec:0d:9a:44:55:e6";
const SERIAL: &str = "CZ20470XQ7";
const TAG: &str = "INV-77120-B";
const UUID: &str = "a2a8d7b4-1f2e-4c3d-9a8b-c0ffee12ab34";
const HOST: &str = "db7-billing";

/// Every way in which the above stand in files.
fn wholes() -> Vec<String> {
    let mut all: Vec<String> = [SERIAL, TAG, UUID, HOST].map(str::to_owned).into();
    for mac in [MAC, PORT] {
        let [a, b, c, x, y, z] = bytes_of(mac);
        let eui = [a ^ 2, b, c, 0xff, 0xfe, x, y, z];
        let guid = [a, b, c, 3, 0, x, y, z];
        for bytes in [&[a, b, c, x, y, z][..], &eui, &guid] {
            let turned: Vec<u8> = bytes.iter().rev().copied().collect();
            for bytes in [bytes, &turned] {
                let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                all.extend([":", "-", "", "_", " "].map(|between| pairs.join(between)));
                let words: Vec<String> = pairs.chunks(2).map(|two| two.concat()).collect();
                all.extend([":", ".", " "].map(|between| words.join(between)));
            }
        }
    }
    // One address in the orders of its bytes, and one network.
    let v4 = ["10.77.88.99", "0a4d5863", "0a4d:5863", "63584d0a", "0a:4d:58:63"];
    let v6 = ["2001:db8:77::5", "2001:0db8:0077:0000:0000:0000:0000:0005"];
    all.extend(v4.into_iter().chain(v6).map(str::to_owned));
    all
}

/// What a capture has nowhere: the above, and pieces that tell as much.
fn never() -> Vec<String> {
    let mut all = wholes();
    all.extend(["acme", "2001:db8:77", "2001:0db8:0077", "20010db80077"].map(str::to_owned));
    for mac in [MAC, PORT] {
        let [.., x, y, z] = bytes_of(mac);
        all.extend([
            format!("{x:02x}{y:02x}{z:02x}"),
            format!("{x:02x}:{y:02x}:{z:02x}"),
            format!("{x:02x}:{y:02x}{z:02x}"),
            format!("{z:02x}{y:02x}{x:02x}"),
        ]);
    }
    all
}

fn bytes_of(mac: &str) -> [u8; 6] {
    let bytes = mac.split(':').map(|byte| u8::from_str_radix(byte, 16).expect("byte"));
    bytes.collect::<Vec<_>>().try_into().expect("six")
}

fn owner() -> Owner {
    Owner {
        names: vec!["db7-billing.acme.example".to_owned(), HOST.to_owned()],
        serials: vec![SERIAL.to_owned(), TAG.to_owned(), UUID.to_owned()],
        hardware: vec![MAC.to_owned(), PORT.to_owned()],
        addresses: vec!["10.77.88.99".parse().expect("v4"), "2001:db8:77::5".parse().expect("v6")],
    }
}

fn put(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
    std::fs::write(path, text).expect("file");
}

/// A machine with an iWARP device, a RoCE device, an interface named by its address, one named by
/// the host.
fn machine(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("narrows-{name}-{}", std::process::id()));
    put(&dir, HOST_FILE, "db7-billing.acme.example\n");
    put(&dir, "proc/self/cgroup", "0::/system.slice/billing-acme.service\n");
    put(&dir, "sys/fs/cgroup/system.slice/billing-acme.service/memory.max", "1073741824\n");
    put(&dir, "proc/cpuinfo", "model name\t: Cortex\nSerial\t\t: 1000000031415926\n");
    put(&dir, "sys/class/dmi/id/product_name", &format!("Server {SERIAL}\n"));
    put(&dir, "sys/class/dmi/id/sys_vendor", "Maker\n");
    put(&dir, "proc/cmdline", &format!("ip=10.77.88.99 BOOTIF={MAC} mitigations=off\n"));
    for (interface, mac) in [("enx248a07a1b2c3", MAC), ("db7-billing-up", PORT)] {
        put(&dir, &format!("sys/class/net/{interface}/mtu"), "1500\n");
        put(&dir, &format!("sys/class/net/{interface}/address"), &format!("{mac}\n"));
        put(
            &dir,
            &format!("narrows/ethtool/{interface}"),
            "driver x\nfirmware 227.0.131.0 at 10.77.88.99\n",
        );
    }
    put(&dir, "narrows/links", "enx248a07a1b2c3 - mq\ndb7-billing-up vlan noqueue\n");
    let zero = "0000:0000:0000:0000:0000:0000:0000:0000";
    let gids = [
        ("siw0", "248a:07a1:b2c3:0000:0000:0000:0000:0000"),
        ("mlx5_0", "fe80:0000:0000:0000:ee0d:9aff:fe44:55e6"),
        ("mlx5_1", "0000:0000:0000:0000:0000:ffff:0a4d:5863"),
        ("mlx5_2", "fe80:0000:0000:0000:ec0d:9a03:0044:55e6"),
        ("mlx5_3", "2001:0db8:0077:0000:ee0d:9aff:fe44:55e6"),
    ];
    for (device, gid) in gids {
        let port = format!("sys/class/infiniband/{device}/ports/1");
        put(&dir, &format!("{port}/gids/0"), &format!("{gid}\n"));
        put(&dir, &format!("{port}/gids/1"), &format!("{zero}\n"));
        put(&dir, &format!("{port}/gid_attrs/types/0"), "RoCE v2\n");
        put(&dir, &format!("sys/class/infiniband/{device}/fw_ver"), "22.31.1014\n");
    }
    dir
}

const HOST_FILE: &str = HOST_NAME;

fn answers(dir: &Path) -> Answers {
    let root = Root::at(dir).recording();
    read(&root);
    root.into_answers()
}

/// The text of a capture, and the same with its blobs as bare digits and as the bytes that they
/// stand for.
fn looked_at(text: &str) -> Vec<String> {
    let mut all = vec![text.to_lowercase()];
    let answers = parse(text).expect("capture");
    for fact in answers.files.values() {
        let bytes = fact.value().map(|content| content.bytes().expect("bytes")).unwrap_or_default();
        all.push(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        all.push(String::from_utf8_lossy(&bytes).to_lowercase());
    }
    all
}

fn nothing_leaks(text: &str, but: &[&str]) {
    let looked = looked_at(text);
    for secret in never().iter().filter(|secret| !but.contains(&secret.as_str())) {
        let secret = secret.to_lowercase();
        for text in &looked {
            let at = text.find(&secret);
            let around = at.map(|at| text[at.saturating_sub(60)..].chars().take(160));
            assert!(at.is_none(), "{secret}: {:?}", around.map(String::from_iter));
        }
    }
}

#[test]
fn a_capture_of_a_machine_leaks_nothing_and_keeps_what_fits_together() {
    let dir = machine("capture");
    let text = write(answers(&dir), &owner());
    // A second time without knowing more than what was asked.
    let alone = write(answers(&dir), &Owner::default());
    for (text, but) in [(&text, &[][..]), (&alone, &[SERIAL])] {
        nothing_leaks(text, but);
        assert!(!text.contains("1000000031415926"), "a serial number of digits alone");
        assert!(text.contains("227.0.131.0") && text.contains("22.31.1014"), "versions stay");
        let (real, masked) =
            (read(&Root::at(&dir)), read(&Root::replay(parse(text).expect("capture"))));
        assert_eq!(real.nics.len(), masked.nics.len());
        assert_eq!(masked.memory.cgroup_limit_bytes.value().map(|limit| limit.0), Some(1 << 30));
        let port = |host: &narrows_model::host::Host, name: &str| {
            let device = host.rdma.iter().find(|device| device.name == name).expect(name);
            let gids = device.ports[0].gids.value().expect("identifiers");
            (gids.len(), gids[0].gid.clone(), device.ports[0].netdev.value().cloned())
        };
        let siw = port(&masked, "siw0");
        assert_eq!(port(&real, "siw0").2.as_deref(), Some("enx248a07a1b2c3"));
        assert!(siw.2.is_some_and(|name| masked.nic(&name).is_some()), "the interface is found");
        let last = |name: &str| port(&masked, name).1[20..].to_owned();
        assert_eq!(last("mlx5_0"), last("mlx5_3"), "one hardware address, one stand-in");
        assert!(port(&masked, "mlx5_1").1.starts_with("0000:0000:0000:0000:0000:ffff:"));
        assert_eq!(port(&masked, "mlx5_0").0, 1, "entries that are not set stay so");
    }
    drop(std::fs::remove_dir_all(dir));
}

#[test]
fn what_is_planted_in_any_file_of_a_capture_is_masked() {
    let dir = machine("planted");
    // This machine's own files too, as many as a reader of it asks for.
    let live = Root::live().recording();
    read(&live);
    let plants = wholes().join(" | ");
    let blob: Vec<u8> =
        [&[0xff, 0][..], &bytes_of(MAC), &[0xfe], SERIAL.as_bytes(), &[0], HOST.as_bytes()]
            .concat();
    for mut answers in [answers(&dir), live.into_answers()] {
        let paths: Vec<String> = answers.files.keys().cloned().collect();
        assert!(paths.len() > 10);
        for (path, fact) in &mut answers.files {
            if let Fact::Known { value, .. } = fact {
                *value = match value {
                    Content::Text(text) => {
                        // Eight digits in a mask of CPUs are those of a mask.
                        let words = ["| 0a4d5863 ", "| 63584d0a "];
                        let plants = match super::kind(path) {
                            Kind::Mask => {
                                words.iter().fold(plants.clone(), |p, w| p.replace(w, ""))
                            }
                            _ => plants.clone(),
                        };
                        Content::Text(format!("{text}\n{plants}\n\t{MAC}\n"))
                    }
                    Content::Hex(_) if path == TABLE => continue,
                    Content::Hex(_) => Content::of(&blob),
                };
            }
        }
        let why = Fact::malformed("/x", format!("'{MAC}' of {HOST}"));
        answers.files.insert("sys/x/malformed".to_owned(), why);
        answers
            .files
            .insert("sys/x/blob".to_owned(), Fact::known(Content::of(&blob), "/sys/x/blob"));
        nothing_leaks(&write(answers, &owner()), &[]);
    }
    drop(std::fs::remove_dir_all(dir));
}

#[test]
fn a_host_called_like_a_part_of_every_machine_keeps_its_parts() {
    let mut answers = Answers::default();
    let mut put = |path: &str, text: &str| {
        let fact = Fact::known(Content::Text(text.to_owned()), format!("/{path}"));
        answers.files.insert(path.to_owned(), fact);
    };
    put(HOST_NAME, "intel");
    put("proc/cpuinfo", "model name : Intel(R) Xeon(R) Gold 6248\nvendor_id : GenuineIntel\n");
    put("sys/devices/system/node/node1/cpulist", "0-3");
    let text = write(answers, &Owner { names: vec!["node1".to_owned()], ..Owner::default() });
    assert!(text.contains("Intel(R) Xeon(R) Gold 6248") && text.contains("node/node1/"), "{text}");
}

#[test]
fn drives_and_system_come_back_and_what_owners_name_does_not() {
    let dir = machine("drives");
    let pretty = "PRETTY_NAME=\"Rocky Linux 10.0.0.1 (X)\"";
    put(
        &dir,
        "usr/lib/os-release",
        &format!("NAME=Rocky\n{pretty}\nSUPPORT_URL=https://acme.example\n"),
    );
    put(&dir, "sys/class/dmi/id/chassis_type", "23\n");
    let link = |path: &str, target: &str| {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        std::os::unix::fs::symlink(target, path).expect("link");
    };
    link("etc/os-release", "../usr/lib/os-release");
    let disk = "sys/devices/pci0000:00/0000:00:17.0/host0/port-0:1/end_device-0:1/target0:0:1/0:0:1:0/block/sda";
    let array = "sys/devices/virtual/block/md_acme-billing";
    for (name, way) in [("sda", disk), ("md_acme-billing", array)] {
        put(&dir, &format!("{way}/size"), "1875385008\n");
        link(&format!("sys/block/{name}"), &format!("../../{way}"));
    }
    put(&dir, &format!("{disk}/device/vendor"), "ATA\n");
    put(&dir, &format!("{disk}/device/model"), "SSDSC2KB960G7\n");
    put(&dir, &format!("{disk}/device/wwid"), "naa.55cd2e414f123456\n");
    put(&dir, &format!("{disk}/queue/rotational"), "0\n");
    let host = read(&Root::at(&dir));
    assert_eq!(host.drives.value().map(Vec::len), Some(1));
    let text = write(answers(&dir), &owner());
    for secret in ["acme", "55cd2e414f123456", "SUPPORT_URL"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let again = read(&Root::replay(parse(&text).expect("a capture")));
    let facts = |host: &narrows_model::host::Host| {
        (host.system.clone(), host.chassis.clone(), host.drives.clone())
    };
    assert_eq!(facts(&again), facts(&host));
    assert_eq!(host.system.value().map(String::as_str), Some("Rocky Linux 10.0.0.1 (X)"));
    drop(std::fs::remove_dir_all(dir));
}
