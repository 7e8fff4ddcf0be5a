//! Whether what a rule found holds a cell where it is, by what else was measured in it.

use super::of_ends::{ENGAGED_MIN, is_sender_idle, is_starved, pace};
use super::{LOST_SHARE, WAITED_NS};
use crate::filled::Filled;
use crate::measured::{Cell, waited_share};
use crate::rules::tcp_retransmits::Hold;
use crate::rules::{
    acknowledgements_lost, backlog_drops, congestion_control, congestion_window, end_traced,
    neighbour_changed, nic_offloads, nic_shaped, other_traffic, own_queue, path_capacity,
    path_capacity_varies, path_duplicates, path_outages, path_policed, path_proxy, path_reordering,
    path_shared, path_volume, round_trip_time, segment_size, tcp_retransmits, tcp_send_buffers,
};
use narrows_model::load::EndReport;
use narrows_model::reading::keys;

/// Whether what a rule found holds a cell where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Yes,
    /// It is there, and allows more than was measured: named where nothing else is.
    Perhaps,
    /// It is there, and more than it allows was measured.
    No,
}

/// A smaller share of copies costs little.
const COPIES_SHARE: f64 = 0.1;
/// Fewer segments that come early are those of losses that are being repaired.
const EARLY_MIN: f64 = 0.02;
const EARLY_TIMES: f64 = 10.0;
/// IPv4 and TCP with timestamps.
const HEADERS_BYTES: f64 = 52.0;
/// Ethernet's header, check sequence, preamble and gap.
const FRAMING_BYTES: f64 = 38.0;
/// What smaller segments leave of the payload of full ones, from which on they cost much.
const PAYLOAD_SHARE: f64 = 0.9;
const MOST_SHARE: f64 = 0.75;
/// A stream with so much of the path's rate would be little faster with less work.
const FILLED_SHARE: f64 = 0.85;
/// A stream that reaches so much of what its losses allow is held by the losses; one that reaches
/// far more is held by something else.
const REACHED_SHARE: std::ops::RangeInclusive<f64> = 0.6..=4.0;
/// A quota that stops a group in fewer of its periods costs little of the time.
const STOPPED_SHARE: f64 = 0.1;

/// A shaper holds what leaves by its interface: the data where it is the sender's. What the
/// receiver sends are acknowledgements, which it holds back only where it is very slow.
/// Where packets are lost that none of the sender's own queues dropped, something beyond it is
/// slower still: the shaper may only be there.
pub fn is_shaped(cell: &Cell<'_>) -> Holds {
    if own_queue::is_lost_beyond(cell) || own_queue::is_mostly_empty(cell) {
        return Holds::No;
    }
    let qdisc = cell.sender().and_then(|end| end.nic()).and_then(|nic| nic.qdisc.value());
    match qdisc {
        Some(qdisc) if !nic_shaped::is_shaper(qdisc) => Holds::Perhaps,
        _ => Holds::Yes,
    }
}

/// A next hop whose address changes again and again; once is a failover, which is over.
pub fn is_fought_over(cell: &Cell<'_>) -> Holds {
    match (neighbour_changed::is_fight(cell), neighbour_changed::is_lost(cell)) {
        (true, _) => Holds::Yes,
        (false, true) => Holds::No,
        (false, false) => Holds::Perhaps,
    }
}

/// A next hop that nobody answers for again and again.
pub fn is_unanswered(cell: &Cell<'_>) -> Holds {
    if neighbour_changed::is_lost(cell) { Holds::Yes } else { Holds::No }
}

/// A traced end whose calls stop it; a tracer that lets them pass is only there.
pub fn is_stopped_by_tracer(cell: &Cell<'_>) -> Holds {
    if end_traced::is_stopped(cell) { Holds::Yes } else { Holds::Perhaps }
}

/// Losses of one in a thousand or more.
pub fn lost_often(cell: &Cell<'_>) -> Holds {
    let is_often = cell.losses().is_some_and(|losses| losses.lost >= LOST_SHARE);
    // Beside round trips what the losses cost is told, and on which way they are.
    let is_told = round_trip_time::waits_for_timer(cell);
    if is_often && !is_told && tcp_retransmits::is_held(cell) { Holds::Yes } else { Holds::No }
}

/// Losses that selective acknowledgements would have repaired at once: without them each costs a
/// round trip of its own, or the timer (RFC 6675).
pub fn repaired_without_sack(cell: &Cell<'_>) -> Holds {
    let is_lost = cell.losses().is_some_and(|losses| losses.lost >= LOST_SHARE);
    let is_without = cell.agreed(keys::OPTION_SACK) == Some(false);
    // What reaches all that the loss itself allows would be no faster with them, unless several are
    // lost at a time: without them each takes a round trip then.
    let is_loss =
        tcp_retransmits::reached(cell).is_some_and(|share| REACHED_SHARE.contains(&share));
    let is_row = tcp_retransmits::row(cell).is_some_and(|row| row >= tcp_retransmits::ROW_MIN);
    if is_lost && is_without && (!is_loss || is_row) { Holds::Yes } else { Holds::No }
}

/// A window or buffer that was counted as the limit, unless what it lets travel stands in a queue.
pub fn bounds_what_travels(cell: &Cell<'_>) -> Holds {
    match cell.trips() {
        Some(trips) if trips.are_of_a_queue() => Holds::Perhaps,
        _ => Holds::Yes,
    }
}

/// Whether what the sender waits for is the window of something between, which passes on less: then
/// a rate that each connection has is that thing's, or of what is behind it.
pub fn is_held_by_proxy(cell: &Cell<'_>) -> Holds {
    if path_proxy::holds(cell) { Holds::Yes } else { Holds::No }
}

/// Copies of packets that take a tenth of the path or more.
pub fn copies_take_much(cell: &Cell<'_>) -> Holds {
    if path_duplicates::copies(cell).is_some_and(|share| share >= COPIES_SHARE) {
        Holds::Yes
    } else {
        Holds::No
    }
}

/// Whether far more packets came early than were lost or came twice: TCP sends those again that are
/// only late, so that reordering brings the other two with it, and not they it.
pub fn is_rather_late(cell: &Cell<'_>) -> bool {
    cell.losses().is_some_and(|losses| {
        let copies = (losses.had - losses.again).max(0.0);
        let missing = path_reordering::missing_share(cell);
        let lost = missing.map_or(losses.lost, |missing| missing.min(losses.lost));
        losses.early >= EARLY_MIN
            && losses.early >= EARLY_TIMES * lost.max(copies)
            && losses.early > path_reordering::by_loss(cell, lost)
    })
}

/// Packets that come late cost a stream what TCP sends again for them; it waits for a while before
/// it does (RFC 8985), so that many of those that are only a little late cost nothing.
pub fn late_ones_cost(cell: &Cell<'_>) -> Holds {
    let is_again = cell.losses().is_some_and(|losses| losses.again >= LOST_SHARE);
    if is_again && is_rather_late(cell) { Holds::Yes } else { Holds::No }
}

/// Headers that leave less than nine tenths of what those of full packets would.
///
/// Where an end's CPU is full the path has room: what small segments cost is CPU time then. Where a
/// stream keeps the pace that was asked for it has room as well.
pub fn headers_take_much(cell: &Cell<'_>) -> Holds {
    if cell.is_busy() || pace(cell).is_some() {
        return Holds::No;
    }
    let is_much = segment_and_mtu(cell).is_some_and(|(segment, mtu)| {
        payload_share(segment + HEADERS_BYTES) < PAYLOAD_SHARE * payload_share(mtu)
    });
    if is_much { Holds::Yes } else { Holds::No }
}

/// Headers that leave less than three quarters of what those of full packets would: no rate of the
/// path is as near to the cause.
pub fn headers_take_most(cell: &Cell<'_>) -> Holds {
    let is_most = segment_and_mtu(cell).is_some_and(|(segment, mtu)| {
        payload_share(segment + HEADERS_BYTES) < MOST_SHARE * payload_share(mtu)
    });
    if is_most { headers_take_much(cell) } else { Holds::No }
}

/// A busy CPU, and segments of half of what the interface takes at the most: each costs about as
/// much as a full one, so that the same work moves twice the bytes with those. A thread that waits
/// for its pace fills a CPU with that.
pub fn small_ones_fill_a_cpu(cell: &Cell<'_>) -> Holds {
    let is_half =
        segment_and_mtu(cell).is_some_and(|(segment, mtu)| 2.0 * (segment + HEADERS_BYTES) <= mtu);
    let is_small = is_half || segment_size::small_fragments(cell).is_some();
    if is_small && cell.is_busy() && pace(cell).is_none() { Holds::Yes } else { Holds::No }
}

/// A stream as fast as it goes, each of whose datagrams fills one of the path's small packets.
pub fn fill_small_packets(cell: &Cell<'_>) -> Holds {
    let is_full = segment_size::filled_small_mtu(cell).is_some();
    if is_full && !cell.is_paced() { Holds::Yes } else { Holds::No }
}

/// Bytes of the segments that the sender's TCP sends, and its interface's MTU.
fn segment_and_mtu(cell: &Cell<'_>) -> Option<(f64, f64)> {
    let nic = cell.sender().and_then(|end| end.nic())?;
    Some((cell.segment_bytes()?, nic.mtu_bytes.value()?.0 as f64))
}

fn payload_share(packet: f64) -> f64 {
    (packet - HEADERS_BYTES) / (packet + FRAMING_BYTES)
}

/// Datagrams that reached the receiver's host, and that its sockets were not given or had no room
/// for: nothing between the ends limits those.
pub fn dropped_at_receiver(cell: &Cell<'_>) -> Holds {
    if cell.is_lost_at_receiver() { Holds::Yes } else { Holds::No }
}

/// Acknowledgements are covered by later ones: a loss of them holds a stream back that loses less
/// data than that on the way forth.
pub fn acks_are_lost_most(cell: &Cell<'_>) -> Holds {
    let forth = cell.losses().map_or(0.0, |losses| losses.lost);
    match acknowledgements_lost::share(cell) {
        Some(back) if back > forth => Holds::Yes,
        _ => Holds::Perhaps,
    }
}

/// Large frames that are lost and at no rate: trains are short, and pass the bucket of a policer
/// whole.
pub fn no_rate_drops_them(cell: &Cell<'_>) -> Holds {
    let is_rate = path_policed::is_found(cell) || path_volume::is_found(cell);
    if is_rate { Holds::Perhaps } else { Holds::Yes }
}

/// A stream without window scaling, which something on the path strips, that has as much under way
/// as such a window allows, or a good part of it.
pub fn is_unscaled_between(cell: &Cell<'_>) -> Holds {
    let flows = f64::from(cell.trial.params.streams.max(1));
    let travels = cell
        .rates()
        .zip(cell.trips())
        .map(|(rates, trips)| rates.middle / 8.0 * trips.middle_ns / 1e9 / flows / UNSCALED_BYTES);
    let is_off = cell.agreed(keys::OPTION_WINDOW_SCALE) == Some(false);
    let is_full = travels.is_some_and(|share| UNSCALED_SHARE.contains(&share));
    if is_off && is_full { Holds::Yes } else { Holds::No }
}

/// The largest window without scaling (RFC 7323), and the part of it that is its limit: what strips
/// the option offers a smaller one of its own now and then.
const UNSCALED_BYTES: f64 = 65_535.0;
const UNSCALED_SHARE: std::ops::RangeInclusive<f64> = 0.3..=1.1;

/// A queue overflows in consequence where the path stands still for a while, where others fill it,
/// and where packets come late that TCP sends again.
pub fn is_too_short(cell: &Cell<'_>) -> Holds {
    let is_filled =
        path_shared::is_found(cell) || path_outages::is_found(cell) || is_rather_late(cell);
    if is_filled { Holds::No } else { Holds::Yes }
}

/// A sender's route to a router, past a network that both ends are on, where what the way carries
/// or loses holds the stream: what else holds it would do so on either way.
pub fn goes_past_own_network(cell: &Cell<'_>) -> Holds {
    let is_past = cell
        .sender()
        .is_some_and(|end| end.report.is_some_and(|report| report.left_aside.is_some()));
    let is_path = path_capacity::is_found(cell)
        || path_capacity_varies::is_found(cell)
        || path_policed::is_found(cell)
        || path_outages::is_found(cell)
        || lost_often(cell) == Holds::Yes;
    if is_past && is_path { Holds::Yes } else { Holds::No }
}

/// A quota holds what its control group was stopped for: the kernel counts the periods in which it
/// was. It holds no stream that keeps the pace that was asked for.
pub fn quota_stops(cell: &Cell<'_>) -> Holds {
    let shares = [cell.of_sender(stopped_share), cell.of_receiver(stopped_share)];
    let stopped = shares.into_iter().flatten().reduce(f64::max);
    match stopped {
        _ if pace(cell).is_some() => Holds::No,
        // The other end's count says nothing of a group that its own cannot read.
        _ if uses_up_quota(cell) => Holds::Yes,
        Some(share) if share >= STOPPED_SHARE => Holds::Yes,
        Some(_) => Holds::No,
        // Not counted, and so not known: what uses no CPU misses none.
        None if cell.is_idle() => Holds::No,
        None => Holds::Perhaps,
    }
}

/// Share of its periods in which an end's control group was stopped.
fn stopped_share(end: &EndReport) -> Option<f64> {
    let periods = end.readings.total(keys::QUOTA_PERIODS)?;
    // A group without a period in which it ran was stopped in none.
    Some(end.readings.total(keys::THROTTLED)? as f64 / periods.max(1) as f64)
}

/// Whose control group was stopped, where that was counted.
pub fn of_quota(cell: &Cell<'_>) -> Option<String> {
    let is_it = |share: Option<f64>| share.is_some_and(|share| share >= STOPPED_SHARE);
    let [sends, takes] =
        [cell.of_sender(stopped_share), cell.of_receiver(stopped_share)].map(is_it);
    match (sends, takes) {
        (true, true) => Some("at both ends".to_owned()),
        (true, false) => Some("at the sender".to_owned()),
        (false, true) => Some("at the receiver".to_owned()),
        (false, false) => None,
    }
}

/// Of a known quota, what an end's threads used where it is what they had.
const OF_QUOTA: std::ops::Range<f64> = 0.7..1.3;
/// Threads that wait for so much of the time have work that a quota keeps from them.
const QUOTA_WAITED_SHARE: f64 = 0.3;

/// Whether an end's threads waited for a CPU and had just the time that its group's quota gives,
/// where the end could not count how often its group was stopped.
fn uses_up_quota(cell: &Cell<'_>) -> bool {
    let used = |end: &EndReport| {
        if end.readings.total(keys::QUOTA_PERIODS).is_some() {
            return None;
        }
        let each = end.threads.iter().map(|thread| thread.user_ns.0 + thread.system_ns.0);
        Some(each.sum::<u64>() as f64 / (end.window_ns.0.max(1)) as f64)
    };
    let ends = [
        (cell.sender(), cell.of_sender(used), cell.of_sender(waited_share)),
        (cell.receiver(), cell.of_receiver(used), cell.of_receiver(waited_share)),
    ];
    ends.into_iter().any(|(end, used, waited)| {
        let quota = end.and_then(|end| end.host.cpu.quota_cpus.value().copied());
        let is_all =
            quota.zip(used).is_some_and(|(quota, used)| OF_QUOTA.contains(&(used / quota)));
        is_all && waited.is_some_and(|waited| waited >= QUOTA_WAITED_SHARE)
    })
}

/// What takes CPU time holds no stream that keeps the pace that was asked for.
pub fn keeps_no_pace(cell: &Cell<'_>) -> Holds {
    if pace(cell).is_some() { Holds::No } else { Holds::Yes }
}

/// A backlog that drops so many of a stream's packets; between namespaces TCP is told at once, and
/// sends none of them again that was on its way.
pub fn backlog_holds(cell: &Cell<'_>) -> Holds {
    match backlog_drops::dropped_share(cell) {
        Some(share) if cell.is_tcp_stream() && share >= BACKLOG_SHARE => Holds::Yes,
        _ => Holds::No,
    }
}

/// Of a few threads that starve a queue overflows now and then.
const BACKLOG_SHARE: f64 = 0.005;

/// What costs CPU time holds no stream whose ends' threads have most of theirs left.
pub fn costs_time(cell: &Cell<'_>) -> Holds {
    if cell.is_idle() { Holds::Perhaps } else { Holds::Yes }
}

/// What is only possible gives way to a CPU that was counted full, and to the pace that was asked
/// for, where a stream keeps it.
pub fn leaves_cpus_free(cell: &Cell<'_>) -> Holds {
    if pace(cell).is_some() {
        return Holds::No;
    }
    if cell.is_busy() { Holds::Perhaps } else { Holds::Yes }
}

/// A congestion window that is as small as a route's metric makes it.
pub fn window_is_routes(cell: &Cell<'_>) -> Holds {
    congestion_window::of_route(cell).map_or(Holds::No, |_| Holds::Yes)
}

/// Losses hold a stream more under the congestion control that a route sets.
pub fn lost_under_routes_control(cell: &Cell<'_>) -> Holds {
    congestion_control::of_route(cell).map_or(Holds::No, |_| lost_often(cell))
}

pub fn lost(cell: &Cell<'_>) -> Holds {
    // So few segments are lost where threads do not come to their turn: queues overflow meanwhile.
    if is_starved(cell) {
        return Holds::Perhaps;
    }
    match tcp_retransmits::hold(cell) {
        Hold::Held => Holds::Yes,
        Hold::Perhaps => Holds::Perhaps,
        Hold::Exceeded => Holds::No,
    }
}

/// Others' traffic takes what the stream lacks where it is more than the stream's own, and where
/// packets always wait: a queue that never empties is shared by all that goes through it.
/// What passes connections on carries their data once more, in connections of its own.
pub fn others_send(cell: &Cell<'_>) -> Holds {
    if path_proxy::is_two_connections(cell) {
        return Holds::Perhaps;
    }
    let is_queued = cell.is_tcp_stream()
        && cell.trips().is_some_and(|trips| trips.waited_ns() >= WAITED_NS)
        && cell.engaged_share().is_some_and(|share| share >= ENGAGED_MIN);
    let is_theirs = other_traffic::is_more(cell)
        || other_traffic::is_queued_by_others(cell)
        || other_traffic::fills_the_path(cell)
        || other_traffic::fills_the_way_back(cell)
        || Filled::of(cell).is_some()
        || (is_queued && (other_traffic::leaves(cell) || other_traffic::is_one_sum(cell)));
    if is_theirs { Holds::Yes } else { Holds::Perhaps }
}

pub fn sent_at_once(cell: &Cell<'_>) -> Holds {
    // The rest of each message waits for room, and TCP for the writer that wakes up.
    if is_sender_idle(cell) && tcp_send_buffers::is_below_message(cell) {
        return Holds::Yes;
    }
    match tcp_send_buffers::times_full(cell) {
        Some(times) if tcp_send_buffers::is_full(cell, times) => Holds::Yes,
        Some(times) if times < tcp_send_buffers::BEYOND => Holds::Perhaps,
        _ => Holds::No,
    }
}

/// A queue that is full holds a stream which often loses packets there. Where packets come at once
/// because the path stood still, or acknowledgements were lost, it overflows in consequence.
pub fn queue_holds(cell: &Cell<'_>) -> Holds {
    // What it held back was lost elsewhere all the same.
    let is_last = own_queue::is_of_what_comes_in(cell);
    if !is_last && !own_queue::is_full(cell) && own_queue::is_lost_beyond(cell) {
        return Holds::No;
    }
    let is_alone = !cell.is_tcp_stream() || !own_queue::is_full(cell);
    let is_consequence = || acknowledgements_lost::is_found(cell) || path_outages::is_found(cell);
    if is_alone || (lost_often(cell) == Holds::Yes && !is_consequence()) {
        Holds::Yes
    } else {
        Holds::Perhaps
    }
}

/// What offloads save is CPU time: it holds no stream whose ends leave their CPUs idle or keep the
/// pace that was asked for, and no round trip of small messages, which are a packet each.
pub fn is_at_work(cell: &Cell<'_>) -> Holds {
    let is_free = !cell.is_network_stream()
        || pace(cell).is_some()
        || cell.is_idle()
        || fills_the_path(cell)
        || !nic_offloads::is_of_cell(cell);
    if is_free { Holds::No } else { Holds::Yes }
}

/// Whether a stream has about all that packet trains say the path carries.
fn fills_the_path(cell: &Cell<'_>) -> bool {
    let carried = cell.carried().map(|range| range.middle);
    let moved = cell.rates().map(|rates| cell.in_packets(rates.middle));
    carried.zip(moved).is_some_and(|(carried, moved)| moved >= FILLED_SHARE * carried)
}

#[cfg(test)]
mod tests {
    use crate::limits::Sureness;
    use crate::limits::tests::limit_of;
    use crate::measured::testing::{read, stream};
    use narrows_model::{Fact, Nanos};

    #[test]
    fn a_quota_holds_what_it_stopped_and_nothing_else() {
        use narrows_model::host::{Cpu, Host};
        // Periods that the kernel counted, and those in which it stopped the group.
        let limit = |counted: Option<(u64, u64)>, busy_percent: u64, pace: Option<u64>| {
            let mut study = stream("tcp-stream");
            let quota_cpus = Fact::known(0.1, "test");
            let allowed = Fact::known(vec![0, 1], "test");
            study.host =
                Host { cpu: Cpu { allowed, quota_cpus, ..Cpu::default() }, ..Host::default() };
            study.trials[0].params.rate_bps = pace;
            if let Some((periods, stopped)) = counted {
                read(&mut study, "group", "periods_events", periods);
                read(&mut study, "group", "throttled_events", stopped);
            }
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                end.report.threads[0].system_ns = Nanos(busy_percent * 10_000_000);
            }
            limit_of(&study, &[])
        };
        let of = |counted, busy_percent, pace| limit(counted, busy_percent, pace).rule;
        assert_eq!(of(Some((20, 18)), 10, None).as_deref(), Some("cpu-quota"), "stopped");
        assert_ne!(of(Some((20, 0)), 50, None).as_deref(), Some("cpu-quota"), "never stopped");
        assert_ne!(of(Some((0, 0)), 50, None).as_deref(), Some("cpu-quota"), "no period at all");
        let stopped = limit(Some((20, 18)), 10, None);
        assert_eq!(stopped.sureness, Sureness::Inferred);
        assert_eq!(stopped.what, "a quota of CPU time (at the sender)");
        let unknown = limit(None, 50, None);
        assert_eq!(unknown.rule.as_deref(), Some("cpu-quota"), "nobody counted");
        assert_eq!(unknown.sureness, Sureness::Possible, "nobody counted: {unknown}");
        assert_ne!(of(None, 1, None).as_deref(), Some("cpu-quota"), "idle");
        assert_ne!(
            of(Some((20, 18)), 10, Some(10_000_000_000)).as_deref(),
            Some("cpu-quota"),
            "a pace kept"
        );
    }

    #[test]
    fn a_window_that_is_kept_small_is_a_possibility() {
        let mut study = stream("tcp-stream");
        for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
            end.report.effective.congestion = Some("cubic".into());
        }
        for (key, value) in [
            ("congestion_window_segments", 8),
            ("rtt_min_ns", 400_000),
            ("rtt_ns", 410_000),
            ("lowest:rtt_ns", 405_000),
            ("highest:rtt_ns", 420_000),
            ("send_mss_bytes", 65_536),
            ("sent_segments", 20_000),
            ("retransmitted_segments", 0),
            ("busy_ns", 1_000_000_000),
            ("limited_by_receive_window_ns", 0),
        ] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
        }
        let limit = limit_of(&study, &[]);
        assert_eq!(limit.rule.as_deref(), Some("congestion-window"), "{limit}");
        assert_eq!(limit.sureness, Sureness::Possible, "nobody read a route: {limit}");
    }
}
