//! What `narrows search` varies: the options of TCP, UDP and RDMA streams, each with choices that
//! one of the other tools or an application would make, and the study that shows an anomaly again.

use crate::study::Settings;
use narrows_model::explored::{Choice, Explorable, Explored, Law, Point, Varied};
use narrows_model::host::Host;
use narrows_model::options::{flows, places, rdma, runs};
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use narrows_model::{BitsPerSecond, Bytes};
use serde::Serialize;
use thiserror::Error;

/// Seconds of a run beside its window: warm-up, cool-down, and the start of both ends.
const BESIDE_SECONDS: f64 = WARMUP_SECONDS + COOLDOWN_SECONDS + 0.3;
/// Seconds before each window, which do not count.
pub const WARMUP_SECONDS: f64 = 0.15;
/// Seconds after it in which both ends go on.
pub const COOLDOWN_SECONDS: f64 = 0.2;
/// A window is as long as lets so many runs fit, within bounds.
const RUNS_WANTED: f64 = 400.0;
const WINDOW_SECONDS: (f64, f64) = (0.2, 1.0);
/// Fewer runs tell nothing.
const RUNS_MIN: f64 = 25.0;
/// What a way to send or receive, or an option of the connection, may cost each message.
const WAY_NS: f64 = 10_000.0;
/// Linux's own limit of a receive buffer, where the system sizes it.
const BUFFER_OWN: f64 = (6 << 20) as f64;
/// Headers of IPv4 and TCP without options, and of IPv4 and UDP.
const TCP_HEADERS: u64 = 40;
const UDP_HEADERS: u64 = 28;
/// TCP's timestamp option, padded (RFC 7323, appendix A).
const TIMESTAMPS: u64 = 12;
/// Segments that are asked for, those below the path's: an MTU less its headers, options counted
/// in, as TCP_MAXSEG has it. 536 is what a host has that is told none (RFC 9293), an MTU of 576;
/// 1240 is one of 1280 (RFC 8200), 1460 one of 1500 and 4056 one of 4096.
const SEGMENTS: [u32; 5] = [536, 1000, 1240, 1460, 4056];
/// Bytes of a packet of RDMA that a port can be set to (InfiniBand specification, volume 1).
const PACKETS: [u64; 5] = [256, 512, 1024, 2048, 4096];
/// What the kernel takes off an Ethernet's MTU for the packets of a port (`iboe_get_mtu`): GRH,
/// UDP, transport headers of every sort, and the checksum.
const RDMA_HEADERS: u64 = 40 + 8 + 12 + 4 + 28 + 4;
/// Size of every other message, where two are mixed.
const ALTERNATE_BYTES: u64 = 64;
/// Runs of each point in the study that shows an anomaly.
const REPEATS: u32 = 6;
/// Threads of an end that look for completions of traffic both ways, over one queue pair.
const SPINNING: usize = 2;

/// What is known of the hosts and asked of the search.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Minutes that all runs may take.
    pub minutes: f64,
    /// Which traffic is varied, by the words of [`Traffic`].
    pub traffic: Vec<Traffic>,
    /// Congestion controls that both hosts have, beside the one in use.
    pub controls: Vec<String>,
    /// MTU of the path.
    pub mtu_bytes: u64,
    /// Whether this host has several nodes, so that an end can be on another than its NIC's.
    pub has_nodes: bool,
    /// RDMA devices that are up at both hosts under one name.
    pub devices: Vec<Shared>,
    /// Whether threads of RDMA block until something completes, in place of looking all the time.
    pub sleeps: bool,
}

impl Wanted {
    /// Whether a host has too few CPUs for threads that look for completions all the time: one
    /// each way, and one CPU for what completes the work. Of CPUs that nobody tells there are
    /// enough.
    pub fn must_sleep(host: &Host) -> bool {
        let usable = host.cpu.allowed.value().or(host.cpu.online.value());
        usable.is_some_and(|cpus| cpus.len() <= SPINNING)
    }
}

/// An RDMA device that both hosts have under one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    pub name: String,
    /// The rate of its slower port, where both ends tell it.
    pub rate: Option<BitsPerSecond>,
}

impl Shared {
    /// Those of two hosts: hosts that are built alike name devices alike.
    pub fn of(here: &Host, there: &Host) -> Vec<Self> {
        let both = here.rdma.iter().filter_map(|own| {
            let other = there.rdma.iter().find(|other| other.name == own.name)?;
            let (one, other) = (own.active()?, other.active()?);
            let slower = |one: &BitsPerSecond, other: &BitsPerSecond| match one.0 <= other.0 {
                true => *one,
                false => *other,
            };
            let rates = one.rate_bps.value().zip(other.rate_bps.value());
            let rate = rates.map(|(one, other)| slower(one, other));
            Some(Self { name: own.name.clone(), rate })
        });
        both.collect()
    }
}

/// Traffic whose options are varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Streams of TCP.
    Tcp,
    /// Datagrams, at a pace that any path has.
    Udp,
    /// Bandwidth of RDMA verbs.
    Rdma,
}

impl Traffic {
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Rdma];

    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Rdma => "rdma",
        }
    }

    /// The traffic of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|traffic| traffic.word() == word)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Rdma => "RDMA",
        }
    }
}

/// Why nothing can be searched.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoSearch {
    /// The time is too short.
    #[error("{minutes} minutes are too short: {RUNS_MIN} runs take {least:.2}")]
    TooShort {
        minutes: f64,
        /// Minutes that the fewest runs take.
        least: f64,
    },
}

/// A study that cannot be written.
#[derive(Debug, Error)]
#[error("a study has no words for these options: {0}")]
pub struct Unworded(#[from] toml::ser::Error);

/// Options with what each of their choices sets.
#[derive(Clone, Debug, Default)]
struct Options {
    declared: Vec<Explorable>,
    settings: Vec<Vec<Settings>>,
}

/// Everything that a search varies, and how a point is set.
#[derive(Clone, Debug)]
pub struct Space {
    pub explored: Explored,
    /// Seconds that count in each run.
    pub window_seconds: f64,
    base: Vec<Settings>,
    settings: Vec<Vec<Vec<Settings>>>,
}

impl Space {
    /// What is varied between two hosts within the time.
    pub fn of(wanted: &Wanted) -> Result<Self, NoSearch> {
        let (least, most) = WINDOW_SECONDS;
        let seconds = wanted.minutes * 60.0;
        if seconds < RUNS_MIN * (least + BESIDE_SECONDS) {
            let least = RUNS_MIN * (least + BESIDE_SECONDS) / 60.0;
            return Err(NoSearch::TooShort { minutes: wanted.minutes, least });
        }
        let window_seconds = (seconds / RUNS_WANTED - BESIDE_SECONDS).clamp(least, most);
        let (mut traffic, mut base, mut settings) = (Vec::new(), Vec::new(), Vec::new());
        for of in &wanted.traffic {
            let options = of_traffic(*of, wanted);
            traffic.push(Varied { name: of.name().to_owned(), options: options.declared });
            settings.push(options.settings);
            base.push(common(*of, window_seconds, wanted.sleeps));
        }
        let explored = Explored { minutes: wanted.minutes, traffic };
        Ok(Self { explored, window_seconds, base, settings })
    }

    /// Seconds that a run should take.
    pub fn run_seconds(&self) -> f64 {
        self.window_seconds + BESIDE_SECONDS
    }

    pub fn settings(&self, point: &Point) -> Settings {
        self.set(point, None)
    }

    fn set(&self, point: &Point, except: Option<usize>) -> Settings {
        let mut all = self.base[point.traffic].clone();
        for (option, choice) in point.choices.iter().enumerate() {
            if Some(option) != except {
                all = merged(&all, &self.settings[point.traffic][option][*choice]);
            }
        }
        all
    }

    /// The study that shows a point and the one beside it, as a file has it.
    pub fn definition(&self, about: &str, odd: &Point, plain: &Point) -> Result<String, Unworded> {
        let pairs = odd.choices.iter().zip(&plain.choices);
        let option = pairs.enumerate().find(|(_, (own, other))| own != other);
        let option = option.map_or(0, |(at, _)| at);
        let declared = &self.explored.of(odd).options[option];
        let base = self.set(odd, Some(option));
        let levels = [odd, plain].map(|point| {
            let mut settings = self.settings[odd.traffic][option][point.choices[option]].clone();
            // A level's table takes the place of the base's as a whole.
            settings.rdma = settings.rdma.and(self.settings(point).rdma);
            LevelOf { name: &declared.choices[point.choices[option]].name, settings }
        });
        let factor = [FactorOf { name: &declared.name, levels }];
        Ok(toml::to_string(&Written { name: "anomaly", about, repeats: REPEATS, base, factor })?)
    }
}

#[derive(Serialize)]
struct Written<'a> {
    name: &'static str,
    about: &'a str,
    repeats: u32,
    base: Settings,
    factor: [FactorOf<'a>; 1],
}

#[derive(Serialize)]
struct FactorOf<'a> {
    name: &'a str,
    levels: [LevelOf<'a>; 2],
}

#[derive(Serialize)]
struct LevelOf<'a> {
    name: &'a str,
    #[serde(flatten)]
    settings: Settings,
}

/// Settings with what others set in their place, the table of RDMA's options key by key.
fn merged(all: &Settings, over: &Settings) -> Settings {
    let rdma = match (&all.rdma, &over.rdma) {
        (Some(own), Some(over)) => Some(own.with(over)),
        (own, over) => over.clone().or_else(|| own.clone()),
    };
    Settings { rdma, ..all.with(over) }
}

/// What all points of a traffic have.
fn common(traffic: Traffic, window_seconds: f64, sleeps: bool) -> Settings {
    let load = match traffic {
        Traffic::Tcp => Workload::TCP_STREAM,
        Traffic::Udp => Workload::UDP_STREAM,
        Traffic::Rdma => Workload::Stream(Transport::Rdma(RdmaVerb::Write)),
    };
    let mut settings = Settings::default();
    settings.tell(&runs::LOAD, load.to_string());
    settings.tell(&runs::SECONDS, window_seconds);
    settings.tell(&runs::WARMUP_SECONDS, WARMUP_SECONDS);
    if traffic == Traffic::Rdma {
        let wait = if sleeps { "block" } else { "spin" };
        settings.tell(&flows::WAIT, wait.to_owned());
    }
    settings
}

fn of_traffic(traffic: Traffic, wanted: &Wanted) -> Options {
    let mut options = Options::default();
    match traffic {
        Traffic::Tcp => tcp(&mut options, wanted),
        Traffic::Udp => udp(&mut options, wanted),
        Traffic::Rdma => rdma(&mut options, wanted),
    }
    options
}

fn tcp(options: &mut Options, wanted: &Wanted) {
    options.sizes("messages", &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18], 1 << 16, None);
    options.flows("flows");
    options.buffers();
    options.segments(wanted.mtu_bytes.saturating_sub(TCP_HEADERS));
    options.pace(&[100e6, 1e9], None);
    options.direction();
    options.nodes(wanted.has_nodes);
    let controls = wanted.controls.iter().map(|name| {
        let mut settings = Settings::default();
        settings.tell(&flows::CONGESTION, name.clone());
        (alike(name, &format!("congestion control {name}"), 0.0), settings)
    });
    let usual = (alike("as set", "the usual congestion control", 0.0), Settings::default());
    options.add("congestion control", Law::Alike, 0, std::iter::once(usual).chain(controls));
    options.words(
        "Nagle",
        &flows::NAGLE,
        &[("on", "Nagle's algorithm on"), ("off", "Nagle's algorithm off")],
    );
    options.words(
        "sender",
        &flows::SENDER,
        &[
            ("write", "write"),
            ("sendfile", "sendfile"),
            ("zerocopy", "zerocopy"),
            ("vmsplice", "vmsplice"),
        ],
    );
    options.words("receiver", &flows::RECEIVER, &[("recv", "recv"), ("truncate", "truncate")]);
    let mut quick = Settings::default();
    quick.tell(&flows::QUICKACK, true);
    let plain = (alike("delayed", "delayed acknowledgements", 0.0), Settings::default());
    let quick = (alike("at once", "acknowledgements at once", WAY_NS), quick);
    options.add("acknowledgements", Law::Alike, 0, [plain, quick]);
}

fn udp(options: &mut Options, wanted: &Wanted) {
    let whole = wanted.mtu_bytes.saturating_sub(UDP_HEADERS).clamp(1024, 65_000);
    options.sizes("datagrams", &[6, 7, 8, 9, 10], whole, Some(whole));
    options.flows("flows");
    options.pace(&[100e6, 1e9], Some(100e6));
    options.direction();
    options.nodes(wanted.has_nodes);
    options.words(
        "sender",
        &flows::SENDER,
        &[("send", "send"), ("sendmmsg", "sendmmsg"), ("gso", "gso")],
    );
    options.words("receiver", &flows::RECEIVER, &[("recv", "recv"), ("recvmmsg", "recvmmsg")]);
}

fn rdma(options: &mut Options, wanted: &Wanted) {
    options.devices(&wanted.devices);
    let verbs = [RdmaVerb::Write, RdmaVerb::Read, RdmaVerb::Send].map(|verb| {
        let mut settings = Settings::default();
        let load = Workload::Stream(Transport::Rdma(verb));
        settings.tell(&runs::LOAD, load.to_string());
        (alike(verb.name(), &format!("the verb {}", verb.name()), 0.0), settings)
    });
    options.add("verb", Law::Verb, 0, verbs);
    options.sizes("messages", &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18], 1 << 16, None);
    options.alternates();
    options.packets(wanted.mtu_bytes);
    options.flows("queue pairs");
    for (name, option, usual) in [("depth", &rdma::DEPTH, 128_u32), ("batch", &rdma::POST_LIST, 1)]
    {
        let choices = [1_u32, 8, 32, 128].map(|number| {
            let mut settings = Settings::default();
            settings.tell(option, number);
            (amount(&number.to_string(), &format!("a {name} of {number}"), number.into()), settings)
        });
        let usual = choices.iter().position(|(choice, _)| choice.name == usual.to_string());
        options.add(name, Law::Proportional, usual.unwrap_or(0), choices);
    }
    if !wanted.sleeps {
        options.words(
            "completions",
            &flows::WAIT,
            &[("spin", "threads that look for completions"), ("block", "threads that sleep")],
        );
    }
    options.direction();
}

fn alike(name: &str, says: &str, message_ns: f64) -> Choice {
    let (name, says) = (name.to_owned(), says.to_owned());
    Choice { name, says, amount: None, message_ns, is_fine: false }
}

fn amount(name: &str, says: &str, amount: f64) -> Choice {
    Choice { amount: Some(amount), ..alike(name, says, 0.0) }
}

/// What a segment carries of so many bytes that count its options in.
fn payload(segment: u64) -> f64 {
    segment.saturating_sub(TIMESTAMPS).max(1) as f64
}

impl Options {
    fn add(
        &mut self,
        name: &str,
        law: Law,
        usual: usize,
        choices: impl IntoIterator<Item = (Choice, Settings)>,
    ) {
        let (choices, settings): (Vec<Choice>, Vec<Settings>) = choices.into_iter().unzip();
        // What has no second choice is not varied.
        if choices.len() > 1 {
            self.declared.push(Explorable { name: name.to_owned(), law, choices, usual });
            self.settings.push(settings);
        }
    }

    /// Messages of powers of two, of which every other is tried at first, and one more.
    fn sizes(&mut self, what: &str, powers: &[u32], usual: u64, more: Option<u64>) {
        let sizes = powers.iter().map(|power| 1_u64 << power).chain(more);
        let choices = sizes.map(|bytes| {
            let mut settings = Settings::default();
            settings.tell(&flows::LENGTH, Bytes(bytes));
            let name = Bytes(bytes).to_string();
            let choice = amount(&name, &format!("{name} {what}"), bytes as f64);
            let is_fine = bytes.is_power_of_two() && !bytes.trailing_zeros().is_multiple_of(2);
            (Choice { is_fine, ..choice }, settings)
        });
        let choices: Vec<(Choice, Settings)> = choices.collect();
        let at = choices.iter().position(|(choice, _)| choice.amount == Some(usual as f64));
        self.add("message size", Law::MessageSize, at.unwrap_or(0), choices);
    }

    /// Small messages among those of the size, one for each.
    fn alternates(&mut self) {
        let mut small = Settings::default();
        small.tell(&rdma::ALTERNATE, Bytes(ALTERNATE_BYTES));
        let one = (alike("one", "messages of one size", 0.0), Settings::default());
        let says = format!("every other message of {ALTERNATE_BYTES} B");
        let two = (alike("two", &says, WAY_NS), small);
        self.add("sizes", Law::Alike, 0, [one, two]);
    }

    /// Packets of RDMA that are smaller than the path's.
    fn packets(&mut self, mtu_bytes: u64) {
        let whole = PACKETS.into_iter().rfind(|bytes| bytes + RDMA_HEADERS <= mtu_bytes);
        let whole = whole.unwrap_or(PACKETS[0]);
        let smaller = PACKETS.into_iter().filter(|bytes| *bytes < whole).step_by(2);
        let asked = smaller.map(|bytes| {
            let mut settings = Settings::default();
            settings.tell(&rdma::PATH_MTU, bytes as u32);
            let name = format!("{bytes} B");
            (amount(&name, &format!("packets of {name}"), bytes as f64), settings)
        });
        let asked: Vec<(Choice, Settings)> = asked.collect();
        // A port of InfiniBand may take more than its interface of IP tells.
        let most = PACKETS[PACKETS.len() - 1] as f64;
        let own = amount("as the port", "packets that the port takes", most);
        let usual = asked.len();
        let all = asked.into_iter().chain([(own, Settings::default())]);
        self.add("packet size", Law::Proportional, usual, all);
    }

    fn flows(&mut self, what: &str) {
        let choices = [1_u32, 2, 4, 8, 16].map(|number| {
            let mut settings = Settings::default();
            settings.tell(&flows::PARALLEL, number);
            let says = if number == 1 { what.trim_end_matches('s') } else { what };
            let choice = amount(&number.to_string(), &format!("{number} {says}"), number.into());
            (Choice { is_fine: matches!(number, 2 | 8), ..choice }, settings)
        });
        self.add(what, Law::Flows, 0, choices);
    }

    fn buffers(&mut self) {
        let asked = [64_u64, 256, 1024].map(|kib| {
            let mut settings = Settings::default();
            settings.tell(&flows::WINDOW, Bytes::kib(kib));
            let name = Bytes::kib(kib).to_string();
            (amount(&name, &format!("socket buffers of {name}"), (kib << 10) as f64), settings)
        });
        let own = amount("as sized", "socket buffers that the system sizes", BUFFER_OWN);
        self.add(
            "socket buffer",
            Law::Proportional,
            3,
            asked.into_iter().chain([(own, Settings::default())]),
        );
    }

    /// Packets of smaller MTUs than the path's, without setting one. The amount is what a segment
    /// carries: timestamps take their part, as everywhere where they are not switched off.
    fn segments(&mut self, whole: u64) {
        let usual = SEGMENTS.into_iter().filter(|bytes| u64::from(*bytes) < whole);
        let asked: Vec<(Choice, Settings)> = usual
            .map(|bytes| {
                let mut settings = Settings::default();
                settings.tell(&flows::MSS, bytes);
                let name = format!("{bytes} B");
                (amount(&name, &format!("segments of {name}"), payload(bytes.into())), settings)
            })
            .collect();
        let own = amount("as the path", "segments that the path takes", payload(whole));
        self.add(
            "segment size",
            Law::Proportional,
            asked.len(),
            asked.into_iter().chain([(own, Settings::default())]),
        );
    }

    /// Paces in bits a second, and none.
    fn pace(&mut self, paces: &[f64], usual: Option<f64>) {
        let paced = paces.iter().map(|rate| {
            let mut settings = Settings::default();
            settings.tell(&flows::BITRATE, BitsPerSecond(*rate));
            let name = format!("{:.0} Mb/s", rate / 1e6);
            (amount(&name, &format!("a pace of {name}"), *rate), settings)
        });
        let none = (amount("none", "no pace", f64::MAX), Settings::default());
        let at = usual.and_then(|usual| paces.iter().position(|rate| *rate == usual));
        self.add("pace", Law::Pace, at.unwrap_or(paces.len()), paced.chain([none]));
    }

    /// The nodes of this host: threads may use all CPUs of one. A host of one has no choice.
    fn nodes(&mut self, has_several: bool) {
        let placed = [
            ("the NIC's", "this end on its NIC's node", "nic/all,nic/all"),
            ("another", "this end on another node than its NIC's", "other-node/all,nic/all"),
        ];
        let placed = placed.into_iter().filter(|_| has_several).map(|(name, says, places)| {
            let mut settings = Settings::default();
            settings.tell(&places::AFFINITY, places.to_owned());
            (alike(name, says, 0.0), settings)
        });
        let free = (alike("any", "this end on any CPUs", 0.0), Settings::default());
        self.add("node", Law::Alike, 0, std::iter::once(free).chain(placed));
    }

    fn direction(&mut self) {
        let (mut back, mut both) = (Settings::default(), Settings::default());
        back.tell(&flows::REVERSE, true);
        both.tell(&flows::BIDIRECTIONAL, true);
        let there = alike("there", "traffic from here to the peer", 0.0);
        let back = (alike("back", "traffic from the peer to here", 0.0), back);
        let both = (alike("both ways", "traffic both ways at once", 0.0), both);
        self.add("direction", Law::Alike, 0, [(there, Settings::default()), back, both]);
    }

    /// Each device that both hosts have, where there are several. Of devices of one rate the usual
    /// one is that of the peer's address; of others the fastest, which is told by its name.
    fn devices(&mut self, shared: &[Shared]) {
        let rates: Option<Vec<f64>> =
            shared.iter().map(|device| device.rate.map(|rate| rate.0)).collect();
        let most = rates.as_ref().map_or(0.0, |rates| rates.iter().copied().fold(0.0, f64::max));
        let differ = rates.is_some_and(|rates| rates.iter().any(|rate| *rate < most));
        let named = shared.iter().map(|device| {
            let mut settings = Settings::default();
            settings.tell(&rdma::DEVICE, device.name.clone());
            let says = format!("the device {}", device.name);
            let amount = device.rate.filter(|_| differ).map(|rate| rate.0);
            (Choice { amount, ..alike(&device.name, &says, 0.0) }, settings)
        });
        let routed = alike("by address", "the device that has the address", 0.0);
        let routed = (routed, Settings::default());
        let all = std::iter::once(routed).filter(|_| shared.len() > 1 && !differ).chain(named);
        let all: Vec<(Choice, Settings)> = all.collect();
        let fastest = all.iter().position(|(choice, _)| choice.amount == Some(most));
        self.add("device", Law::Device, fastest.unwrap_or(0), all);
    }

    /// Words of one option, the first of which is the usual one.
    fn words(
        &mut self,
        name: &str,
        option: &'static narrows_model::options::Opt<String>,
        words: &[(&str, &str)],
    ) {
        let choices = words.iter().enumerate().map(|(at, (word, says))| {
            let mut settings = Settings::default();
            settings.tell(option, (*word).to_owned());
            let says = if *says == *word { format!("{name} {word}") } else { (*says).to_owned() };
            (alike(word, &says, if at == 0 { 0.0 } else { WAY_NS }), settings)
        });
        let choices: Vec<(Choice, Settings)> = choices.collect();
        self.add(name, Law::Alike, 0, choices);
    }
}
