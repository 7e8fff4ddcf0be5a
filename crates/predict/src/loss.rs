//! What a memory population costs, against one like module on every channel of every processor.

use crate::calibration::Calibration;
use crate::engine::{Predictor, of_nic};
use crate::refused::Unplaced;
use crate::said::Said;
use crate::traffic::Traffic;
use narrows_dimm::interleave::Set;
use narrows_dimm::population::Population;
use narrows_model::host::{Host, Nic};
use narrows_model::result::{Estimate, Method};
use narrows_model::units::Unit;
use narrows_model::{BitsPerSecond, BytesPerSecond};
use std::collections::BTreeMap;

/// Bits a second of a Gb/s.
const GIGABIT: f64 = 1e9;

#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Peak of all channels that the processors have, at the speed that the modules run at.
    pub all: BytesPerSecond,
    /// Peak of the narrowest interleave set of every processor, together: what bytes get that lie
    /// in these. Nothing of a processor without memory.
    pub narrowest: BytesPerSecond,
    /// Of every port that tells its rate, in the order of the host.
    pub ports: Vec<PortLoss>,
}

/// What it costs one port, over TCP or UDP, whichever loses more.
#[derive(Clone, Debug, PartialEq)]
pub struct PortLoss {
    /// The interface whose port it is, `eth0`.
    pub nic: String,
    /// Rate of its link.
    pub link: BitsPerSecond,
    /// What is lost: TCP or UDP.
    pub path: String,
    /// What it should reach with a module on every channel.
    pub all: BitsPerSecond,
    /// What it should reach as it is.
    pub now: BitsPerSecond,
    /// The difference with its 80 % range.
    pub lost: Estimate,
}

impl Loss {
    /// Of a host; an error says what is not known.
    pub fn of(host: &Host, population: &Population) -> Result<Self, Unplaced> {
        let sets = population.sets.as_ref().map_err(|missing| Unplaced::Sets(missing.clone()))?;
        let each = || sets.by_socket.values().flatten();
        let channel = each().find_map(peak_of_channel);
        let channel = channel.ok_or(Unplaced::Speed)?;
        let width: usize = population.sockets.iter().map(|socket| socket.width()).sum();
        let narrowest: usize = sets.by_socket.values().map(|sets| narrowest(sets)).sum();
        let ports = host.physical_nics().filter_map(|nic| port(host, nic, population));
        Ok(Self {
            all: BytesPerSecond(width as f64 * channel),
            narrowest: BytesPerSecond(narrowest as f64 * channel),
            ports: ports.collect(),
        })
    }

    /// Bytes a second that the population costs.
    pub fn bytes_per_second(&self) -> BytesPerSecond {
        BytesPerSecond((self.all.0 - self.narrowest.0).max(0.0))
    }

    /// The port that loses the largest share of its link; `None` where no port tells its rate.
    pub fn worst(&self) -> Option<&PortLoss> {
        self.ports.iter().max_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

impl PortLoss {
    /// Lost share of the link's rate, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.lost.value / self.link.0.max(1.0)
    }
}

/// Bytes a second of one channel of a set; `None` where its modules do not tell their speed.
fn peak_of_channel(set: &Set) -> Option<f64> {
    let ways = set.ways();
    set.peak_bytes_per_second.filter(|_| ways > 0).map(|peak| peak.0 / ways as f64)
}

/// Channels of the narrowest set of every part of a socket, together.
fn narrowest(sets: &[Set]) -> usize {
    let mut parts: BTreeMap<u32, usize> = BTreeMap::new();
    for set in sets {
        let least = parts.entry(set.cluster).or_insert(set.ways());
        *least = set.ways().min(*least);
    }
    parts.values().sum()
}

/// What the population costs one port; `None` where its rate is not told or the model cannot say.
fn port(host: &Host, nic: &Nic, population: &Population) -> Option<PortLoss> {
    let link = *nic.speed_bps.value()?;
    let now = of_nic(host, Some(nic), &Said::new(), &Calibration::default()).ok()?;
    let all = filled(&now, population)?;
    let of = |traffic: Traffic| {
        let (now, all) = (now.reach(traffic)?, all.reach(traffic)?);
        // The model errs alike in both, so that ends are compared with ends.
        let ends = [all.low - now.low, all.value - now.value, all.high - now.high];
        let ends = ends.map(|gbps| GIGABIT * gbps.max(0.0));
        let lost = Estimate {
            value: ends[1],
            low: ends.iter().copied().fold(f64::INFINITY, f64::min),
            high: ends.iter().copied().fold(0.0, f64::max),
            unit: Unit::BitsPerSecond,
            n: 0,
            by: Method::Model,
        };
        Some(PortLoss {
            nic: nic.name.clone(),
            link,
            path: traffic.name(),
            all: BitsPerSecond(GIGABIT * all.value),
            now: BitsPerSecond(GIGABIT * now.value),
            lost,
        })
    };
    let both = [Traffic::Tcp, Traffic::Udp].into_iter().filter_map(of);
    both.max_by(|a, b| a.lost.value.total_cmp(&b.lost.value))
}

/// The server with one module on every channel of every processor; `None` where its memory is not
/// known.
fn filled(engine: &Predictor, population: &Population) -> Option<Predictor> {
    let channels = engine.server.platform?.channels_per_socket() as usize;
    let sockets = engine.server.modules.len().max(population.sockets.len());
    if engine.server.modules.is_empty() {
        return None;
    }
    let mut all = engine.clone();
    all.server.modules = vec![vec![1; channels]; sockets];
    all.server.known_sets.clear();
    Some(all)
}
