//! Whether a run's payload can be what was received in its window: its program's count beside what
//! the interface carried, what TCP counted, and how sharp the window's edges were.
//!
//! The looks at the counters lie around the window, so what the interface carried between them is
//! no less than what it carried in the window, and the least of headers leaves the most of payload.
//! A program that counts more has read what came before: a backlog that a starved receiver found
//! when its window opened. Such a figure is not the path's. Beyond a twentieth the backlog is taken
//! off: of TCP by what it received, of UDP by the memory of the datagrams that waited in the
//! sockets as the window opened and closed. What neither explains is refused.

use crate::interface::{self, LOOPBACK};
use crate::total;
use narrows_model::calls;
use narrows_model::load::{EndReport, FlowTally, Role};
use narrows_model::reading::{Counter, Moment, Scope, Source, keys};
use narrows_model::record::{Outcome, Record};
use narrows_model::trial::{EndHost, NetworkPath, Trial};
use narrows_model::workload::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload may exceed what was carried by this share before its figure is mended or refused.
const EXCESS_MAX: f64 = 0.05;
/// Where only the other end's interface was read, whose window is another: by this share.
const EXCESS_FAR_MAX: f64 = 0.10;
/// An error bound above this is told beside the figure.
const BOUND_TOLD: f64 = 0.05;
/// What a flow may hold as it is read: a large segment (TCP).
const SEGMENT_BYTES: u64 = 65_536;

/// Memory that a datagram takes in a socket beside its payload, at least: the kernel counts its own
/// `sk_buff` and `skb_shared_info` (together 552 to 576 bytes on 64-bit kernels) into its
/// `truesize` (include/linux/skbuff.h, `SKB_TRUESIZE`).
const DATAGRAM_MEMORY_BYTES: u64 = 512;
/// The part of its buffer by which a socket may tell too much: the kernel gives the memory of read
/// datagrams back in lots of this size (net/ipv4/udp.c, `udp_rmem_release`).
const LOT: u64 = 4;

/// One run's payload beside everything else that saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reconciled {
    /// Repeat of the run within its cell, from 0.
    pub repeat: u32,
    /// Each end that counts what arrived.
    pub sides: Vec<Side>,
    /// What follows for the run's value.
    pub verdict: Verdict,
}

/// What one end counted, and what is known beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The end that counted.
    pub end: Role,
    /// Which pair of a trial of many it is of, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub pair: u32,
    /// What its program received in the window: bytes of streams, else round trips or connections.
    pub counted: u64,
    /// What its interface, or in its place the other end's, carried at most: payload bytes, or
    /// packets.
    pub carried_at_most: u64,
    /// Name of the interface whose counters were read.
    pub interface: String,
    /// The end whose interface it is.
    pub interface_of: Role,
    /// Payload that TCP received between the looks.
    pub tcp_info_bytes: Option<u64>,
    /// What waited in the sockets of this end as its window opened and closed (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Waited>,
    /// Length of the window over that from the first to the last look at the counters.
    pub window_share: f64,
    /// Share by which the program counted more than can have come.
    pub excess_share: f64,
    /// Share by which the figure may be off: the edges of the window, what was being read there,
    /// and what is known of a backlog.
    pub error_bound_share: f64,
}

fn is_first(pair: &u32) -> bool {
    *pair == 0
}

/// Datagrams in the sockets of an end, by the memory that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waited {
    /// Kernel memory of those that waited as the window opened.
    pub opening_memory_bytes: u64,
    /// The same as it closed.
    pub closing_memory_bytes: u64,
    /// The most payload by which what was read may exceed what arrived in the window.
    pub backlog_at_most_bytes: u64,
}

/// What follows for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// All agree, within the error bound.
    Agrees {
        /// The largest of the ends' error bounds.
        error_bound_share: f64,
    },
    /// More was read than arrived in the window. The value is what TCP received or, of UDP, the
    /// middle between what the interface carried and what was read less all that may have waited.
    BacklogTakenOff {
        /// The largest share by which more was read.
        excess_share: f64,
        /// The largest of the ends' error bounds, without the backlog.
        error_bound_share: f64,
    },
    /// More was counted than can have come: the run has no value.
    Impossible {
        /// By what share.
        excess_share: f64,
        /// What it is more than.
        than: Than,
    },
    /// It could not be done.
    NotReconciled {
        /// What keeps the run from being reconciled.
        because: Missing,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Than {
    Interface,
    /// What TCP received.
    TcpInfo,
}

/// Why a run cannot be reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// An older version made it, and did not note when the counters were read.
    OlderRecord,
    /// Neither end's interface told what it carried.
    InterfaceCounters,
    /// The interface that the flow leaves by did not carry what came, another did, and the kernel
    /// does not tell by which it came: routes may differ there and back.
    WayIn,
    /// RDMA passes the interface's counters by.
    Rdma,
    /// Another tool made it.
    OtherTool,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            Self::OlderRecord => "an older version did not note when it read the counters",
            Self::InterfaceCounters => "neither end's interface counters could be read",
            Self::WayIn => "it came in by an unknown interface, not the one its flow leaves by",
            Self::Rdma => "RDMA passes the interface's counters by",
            Self::OtherTool => "another tool made it",
        })
    }
}

impl Reconciled {
    /// Whether the run's figure is refused.
    pub fn is_impossible(&self) -> bool {
        matches!(self.verdict, Verdict::Impossible { .. })
    }

    /// Whether its value is what arrived, and not what was read.
    pub fn is_without_backlog(&self) -> bool {
        matches!(self.verdict, Verdict::BacklogTakenOff { .. })
    }

    /// What an end of a pair read in its window, in bytes, beyond what arrived there; `None` where
    /// more was counted than can have come.
    pub(crate) fn beyond_bytes(&self, end: Role, pair: usize) -> Option<u64> {
        let mut sides = self.sides.iter();
        let side = sides.find(|side| side.end == end && side.pair as usize == pair);
        let Some(side) = side.filter(|side| side.exceeds()) else { return Some(0) };
        side.arrived().map(|came| side.counted.saturating_sub(came.bytes))
    }

    /// The error bound where it is worth telling.
    pub fn rough(&self) -> Option<f64> {
        let bound = match self.verdict {
            Verdict::Agrees { error_bound_share }
            | Verdict::BacklogTakenOff { error_bound_share, .. } => error_bound_share,
            Verdict::Impossible { .. } | Verdict::NotReconciled { .. } => return None,
        };
        // Of nothing there is no share.
        let counted = self.sides.iter().any(|side| side.counted > 0);
        Some(bound).filter(|bound| counted && *bound > BOUND_TOLD)
    }
}

impl Side {
    /// The most of what was counted that surely came: no more than TCP received.
    fn seen(&self) -> u64 {
        self.tcp_info_bytes.map_or(self.counted, |tcp| tcp.min(self.counted))
    }

    /// Whether it is of the same interface as the other, by its own counters.
    fn is_at(&self, other: &Side) -> bool {
        is_near(self) && is_near(other) && self.interface == other.interface
    }

    /// Whether more was counted than can have come, and nothing tells how much came.
    pub fn is_beyond(&self) -> bool {
        self.exceeds() && self.arrived().is_none()
    }

    /// Whether more was counted than can have come.
    fn exceeds(&self) -> bool {
        let near = self.interface_of == self.end;
        self.excess_share > if near { EXCESS_MAX } else { EXCESS_FAR_MAX }
    }

    /// What may stand for what was read; `None` where nothing tells, or where that cannot have come
    /// either.
    fn arrived(&self) -> Option<Arrived> {
        // Both counts are of the time between the looks, which is a little longer than the window.
        let edges = (1.0 / self.window_share - 1.0).max(0.0);
        let could_come =
            |bytes: &u64| *bytes as f64 <= self.carried_at_most as f64 * (1.0 + EXCESS_MAX);
        if let Some(bytes) = self.tcp_info_bytes.filter(could_come) {
            return Some(Arrived { bytes, error_bound_share: edges });
        }
        let waited = self.waited.filter(|_| self.tcp_info_bytes.is_none())?;
        let least = self.counted.saturating_sub(waited.backlog_at_most_bytes);
        let least = Some(least).filter(could_come)?;
        let (low, high) = (least.min(self.carried_at_most), self.carried_at_most.max(least));
        let bytes = low + (high - low) / 2;
        let half = (high - low) as f64 / 2.0 / bytes.max(1) as f64;
        Some(Arrived { bytes, error_bound_share: edges + half })
    }
}

fn is_near(side: &Side) -> bool {
    side.interface_of == side.end
}

/// Payload that arrived in a window.
struct Arrived {
    bytes: u64,
    error_bound_share: f64,
}

/// Reconciles a run that was made to the end; `None` for others and for memory kernels.
pub(crate) fn reconcile(trial: &Trial, metric: Metric, record: &Record) -> Option<Reconciled> {
    if record.outcome != Outcome::Done || trial.path == NetworkPath::Memory {
        return None;
    }
    let run = match checked(trial, metric, record) {
        Ok(sides) => Reconciled { repeat: record.repeat, verdict: verdict(&sides), sides },
        Err(because) => Reconciled {
            repeat: record.repeat,
            sides: Vec::new(),
            verdict: Verdict::NotReconciled { because },
        },
    };
    Some(run)
}

fn verdict(sides: &[Side]) -> Verdict {
    let excess: Vec<&Side> = sides.iter().filter(|side| side.exceeds()).collect();
    if let Some(side) = excess.iter().find(|side| side.arrived().is_none()) {
        let less = side.tcp_info_bytes.is_some_and(|bytes| bytes < side.carried_at_most);
        let than = if less { Than::TcpInfo } else { Than::Interface };
        return Verdict::Impossible { excess_share: side.excess_share, than };
    }
    let bound = |side: &Side| match side.arrived().filter(|_| side.exceeds()) {
        Some(came) => came.error_bound_share,
        None => side.error_bound_share,
    };
    // Of both directions together: one of which little came counts for little.
    let all: f64 = sides.iter().map(counted).sum();
    let error_bound_share =
        sides.iter().map(|side| bound(side) * counted(side)).sum::<f64>() / all.max(1.0);
    match excess.iter().map(|side| side.excess_share).max_by(f64::total_cmp) {
        Some(excess_share) => Verdict::BacklogTakenOff { excess_share, error_bound_share },
        None => Verdict::Agrees { error_bound_share },
    }
}

fn counted(side: &Side) -> f64 {
    side.counted.max(1) as f64
}

fn checked(trial: &Trial, metric: Metric, record: &Record) -> Result<Vec<Side>, Missing> {
    if record.external.is_some() || trial.path == NetworkPath::Imported {
        return Err(Missing::OtherTool);
    }
    let ends = || record.measured();
    if trial.kind.is_rdma() || ends().any(|end| end.effective.rdma.is_some()) {
        return Err(Missing::Rdma);
    }
    if ends().all(|end| end.looked_ns.is_none()) {
        return Err(Missing::OlderRecord);
    }
    let pairs = record.of(Role::Receiver).count().max(record.of(Role::Sender).count());
    let looks: Vec<Look<'_>> =
        (0..pairs).flat_map(|pair| looks(trial, metric, record, pair)).collect();
    let sides: Vec<Option<Side>> = looks.iter().map(|look| look.side(1.0)).collect();
    let shares = looks.iter().zip(&sides).map(|(look, side)| {
        side.as_ref().map_or(1.0, |side| {
            share_of(
                side,
                sides
                    .iter()
                    .flatten()
                    .filter(|other| other.is_at(side) && look.host(other) == look.host(side)),
            )
        })
    });
    let shares: Vec<f64> = shares.collect();
    let sides: Vec<(&Look<'_>, Side)> = looks
        .iter()
        .zip(shares)
        .filter_map(|(look, share)| Some((look, look.side(share)?)))
        .collect();
    if sides.iter().any(|(look, side)| side.is_beyond() && look.came_elsewhere(side)) {
        return Err(Missing::WayIn);
    }
    let sides: Vec<Side> = sides.into_iter().map(|(_, side)| side).collect();
    if sides.is_empty() { Err(Missing::InterfaceCounters) } else { Ok(sides) }
}

/// The ends of a pair that count what arrived.
fn looks<'a>(trial: &'a Trial, metric: Metric, record: &'a Record, pair: usize) -> Vec<Look<'a>> {
    let [receiver, sender] = [Role::Receiver, Role::Sender].map(|end| record.of(end).nth(pair));
    let look = |end, report, other| Look { trial, metric, end, pair, report, other };
    match (metric, receiver, sender) {
        (Metric::Goodput | Metric::PacketRate, Some(receiver), Some(sender))
            if any_counts(receiver) && any_counts(sender) =>
        {
            vec![
                look(Role::Receiver, receiver, Some(sender)),
                look(Role::Sender, sender, Some(receiver)),
            ]
        }
        (Metric::Goodput | Metric::PacketRate, Some(receiver), _) => {
            vec![look(Role::Receiver, receiver, sender)]
        }
        // The end that asks counts the answers.
        (_, _, Some(sender)) => vec![look(Role::Sender, sender, None)],
        _ => Vec::new(),
    }
}

fn any_counts(end: &EndReport) -> bool {
    end.flows.iter().any(FlowTally::counts)
}

/// The share of what an interface carried that can have been of one end, where several ends share
/// the interface and count more together than it carried.
fn share_of<'a>(side: &Side, all: impl Iterator<Item = &'a Side>) -> f64 {
    let together = all.map(Side::seen).fold(0, u64::saturating_add);
    if together > side.carried_at_most { side.seen() as f64 / together as f64 } else { 1.0 }
}

/// One end that counts, with the other.
struct Look<'a> {
    trial: &'a Trial,
    metric: Metric,
    end: Role,
    pair: usize,
    report: &'a EndReport,
    other: Option<&'a EndReport>,
}

impl Look<'_> {
    /// Whether payload is held to payload, and not round trips to packets.
    fn is_of_bytes(&self) -> bool {
        matches!(self.metric, Metric::Goodput | Metric::PacketRate)
    }

    fn is_tcp(&self) -> bool {
        self.trial.kind.is_tcp()
    }

    /// The host of a side's end; `None` where the trial does not say.
    fn host(&self, side: &Side) -> Option<EndHost> {
        self.trial.ends_of(side.end).nth(side.pair as usize).map(|end| end.host)
    }

    /// What the end counted, when so much of what its interface carried can have been its own;
    /// `None` where no interface tells.
    fn side(&self, share_of_interface: f64) -> Option<Side> {
        let far = if self.end == Role::Receiver { Role::Sender } else { Role::Receiver };
        let near = self
            .carried(self.report, [keys::RX_PACKETS, keys::RX_BYTES])
            .map(|n| (self.end, self.report, n));
        let (interface_of, seen, carried_at_most) = near.or_else(|| {
            let other = self.other?;
            Some((
                far,
                other,
                self.scaled(other, self.carried(other, [keys::TX_PACKETS, keys::TX_BYTES])?),
            ))
        })?;
        let carried_at_most = (carried_at_most as f64 * share_of_interface) as u64;
        let window = seen.window_ns.0.max(1) as f64;
        let window_share = window / seen.looked_ns?.0.max(1) as f64;
        let way = if interface_of == self.end { keys::RX_BYTES } else { keys::TX_BYTES };
        let counted = self.counted();
        let tcp = self.report.readings.total(keys::TCP_RECEIVED);
        let tcp_info_bytes = tcp.filter(|_| self.is_of_bytes() && self.is_tcp());
        let most = tcp_info_bytes.unwrap_or(u64::MAX).min(carried_at_most);
        let read = self.being_read();
        let excess = counted.saturating_sub(most.saturating_add(read)) as f64;
        let share = |n: f64| n / counted.max(1) as f64;
        let backlog = tcp_info_bytes.map_or(0.0, |tcp| {
            // TCP counted between the looks, the program in the window.
            share(counted as f64 - (tcp as f64 * window_share)).abs()
        });
        let waited = self.waited();
        let excess_share = excess / most.max(1) as f64;
        // Of what waited, this may have come before the window.
        let known = waited.map_or(0.0, |waited| share(waited.backlog_at_most_bytes as f64));
        let backlog = backlog.max(known.min(1.0));
        let edges = (1.0 / window_share - 1.0).max(0.0);
        Some(Side {
            end: self.end,
            pair: self.pair as u32,
            counted,
            carried_at_most,
            interface: interface::name(seen, way)?.to_owned(),
            interface_of,
            tcp_info_bytes,
            waited,
            window_share,
            excess_share,
            error_bound_share: edges + share(read as f64).min(1.0) + backlog.max(excess_share),
        })
    }

    /// What waited in the sockets at the edges of the window; `None` where that is not told.
    fn waited(&self) -> Option<Waited> {
        if !self.is_of_bytes() || self.is_tcp() {
            return None;
        }
        let memory = |at: Moment| {
            // Each flow has its own socket, and this end all of them.
            let each = self.report.readings.each(keys::WAITING, at).map(|(_, bytes)| bytes);
            each.reduce(u64::saturating_add)
        };
        let opening_memory_bytes = memory(Moment::Opening)?;
        let closing_memory_bytes = memory(Moment::Closing)?;
        let buffer = self.report.effective.receive_buffer_bytes?.0;
        let message = self.trial.params.message_bytes.0;
        // Joined datagrams share the memory beside the payload.
        let is_joined = self.report.effective.receiver.as_deref() == Some(calls::GRO);
        let beside = if is_joined { 0 } else { DATAGRAM_MEMORY_BYTES };
        let flows = self.report.flows.len() as u64;
        let surely_closing =
            closing_memory_bytes.saturating_sub(flows.saturating_mul(buffer / LOT));
        // Datagrams of a flow take the same memory each at both edges.
        let net = opening_memory_bytes.saturating_sub(surely_closing) as f64;
        let payload = message as f64 / message.saturating_add(beside).max(1) as f64;
        let backlog_at_most_bytes = (net * payload) as u64;
        Some(Waited { opening_memory_bytes, closing_memory_bytes, backlog_at_most_bytes })
    }

    /// What the program counted in its window.
    fn counted(&self) -> u64 {
        let flows = &self.report.flows;
        match self.metric {
            Metric::Goodput | Metric::PacketRate => {
                total(flows.iter().filter(|flow| flow.counts()).map(|flow| flow.bytes.0))
            }
            _ => total(flows.iter().map(|flow| flow.messages)),
        }
    }

    /// What may be in the hands of its threads as the window opens and closes.
    fn being_read(&self) -> u64 {
        let (flows, message) = (self.report.flows.len() as u64, self.trial.params.message_bytes.0);
        match self.metric {
            Metric::Goodput if self.is_tcp() => flows * SEGMENT_BYTES,
            Metric::Goodput | Metric::PacketRate => flows * 2 * message,
            _ => flows,
        }
    }

    /// Whether the kernel does not tell by which interface this end's flows came in, and another
    /// than the one that was asked carried as much as was counted.
    fn came_elsewhere(&self, side: &Side) -> bool {
        let (of, counters) = (&self.report.effective, [keys::RX_PACKETS, keys::RX_BYTES]);
        let unknown = side.interface_of == self.end && of.interface_in.is_none();
        let others = self.report.readings.from_source(Source::Interface);
        let mut others = others.filter_map(|(key, _)| match &key.scope {
            Scope::Nic(name) if *name != side.interface && name != LOOPBACK => Some(name),
            _ => None,
        });
        unknown
            && others.any(|name| {
                let carried = self.carried_by(self.report, name, counters);
                carried.is_some_and(|carried| carried >= side.counted)
            })
    }

    /// Payload bytes that an end's interface carried at most between the looks, or packets of round
    /// trips, each of which is one at least.
    fn carried(&self, end: &EndReport, counters: [Counter; 2]) -> Option<u64> {
        end.looked_ns?;
        self.carried_by(end, interface::name(end, counters[0])?, counters)
    }

    fn carried_by(&self, end: &EndReport, name: &str, counters: [Counter; 2]) -> Option<u64> {
        let [packets, bytes] =
            counters.map(|one| end.readings.of(one, Scope::Nic(name.to_owned())));
        if !self.is_of_bytes() {
            return packets;
        }
        Some(bytes?.saturating_sub(packets?.saturating_mul(self.header_bytes(end))))
    }

    /// The least headers of a packet: those of IP and TCP or UDP. Not all interfaces count the
    /// link's header, and one that joins packets keeps one set for all.
    fn header_bytes(&self, end: &EndReport) -> u64 {
        let ip = end.effective.ip.map_or(20, |ip| ip.header_bytes());
        ip + if self.is_tcp() { 20 } else { 8 }
    }

    /// What the other end's interface carried, in a window of this end's length.
    fn scaled(&self, other: &EndReport, carried: u64) -> u64 {
        let (own, others) = (self.report.window_ns.0 as f64, other.window_ns.0.max(1) as f64);
        (carried as f64 * (own / others).max(1.0)) as u64
    }
}
