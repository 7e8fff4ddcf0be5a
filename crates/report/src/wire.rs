//! What a server does of its link's rate in packets of one size: what its slot, NIC, CPU and memory
//! allow by the model, what was measured, and the verdict of both.

mod copied;
mod joined;
mod reached;
pub mod text;

use crate::Analysis;
pub use copied::{Copied, CopyFrom};
pub use joined::complements;
use narrows_model::host::{Host, Nic};
use narrows_model::options::packets::IMIX;
use narrows_model::result::{Provenance, ResourceName};
use narrows_model::trial::{NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_predict::calibration::Calibration;
use narrows_predict::wire_rate::{FULL, Verdict, verdict, words};
use narrows_predict::{Known, Predictor, Reach, Refused, Said, Server, fastest, of_nic};
pub use reached::Reached;

/// What one core copies, as `--set` and descriptions call it.
const CORE_GB_S: &str = "memory.core_gb_s";

/// What the packets of a question are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// All of so many bytes, with the check sequence.
    Bytes(u64),
    /// Simple IMIX (RFC 6985).
    Imix,
}

impl Frame {
    /// Where nobody says another.
    pub const SMALLEST: Self = Self::Bytes(64);

    /// That of a trial of packets.
    fn of(trial: &Trial) -> Self {
        match IMIX.of(&trial.params) {
            Some(true) => Self::Imix,
            _ => Self::Bytes(trial.params.message_bytes.0),
        }
    }

    /// That of the key `frame`, the smallest where it does not say.
    pub fn of_said(said: &Said) -> Result<Self, Refused> {
        match said.get("frame").map(|text| text.trim()) {
            Some("imix") => Ok(Self::Imix),
            Some(text) => {
                let bytes = text.parse().map(Self::Bytes);
                bytes.map_err(|_| Refused::NoNumber("frame".to_owned(), text.to_owned()))
            }
            None => Ok(Self::SMALLEST),
        }
    }

    /// As the key `frame` has it.
    fn key(self) -> String {
        match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Imix => "imix".to_owned(),
        }
    }

    /// `64 B`, or `IMIX`.
    pub fn name(self) -> String {
        match self {
            Self::Bytes(bytes) => format!("{bytes} B"),
            Self::Imix => "IMIX".to_owned(),
        }
    }
}

/// A server, what was measured on it, and what was said of it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub host: &'a Host,
    pub analysis: Option<&'a Analysis<'a>>,
    /// Another file of the same host, with what that one lacks.
    pub also: Option<&'a Analysis<'a>>,
    pub said: &'a Said,
    /// The interface that is asked about; without it the one that packets went by, or the fastest.
    pub nic: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// All that was measured of it.
    fn measured(&self) -> impl Iterator<Item = &'a Analysis<'a>> {
        [self.analysis, self.also].into_iter().flatten()
    }
}

/// What decides a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    Measurement,
    Model,
}

impl DecidedBy {
    pub fn word(self) -> &'static str {
        match self {
            Self::Measurement => "measurement",
            Self::Model => "model",
        }
    }
}

/// Millions of packets a second, with the ends of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// One server with frames of one size.
#[derive(Clone, Debug)]
pub struct Standing {
    pub frame: Frame,
    /// The interface; `None` of a server that is described.
    pub nic: Option<String>,
    pub link_gbps: Option<f64>,
    /// Generation and lanes, and the chipset's link where the slot is behind it.
    pub slot: Option<String>,
    pub clock: Option<Known>,
    pub memory: Option<Copied>,
    /// Why a memcpy that was measured is not `memory`; `None` where none was left out.
    pub no_copy: Option<String>,
    pub wire_mpps: Option<f64>,
    /// What each resource but the wire allows.
    pub resources: Vec<(ResourceName, Range)>,
    /// The least of them together; `None` where none is known.
    pub allows: Option<Range>,
    /// What is held by what: `None` where that is not known.
    pub binds: Option<String>,
    pub reached: Option<Reached>,
    pub verdict: Verdict,
    pub by: DecidedBy,
}

/// What a server does with such frames.
pub fn standing(asked: &Asked<'_>, frame: Frame) -> Result<Standing, Refused> {
    let nic = nic_of(asked);
    // What a user says takes the place of what was measured, here as in the model.
    let is_said = asked.said.contains_key(CORE_GB_S);
    let mut measured = asked.measured().filter(|_| !is_said);
    let copy = measured.find_map(|analysis| copied::measured(analysis, nic));
    let clock = clock(asked);
    let engine = engine(asked, nic, (frame, copy.as_ref(), clock.as_ref()))?;
    let reaches = engine.reaches();
    let reach = reaches.first();
    let resources = reach.map(others).unwrap_or_default();
    let wire_mpps = reach.and_then(|reach| reach.value_of(ResourceName::Wire));
    let model = reach
        .and_then(verdict)
        .unwrap_or_else(|| Verdict::Unknown { needs: "a path of packets".to_owned() });
    let model = careful(model, clock.as_ref());
    let reached = asked.measured().find_map(|analysis| reached::best(analysis, frame, nic));
    let binds = binds(&model, reach);
    let (verdict, by) = settled(model, reached.as_ref(), wire_mpps);
    let is_wire = verdict == Verdict::Yes;
    let server = &engine.server;
    Ok(Standing {
        frame,
        nic: nic.map(|nic| nic.name.clone()),
        link_gbps: server.link.as_ref().map(|link| link.value),
        slot: slot(server),
        no_copy: match copy {
            None if !is_said => asked.measured().find_map(copied::left_out),
            _ => None,
        },
        memory: copy.or_else(|| copied::said(server)).or_else(|| copied::modelled(server)),
        clock,
        wire_mpps,
        allows: least(&resources),
        resources,
        binds: if is_wire { Some(words(ResourceName::Wire).to_owned()) } else { binds },
        reached,
        verdict,
        by,
    })
}

/// The sizes of packets that a study has runs of, each once, in its order.
pub fn frames(analysis: &Analysis<'_>) -> Vec<Frame> {
    let mut frames = Vec::new();
    for trial in packets_of(analysis) {
        let frame = Frame::of(trial);
        if !frames.contains(&frame) && analysis.stored.records_of(trial).next().is_some() {
            frames.push(frame);
        }
    }
    frames
}

/// What this host does with each size that a study measured.
pub fn of_study(analysis: &Analysis<'_>) -> Vec<Standing> {
    let said = Said::new();
    if !analysis.has_host() {
        return Vec::new();
    }
    let asked = Asked {
        host: &analysis.stored.host,
        analysis: Some(analysis),
        also: None,
        said: &said,
        nic: None,
    };
    frames(analysis).into_iter().filter_map(|frame| standing(&asked, frame).ok()).collect()
}

fn packets_of<'a>(analysis: &'a Analysis<'_>) -> impl Iterator<Item = &'a Trial> {
    analysis.stored.trials.iter().filter(|trial| trial.kind == Workload::Packets)
}

/// The interface of this host that is named beside the one at the other end of its cable: the ends
/// may have met over another.
fn named(trial: &Trial) -> Option<&str> {
    let mut ends = trial.ends.iter().filter_map(|end| end.bind.as_ref());
    ends.find(|bind| bind.names_both())?.device.as_deref()
}

/// The interface that packets went to another host by, or the port that was named first of two
/// with a cable between them, else the fastest.
fn nic_of<'a>(asked: &Asked<'a>) -> Option<&'a Nic> {
    let used = asked.measured().find_map(|analysis| {
        packets_of(analysis).find_map(|trial| match trial.path {
            NetworkPath::Peer => named(trial).or_else(|| analysis.stored.interface_of(trial)),
            NetworkPath::Cable => named(trial),
            _ => None,
        })
    });
    let host = asked.host;
    match asked.nic.or(used) {
        Some(name) => host.nic(name),
        None => fastest(host).or_else(|| host.physical_nics().next()),
    }
}

/// What was said of a core's clock, else what its processor's name has.
fn clock(asked: &Asked<'_>) -> Option<Known> {
    if let Some(said) = asked.said.get("cpu.ghz").and_then(|text| text.trim().parse().ok()) {
        return Some(Known::new(said, Provenance::Given("--set or a description".to_owned())));
    }
    let fact = &asked.host.cpu.model;
    let (_, ghz) = fact.value()?.rsplit_once('@')?;
    let ghz: f64 = ghz.trim().strip_suffix("GHz")?.trim().parse().ok()?;
    Some(Known::new(ghz, Provenance::Read(format!("{}: its base", fact.source().0))))
}

fn engine(
    asked: &Asked<'_>,
    nic: Option<&Nic>,
    (frame, copy, clock): (Frame, Option<&Copied>, Option<&Known>),
) -> Result<Predictor, Refused> {
    let mut said = asked.said.clone();
    said.insert("path".to_owned(), "packets".to_owned());
    said.insert("frame".to_owned(), frame.key());
    let measured = copy.map(|copy| (CORE_GB_S, copy.gb_s.value));
    let read = clock.map(|clock| ("cpu.ghz", clock.value));
    for (key, value) in measured.into_iter().chain(read) {
        said.entry(key.to_owned()).or_insert_with(|| value.to_string());
    }
    of_nic(asked.host, nic, &said, &Calibration::default())
}

/// What everything but the wire allows.
fn others(reach: &Reach) -> Vec<(ResourceName, Range)> {
    let others = reach.resources.iter().filter(|one| one.name != ResourceName::Wire);
    let range = |value, low, high| Range { value, low, high };
    others.map(|one| (one.name, range(one.value, one.low, one.high))).collect()
}

fn least(resources: &[(ResourceName, Range)]) -> Option<Range> {
    resources.iter().map(|(_, range)| *range).reduce(|one, other| Range {
        value: one.value.min(other.value),
        low: one.low.min(other.low),
        high: one.high.min(other.high),
    })
}

/// A clock from a processor's name is its base: one that turns faster may do what this one does
/// not.
fn careful(model: Verdict, clock: Option<&Known>) -> Verdict {
    let cpu = words(ResourceName::Cpu);
    let read = clock.filter(|clock| matches!(clock.from, Provenance::Read(_)));
    match (model, read) {
        (Verdict::No { binds, low, high }, Some(clock)) if binds == cpu => Verdict::Unknown {
            needs: format!(
                "the clock under load, cpu.ghz: at the base of {} GHz the CPU does {low:.1} to \
                 {high:.1} M/s",
                clock.value
            ),
        },
        (model, _) => model,
    }
}

/// What holds packets back by the model, where it knows enough to say so.
fn binds(model: &Verdict, reach: Option<&Reach>) -> Option<String> {
    match model {
        Verdict::No { binds, .. } => Some(binds.clone()),
        _ => {
            let known = reach.filter(|reach| reach.missing.is_empty())?;
            known.bottleneck.map(|name| words(name).to_owned())
        }
    }
}

/// The model's verdict where nothing was measured through the NIC; else both have to agree.
fn settled(
    model: Verdict,
    reached: Option<&Reached>,
    wire_mpps: Option<f64>,
) -> (Verdict, DecidedBy) {
    let through = reached.filter(|reached| reached.through_nic).zip(wire_mpps);
    let Some((reached, wire)) = through else { return (model, DecidedBy::Model) };
    if reached.mpps.low >= FULL * wire {
        return (Verdict::Yes, DecidedBy::Measurement);
    }
    // What was asked for, or what this sender makes, is no limit of the server.
    if model == Verdict::Yes && !reached.is_at_least {
        let needs = format!(
            "what held the {:.2} M/s that were measured: slot, NIC, CPU and memory allow the \
             wire's rate",
            reached.mpps.value
        );
        return (Verdict::Unknown { needs }, DecidedBy::Measurement);
    }
    (model, DecidedBy::Model)
}

/// `PCIe 2 x8`, and what is above it.
fn slot(server: &Server) -> Option<String> {
    let of = |slot: &narrows_predict::Slot| match slot.generation() {
        Some(generation) => format!("PCIe {generation} x{}", slot.lanes),
        None => format!("{:.1} Gb/s", slot.raw_bps / 1e9),
    };
    match (server.slot.as_ref(), server.uplink.as_ref()) {
        (None, None) => None,
        (slot, None) => slot.map(of),
        (slot, Some(uplink)) => {
            let own = slot.map_or(String::new(), |slot| format!("{}, ", of(slot)));
            Some(format!("{own}behind the chipset ({})", of(uplink)))
        }
    }
}

#[cfg(test)]
mod tests;
