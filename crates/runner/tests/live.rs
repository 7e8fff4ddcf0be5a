//! Known answers of the real world's parts that the simulation stands in for: clocks, and the
//! settings of two namespaces. Namespaces need root.

use narrows_hostctl::namespaces::{MTU_BYTES, Namespaces};
use narrows_model::host::{Host, Irq, Nic};
use narrows_model::trial::NetworkPath;
use narrows_model::{Fact, Nanos};
use narrows_runner::live::{LiveClock, LiveSettings};
use narrows_runner::outside::{Clock, HostSettings};
use narrows_runner::{Setting, SettingError, Site};
use std::path::Path as File;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A site whose interface has two interrupts.
fn site() -> Site {
    let irq = |number| Irq {
        number,
        name: None,
        allowed_cpus: Vec::new(),
        effective_cpus: Vec::new(),
        node: None,
    };
    let nic = |name: &str, irqs| Nic {
        name: name.into(),
        irqs: Fact::known(irqs, "test"),
        ..Nic::default()
    };
    let other = nic("narrows-other", vec![irq(35)]);
    let nics = vec![nic("narrows-none", vec![irq(33), irq(34)]), other];
    let host = Host { nics, ..Host::default() };
    let interface = Some("narrows-none".into());
    Site { host, peers: Vec::new(), path: NetworkPath::Peer, interface }
}

#[test]
fn the_clock_tells_unix_time_and_waits_no_longer_than_it_is_told() {
    let (clock, never) = (LiveClock::start(), AtomicBool::new(false));
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    assert!((clock.now().seconds() - unix.as_secs_f64()).abs() < 60.0);
    let until = Nanos(clock.now().0 + 120_000_000);
    let began = Instant::now();
    clock.wait_until(until, &never);
    assert!(clock.now() >= until && began.elapsed() >= Duration::from_millis(110));
    assert!(clock.elapsed() >= began.elapsed());
    // Who stops does not wait.
    let began = Instant::now();
    clock.wait_until(Nanos(clock.now().0 + 3_600_000_000_000), &AtomicBool::new(true));
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn settings_of_a_host_belong_to_its_interface() {
    let (site, binary) = (site(), File::new("/nonexistent"));
    let mut settings = LiveSettings::new(&site, None, binary);
    let files = ["/proc/irq/33/smp_affinity_list", "/proc/irq/34/smp_affinity_list"];
    assert_eq!(settings.interrupts(None), files);
    let other = settings.interrupts(Some("narrows-other"));
    assert_eq!(other, ["/proc/irq/35/smp_affinity_list"], "of the NIC that a cell is bound to");
    assert!(!settings.has_routes(), "those of a host are its owner's");
    let why = settings.get(&Setting::Mtu).expect_err("no such interface").to_string();
    assert!(why.contains("/sys/class/net/narrows-none/mtu"), "{why}");
    assert!(matches!(settings.get(&Setting::Congestion), Err(SettingError::NoInterface(_))));
    let slow_start = Setting::Kernel("net.ipv4.tcp_slow_start_after_idle".into());
    let is = settings.get(&slow_start).expect("every kernel has it");
    let of_kernel = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_slow_start_after_idle");
    assert_eq!(is, of_kernel.expect("readable").trim());
    // What it is already needs no guard, and nothing is written.
    settings.set(&slow_start, &is).expect("it is so");
    let other = if is == "0" { "1" } else { "0" };
    assert!(settings.set(&slow_start, other).is_err(), "without a guard nothing is changed");
    assert_eq!(settings.get(&slow_start).expect("still there"), is);
    let nowhere = Site { interface: None, ..site };
    let mut settings = LiveSettings::new(&nowhere, None, binary);
    assert!(settings.interrupts(None).is_empty());
    for setting in [Setting::Mtu, Setting::Offload("gro".into()), Setting::Coalescing("rx-usecs")] {
        let got = settings.get(&setting);
        assert!(matches!(&got, Err(SettingError::NoInterface(of)) if *of == setting), "{got:?}");
    }
}

#[test]
fn settings_of_namespaces_are_made_in_both() {
    let Ok(pair) = Namespaces::make() else {
        eprintln!("skipped: settings_of_namespaces: none can be made");
        return;
    };
    let (site, binary) = (site(), File::new("/nonexistent"));
    let mut settings = LiveSettings::new(&site, Some(&pair), binary);
    assert!(settings.interrupts(None).is_empty() && settings.has_routes());
    let gro = Setting::Offload("gro".into());
    let sack = Setting::Kernel("net.ipv4.tcp_sack".into());
    let changes = [
        (Setting::Mtu, MTU_BYTES.to_string(), "4000".to_owned()),
        (gro.clone(), settings.get(&gro).expect("veth has it"), "off".to_owned()),
        (sack.clone(), settings.get(&sack).expect("a setting"), "0".to_owned()),
        (Setting::Congestion, String::new(), "reno".to_owned()),
    ];
    for (setting, was, other) in &changes {
        assert_eq!(settings.get(setting).expect("read"), *was, "{setting}");
        for value in [other, other, was, other] {
            settings.set(setting, value).unwrap_or_else(|why| panic!("{setting}={value}: {why}"));
            assert_eq!(settings.get(setting).expect("read"), *value, "{setting}");
        }
    }
    assert_eq!(pair.sysctl("net.ipv4.tcp_sack").expect("read"), "0");
    assert!(!pair.offload("gro").expect("read"));
    // A number that is none changes nothing, and the next one is made all the same.
    assert!(settings.set(&Setting::Mtu, "many").is_err());
    settings.set(&Setting::Mtu, "1280").expect("made");
    assert_eq!(settings.get(&Setting::Mtu).expect("read"), "1280");
    assert!(settings.set(&Setting::Interrupt("/proc/irq/1".into()), "0").is_err());
    assert!(settings.set(&Setting::Mtu, "7").is_err(), "below what the kernel takes");
    assert_ne!(settings.get(&Setting::Mtu).expect("read"), "1280", "it is not known any more");
}
