//! What an agent lets a peer order: the end of a network workload that listens, within limits that
//! its owner sets, and nothing of where and as what it runs.

use crate::net::Net;
use crate::not_granted::NotGranted;
use crate::responses;
use crate::session::{Order, WORKERS_MAX};
use narrows_model::Bytes;
use narrows_model::load::{Bind, Grant, Job, Role};
use narrows_model::options::packets::{BURST, MAC};
use narrows_model::workload::Workload;
use narrows_workloads::harness::grant::VALID_MAX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
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
    /// Rate at which all ends here together may send; orders must name paces within it.
    pub rate_bps: Option<u64>,
    /// Addresses that may connect; empty is all.
    pub allowed: Vec<Net>,
    /// Addresses of other agents that ends here may meet, as callers or as targets; empty is none.
    pub peers: Vec<Net>,
    /// Interfaces that ends here may send raw frames by, and count them on; empty is none.
    pub interfaces: Vec<String>,
}

impl Limits {
    /// Whether a controller may connect from there.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|net| net.has(address))
    }

    /// What is run of a peer's order, or why not. An end that connects would send wherever the peer
    /// says: it may do so to other agents alone that the owner lets it meet, and that prove to have
    /// the trial's token before anything is sent to them. A memory kernel would take what memory
    /// the peer says. An end that listens may send, but only over flows that opened with the token.
    pub fn within(&self, order: Order, address: IpAddr) -> Result<Order, NotGranted> {
        match order {
            Order::Prepare { mut job } => {
                narrows_workloads::kind(&job.kind)?;
                let listens = (job.end == Role::Receiver) != job.params.is_reverse();
                if !job.kind.is_network() || !(listens || job.grant.is_some()) {
                    return Err(NotGranted::DoesNotListen);
                }
                job.namespace = None;
                job.bind = self.lent(&job)?;
                job.far_mac = None;
                job.iperf3 = None;
                job.ports = self.ports;
                job.address = Some(address);
                job.responses_bps = responses::quota(&job, self.rate_bps, 0)?;
                if let Some(grant) = &job.grant {
                    self.may_meet(grant)?;
                    if !listens {
                        // It leaves from where the other end expects it.
                        job.bind = Some(Bind { address: Some(address), ..Bind::default() });
                        job.address = Some(grant.peer);
                    }
                }
                self.check(&job)?;
                Ok(Order::Prepare { job })
            }
            // An end that listens connects to nobody.
            Order::Arm { .. } => Ok(Order::Arm { peer: Vec::new() }),
            order @ (Order::Go { .. } | Order::Release) => Ok(order),
            Order::GoUntilTold => Err(NotGranted::Endless),
        }
    }

    /// The interface of an end whose frames go by one that the owner lends. They go to nobody but
    /// the end that proves itself there: no address of a peer's is taken for it.
    fn lent(&self, job: &Job) -> Result<Option<Bind>, NotGranted> {
        let Some(Bind { device: Some(asked), lent: Some(far), .. }) = &job.bind else {
            return Ok(None);
        };
        if !self.interfaces.contains(asked) {
            let (asked, lent) = (asked.clone(), self.interfaces.clone());
            return Err(NotGranted::Interface { asked, lent });
        }
        let sends = job.end == Role::Sender || job.params.is_bidirectional();
        if sends && MAC.of(&job.params).is_some() {
            return Err(NotGranted::Mac);
        }
        let (device, lent) = (Some(asked.clone()), Some(far.clone()));
        Ok(Some(Bind { device, lent, ..Bind::default() }))
    }

    /// Whether an end here may meet an end of that agent.
    fn may_meet(&self, grant: &Grant) -> Result<(), NotGranted> {
        let peer = grant.peer;
        if !self.peers.iter().any(|net| net.has(peer)) {
            return Err(NotGranted::Peer { peer });
        }
        let valid = Duration::from_nanos(grant.valid_ns.0);
        let asked_s = valid.as_secs();
        if valid > VALID_MAX { Err(NotGranted::Valid { asked_s }) } else { Ok(()) }
    }

    fn check(&self, job: &Job) -> Result<(), NotGranted> {
        let (params, ns) =
            (&job.params, u64::try_from(job.length().as_nanos()).unwrap_or(u64::MAX));
        if let Some(most_s) = self.seconds.filter(|most| ns > u64::from(*most) * 1_000_000_000) {
            return Err(NotGranted::Seconds { asked_s: ns / 1_000_000_000, most_s });
        }
        self.check_sums(&[job])?;
        // A probe's end that answers sends too: trains, unless a pace is asked for.
        let sends =
            job.end == Role::Sender || params.is_bidirectional() || job.kind == Workload::PathProbe;
        match (self.rate_bps, params.rate_bps) {
            (Some(most_bps), None) if sends && BURST.of(params).is_some() => {
                Err(NotGranted::Bursts { most_bps })
            }
            (Some(most_bps), rate) if sends && rate.is_none_or(|rate| rate > most_bps) => {
                Err(NotGranted::Rate { most_bps })
            }
            _ => Ok(()),
        }
    }

    /// Flows, rates and buffers of all ends together.
    fn check_sums(&self, jobs: &[&Job]) -> Result<(), NotGranted> {
        let flows = jobs.iter().map(|job| job.params.flows());
        let asked = flows.fold(0, u32::saturating_add);
        if let Some(most) = self.streams.filter(|most| asked > *most) {
            return Err(NotGranted::Flows { asked, most });
        }
        let asked_bps = responses::sent_bps(jobs);
        if let Some(most_bps) = self.rate_bps.filter(|most| asked_bps > *most) {
            return Err(NotGranted::Rates { asked_bps, most_bps });
        }
        let (mut asked, mut sockets) = (Bytes(0), Bytes(0));
        for job in jobs {
            let takes = narrows_workloads::takes::count(job)?;
            asked = Bytes(asked.0.saturating_add(takes.total_bytes()));
            sockets = Bytes(sockets.0.saturating_add(takes.socket_bytes));
        }
        match self.memory_bytes.filter(|most| asked > *most) {
            Some(most) => Err(NotGranted::Memory { asked, sockets, most }),
            None => Ok(()),
        }
    }
}

/// What the workers of one controller's session were given. The owner's limits are for all of them
/// together.
#[derive(Debug, Default)]
pub struct Given {
    jobs: BTreeMap<u32, Job>,
}

impl Given {
    /// What a worker is given of a peer's order, or why nothing.
    pub fn admit(
        &mut self,
        limits: &Limits,
        worker: u32,
        order: Order,
        address: IpAddr,
    ) -> Result<Order, NotGranted> {
        if let Order::Arm { peer } = &order
            && let Some(job) = self.jobs.get(&worker)
            && let Some(grant) = &job.grant
        {
            return aimed(grant, peer).map(|()| order);
        }
        let mut order = limits.within(order, address)?;
        if let Order::Prepare { job } = &mut order {
            let others = self.jobs.iter().filter(|(of, _)| **of != worker);
            let mut all: Vec<&Job> = others.map(|(_, job)| job).collect();
            job.responses_bps = responses::quota(job, limits.rate_bps, responses::sent_bps(&all))?;
            all.push(&**job);
            if all.len() > WORKERS_MAX {
                return Err(NotGranted::Workers);
            }
            limits.check_sums(&all)?;
            self.jobs.insert(worker, (**job).clone());
        }
        Ok(order)
    }

    /// Nothing is held any more.
    pub fn clear(&mut self) {
        self.jobs.clear();
    }

    /// A worker has ended, or begins anew.
    pub fn drop_worker(&mut self, worker: u32) {
        self.jobs.remove(&worker);
    }
}

/// Whether an order to connect goes nowhere but to the agent of the grant.
fn aimed(grant: &Grant, targets: &[SocketAddr]) -> Result<(), NotGranted> {
    let own = grant.peer.to_canonical();
    match targets.iter().find(|target| target.ip().to_canonical() != own) {
        Some(other) => Err(NotGranted::Target { asked: other.ip() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{Job, Params, StreamParams, Timeline, TripParams};
    use narrows_model::record::Fault;
    use narrows_model::{Bytes, Nanos};

    fn order(kind: &str, end: Role) -> Order {
        let span = Nanos(1_000_000);
        let job = Job {
            address: Some("203.0.113.9".parse().expect("address")),
            token: "00".repeat(16),
            namespace: Some("/proc/1/ns/net".into()),
            bind: Some(Bind::from_words("lo")),
            iperf3: Some("x".into()),
            ports: Some((1, 2)),
            ..Job::new(
                kind.into(),
                end,
                Params::of_network(Bytes(64), 1),
                Timeline::new(span, span, span),
            )
        };
        Order::Prepare { job: Box::new(job) }
    }

    #[test]
    fn a_peer_chooses_neither_address_nor_namespace_nor_target() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let kept =
            Limits::default().within(order("tcp-stream", Role::Receiver), own).expect("a receiver");
        let Order::Prepare { job } = kept else { panic!("{kept:?}") };
        assert_eq!((job.address, job.namespace), (Some(own), None));
        assert_eq!((job.bind, job.ports, job.iperf3), (None, None, None));
        for (kind, end) in [
            ("tcp-stream", Role::Sender),
            ("udp-stream", Role::Sender),
            ("memory-copy", Role::Receiver),
            ("sh -c reboot", Role::Receiver),
        ] {
            assert!(Limits::default().within(order(kind, end), own).is_err(), "{kind} {end:?}");
        }
        let newer = Limits::default().within(order("quic-stream", Role::Receiver), own);
        let why = newer.err().map(|why| why.to_string());
        assert_eq!(why.as_deref(), Some("no workload is called 'quic-stream'"));
        let mut reversed = order("tcp-stream", Role::Sender);
        let Order::Prepare { job } = &mut reversed else { panic!("{reversed:?}") };
        job.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
        assert!(Limits::default().within(reversed.clone(), own).is_ok(), "it listens and sends");
        let Order::Prepare { job } = &mut reversed else { panic!("{reversed:?}") };
        job.end = Role::Receiver;
        assert!(Limits::default().within(reversed, own).is_err(), "it would connect");
        let aimed = Order::Arm { peer: vec!["203.0.113.9:53".parse().expect("address")] };
        let kept = Limits::default().within(aimed, own).expect("it listens");
        assert_eq!(kept, Order::Arm { peer: vec![] });
        assert!(Limits::default().within(Order::GoUntilTold, own).is_err());
    }

    fn meeting(end: Role, peer: &str, valid: Duration) -> Order {
        let mut order = order("tcp-stream", end);
        let Order::Prepare { job } = &mut order else { panic!("{order:?}") };
        let (trial, peer) = ("t".to_owned(), peer.parse().expect("address"));
        job.grant = Some(Grant { trial, peer, valid_ns: Nanos(valid.as_nanos() as u64) });
        order
    }

    #[test]
    fn an_end_meets_only_agents_that_its_owner_names() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let none = Limits::default();
        let limits = Limits { peers: vec!["192.0.2.0/24".parse().expect("net")], ..none.clone() };
        let short = Duration::from_secs(30);
        for end in [Role::Sender, Role::Receiver] {
            let why = |limits: &Limits, peer: &str, valid| {
                let refused = limits.within(meeting(end, peer, valid), own).err();
                refused.map_or(String::new(), |why| why.to_string())
            };
            assert!(why(&none, "192.0.2.9", short).contains("--peers"), "refused unless named");
            assert!(why(&limits, "203.0.113.9", short).contains("203.0.113.9"));
            assert!(why(&limits, "192.0.2.9", VALID_MAX * 2).contains("120 s"));
            assert_eq!(why(&limits, "192.0.2.9", short), "");
        }
        let mut given = Given::default();
        let arm = |peers: &[&str]| Order::Arm {
            peer: peers.iter().map(|peer| peer.parse().expect("address")).collect(),
        };
        let sender = meeting(Role::Sender, "192.0.2.9", short);
        let kept = given.admit(&limits, 0, sender, own).expect("may connect");
        let Order::Prepare { job } = kept else { panic!("{kept:?}") };
        let bind = Bind { address: Some(own), ..Bind::default() };
        assert_eq!((job.address, job.bind), ("192.0.2.9".parse().ok(), Some(bind)));
        let wrong = arm(&["192.0.2.9:5", "192.0.2.10:5"]);
        let refused = given.admit(&limits, 0, wrong, own);
        assert!(refused.is_err_and(|why| why.to_string().contains("192.0.2.10")));
        let right = arm(&["192.0.2.9:5", "192.0.2.9:6"]);
        assert_eq!(given.admit(&limits, 0, right.clone(), own).expect("its peer"), right);
        // A worker without a grant connects to nobody, whatever others may do.
        let listens = order("tcp-stream", Role::Receiver);
        given.admit(&limits, 1, listens, own).expect("may listen");
        let kept = given.admit(&limits, 1, right.clone(), own).expect("it listens");
        assert_eq!(kept, arm(&[]));
        given.clear();
        assert_eq!(given.admit(&limits, 0, right, own).expect("nothing"), arm(&[]));
    }

    #[test]
    fn frames_go_by_no_interface_but_one_that_is_lent() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let limits = Limits { interfaces: vec!["eth1".into(), "eth2".into()], ..Limits::default() };
        let asked = |device: &str, end, mac: Option<&str>| {
            let mut order = order("packets", end);
            let Order::Prepare { job } = &mut order else { panic!("{order:?}") };
            let bind = Bind { lent: Some("eth0".into()), ..Bind::from_words(device) };
            (job.bind, job.far_mac) = (Some(bind), Some("02:00:00:00:00:09".into()));
            let stream = StreamParams { reverse: end == Role::Sender, ..StreamParams::default() };
            job.params.stream = Some(stream);
            mac.into_iter().for_each(|mac| job.params.told.tell(&MAC, mac.to_owned()));
            order
        };
        for (end, mac) in [
            (Role::Receiver, None),
            (Role::Sender, None),
            (Role::Receiver, Some("02:00:00:00:00:03")),
        ] {
            let kept = limits.within(asked("eth2", end, mac), own).expect("it is lent");
            let Order::Prepare { job } = kept else { panic!("{kept:?}") };
            let bind = Bind { lent: Some("eth0".into()), ..Bind::from_words("eth2") };
            assert_eq!((job.bind, job.far_mac), (Some(bind), None), "no peer says where to");
        }
        let why = |limits: &Limits, device: &str, mac| {
            let refused = limits.within(asked(device, Role::Sender, mac), own);
            refused.map(drop).expect_err("refused")
        };
        for (limits, device, mac, says) in [
            (&limits, "eth3", None, "its owner lends eth1 and eth2 for frames, and not eth3"),
            (&Limits::default(), "eth1", None, "its owner lends no interface for frames"),
            (&limits, "eth1", Some("02:00:00:00:00:03"), "no frames to another MAC address"),
        ] {
            let refused = why(limits, device, mac);
            assert!(refused.to_string().contains(says), "{device}: {refused}");
            assert_eq!(refused.fault(), Fault::Beyond);
        }
        // Frames that nobody lent an interface for have none.
        let mut sockets = asked("eth1", Role::Receiver, None);
        let Order::Prepare { job } = &mut sockets else { panic!("{sockets:?}") };
        job.bind = Some(Bind::from_words("eth1"));
        let kept = limits.within(sockets, own).expect("over sockets");
        let Order::Prepare { job } = kept else { panic!("{kept:?}") };
        assert_eq!(job.bind, None);
    }

    #[test]
    fn a_rate_is_for_all_that_send_together() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let limits = Limits { rate_bps: Some(8_000_000), ..Limits::default() };
        let paced = |end, rate_bps: u64| {
            let mut order = order("tcp-stream", end);
            let Order::Prepare { job } = &mut order else { panic!("{order:?}") };
            job.params.rate_bps = Some(rate_bps);
            // Senders listen here, as those of a controller do that receives.
            let stream = StreamParams { reverse: end == Role::Sender, ..StreamParams::default() };
            job.params.stream = Some(stream);
            order
        };
        let mut given = Given::default();
        let mut admit = |worker, end, rate| given.admit(&limits, worker, paced(end, rate), own);
        assert!(admit(0, Role::Sender, 5_000_000).is_ok());
        // What it receives is another owner's to bound.
        assert!(admit(1, Role::Receiver, 9_000_000).is_ok());
        let beyond = admit(2, Role::Sender, 4_000_000).expect_err("9 of 8 Mb/s");
        assert!(beyond.to_string().contains("at most 8 Mb/s together, and 9 Mb/s"), "{beyond}");
        assert_eq!(beyond.fault(), Fault::Beyond);
        assert!(admit(2, Role::Sender, 3_000_000).is_ok());
        // The same worker anew takes its old pace's place.
        assert!(admit(0, Role::Sender, 4_000_000).is_ok());
    }

    #[test]
    fn a_burst_has_no_pace_that_would_keep_it_within_a_rate() {
        let limits = Limits { rate_bps: Some(8_000_000), ..Limits::default() };
        let mut asked = order("packets", Role::Sender);
        let Order::Prepare { job } = &mut asked else { panic!("{asked:?}") };
        job.params.stream = Some(StreamParams { reverse: true, ..StreamParams::default() });
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let of = |asked: Order| limits.within(asked, own).expect_err("no pace").to_string();
        assert!(of(asked.clone()).contains("name a pace (-b)"));
        let Order::Prepare { job } = &mut asked else { panic!("{asked:?}") };
        job.params.told.tell(&BURST, 9);
        let why = of(asked);
        assert!(why.contains("an agent without --max-rate") && !why.contains("-b"), "{why}");
    }

    #[test]
    fn responses_have_what_others_leave_of_the_rate() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let limits = Limits { rate_bps: Some(8_000_000), ..Limits::default() };
        let mut given = Given::default();
        let mut admit = |worker, kind, per_second| {
            let mut asked = order(kind, Role::Receiver);
            let Order::Prepare { job } = &mut asked else { panic!("{asked:?}") };
            let trip = TripParams { response_bytes: Some(Bytes(1000)), per_second };
            (job.params.trip, job.responses_bps) = (Some(trip), Some(u64::MAX));
            match given.admit(&limits, worker, asked, own) {
                Ok(Order::Prepare { job }) => Ok(job.responses_bps),
                other => Err(other.map(|order| format!("{order:?}"))),
            }
        };
        assert!(matches!(admit(0, "udp-rr", Some(250)), Ok(Some(2_000_000))));
        assert!(matches!(admit(1, "tcp-rr", None), Ok(Some(6_000_000))));
        assert!(matches!(admit(2, "tcp-rr", Some(1)), Err(Err(NotGranted::Rates { .. }))));
        assert!(matches!(admit(2, "rdma-send-rr", None), Err(Err(NotGranted::Responses(_)))));
        assert!(matches!(admit(2, "tcp-stream", None), Ok(None)));
    }

    #[test]
    fn limits_are_for_all_workers_together() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let limits = Limits { streams: Some(2), ..Limits::default() };
        let listens = || order("tcp-stream", Role::Receiver);
        let mut given = Given::default();
        for worker in [0, 1, 1] {
            assert!(given.admit(&limits, worker, listens(), own).is_ok(), "{worker}");
        }
        let third = given.admit(&limits, 2, listens(), own);
        assert!(third.is_err_and(|why| why.to_string().contains("3 flows, at most 2")));
        given.drop_worker(0);
        assert!(given.admit(&limits, 2, listens(), own).is_ok());
        let all = Limits::default();
        let mut given = Given::default();
        let admitted = (0..100).filter(|worker| given.admit(&all, *worker, listens(), own).is_ok());
        assert_eq!(admitted.count(), WORKERS_MAX);
    }

    #[test]
    fn the_owner_sets_limits_and_who_may_come() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let refused = |limits: Limits, change: &dyn Fn(&mut Job)| {
            let mut asked = order("tcp-stream", Role::Receiver);
            let Order::Prepare { job } = &mut asked else { panic!("{asked:?}") };
            change(job);
            limits.within(asked, own).err().map(|why| why.to_string())
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

    #[test]
    fn what_is_just_within_a_limit_is_granted_and_one_more_is_not() {
        let own: IpAddr = "192.0.2.7".parse().expect("address");
        let (ms, s) = (Nanos::from_millis(1), 1_000_000_000);
        let asked = |change: &dyn Fn(&mut Job)| {
            let mut order = order("tcp-stream", Role::Receiver);
            let Order::Prepare { job } = &mut order else { panic!("{order:?}") };
            change(job);
            order
        };
        let limits = Limits {
            seconds: Some(2),
            streams: Some(4),
            peers: vec!["192.0.2.9".parse().expect("a net")],
            ports: Some((7000, 7003)),
            ..Limits::default()
        };
        let fault = |order: Order| limits.within(order, own).err().map(|why| why.fault());
        let long = |more: u64| {
            asked(&move |job: &mut Job| {
                job.timeline = Timeline::new(ms, Nanos(2 * s - 2 * ms.0 + more), ms);
            })
        };
        assert_eq!([fault(long(0)), fault(long(1))], [None, Some(Fault::Beyond)]);
        let flows = |flows| asked(&move |job: &mut Job| job.params.streams = flows);
        assert_eq!([fault(flows(4)), fault(flows(5))], [None, Some(Fault::Beyond)]);
        let most = VALID_MAX + Duration::from_nanos(1);
        let meets = |valid| fault(meeting(Role::Receiver, "192.0.2.9", valid));
        assert_eq!([meets(VALID_MAX), meets(most)], [None, Some(Fault::Beyond)]);
        assert_eq!(
            fault(meeting(Role::Receiver, "192.0.2.8", Duration::from_secs(1))),
            Some(Fault::Beyond)
        );
        for other in
            [Order::GoUntilTold, order("memory-copy", Role::Receiver), order("x", Role::Sender)]
        {
            assert_eq!(fault(other), Some(Fault::Machine));
        }
        // An end that listens and may meet another takes no place from its peer.
        let kept = limits.within(meeting(Role::Receiver, "192.0.2.9", VALID_MAX), own);
        let Ok(Order::Prepare { job }) = kept else { panic!("{kept:?}") };
        assert_eq!((job.address, job.bind, job.ports), (Some(own), None, Some((7000, 7003))));
        // A probe's end that answers sends, whatever its role.
        let paced = Limits { rate_bps: Some(1_000_000), ..Limits::default() };
        let probe = |rate: Option<u64>| {
            let mut order = order("path-probe", Role::Receiver);
            let Order::Prepare { job } = &mut order else { panic!("{order:?}") };
            job.params.rate_bps = rate;
            paced.within(order, own).map_err(|why| why.to_string())
        };
        let no_pace = "this agent's limits: it sends at most 1 Mb/s; name a pace (-b)";
        assert_eq!(probe(None).expect_err("it sends"), no_pace);
        assert!(probe(Some(1_000_000)).is_ok() && probe(Some(1_000_001)).is_err());
    }

    #[test]
    fn a_net_is_its_first_bits() {
        let net = |text: &str| text.parse::<Net>();
        let has = |text: &str, address: &str| {
            net(text).expect("a net").has(address.parse().expect("an address"))
        };
        for (text, within, without) in [
            ("192.0.2.1", "192.0.2.1", "192.0.2.0"),
            ("192.0.2.0/31", "192.0.2.1", "192.0.2.2"),
            ("128.0.0.0/1", "255.0.0.1", "127.255.255.255"),
            ("2001:db8::/127", "2001:db8::1", "2001:db8::2"),
            ("::1/128", "::1", "::"),
        ] {
            assert!(has(text, within) && !has(text, without), "{text}");
        }
        let why = |text: &str| net(text).expect_err("no net").to_string();
        assert_eq!(why("x/8"), "'x/8' is neither an address nor ADDRESS/BITS");
        assert_eq!(why("1.2.3.4/33"), "'1.2.3.4/33' has no number of bits up to 32");
        assert_eq!(why("::/129"), "'::/129' has no number of bits up to 128");
    }
}
