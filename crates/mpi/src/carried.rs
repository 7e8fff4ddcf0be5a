//! What carried the messages, by the counters of interfaces and devices and not by what was asked
//! for.

use crate::fabric::Fabric;
use std::collections::BTreeMap;
use std::fs;

/// Less payload than this is lost among what else an interface carries.
pub const TELLING_BYTES: u64 = 1 << 20;
/// A device that sent this share of the payload has carried it.
const CARRIED_SHARE: f64 = 0.95;
/// Interfaces that sent no more than this share of it have not.
const BESIDE_SHARE: f64 = 0.05;
/// Why a run of nobody's wish has no proof.
const NO_NAME: &str = "no interface of one name sent the payload on every host";
/// Why a run by a provider without a device has none.
const CHOSE: &str = "the provider chose its device, and no interface of one name sent the payload \
                     on every host: name it with @INTERFACE";
/// Why a run by a provider that passes the kernel has none: the interface's counter sees nothing.
const NO_PORT: &str = "the provider passes the kernel and its interface's counter, and no port of \
                       an RDMA device of one name sent the payload on every host";
/// Bytes of the words with which ranks agree on one message, at most, with their headers.
const WORDS_OF_MESSAGE: f64 = 1500.0;
/// Why a run of nobody's wish has no proof where more was sent than it can have.
const OTHERS: &str = "more was sent than by the ranks: others' traffic hides what carried theirs";
/// Ports of RDMA devices count in words of four bytes.
const WORD_BYTES: u64 = 4;

/// Bytes that each interface of this network namespace and each port of an RDMA device has sent.
pub fn sent() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let mut all = interfaces(&text);
    for device in fs::read_dir("/sys/class/infiniband").into_iter().flatten().flatten() {
        for port in fs::read_dir(device.path().join("ports")).into_iter().flatten().flatten() {
            let words = fs::read_to_string(port.path().join("counters/port_xmit_data"));
            let words = words.ok().and_then(|text| text.trim().parse::<u64>().ok());
            let (device, port) = (device.file_name(), port.file_name());
            let name = format!("{}:{}", device.to_string_lossy(), port.to_string_lossy());
            all.extend(words.map(|words| (name, words.saturating_mul(WORD_BYTES))));
        }
    }
    all
}

fn interfaces(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            Some((name.trim().to_owned(), rest.split_whitespace().nth(8)?.parse().ok()?))
        })
        .collect()
}

/// What each sent since then, in bytes; what was not there then is left out.
pub fn since(before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    sent()
        .into_iter()
        .filter_map(|(name, now)| {
            let grew = now.checked_sub(*before.get(&name)?)?;
            Some((name, grew))
        })
        .collect()
}

/// What one host did in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSeen {
    /// Payload that its ranks sent to other hosts, in bytes; of collectives the least that any
    /// algorithm sends.
    pub away_bytes: u64,
    /// Payload that its ranks sent to each other, in bytes.
    pub within_bytes: u64,
    /// Bytes that its interfaces and ports sent meanwhile.
    pub sent_bytes: BTreeMap<String, u64>,
    /// Bytes of each message; 0 where an algorithm may send more than the payload.
    pub message_bytes: u64,
}

/// The most that something sends for a byte of payload, where it sends nothing else: headers and
/// acknowledgements by the byte, and of each message the words with which ranks agree on it.
fn most_share(hosts: &[HostSeen]) -> f64 {
    match hosts.iter().map(|host| host.message_bytes).max().unwrap_or(0) {
        0 => f64::INFINITY,
        bytes => 1.25 + WORDS_OF_MESSAGE / bytes as f64,
    }
}

/// What the counters say of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Carried {
    /// It was this that carried the payload.
    By {
        /// The interface, the port, or `memory`.
        what: String,
        /// Bytes that it sent a byte of payload: headers make it more than one. `None` of memory.
        share: Option<f64>,
    },
    /// It was not what was asked for.
    Not { why: String },
    /// Nothing shows it.
    Unproven { why: String },
}

/// Judges a run by the counters of its hosts.
pub fn judge(asked: Option<&Fabric>, hosts: &[HostSeen]) -> Carried {
    let away: u64 = hosts.iter().map(|host| host.away_bytes).sum();
    let within: u64 = hosts.iter().map(|host| host.within_bytes).sum();
    if away.max(within) < TELLING_BYTES {
        return unproven("too few bytes to tell from other traffic");
    }
    if away < TELLING_BYTES {
        return inside(asked, hosts, within);
    }
    if asked == Some(&Fabric::Shm) {
        return Carried::Not { why: "the ranks are on several hosts".to_owned() };
    }
    let telling: Vec<&HostSeen> =
        hosts.iter().filter(|host| host.away_bytes >= TELLING_BYTES).collect();
    let Some(device) = asked.and_then(Fabric::device) else {
        let why = if asked.is_some() { CHOSE } else { NO_NAME };
        return match most(&telling, |_| true) {
            Some(Carried::By { share: Some(share), .. })
                if asked.is_none() && share > most_share(hosts) =>
            {
                unproven(OTHERS)
            }
            found => found.unwrap_or_else(|| unproven(why)),
        };
    };
    let own = least(&telling, device);
    if let Some(share) = own.filter(|share| *share >= CARRIED_SHARE) {
        return Carried::By { what: device.to_owned(), share: Some(share) };
    }
    if asked.is_some_and(Fabric::passes_the_kernel) {
        return most(&telling, is_port).unwrap_or_else(|| unproven(NO_PORT));
    }
    match own {
        None => unproven(&format!("{device} has no counter on every host")),
        Some(share) => {
            let percent = 100.0 * share;
            let why = format!("{device} sent {percent:.1} % of the payload that left its host");
            Carried::Not { why }
        }
    }
}

/// The share of the payload that what has this name sent, the least over the hosts: each of them
/// must have used it. `None` where a host has no counter of that name.
fn least(hosts: &[&HostSeen], name: &str) -> Option<f64> {
    let shares = hosts.iter().map(|host| share_of(host, name)).collect::<Option<Vec<f64>>>()?;
    shares.into_iter().reduce(f64::min)
}

/// What sent the payload on every host by one name, of the names that may have; `None` where
/// nothing did.
fn most(hosts: &[&HostSeen], may: impl Fn(&str) -> bool) -> Option<Carried> {
    let names = hosts.iter().flat_map(|host| host.sent_bytes.keys()).filter(|name| may(name));
    let shares = names.filter_map(|name| Some((name, least(hosts, name)?)));
    let (name, share) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_enough = share >= CARRIED_SHARE;
    is_enough.then(|| Carried::By { what: name.clone(), share: Some(share) })
}

/// Whether a counter is of an RDMA device's port: `mlx5_0:1`.
fn is_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u8>().is_ok())
}

fn unproven(why: &str) -> Carried {
    Carried::Unproven { why: why.to_owned() }
}

fn share_of(host: &HostSeen, name: &str) -> Option<f64> {
    let sent = host.sent_bytes.get(name)?;
    Some(*sent as f64 / host.away_bytes as f64)
}

/// The same of ranks that share one host.
fn inside(asked: Option<&Fabric>, hosts: &[HostSeen], within: u64) -> Carried {
    let sent = |name: Option<&str>| -> u64 {
        let of = hosts.iter().flat_map(|host| &host.sent_bytes);
        of.filter(|(of, _)| name.is_none_or(|name| name == *of)).map(|(_, sent)| sent).sum()
    };
    let share = |bytes: u64| bytes as f64 / within as f64;
    let (all, loopback) = (share(sent(None)), share(sent(Some("lo"))));
    let is_memory = matches!(asked, None | Some(Fabric::Shm));
    if all <= BESIDE_SHARE && is_memory {
        return Carried::By { what: "memory".to_owned(), share: None };
    }
    if asked.is_none() && loopback > most_share(hosts) {
        return unproven(OTHERS);
    }
    if loopback >= CARRIED_SHARE {
        return match asked {
            Some(Fabric::Shm) => Carried::Not { why: "the loopback device sent it".to_owned() },
            Some(fabric) if fabric.device() != Some("lo") => Carried::Unproven {
                why: "the ranks share a host, and the loopback device sent it".to_owned(),
            },
            _ => Carried::By { what: "lo".to_owned(), share: Some(loopback) },
        };
    }
    match asked {
        Some(fabric) if *fabric != Fabric::Shm && all <= BESIDE_SHARE => Carried::Not {
            why: "the ranks share a host, and no interface sent the payload: memory did".to_owned(),
        },
        _ => Carried::Unproven {
            why: format!("interfaces sent {:.0} % of it, other traffic included", 100.0 * all),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(away: u64, within: u64, sent: &[(&str, u64)]) -> HostSeen {
        let sent_bytes = sent.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        HostSeen { away_bytes: away, within_bytes: within, sent_bytes, message_bytes: 0 }
    }

    fn fabric(word: &str) -> Fabric {
        word.parse().expect("a fabric")
    }

    const M: u64 = 1 << 20;

    #[test]
    fn the_interface_that_was_asked_for_must_have_sent_it_on_every_host() {
        let asked = fabric("tcp:eth1");
        let both = [
            host(10 * M, 0, &[("eth0", 9), ("eth1", 10 * M + 999)]),
            host(10 * M, 0, &[("eth0", 9), ("eth1", 11 * M)]),
        ];
        assert!(matches!(judge(Some(&asked), &both), Carried::By { what, .. } if what == "eth1"));
        let other = [both[0].clone(), host(10 * M, 0, &[("eth0", 11 * M), ("eth1", 5 * M)])];
        let Carried::Not { why } = judge(Some(&asked), &other) else { panic!("it was not eth1") };
        assert!(why.contains("50.0 %"), "{why}");
        let lacking = [both[0].clone(), host(10 * M, 0, &[("eth0", 11 * M)])];
        assert!(matches!(judge(Some(&asked), &lacking), Carried::Unproven { .. }));
        // Who asks for nothing is told what it was; what answers only is not asked.
        let one_way = [both[0].clone(), host(40, 0, &[("eth1", 900)])];
        assert!(matches!(judge(None, &one_way), Carried::By { what, .. } if what == "eth1"));
        assert!(matches!(judge(Some(&Fabric::Shm), &both), Carried::Not { .. }));
        // A provider that chooses its device is told which it chose.
        let chose = judge(Some(&fabric("ofi:tcp")), &both);
        assert!(matches!(chose, Carried::By { what, .. } if what == "eth1"));
        let elsewhere = [host(10 * M, 0, &[("eth0", 9)]), host(10 * M, 0, &[("eth0", 9)])];
        let chose = judge(Some(&fabric("ofi:psm3")), &elsewhere);
        assert_eq!(chose, Carried::Unproven { why: CHOSE.to_owned() });
    }

    #[test]
    fn what_passes_the_kernel_is_seen_at_its_port_and_never_called_another_fabric() {
        let asked = fabric("ofi:verbs;ofi_rxm@eth1");
        let seen = |port: u64| host(10 * M, 0, &[("eth1", 900), ("mlx5_0:1", port)]);
        let by_port = judge(Some(&asked), &[seen(11 * M), seen(11 * M)]);
        assert!(matches!(by_port, Carried::By { what, .. } if what == "mlx5_0:1"));
        let nothing = Carried::Unproven { why: NO_PORT.to_owned() };
        assert_eq!(judge(Some(&asked), &[seen(11 * M), seen(9)]), nothing);
        // Another interface is no port, whatever it sent.
        let beside = host(10 * M, 0, &[("eth0", 11 * M), ("eth1", 900), ("mlx5_0:1", 9)]);
        assert_eq!(judge(Some(&asked), &[beside.clone(), beside]), nothing);
        // RDMA in software goes through the interface.
        let soft = host(10 * M, 0, &[("eth1", 11 * M)]);
        let by = judge(Some(&asked), &[soft.clone(), soft]);
        assert!(matches!(by, Carried::By { what, .. } if what == "eth1"));
    }

    #[test]
    fn ranks_of_one_host_use_memory_or_the_loopback_device() {
        let memory = [host(0, 50 * M, &[("lo", 4000), ("eth0", 90_000)])];
        let tcp = [host(0, 50 * M, &[("lo", 51 * M), ("eth0", 90_000)])];
        let by = |carried: Carried| match carried {
            Carried::By { what, .. } => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(by(judge(None, &memory)), "memory");
        assert_eq!(by(judge(Some(&Fabric::Shm), &memory)), "memory");
        assert_eq!(by(judge(None, &tcp)), "lo");
        assert_eq!(by(judge(Some(&fabric("tcp:lo")), &tcp)), "lo");
        assert!(matches!(judge(Some(&Fabric::Shm), &tcp), Carried::Not { .. }));
        assert!(matches!(judge(Some(&fabric("tcp:eth0")), &tcp), Carried::Unproven { .. }));
        assert!(matches!(judge(Some(&fabric("tcp:eth0")), &memory), Carried::Not { .. }));
    }

    #[test]
    fn more_than_the_ranks_can_have_sent_is_others_traffic() {
        let of = |message_bytes, lo: u64| {
            let seen = HostSeen { message_bytes, ..host(0, 50 * M, &[("lo", lo)]) };
            judge(None, &[seen])
        };
        let others = Carried::Unproven { why: OTHERS.to_owned() };
        assert_eq!(of(M, 70 * M), others);
        assert!(matches!(of(M, 55 * M), Carried::By { what, .. } if what == "lo"));
        // Short messages are mostly headers, and of a collective nobody knows.
        assert!(matches!(of(8, 900 * M), Carried::By { what, .. } if what == "lo"));
        assert!(matches!(of(0, 70 * M), Carried::By { what, .. } if what == "lo"));
        let away = HostSeen { message_bytes: M, ..host(50 * M, 0, &[("eth0", 90 * M)]) };
        assert_eq!(judge(None, &[away.clone(), away]), others);
    }

    #[test]
    fn little_payload_proves_nothing() {
        let few = [host(900, 0, &[("eth0", 5000)])];
        assert!(matches!(judge(Some(&fabric("tcp:eth0")), &few), Carried::Unproven { .. }));
        assert!(matches!(judge(None, &[]), Carried::Unproven { .. }));
    }

    #[test]
    fn interfaces_are_read_by_column() {
        let text = "Inter-| Receive |\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10 11\n lo: x\n";
        assert_eq!(interfaces(text), BTreeMap::from([("eth0".to_owned(), 9)]));
    }

    #[test]
    fn shares_are_of_the_payload_and_their_bounds_are_among_them() {
        let by = |asked: Option<&str>, away: u64, within: u64, name: &str, sent: u64| {
            let asked = asked.map(fabric);
            match judge(asked.as_ref(), &[host(away, within, &[(name, sent)])]) {
                Carried::By { what, share } => format!("{what} {share:?}"),
                Carried::Not { why } => format!("not: {why}"),
                Carried::Unproven { why } => format!("?: {why}"),
            }
        };
        // 95 % of what left its host is enough, and a little less is not.
        assert_eq!(by(Some("tcp:e"), 100 * M, 0, "e", 95 * M), "e Some(0.95)");
        let less = by(Some("tcp:e"), 100 * M, 0, "e", 94 * M);
        assert_eq!(less, "not: e sent 94.0 % of the payload that left its host");
        assert_eq!(by(None, 100 * M, 0, "e", 120 * M), "e Some(1.2)");
        let none = "?: no interface of one name sent the payload on every host";
        assert_eq!(by(None, 100 * M, 0, "e", 94 * M), none);
        assert_eq!(by(Some("shm"), M, 0, "e", M), "not: the ranks are on several hosts");
        // A mebibyte tells, and a byte less is lost among other traffic.
        assert_eq!(by(None, M, 0, "e", M), "e Some(1.0)");
        let few = "?: too few bytes to tell from other traffic";
        assert_eq!(by(None, M - 1, M - 1, "e", M), few);
        assert_eq!(by(None, 0, 100 * M, "e", 5 * M), "memory None");
        assert_eq!(
            by(None, 0, 100 * M, "e", 6 * M),
            "?: interfaces sent 6 % of it, other traffic included"
        );
        assert_eq!(by(None, 0, 100 * M, "lo", 95 * M), "lo Some(0.95)");
    }

    #[test]
    fn what_this_host_sends_is_counted() {
        let before = sent();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = socket.local_addr().expect("an address");
        for _ in 0..10 {
            socket.send_to(&[0; 1000], to).expect("sent");
        }
        let grew = since(&before).get("lo").copied().expect("there is a loopback device");
        assert!(grew >= 10_280, "ten datagrams with their headers: {grew} B");
        assert!(since(&BTreeMap::new()).is_empty(), "what was not there before is left out");
    }
}
