//! Where datagrams went: how many are missing, by both ends' counts, and where the counters of both
//! ends say that they were dropped. What no counter places has no place.

use crate::done::Done;
use crate::interface::interface;
use crate::total;
use narrows_model::load::{EndReport, FlowTally, Stretch};
use narrows_model::reading::{Counter, keys};
use narrows_model::record::Record;
use narrows_model::trial::Trial;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a UDP header and of an Ethernet header.
const UDP_BYTES: u64 = 8;
const ETHERNET_BYTES: u64 = 14;

/// Where datagrams went, sums over all runs and both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Loss {
    /// Received, of those that both ends count; in records of older versions, in the receiver's
    /// window.
    pub received_datagrams: u64,
    /// Sent and not received.
    pub lost_datagrams: u64,
    /// Whether both ends counted the same datagrams. Without that only gaps before the last
    /// datagram that came are seen, and what was lost after it is not.
    pub last_datagrams_known: bool,
    /// Of the lost, dropped at the receiver's socket because their checksum was wrong; at most so
    /// many, since the kernel counts those of all sockets.
    pub lost_corrupted_datagrams: u64,
    /// Of the rest, dropped at the receiver's socket for want of buffer.
    pub lost_at_socket_datagrams: u64,
    /// Of the rest, at most so many dropped by the receiver's interface: its counters count all
    /// traffic.
    #[serde(rename = "lost_at_sink_interface_datagrams")]
    pub lost_at_receiver_interface_datagrams: u64,
    /// Of the rest, those that came to the receiver's interface and not to its socket: a filter, a
    /// backlog or an error of its own host.
    #[serde(rename = "lost_in_sink_host_datagrams")]
    pub lost_in_receiver_host_datagrams: u64,
    /// Of the rest, those that never left by the sender's interface: its queue or the interface.
    #[serde(rename = "lost_at_source_interface_datagrams")]
    pub lost_at_sender_interface_datagrams: u64,
    /// What is left where both ends' counters were read: lost between their interfaces.
    pub lost_on_path_datagrams: u64,
    /// What is left where they were not, or are too coarse for so few: nothing tells where.
    pub lost_unplaced_datagrams: u64,
    /// Both ends ran on one host: its path is a pair of interfaces or the loopback device.
    pub within_one_host: bool,
    /// Never sent: the sender's own host refused them.
    #[serde(rename = "refused_at_source_datagrams")]
    pub refused_at_sender_datagrams: u64,
    /// Arrived after a later one.
    pub reordered_datagrams: u64,
    /// Arrived more than once.
    pub duplicate_datagrams: u64,
}

/// A place where datagrams are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossPlace {
    /// The receiver's socket, which takes none whose checksum is wrong.
    Corrupted,
    /// The receiver's socket.
    #[serde(rename = "sink-socket")]
    ReceiverSocket,
    /// The receiver's interface.
    #[serde(rename = "sink-interface")]
    ReceiverInterface,
    /// The receiver's host, between interface and socket.
    #[serde(rename = "sink-host")]
    ReceiverHost,
    /// The sender's interface or its queue.
    #[serde(rename = "source-interface")]
    SenderInterface,
    /// Between the interfaces of two hosts.
    Path,
    /// Between two interfaces of one host.
    OneHost,
    /// No counter tells.
    Unknown,
}

impl LossPlace {
    /// The place as reports name it.
    pub fn says(self) -> &'static str {
        match self {
            Self::Corrupted => "at the receiver's socket, since their checksum was wrong",
            Self::ReceiverSocket => "at the receiver's socket",
            Self::ReceiverInterface => "in the receiver's interface",
            Self::ReceiverHost => "in the receiver's host, between interface and socket",
            Self::SenderInterface => "in the sender's interface or its queue",
            Self::Path => "on the path between the two hosts",
            Self::OneHost => "between the two interfaces of this one host",
            Self::Unknown => "at an unknown place",
        }
    }
}

impl Loss {
    /// Datagrams that both ends counted, the lost ones included.
    pub fn all_datagrams(&self) -> u64 {
        self.received_datagrams.saturating_add(self.lost_datagrams)
    }

    /// How many were lost at each place.
    pub fn places(&self) -> [(LossPlace, u64); 7] {
        let path = if self.within_one_host { LossPlace::OneHost } else { LossPlace::Path };
        [
            (LossPlace::Corrupted, self.lost_corrupted_datagrams),
            (LossPlace::ReceiverSocket, self.lost_at_socket_datagrams),
            (LossPlace::ReceiverInterface, self.lost_at_receiver_interface_datagrams),
            (LossPlace::ReceiverHost, self.lost_in_receiver_host_datagrams),
            (path, self.lost_on_path_datagrams),
            (LossPlace::SenderInterface, self.lost_at_sender_interface_datagrams),
            (LossPlace::Unknown, self.lost_unplaced_datagrams),
        ]
    }

    /// The place at which most were lost, and how many there.
    pub fn main_place(&self) -> (LossPlace, u64) {
        let most = self.places().into_iter().max_by_key(|(_, lost)| *lost);
        most.unwrap_or((LossPlace::Unknown, 0))
    }

    fn add(mut self, way: &Way<'_>) -> Self {
        let (received, lost, is_whole) = way.counted();
        let placed = way.placed(lost);
        add(&mut self.received_datagrams, received);
        add(&mut self.lost_datagrams, lost);
        self.last_datagrams_known &= is_whole;
        add(&mut self.lost_corrupted_datagrams, placed.corrupted);
        add(&mut self.lost_at_socket_datagrams, placed.socket);
        add(&mut self.lost_at_receiver_interface_datagrams, placed.interface);
        add(&mut self.lost_in_receiver_host_datagrams, placed.receiver_host);
        add(&mut self.lost_at_sender_interface_datagrams, placed.sender);
        let rest = if placed.is_path_known {
            &mut self.lost_on_path_datagrams
        } else {
            &mut self.lost_unplaced_datagrams
        };
        add(rest, placed.rest);
        add(&mut self.refused_at_sender_datagrams, way.sent(|flow| flow.refused));
        add(&mut self.reordered_datagrams, way.received(|flow| flow.reordered));
        add(&mut self.duplicate_datagrams, way.received(|flow| flow.duplicates));
        self
    }
}

fn add(to: &mut u64, n: u64) {
    *to = to.saturating_add(n);
}

/// What was lost over all runs.
pub(crate) fn loss(trial: &Trial, done: &[Done<'_>], within_one_host: bool) -> Loss {
    let ways = done.iter().flat_map(|run| ways(trial, run)).flatten().flatten();
    let none = Loss { last_datagrams_known: true, within_one_host, ..Loss::default() };
    ways.fold(none, |loss, way| loss.add(&way))
}

/// The directions of a run: of each pair there, and back where both its ends send.
pub(crate) fn ways<'a>(
    trial: &Trial,
    run: &Done<'a>,
) -> impl Iterator<Item = [Option<Way<'a>>; 2]> + use<'a> {
    let message = trial.params.message_bytes.0.max(1);
    let pairs: Vec<_> = run.pairs().collect();
    pairs.into_iter().map(move |(sender, receiver)| {
        let back = receiver.flows.iter().any(|flow| flow.sends);
        let back = sender.filter(|_| back);
        let there = Way { from: sender, to: receiver, message };
        [Some(there), back.map(|to| Way { from: Some(receiver), to, message })]
    })
}

/// What was lost in one run; `None` unless it is one of datagrams that was made to the end.
pub fn loss_of(trial: &Trial, record: &Record) -> Option<Loss> {
    let run = Done::of(record).filter(|_| trial.kind.counts_datagrams())?;
    Some(loss(trial, &[run], false))
}

/// One direction of one run.
pub(crate) struct Way<'a> {
    pub(crate) from: Option<&'a EndReport>,
    pub(crate) to: &'a EndReport,
    pub(crate) message: u64,
}

/// What was lost on one way, by place.
struct Placed {
    corrupted: u64,
    socket: u64,
    interface: u64,
    receiver_host: u64,
    sender: u64,
    rest: u64,
    is_path_known: bool,
}

impl Placed {
    /// Gives what is left to the place with the most.
    fn join_rest(&mut self) {
        let places = [
            &mut self.corrupted,
            &mut self.socket,
            &mut self.interface,
            &mut self.receiver_host,
            &mut self.sender,
        ];
        if let Some(most) = places.into_iter().max_by_key(|place| **place) {
            *most += std::mem::take(&mut self.rest);
        }
    }
}

impl Way<'_> {
    fn sent(&self, what: impl Fn(&FlowTally) -> u64) -> u64 {
        let flows = self.from.iter().flat_map(|end| &end.flows).filter(|flow| flow.sends);
        total(flows.map(what))
    }

    pub(crate) fn received(&self, what: impl Fn(&FlowTally) -> u64) -> u64 {
        total(self.to.flows.iter().filter(|flow| !flow.sends).map(what))
    }

    /// Received and lost, and whether the last ones are among them.
    pub(crate) fn counted(&self) -> (u64, u64, bool) {
        let sent = self.from.and_then(|end| stretch(end, |flow| flow.sends));
        let received = stretch(self.to, |flow| !flow.sends);
        match sent.zip(received).filter(|(sent, received)| sent.of == received.of) {
            Some((sent, received)) => {
                let came = received.datagrams.min(sent.datagrams);
                (came, sent.datagrams - came, true)
            }
            None => (self.received(|flow| flow.messages), self.received(|flow| flow.lost), false),
        }
    }

    /// The split of what was lost. Each part is taken only from what the parts nearer to the
    /// receiver left over, since counters are read a moment apart and count others' traffic too.
    fn placed(&self, lost: u64) -> Placed {
        let mut left = lost;
        let mut part = |counted: u64| {
            let part = counted.min(left);
            left -= part;
            part
        };
        let drops = self.to.readings.total(keys::SOCKET_DROPPED);
        let at_interface = counted(self.to, [keys::RX_DROPPED, keys::RX_ERRORS]);
        // The socket's drops hold those with a wrong checksum, which no buffer would have kept.
        let wrong = self.to.readings.total(keys::UDP_CHECKSUM).unwrap_or(0);
        let wrong = wrong.min(drops.unwrap_or(0));
        let corrupted = part(wrong);
        let socket = part(drops.unwrap_or(0) - wrong);
        let interface = part(at_interface);
        let stuck = self.stuck(drops.unwrap_or(0).saturating_add(at_interface));
        let receiver_host = part(stuck.map_or(0, |(stuck, _)| stuck));
        let unsent = self.unsent();
        let sender = part(
            unsent
                .unwrap_or(0)
                .max(self.from.map_or(0, |end| counted(end, [keys::TX_DROPPED, keys::TX_ERRORS]))),
        );
        let error = stuck.map(|(_, error)| error);
        let mut placed = Placed {
            corrupted,
            socket,
            interface,
            receiver_host,
            sender,
            rest: left,
            is_path_known: false,
        };
        match error {
            // So few more are the edges of the looks: they are of the place of the others.
            Some(error) if left <= 2 * error + 1 && left * 10 < lost => placed.join_rest(),
            Some(error) => {
                // Fewer than the looks may be off by are nobody's.
                placed.is_path_known = unsent.is_some() && drops.is_some() && left > 2 * error + 1;
            }
            None => {}
        }
        placed
    }

    /// Datagrams that came to the receiver's interface in its window and neither to its program nor
    /// to a drop that is counted, and how far that may be off; `None` where that is not counted.
    fn stuck(&self, dropped: u64) -> Option<(u64, u64)> {
        let (messages, window) = (self.received(|flow| flow.messages), self.to.window_ns.0);
        let looked = self.to.looked_ns?.0.max(window).max(1);
        let (packets, by_bytes) = self.through(self.to, [keys::RX_PACKETS, keys::RX_BYTES])?;
        let arrived = if is_joined(messages, packets) { by_bytes } else { by_bytes.min(packets) };
        let in_window = (arrived as f64 * window as f64 / looked as f64) as u64;
        // What came for ports where nobody listens, others sent.
        let strays = self.to.readings.total(keys::UDP_NO_PORT).unwrap_or(0);
        let told = messages
            .saturating_add(self.received(|flow| flow.duplicates))
            .saturating_add(dropped)
            .saturating_add(strays);
        let error = arrived - in_window.min(arrived);
        // As much as the looks may have seen beyond the window is not sure.
        Some((in_window.saturating_sub(told).saturating_sub(error), error))
    }

    /// Datagrams that the sender's kernel took and its interface never carried; `None` where that
    /// is not counted.
    fn unsent(&self) -> Option<u64> {
        let end = self.from?;
        end.looked_ns?;
        let messages = self.sent(|flow| flow.messages);
        let (packets, by_bytes) = self.through(end, [keys::TX_PACKETS, keys::TX_BYTES])?;
        let left = if is_joined(messages, packets) { by_bytes } else { by_bytes.max(packets) };
        // The two are read a moment apart: fewer than one in a hundred may be that.
        Some(messages.saturating_sub(left)).map(|n| if n * 100 < messages { 0 } else { n })
    }

    /// Datagrams that an interface carried, by its packets and by its bytes less headers: a
    /// packet may be a fragment, or many datagrams that are cut later.
    fn through(&self, end: &EndReport, [packets, bytes]: [Counter; 2]) -> Option<(u64, u64)> {
        let (packets, bytes) = (interface(end, packets)?, interface(end, bytes)?);
        let ip = end.effective.ip.map_or(20, |ip| ip.header_bytes());
        let mtu = self.from.and_then(|end| end.effective.path_mtu_bytes).map_or(0, |mtu| mtu.0);
        // Pieces of a packet are multiples of eight bytes (RFC 791).
        let room = mtu.saturating_sub(ip) / 8 * 8;
        let pieces = if room == 0 { 1 } else { (self.message + UDP_BYTES).div_ceil(room) };
        let head = ip + UDP_BYTES + ETHERNET_BYTES;
        let payload = bytes.saturating_sub(packets.saturating_mul(head));
        Some((packets / pieces.max(1), payload / self.message))
    }
}

fn counted(end: &EndReport, counters: [Counter; 2]) -> u64 {
    total(counters.iter().filter_map(|counter| interface(end, *counter)))
}

/// Whether packets held several datagrams each.
fn is_joined(datagrams: u64, packets: u64) -> bool {
    datagrams > packets.saturating_add(packets / 2)
}

/// What an end counted of a stretch over those of its flows that are asked for; `None` unless all
/// did.
fn stretch(end: &EndReport, is_asked: fn(&FlowTally) -> bool) -> Option<Stretch> {
    let flows = end.flows.iter().filter(|flow| is_asked(flow));
    let all: Vec<Stretch> = flows.map(|flow| flow.stretch).collect::<Option<_>>()?;
    let of = all.first()?.of;
    let datagrams = total(all.iter().map(|stretch| stretch.datagrams));
    all.iter().all(|stretch| stretch.of == of).then_some(Stretch { of, datagrams })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::{IpVersion, StretchOf};
    use narrows_model::reading::Scope;
    use narrows_model::{Bytes, Nanos};

    const MESSAGE: u64 = 1000;
    const HEADS: u64 = 20 + UDP_BYTES + ETHERNET_BYTES;

    /// An end with a flow that sends or receives, and an interface that carried packets of one
    /// datagram each.
    fn end(sends: bool, messages: u64, counted: u64, carried: u64) -> EndReport {
        let stretch = Stretch { of: StretchOf::SenderWindow, datagrams: counted };
        let flow = FlowTally { sends, messages, stretch: Some(stretch), ..FlowTally::default() };
        let mut end = EndReport {
            window_ns: Nanos(1_000_000_000),
            looked_ns: Some(Nanos(1_001_000_000)),
            flows: vec![flow],
            ..EndReport::default()
        };
        end.effective.interface = Some("eth0".into());
        end.effective.ip = Some(IpVersion::V4);
        end.effective.path_mtu_bytes = Some(Bytes(1500));
        let way = if sends { "tx" } else { "rx" };
        let mut count = |source: &str, key: String, n: u64| {
            end.readings.put_words(source, &key, n);
        };
        count("interface", format!("eth0.{way}_packets"), carried);
        count("interface", format!("eth0.{way}_bytes"), carried * (MESSAGE + HEADS));
        if !sends {
            count("socket", "flow0.dropped_packets".into(), 0);
        }
        end
    }

    fn of(from: Option<&EndReport>, to: &EndReport) -> Loss {
        let none = Loss { last_datagrams_known: true, ..Loss::default() };
        none.add(&Way { from, to, message: MESSAGE })
    }

    #[test]
    fn what_others_send_to_closed_ports_is_no_drop_of_the_receivers_host() {
        let sent = end(true, 10_000, 10_000, 10_000);
        // 4,000 of 10,000 came, and 5,000 of somebody else's by the same interface.
        let mut came = end(false, 4_000, 4_000, 9_000);
        assert_eq!(of(Some(&sent), &came).main_place().0, LossPlace::ReceiverHost);
        came.readings.put_words("netstat", "Udp.NoPorts_events", 5_000);
        let loss = of(Some(&sent), &came);
        assert_eq!(loss.main_place(), (LossPlace::Path, 6_000), "{loss:?}");
    }

    #[test]
    fn the_last_datagrams_count_though_no_gap_shows_them() {
        // The receiver saw the first half, without a gap, and then nothing.
        let loss = of(Some(&end(true, 10_000, 10_000, 10_000)), &end(false, 5_000, 5_000, 5_000));
        assert_eq!((loss.received_datagrams, loss.lost_datagrams), (5_000, 5_000));
        assert!(loss.last_datagrams_known);
        assert_eq!(loss.lost_on_path_datagrams, 5_000);
        // Nothing came at all.
        let loss = of(Some(&end(true, 10_000, 10_000, 10_000)), &end(false, 0, 0, 0));
        assert_eq!((loss.received_datagrams, loss.lost_datagrams), (0, 10_000));
        // All came: the receiver's window had a few more than the sender's.
        let loss =
            of(Some(&end(true, 10_000, 10_000, 10_000)), &end(false, 10_007, 10_000, 10_007));
        assert_eq!(loss.lost_datagrams, 0);
    }

    #[test]
    fn without_both_counts_the_last_ones_are_not_known() {
        let mut to = end(false, 900, 900, 900);
        to.flows[0].lost = 100;
        let loss = of(None, &to);
        assert_eq!((loss.lost_datagrams, loss.last_datagrams_known), (100, false));
        to.flows[0].stretch = Some(Stretch { of: StretchOf::WholeRun, datagrams: 900 });
        let loss = of(Some(&end(true, 1000, 1000, 1000)), &to);
        assert_eq!((loss.lost_datagrams, loss.last_datagrams_known), (100, false));
    }

    #[test]
    fn each_place_is_told_by_the_counters_on_both_sides_of_it() {
        let from = end(true, 10_000, 10_000, 10_000);
        // They came to the interface, and not to the socket: a filter.
        let loss = of(Some(&from), &end(false, 4_000, 4_000, 10_000));
        assert_eq!(loss.lost_in_receiver_host_datagrams, 6_000, "{loss:?}");
        // They did not come to the interface.
        let loss = of(Some(&from), &end(false, 4_000, 4_000, 4_000));
        assert_eq!(loss.lost_on_path_datagrams, 6_000, "{loss:?}");
        // They never left the sender's host: its queue.
        let loss = of(Some(&end(true, 10_000, 10_000, 4_000)), &end(false, 4_000, 4_000, 4_000));
        assert_eq!(loss.lost_at_sender_interface_datagrams, 6_000, "{loss:?}");
        // At the socket, which the interface saw too.
        let mut to = end(false, 4_000, 4_000, 10_000);
        to.readings.put_words("socket", "flow0.dropped_packets", 6_000);
        let loss = of(Some(&from), &to);
        assert_eq!(loss.lost_at_socket_datagrams, 6_000, "{loss:?}");
        // Most of them because they were corrupted, as the kernel counts apart.
        to.readings.put_words("netstat", "Udp.InCsumErrors_events", 5_900);
        let loss = of(Some(&from), &to);
        let both = (loss.lost_corrupted_datagrams, loss.lost_at_socket_datagrams);
        assert_eq!((both, loss.lost_datagrams), ((5_900, 100), 6_000), "{loss:?}");
        // It counts those of other sockets too.
        to.readings.put_words("netstat", "Udp.InCsumErrors_events", 70_000);
        let loss = of(Some(&from), &to);
        assert_eq!(loss.lost_corrupted_datagrams, 6_000, "{loss:?}");
    }

    #[test]
    fn what_late_looks_may_be_off_by_is_not_lost_on_the_path() {
        // All came to the interface, which was looked at for 13 % longer than the window.
        let from = end(true, 10_000, 10_000, 10_000);
        let mut to = end(false, 0, 0, 10_000);
        to.looked_ns = Some(Nanos(1_130_000_000));
        let loss = of(Some(&from), &to);
        let placed = loss.lost_in_receiver_host_datagrams;
        assert!(placed > 7_500 && loss.lost_on_path_datagrams == 0, "{loss:?}");
        assert_eq!(placed + loss.lost_unplaced_datagrams, 10_000, "{loss:?}");
    }

    #[test]
    fn an_end_whose_counters_are_not_read_leaves_the_place_unknown() {
        let mut to = end(false, 4_000, 4_000, 10_000);
        to.readings.clear();
        let loss = of(Some(&end(true, 10_000, 10_000, 10_000)), &to);
        assert_eq!(loss.lost_unplaced_datagrams, 6_000, "{loss:?}");
        let mut from = end(true, 10_000, 10_000, 10_000);
        from.readings.clear();
        let loss = of(Some(&from), &end(false, 4_000, 4_000, 4_000));
        assert_eq!(loss.lost_unplaced_datagrams, 6_000, "{loss:?}");
        // A place known to be the receiver's stays one.
        let loss = of(Some(&from), &end(false, 4_000, 4_000, 10_000));
        assert!(loss.lost_in_receiver_host_datagrams > 5_900, "{loss:?}");
    }

    #[test]
    fn packets_of_many_datagrams_and_fragments_are_counted_as_datagrams() {
        // 64 datagrams a packet: one set of headers each.
        let mut from = end(true, 6_400, 6_400, 100);
        let bytes = 100 * (64 * MESSAGE + HEADS);
        from.readings.put_words("interface", "eth0.tx_bytes", bytes);
        let mut to = end(false, 3_200, 3_200, 100);
        to.readings.put_words("interface", "eth0.rx_bytes", bytes);
        let loss = of(Some(&from), &to);
        assert!(loss.lost_in_receiver_host_datagrams > 3_150, "{loss:?}");
        assert_eq!(loss.lost_at_sender_interface_datagrams, 0);
        // Two fragments each: as many packets came as datagrams were sent, and half of these.
        let [mut from, mut to] = [end(true, 1000, 1000, 2000), end(false, 500, 500, 1000)];
        for end in [&mut from, &mut to] {
            end.effective.path_mtu_bytes = Some(Bytes(576));
            for counter in [keys::TX_BYTES, keys::RX_BYTES] {
                let scope = Scope::Nic("eth0".into());
                if let Some(n) = end.readings.of(counter, scope.clone()) {
                    end.readings.put(counter.key(scope), n / 2 + 500 * HEADS);
                }
            }
        }
        let loss = of(Some(&from), &to);
        assert_eq!((loss.lost_on_path_datagrams, loss.lost_in_receiver_host_datagrams), (500, 0));
    }
}
