//! Advice on each fast NIC. What ethtool, ip or tc changes is said and left to the user: many
//! drivers take the link down for it, and what a driver rounds to cannot be put back exactly.

use super::worth::{self, Seen};
use super::{Advisor, Profile, Recommendation, Worth, sources};
use narrows_model::Fact;
use narrows_model::host::{Nic, Steering};
use narrows_model::result::{Missing, Unclear};

/// A NIC of this rate needs more than the usual settings.
const FAST_BPS: f64 = 10e9;
/// Rings of this many descriptors hold some hundred microseconds at 100 Gb/s.
const RING: u32 = 8192;
/// From this kernel on ESnet no longer advises longer rings.
const RINGS_UNTIL: (u32, u32) = (6, 11);
/// The largest frames that nearly all NICs and switches carry, in bytes of IP.
const JUMBO: u64 = 9000;
/// The largest read request that PCI Express has, in bytes.
const READ_REQUEST: u64 = 4096;
/// What the kernel hands a NIC at once unless it is told otherwise, in bytes.
const USUAL_SEGMENT: u64 = 65_536;
/// What `ip link set gso_max_size` takes at most on kernels from 6.3 on, in ESnet's words.
const BIG_SEGMENT: u64 = 150_000;

pub(super) fn look(advisor: &mut Advisor<'_>) {
    let nics: Vec<Nic> = advisor
        .host
        .physical_nics()
        .filter(|nic| nic.speed_bps.value().is_some_and(|speed| speed.0 >= FAST_BPS))
        .cloned()
        .collect();
    for nic in &nics {
        frames(advisor, nic);
        interrupts(advisor, nic);
        coalescing(advisor, nic);
        read_requests(advisor, nic);
        if advisor.is_for(&[Profile::Throughput, Profile::Packets]) {
            rings(advisor, nic);
            steering(advisor, nic);
        }
        if advisor.is_for(&[Profile::Throughput]) {
            queueing(advisor, nic);
            big_segments(advisor, nic);
            follow_the_application(advisor, nic);
        }
        if advisor.is_for(&[Profile::Throughput, Profile::Rdma]) {
            pause(advisor, nic);
        }
    }
}

fn frames(advisor: &mut Advisor<'_>, nic: &Nic) {
    if !advisor.is_for(&[Profile::Throughput, Profile::Rdma, Profile::Mpi]) {
        return;
    }
    let now = nic.mtu_bytes.value().map_or(JUMBO, |mtu| mtu.0);
    let worth = worth::of_rate(
        &Seen::now(advisor.host, nic),
        &Seen::with(advisor.host, nic, "mtu", &JUMBO.to_string()),
    );
    advisor.weigh(
        &nic.mtu_bytes.clone().map(|mtu| mtu.0),
        Recommendation {
            setting: &format!("nic.{}.mtu", nic.name),
            wanted: (now < JUMBO).then(|| JUMBO.to_string()),
            because: "fewer packets a byte; every port and switch on the way must carry them",
            source: sources::ESNET_LINUX,
            worth: worth.filter(|_| advisor.profile == Profile::Throughput),
            files: Vec::new(),
            commands: vec![format!("ip link set dev {} mtu {JUMBO}", nic.name)],
        },
    );
}

/// Interrupts belong on the node that the NIC hangs on.
fn interrupts(advisor: &mut Advisor<'_>, nic: &Nic) {
    if advisor.host.nodes.len() < 2 {
        return;
    }
    let setting = format!("nic.{}.interrupt-cpus", nic.name);
    let Some(node) = nic.node.value().copied() else {
        return advisor.told.lacks(&setting, Missing::fact("node", &nic.node));
    };
    let all = advisor.host.cpu.places.iter().filter(|place| place.node == Some(node));
    let near: Vec<u32> = all.map(|place| place.cpu).collect();
    let far = nic.irq_cpus.value().is_some_and(|cpus| cpus.iter().any(|cpu| !near.contains(cpu)));
    let wanted = far.then(|| format!("those of node {node}"));
    let numbers = nic.irqs.value().into_iter().flatten();
    let files = numbers.map(|irq| format!("/proc/irq/{}/smp_affinity_list", irq.number));
    let list = near.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    advisor.weigh(
        &nic.irq_cpus.clone().map(|cpus| format!("CPUs {cpus:?}")),
        Recommendation {
            setting: &setting,
            wanted,
            because: "an interrupt on the other processor touches all data across the link",
            source: sources::ESNET_100G,
            worth: Worth::published(
                (1.0, 1.24),
                "throughput of a NIC on the processor that works",
                "Dell, SNAP I/O",
            ),
            // irqbalance moves them again, and managed ones refuse.
            files: Vec::new(),
            commands: files.map(|file| format!("echo {list} > {file}")).collect(),
        },
    );
    if nic.irq_cpus.value().is_some() {
        balance_daemon(advisor);
    }
}

/// The daemon moves interrupts while it runs; said once, however many NICs there are.
fn balance_daemon(advisor: &mut Advisor<'_>) {
    let setting = "irq.balance-daemon";
    if advisor.told.knows(setting) || !advisor.is_for(&[Profile::Latency, Profile::Packets]) {
        return;
    }
    let fact = advisor.fact(setting);
    if matches!(fact, Fact::Absent { .. }) {
        return advisor.told.fine.push(setting.to_owned());
    }
    advisor.weigh(
        &fact,
        Recommendation {
            setting,
            wanted: Some("stopped, or without this NIC's interrupts".to_owned()),
            because: "it moves interrupts away from where they were put",
            source: sources::AMD_NETWORK,
            worth: None,
            files: Vec::new(),
            commands: vec!["systemctl stop irqbalance".to_owned()],
        },
    );
}

fn coalescing(advisor: &mut Advisor<'_>, nic: &Nic) {
    let Some(set) = nic.coalescing.value().copied() else {
        if advisor.is_for(&[Profile::Throughput, Profile::Latency, Profile::Packets]) {
            let setting = format!("nic.{}.coalescing", nic.name);
            advisor.told.lacks(&setting, Missing::fact("coalescing", &nic.coalescing));
        }
        return;
    };
    let text = if set.adaptive_rx { "adaptive".to_owned() } else { format!("{} us", set.rx_us) };
    let now = Seen::now(advisor.host, nic);
    let name = &nic.name;
    let (wanted, because, command, worth) = match advisor.profile {
        Profile::Latency => (
            (set.adaptive_rx || set.rx_us > 0).then(|| "0 us".to_owned()),
            "each packet raises its interrupt at once; costs CPU time under load",
            format!("ethtool -C {name} adaptive-rx off rx-usecs 0"),
            worth::of_wait(&now, f64::from(set.rx_us.max(1)), "the NIC's own wait"),
        ),
        Profile::Throughput | Profile::Packets => (
            (!set.adaptive_rx && set.rx_us == 0).then(|| "adaptive".to_owned()),
            "an interrupt for each packet takes the CPU time that the stream needs",
            format!("ethtool -C {name} adaptive-rx on adaptive-tx on"),
            None,
        ),
        Profile::Rdma | Profile::Mpi => return,
    };
    advisor.weigh(
        &Fact::known(text, nic.coalescing.source().0.clone()),
        Recommendation {
            setting: &format!("nic.{name}.coalescing"),
            wanted,
            because,
            source: sources::ESNET_100G,
            worth,
            files: Vec::new(),
            commands: vec![command],
        },
    );
}

/// What the NIC asks memory for at once, at the function itself.
fn read_requests(advisor: &mut Advisor<'_>, nic: &Nic) {
    if advisor.is_for(&[Profile::Latency]) {
        return;
    }
    let setting = format!("nic.{}.max-read-request", nic.name);
    let Some(function) = nic.path.last() else {
        return advisor.told.lacks(&setting, Unclear::NotOnPci.into());
    };
    let now = function.express.clone().map(|express| express.max_read_request_bytes.0);
    let small = now.value().is_some_and(|bytes| *bytes < READ_REQUEST);
    advisor.weigh(
        &now,
        Recommendation {
            setting: &setting,
            wanted: small.then(|| READ_REQUEST.to_string()),
            because: "what is sent is fetched from memory in fewer requests",
            source: sources::AMD_NETWORK,
            worth: None,
            // A register of the device, which no file holds.
            files: Vec::new(),
            commands: vec![format!("setpci -s {} CAP_EXP+08.w=5000:7000", function.address)],
        },
    );
}

fn rings(advisor: &mut Advisor<'_>, nic: &Nic) {
    let name = &nic.name;
    let Some(rings) = nic.rings.value().copied() else {
        let setting = format!("nic.{name}.rx-ring");
        return advisor.told.lacks(&setting, Missing::fact("rings", &nic.rings));
    };
    let new = kernel_of(advisor).is_some_and(|kernel| kernel >= RINGS_UNTIL);
    let advised = advisor.profile == Profile::Packets || !new;
    let both = [("rx", rings.rx, rings.rx_max), ("tx", rings.tx, rings.tx_max)];
    for (way, now, most) in both {
        let wanted = most.min(RING);
        advisor.weigh(
            &Fact::known(now.to_string(), nic.rings.source().0.clone()),
            Recommendation {
                setting: &format!("nic.{name}.{way}-ring"),
                wanted: (now < wanted && advised).then(|| wanted.to_string()),
                because: "a longer ring holds a burst until the CPU comes; fewer buffers stay in \
                          the caches (ESnet advises it before kernel 6.11)",
                source: sources::ESNET_100G,
                worth: None,
                files: Vec::new(),
                commands: vec![format!("ethtool -G {name} {way} {wanted}")],
            },
        );
    }
}

/// The kernel's version, its first two numbers.
fn kernel_of(advisor: &Advisor<'_>) -> Option<(u32, u32)> {
    let mut numbers = advisor.host.kernel.value()?.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Receive queues and transmit queues beside CPUs.
fn steering(advisor: &mut Advisor<'_>, nic: &Nic) {
    let name = &nic.name;
    let Some(queues) = nic.queues.value().copied() else {
        return advisor
            .told
            .lacks(&format!("nic.{name}.rps"), Missing::fact("queues", &nic.queues));
    };
    let cpus = advisor.host.cpu.online.value().map_or(0, Vec::len) as u32;
    let steering = &nic.steering;
    let is_short = queues.rx * 4 <= cpus;
    let spread = steering.value().is_some_and(|set| set.rps_queues == 0) && is_short;
    let dir = format!("/sys/class/net/{name}/queues");
    advisor.weigh(
        &steering.map_of(|set| format!("{} of {} queues", set.rps_queues, queues.rx)),
        Recommendation {
            setting: &format!("nic.{name}.rps"),
            wanted: spread.then(|| format!("all {} queues", queues.rx)),
            because: "fewer receive queues than CPUs: others take over packets; useless where every \
                      CPU has a queue",
            source: sources::KERNEL_SCALING,
            worth: None,
            files: Vec::new(),
            commands: vec![format!("for q in {dir}/rx-*; do echo MASK > $q/rps_cpus; done")],
        },
    );
    let unmapped = steering.value().is_some_and(|set| set.xps_queues == 0) && queues.tx > 1;
    advisor.weigh(
        &steering.map_of(|set| format!("{} of {} queues", set.xps_queues, queues.tx)),
        Recommendation {
            setting: &format!("nic.{name}.xps"),
            wanted: unmapped.then(|| format!("all {} queues", queues.tx)),
            because: "each CPU sends through a queue of its own, whose completions come back to it",
            source: sources::KERNEL_SCALING,
            worth: None,
            files: Vec::new(),
            commands: vec![format!("for q in {dir}/tx-*; do echo MASK > $q/xps_cpus; done")],
        },
    );
}

/// Facts of steering as text.
trait AsText {
    fn map_of(&self, text: impl Fn(&Steering) -> String) -> Fact<String>;
}

impl AsText for Fact<Steering> {
    fn map_of(&self, text: impl Fn(&Steering) -> String) -> Fact<String> {
        self.clone().map(|set| text(&set))
    }
}

/// Packets are taken in where the application reads them.
fn follow_the_application(advisor: &mut Advisor<'_>, nic: &Nic) {
    let name = &nic.name;
    let now = nic.steering.map_of(|set| match set.accelerated {
        Some(true) => "the NIC follows the application".to_owned(),
        _ if set.rfs_queues > 0 => "the kernel follows the application".to_owned(),
        _ => "off".to_owned(),
    });
    let off = nic.steering.value().is_some_and(|set| set.rfs_queues == 0);
    let flows = "echo 2048 > $q/rps_flow_cnt";
    advisor.weigh(
        &now,
        Recommendation {
            setting: &format!("nic.{name}.rfs"),
            wanted: off.then(|| "the NIC or the kernel follows the application".to_owned()),
            because: "packets are taken in on the CPU whose caches the reader uses; with few flows \
                      one CPU then does all of it",
            source: sources::KERNEL_SCALING,
            worth: Worth::published(
                (1.06, 1.30),
                "one stream: 26.6 to 28.3 Gb/s a core at MTU 1500, 32.5 to 42.2 Gb/s at 9000",
                sources::STACK_STUDY,
            ),
            files: Vec::new(),
            commands: vec![
                "sysctl -w net.core.rps_sock_flow_entries=32768".to_owned(),
                format!("for q in /sys/class/net/{name}/queues/rx-*; do {flows}; done"),
                format!("ethtool -K {name} ntuple on"),
            ],
        },
    );
}

/// The discipline that the interface has now.
fn queueing(advisor: &mut Advisor<'_>, nic: &Nic) {
    let name = &nic.name;
    let setting = format!("nic.{name}.qdisc");
    if nic.qdisc.value().is_some_and(|now| now == "mq") {
        return advisor.told.lacks(&setting, Unclear::DisciplinesUnderMq.into());
    }
    let plain = nic.qdisc.value().is_some_and(|now| now == "pfifo_fast");
    advisor.weigh(
        &nic.qdisc,
        Recommendation {
            setting: &setting,
            wanted: plain.then(|| "fq".to_owned()),
            because: "fq paces each flow (`narrows tcp --pacing`, SO_MAX_PACING_RATE), so that \
                      streams do not step on each other",
            source: sources::ESNET_100G,
            worth: None,
            files: Vec::new(),
            commands: vec![format!("tc qdisc replace dev {name} root fq")],
        },
    );
}

/// Segments beyond 64 KiB, which the stack handles as one.
fn big_segments(advisor: &mut Advisor<'_>, nic: &Nic) {
    let name = &nic.name;
    let small = nic.gso_max_bytes.value().is_some_and(|bytes| bytes.0 <= USUAL_SEGMENT);
    let (v4, v6) =
        (format!("gso_ipv4_max_size {BIG_SEGMENT}"), format!("gso_max_size {BIG_SEGMENT}"));
    let receive = format!("gro_ipv4_max_size {BIG_SEGMENT} gro_max_size {BIG_SEGMENT}");
    advisor.weigh(
        &nic.gso_max_bytes.clone().map(|bytes| bytes.0),
        Recommendation {
            setting: &format!("nic.{name}.big-tcp"),
            wanted: small.then(|| BIG_SEGMENT.to_string()),
            because: "fewer passes through the stack a byte; needs kernel 6.3 (IPv4), a driver that \
                      can, and nothing on the host that cannot take such segments",
            source: sources::ESNET_100G,
            worth: None,
            files: Vec::new(),
            commands: vec![format!("ip link set dev {name} {v4} {v6} {receive}")],
        },
    );
}

/// Pause frames keep a NIC's buffer from overflowing while its host is late.
fn pause(advisor: &mut Advisor<'_>, nic: &Nic) {
    let name = &nic.name;
    let off = nic.pause.value().is_some_and(|pause| !pause.rx || !pause.tx);
    advisor.weigh(
        &nic.pause.clone().map(|set| format!("rx {}, tx {}", word(set.rx), word(set.tx))),
        Recommendation {
            setting: &format!("nic.{name}.pause"),
            wanted: off.then(|| "rx on, tx on".to_owned()),
            because: "the switch waits while the host is late, and drops nothing; one slow host \
                      then slows others behind the same port, and priority flow control excludes it",
            source: sources::ESNET_100G,
            worth: None,
            files: Vec::new(),
            commands: vec![format!("ethtool -A {name} rx on tx on")],
        },
    );
}

fn word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
