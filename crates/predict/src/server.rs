//! A server as far as the model sees it: what the host's facts tell, and what was said beside them.

use crate::asked::{Asked, imix};
use crate::bounds::{self, Bound};
use crate::pcie;
use crate::pcie_paths::{self, Uplink};
use crate::populated::populated;
use crate::processors::{self, Processor};
use crate::refused::Refused;
use crate::said::{KEYS, Known, Said, given, number, of_socket, socket_of, word, words};
use crate::sockets::ways;
use crate::under_load::{BesideReads, NoCurve, UnderLoad};
use narrows_dimm::platform::{self, Platform};
use narrows_model::host::{Host, Nic};
use narrows_model::result::Provenance;

/// A slot, or the chipset's uplink.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Rate of a lane in GT/s.
    pub gts: f64,
    /// Lanes that carry data, 1 to 32.
    pub lanes: u32,
    /// Bits a second after line coding.
    pub raw_bps: f64,
    /// Payload of a packet in bytes.
    pub payload: f64,
    /// Where rate and lanes are from.
    pub from: Provenance,
    /// Where the payload is from.
    pub payload_from: Provenance,
}

impl Slot {
    /// Generation of PCI Express by the rate of a lane; `None` where only the slot's rate is told,
    /// so that its lanes are not known.
    pub fn generation(&self) -> Option<u32> {
        let told = (pcie::raw_bps(self.gts, self.lanes) / self.raw_bps - 1.0).abs() < 1e-6;
        let at = GT_S.iter().position(|gts| *gts == self.gts).filter(|_| told)?;
        u32::try_from(at + 1).ok()
    }
}

/// A server as the model sees it; what nobody told is `None` or assumed, with its origin.
#[derive(Clone, Debug)]
pub struct Server {
    /// The processors' family, where it is known.
    pub platform: Option<&'static Platform>,
    /// What one of its cores does in a clock.
    pub processor: Processor,
    /// Modules of every channel by socket, controllers one after the other; none where they are
    /// not known.
    pub modules: Vec<Vec<u32>>,
    /// Ways of the interleave sets of every socket, where the modules' sizes tell them; none of a
    /// socket whose modules were said, which are taken as alike.
    pub known_sets: Vec<Vec<usize>>,
    /// What is missing to know its modules, the first first; none where they are known.
    pub memory_gaps: Vec<String>,
    /// Slots of every channel.
    pub slots_per_channel: u32,
    /// Speed of the modules in MT/s.
    pub mts: Option<Known>,
    /// Rate of a port in Gb/s.
    pub link: Option<Known>,
    /// Whether that is InfiniBand's.
    pub infiniband: bool,
    /// The interface's MTU.
    pub mtu: Known,
    /// Whether TCP's segments have timestamps.
    pub timestamps: bool,
    /// Bytes of a message.
    pub message: Known,
    /// Streams at once.
    pub streams: Known,
    /// Bytes of the smallest packets.
    pub frame: Known,
    /// Clock of a core in GHz.
    pub clock_ghz: Option<Known>,
    /// CPUs of the host.
    pub cpus: Option<Known>,
    /// Microseconds to wake from each idle state that is allowed, where that was read.
    pub exits_us: Option<Vec<f64>>,
    /// What one core copies, each byte counted once, in GB/s.
    pub core_gb_s: Option<Known>,
    /// What the NIC can, in millions of packets a second.
    pub engine_mpps: Option<Known>,
    /// The socket of each NIC.
    pub nics: Vec<usize>,
    /// Whether the NICs are one port with a slot on every processor.
    pub direct: bool,
    /// The socket that works, where that was said.
    pub work: Option<usize>,
    /// What else was said of the work and its frames.
    pub asked: Asked,
    /// The slot of each.
    pub slot: Option<Slot>,
    /// The chipset's uplink above it.
    pub uplink: Option<Slot>,
    /// Links between two sockets, their number and rate in GT/s.
    pub socket_links: Option<(f64, f64, Provenance)>,
    /// Words of the paths that are asked for; none for all.
    pub paths: Vec<String>,
}

/// Rates of a lane in GT/s, by generation of PCI Express from the first.
const GT_S: [f64; 6] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
/// Payload of a PCI Express packet where it is neither said nor read.
const PAYLOAD_BYTES: f64 = 256.0;
/// Streams at once where nobody says.
const STREAMS: f64 = 4.0;

/// Idle states that no CPU has switched off; nothing where the driver lists none, as in a machine
/// whose host lets it sleep.
fn exits_us(host: &Host) -> Option<Vec<f64>> {
    let states = host.cpu.idle_states.value()?;
    let allowed = states.iter().filter(|state| state.disabled_on == 0);
    (!states.is_empty()).then(|| allowed.map(|state| state.exit_latency_us as f64).collect())
}

/// The server that a host's facts and what was said make, seen through one NIC, or from inside the
/// host where there is none. What the host does not tell is missing for the resources that need
/// it; an error is something said, or read, that cannot be.
pub(crate) fn server_of(host: &Host, nic: Option<&Nic>, said: &Said) -> Result<Server, Refused> {
    known_keys(said)?;
    let number = |key: &str| number(said, key);
    let platform = match said.get("cpu") {
        Some(name) => Some(platform::named(name).ok_or_else(|| Refused::Processor(name.clone()))?),
        None => platform::of(host),
    };
    let Told { link, mtu, mts, cpus } = told(host, nic, said)?;
    let asked = Asked::of(host, nic, said)?;
    if let (Some((cores, _)), Some(cpus)) = (asked.neighbours, &cpus)
        && cores >= cpus.value
    {
        return Err(Refused::Neighbours(cores, cpus.value));
    }
    let memory = populated(host, said, platform, mts.is_some())?;
    let assumed = |value: f64, why: &str| Known::new(value, Provenance::Assumed(why.to_owned()));
    let direct = word(said, "nic.direct", &["yes", "no"])? == Some("yes");
    Ok(Server {
        platform,
        processor: processors::of(platform),
        slots_per_channel: memory.slots_per_channel,
        mts,
        link,
        infiniband: word(said, "link", &["ethernet", "infiniband"])? == Some("infiniband"),
        mtu: mtu.unwrap_or_else(|| assumed(1500.0, "")),
        timestamps: has_timestamps(host),
        message: number("message")?.unwrap_or_else(|| assumed(65_536.0, "")),
        streams: number("streams")?
            .unwrap_or_else(|| assumed(STREAMS, "as many as LP1241's runs of TCP had")),
        frame: match said.get("frame").map(String::as_str) {
            Some("imix") => imix(),
            _ => number("frame")?.unwrap_or_else(|| assumed(64.0, "")),
        },
        asked,
        clock_ghz: number("cpu.ghz")?,
        cpus,
        exits_us: exits_us(host),
        core_gb_s: number("memory.core_gb_s")?,
        engine_mpps: number("nic.mpps")?,
        nics: nics(said, nic, direct, memory.modules.len())?,
        direct,
        work: work(said, memory.modules.len())?,
        slot: match said.get("nic.pcie") {
            Some(text) => Some(slot("nic.pcie", text)?),
            None => nic.and_then(own_slot),
        },
        uplink: match said.get("nic.uplink") {
            Some(text) => Some(slot("nic.uplink", text)?),
            None => nic.and_then(own_uplink),
        },
        socket_links: socket_links(said, platform)?,
        paths: said.get("path").map(|text| words(text)).unwrap_or_default(),
        modules: memory.modules,
        known_sets: memory.sets,
        memory_gaps: memory.gaps,
    })
}

/// Numbers that the host tells where nobody says them.
struct Told {
    link: Option<Known>,
    mtu: Option<Known>,
    mts: Option<Known>,
    cpus: Option<Known>,
}

fn told(host: &Host, nic: Option<&Nic>, said: &Said) -> Result<Told, Refused> {
    // A rate that an interface without a device shows is no wire's.
    let rate = nic.filter(|nic| nic.physical).and_then(|nic| nic.speed_bps.value());
    let mtu = nic.and_then(|nic| Some(nic.mtu_bytes.value()?.0 as f64));
    // Another processor than the host's has CPUs of its own.
    let cpus = cpus(host).filter(|_| !said.contains_key("cpu"));
    Ok(Told {
        link: or_read(said, "nic.gbps", rate.map(|rate| rate.0 / 1e9), &bounds::LINK_GBPS)?,
        mtu: or_read(said, "mtu", mtu, &bounds::MTU)?,
        mts: or_read(said, "memory.mts", configured(host), &bounds::MTS)?,
        cpus: or_read(said, "cpu.count", cpus, &bounds::CPUS)?,
    })
}

/// What was said stands in for what was read, which need not be looked at then.
fn or_read(
    said: &Said,
    key: &str,
    value: Option<f64>,
    bound: &'static Bound,
) -> Result<Option<Known>, Refused> {
    match number(said, key)? {
        Some(said) => Ok(Some(said)),
        None => value.map(|value| read(key, value, bound)).transpose(),
    }
}

/// Whether TCP has timestamps: on is the kernel's default.
fn has_timestamps(host: &Host) -> bool {
    let said = host.tuning.get("net.ipv4.tcp_timestamps").and_then(|fact| fact.value());
    said.is_none_or(|value| value != "0")
}

/// CPUs that the kernel runs on; none known of a host that is described.
fn cpus(host: &Host) -> Option<f64> {
    host.cpu.online.value().map(|online| online.len() as f64).filter(|count| *count >= 1.0)
}

/// The NIC with the fastest port.
pub fn fastest(host: &Host) -> Option<&Nic> {
    let told = host.physical_nics().filter_map(|nic| Some((nic, nic.speed_bps.value()?.0)));
    told.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(nic, _)| nic)
}

fn known_keys(said: &Said) -> Result<(), Refused> {
    let known = |key: &String| {
        let socket = of_socket(key).is_some_and(|at| at.parse::<u8>().is_ok());
        socket || KEYS.iter().any(|known| known.name == key && known.name != "memory.socketN")
    };
    match said.keys().find(|key| !known(key)) {
        None => Ok(()),
        Some(key) => Err(Refused::Key(key.clone(), KEYS.iter().map(|key| key.name).collect())),
    }
}

/// A number that was read, within the same bound.
fn read(key: &str, value: f64, bound: &'static Bound) -> Result<Known, Refused> {
    let value = bound.check(value).map_err(|why| Refused::Read(key.to_owned(), why))?;
    Ok(Known::new(value, Provenance::Read(key.to_owned())))
}

/// The processor that works, which has to be one of those that are known.
fn work(said: &Said, sockets: usize) -> Result<Option<usize>, Refused> {
    let Some(text) = said.get("work.socket") else { return Ok(None) };
    let at = socket_of("work.socket", text)?;
    if sockets > 0 && at >= sockets {
        Err(Refused::BeyondSockets("work.socket", at, sockets))
    } else {
        Ok(Some(at))
    }
}

/// The socket of every NIC: as many as are said, or one; with a direct connection one each socket.
fn nics(
    said: &Said,
    nic: Option<&Nic>,
    direct: bool,
    sockets: usize,
) -> Result<Vec<usize>, Refused> {
    let node = nic.and_then(|nic| nic.node.value()).map_or(0, |node| *node as usize);
    let told = match said.get("nic.socket") {
        Some(text) => words(text)
            .iter()
            .map(|text| socket_of("nic.socket", text))
            .collect::<Result<_, _>>()?,
        None => vec![node],
    };
    let count = match number(said, "nic.count")? {
        None => told.len(),
        Some(count) => count.value as usize,
    };
    let beyond = told.iter().find(|at| sockets > 0 && **at >= sockets);
    if let (Some(at), true) = (beyond, said.contains_key("nic.socket")) {
        return Err(Refused::BeyondSockets("nic.socket", *at, sockets));
    }
    match (direct, told.len(), count) {
        (true, ..) if sockets < 2 => Err(Refused::DirectNeedsTwo),
        (true, ..) => Ok((0..sockets).collect()),
        // A socket that no memory is known of is the first.
        (_, 1, count) => {
            let at = if sockets > 0 && told[0] >= sockets { 0 } else { told[0] };
            Ok(vec![at; count.max(1)])
        }
        (_, several, count) if several == count => Ok(told),
        (_, several, count) => Err(Refused::NicCount(count, several)),
    }
}

/// `3x16` or `3x16/512`: generation, lanes, payload.
fn slot(key: &str, text: &str) -> Result<Slot, Refused> {
    let wrong = || Refused::Form(key.to_owned(), text.to_owned(), "GENERATIONxLANES, such as 3x16");
    let (shape, payload) = text.split_once('/').map_or((text, None), |(s, p)| (s, Some(p)));
    let (generation, lanes) = shape.split_once('x').ok_or_else(wrong)?;
    let number = |text: &str, bound: &'static Bound| {
        let value: f64 = text.trim().parse().map_err(|_| wrong())?;
        bound.check(value).map_err(|why| Refused::Part(key.to_owned(), text.to_owned(), why))
    };
    let generation = number(generation, &bounds::PCIE_GEN)? as usize;
    let gts = GT_S.get(generation.wrapping_sub(1)).copied().ok_or_else(wrong)?;
    let lanes = number(lanes, &bounds::LANES)? as u32;
    if !bounds::is_link_width(lanes) {
        return Err(Refused::Lanes(key.to_owned(), text.to_owned()));
    }
    let (payload, payload_from) = match payload {
        Some(text) => (number(text, &bounds::PAYLOAD)?, given()),
        None => (PAYLOAD_BYTES, most_ports()),
    };
    let raw_bps = pcie::raw_bps(gts, lanes);
    Ok(Slot { gts, lanes, raw_bps, payload, from: given(), payload_from })
}

fn own_slot(nic: &Nic) -> Option<Slot> {
    let joints = pcie::joints(nic);
    let slowest = joints.iter().min_by(|a, b| a.payload_bps().total_cmp(&b.payload_bps()))?;
    // As it was read; without that what most ports have.
    let express = &slowest.lower.express;
    let set = express.value().map(|set| set.max_payload_bytes.0 as f64);
    let set = set.filter(|bytes| bounds::PAYLOAD.check(*bytes).is_ok());
    let payload_from = match set {
        Some(_) => Provenance::Read(express.source().0.clone()),
        None => most_ports(),
    };
    let link_from = match slowest.now {
        Some(_) => slowest.lower.link.source(),
        None => slowest.lower.rate_bytes_per_second.source(),
    };
    // Where only the rate is told, the intervals of eight lanes stand for its own.
    let (gts, lanes) = slowest.now.map_or((8.0, 8), |now| (now.speed_gts, now.width));
    Some(Slot {
        gts,
        lanes,
        raw_bps: slowest.raw_bps,
        payload: set.unwrap_or(PAYLOAD_BYTES),
        from: Provenance::Read(link_from.0.clone()),
        payload_from,
    })
}

/// Where a payload that nobody told is from.
fn most_ports() -> Provenance {
    Provenance::Assumed("what most ports have".to_owned())
}

fn own_uplink(nic: &Nic) -> Option<Slot> {
    // A built-in port, or one of a virtual machine, has no root port above it.
    let root = nic.path.first().filter(|_| nic.path.len() > 1)?;
    match pcie_paths::uplink(root) {
        Uplink::Chipset { link: Some((gts, lanes)) } => {
            let from = Provenance::DataSheet("of the chipset, by its ports' names".to_owned());
            let payload_from = Provenance::DataSheet("the least that there is".to_owned());
            let raw_bps = pcie::raw_bps(gts, lanes);
            Some(Slot { gts, lanes, raw_bps, payload: 128.0, from, payload_from })
        }
        _ => None,
    }
}

fn socket_links(
    said: &Said,
    platform: Option<&Platform>,
) -> Result<Option<(f64, f64, Provenance)>, Refused> {
    let Some(text) = said.get("sockets.links") else {
        let of = platform.and_then(|platform| platform.socket_links);
        let from = "the most of the family, from knowledge".to_owned();
        let from = Provenance::DataSheet(from);
        return Ok(of.map(|(links, gts)| (f64::from(links), gts, from)));
    };
    let wrong =
        || Refused::Form("sockets.links".to_owned(), text.clone(), "LINKSxRATE, such as 3x10.4");
    let (links, gts) = text.split_once('x').ok_or_else(wrong)?;
    let good = |text: &str, bound: &'static Bound| {
        let value: f64 = text.trim().parse().map_err(|_| wrong())?;
        bound.check(value).map_err(|why| Refused::Bounds("sockets.links".to_owned(), why))
    };
    Ok(Some((good(links, &bounds::LINKS)?, good(gts, &bounds::GT_S)?, given())))
}

fn configured(host: &Host) -> Option<f64> {
    let slots = host.memory.slots.value()?;
    let speeds = slots.iter().filter_map(|slot| slot.module.as_ref()?.configured_mts);
    speeds.min().map(f64::from)
}

impl Server {
    /// Refuses a server whose channels are known and hold nothing: it would run nothing. A search
    /// starts from such a one.
    pub fn runs(&self) -> Result<(), Refused> {
        let known = !self.modules.is_empty();
        if known && self.modules.iter().flatten().all(|count| *count == 0) {
            Err(Refused::NoModules)
        } else {
            Ok(())
        }
    }

    /// Ways of the interleave sets of modules; none where the platform's are not known.
    pub fn ways(&self, modules: &[u32]) -> Vec<usize> {
        self.platform.and_then(|platform| ways(modules, platform).ok()).unwrap_or_default()
    }

    /// Ways of every socket's sets.
    pub fn sets(&self) -> Vec<Vec<usize>> {
        let known = |at: usize| self.known_sets.get(at).filter(|sets| !sets.is_empty()).cloned();
        let each = self.modules.iter().enumerate();
        each.map(|(at, modules)| known(at).unwrap_or_else(|| self.ways(modules))).collect()
    }

    /// What memory does under load, of reads on a host whose nodes are its sockets, by the modules
    /// that are known or were said.
    pub fn loaded(&self, reads: &BesideReads) -> Result<UnderLoad, NoCurve> {
        // Of a node that is not known the only one is meant.
        let node = reads.node.or((reads.nodes == 1).then_some(0));
        let modules = node.and_then(|node| self.modules.get(node as usize));
        let modules = modules.filter(|_| reads.nodes == self.modules.len());
        let channels = modules.map_or(0, |all| all.iter().filter(|one| **one > 0).count());
        let peak_gb_s = channels as f64 * self.channel_gb_s();
        if peak_gb_s > 0.0 { reads.of_peak(1e9 * peak_gb_s) } else { Err(NoCurve::Peak) }
    }

    /// Peak of a channel in GB/s.
    pub fn channel_gb_s(&self) -> f64 {
        self.mts.as_ref().map_or(0.0, |mts| mts.value * 8e-3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slots_generation_is_that_of_its_lanes_rate_where_lanes_are_known() {
        let slot = |gts: f64, raw_bps: f64| Slot {
            gts,
            lanes: 8,
            raw_bps,
            payload: 256.0,
            from: Provenance::DataSheet("test".to_owned()),
            payload_from: Provenance::DataSheet("test".to_owned()),
        };
        for (gts, generation) in [
            (2.5, Some(1)),
            (5.0, Some(2)),
            (8.0, Some(3)),
            (16.0, Some(4)),
            (32.0, Some(5)),
            (64.0, Some(6)),
            (6.4, None),
        ] {
            let raw = pcie::raw_bps(gts, 8);
            assert_eq!(slot(gts, raw).generation(), generation, "{gts}");
            assert_eq!(slot(gts, raw * 1.01).generation(), None, "{gts} of a slot's rate alone");
            assert_eq!(slot(gts, raw / 1.01).generation(), None, "{gts}");
        }
    }
}
