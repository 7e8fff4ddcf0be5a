//! Advice on the network's stack and cards.

use super::{Desk, Profile, Wish, Worth};
use narrows_model::Fact;
use narrows_model::host::Nic;
use narrows_model::result::Missing;

/// Round trip of a busy local network, in seconds (assumed).
const ROUND_TRIP_S: f64 = 0.001;
/// A NIC of this rate needs more than the usual settings.
const FAST_BPS: f64 = 10e9;

pub(super) fn look(desk: &mut Desk<'_>, profile: Profile) {
    match profile {
        Profile::Throughput => throughput(desk),
        Profile::Latency => latency(desk),
        Profile::Packets => packets(desk),
        // Verbs bypass the stack; both still set up their connections over it.
        Profile::Rdma | Profile::Mpi => {}
    }
    let nics: Vec<Nic> = desk.host.physical_nics().cloned().collect();
    for nic in &nics {
        card(desk, profile, nic);
    }
}

/// Limits that follow from the rate of the fastest link.
const BUFFERS: [&str; 4] =
    ["net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

fn arithmetic(says: String) -> Option<Worth> {
    Some(Worth { says, from: "window / round trip".to_owned() })
}

fn throughput(desk: &mut Desk<'_>) {
    // Half of a buffer is offered as window (tcp_adv_win_scale, tcp(7)).
    let needed = desk.fastest_bps().map(|bps| (2.0 * bps / 8.0 * ROUND_TRIP_S).ceil() as u64);
    if let Some(needed) = needed {
        let because = "one flow needs rate x round trip on its way (1 ms assumed)";
        for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
            let largest = desk.host.tuning.get(name).and_then(|fact| third(fact.value()?));
            let worth = largest.and_then(|largest| {
                let rate = |bytes: u64| bytes as f64 / 2.0 * 8.0 / ROUND_TRIP_S / 1e9;
                arithmetic(format!(
                    "one TCP flow over 1 ms: up to {:.1} in place of {:.1} Gb/s; none where the round \
                     trip is shorter",
                    rate(needed.max(largest)),
                    rate(largest)
                ))
            });
            desk.sysctl(name, because, worth, |now| {
                let words: Vec<&str> = now.split_whitespace().collect();
                let [least, usual, most] = words[..] else { return None };
                let short = most.parse::<u64>().is_ok_and(|most| most < needed);
                short.then(|| format!("{least} {usual} {needed}"))
            });
        }
        let because = "a program that asks for a buffer (iperf -w, UDP receivers) gets no more";
        for name in ["net.core.rmem_max", "net.core.wmem_max"] {
            desk.sysctl_at_least(name, needed, because, None);
        }
    }
    if needed.is_none() {
        for name in BUFFERS {
            desk.told.lacks(name, Missing::knowledge("no NIC here tells its rate"));
        }
    }
    for (name, because) in [
        ("net.ipv4.tcp_window_scaling", "without it no window is larger than 64 KiB"),
        ("net.ipv4.tcp_sack", "without it one lost segment costs a window"),
        ("net.ipv4.tcp_timestamps", "round trips are measured by them"),
        ("net.ipv4.tcp_moderate_rcvbuf", "receive buffers then grow with the flow"),
    ] {
        desk.sysctl_is(name, "1", because, None);
    }
}

fn third(text: &str) -> Option<u64> {
    text.split_whitespace().nth(2)?.parse().ok()
}

fn latency(desk: &mut Desk<'_>) {
    let because = "a blocked reader polls its queue so many us before it sleeps; costs CPU time";
    let worth = || {
        Some(Worth {
            says:
                "round trips of a blocking reader: shorter by up to a wake-up (some us to tens); \
                   none over loopback or veth"
                    .to_owned(),
            from: "kernel, Documentation/admin-guide/sysctl/net.rst: 50 is the advised value"
                .to_owned(),
        })
    };
    for name in ["net.core.busy_poll", "net.core.busy_read"] {
        desk.sysctl(name, because, worth(), |now| (now == "0").then(|| "50".to_owned()));
    }
    let because = "a connection that paused begins again at its full window";
    desk.sysctl_is("net.ipv4.tcp_slow_start_after_idle", "0", because, None);
}

fn packets(desk: &mut Desk<'_>) {
    let because = "packets that a CPU may take before it must pause";
    desk.sysctl_at_least("net.core.netdev_budget", 600, because, None);
    let because = "a burst waits in the socket while its program is away";
    desk.sysctl_at_least("net.core.rmem_max", 16 << 20, because, None);
    desk.sysctl_at_least("net.core.netdev_max_backlog", 4096, because, None);
}

/// What ethtool changes is said, and left to the user: many drivers take the link down for it.
fn card(desk: &mut Desk<'_>, profile: Profile, nic: &Nic) {
    if !nic.speed_bps.value().is_some_and(|speed| speed.0 >= FAST_BPS) {
        return;
    }
    let name = &nic.name;
    if matches!(profile, Profile::Throughput | Profile::Packets)
        && let Some(rings) = nic.rings.value()
    {
        let wanted = rings.rx_max.min(4096);
        let text = Fact::known(rings.rx.to_string(), nic.rings.source().0.clone());
        desk.weigh(
            &text,
            Wish {
                setting: &format!("nic.{name}.rx-ring"),
                wanted: (rings.rx < wanted).then(|| wanted.to_string()),
                because: "a longer ring holds a burst until the CPU comes",
                worth: None,
                files: Vec::new(),
                commands: vec![format!("ethtool -G {name} rx {wanted}")],
            },
        );
    }
    if profile == Profile::Latency
        && let Some(coalescing) = nic.coalescing.value()
    {
        let text = if coalescing.adaptive_rx {
            "adaptive".to_owned()
        } else {
            format!("{} us", coalescing.rx_us)
        };
        let waits = coalescing.adaptive_rx || coalescing.rx_us > 0;
        desk.weigh(
            &Fact::known(text, nic.coalescing.source().0.clone()),
            Wish {
                setting: &format!("nic.{name}.coalescing"),
                wanted: waits.then(|| "0 us".to_owned()),
                because: "each packet raises its interrupt at once; costs CPU time under load",
                worth: Some(Worth {
                    says: format!(
                        "round trips: shorter by up to {} us at each end",
                        coalescing.rx_us.max(1)
                    ),
                    from: "the card's own wait".to_owned(),
                }),
                files: Vec::new(),
                commands: vec![format!("ethtool -C {name} adaptive-rx off rx-usecs 0")],
            },
        );
    }
}
