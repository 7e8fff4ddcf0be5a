//! Every setting of the makers' and ESnet's lists: advised where it is not as it should be, fine
//! where it is, unknown where it cannot be read.

mod common;

use common::{is_as_kept, kept};
use narrows_explain::tune::{Advice, Advised, Basis, PROFILES, Profile, advise};
use narrows_model::host::{
    Coalescing, Cpu, CpuPlace, Express, Host, IdleState, Irq, Nic, Node, Pause, PciHop, Queues,
    Rings, Steering,
};
use narrows_model::{BitsPerSecond, Bytes, Fact};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "test")
}

/// Settings as a distribution leaves them, or worse.
const SETTINGS: [(&str, &str); 27] = [
    ("cpu.governor", "powersave"),
    ("cpu.smt", "on"),
    ("cpu.turbo", "off"),
    ("iommu", "DMA-FQ for 41 groups"),
    ("irq.balance-daemon", "irqbalance runs"),
    ("kernel.numa_balancing", "1"),
    ("mm.transparent_hugepage", "always madvise [never]"),
    ("net.core.busy_poll", "0"),
    ("net.core.busy_read", "0"),
    ("net.core.default_qdisc", "pfifo_fast"),
    ("net.core.netdev_budget", "300"),
    ("net.core.netdev_max_backlog", "1000"),
    ("net.core.optmem_max", "20480"),
    ("net.core.rmem_max", "212992"),
    ("net.core.wmem_max", "212992"),
    ("net.ipv4.tcp_moderate_rcvbuf", "0"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    ("net.ipv4.tcp_no_metrics_save", "0"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_sack", "0"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_timestamps", "0"),
    ("net.ipv4.tcp_window_scaling", "0"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("pci.aspm-policy", "default performance [powersave] powersupersave"),
    ("process.memlock", "8388608"),
    ("vm.zone_reclaim_mode", "1"),
];

/// Two sockets of four CPUs and a NIC of 100 Gb/s on the first; every setting as a distribution
/// leaves it.
fn untuned() -> Host {
    let nic = Nic {
        name: "e0".into(),
        physical: true,
        speed_bps: known(BitsPerSecond(100e9)),
        mtu_bytes: known(Bytes(1500)),
        node: known(0),
        irq_cpus: known(vec![0, 5]),
        irqs: known(vec![Irq {
            number: 33,
            name: None,
            allowed_cpus: vec![5],
            effective_cpus: vec![5],
            node: Some(1),
        }]),
        queues: known(Queues { rx: 1, tx: 8 }),
        qdisc: known("pfifo_fast".into()),
        gso_max_bytes: known(Bytes(65_536)),
        rings: known(Rings { rx: 1024, rx_max: 8192, tx: 1024, tx_max: 8192 }),
        coalescing: known(coalescing(0, false)),
        pause: known(Pause { negotiated: false, rx: false, tx: false }),
        steering: known(Steering { accelerated: Some(false), ..Steering::default() }),
        path: vec![PciHop {
            address: "0000:3b:00.0".into(),
            express: known(Express {
                max_payload_bytes: Bytes(256),
                max_payload_supported_bytes: Bytes(512),
                max_read_request_bytes: Bytes(512),
                relaxed_ordering: false,
                link_sleeps: false,
            }),
            ..PciHop::default()
        }],
        ..Nic::default()
    };
    let place = |cpu: u32| CpuPlace {
        cpu,
        package: Some(cpu / 4),
        node: Some(cpu / 4),
        ..CpuPlace::default()
    };
    let mut host = Host { nics: vec![nic], kernel: known("5.14.0-1".into()), ..Host::default() };
    host.cpu = Cpu {
        model: known("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz".into()),
        online: known((0..8).collect()),
        places: (0..8).map(place).collect(),
        isolated: known(vec![]),
        idle_states: known(vec![IdleState {
            name: "C6".into(),
            exit_latency_us: 133,
            disabled_on: 0,
        }]),
        ..Cpu::default()
    };
    host.nodes = vec![Node::default(), Node { id: 1, ..Node::default() }];
    for (name, value) in SETTINGS {
        host.tuning.insert(name.into(), known(value.into()));
    }
    host
}

fn coalescing(rx_us: u32, adaptive: bool) -> Coalescing {
    Coalescing {
        rx_us,
        rx_frames: 0,
        tx_us: 0,
        tx_frames: 0,
        adaptive_rx: adaptive,
        adaptive_tx: adaptive,
    }
}

fn of<'a>(told: &'a Advised, setting: &str) -> Option<&'a Advice> {
    told.advice.iter().find(|advice| advice.setting == setting)
}

/// What is advised on a host whose one setting was changed.
fn with(profile: Profile, change: impl Fn(&mut Host)) -> Advised {
    let mut host = untuned();
    change(&mut host);
    advise(&host, profile, None)
}

/// Advised as `wanted` on the untuned host; not any more with the change; and with a source.
fn turns(profile: Profile, setting: &str, wanted: &str, mend: impl Fn(&mut Host)) {
    let before = advise(&untuned(), profile, None);
    let advice = of(&before, setting).unwrap_or_else(|| panic!("{setting}: {before:?}"));
    assert!(advice.wanted.contains(wanted), "{setting}: {}", advice.wanted);
    assert!(!advice.source.is_empty() && advice.profile == profile, "{advice:?}");
    let after = with(profile, mend);
    assert!(of(&after, setting).is_none(), "{setting} is mended");
    assert!(after.fine.iter().any(|name| name == setting), "{setting}: {:?}", after.fine);
}

fn set(name: &'static str, value: &'static str) -> impl Fn(&mut Host) {
    move |host| {
        host.tuning.insert(name.into(), known(value.into()));
    }
}

fn steer(host: &mut Host, change: impl Fn(&mut Steering)) {
    let mut steering = host.nics[0].steering.value().copied().expect("steering");
    change(&mut steering);
    host.nics[0].steering = known(steering);
}

#[test]
fn sysctls_of_every_profile_turn_fine() {
    use Profile::{Latency, Mpi, Packets, Rdma, Throughput};
    for (profile, setting, wanted, mended) in [
        (Throughput, "net.core.default_qdisc", "fq", "fq_codel"),
        (Throughput, "net.core.optmem_max", "1048576", "1048576"),
        (Throughput, "net.core.rmem_max", "25000000", "25000000"),
        (Throughput, "net.core.wmem_max", "25000000", "99000000"),
        (Throughput, "net.ipv4.tcp_no_metrics_save", "1", "1"),
        (Throughput, "net.ipv4.tcp_rmem", "4096 131072 25000000", "1 2 25000000"),
        (Throughput, "net.ipv4.tcp_wmem", "4096 16384 25000000", "1 2 25000000"),
        (Throughput, "net.ipv4.tcp_sack", "1", "1"),
        (Throughput, "net.ipv4.tcp_timestamps", "1", "1"),
        (Throughput, "net.ipv4.tcp_moderate_rcvbuf", "1", "1"),
        (Throughput, "net.ipv4.tcp_window_scaling", "1", "1"),
        (Throughput, "vm.zone_reclaim_mode", "0", "0"),
        (Throughput, "mm.transparent_hugepage", "madvise", "[always] madvise never"),
        (Throughput, "cpu.governor", "performance", "performance"),
        (Throughput, "cpu.turbo", "on", "on"),
        (Throughput, "cpu.smt", "off", "off"),
        (Throughput, "iommu", "identity", "identity for 41 groups"),
        (Latency, "net.core.busy_poll", "50", "50"),
        (Latency, "net.core.busy_read", "50", "50"),
        (Latency, "net.ipv4.tcp_slow_start_after_idle", "0", "0"),
        (Latency, "kernel.numa_balancing", "0", "0"),
        (Rdma, "pci.aspm-policy", "performance", "default [performance] powersave"),
        (Packets, "net.core.netdev_budget", "600", "600"),
        (Packets, "net.core.netdev_max_backlog", "4096", "4096"),
        (Mpi, "process.memlock", "unlimited", "unlimited"),
    ] {
        turns(profile, setting, wanted, set(setting, mended));
    }
}

#[test]
fn settings_of_a_nic_turn_fine() {
    use Profile::{Latency, Packets, Rdma, Throughput};
    turns(Throughput, "nic.e0.mtu", "9000", |host| host.nics[0].mtu_bytes = known(Bytes(9000)));
    turns(Rdma, "nic.e0.mtu", "9000", |host| host.nics[0].mtu_bytes = known(Bytes(9216)));
    turns(Throughput, "nic.e0.interrupt-cpus", "node 0", |host| {
        host.nics[0].irq_cpus = known(vec![0, 1, 2, 3]);
    });
    turns(Throughput, "nic.e0.coalescing", "adaptive", |host| {
        host.nics[0].coalescing = known(coalescing(8, true));
    });
    for way in ["rx", "tx"] {
        turns(Packets, &format!("nic.e0.{way}-ring"), "8192", |host| {
            host.nics[0].rings = known(Rings { rx: 8192, rx_max: 8192, tx: 8192, tx_max: 8192 });
        });
    }
    turns(Throughput, "nic.e0.rps", "all 1", |host| {
        host.nics[0].queues = known(Queues { rx: 8, tx: 8 });
    });
    turns(Throughput, "nic.e0.xps", "all 8", |host| steer(host, |set| set.xps_queues = 8));
    turns(Throughput, "nic.e0.rfs", "follows", |host| steer(host, |set| set.rfs_queues = 8));
    turns(Throughput, "nic.e0.qdisc", "fq", |host| host.nics[0].qdisc = known("fq".into()));
    turns(Throughput, "nic.e0.big-tcp", "150000", |host| {
        host.nics[0].gso_max_bytes = known(Bytes(150_000));
    });
    turns(Throughput, "nic.e0.pause", "rx on, tx on", |host| {
        host.nics[0].pause = known(Pause { negotiated: true, rx: true, tx: true });
    });
    turns(Throughput, "nic.e0.max-read-request", "4096", |host| {
        let mut express = host.nics[0].path[0].express.value().cloned().expect("express");
        express.max_read_request_bytes = Bytes(4096);
        host.nics[0].path[0].express = known(express);
    });
    let waiting = with(Latency, |host| host.nics[0].coalescing = known(coalescing(50, false)));
    assert_eq!(of(&waiting, "nic.e0.coalescing").expect("advice").wanted, "0 us");
}

#[test]
fn what_firmware_and_the_command_line_set_turns_fine() {
    turns(Profile::Packets, "cpu.isolated", "poll", |host| host.cpu.isolated = known(vec![6, 7]));
    let daemon = |host: &mut Host| {
        let absent = Fact::absent("/run/irqbalance");
        host.tuning.insert("irq.balance-daemon".into(), absent);
    };
    turns(Profile::Latency, "irq.balance-daemon", "stopped", daemon);
    // Four nodes on two sockets: firmware splits each processor.
    let split = with(Profile::Throughput, |host| {
        for place in &mut host.cpu.places {
            place.node = Some(place.cpu / 2);
        }
    });
    let advice = of(&split, "firmware.nodes-per-socket").expect("advice");
    assert_eq!((advice.now.as_str(), advice.wanted.as_str()), ("2", "1"));
    let whole = advise(&untuned(), Profile::Throughput, None);
    assert!(whole.fine.iter().any(|name| name == "firmware.nodes-per-socket"));
    // Large frames are on: TCP should look for what passes.
    let jumbo = with(Profile::Throughput, |host| host.nics[0].mtu_bytes = known(Bytes(9000)));
    assert_eq!(of(&jumbo, "net.ipv4.tcp_mtu_probing").expect("advice").wanted, "1");
    assert!(of(&whole, "net.ipv4.tcp_mtu_probing").is_none());
    // Nothing is translated where there are no groups.
    let bare = with(Profile::Throughput, |host| {
        host.tuning.insert("iommu".into(), Fact::absent("no groups"));
    });
    assert!(bare.fine.iter().any(|name| name == "iommu"), "{:?}", bare.fine);
}

#[test]
fn longer_rings_are_not_advised_on_kernels_for_which_nobody_advises_them() {
    let newer = |profile| with(profile, |host| host.kernel = known("6.12.1".into()));
    assert!(of(&newer(Profile::Throughput), "nic.e0.rx-ring").is_none());
    assert!(of(&newer(Profile::Packets), "nic.e0.rx-ring").is_some(), "of bursts nothing was said");
}

#[test]
fn what_cannot_be_read_is_unknown_and_never_advised() {
    for (_, profile) in PROFILES {
        let mut host = untuned();
        host.tuning.clear();
        host.cpu = Cpu::default();
        let bare = Nic { name: "e0".into(), physical: true, ..Nic::default() };
        host.nics = vec![Nic { speed_bps: known(BitsPerSecond(100e9)), ..bare }];
        let told = advise(&host, profile, None);
        assert!(told.advice.is_empty(), "{profile:?}: {:?}", told.advice);
        assert!(told.unknown.iter().any(|one| one.setting == "cpu.smt"), "{told:?}");
    }
    let under = with(Profile::Throughput, |host| host.nics[0].qdisc = known("mq".into()));
    let unknown = under.unknown.iter().find(|one| one.setting == "nic.e0.qdisc").expect("unknown");
    assert!(unknown.to_string().contains("under mq"), "{unknown}");
}

#[test]
fn what_is_worth_most_comes_first_and_what_nobody_knows_behind_it() {
    for (_, profile) in PROFILES {
        let told = advise(&untuned(), profile, None);
        let place = |advice: &Advice| match &advice.worth {
            Some(worth) if worth.is_worthwhile() => -worth.middle(),
            None => 0.0,
            Some(_) => 1.0,
        };
        assert!(told.advice.is_sorted_by(|a, b| place(a) <= place(b)), "{:?}", told.advice);
    }
    // A window of 6 MiB carries 25 of 100 Gb/s over a millisecond; nothing else here is worth more.
    let bulk = advise(&untuned(), Profile::Throughput, None);
    assert_eq!(bulk.advice[0].setting, "net.ipv4.tcp_wmem");
    let worth = bulk.advice[0].worth.as_ref().expect("worth");
    assert!((worth.high - 100.0 / (4_194_304.0 * 4e3 / 1e9)).abs() < 0.01, "{worth:?}");
    assert_eq!((worth.low, worth.basis), (1.0, Basis::Modelled));
    assert!(bulk.advice.last().is_some_and(|last| last.worth.is_none()));
    // The core that sleeps 133 us deep is worth more to a round trip than polling is.
    let trips = advise(&untuned(), Profile::Latency, None);
    assert_eq!(trips.advice[0].setting, "cpu.idle-state.C6");
}

#[test]
fn larger_frames_are_worth_what_the_model_says_they_are() {
    let told = advise(&untuned(), Profile::Throughput, None);
    let worth = of(&told, "nic.e0.mtu").and_then(|advice| advice.worth.clone()).expect("worth");
    assert_eq!(worth.basis, Basis::Modelled);
    assert!(worth.low > 1.0 && worth.high < 2.0 && worth.low < worth.high, "{worth:?}");
    // At 10 Gb/s the wire is all, and frames change its payload by 5 %.
    let slower = with(Profile::Throughput, |host| {
        host.nics[0].speed_bps = known(BitsPerSecond(10e9));
    });
    let there = of(&slower, "nic.e0.mtu").and_then(|advice| advice.worth.clone()).expect("worth");
    assert!(there.middle() < worth.middle(), "{there:?} {worth:?}");
}

#[test]
fn only_files_that_can_be_put_back_are_written() {
    for (_, profile) in PROFILES {
        for advice in advise(&untuned(), profile, None).advice {
            let safe = |file: &String| {
                let places = ["/proc/sys/", "/sys/devices/system/cpu/", "/sys/kernel/mm/"];
                places.iter().any(|place| file.starts_with(place)) && !file.contains("smt")
            };
            assert!(advice.files.iter().all(safe), "{advice:?}");
            assert!(!advice.commands.is_empty(), "{advice:?}");
        }
    }
}

/// All that is said for each profile: of the host that nobody tuned, of one on which what the
/// profiles ask for is so, and of one of which nothing is known.
#[test]
fn all_that_is_advised_is_as_it_is_kept() {
    let mut text = String::new();
    let hosts = [("untuned", untuned()), ("tuned", tuned()), ("unknown", Host::default())];
    for ((host, of), (name, profile)) in
        hosts.iter().flat_map(|host| PROFILES.map(|profile| (host, profile)))
    {
        let told = advise(of, profile, None);
        text += &format!("{host}, {name}\n");
        for advice in &told.advice {
            text += &format!("  {}\n", kept(advice));
        }
        text += &format!("  fine: {}\n", told.fine.join(" "));
        for unknown in &told.unknown {
            text += &format!("  unknown: {unknown}\n");
        }
    }
    is_as_kept("advised.txt", &text);
}

/// What the profiles ask for that is no matter of taste between them.
fn tuned() -> Host {
    let mut host = untuned();
    for (name, value) in [
        ("cpu.governor", "performance"),
        ("cpu.smt", "off"),
        ("cpu.turbo", "on"),
        ("iommu", "identity for 41 groups"),
        ("kernel.numa_balancing", "0"),
        ("mm.transparent_hugepage", "always [madvise] never"),
        ("net.core.busy_poll", "50"),
        ("net.core.busy_read", "50"),
        ("net.core.default_qdisc", "fq"),
        ("net.core.netdev_budget", "600"),
        ("net.core.netdev_max_backlog", "4096"),
        ("net.core.optmem_max", "1048576"),
        ("net.core.rmem_max", "25000000"),
        ("net.core.wmem_max", "25000000"),
        ("net.ipv4.tcp_rmem", "4096 131072 25000000"),
        ("net.ipv4.tcp_wmem", "4096 16384 24999999"),
        ("net.ipv4.tcp_sack", "1"),
        ("pci.aspm-policy", "default [performance] powersave powersupersave"),
        ("process.memlock", "unlimited"),
        ("vm.zone_reclaim_mode", "0"),
    ] {
        host.tuning.insert(name.into(), known(value.into()));
    }
    let nic = &mut host.nics[0];
    nic.mtu_bytes = known(Bytes(9000));
    nic.irq_cpus = known(vec![0, 1, 2, 3]);
    nic.queues = known(Queues { rx: 4, tx: 4 });
    nic.qdisc = known("fq".into());
    nic.rings = known(Rings { rx: 8192, rx_max: 8192, tx: 4096, tx_max: 8192 });
    nic.coalescing = known(coalescing(0, true));
    nic.pause = known(Pause { negotiated: true, rx: true, tx: true });
    host
}
