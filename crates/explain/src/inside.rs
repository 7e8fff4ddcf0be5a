//! What the NIC by which a cell's data came in witnessed of the host behind it, and of which part
//! of that host it speaks. A NIC that drops, or asks the other end to wait, while its wire, slot
//! and the CPUs that handle its packets have room, waits for the inside of its host: its writes to
//! memory come through too slowly.

use crate::ends::End;
use crate::measured::{Blind, Cell, waited_share};
use crate::pauses::{Way, frames_per_second};
use narrows_model::host::Nic;
use narrows_model::load::EndReport;
use narrows_model::pause::{LINK_BPS, held_share};
use narrows_model::reading::witness::{Witness, Witnessed, witnessed};
use narrows_model::reading::{Moment, Scope, Source, Unit, keys};
use narrows_model::result::{Measure, Missing, Unclear};
use narrows_predict::pcie::joints;
use narrows_stats::{median, way_in};
use std::collections::BTreeMap;

/// Of the packets that came, from which share on drops count: TCP is slowed by as many.
const DROPPED_SHARE: f64 = 1e-4;
/// Fewer are an accident.
const DROPPED_LEAST: u64 = 20;
/// Share of the time that pause frames could hold the link, as in `pause-frames`.
const HELD_SHARE: f64 = 0.01;
/// Share of its rate from which on a wire or a slot may be what is full: runs are means over
/// bursts, and small packets leave less of both.
pub(crate) const FULL_SHARE: f64 = 0.85;
/// Share of its time from which on a thread, or a CPU with packets, may be what is full.
const BUSY_SHARE: f64 = 0.85;
/// The same in software interrupts alone, as in `softirq-bound`.
const SOFTIRQ_SHARE: f64 = 0.65;
/// A CPU that spends less of its time on packets does not handle them.
const HANDLES_SHARE: f64 = 0.1;
/// Preamble, check sequence and gap of an Ethernet frame, which interfaces do not count, in bytes.
const FRAMING_BYTES: f64 = 24.0;
/// The smallest payload of a full RDMA packet in use, in bytes: what the kernel's interface does
/// not count is told by the payload.
const RDMA_PACKET_BYTES: f64 = 1024.0;
/// Percent of the last second, from which on mlx5 counts it as one of waiting.
const STALLED_PERCENT: f64 = 30.0;

/// What speaks of which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// The NIC dropped nothing, and asked nobody to wait.
    Kept,
    /// Its writes to memory wait. Likely where a counter says so, possibly where its own buffer
    /// was full or it asked to wait, for no other reason that is known.
    Waits {
        is_likely: bool,
    },
    /// A CPU handed it no buffers in time, or is full.
    Cpu,
    Wire,
    Slot,
    /// A provider's limit.
    Limit,
}

/// A NIC's witness.
#[derive(Clone, Debug, PartialEq)]
pub struct Testimony {
    pub of: Inside,
    /// What was counted and how full everything was, in words.
    pub seen: String,
    /// The counter or frames that speak, in words: `1200 packets (outbound_pci_buffer_overflow)`.
    pub by: String,
    /// The interface that the data came in by.
    pub nic: String,
}

/// What an end's NIC counted in the middle run of a cell.
#[derive(Default)]
struct Counted {
    waits: Option<Witnessed>,
    full: Option<Witnessed>,
    ring: Option<Witnessed>,
    wire: Option<Witnessed>,
    limit: Option<Witnessed>,
    /// Seconds in which more than 30 % passed without credits for writes.
    stalled_seconds: f64,
    /// Of the last second, in percent.
    stalled_percent: Option<f64>,
    /// Pause frames that it sent, a second.
    asked: Option<f64>,
    /// Packets that came, those of them that were dropped included.
    packets: f64,
}

/// What the receiver's NIC witnesses of a cell.
///
/// # Errors
///
/// A cell that no NIC received, and what would have to be known.
pub fn testimony(cell: &Cell<'_>) -> Result<Testimony, Blind> {
    let end = cell.done.iter().find_map(|run| run.receiver()).ok_or(Blind::OtherKind)?;
    let nic = way_in(end).ok_or_else(|| cell.lacks(Measure::Interface))?;
    let receiver = cell.receiver();
    let counted = counted(cell, nic);
    let waits = counted.of_note(&counted.waits);
    if let Some((of, late)) = counted.elsewhere().filter(|_| waits.is_none()) {
        return Ok(counted.tells(nic, of, packets_by(late)));
    }
    let Some(by) = counted.speaks(receiver.as_ref(), nic) else {
        // Pause that is off is sent by nobody.
        if counted.waits.is_none() && counted.full.is_none() {
            return Err(cell.lacks(Measure::NicDrops));
        }
        return Ok(counted.tells(nic, Inside::Kept, String::new()));
    };
    let room = room(cell, receiver.as_ref(), nic, &counted)?;
    let is_likely = waits.is_some() || counted.is_stalled();
    let of = room.full().unwrap_or(Inside::Waits { is_likely });
    let mut told = counted.tells(nic, of, by);
    told.seen += &format!("; {}", room.says());
    Ok(told)
}

/// What an interface counted in the middle run, of each kind by itself.
fn counted(cell: &Cell<'_>, nic: &str) -> Counted {
    let [waits, full, ring, wire, limit] =
        [Witness::Waits, Witness::Full, Witness::Ring, Witness::Wire, Witness::Limit]
            .map(|witness| middle(cell, nic, witness, Unit::Packets));
    let most = [&waits, &full].into_iter().flatten().map(|one| one.count).max().unwrap_or(0);
    let stalled = middle(cell, nic, Witness::Waits, Unit::Events);
    Counted {
        waits,
        full,
        ring,
        wire,
        limit,
        stalled_seconds: stalled.map_or(0.0, |one| one.count as f64),
        stalled_percent: cell.of_receiver(|end| {
            let states = end.readings.each(keys::STALLED_WRITES, Moment::Closing);
            let mut own = states.filter(|(at, _)| **at == Scope::Nic(nic.to_owned()));
            own.next().map(|(_, percent)| percent as f64)
        }),
        asked: cell.of_receiver(|end| frames_per_second(end, Way::Sent)),
        packets: most as f64 + cell.of_receiver(|end| packets(cell, end, nic)).unwrap_or(0.0),
    }
}

/// The middle one of the runs' counts of a kind.
fn middle(cell: &Cell<'_>, nic: &str, of: Witness, unit: Unit) -> Option<Witnessed> {
    let ends = cell.done.iter().filter_map(|record| record.receiver());
    let mut all: Vec<Witnessed> =
        ends.filter_map(|end| witnessed(&end.readings, nic, of, unit)).collect();
    all.sort_by_key(|one| one.count);
    let at = all.len().checked_sub(1)? / 2;
    Some(all.swap_remove(at))
}

/// Packets that an end took from an interface in a run.
fn packets(cell: &Cell<'_>, end: &EndReport, nic: &str) -> Option<f64> {
    let came = end.readings.of(keys::RX_PACKETS, Scope::Nic(nic.to_owned()));
    let rdma = cell.trial.kind.is_rdma().then(|| payload(end) / RDMA_PACKET_BYTES);
    came.map(|packets| packets as f64).into_iter().chain(rdma).reduce(f64::max)
}

/// Bytes of payload that an end received.
fn payload(end: &EndReport) -> f64 {
    end.flows.iter().filter(|flow| !flow.sends).map(|flow| flow.bytes.0 as f64).sum()
}

fn packets_by(of: &Witnessed) -> String {
    format!("{} packets a run ({})", of.count, of.name)
}

impl Counted {
    /// A count that is enough of what came to matter.
    fn of_note<'a>(&self, of: &'a Option<Witnessed>) -> Option<&'a Witnessed> {
        of.as_ref().filter(|one| {
            one.count >= DROPPED_LEAST && one.count as f64 >= DROPPED_SHARE * self.packets
        })
    }

    fn tells(&self, nic: &str, of: Inside, by: String) -> Testimony {
        Testimony { of, seen: self.says(nic), by, nic: nic.to_owned() }
    }

    /// What was dropped for another reason than that memory was late.
    fn elsewhere(&self) -> Option<(Inside, &Witnessed)> {
        let late = self.of_note(&self.ring).map(|late| (Inside::Cpu, late));
        late.or_else(|| Some((Inside::Limit, self.of_note(&self.limit)?)))
    }

    /// What speaks for the inside of the host, in words: drops, or that it asked to wait.
    fn speaks(&self, receiver: Option<&End<'_>>, nic: &str) -> Option<String> {
        if let Some(dropped) = self.of_note(&self.waits).or(self.of_note(&self.full)) {
            return Some(packets_by(dropped));
        }
        let rate = facts(receiver, nic).and_then(|nic| nic.speed_bps.value());
        let asked = self.asked?;
        let held = held_share(asked, rate.map_or(LINK_BPS, |rate| rate.0));
        (held >= HELD_SHARE).then(|| format!("{asked:.0} pause frames a second sent"))
    }

    /// Whether writes waited for credits in much of the time.
    fn is_stalled(&self) -> bool {
        self.stalled_seconds >= 1.0
            || self.stalled_percent.is_some_and(|percent| percent >= STALLED_PERCENT)
    }

    /// Everything that was counted, zeros included: that none was dropped is an answer too.
    fn says(&self, nic: &str) -> String {
        let all = [&self.waits, &self.full, &self.ring, &self.wire, &self.limit];
        let drops = all.into_iter().flatten().map(|one| {
            let each: Vec<String> =
                one.each.iter().map(|(name, count)| format!("{name} {count}")).collect();
            let each =
                if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
            format!("{} {}{each}", one.name, one.count)
        });
        let mut parts: Vec<String> = drops.collect();
        if self.stalled_seconds >= 1.0 {
            let seconds = self.stalled_seconds;
            parts.push(format!("{seconds:.0} seconds with writes stalled for over 30 %"));
        }
        if let Some(percent) = self.stalled_percent {
            parts.push(format!("writes stalled for {percent:.0} % of the last second"));
        }
        if let Some(asked) = self.asked {
            parts.push(format!("{asked:.0} pause frames a second sent"));
        }
        format!("the receiver's {nic} counted {} in the median run", parts.join(", "))
    }
}

/// The facts of the interface on the receiver's host.
fn facts<'a>(receiver: Option<&End<'a>>, nic: &str) -> Option<&'a Nic> {
    receiver?.host.nic(nic)
}

/// How much of everything before memory is in use, as shares.
struct Room {
    wire: f64,
    slot: f64,
    thread: Option<f64>,
    softirq: Option<f64>,
    handling: Option<f64>,
}

impl Room {
    /// What has no room; `None` where everything has.
    fn full(&self) -> Option<Inside> {
        // Faster CPUs get no more out of a full wire.
        if self.wire >= FULL_SHARE {
            return Some(Inside::Wire);
        }
        let of_cpus =
            [(self.thread, BUSY_SHARE), (self.softirq, SOFTIRQ_SHARE), (self.handling, BUSY_SHARE)];
        if of_cpus.into_iter().any(|(share, least)| share.is_some_and(|share| share >= least)) {
            return Some(Inside::Cpu);
        }
        (self.slot >= FULL_SHARE).then_some(Inside::Slot)
    }

    fn says(&self) -> String {
        let busiest = [self.thread, self.softirq, self.handling].into_iter().flatten();
        let busiest = busiest.reduce(f64::max).map_or(String::new(), |share| {
            format!(", the busiest thread or CPU with packets {:.0} %", 100.0 * share)
        });
        format!(
            "the wire carried {:.0} % of its rate, what came took {:.0} % of the slot{busiest}",
            100.0 * self.wire,
            100.0 * self.slot
        )
    }
}

/// How full the wire, the slot and the CPUs at the receiver were.
fn room(
    cell: &Cell<'_>,
    receiver: Option<&End<'_>>,
    nic: &str,
    counted: &Counted,
) -> Result<Room, Blind> {
    let at = receiver.map_or("at the receiver", |end| end.at);
    let facts = facts(receiver, nic);
    let facts = facts.ok_or_else(|| Blind::Lacks(Missing::unread(format!("{nic} {at}"))))?;
    let speed = &facts.speed_bps;
    let rate = speed
        .value()
        .filter(|rate| rate.0 > 0.0)
        .ok_or_else(|| Blind::Lacks(Missing::fact(format!("speed of {nic} {at}"), speed)))?;
    let slot_bps = joints(facts).iter().map(|joint| joint.payload_bps()).reduce(f64::min);
    let slot_bps = slot_bps.ok_or_else(|| {
        let of = Unclear::PathLinks { nic: nic.to_owned() };
        Blind::Lacks(Missing::from(of))
    })?;
    let came = cell.of_receiver(|end| came_bps(cell, end, nic));
    let came = came.ok_or_else(|| cell.lacks(Measure::ReceiverInterfaceBytes))?;
    // What was dropped passed the wire and not the slot.
    let taken = counted.packets - dropped(counted);
    let offered = if taken > 0.0 { counted.packets / taken } else { 1.0 };
    let beside = cell.of_receiver(|end| Some(others_bps(receiver?, facts, end))).unwrap_or(0.0);
    let cpu = cell.summary.cpu.as_ref().and_then(|cpu| cpu.receiver_share);
    let waited = cell.of_receiver(waited_share).unwrap_or(0.0);
    // Who polls for RDMA is always busy.
    let is_polled = cell.trial.kind.is_rdma();
    Ok(Room {
        wire: came * offered / rate.0,
        slot: (came + beside) / slot_bps,
        thread: cpu.map(|ran| ran + waited).filter(|_| !is_polled),
        softirq: cell.of_receiver(|end| busiest(end, |cpu| Some(cpu.packets_share()))),
        handling: cell.of_receiver(|end| busiest(end, CpuTime::busy_share)),
    })
}

fn dropped(counted: &Counted) -> f64 {
    let all = [&counted.waits, &counted.full];
    all.into_iter().flatten().map(|one| one.count as f64).fold(0.0, f64::max)
}

/// What came by an interface in bits a second, as the wire has it.
fn came_bps(cell: &Cell<'_>, end: &EndReport, nic: &str) -> Option<f64> {
    let [bytes, packets] = [keys::RX_BYTES, keys::RX_PACKETS]
        .map(|counter| end.readings.of(counter, Scope::Nic(nic.to_owned())));
    let framing = FRAMING_BYTES * packets.unwrap_or(0) as f64;
    let counted = bytes.map(|bytes| bytes as f64 + framing);
    let rdma = cell.trial.kind.is_rdma().then(|| payload(end));
    let bytes = counted.into_iter().chain(rdma).reduce(f64::max)?;
    (end.window_ns.0 > 0).then(|| 8.0 * bytes / end.window_ns.seconds())
}

/// What came by other interfaces over links that a NIC's own slot shares, in bits a second.
fn others_bps(receiver: &End<'_>, nic: &Nic, end: &EndReport) -> f64 {
    let own: Vec<&str> = joints(nic).iter().map(|joint| joint.lower.address.as_str()).collect();
    let others = receiver.host.physical_nics().filter(|other| {
        other.name != nic.name && other.path.iter().any(|hop| own.contains(&hop.address.as_str()))
    });
    let bytes =
        others.filter_map(|other| end.readings.of(keys::RX_BYTES, Scope::Nic(other.name.clone())));
    8.0 * bytes.sum::<u64>() as f64 / end.window_ns.seconds().max(1e-9)
}

/// Where a CPU's time of a window went, in nanoseconds.
#[derive(Default)]
struct CpuTime {
    all: f64,
    idle: Option<f64>,
    packets: f64,
    window: f64,
}

impl CpuTime {
    /// Share of the window in interrupts and software interrupts.
    fn packets_share(&self) -> f64 {
        self.packets / self.window
    }

    /// Share in which it did something, of a CPU that handles packets; `None` of others, which may
    /// be the very neighbours that load memory.
    fn busy_share(&self) -> Option<f64> {
        let idle = self.idle.filter(|_| self.packets_share() >= HANDLES_SHARE)?;
        (self.all > 0.0).then(|| 1.0 - idle / self.all)
    }
}

/// The largest share of any CPU of an end's host.
fn busiest(end: &EndReport, share: impl Fn(&CpuTime) -> Option<f64>) -> Option<f64> {
    let mut cpus: BTreeMap<u32, CpuTime> = BTreeMap::new();
    for (key, ns) in end.readings.from_source(Source::Cpu) {
        let Scope::Cpu(number) = key.scope else { continue };
        let cpu = cpus.entry(number).or_default();
        cpu.window = (end.window_ns.0 as f64).max(1.0);
        cpu.all += ns as f64;
        match &*key.name {
            "idle" | "iowait" => *cpu.idle.get_or_insert(0.0) += ns as f64,
            "softirq" | "irq" => cpu.packets += ns as f64,
            _ => {}
        }
    }
    cpus.values().filter_map(share).reduce(f64::max)
}

/// The receiver's rate by its NIC as a share of the NIC's, of the median run, and the NIC's rate in
/// bits a second; `None` where one of them is not known, and for devices of software, whose rate
/// is a name.
pub fn wire_share(cell: &Cell<'_>) -> Option<(f64, f64)> {
    let receiver = cell.receiver()?;
    let nic = way_in(receiver.report?)?;
    let nic_facts = receiver.host.nic(nic).filter(|nic| nic.physical)?;
    let rate = nic_facts.speed_bps.value().filter(|rate| rate.0 > 0.0)?.0;
    let ends = cell.done.iter().filter_map(|record| record.receiver());
    let came: Vec<f64> = ends.filter_map(|end| came_bps(cell, end, nic)).collect();
    Some((median(&came)? / rate, rate))
}
