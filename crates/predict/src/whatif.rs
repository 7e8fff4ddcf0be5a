//! What a described server should reach, today and after a change: `narrows predict --set`.
//!
//! The resources of kernel sockets are those of [`crate::published`]'s model with the parameters
//! that Lenovo's tables gave; RDMA has no ceiling but the wire, its slot and memory. All ranges say
//! how far those tables' left-out rows were off, wider on processors that the tables are not of.

use crate::framing::{self, Rdma};
use crate::interleave::sets;
use crate::pcie;
use crate::platform::{self, Platform};
use crate::sockets::{ETA, Pages, Theta, ways};
use narrows_facts::host::Host;
use serde::Serialize;
use std::collections::BTreeMap;

/// As fitted on the 36 medians of LP1241 (docs/predict.md): the kernel's ceiling, memory
/// bytes for each payload byte, the factor on them for TCP with two processors, UDP's shares in
/// a wider set and on the other socket.
const KAPPA: f64 = 0.938;
const M: f64 = 2.16;
const G: f64 = 0.738;
const R: f64 = 0.129;
const Q: f64 = 0.116;
/// The same by the names that the fit has.
pub const FITTED: [(&str, f64); 5] = [("kappa", KAPPA), ("m", M), ("g", G), ("r", R), ("q", Q)];
/// RDMA moves each byte once; the NIC has to be able to.
const M_RDMA: f64 = 1.0;
/// What local work gains over remote in throughput, set by one published figure.
const REMOTE_LOSS: f64 = 1.24;
/// 80 % of left-out rows were within this; other platforms are given four times as much.
const HALF: f64 = 0.032;
const HALF_ELSEWHERE: f64 = 0.13;
/// Message of streams.
const MESSAGE: f64 = 65_536.0;

/// A server as far as the model sees it.
#[derive(Clone, Debug)]
pub struct Machine {
    platform: &'static Platform,
    /// Modules of every channel by socket, controllers one after the other.
    pub modules: Vec<Vec<u32>>,
    /// Slots of every channel.
    pub slots_per_channel: u32,
    mts: f64,
    link_gbps: f64,
    mtu: f64,
    nic_socket: usize,
    /// Generation's rate in GT/s, lanes and payload of the NIC's slot.
    slot: Option<(f64, u32, f64)>,
}

/// What one resource allows.
#[derive(Clone, Debug, Serialize)]
pub struct Resource {
    /// Its name.
    pub name: &'static str,
    /// Payload that it carries, in Gb/s.
    pub gbps: f64,
    /// How that comes about.
    pub says: String,
}

/// What one path should reach.
#[derive(Clone, Debug, Serialize)]
pub struct Reach {
    /// `tcp`, `udp`, `rdma-write`.
    pub path: &'static str,
    /// Gb/s of payload, and its 80 % range.
    pub gbps: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// All resources, narrowest first.
    pub resources: Vec<Resource>,
}

/// What of a host the model needs and does not know, in the words of `--set`.
pub fn of_host(host: &Host, set: &BTreeMap<String, String>) -> Result<Machine, String> {
    let lacks = |what: &str| format!("{what}; say it with --set");
    let number = |key: &str| match set.get(key) {
        None => Ok(None),
        Some(text) => match text.parse::<f64>() {
            Ok(value) if value > 0.0 && value.is_finite() => Ok(Some(value)),
            _ => Err(format!("--set {key}={text} is no number above zero")),
        },
    };
    known_keys(set)?;
    let platform = match set.get("cpu") {
        Some(name) => platform::named(name)
            .ok_or(format!("--set cpu: '{name}' is no processor of platforms/"))?,
        None => platform::of(host)
            .ok_or_else(|| lacks("the processor's family is not known: cpu=NAME"))?,
    };
    let (mut modules, slots_per_channel) = match population(host, platform) {
        Ok(found) => found,
        Err(_) if set.keys().any(|key| key.starts_with("memory.socket")) => (Vec::new(), 2),
        Err(why) => return Err(lacks(&format!("{why}: memory.socket0=1,1,1/0,0,0"))),
    };
    for (key, text) in set {
        let Some(socket) = key.strip_prefix("memory.socket") else { continue };
        let at: usize =
            socket.parse().ok().filter(|at| *at < 8).ok_or(format!("--set {key}: no socket"))?;
        let channels = channels(text, platform).map_err(|why| format!("--set {key}: {why}"))?;
        let empty = vec![0; platform.channels_per_socket() as usize];
        modules.resize(modules.len().max(at + 1), empty);
        modules[at] = channels;
    }
    if platform.ways.is_empty() {
        return Err(format!("how {} interleaves is not known to narrows", platform.name));
    }
    let fastest = host.physical_nics().filter_map(|nic| Some((nic, nic.speed_bps.value()?.0)));
    let nic = fastest.max_by(|a, b| a.1.total_cmp(&b.1));
    let link = number("nic.gbps")?.or(nic.map(|(_, speed)| speed / 1e9));
    let own_mtu = nic.and_then(|(nic, _)| nic.mtu_bytes.value()).map(|mtu| mtu.0 as f64);
    let mts = number("memory.mts")?.or_else(|| configured(host));
    let node = nic.and_then(|(nic, _)| nic.node.value()).map_or(0, |node| *node as usize);
    let own_slot = nic.and_then(|(nic, _)| {
        let joints = pcie::joints(nic);
        let slowest = joints.iter().filter(|joint| joint.now.is_some());
        let slowest = slowest.min_by(|a, b| a.payload_bps().total_cmp(&b.payload_bps()))?;
        let now = slowest.now?;
        // As it was read; without that what most ports have.
        let set = slowest.lower.express.value().map(|set| set.max_payload_bytes.0 as f64);
        Some((now.speed_gts, now.width, set.unwrap_or(256.0)))
    });
    Ok(Machine {
        platform,
        modules,
        slots_per_channel,
        mts: mts.ok_or_else(|| lacks("the speed of memory is not known: memory.mts=2933"))?,
        link_gbps: link.ok_or_else(|| lacks("no NIC tells its speed: nic.gbps=100"))?,
        mtu: number("mtu")?.or(own_mtu).unwrap_or(1500.0),
        nic_socket: match set.get("nic.socket") {
            Some(text) => {
                text.parse().map_err(|_| format!("--set nic.socket={text} is no socket"))?
            }
            None => node,
        },
        slot: match set.get("nic.pcie") {
            Some(text) => Some(slot(text)?),
            None => own_slot,
        },
    })
}

fn known_keys(set: &BTreeMap<String, String>) -> Result<(), String> {
    const KEYS: [&str; 6] = ["cpu", "memory.mts", "mtu", "nic.gbps", "nic.pcie", "nic.socket"];
    let known = |key: &String| KEYS.contains(&key.as_str()) || key.starts_with("memory.socket");
    match set.keys().find(|key| !known(key)) {
        None => Ok(()),
        Some(key) => Err(format!("--set {key}: it is none of {}, memory.socketN", KEYS.join(", "))),
    }
}

/// `3x16` or `3x16/512`: generation, lanes, payload.
fn slot(text: &str) -> Result<(f64, u32, f64), String> {
    let wrong = || format!("--set nic.pcie={text} is not GENERATIONxLANES, such as 3x16");
    let (shape, payload) = text.split_once('/').unwrap_or((text, "256"));
    let (generation, lanes) = shape.split_once('x').ok_or_else(wrong)?;
    let generation: usize = generation.parse().map_err(|_| wrong())?;
    let speed = [2.5, 5.0, 8.0, 16.0, 32.0].get(generation.wrapping_sub(1)).ok_or_else(wrong)?;
    let lanes: u32 = lanes.parse().ok().filter(|n| (1..=32).contains(n)).ok_or_else(wrong)?;
    Ok((*speed, lanes, payload.parse().ok().filter(|p: &f64| *p >= 128.0).ok_or_else(wrong)?))
}

/// `1,1,1/0,0,0`: modules of each channel, controllers parted by strokes.
fn channels(text: &str, platform: &Platform) -> Result<Vec<u32>, String> {
    let number = |word: &str| word.trim().parse::<u32>().ok().filter(|n| *n <= 3);
    let all: Option<Vec<u32>> = text.split(['/', ',']).map(number).collect();
    let all = all.ok_or(format!("'{text}' is not modules of each channel, such as 1,1,1/0,0,0"))?;
    match all.len() == platform.channels_per_socket() as usize {
        true => Ok(all),
        false => Err(format!(
            "{} has {} channels a socket",
            platform.name,
            platform.channels_per_socket()
        )),
    }
}

fn configured(host: &Host) -> Option<f64> {
    let slots = host.memory.slots.value()?;
    let speeds = slots.iter().filter_map(|slot| slot.module.as_ref()?.configured_mts);
    speeds.min().map(f64::from)
}

/// Modules of every channel as they are, and the slots of a channel.
fn population(host: &Host, platform: &Platform) -> Result<(Vec<Vec<u32>>, u32), String> {
    let slots = host.memory.slots.value().ok_or("memory slots are not known")?;
    let known = sets(slots, platform, 1)?;
    let each = platform.channels_per_socket() as usize;
    let mut by_socket = BTreeMap::<u32, BTreeMap<(u32, usize, String), (u32, u32)>>::new();
    for slot in slots {
        let Some(at) = &slot.at else { continue };
        let controller =
            known.controllers.get(&(at.socket, at.channel.clone())).copied().unwrap_or(0);
        let key = (controller, at.channel.len(), at.channel.clone());
        let channel = by_socket.entry(at.socket).or_default().entry(key).or_default();
        channel.0 += 1;
        channel.1 += u32::from(slot.module.as_ref().is_some_and(|module| module.is_dram));
    }
    let most = by_socket.values().flat_map(BTreeMap::values).map(|channel| channel.0).max();
    let modules: Vec<Vec<u32>> = by_socket
        .values()
        .map(|channels| {
            let mut all: Vec<u32> = channels.values().map(|channel| channel.1).collect();
            all.resize(each, 0);
            all
        })
        .collect();
    match modules.is_empty() {
        true => Err("no memory slot tells its channel".to_owned()),
        false => Ok((modules, most.unwrap_or(1))),
    }
}

impl Machine {
    /// The platform's name.
    pub fn platform(&self) -> &'static Platform {
        self.platform
    }

    /// The socket that the NIC is on, and so the work.
    pub fn near(&self) -> usize {
        if self.nic_socket < self.modules.len() { self.nic_socket } else { 0 }
    }

    /// Ways of a socket's interleave sets; none where the platform's are not known, which
    /// [`of_host`] has refused.
    fn ways(&self, modules: &[u32]) -> Vec<usize> {
        ways(modules, self.platform).unwrap_or_default()
    }

    /// What every path should reach.
    pub fn reaches(&self) -> Vec<Reach> {
        let sets: Vec<Vec<usize>> = self.modules.iter().map(|modules| self.ways(modules)).collect();
        [Path::Tcp, Path::Udp, Path::Rdma].map(|path| self.reach(path, &sets)).to_vec()
    }

    fn reach(&self, path: Path, sets: &[Vec<usize>]) -> Reach {
        let mut resources = vec![self.wire(path), self.memory(path, sets)];
        resources.extend(self.slot(path));
        resources.sort_by(|a, b| a.gbps.total_cmp(&b.gbps));
        let gbps = resources[0].gbps;
        let same = self.platform.name.starts_with("Cascade Lake");
        let half: f64 = if same { HALF } else { HALF_ELSEWHERE };
        let wire = self.link_gbps * path.framing(self.mtu);
        Reach {
            path: path.name(),
            gbps,
            low: gbps * (-half).exp(),
            high: (gbps * half.exp()).min(wire.max(gbps)),
            resources,
        }
    }

    fn wire(&self, path: Path) -> Resource {
        let share = path.framing(self.mtu);
        let kappa = if path == Path::Rdma { 1.0 } else { KAPPA };
        let mut says = format!(
            "{:.2} % of {} Gb/s is payload at MTU {}",
            share * 100.0,
            self.link_gbps,
            self.mtu
        );
        if kappa < 1.0 {
            says += &format!("; the kernel reaches {kappa} of it (fitted on LP1241)");
        }
        Resource { name: "wire", gbps: kappa * share * self.link_gbps, says }
    }

    fn carried(&self, path: Path, near: &[usize], far: bool, sockets: usize) -> f64 {
        let pages = Pages { near, far, sockets, channel_gb_s: self.mts * 8e-3 };
        let kernel = Theta { kappa: KAPPA, m: M, g: G, r: R, q: Q, x: 0.0 };
        let theta = match path {
            Path::Rdma => Theta { m: M_RDMA, g: 1.0, ..kernel },
            _ => kernel,
        };
        theta.memory_gbps(&pages, path == Path::Udp, ETA)
    }

    fn memory(&self, path: Path, sets: &[Vec<usize>]) -> Resource {
        let near = sets.get(self.near()).map_or(&[][..], Vec::as_slice);
        let far = sets.iter().enumerate().any(|(at, sets)| at != self.near() && !sets.is_empty());
        // Work on the NIC's socket without memory goes to the other's.
        let remote = near.is_empty();
        let other = sets.iter().find(|sets| !sets.is_empty()).map_or(&[][..], Vec::as_slice);
        let used = if remote { other } else { near };
        let gbps = self.carried(path, used, far && !remote, sets.len());
        let gbps = if remote && path != Path::Rdma { gbps / REMOTE_LOSS } else { gbps };
        let words: Vec<String> = used.iter().map(ToString::to_string).collect();
        let says = match words.is_empty() {
            true => "no memory".to_owned(),
            false => format!(
                "the narrowest of the sets of {} channels at {} MT/s{}",
                words.join("+"),
                self.mts,
                if remote { ", on the other socket" } else { "" }
            ),
        };
        Resource { name: "memory", gbps, says }
    }

    fn slot(&self, path: Path) -> Option<Resource> {
        let (speed, lanes, payload) = self.slot?;
        // Of an RDMA packet only the data goes to memory.
        let frame = match path {
            Path::Rdma => path.payload(self.mtu),
            _ => self.mtu + 14.0,
        };
        let share = pcie::packet_share(frame, payload, 24.0) * path.payload(self.mtu) / frame;
        let gbps = pcie::packet_bps(speed, lanes, payload) * share / 1e9;
        Some(Resource {
            name: "pcie",
            gbps,
            says: format!("{speed} GT/s x{lanes}, payload {payload} B"),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Tcp,
    Udp,
    Rdma,
}

impl Path {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Rdma => "rdma-write (RoCEv2)",
        }
    }

    fn framing(self, mtu: f64) -> f64 {
        match self {
            Self::Tcp => framing::tcp(mtu, true),
            Self::Udp => framing::udp(mtu, MESSAGE),
            Self::Rdma => framing::rdma(Rdma::RoceV2, MESSAGE, framing::path_mtu(mtu)),
        }
    }

    /// Payload of a full frame.
    fn payload(self, mtu: f64) -> f64 {
        match self {
            Self::Tcp => framing::tcp_payload_bytes(mtu, true),
            Self::Udp => mtu - 28.0,
            Self::Rdma => framing::path_mtu(mtu),
        }
    }
}

/// One population of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Modules of every channel by socket.
    pub modules: Vec<Vec<u32>>,
    /// TCP and UDP that memory and wire allow, in Gb/s.
    pub tcp_gbps: f64,
    /// UDP.
    pub udp_gbps: f64,
    /// Channels of all sets: a measure of what is left for programs.
    pub channels: usize,
    /// Sets of each socket.
    pub sets: Vec<Vec<usize>>,
}

/// All populations of so many modules, best first: by the lower of TCP and UDP, then those that
/// share them evenly between sockets, then by channels, then by the fewest sets. Of those with the
/// same sets one stands for all. How many there are, and the best `keep`; an error for more sockets
/// than the model has seen.
pub fn search(machine: &Machine, modules: u32, keep: usize) -> Result<(u64, Vec<Found>), String> {
    let sockets = machine.modules.len().max(1);
    if sockets > 2 {
        return Err(format!("{sockets} sockets: a search knows one or two"));
    }
    let each = choices(machine, modules);
    let none = [Choice { modules: Vec::new(), count: 0, sets: Vec::new(), like_it: 1 }];
    let others: &[Choice] = if sockets == 1 { &none } else { &each };
    let mut found: Vec<(u32, Found)> = Vec::new();
    let mut all = 0u64;
    for near in &each {
        for far in others.iter().filter(|far| near.count + far.count == modules) {
            all = all.saturating_add(near.like_it.saturating_mul(far.like_it));
            let reach = |path: Path| {
                let memory = machine.carried(path, &near.sets, far.count > 0, sockets);
                memory.min(machine.wire(path).gbps)
            };
            let both = if sockets == 1 { vec![near] } else { vec![near, far] };
            let uneven = if sockets == 1 { 0 } else { near.count.abs_diff(far.count) };
            let one = Found {
                modules: both.iter().map(|choice| choice.modules.clone()).collect(),
                tcp_gbps: reach(Path::Tcp),
                udp_gbps: reach(Path::Udp),
                channels: both.iter().map(|choice| choice.sets.iter().sum::<usize>()).sum(),
                sets: both.iter().map(|choice| choice.sets.clone()).collect(),
            };
            found.push((uneven, one));
        }
    }
    let lower = |found: &Found| found.tcp_gbps.min(found.udp_gbps);
    let sets = |found: &Found| found.sets.iter().map(Vec::len).sum::<usize>();
    found.sort_by(|(uneven_a, a), (uneven_b, b)| {
        let rest = uneven_a.cmp(uneven_b).then(b.channels.cmp(&a.channels));
        lower(b).total_cmp(&lower(a)).then(rest).then(sets(a).cmp(&sets(b)))
    });
    Ok((all, found.into_iter().map(|(_, found)| found).take(keep).collect()))
}

/// The populations of one socket with the same number of modules and the same sets.
struct Choice {
    /// One of them.
    modules: Vec<u32>,
    count: u32,
    sets: Vec<usize>,
    /// How many there are.
    like_it: u64,
}

/// Every kind of population of a socket with at most so many modules. Which channels of a
/// controller hold how many does not matter to the sets, only how many channels do: so controllers
/// are filled in falling order, and counted as often as their channels can be exchanged.
fn choices(machine: &Machine, modules: u32) -> Vec<Choice> {
    let (platform, slots) = (machine.platform, machine.slots_per_channel);
    let mut one: Vec<(Vec<u32>, u64)> = Vec::new();
    falling(platform.channels.max(1) as usize, slots, &mut Vec::new(), &mut one);
    let mut all: Vec<(Vec<u32>, u64)> = vec![(Vec::new(), 1)];
    for _ in 0..platform.controllers {
        let with = |(before, n): &(Vec<u32>, u64)| {
            let more =
                one.iter().map(|(own, m)| ([&before[..], own].concat(), n.saturating_mul(*m)));
            more.filter(|(all, _)| all.iter().sum::<u32>() <= modules).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let mut kinds = BTreeMap::<(u32, Vec<usize>), Choice>::new();
    for (modules, like_it) in all {
        let (count, sets) = (modules.iter().sum(), machine.ways(&modules));
        let kind = kinds.entry((count, sets.clone()));
        let kind = kind.or_insert(Choice { modules, count, sets, like_it: 0 });
        kind.like_it = kind.like_it.saturating_add(like_it);
    }
    kinds.into_values().collect()
}

/// Modules of a controller's channels, most first, and in how many orders they can be.
fn falling(channels: usize, most: u32, before: &mut Vec<u32>, out: &mut Vec<(Vec<u32>, u64)>) {
    if before.len() == channels {
        let factorial = |n: usize| (1..=n as u64).product::<u64>();
        let same = before.chunk_by(|a, b| a == b).map(|run| factorial(run.len()));
        return out.push((before.clone(), factorial(channels) / same.product::<u64>()));
    }
    for modules in 0..=most {
        before.push(modules);
        falling(channels, modules, before, out);
        before.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(more: &[(&str, &str)]) -> Machine {
        let base = [
            ("cpu", "Xeon Platinum 8280"),
            ("memory.mts", "2933"),
            ("nic.gbps", "100"),
            ("memory.socket0", "1,1,0/1,0,0"),
        ];
        let set = base.iter().chain(more).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        of_host(&Host::default(), &set.collect()).expect("a machine")
    }

    fn tcp(machine: &Machine) -> (f64, &'static str) {
        let reach = machine.reaches().remove(0);
        (reach.gbps, reach.resources[0].name)
    }

    #[test]
    fn the_studys_step_comes_out_and_its_untried_neighbour() {
        let uneven = tcp(&machine(&[]));
        assert!((uneven.0 - 61.7).abs() < 0.5 && uneven.1 == "memory", "{uneven:?}");
        // Three on one controller are one set of three: the model says that this is fast.
        let one_side = tcp(&machine(&[("memory.socket0", "1,1,1/0,0,0")]));
        assert!((one_side.0 - 88.3).abs() < 0.5 && one_side.1 == "wire", "{one_side:?}");
        let narrow = tcp(&machine(&[("memory.socket0", "1,1,1/1,1,1"), ("nic.pcie", "3x8")]));
        assert_eq!(narrow.1, "pcie");
        let slot = machine(&[("memory.socket0", "1,1,1/1,1,1"), ("nic.pcie", "3x8")]);
        let rdma = slot.reaches().remove(2);
        // 57.88 Gb/s of packets, of which 1024 of 1120 bytes are data.
        assert!((rdma.gbps - 52.9).abs() < 0.1, "{rdma:?}");
        let jumbo = tcp(&machine(&[("memory.socket0", "1,1,1/1,1,1"), ("mtu", "9000")]));
        assert!(jumbo.0 > 92.0, "{jumbo:?}");
    }

    #[test]
    fn what_is_not_known_is_asked_for() {
        let ask = |pairs: &[(&str, &str)]| {
            let set = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            of_host(&Host::default(), &set.collect()).expect_err("something is missing")
        };
        assert!(ask(&[]).contains("cpu=NAME"));
        assert!(ask(&[("cpu", "Xeon Platinum 8280")]).contains("memory.socket0="));
        assert!(ask(&[("colour", "red")]).contains("none of"));
        assert!(ask(&[("cpu", "Pentium")]).contains("no processor"));
        let wrong = [("cpu", "Xeon Platinum 8280"), ("memory.socket0", "1,1")];
        assert!(ask(&wrong).contains("6 channels"));
    }

    /// Twelve channels on one controller and two sockets: more populations than can be made one by
    /// one.
    #[test]
    fn large_servers_are_searched_and_larger_ones_refused() {
        let of = |sockets: usize| {
            let one = ["1"; 12].join(",");
            let mut set = BTreeMap::from(
                [("cpu", "AMD EPYC 9654"), ("memory.mts", "4800"), ("nic.gbps", "400")]
                    .map(|(k, v)| (k.to_owned(), v.to_owned())),
            );
            for socket in 0..sockets {
                set.insert(format!("memory.socket{socket}"), one.clone());
            }
            search(&of_host(&Host::default(), &set).expect("a machine"), 24, 1)
        };
        let (all, found) = of(2).expect("a search");
        assert!(all > 1_000_000 && found[0].sets == [[12], [12]], "{all} {found:?}");
        assert!(of(4).expect_err("four").contains("4 sockets"));
    }

    #[test]
    fn the_best_population_of_a_number_is_one_even_set() {
        let machine = machine(&[("memory.socket1", "0,0,0/0,0,0")]);
        let (all, found) = search(&machine, 8, 3).expect("a search");
        // Of twelve channels with at most two modules each, eight modules: the coefficient of x^8
        // in (1 + x + x^2)^12.
        let mut ways_to = vec![1u64];
        for _ in 0..12 {
            let mut next = vec![0; ways_to.len() + 2];
            for (at, n) in ways_to.iter().enumerate() {
                (0..3).for_each(|more| next[at + more] += n);
            }
            ways_to = next;
        }
        assert_eq!(all, ways_to[8]);
        // Eight modules on two sockets: four channels of two controllers each.
        assert_eq!(found[0].sets, [[4], [4]], "{found:?}");
        let (_, seven) = search(&machine, 7, 2).expect("a search");
        assert_ne!(seven[0].sets, seven[1].sets, "one stands for all of a shape");
        let (_, one) = search(&machine, 1, 1).expect("a search");
        assert_eq!(one[0].channels, 1);
    }
}
