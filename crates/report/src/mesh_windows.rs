//! Whether the socket buffers of a slow host of a mesh are why it is slow. What is on its way stays
//! in the sender's buffer and fits into the window that the receiver's buffer offers, so that no
//! stream is faster than buffer / round trip. The kernel lets a buffer grow up to the largest that
//! its host allows, or keeps it at the size that was asked for. Where the rate is about what that
//! allows over the round trip that was read in the run, the buffer is why. Otherwise the two are
//! kept apart, with the figures that do it.

use narrows_model::fact::Fact;
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::{Gauge, Moment, keys};
use narrows_model::record::Outcome;
use narrows_model::study::StoredStudy;
use narrows_model::trial::{EndHost, Trial};
use narrows_model::{BitsPerSecond, Bytes, Nanos};
use narrows_stats::mesh::{Mesh, MeshPair, State, Suspect, is_time};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a stream holds of a buffer that bounds it: the kernel's bookkeeping and the part of a
/// receiver's that is offered as no window take up to two thirds, and a round trip that is read at
/// moments is off by some.
const FILLED: std::ops::RangeInclusive<f64> = 0.3..=1.1;

/// Whether receive buffers grow.
const AUTOTUNING: &str = "net.ipv4.tcp_moderate_rcvbuf";

/// More of a round trip than this, and than two of the shortest, is spent in a queue: then what is
/// behind the queue is slow, and the buffer only bounds what stands in it.
const QUEUED_NS: f64 = 1e6;

/// Round trips under load are so many times longer than those that a rate is taken from, at the
/// most.
const ALLOWED_TIMES: f64 = 16.0;
/// A buffer is by far the smallest below this part of what others have.
const BY_FAR: u64 = 4;

/// With a smaller share of idle time CPUs are short, and a round trip takes longer than it says.
const IDLE_MIN: f64 = 0.05;

/// Which of its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    Send,
    Receive,
}

impl Buffer {
    fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    /// The setting with the largest of them.
    fn setting(self) -> &'static str {
        match self {
            Self::Send => "net.ipv4.tcp_wmem",
            Self::Receive => "net.ipv4.tcp_rmem",
        }
    }

    fn of(self, end: &EndReport) -> Option<Bytes> {
        match self {
            Self::Send => end.effective.send_buffer_bytes,
            Self::Receive => end.effective.receive_buffer_bytes,
        }
    }
}

/// What the buffer of a run has to do with its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The rate is what the buffer allows over the round trip.
    Bounds,
    /// It allows far more.
    AllowsMore,
    /// It allows more over the round trip that was read, and less over that of a loaded moment: by
    /// far the smallest of all hosts, or read while CPUs were short.
    AtMost,
    /// More came than it allows: the round trip that was read is not the stream's.
    AllowsLess,
    /// The round trip is long because of a queue.
    Queued,
}

/// A buffer of a slow host, by one of the pairs that it is named for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Place of the host in the list of those that were named.
    pub host: usize,
    pub buffer: Buffer,
    /// The most that it can have been, of each flow.
    pub bytes: Bytes,
    /// It does not grow: a size was asked for, or autotuning is off.
    pub is_fixed: bool,
    pub flows: u32,
    /// As the window closed, and the shortest.
    pub round_trip_ns: f64,
    pub shortest_ns: f64,
    /// What buffers of this size allow over that round trip.
    pub allowed_bps: f64,
    pub reached_bps: f64,
    /// Less than a quarter of what most other hosts have.
    pub is_smallest: bool,
    /// An end's host had next to no CPU time left.
    pub are_cpus_short: bool,
    pub told: Told,
    /// Slow pairs that say the same, of those of which this much was read.
    pub pairs: usize,
    pub of: usize,
}

impl Window {
    /// One sentence, with the figures.
    pub fn says(&self, names: &[String]) -> String {
        let name = names.get(self.host).map_or("the host", String::as_str);
        let buffer = format!("the {} buffer of {name}", self.buffer.word());
        let setting = self.buffer.setting();
        let trip = Nanos(self.round_trip_ns.round() as u64);
        let [allowed, reached] = [self.allowed_bps, self.reached_bps].map(BitsPerSecond);
        let held = match self.flows {
            0 | 1 => format!("{} B", self.bytes.0),
            flows => format!("{flows} x {} B", self.bytes.0),
        };
        let law = format!("{held} over a round trip of {trip} allow {allowed}");
        let pairs = format!("{} of {} pairs", self.pairs, self.of);
        match self.told {
            Told::Bounds if self.is_fixed => format!(
                "likely why: {buffer}, which does not grow (a size was asked for, or autotuning is off): \
                 {law}, and {reached} came ({pairs})"
            ),
            Told::Bounds => format!(
                "likely why: {buffer}, the largest that {setting} lets it have: {law}, and {reached} \
                 came ({pairs}); raise the largest of {setting} there to the rate of others x \
                 round trip x 2"
            ),
            Told::AtMost if self.is_smallest => format!(
                "possibly why: {buffer}, by far the smallest of all hosts: {held} over a round trip \
                 of {trip} allow at most {allowed}, and less over a longer one under load; \
                 {reached} came ({pairs})"
            ),
            Told::AtMost => format!(
                "not told of {buffer}: {held} over a round trip of {trip} allow at most {allowed}, \
                 and {reached} came while an end's host had no CPU time left ({pairs})"
            ),
            Told::AllowsMore => format!("not {buffer}: {law}, and {reached} came ({pairs})"),
            Told::AllowsLess => format!(
                "not told of {buffer}: {law}, and more came, {reached}: that round trip is not the \
                 stream's ({pairs})"
            ),
            Told::Queued => format!(
                "not told of {buffer}: of a round trip of {trip} the shortest takes {}, and the \
                 rest is a queue before what is slow ({pairs})",
                Nanos(self.shortest_ns.round() as u64)
            ),
        }
    }

    fn judged(mut self, limit_bps: f64) -> Self {
        let waited = self.round_trip_ns - self.shortest_ns;
        let filled = self.reached_bps / self.allowed_bps;
        // What allows many times what came is not why, whoever has less of it.
        let is_near = ALLOWED_TIMES * self.reached_bps >= self.allowed_bps;
        let is_open = is_near && (self.is_smallest || self.are_cpus_short);
        let far_more = filled < *FILLED.start() || self.allowed_bps >= limit_bps / FILLED.start();
        self.told = if far_more && is_open {
            Told::AtMost
        } else if filled < *FILLED.start() || self.allowed_bps >= limit_bps / FILLED.start() {
            Told::AllowsMore
        } else if waited > QUEUED_NS.max(2.0 * self.shortest_ns) {
            Told::Queued
        } else if filled > *FILLED.end() {
            Told::AllowsLess
        } else {
            Told::Bounds
        };
        self
    }
}

/// The buffers of all suspects.
pub fn all(mesh: &Mesh, stored: &StoredStudy) -> Vec<Window> {
    mesh.named.iter().flat_map(|named| of(named.suspect, mesh, stored)).collect()
}

/// The buffers of a suspect's hosts, each by most of its slow pairs; none where too little was
/// read, or latencies were measured.
pub fn of(suspect: Suspect, mesh: &Mesh, stored: &StoredStudy) -> Vec<Window> {
    let buffers = match suspect {
        Suspect::Dead { .. } | Suspect::Gone { .. } => Vec::new(),
        Suspect::Host { host } => vec![(host, Buffer::Send), (host, Buffer::Receive)],
        Suspect::Sends { host } => vec![(host, Buffer::Send)],
        Suspect::Receives { host } => vec![(host, Buffer::Receive)],
        Suspect::Path { from, to } | Suspect::Either { from, to } => {
            vec![(from, Buffer::Send), (to, Buffer::Receive)]
        }
    };
    let Some(best) = mesh.best.filter(|_| !is_time(mesh.unit)) else { return Vec::new() };
    let limit_bps = best * mesh.limits.rate_share;
    let windows = buffers.into_iter().filter_map(|(host, buffer)| {
        let slow = mesh.cells.iter().filter(|cell| is_of((host, buffer), suspect, cell));
        let read = slow.filter_map(|cell| read(cell, host, buffer, stored));
        most(read.map(|one| one.judged(limit_bps)).collect())
    });
    windows.collect()
}

/// Whether a slow pair is among those that a suspect is named for, and goes through this buffer.
fn is_of((host, buffer): (usize, Buffer), suspect: Suspect, cell: &MeshPair) -> bool {
    let on_path = match suspect {
        Suspect::Path { from, to } | Suspect::Either { from, to } => {
            (cell.from, cell.to) == (from, to)
        }
        _ => true,
    };
    let end = if buffer == Buffer::Send { cell.from } else { cell.to };
    end == host && on_path && cell.state == State::Slow
}

/// What most of them say, by the one of the middle rate; nothing where no one thing is said by more
/// than half.
fn most(mut all: Vec<Window>) -> Option<Window> {
    all.sort_by(|one, other| one.reached_bps.total_cmp(&other.reached_bps));
    let same = all.iter().map(|one| all.iter().filter(|of| of.told == one.told).collect());
    let same = same.max_by_key(|same: &Vec<&Window>| same.len())?;
    let middle = same.get(same.len() / 2).filter(|_| 2 * same.len() > all.len())?;
    Some(Window { pairs: same.len(), of: all.len(), ..(*middle).clone() })
}

/// What was read of a slow pair's last run.
fn read(cell: &MeshPair, host: usize, buffer: Buffer, stored: &StoredStudy) -> Option<Window> {
    let look = cell.looks.iter().rev().find(|look| look.value.is_some())?;
    let trial = stored.trials.iter().find(|trial| is_of_pair(trial, cell))?;
    let mut ran = stored.records_of(trial).filter(|record| record.outcome == Outcome::Done);
    let record = ran.find(|record| record.block == look.round)?;
    let (sender, receiver) = (record.of(Role::Sender).next()?, record.receiver()?);
    let tuning = &stored.peer_hosts.get(host)?.tuning;
    let is_fixed = trial.params.socket_buffer_bytes.is_some()
        || buffer == Buffer::Receive && tuning.get(AUTOTUNING)?.value()? == "0";
    let bytes = if is_fixed {
        buffer.of(if buffer == Buffer::Send { sender } else { receiver })?
    } else {
        // Of one that grows the record has the size at its beginning.
        largest(tuning, buffer)?
    };
    let flows = trial.params.streams.max(1);
    let round_trip_ns = least(sender, keys::RTT)?;
    let held_bits = 8.0 * bytes.0 as f64 * f64::from(flows);
    Some(Window {
        host,
        buffer,
        bytes,
        is_fixed,
        flows,
        round_trip_ns,
        shortest_ns: least(sender, keys::RTT_MIN)?.min(round_trip_ns),
        allowed_bps: held_bits * 1e9 / round_trip_ns,
        reached_bps: look.value?,
        is_smallest: is_smallest(bytes, (host, buffer), stored),
        are_cpus_short: record.measured().any(is_cpu_short),
        told: Told::Bounds,
        pairs: 1,
        of: 1,
    })
}

/// Whether a buffer is a small part of what the middle one of the other hosts may have.
fn is_smallest(bytes: Bytes, (host, buffer): (usize, Buffer), stored: &StoredStudy) -> bool {
    let others = stored.peer_hosts.iter().enumerate().filter(|(at, _)| *at != host);
    let mut others: Vec<u64> =
        others.filter_map(|(_, other)| largest(&other.tuning, buffer)).map(|of| of.0).collect();
    others.sort_unstable();
    others.get(others.len() / 2).is_some_and(|middle| bytes.0 < middle / BY_FAR)
}

/// The largest that a host lets it have.
fn largest(tuning: &BTreeMap<String, Fact<String>>, buffer: Buffer) -> Option<Bytes> {
    let sizes = tuning.get(buffer.setting())?.value()?;
    Some(Bytes(sizes.split_whitespace().nth(2)?.parse().ok()?))
}

fn is_cpu_short(end: &EndReport) -> bool {
    let of = |state| end.readings.total(state).unwrap_or(0) as f64;
    let busy: f64 = [keys::USER, keys::SYSTEM, keys::SOFTIRQ, keys::STEAL].map(of).iter().sum();
    let idle = of(keys::IDLE) + of(keys::IOWAIT);
    busy > 0.0 && idle < IDLE_MIN * (busy + idle)
}

/// The least of all flows, as their window closed.
fn least(end: &EndReport, gauge: Gauge) -> Option<f64> {
    let all = end.readings.each(gauge, Moment::Closing);
    all.map(|(_, ns)| ns as f64).filter(|ns| *ns > 0.0).reduce(f64::min)
}

fn is_of_pair(trial: &Trial, cell: &MeshPair) -> bool {
    let ends = [cell.from, cell.to].map(|at| EndHost::Peer(at as u32));
    trial.pairs().next().is_some_and(|pair| [pair.sender.host, pair.receiver.host] == ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with buffers of so many bytes, round trips of so many microseconds, now and at the
    /// shortest, and so many Mb/s, among hosts whose best is 400 Mb/s.
    fn told(bytes: u64, trips_us: [f64; 2], mbps: f64) -> Window {
        let [round_trip_ns, shortest_ns] = trips_us.map(|us| 1e3 * us);
        let window = Window {
            host: 1,
            buffer: Buffer::Send,
            bytes: Bytes(bytes),
            is_fixed: false,
            flows: 1,
            round_trip_ns,
            shortest_ns,
            allowed_bps: 8e9 * bytes as f64 / round_trip_ns,
            reached_bps: 1e6 * mbps,
            is_smallest: false,
            are_cpus_short: false,
            told: Told::Bounds,
            pairs: 1,
            of: 1,
        };
        window.judged(0.8 * 400e6)
    }

    fn says(window: &Window) -> String {
        window.says(&["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn a_rate_that_the_buffer_allows_is_because_of_it() {
        // 2,304 B every 80 us are 230 Mb/s.
        let small = told(2304, [80.0, 40.0], 200.0);
        assert_eq!(small.told, Told::Bounds);
        let wanted = "likely why: the send buffer of b, the largest that net.ipv4.tcp_wmem lets it have: \
                      2304 B over a round trip of 80.0 us allow 230 Mb/s, and 200 Mb/s came (1 \
                      of 1 pairs); raise the largest of net.ipv4.tcp_wmem there to the rate of \
                      others x round trip x 2";
        assert_eq!(says(&small), wanted);
        // 4 MiB every 200 ms are 168 Mb/s: a long path of a host that has Linux's own sizes.
        assert_eq!(told(4 << 20, [200e3, 199e3], 110.0).told, Told::Bounds);
    }

    #[test]
    fn a_slow_link_is_kept_apart_from_buffers() {
        // A link of 60 Mb/s, with a queue of 50 ms and without one.
        let grows = told(4 << 20, [50e3, 60.0], 60.0);
        assert_eq!(grows.told, Told::AllowsMore);
        assert!(says(&grows).starts_with("not the send buffer of b: 4194304 B over a round trip"));
        assert_eq!(told(4 << 20, [80.0, 60.0], 60.0).told, Told::AllowsMore);
        // At its largest it fills a queue before the link, over which the law holds all the same.
        let queue = told(400_000, [50e3, 60.0], 60.0);
        assert_eq!(queue.told, Told::Queued);
        assert!(says(&queue).contains("the shortest takes 60.0 us"), "{}", says(&queue));
        // Small, and still far more than came: something else is slow too.
        let more = told(16_384, [80.0, 40.0], 60.0);
        assert_eq!(more.told, Told::AllowsMore);
        assert!(says(&more).contains("allow 1.64 Gb/s, and 60.0 Mb/s came"), "{}", says(&more));
        assert_eq!(told(2304, [80.0, 40.0], 300.0).told, Told::AllowsLess);
        let fixed = Window { is_fixed: true, ..told(2304, [80.0, 40.0], 200.0) };
        assert!(says(&fixed).contains("a size was asked for"), "{}", says(&fixed));
    }

    #[test]
    fn the_smallest_of_all_is_never_denied_and_none_where_cpus_are_short() {
        // 2,304 B over 64 us are 288 Mb/s, and under load the round trip is longer than that.
        let denied = told(2304, [64.0, 40.0], 56.3);
        assert_eq!(denied.told, Told::AllowsMore);
        let smallest = Window { is_smallest: true, ..denied.clone() }.judged(320e6);
        assert_eq!(smallest.told, Told::AtMost);
        let wanted = "possibly why: the send buffer of b, by far the smallest of all hosts: 2304 B over a \
                      round trip of 64.0 us allow at most 288 Mb/s, and less over a longer one \
                      under load; 56.3 Mb/s came (1 of 1 pairs)";
        assert_eq!(says(&smallest), wanted);
        let short = Window { are_cpus_short: true, ..denied }.judged(320e6);
        assert_eq!(short.told, Told::AtMost);
        assert!(says(&short).starts_with("not told of the send buffer of b"), "{}", says(&short));
        // What it bounds is still said so.
        let bound = Window { is_smallest: true, ..told(2304, [80.0, 40.0], 200.0) }.judged(320e6);
        assert_eq!(bound.told, Told::Bounds);
    }

    #[test]
    fn buffers_are_compared_with_those_of_the_other_hosts() {
        use narrows_model::host::Host;
        let hosts = |sizes: &[&str]| -> StoredStudy {
            let of = |largest: &&str| {
                let fact = Fact::known(format!("4096 16384 {largest}"), "/proc");
                Host { tuning: [("net.ipv4.tcp_rmem".to_owned(), fact)].into(), ..Host::default() }
            };
            let peer_hosts: Vec<Host> = sizes.iter().map(of).collect();
            StoredStudy { peer_hosts, ..StoredStudy::unmeasured(Host::default()) }
        };
        let is_smallest = |host: usize, sizes: &[&str]| {
            let stored = hosts(sizes);
            let own = largest(&stored.peer_hosts[host].tuning, Buffer::Receive).expect("a size");
            is_smallest(own, (host, Buffer::Receive), &stored)
        };
        let one = ["6291456", "2304", "6291456"];
        assert_eq!([0, 1, 2].map(|host| is_smallest(host, &one)), [false, true, false]);
        assert!(!is_smallest(1, &["6291456", "3000000", "6291456"]), "half is not far");
        let end = |idle: u64| {
            let mut end = EndReport::default();
            for (state, ns) in [("user", 500), ("system", 500), ("idle", idle)] {
                end.readings.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
            }
            is_cpu_short(&end)
        };
        assert_eq!([0, 40, 900].map(end), [true, true, false]);
        assert!(!is_cpu_short(&EndReport::default()), "nothing was read");
    }

    #[test]
    fn most_of_the_pairs_decide() {
        let [small, other] = [200.0, 30.0].map(|mbps| told(2304, [80.0, 40.0], mbps));
        let all = |all: &[&Window]| most(all.iter().map(|one| (*one).clone()).collect());
        let found = all(&[&small, &other, &small]).expect("two of three");
        assert_eq!((found.told, found.pairs, found.of), (Told::Bounds, 2, 3));
        assert_eq!(all(&[&small, &other]), None);
    }
}
