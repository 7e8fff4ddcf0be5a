//! What each resource of a server allows one path, on one of its processors.

use super::cost::Allowed;
use super::parameters::Parameters;
use super::path::{Path, UDP_MOST};
use super::server::{Known, Server, Slot};
use super::{Parameter, Resource};
use crate::framing;
use crate::pcie;
use crate::sockets::{Pages, Theta};

/// Share of a link between sockets that payload reaches (measured on one node with two links), and
/// bytes a transfer.
const SOCKET_LINK_SHARE: f64 = 0.825;
const SOCKET_LINK_BYTES: f64 = 2.0;
/// Header and framing of a PCI Express packet.
const HEADER: f64 = 24.0;
/// What a NIC writes or reads besides a frame at most: a completion of 64 bytes and a descriptor of
/// 16, each in a packet of its own.
const BESIDE_FRAME: f64 = 64.0 + 16.0 + 2.0 * HEADER;

/// NICs on one processor, and the memory that their work uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The processor that they hang on.
    pub socket: usize,
    /// How many.
    pub nics: usize,
    /// The processor that works.
    pub work: usize,
}

/// A resource, or what is missing for it.
pub type Stated = Result<Resource, String>;

impl Server {
    /// NICs by processor.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for socket in &self.nics {
            match groups.iter_mut().find(|group| group.socket == *socket) {
                Some(group) => group.nics += 1,
                None => groups.push(Group {
                    socket: *socket,
                    nics: 1,
                    work: self.work.unwrap_or(*socket),
                }),
            }
        }
        groups
    }

    /// All resources of a path through a group.
    pub fn resources(&self, path: Path, group: &Group, sets: &[Vec<usize>]) -> Vec<Stated> {
        let mut all = vec![Ok(self.wire(path, group))];
        all.extend(self.slots(path, group));
        all.extend(self.uplink.as_ref().map(|uplink| Ok(self.bus("chipset", path, uplink, 1))));
        if path != Path::Packets {
            all.push(self.memory(path, group, sets));
        }
        let (memory, _) = self.used(group, sets);
        if memory != group.socket && path != Path::Packets {
            all.push(self.between(path));
        }
        all.push(self.cpu(path, group));
        all.push(self.engine(path, group));
        all
    }

    /// Ports of a group: with a slot on every processor, they share one.
    fn ports(&self, group: &Group) -> f64 {
        group.nics as f64 / if self.direct { self.nics.len().max(1) as f64 } else { 1.0 }
    }

    /// What the ports carry; the kernel reaches a share of it.
    pub fn wire(&self, path: Path, group: &Group) -> Resource {
        let ports = self.ports(group);
        let link = parameter("rate of the link", "Gb/s", &self.link);
        if path == Path::Packets {
            let one = framing::packets_per_second(self.link.value * 1e9, self.frame.value) / 1e6;
            let says = format!("frames of {} B and 20 B around each", self.frame.value);
            let frame = parameter("frame", "B", &self.frame);
            return resource("wire", ports * one, (1.0, 1.0), says).with(vec![link, frame]);
        }
        let share = path.framing(self.message.value, self.mtu.value);
        let mut says = format!(
            "{:.2} % of {} Gb/s is payload at MTU {}",
            share * 100.0,
            self.link.value,
            self.mtu.value
        );
        if ports > 1.0 {
            says = format!("{says}, {ports} times");
        }
        let mut with = vec![link, parameter("MTU", "B", &self.mtu)];
        if !path.is_kernel() {
            with.push(parameter("message", "B", &self.message));
            // Published writes were 2.6 % below their framing, by no known mechanism: about twice
            // that is allowed for, which is assumed.
            let gbps = ports * share * self.link.value;
            return resource("wire", gbps, (0.95, 1.0), says).with(with);
        }
        let kernel = self.parameters.kernel(path);
        let kappa = kernel.theta.kappa;
        says += &format!("; the kernel reaches {kappa:.3} of it ({})", kernel.kappa_from);
        with.push(of("kappa", kappa, "share", &kernel.kappa_from));
        let full = ports * share * self.link.value;
        let half = kernel.wire_half.unwrap_or_else(|| Parameters::half_of_fit(self));
        let mut one = resource("wire", kappa * full, ends(half), says).with(with);
        one.high = one.high.min(full.max(one.value));
        one
    }

    /// The socket whose memory is used, and whether it is another than the one that works.
    fn used(&self, group: &Group, sets: &[Vec<usize>]) -> (usize, bool) {
        let has = |at: usize| sets.get(at).is_some_and(|sets| !sets.is_empty());
        if sets.is_empty() || has(group.work) {
            return (group.work, false);
        }
        let other = (0..sets.len()).find(|at| has(*at));
        (other.unwrap_or(group.work), other.is_some())
    }

    /// Gb/s that the narrowest of some sets carries.
    pub fn carried(&self, path: Path, near: &[usize], far: bool, sockets: usize) -> f64 {
        let pages = Pages { near, far, sockets, channel_gb_s: self.channel_gb_s() };
        self.theta(path).memory_gbps(&pages, path == Path::Udp, self.parameters.eta.value)
    }

    fn theta(&self, path: Path) -> Theta {
        let kernel = self.parameters.kernel(path).theta;
        match path {
            Path::Tcp | Path::Udp => kernel,
            _ => Theta { m: path.moved(self.message.value).2, g: 1.0, ..kernel },
        }
    }

    fn memory(&self, path: Path, group: &Group, sets: &[Vec<usize>]) -> Stated {
        let (used, without) = self.used(group, sets);
        let remote = without || group.work != group.socket;
        let own = sets.get(used).map_or(&[][..], Vec::as_slice);
        let theta = self.theta(path);
        let mut with = vec![];
        let (gbps, mut says) = match (&self.parameters.copy_gb_s, sets.is_empty()) {
            (Some(copy), true) => {
                with.push(parameter("copy over the bus", "GB/s", copy));
                let words = format!("{:.1} GB/s cross the bus in a copy", copy.value);
                (8.0 * copy.value / theta.m, words)
            }
            (None, true) => return Err("memory: neither its modules nor a copy are known".into()),
            (_, false) if own.is_empty() => return Err("memory: no processor has any".into()),
            _ => {
                let far = sets.iter().enumerate().any(|(at, sets)| at != used && !sets.is_empty());
                let words: Vec<String> = own.iter().map(ToString::to_string).collect();
                with.extend(self.mts.as_ref().map(|mts| parameter("modules", "MT/s", mts)));
                with.push(parameter("eta", "share", &self.parameters.eta));
                let words = format!(
                    "the narrowest of the sets of {} channels at {} MT/s",
                    words.join("+"),
                    self.mts.as_ref().map_or(0.0, |mts| mts.value)
                );
                (self.carried(path, own, far && !without, sets.len()), words)
            }
        };
        let kernel = self.parameters.kernel(path);
        let fitted = matches!(path, Path::Tcp | Path::Udp);
        let half = kernel.memory_half.filter(|_| fitted);
        let half = half.unwrap_or_else(|| Parameters::half_of_fit(self));
        let (least, most, _) = path.moved(self.message.value);
        let mut range = ends(self.parameters.eta_half.map_or(half, |own| own.hypot(half)));
        if !fitted {
            range = (range.0 * theta.m / most, range.1 * theta.m / least);
        }
        says += &format!(", {:.2} bytes of it a payload byte", theta.m);
        with.push(of("m", theta.m, "B/B", if fitted { &kernel.m_from } else { "assumed" }));
        // Processors whose work uses the same memory have it together.
        let sharing = self.groups().iter().filter(|other| self.used(other, sets).0 == used).count();
        let mut gbps = gbps / sharing.max(1) as f64;
        if sharing > 1 {
            says += &format!(", for the NICs of {sharing} processors");
        }
        if remote {
            says += ", on another processor than the NIC";
            if path.is_kernel() {
                gbps /= self.parameters.remote_loss.value;
                with.push(parameter("remote memory's cost", "x", &self.parameters.remote_loss));
            }
        }
        Ok(resource("memory", gbps, range, says).with(with))
    }

    fn between(&self, path: Path) -> Stated {
        let Some((links, gts, from)) = &self.socket_links else {
            return Err("between the processors: sockets.links=3x10.4".to_owned());
        };
        let gbps = links * gts * SOCKET_LINK_BYTES * 8.0 * SOCKET_LINK_SHARE;
        let says = format!("{links} links of 2 B at {gts} GT/s, of which {SOCKET_LINK_SHARE}");
        // A copy may cross once more than the device's own access does.
        let low = if path.is_kernel() { 0.42 } else { 0.85 };
        let share = of("payload share", SOCKET_LINK_SHARE, "share", "measured on one node");
        let with = vec![of("links", *links, "", from), of("rate", *gts, "GT/s", from), share];
        Ok(resource("inter-socket", gbps, (low, 1.1), says).with(with))
    }

    fn slots(&self, path: Path, group: &Group) -> Option<Stated> {
        let slot = self.slot.as_ref();
        Some(match slot {
            Some(slot) => Ok(self.bus("pcie", path, slot, group.nics)),
            None => Err("pcie: the slot is not known: nic.pcie=4x16".to_owned()),
        })
    }

    /// What a slot, or the chipset's uplink, carries in the direction that is the fuller.
    fn bus(&self, name: &'static str, path: Path, slot: &Slot, count: usize) -> Resource {
        let packets = pcie::packet_bps(slot.gts, slot.lanes, slot.payload);
        let says = format!("{} GT/s x{}, payload {} B", slot.gts, slot.lanes, slot.payload);
        let says = if count > 1 { format!("{count} times {says}") } else { says };
        let with = vec![
            of("lanes", f64::from(slot.lanes), "", &slot.from),
            of("rate", slot.gts, "GT/s", &slot.from),
            of("payload", slot.payload, "B", &slot.payload_from),
        ];
        if path == Path::Packets {
            let can = pcie::smallest_packets(packets, self.frame.value);
            let (value, most) = (can.received.min(can.sent), can.received.min(can.sent_batched));
            let n = count as f64;
            return resource(name, n * value, (1.0, most / value), says).with(with);
        }
        let (payload, frame) = path.frame(self.mtu.value);
        let message = self.message.value;
        let is_short = !path.is_kernel() && message < payload;
        let (payload, frame) = if is_short { (message, message) } else { (payload, frame) };
        let share = pcie::packet_share(frame, slot.payload, HEADER) * payload / frame;
        let beside = frame / pcie::packet_share(frame, slot.payload, HEADER);
        let least = beside / (beside + BESIDE_FRAME);
        resource(name, count as f64 * packets * share / 1e9, (least, 1.0), says).with(with)
    }

    /// Streams or cores of a group: of those that were said its share.
    fn streams(&self, group: &Group) -> f64 {
        self.streams.unwrap_or(1.0) * group.nics as f64 / self.nics.len().max(1) as f64
    }

    fn cpu(&self, path: Path, group: &Group) -> Stated {
        let measured = match path {
            Path::Tcp => self.parameters.tcp_stream.at(self.message.value),
            Path::Udp => self.parameters.udp_stream.at(self.message.value.min(UDP_MOST)),
            Path::Packets => return self.core(group),
            Path::ZeroCopy => None,
            // The device does the work.
            Path::Rdma(..) | Path::Mpi(_) => {
                return Err("cpu: a completion's cost is not known; large messages hide it".into());
            }
        };
        let Some(Allowed { gbps: one, parts_ns }) = measured else {
            return Err("cpu: what a stream costs was not measured: --from a study of check".into());
        };
        let streams = self.streams(group);
        let says = format!("{streams} x {:.1} Gb/s until a stream's CPU is full", one.value);
        let range = (one.low / one.value, one.high / one.value);
        let mut with = vec![of("a stream's CPU", one.value, "Gb/s", &one.from)];
        with.push(parameter("message", "B", &self.message));
        if let Some((message, byte)) = parts_ns {
            let from = "fitted on the streams measured here";
            with.push(of("CPU a message", message, "ns", from));
            with.push(of("CPU a byte", byte, "ns", from));
        }
        let mut cpu = resource("cpu", streams * one.value, range, says).with(with);
        if self.streams.is_none() {
            cpu.only_if = Some("all goes over one stream".to_owned());
        }
        Ok(cpu)
    }

    /// A core that looks for packets.
    fn core(&self, group: &Group) -> Stated {
        let (clock, memory) = self.clock_ghz.as_ref().zip(self.core_gb_s.as_ref()).ok_or(
            "cpu: clock of a core and what it copies: cpu.ghz=3.4, memory.core_gb_s=11".to_owned(),
        )?;
        let (cycles, wait) = (self.parameters.cycles, self.parameters.wait_bytes);
        let mpps = 1e3 / (cycles / clock.value + wait / memory.value);
        let streams = self.streams(group);
        let says = format!(
            "{streams} core at {} GHz: {cycles} cycles and {wait} B of waiting for memory a packet",
            clock.value
        );
        let fitted = "fitted on ntop's servers";
        let with = vec![
            parameter("clock", "GHz", clock),
            parameter("a core's copy", "GB/s", memory),
            of("c", cycles, "cycles", fitted),
            of("B", wait, "B", fitted),
        ];
        Ok(resource("cpu", streams * mpps, ends(0.13), says).with(with))
    }

    /// The NIC's own limit in packets.
    fn engine(&self, path: Path, group: &Group) -> Stated {
        let Some(most) = &self.engine_mpps else {
            return Err("nic: its packet rate is in no data sheet here: nic.mpps=100".to_owned());
        };
        let n = self.ports(group);
        let with = vec![parameter("packets", "M/s", most)];
        if path == Path::Packets {
            let says = format!("{} M packets/s", most.value);
            return Ok(resource("nic", n * most.value, (1.0, 1.0), says).with(with));
        }
        let (full, _) = path.frame(self.mtu.value);
        let payload = if path.is_kernel() { full } else { full.min(self.message.value) };
        let says = format!("{} M packets/s of {payload} B", most.value);
        Ok(resource("nic", n * most.value * payload * 8e-3, (1.0, 1.0), says).with(with))
    }
}

fn ends(half: f64) -> (f64, f64) {
    ((-half).exp(), half.exp())
}

fn resource(name: &'static str, value: f64, range: (f64, f64), says: String) -> Resource {
    let (low, high) = (value * range.0, value * range.1);
    Resource { name, value, low, high, says, only_if: None, parameters: Vec::new() }
}

impl Resource {
    fn with(mut self, parameters: Vec<Parameter>) -> Self {
        self.parameters = parameters;
        self
    }
}

fn parameter(name: &'static str, unit: &'static str, known: &Known) -> Parameter {
    of(name, known.value, unit, &known.from)
}

fn of(name: &'static str, value: f64, unit: &'static str, from: &str) -> Parameter {
    Parameter { name, value, unit, from: from.to_owned() }
}
