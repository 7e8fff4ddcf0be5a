//! What routes ask of TCP (ip-route(8)): the windows that they offer, from `/proc/net/route`, and
//! metrics by rtnetlink. Both have the addresses of gateways, so that captures keep only what is
//! told here.

use super::dump::each;
use super::qdiscs::name;
use narrows_model::Fact;
use netlink_packet_core::NlasIterator;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::RouteMessage;

const PLACE: &str = "/proc/thread-self/net/route";
/// Where a capture keeps the answer, and where it is looked for when there is none: the same source
/// from the machine and from its capture.
const KEPT: &str = "/narrows/route-windows";
/// Columns of the file (kernel, net/ipv4/fib_trie.c): interface, ..., window.
const INTERFACE: usize = 0;
const WINDOW: usize = 9;

/// `eth0 30000` for every IPv4 route that bounds the window it offers; absent where none does.
pub fn windows() -> Fact<String> {
    match std::fs::read_to_string(PLACE) {
        Ok(text) => {
            parse(&text).map_or_else(|| Fact::absent(KEPT), |windows| Fact::known(windows, PLACE))
        }
        Err(_) => Fact::absent(KEPT),
    }
}

fn parse(text: &str) -> Option<String> {
    let mut bounded: Vec<String> = Vec::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let window = words.get(WINDOW).and_then(|word| word.parse::<u64>().ok());
        if let (Some(interface), Some(window @ 1..)) = (words.get(INTERFACE), window) {
            bounded.push(format!("{interface} {window}"));
        }
    }
    bounded.dedup();
    (!bounded.is_empty()).then(|| bounded.join(", "))
}

/// Attributes of a route and kinds of its metrics (linux/rtnetlink.h).
const RTM_NEWROUTE: u16 = 24;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_LOCK: u16 = 1;
const RTAX_SSTHRESH: u16 = 6;
const RTAX_CWND: u16 = 7;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
/// The heads of a message and of a route (`struct nlmsghdr`, `struct rtmsg`), in bytes.
const HEADS_BYTES: usize = 16 + 12;

/// `eth0 10` for every route that holds TCP's congestion window at so many segments. The kernel
/// takes no notice of a `cwnd` without `lock` (net/ipv4/tcp_metrics.c).
pub fn windows_held() -> Fact<String> {
    told(RTAX_CWND, is_window_held)
}

fn is_window_held(metrics: &Metrics) -> bool {
    metrics.locked & (1 << RTAX_CWND) != 0
}

/// `eth0 7` for every route that ends slow start at so many segments.
pub fn slow_start_ends() -> Fact<String> {
    told(RTAX_SSTHRESH, |_| true)
}

/// `eth0 1` for every route on which connections begin with so many segments.
pub fn first_windows() -> Fact<String> {
    told(RTAX_INITCWND, |_| true)
}

/// `eth0 400` for every route whose retransmission timer lasts so many milliseconds at the least.
pub fn timers() -> Fact<String> {
    told(RTAX_RTO_MIN, |_| true)
}

/// The metrics of one route, by the interface that it leads to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Metrics {
    interface: u32,
    /// A bit for each kind that the kernel may not change.
    locked: u32,
    /// Kind and value; names of congestion controls are left out.
    all: Vec<(u16, u32)>,
}

fn told(kind: u16, counts: fn(&Metrics) -> bool) -> Fact<String> {
    let mut lines: Vec<String> = Vec::new();
    let asked = each(RouteNetlinkMessage::GetRoute(RouteMessage::default()), |of, bytes| {
        lines.extend((of == RTM_NEWROUTE).then(|| line(bytes, kind, counts)).flatten());
        Ok(())
    });
    lines.sort();
    lines.dedup();
    match asked {
        Ok(()) if !lines.is_empty() => Fact::known(lines.join(", "), "rtnetlink"),
        Ok(()) => Fact::absent("rtnetlink"),
        Err(error) => Fact::absent(format!("rtnetlink ({error})")),
    }
}

/// The interface of a route and its metric of a kind, where it has one that counts.
fn line(route: &[u8], kind: u16, counts: fn(&Metrics) -> bool) -> Option<String> {
    let metrics = metrics(route).filter(counts)?;
    let (_, value) = metrics.all.iter().find(|(one, _)| *one == kind)?;
    Some(format!("{} {value}", name(metrics.interface.try_into().ok()?)?))
}

/// What a route's message says of its metrics; `None` where it has none.
fn metrics(message: &[u8]) -> Option<Metrics> {
    let mut found = Metrics::default();
    for one in NlasIterator::new(message.get(HEADS_BYTES..)?).flatten() {
        match one.kind() {
            RTA_OIF => found.interface = number(one.value())?,
            RTA_METRICS => {
                let all = NlasIterator::new(one.value()).flatten();
                found.all =
                    all.filter_map(|one| Some((one.kind(), number(one.value())?))).collect();
            }
            _ => {}
        }
    }
    let lock = found.all.iter().find(|(kind, _)| *kind == RTAX_LOCK);
    found.locked = lock.map_or(0, |(_, bits)| *bits);
    (!found.all.is_empty()).then_some(found)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_with_a_window_are_told_and_others_are_not() {
        let head =
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        let route = |window: u32| {
            format!("b0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t{window}\t0\n")
        };
        assert_eq!(parse(&format!("{head}{}", route(0))), None);
        assert_eq!(
            parse(&format!("{head}{}{}", route(0), route(30_000))).as_deref(),
            Some("b0 30000")
        );
        assert_eq!(parse("nonsense"), None);
    }

    /// A route of interface 1 with these metrics, as the kernel sends it.
    fn route(metrics: &[(u16, &[u8])]) -> Vec<u8> {
        let attribute = |kind: u16, value: &[u8]| {
            let mut bytes = (4 + value.len() as u16).to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let inner: Vec<u8> =
            metrics.iter().flat_map(|(kind, value)| attribute(*kind, value)).collect();
        let mut bytes = vec![0; HEADS_BYTES];
        bytes.extend(attribute(RTA_OIF, &1u32.to_ne_bytes()));
        if !inner.is_empty() {
            bytes.extend(attribute(RTA_METRICS, &inner));
        }
        bytes
    }

    #[test]
    fn metrics_are_read_beside_a_name_among_them() {
        const RTAX_CC_ALGO: u16 = 16;
        let lock = (1u32 << RTAX_CWND).to_ne_bytes();
        let bytes = route(&[
            (RTAX_LOCK, &lock),
            (RTAX_CWND, &10u32.to_ne_bytes()),
            (RTAX_CC_ALGO, b"reno\0"),
        ]);
        let found = metrics(&bytes).expect("metrics");
        assert_eq!((found.interface, found.locked), (1, 1 << RTAX_CWND));
        assert!(found.all.contains(&(RTAX_CWND, 10)), "{found:?}");
        assert_eq!(metrics(&route(&[])), None);
        for length in 0..bytes.len() {
            let _ = metrics(&bytes[..length]);
        }
    }

    #[test]
    fn the_kernels_routes_are_read() {
        for fact in [windows_held(), slow_start_ends(), first_windows(), timers()] {
            let of = fact.source().0.clone();
            assert_eq!(of, "rtnetlink", "{fact:?}");
        }
    }

    /// By the numbers of linux/rtnetlink.h: lock 1, ssthresh 6, cwnd 7, initcwnd 11, rto_min 13.
    #[test]
    fn a_route_is_told_by_its_interface_and_the_metric_that_was_asked_for() {
        let value = |number: u32| number.to_ne_bytes();
        let all = [(6, &value(7)[..]), (7, &value(10)), (11, &value(3)), (13, &value(400))];
        let free = route(&all);
        let told = |kind| line(&free, kind, |_| true);
        assert_eq!(told(RTAX_SSTHRESH).as_deref(), Some("lo 7"));
        assert_eq!(told(RTAX_CWND).as_deref(), Some("lo 10"));
        assert_eq!(told(RTAX_INITCWND).as_deref(), Some("lo 3"));
        assert_eq!(told(RTAX_RTO_MIN).as_deref(), Some("lo 400"));
        assert_eq!(told(2), None, "an MTU is not there");
        assert_eq!(line(&free, RTAX_CWND, is_window_held), None, "it is not locked");
        for (bits, is_held) in [(1 << 7, true), (1 << 6, false), (0xff, true)] {
            let locked = route(&[&[(1, &value(bits)[..])], &all[..]].concat());
            assert_eq!(line(&locked, RTAX_CWND, is_window_held).is_some(), is_held, "{bits:b}");
        }
        assert_eq!(line(&route(&[]), RTAX_CWND, |_| true), None);
    }

    #[test]
    fn like_routes_are_told_once_and_the_columns_are_the_first_and_the_tenth() {
        let text = "head\ne0 1 2 3 4 5 6 7 8 30000 10\ne0 1 2 3 4 5 6 7 8 30000 10\n\
                    e1 1 2 3 4 5 6 7 8 1 10\ne2 1 2 3 4 5 6 7 8\ne3 1 2 3 4 5 6 7 8 0 9\n";
        assert_eq!(parse(text).as_deref(), Some("e0 30000, e1 1"));
    }
}
