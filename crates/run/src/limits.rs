//! What an agent lets a peer order: the end of a network workload that listens, within limits that
//! its owner sets, and nothing of where and as what it runs.

use crate::session::Order;
use narrows_model::Bytes;
use narrows_model::load::{End as Role, Job};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

/// How long a worker may take beside its time line: to be ordered, to prepare, to meet the other
/// end.
pub const WORKER_SPARE: Duration = Duration::from_secs(240);
/// No time line is longer.
pub const LINE_MAX: Duration = Duration::from_secs(3600);

/// What the owner of an agent allows. The hard limits of [`narrows_workloads::check`] hold besides.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Ports that data connections may come to, first to last; `None` is any.
    pub ports: Option<(u16, u16)>,
    /// Longest run in seconds.
    pub seconds: Option<u32>,
    /// Flows of a run.
    pub streams: Option<u32>,
    /// Buffers of a run together.
    pub memory_bytes: Option<Bytes>,
    /// Rate at which this end may send; an order must name a pace within it.
    pub rate_bps: Option<u64>,
    /// Addresses that may connect; empty is all.
    pub allowed: Vec<Net>,
}

/// Addresses with a common beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Net {
    address: IpAddr,
    bits: u8,
}

impl std::str::FromStr for Net {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr =
            address.parse().map_err(|_| format!("'{text}' is no address, and no ADDRESS/BITS"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).ok().filter(|bits| *bits <= most);
        let bits = bits.ok_or_else(|| format!("'{text}' has no number of bits up to {most}"))?;
        Ok(Self { address, bits })
    }
}

impl Net {
    /// Whether an address begins like this. An IPv4 address in IPv6's clothes is what it is.
    pub fn has(&self, address: IpAddr) -> bool {
        let common = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            rest >= width || (a ^ b) >> rest == 0
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => common(u32::from(a).into(), u32::from(b).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => common(a.into(), b.into(), 128),
            _ => false,
        }
    }
}

impl Limits {
    /// Whether a controller may connect from there.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|net| net.has(address))
    }

    /// What is run of a peer's order, or why not. An end that connects would send wherever the peer
    /// says, and a memory kernel would take what memory the peer says. An end that listens may
    /// send, but only over flows that opened with the trial's token.
    pub fn within(&self, order: Order, address: IpAddr) -> Result<Order, String> {
        match order {
            Order::Prepare { mut job } => {
                narrows_workloads::kind(&job.kind).map_err(|error| error.to_string())?;
                let listens = (job.end == Role::Sink) != job.params.is_reverse();
                if !job.kind.is_network() || !listens {
                    let why = "an agent runs only the end of a network workload that listens";
                    return Err(why.to_owned());
                }
                job.namespace = None;
                job.bind = None;
                job.iperf3 = None;
                job.ports = self.ports;
                job.address = Some(address);
                self.check(&job)?;
                Ok(Order::Prepare { job })
            }
            // An end that listens connects to nobody.
            Order::Arm { .. } => Ok(Order::Arm { peer: Vec::new() }),
            Order::Go => Ok(Order::Go),
            Order::GoUntilTold => Err("an agent runs no load without an end".to_owned()),
        }
    }

    fn check(&self, job: &Job) -> Result<(), String> {
        let (params, line) = (&job.params, &job.timeline);
        let no = |what: String| Err(format!("this agent's limits: {what}"));
        let ns = [line.warmup_ns.0, line.window_ns.0, line.cooldown_ns.0];
        let ns = ns.into_iter().fold(0, u64::saturating_add);
        if let Some(most) = self.seconds.filter(|most| ns > u64::from(*most) * 1_000_000_000) {
            return no(format!("a run of {} s, at most {most}", ns / 1_000_000_000));
        }
        if let Some(most) = self.streams.filter(|most| params.flows() > *most) {
            return no(format!("{} flows, at most {most}", params.flows()));
        }
        let takes = narrows_workloads::takes::count(job).map_err(|error| error.to_string())?;
        let bytes = Bytes(takes.total_bytes());
        if let Some(most) = self.memory_bytes.filter(|most| bytes > *most) {
            let sockets = Bytes(takes.socket_bytes);
            return no(format!("{bytes} of buffers ({sockets} of them sockets'), at most {most}"));
        }
        let sends = job.end == Role::Source || params.is_bidirectional();
        match (self.rate_bps, params.rate_bps) {
            (Some(most), rate) if sends && rate.is_none_or(|rate| rate > most) => {
                no(format!("it sends at most {} Mb/s; name a pace (-b)", most / 1_000_000))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Bind, CpuList, Job, Params, StreamParams, Timeline};
    use narrows_model::{Bytes, Nanos};

    fn order(kind: &str, end: Role) -> Order {
        let span = Nanos(1_000_000);
        let job = Job {
            kind: kind.into(),
            end,
            params: Params::of_network(Bytes(64), 1),
            cpus: CpuList::default(),
            binding: Default::default(),
            timeline: Timeline {
                warmup_ns: span,
                window_ns: span,
                cooldown_ns: span,
                interval_ns: None,
            },
            address: Some("203.0.113.9".parse().expect("address")),
            token: "00".repeat(16),
            namespace: Some("/proc/1/ns/net".into()),
            node: None,
            bind: Some(Bind { address: None, device: Some("lo".into()) }),
            iperf3: Some("x".into()),
            ports: Some((1, 2)),
        };
        Order::Prepare { job: Box::new(job) }
    }

    #[test]
    fn a_peer_chooses_neither_address_nor_namespace_nor_target() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let kept = Limits::default().within(order("tcp-stream", Role::Sink), own).expect("a sink");
        let Order::Prepare { job } = kept else { panic!("{kept:?}") };
        assert_eq!((job.address, job.namespace), (Some(own), None));
        assert_eq!((job.bind, job.ports, job.iperf3), (None, None, None));
        for (kind, end) in [
            ("tcp-stream", Role::Source),
            ("udp-stream", Role::Source),
            ("memory-copy", Role::Sink),
            ("sh -c reboot", Role::Sink),
        ] {
            assert!(Limits::default().within(order(kind, end), own).is_err(), "{kind} {end:?}");
        }
        let newer = Limits::default().within(order("quic-stream", Role::Sink), own);
        assert_eq!(newer, Err("no workload is called 'quic-stream'".to_owned()));
        let mut reversed = order("tcp-stream", Role::Source);
        let Order::Prepare { job } = &mut reversed else { panic!("{reversed:?}") };
        job.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
        assert!(Limits::default().within(reversed.clone(), own).is_ok(), "it listens and sends");
        let Order::Prepare { job } = &mut reversed else { panic!("{reversed:?}") };
        job.end = Role::Sink;
        assert!(Limits::default().within(reversed, own).is_err(), "it would connect");
        let aimed = Order::Arm { peer: vec!["203.0.113.9:53".parse().expect("address")] };
        assert_eq!(Limits::default().within(aimed, own), Ok(Order::Arm { peer: vec![] }));
        assert!(Limits::default().within(Order::GoUntilTold, own).is_err());
    }

    #[test]
    fn the_owner_sets_limits_and_who_may_come() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let refused = |limits: Limits, change: &dyn Fn(&mut Job)| {
            let mut asked = order("tcp-stream", Role::Sink);
            let Order::Prepare { job } = &mut asked else { panic!("{asked:?}") };
            change(job);
            limits.within(asked, own).err()
        };
        let limits = |seconds: u32| Limits {
            seconds: Some(seconds),
            streams: Some(4),
            memory_bytes: Some(Bytes::mib(1)),
            rate_bps: Some(1_000_000),
            ..Limits::default()
        };
        assert_eq!(refused(limits(1), &|_| {}), None);
        let long = refused(limits(1), &|job| job.timeline.window_ns = Nanos::from_millis(1001));
        assert!(long.is_some_and(|why| why.contains("at most 1")));
        let many = refused(limits(1), &|job| job.params.streams = 5);
        assert!(many.is_some_and(|why| why.contains("5 flows, at most 4")));
        let large = refused(limits(1), &|job| job.params.message_bytes = Bytes::mib(2));
        assert!(large.is_some_and(|why| why.contains("of buffers")));
        // Every buffer counts: a pool of 16 messages a flow, and queues that were asked for.
        let limit = |mib| Limits { memory_bytes: Some(Bytes::mib(mib)), ..Limits::default() };
        let pool = |job: &mut Job| {
            job.params.message_bytes = Bytes::mib(1);
            let receiver = Some("multishot".into());
            job.params.stream = Some(StreamParams { receiver, ..Default::default() });
        };
        assert!(refused(limit(15), &pool).is_some_and(|why| why.contains("16 MiB of buffers")));
        assert_eq!(refused(limit(16), &pool), None);
        let queues = |job: &mut Job| job.params.socket_buffer_bytes = Some(Bytes::mib(1));
        assert!(refused(limit(4), &queues).is_some() && refused(limit(5), &queues).is_none());
        // What receives may receive what comes; what sends needs a pace.
        let both = |rate| {
            refused(limits(1), &move |job: &mut Job| {
                let bidirectional = true;
                job.params.stream = Some(StreamParams { bidirectional, ..Default::default() });
                job.params.rate_bps = rate;
            })
        };
        assert!(both(None).is_some() && both(Some(2_000_000)).is_some());
        assert_eq!(both(Some(1_000_000)), None);
        let nets =
            |text: &str| Limits { allowed: vec![text.parse().expect("net")], ..Limits::default() };
        let from = |text: &str| text.parse::<IpAddr>().expect("address");
        assert!(nets("192.0.2.0/25").allows(from("192.0.2.127")));
        assert!(!nets("192.0.2.0/25").allows(from("192.0.2.128")));
        assert!(nets("192.0.2.1").allows(from("::ffff:192.0.2.1")));
        assert!(nets("0.0.0.0/0").allows(own) && !nets("::/0").allows(own));
        assert!(nets("2001:db8::/32").allows(from("2001:db8:1::5")));
        for wrong in ["", "1.2.3.4/33", "x/8", "1.2.3.4/-1"] {
            assert!(wrong.parse::<Net>().is_err(), "{wrong}");
        }
        assert!(Limits::default().allows(own));
    }
}
