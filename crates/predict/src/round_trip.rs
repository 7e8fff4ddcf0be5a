//! Round trips: what each part on the way takes, one after the other. Parts add up where rates have
//! a bottleneck; the largest is named.

use crate::engine::Predictor;
use crate::reach::Reach;
use crate::resources::{Group, Parameter, Resource, parameter, symbols};
use crate::traffic::Traffic;
use narrows_model::result::{Provenance, ResourceName};
use narrows_model::workload::{RdmaVerb, Transport, Workload};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// A byte over TCP and one back.
    Tcp,
    /// The same over UDP.
    Udp,
    /// Written into the other's memory and back, past the kernel; both look for it.
    Rdma,
}

/// All, in the order that they are told in.
pub const TRIPS: [Trip; 3] = [Trip::Tcp, Trip::Udp, Trip::Rdma];

/// One way through the stacks of both hosts, in microseconds of a core of `REFERENCE_GHZ`, and what
/// waking who waits adds: chosen with tables/round-trips-fitted.toml in view.
const STACK_US: f64 = 4.3;
const WAKE_US: f64 = 4.0;
const REFERENCE_GHZ: f64 = 3.3;
/// One way through both NICs, their slots and the wire between: half of what `ib_write_lat` prints
/// twice, 0.99 us (a public laboratory's ConnectX-5).
const DEVICES_US: f64 = 0.99;
/// A switch that passes frames on as they come in: makers' data sheets have 0.3, from knowledge.
const SWITCH_US: f64 = 0.3;
/// What one access to the other processor's memory takes longer, and how many of the devices' are
/// on one way.
const REMOTE_US: f64 = 0.060;
const REMOTE_ACCESSES: f64 = 4.0;
/// Ends of the 80 % range of software: lower ones are rare (assumed).
const RANGE: (f64, f64) = (0.75, 2.5);
/// What cores that sleep and interrupts that are held back may add one way, where nobody read how
/// the hosts are set (assumed).
const ASLEEP_US: f64 = 45.0;
/// Cores mostly sleep in no state that takes longer to leave than this share of a round trip; at
/// most in one that takes all of it (assumed).
const ASLEEP_SHARE: f64 = 0.25;
/// The largest piece that a stage hands on whole (a segment of the kernel's): of what is longer all
/// stages work at once, and the slowest decides.
const PIECE_BYTES: f64 = 65_536.0;
/// Where who waits looks for packets, and over verbs.
const RANGE_POLLED: (f64, f64) = (0.75, 1.6);

impl Trip {
    /// Its name among paths: that of the workload that measures it.
    pub fn name(self) -> String {
        self.workload().as_str().to_owned()
    }

    /// The workload that measures it.
    pub fn workload(self) -> Workload {
        Workload::RoundTrip(match self {
            Self::Tcp => Transport::Tcp,
            Self::Udp => Transport::Udp,
            Self::Rdma => Transport::Rdma(RdmaVerb::Write),
        })
    }
}

impl Predictor {
    /// A round trip between two hosts like this one, through the NIC or slot of the processor that
    /// works where it has one; none where there is no NIC.
    pub fn round_trip(&self, trip: Trip) -> Option<Reach> {
        let groups = self.groups();
        let near = groups.iter().find(|group| group.work == group.socket);
        let group = *near.or(groups.first())?;
        let mut parts = vec![self.devices(&group)];
        if trip != Trip::Rdma {
            parts.extend(self.hosts(&group));
            parts.extend(self.moderation());
        }
        parts.extend(self.switches());
        let wire = self.serialized();
        let copy = self.copied_us(trip, false) * self.farther(&group);
        let wire_us = wire.as_ref().map_or(0.0, |wire| wire.value / 2.0);
        parts.extend(wire.map(|wire| self.overlapped(wire, copy)));
        self.add_copies(&mut parts, copy, wire_us);
        Some(sum(trip, parts))
    }

    /// Bytes of a message; one where nobody said.
    fn message_bytes(&self) -> f64 {
        match self.server.message.from {
            Provenance::Assumed(_) => 1.0,
            _ => self.server.message.value,
        }
    }

    /// What one end spends on the bytes of a message that was said; none past the kernel.
    fn copied_us(&self, trip: Trip, inside: bool) -> f64 {
        let traffic = match trip {
            Trip::Tcp => Traffic::Tcp,
            Trip::Udp => Traffic::Udp,
            Trip::Rdma => return 0.0,
        };
        if self.message_bytes() > 1.0 { self.bytes_us(traffic, inside) } else { 0.0 }
    }

    /// The share of a message that a stage hands on before the next can begin.
    fn first_share(&self) -> f64 {
        (PIECE_BYTES / self.message_bytes()).min(1.0)
    }

    /// The wire's part, where copies of a long message take longer: all but its first piece is on
    /// the wire while they do.
    fn overlapped(&self, wire: Resource, copy_us: f64) -> Resource {
        let share = if wire.value / 2.0 < copy_us { self.first_share() } else { 1.0 };
        let Resource { value, low, high, .. } = wire;
        Resource { value: value * share, low: low * share, high: high * share, ..wire }
    }

    /// Adds copies, there and back, to what the stacks take: the first piece is copied at both ends
    /// one after the other, the rest while the other end and the wire have what went before.
    fn add_copies(&self, parts: &mut [Resource], copy_us: f64, wire_us: f64) {
        let software = [ResourceName::Stack, ResourceName::Hosts];
        let Some(part) = parts.iter_mut().find(|part| software.contains(&part.name)) else {
            return;
        };
        let first = copy_us * self.first_share();
        let rest = if wire_us < copy_us { copy_us - first } else { 0.0 };
        let us = 2.0 * (2.0 * first + rest);
        // Of a few bytes there is nothing to tell.
        if us < part.value / 100.0 {
            return;
        }
        part.value += us;
        part.low += us * RANGE.0;
        part.high += us * RANGE.1;
        part.says += &format!(", {us:.1} us of it copies of the message");
        part.parameters.push(parameter("message", "B", &self.server.message));
    }

    /// A round trip between two ends inside this host: software alone. Of what was measured inside
    /// it nothing is used.
    pub fn round_trip_inside(&self, trip: Trip) -> Option<Reach> {
        (trip != Trip::Rdma).then(|| {
            let mut parts = self.software(1.0);
            self.add_copies(&mut parts, self.copied_us(trip, true), 0.0);
            sum(trip, parts)
        })
    }

    fn devices(&self, group: &Group) -> Resource {
        let known = self.server.asked.model.and_then(|model| Some((model, model.latency_us?)));
        let (one_way, from) = match known {
            Some((model, us)) => (us, Provenance::DataSheet(model.source.clone())),
            None => (DEVICES_US, Provenance::Assumed("as of a ConnectX-5".to_owned())),
        };
        let is_remote = group.work != group.socket;
        let remote = if is_remote { REMOTE_US * REMOTE_ACCESSES } else { 0.0 };
        let says = "both NICs, their slots and the wire, there and back";
        let with = vec![micros(symbols::ONE_WAY, one_way, &from)];
        part(ResourceName::Devices, 2.0 * (one_way + remote), RANGE_POLLED, says, with)
    }

    /// Both hosts' software: measured inside this host, else by the constants.
    fn hosts(&self, group: &Group) -> Vec<Resource> {
        let farther = self.farther(group);
        if let Some(inside) = &self.parameters.round_trip_us {
            let with = vec![micros("inside this host", inside.value, &inside.origin())];
            let range = (inside.low / inside.value, 1.5 * inside.high / inside.value);
            let says = "stack and wake-up, as measured inside this host";
            return vec![part(ResourceName::Hosts, inside.value * farther, range, says, with)];
        }
        self.software(farther)
    }

    /// Software by the constants, so many times as long as with a local NIC.
    fn software(&self, farther: f64) -> Vec<Resource> {
        let clock = self
            .server
            .clock_ghz
            .as_ref()
            .map_or(self.server.processor.clock_ghz, |known| known.value);
        let slower = farther * REFERENCE_GHZ / (clock * self.server.processor.work_per_clock);
        let range = if self.server.asked.polls { RANGE_POLLED } else { RANGE };
        let with = vec![micros(symbols::ONE_WAY, STACK_US, &fitted())];
        let us = 2.0 * STACK_US * slower;
        let says = "sending and receiving on both hosts";
        let mut parts = vec![part(ResourceName::Stack, us, range, says, with)];
        if !self.server.asked.polls {
            parts.push(self.wake_up(us, slower));
        }
        parts
    }

    /// Interrupts, and waking who waits for them; beside that cores leave the idle states that the
    /// hosts allow, as far as these are left within the round trip.
    fn wake_up(&self, stack_us: f64, slower: f64) -> Resource {
        let awake = 2.0 * WAKE_US * slower;
        let with = vec![micros(symbols::ONE_WAY, WAKE_US, &fitted())];
        let says = "interrupts, and waking the threads that wait for them";
        let mut part = part(ResourceName::WakeUp, awake, RANGE, says, with);
        let Some(exits) = &self.server.exits_us else {
            part.high += 2.0 * ASLEEP_US;
            part.says += "; whether cores sleep was not read";
            return part;
        };
        let trip = stack_us + awake;
        let (usual, most) = (deepest(exits, ASLEEP_SHARE * trip), deepest(exits, trip));
        part.value += 2.0 * usual;
        part.high += 2.0 * most;
        let from = Provenance::Read("idle states".to_owned());
        part.parameters.push(micros("leaving an idle state", usual, &from));
        part
    }

    /// How much longer software takes where the processor that works is not the NIC's: in
    /// proportion to memory's latency, set by one published round trip, 40 % shorter when local.
    fn farther(&self, group: &Group) -> f64 {
        if group.work == group.socket { 1.0 } else { self.parameters.remote_over_local.value }
    }

    fn moderation(&self) -> Option<Resource> {
        let us =
            self.server.asked.moderation_us.filter(|us| *us > 0.0 && !self.server.asked.polls)?;
        let from = Provenance::Read("coalescing".to_owned());
        let says = "the NIC waits before it interrupts; both ends alike";
        Some(part(
            ResourceName::Moderation,
            2.0 * us,
            (0.0, 1.0),
            says,
            vec![micros("rx-usecs", us, &from)],
        ))
    }

    fn switches(&self) -> Option<Resource> {
        let count = self.server.asked.switches;
        let from = Provenance::DataSheet("of cut-through switches".to_owned());
        let with = vec![micros(symbols::ONE_WAY, SWITCH_US, &from)];
        let says = "cut-through switching";
        let part = part(ResourceName::Switch, 2.0 * count * SWITCH_US, (0.7, 5.0), says, with);
        (count > 0.0).then_some(part)
    }

    /// Bytes of a message that was said, on the wire both ways.
    fn serialized(&self) -> Option<Resource> {
        let link = self.server.link.as_ref()?;
        let bytes = self.message_bytes();
        let us = 2.0 * (bytes.max(46.0) + 38.0) * 8.0 / (link.value * 1e3);
        let rate = parameter("rate of the link", "Gb/s", link);
        Some(part(
            ResourceName::Wire,
            us,
            (1.0, 1.1),
            "the message's bits, there and back",
            vec![rate],
        ))
    }
}

/// The round trip that parts one after the other make, the longest first.
fn sum(trip: Trip, mut parts: Vec<Resource>) -> Reach {
    let sum = |of: fn(&Resource) -> f64| parts.iter().map(of).sum::<f64>();
    let (value, low, high) = (sum(|p| p.value), sum(|p| p.low), sum(|p| p.high));
    parts.sort_by(|one, other| other.value.total_cmp(&one.value));
    Reach {
        path: trip.name(),
        unit: "us",
        is_sum: true,
        value,
        low,
        high,
        bottleneck: parts.first().map(|part| part.name),
        resources: parts,
        missing: Vec::new(),
    }
}

/// The longest of these within so many microseconds.
fn deepest(exits: &[f64], within: f64) -> f64 {
    exits.iter().copied().filter(|exit| *exit <= within).fold(0.0, f64::max)
}

fn fitted() -> Provenance {
    Provenance::Fitted("tables/round-trips-fitted.toml".to_owned())
}

fn micros(name: &'static str, value: f64, from: &Provenance) -> Parameter {
    Parameter { name, value, unit: "us", from: from.clone() }
}

fn part(
    name: ResourceName,
    value: f64,
    (low, high): (f64, f64),
    says: &str,
    parameters: Vec<Parameter>,
) -> Resource {
    Resource {
        name,
        value,
        low: value * low,
        high: value * high,
        says: says.to_owned(),
        only_if: None,
        parameters,
    }
}
