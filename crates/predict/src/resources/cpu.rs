//! `cpu`: what the CPUs that copy, or look for packets, can do.
//!
//! A stream has a thread that copies at each end and a CPU that takes packets in. A byte costs
//! cycles to copy, a packet and a message cycles of their own; a core of another family does more
//! or less in a clock. Streams do not simply add: each further one makes the others dearer.

use super::{Gap, Group, Parameter, Resource, Stated, assumed, ends, of, parameter, resource};
use crate::contention::HALF;
use crate::engine::Predictor;
use crate::measured::Measured;
use crate::parameters::Scaled;
use crate::stack::{self, ByteCost, Interrupts, byte_cost};
use crate::stream_cost::Allowed;
use crate::streams::Adding;
use crate::traffic::{Traffic, UDP_MOST};
use narrows_model::result::{Provenance, ResourceName};

/// Streams act as so many to this power where nobody measured: between 0.88 of two and 0.54 of four
/// that two CPUs were seen to do, and 1.
const STREAMS_POWER: f64 = 0.9;
/// Half the 80 % range of a core that looks for packets, as a logarithm.
pub const CORE_HALF: f64 = 0.13;
/// Half the 80 % range of a family that the table does not have, as a logarithm, beside that of
/// where interrupts are taken.
const HALF_UNKNOWN: f64 = 0.45;

/// What one stream's busiest CPU allows.
struct Stream {
    gbps: f64,
    /// Ends of its range over the figure.
    range: (f64, f64),
    says: String,
    with: Vec<Parameter>,
}

/// As how many streams several act.
struct Added {
    value: f64,
    /// Ends of its range over the value.
    range: (f64, f64),
    from: Provenance,
}

impl Added {
    fn measured(adding: &Adding, streams: f64) -> Self {
        let Measured { value, low, high, from } = adding.act_as(streams);
        Self { value, range: (low / value, high / value), from: Provenance::Measured(from) }
    }
}

/// Where the two ends of a stream are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// One on this host, through its NIC.
    One,
    /// Both, so that there is no packet smaller than a message.
    Both,
}

impl Predictor {
    /// Streams of a group: of those that were said its share; where nobody said, each port has as
    /// many as are assumed.
    fn streams(&self, group: &Group) -> f64 {
        match &self.server.streams.from {
            Provenance::Assumed(_) => self.server.streams.value * self.ports(group),
            _ => self.server.streams.value * self.share(group),
        }
    }

    /// Cores of a group that look for packets: one, unless that was said.
    fn cores(&self, group: &Group) -> f64 {
        let all = match &self.server.streams.from {
            Provenance::Assumed(_) => 1.0,
            _ => self.server.streams.value,
        };
        all * self.share(group)
    }

    pub(super) fn share(&self, group: &Group) -> f64 {
        group.nics as f64 / self.server.nics.len().max(1) as f64
    }

    pub(super) fn cpu(&self, traffic: Traffic, group: &Group) -> Stated {
        match traffic {
            Traffic::Packets => self.core(group),
            // The device does the work.
            Traffic::Rdma(..) | Traffic::Mpi(_) => Err(Gap::new(
                ResourceName::Cpu,
                "a completion's cost is not known; large messages hide it",
            )),
            Traffic::Tcp | Traffic::ZeroCopy | Traffic::Udp => Ok(self.several(
                self.stream_of(traffic, group),
                self.streams(group),
                self.server.cpus.as_ref().map(|n| n.value),
            )),
        }
    }

    /// Streams inside the host, which have a CPU for each of their two ends. Of what this host was
    /// measured to do nothing is used: that would be the figure itself.
    pub(super) fn cpu_inside(&self, traffic: Traffic) -> Stated {
        let cpus = self.server.cpus.as_ref().map(|n| n.value);
        let mut one = self.by_table(traffic, Ends::Both);
        if cpus == Some(1.0) {
            one.gbps /= 2.0;
            one.says += ", both ends on one CPU";
        }
        Ok(self.several(one, self.server.streams.value, cpus.map(|cpus| (cpus / 2.0).max(1.0))))
    }

    /// Several streams on as many CPUs as there are.
    fn several(&self, one: Stream, streams: f64, cpus: Option<f64>) -> Resource {
        let threads = self.server.asked.threads.as_ref().map_or(streams, |threads| threads.value);
        let busy = streams.min(cpus.unwrap_or(streams)).min(threads);
        let added = self.added(busy);
        self.crowd(one, streams, (busy, added))
    }

    /// So many streams, of which `busy` have a CPU and act as so many.
    fn crowd(&self, one: Stream, streams: f64, (busy, added): (f64, Added)) -> Resource {
        let act_as = added.value;
        let mut says = one.says;
        let mut with = one.with;
        if streams > 1.0 {
            says += &format!(", {streams} streams");
            with.push(parameter("streams", "", &self.server.streams));
        }
        if act_as > 1.0 {
            let on = if busy < streams { format!(" on {busy} CPUs") } else { String::new() };
            says += &format!("{on} act as {act_as:.2}");
            with.push(of("streams act as", act_as, "", &added.from));
        }
        if let Some(cpus) = &self.server.cpus {
            with.push(parameter("CPUs", "", cpus));
        }
        let range = (one.range.0 * added.range.0, one.range.1 * added.range.1);
        resource(ResourceName::Cpu, act_as * one.gbps, range, says).with(with)
    }

    /// As how many streams so many with a CPU each act: as measured here, else as on another host.
    fn added(&self, busy: f64) -> Added {
        match &self.parameters.streams_add {
            Some(adding) => Added::measured(adding, busy),
            None => Added {
                value: busy.powf(STREAMS_POWER),
                range: (1.0, 1.0),
                from: assumed("from one host's 1 to 4"),
            },
        }
    }

    /// Streams inside the host by what others of them reached here: of another message, or of
    /// another number. `None` where none was measured.
    pub fn inside_as_measured(&self, traffic: Traffic) -> Option<Resource> {
        let one = self.by_measurement(self.measured_stream(traffic)?);
        let streams = self.server.streams.value;
        let added = match (&self.parameters.inside_add, traffic) {
            (Some(adding), Traffic::Tcp) => Added::measured(adding, streams),
            _ if streams > 1.0 => return None,
            _ => Added { value: 1.0, range: (1.0, 1.0), from: assumed("one stream is one") },
        };
        Some(self.crowd(one, streams, (streams, added)))
    }

    /// What is left where all goes over one stream.
    pub(super) fn one_stream(&self, traffic: Traffic, group: &Group) -> Option<Resource> {
        let one = (self.server.streams.value > 1.0).then(|| self.stream_of(traffic, group))?;
        let mut stream =
            resource(ResourceName::Stream, one.gbps, one.range, one.says).with(one.with);
        stream.only_if = Some("all goes over one stream".to_owned());
        Some(stream)
    }

    /// One stream through a group's NICs, on the processor that works and beside what else loads
    /// its memory.
    fn stream_of(&self, traffic: Traffic, group: &Group) -> Stream {
        let one = self.stream(traffic).placed(self, group);
        if traffic == Traffic::Tcp { one.beside(self, group) } else { one }
    }

    /// One stream: as measured on this host, else by the table.
    fn stream(&self, traffic: Traffic) -> Stream {
        let one = match self.measured_stream(traffic) {
            Some(measured) => self.by_measurement(measured),
            None => self.by_table(traffic, Ends::One),
        };
        match &self.parameters.kernel(traffic).cpu {
            Some(scaled) => one.scaled(scaled),
            None => one,
        }
    }

    /// What streams of this host allow one with such messages: of TCP those with the congestion
    /// control that is asked about, else those with the default.
    fn measured_stream(&self, traffic: Traffic) -> Option<Allowed> {
        let message = self.server.message.value;
        match traffic {
            Traffic::Tcp => {
                let asked = self.server.asked.congestion.as_ref();
                let mut others = self.parameters.tcp_others.iter();
                let named = others.find(|(name, _)| Some(name) == asked);
                named.map_or(&self.parameters.tcp_stream, |(_, cost)| cost).at(message)
            }
            Traffic::Udp => self.parameters.udp_stream.at(message.min(UDP_MOST)),
            _ => None,
        }
    }

    fn by_measurement(&self, measured: Allowed) -> Stream {
        let Allowed { gbps: one, parts_ns } = measured;
        let from = Provenance::Measured(one.from.clone());
        let mut with = vec![of("a stream's CPU", one.value, "Gb/s", &from)];
        with.push(parameter("message", "B", &self.server.message));
        if let Some((message, byte)) = parts_ns {
            let from = &Provenance::Measured("the line through the streams".to_owned());
            with.push(of("CPU a message", message, "ns", from));
            with.push(of("CPU a byte", byte, "ns", from));
        }
        Stream {
            gbps: one.value,
            range: (one.low / one.value, one.high / one.value),
            says: format!("{:.1} Gb/s until a stream's CPU is full", one.value),
            with,
        }
    }

    /// By the processor's family, and where its interrupts are taken.
    fn by_table(&self, traffic: Traffic, ends_at: Ends) -> Stream {
        let clock = self
            .server
            .clock_ghz
            .as_ref()
            .map_or(self.server.processor.clock_ghz, |known| known.value);
        let byte = self.byte_cost(traffic, ends_at);
        let cycles = byte.cycles + self.cycles_beside(traffic, ends_at);
        let cycles = cycles / self.server.processor.work_per_clock;
        let unknown = if self.server.processor.is_known() { 0.0 } else { HALF_UNKNOWN };
        let table = if self.server.processor.is_known() {
            format!("{}'s row of processors/families.json", self.server.processor.family)
        } else {
            "a processor that the table does not have, taken as its middle".to_owned()
        };
        let table = assumed(&table);
        let clock_from = self.server.clock_ghz.as_ref().map_or(&table, |known| &known.from);
        let with = vec![
            of("clock", clock, "GHz", clock_from),
            of("work a clock", self.server.processor.work_per_clock, "x Skylake's", &table),
            of("cycles a byte to copy and receive", byte.cycles, "", &byte.from),
            of("cycles a byte", cycles, "", &assumed("docs/predict.md has its parts")),
            parameter("message", "B", &self.server.message),
        ];
        let gbps = 8.0 * clock / cycles;
        let says = format!("{gbps:.1} Gb/s a stream: {cycles:.2} cycles a byte at {clock} GHz");
        let range = ((-byte.low.hypot(unknown)).exp(), byte.high.hypot(unknown).exp());
        Stream { gbps, range, says, with }
    }

    /// Of a byte itself. A datagram is not handed from CPU to CPU in parts, and inside the host no
    /// interrupt comes.
    fn byte_cost(&self, traffic: Traffic, ends_at: Ends) -> ByteCost {
        let at = self.server.asked.interrupts;
        if traffic == Traffic::Udp || ends_at == Ends::Both {
            ByteCost { low: 0.30, high: 0.30, ..byte_cost(Some(Interrupts::SameCpu)) }
        } else {
            byte_cost(at)
        }
    }

    /// Cycles of a Skylake core for packets and calls, a payload byte, of the busier end.
    fn cycles_beside(&self, traffic: Traffic, ends_at: Ends) -> f64 {
        if traffic == Traffic::Udp {
            let message = self.server.message.value.min(UDP_MOST);
            // Eight bytes of UDP are in the first fragment.
            let each = ((self.server.mtu.value - 20.0) / 8.0).floor() * 8.0;
            let further = ((message + 8.0) / each).ceil() - 1.0;
            return (stack::DATAGRAM + stack::FRAGMENT * further.max(0.0)) / message;
        }
        let (payload, _) = traffic.frame(self.server.mtu.value);
        let packets = match ends_at {
            Ends::One => self.server.asked.merging.cycles_a_byte(payload),
            Ends::Both => 0.0,
        };
        packets + stack::CALL / self.server.message.value
    }

    /// Microseconds that one end spends on the bytes of a message, as of a stream: the copy and the
    /// packets, without the call and the first packet, which a round trip has in its stack.
    pub(crate) fn bytes_us(&self, traffic: Traffic, inside: bool) -> f64 {
        let ends_at = if inside { Ends::Both } else { Ends::One };
        let server = &self.server;
        let message = server.message.value;
        let most = if traffic == Traffic::Udp { message.min(UDP_MOST) } else { message };
        let beside = self.cycles_beside(traffic, ends_at);
        let further = if traffic == Traffic::Udp {
            beside - stack::DATAGRAM / most
        } else {
            let (payload, _) = traffic.frame(self.server.mtu.value);
            (beside - stack::CALL / message) * (1.0 - payload / message).max(0.0)
        };
        let cycles = self.byte_cost(traffic, ends_at).cycles + further.max(0.0);
        let clock =
            server.clock_ghz.as_ref().map_or(server.processor.clock_ghz, |known| known.value);
        message * cycles / (server.processor.work_per_clock * clock) / 1e3
    }

    /// A core that looks for packets.
    fn core(&self, group: &Group) -> Stated {
        let (clock, memory) = match (&self.server.clock_ghz, &self.server.core_gb_s) {
            (Some(clock), Some(memory)) => (clock, memory),
            (clock, memory) => {
                let why = match (clock.is_some(), memory.is_some()) {
                    (false, true) => "clock of a core: cpu.ghz=3.4",
                    (true, false) => "what a core copies: memory.core_gb_s=11",
                    _ => "clock of a core and what it copies: cpu.ghz=3.4, memory.core_gb_s=11",
                };
                return Err(Gap::new(ResourceName::Cpu, why));
            }
        };
        let (cycles, wait) = (self.parameters.cycles, self.parameters.wait_bytes);
        let mpps = 1e3 / (cycles / clock.value + wait / memory.value);
        let cores = self.cores(group);
        let says = format!(
            "{cores} core at {} GHz: {cycles} cycles and {wait} B of waiting for memory a packet",
            clock.value
        );
        let fitted = &Provenance::Fitted("ntop's servers".to_owned());
        let with = vec![
            parameter("clock", "GHz", clock),
            parameter("a core's copy", "GB/s", memory),
            of("c", cycles, "cycles", fitted),
            of("B", wait, "B", fitted),
        ];
        Ok(resource(ResourceName::Cpu, cores * mpps, ends(CORE_HALF), says).with(with))
    }
}

impl Stream {
    /// Where the processor that works is not the NIC's, its CPUs wait for the other's memory.
    fn placed(mut self, engine: &Predictor, group: &Group) -> Self {
        if group.work == group.socket {
            return self;
        }
        let loss = &engine.parameters.remote_loss;
        self.gbps /= loss.value;
        self.says += &format!(", {:.3} times dearer from the other processor", loss.value);
        self.with.push(parameter("remote memory's cost", "x", loss));
        self
    }

    /// Copies of what the NIC wrote to memory wait beside cores that load it. Where nobody says
    /// whether the cache takes a NIC's writes, they may be slower and the value is as without.
    fn beside(mut self, engine: &Predictor, group: &Group) -> Self {
        let ddio = engine.server.asked.ddio;
        let Some(slower) = engine.copies_slower(group).filter(|_| ddio != Some(true)) else {
            return self;
        };
        let (low, high) = ends(HALF);
        self.range.0 *= low;
        if ddio == Some(false) {
            self.gbps /= slower;
            self.range.1 *= high;
            self.says += &format!(", {slower:.2} times dearer beside the neighbours");
        } else {
            self.range.0 /= slower;
            self.says += &format!(", up to {slower:.2} times dearer beside the neighbours");
        }
        let from = assumed("half of a receiver's time copies, as published with MTU 9000");
        self.with.push(of("neighbours' cost", slower, "x", &from));
        self
    }

    /// As what was measured through the NIC says.
    fn scaled(mut self, scaled: &Scaled) -> Self {
        self.gbps *= scaled.by;
        self.range = ends(scaled.half);
        self.says += &format!(", times {:.2} ({})", scaled.by, scaled.from);
        self.with.push(of("as measured", scaled.by, "x", &scaled.from));
        self
    }
}
