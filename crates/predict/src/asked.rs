//! What may be said of the work and its frames beside the host: where interrupts are taken,
//! threads, offloads, tags, the protocol below TCP, the NIC's model.

use crate::contention::{self, CoreWork};
use crate::framing::Around;
use crate::nics::{self, Model};
use crate::refused::Refused;
use crate::said::{Known, Said, given, number, word};
use crate::stack::{INTERRUPTS, Interrupts, MERGING, Merging};
use narrows_model::Fact;
use narrows_model::host::{Host, Nic};
use narrows_model::result::Provenance;

/// Whether devices reach memory by translated addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    pub is_on: bool,
    /// Somebody who says so, or this host.
    pub from: Provenance,
}

impl Translated {
    /// Whether somebody said it.
    pub(crate) fn is_said(&self) -> bool {
        matches!(self.from, Provenance::Given(_))
    }
}

#[derive(Clone, Debug)]
pub struct Asked {
    /// Where interrupts are taken, if that was said.
    pub interrupts: Option<Interrupts>,
    /// Threads that all streams share, if fewer than streams.
    pub threads: Option<Known>,
    /// Who merges segments below TCP, and splits them.
    pub merging: Merging,
    /// TCP's congestion control, if one was named.
    pub congestion: Option<String>,
    /// What is around the payload of a frame.
    pub around: Around,
    /// Whether processes wait for packets by polling.
    pub polls: bool,
    /// Switches between the two hosts.
    pub switches: f64,
    /// The NIC's model, where it is known.
    pub model: Option<&'static Model>,
    /// Whether the last-level cache takes what devices write (DDIO), if that was said.
    pub ddio: Option<bool>,
    /// Whether addresses of devices are translated (IOMMU), if that was said, else as read.
    pub iommu: Option<Translated>,
    /// Cores that load the memory beside the traffic, and with what.
    pub neighbours: Option<(f64, CoreWork)>,
    /// Microseconds that the NIC waits before it interrupts, where that was read.
    pub moderation_us: Option<f64>,
}

impl Asked {
    /// From what was said, else from what is read of the NIC.
    pub(crate) fn of(host: &Host, nic: Option<&Nic>, said: &Said) -> Result<Self, Refused> {
        let words: Vec<&'static str> = INTERRUPTS.iter().map(|(word, _)| *word).collect();
        let interrupts = word(said, "irq", &words)?;
        let interrupts = interrupts
            .and_then(|word| INTERRUPTS.iter().find(|(name, _)| *name == word).map(|(_, at)| *at));
        let six = word(said, "ip", &["4", "6"])? == Some("6");
        let tags = number(said, "vlan")?.map_or(0.0, |tags| tags.value);
        let model = match said.get("nic.model") {
            Some(text) => Some(nics::named(text).ok_or_else(|| {
                Refused::NoneOf("nic.model".to_owned(), text.clone(), nics::names())
            })?),
            None => nic.and_then(nics::of),
        };
        Ok(Self {
            interrupts,
            threads: number(said, "threads")?,
            merging: merging(said)?.or_else(|| Merging::of(nic)).unwrap_or(Merging::Kernel),
            congestion: said.get("congestion").cloned(),
            around: Around::of(tags, six),
            polls: yes(said, "busy-poll")?.unwrap_or(false),
            switches: number(said, "switches")?.map_or(0.0, |count| count.value),
            model,
            ddio: yes(said, "ddio")?,
            iommu: translated(host, said)?,
            neighbours: neighbours(said)?,
            moderation_us: nic.and_then(moderation),
        })
    }
}

/// Who merges segments, if that was said.
fn merging(said: &Said) -> Result<Option<Merging>, Refused> {
    let words: Vec<&'static str> = MERGING.iter().map(|(word, _)| *word).collect();
    let named = word(said, "offloads", &words)?;
    Ok(named.and_then(|word| MERGING.iter().find(|(name, _)| *name == word).map(|(_, by)| *by)))
}

/// Of a host by how its IOMMU groups are mapped: none, or all `identity`, are reached untranslated.
fn translated(host: &Host, said: &Said) -> Result<Option<Translated>, Refused> {
    if let Some(is_on) = yes(said, "iommu")? {
        return Ok(Some(Translated { is_on, from: given() }));
    }
    let Some(fact) = host.tuning.get("iommu") else { return Ok(None) };
    let is_on = match fact {
        Fact::Known { value, .. } => value.contains("DMA"),
        Fact::Absent { .. } if !fact.is_unasked() => false,
        _ => return Ok(None),
    };
    Ok(Some(Translated { is_on, from: Provenance::Read(fact.source().0.clone()) }))
}

/// Cores that load memory; they read it where nobody says what they do.
fn neighbours(said: &Said) -> Result<Option<(f64, CoreWork)>, Refused> {
    let words: Vec<&'static str> = contention::WORK.iter().map(|(word, _)| *word).collect();
    let named = word(said, "neighbours.work", &words)?;
    let work = contention::WORK.iter().find(|(word, _)| Some(*word) == named);
    let cores = number(said, "neighbours")?;
    if cores.is_none() && work.is_some() {
        return Err(Refused::Alone("neighbours.work", "neighbours"));
    }
    let work = work.map_or(CoreWork::Reads, |(_, work)| *work);
    Ok(cores.map(|cores| (cores.value, work)))
}

/// Whether a key that takes yes or no says yes; `None` where it was not said.
fn yes(said: &Said, key: &str) -> Result<Option<bool>, Refused> {
    Ok(word(said, key, &["yes", "no"])?.map(|word| word == "yes"))
}

/// A fixed wait before an interrupt; none where it adapts: it is short then while little comes.
fn moderation(nic: &Nic) -> Option<f64> {
    let set = nic.coalescing.value()?;
    (!set.adaptive_rx).then_some(f64::from(set.rx_us))
}

/// The mean frame of simple IMIX: seven of 64 B, four of 594 and one of 1,518.
pub(crate) fn imix() -> Known {
    let mean = (7.0 * 64.0 + 4.0 * 594.0 + 1518.0) / 12.0;
    Known::new(mean, Provenance::Given("IMIX: 7 of 64 B, 4 of 594, 1 of 1518".to_owned()))
}
