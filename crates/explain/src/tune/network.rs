//! Advice on the stack's sysctls.

use super::worth::{self, Seen};
use super::{Advisor, Profile, Reason, Worth, sources};
use narrows_model::result::Unclear;

/// Round trip of a busy local network, in seconds (assumed).
const ROUND_TRIP_S: f64 = 0.001;
/// What `MSG_ZEROCOPY` may keep account of for one socket, in bytes.
const OPTIONS_BYTES: u64 = 1 << 20;

pub(super) fn look(advisor: &mut Advisor<'_>) {
    match advisor.profile {
        Profile::Throughput => throughput(advisor),
        Profile::Latency => latency(advisor),
        Profile::Packets => packets(advisor),
        // Verbs bypass the stack; both still set up their connections over it.
        Profile::Rdma | Profile::Mpi => {}
    }
}

/// Limits that follow from the rate of the fastest link.
const BUFFERS: [&str; 4] =
    ["net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

fn throughput(advisor: &mut Advisor<'_>) {
    match narrows_predict::fastest(advisor.host).and_then(|nic| nic.speed_bps.value()) {
        // Half of a buffer is offered as window (tcp_adv_win_scale, tcp(7)).
        Some(rate) => buffers(advisor, rate.0, (2.0 * rate.0 / 8.0 * ROUND_TRIP_S).ceil() as u64),
        None => {
            for name in BUFFERS {
                advisor.told.lacks(name, Unclear::NicRates.into());
            }
        }
    }
    for (name, because) in [
        ("net.ipv4.tcp_window_scaling", "without it no window is larger than 64 KiB"),
        ("net.ipv4.tcp_sack", "without it one lost segment costs a window"),
        ("net.ipv4.tcp_timestamps", "round trips are measured by them"),
        ("net.ipv4.tcp_moderate_rcvbuf", "receive buffers then grow with the flow"),
    ] {
        advisor.sysctl_is(name, "1", Reason { because, source: sources::KERNEL_IP });
    }
    let because = "a connection does not inherit metrics from an earlier one to that host";
    let source = sources::ESNET_LINUX;
    advisor.sysctl_is("net.ipv4.tcp_no_metrics_save", "1", Reason { because, source });
    let because = "account of buffers that MSG_ZEROCOPY sends from; only for programs that use it";
    advisor.sysctl_at_least("net.core.optmem_max", OPTIONS_BYTES, Reason { because, source });
    pacing(advisor);
    jumbo_paths(advisor);
}

/// Room for what is on its way: rate times round trip.
fn buffers(advisor: &mut Advisor<'_>, rate_bps: f64, needed: u64) {
    let because = "one flow needs rate x round trip in flight (1 ms assumed)";
    let source = sources::ESNET_LINUX;
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let largest = advisor.host.tuning.get(name).and_then(|fact| third(fact.value()?));
        let worth = largest.and_then(|largest| of_window(largest, needed, rate_bps));
        advisor.sysctl(name, Reason { because, source }, worth, |now| {
            let words: Vec<&str> = now.split_whitespace().collect();
            let [least, usual, most] = words[..] else { return None };
            let short = most.parse::<u64>().is_ok_and(|most| most < needed);
            short.then(|| format!("{least} {usual} {needed}"))
        });
    }
    let because = "a program that asks for a buffer (iperf -w, UDP receivers) gets no more";
    for name in ["net.core.rmem_max", "net.core.wmem_max"] {
        advisor.sysctl_at_least(name, needed, Reason { because, source });
    }
}

/// What a larger window is worth to one flow over a millisecond: up to the link's rate; nothing
/// where the round trip is so short that the present one is enough.
fn of_window(largest: u64, needed: u64, rate_bps: f64) -> Option<Worth> {
    let rate = |bytes: u64| (bytes as f64 / 2.0 * 8.0 / ROUND_TRIP_S).min(rate_bps) / 1e9;
    let (now, then) = (rate(largest), rate(needed.max(largest)));
    let says = format!(
        "one TCP flow over 1 ms: up to {then:.1} in place of {now:.1} Gb/s; none where the round \
         trip is shorter"
    );
    Worth::computed((1.0, then / now), says, "window / round trip")
}

fn third(text: &str) -> Option<u64> {
    text.split_whitespace().nth(2)?.parse().ok()
}

/// The discipline that interfaces get when they come up.
fn pacing(advisor: &mut Advisor<'_>) {
    let because = "fq paces each flow, so that bursts do not overrun a slower link on the way; for \
                   interfaces that come up later: `tc qdisc replace dev NAME root fq` for the others";
    let reason = Reason { because, source: sources::ESNET_100G };
    advisor.sysctl("net.core.default_qdisc", reason, None, |now| {
        // The later ones are fair between flows as well, which is what that guide asks for.
        (!matches!(now, "fq" | "fq_codel" | "cake")).then(|| "fq".to_owned())
    });
}

/// Large frames are lost where a path does not carry them, unless TCP looks for what passes.
fn jumbo_paths(advisor: &mut Advisor<'_>) {
    let mut sizes = advisor.host.physical_nics().filter_map(|nic| nic.mtu_bytes.value());
    if sizes.any(|mtu| mtu.0 > 1500) {
        let because = "TCP finds a size that passes where large frames are dropped on the way";
        let source = sources::ESNET_LINUX;
        advisor.sysctl("net.ipv4.tcp_mtu_probing", Reason { because, source }, None, |now| {
            (now == "0").then(|| "1".to_owned())
        });
    }
}

fn latency(advisor: &mut Advisor<'_>) {
    let because = "a blocked reader polls its queue that many us before it sleeps; costs CPU time";
    let worth = narrows_predict::fastest(advisor.host).and_then(|nic| {
        let now = Seen::now(advisor.host, nic);
        worth::of_round_trip(&now, &Seen::with(advisor.host, nic, "busy-poll", "yes"))
    });
    for name in ["net.core.busy_poll", "net.core.busy_read"] {
        let reason = Reason { because, source: sources::KERNEL_NET };
        advisor.sysctl(name, reason, worth.clone(), |now| (now == "0").then(|| "50".to_owned()));
    }
    let because = "a connection that paused begins again at its full window";
    let source = sources::KERNEL_IP;
    advisor.sysctl_is("net.ipv4.tcp_slow_start_after_idle", "0", Reason { because, source });
}

fn packets(advisor: &mut Advisor<'_>) {
    let source = sources::KERNEL_NET;
    let because = "packets that a CPU may take before it must pause";
    advisor.sysctl_at_least("net.core.netdev_budget", 600, Reason { because, source });
    let because = "a burst waits in the socket while its program is away";
    advisor.sysctl_at_least("net.core.rmem_max", 16 << 20, Reason { because, source });
    let because = "packets that wait for a CPU which others hand them to (RPS, loopback, veth)";
    advisor.sysctl_at_least("net.core.netdev_max_backlog", 4096, Reason { because, source });
}
