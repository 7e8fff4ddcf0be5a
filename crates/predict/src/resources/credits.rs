//! `device-writes`: what the root complex's credits carry while a line takes as long as it does.
//! No link is full where it is the bottleneck.

use super::{Gap, Group, Resource, Stated, assumed, ends, of, resource};
use crate::asked::Translated;
use crate::contention::{Contention, Copies, CoreWork, DeviceWork, HALF, RED_LEAST};
use crate::domains::{self, Domains};
use crate::engine::Predictor;
use crate::measured::Measured;
use crate::root_lines::RootLines;
use crate::traffic::Traffic;
use narrows_model::result::{Provenance, ResourceName};
use narrows_stats::LINE_BYTES;

/// Half the 80 % range without neighbours, as a logarithm: credits and latencies are of one machine
/// and were published to two digits (assumed).
const ALONE_HALF: f64 = 0.06;
/// The most cores beside a device of which slowdowns were published.
const PUBLISHED_CORES: f64 = 6.0;

/// What credits carry at the shortest time of a line that was counted, on a processor of which
/// nothing was published.
fn as_counted(all: &RootLines, credits: &Measured, group: &Group) -> Resource {
    let ns = all.shortest_ns();
    let lines = credits.value * group.nics as f64;
    let gbps = lines * LINE_BYTES * 8.0 / ns;
    let (least, most) = ends(ALONE_HALF);
    let times = match group.nics {
        1 => String::new(),
        nics => format!(" for each of {nics} NICs, which have a root complex of their own"),
    };
    let counted = credits.value;
    let says = format!(
        "{counted:.0} lines of 64 B in flight{times}, {ns:.0} ns each, both counted on this host"
    );
    let from = Provenance::Measured("device writes in this host's root complex".to_owned());
    let with =
        vec![of("credits", credits.value, "", &credits.origin()), of("latency", ns, "ns", &from)];
    resource(ResourceName::DeviceWrites, gbps, (least * credits.low / credits.value, most), says)
        .with(with)
}

impl Predictor {
    /// Of a family whose credits were published, or counted on this host; of others only where
    /// somebody asked, by saying whether the cache takes a device's writes, or naming neighbours.
    pub(super) fn device_writes(&self, traffic: Traffic, group: &Group) -> Option<Stated> {
        if let Some(domains) = self.domains() {
            return Some(self.credits(&domains, traffic, group));
        }
        let asked = &self.server.asked;
        let is_asked = asked.ddio.is_some()
            || asked.neighbours.is_some()
            || asked.iommu.as_ref().is_some_and(Translated::is_said);
        let why = match self.counted_credits() {
            Some((all, credits)) if !is_asked && group.work == group.socket => {
                return Some(Ok(as_counted(all, credits, group)));
            }
            Some(_) => "lines were counted on this host as it is: what neighbours, DDIO, an IOMMU \
                        or the other socket change of them was not"
                .to_owned(),
            None => {
                let of = self.server.platform.map_or("this processor", |of| of.name.as_str());
                format!(
                    "credits of {of} for a device's writes were not published, and none were counted \
                     here (`narrows credits --from`, where the root complex has counters)"
                )
            }
        };
        is_asked.then(|| Err(Gap::new(ResourceName::DeviceWrites, why)))
    }

    /// The family's, with what this host's memory was measured to do under load and the credits
    /// that were counted on it.
    fn domains(&self) -> Option<Domains> {
        let under_load = self.parameters.under_load.as_ref();
        let mut domains = domains::of(self.server.platform)?.with(under_load);
        if let Some((_, credits)) = self.counted_credits() {
            domains.device_write.credits = credits.value;
        }
        Some(domains)
    }

    /// What was counted of a processor of this family.
    fn counted_credits(&self) -> Option<(&RootLines, &Measured)> {
        let family = self.server.platform?.name.as_str();
        let all = self.parameters.root_lines.as_ref().filter(|all| all.is_of(family))?;
        Some((all, all.credits()?))
    }

    fn credits(&self, domains: &Domains, traffic: Traffic, group: &Group) -> Stated {
        let writes = domains.of_devices(group.nics as f64).device_write;
        let mut detours = self.detours(domains, group);
        let mut wait_ns = self.wait_ns(domains, traffic, group)?;
        if group.work != group.socket && wait_ns > 0.0 {
            // Neighbours load their own processor's memory. Whether lines to another's wait behind
            // them all the same was not published.
            detours.most_ns += wait_ns;
            detours.says += "; the neighbours load the NIC's own processor, and not the other";
            wait_ns = 0.0;
        }
        let to_memory_ns = writes.unloaded_ns + wait_ns + detours.ns;
        let to_cache_ns = domains.device_write_to_cache_ns + detours.ns;
        let (ns, where_to) = match self.server.asked.ddio {
            Some(false) => (to_memory_ns, "memory"),
            _ => (to_cache_ns, "the cache"),
        };
        let gbps = writes.gbps(ns);
        let (least, most) = self.off(writes.gbps(to_memory_ns), group);
        // Where nobody says, the cache may not take them; lines that it takes do not wait behind
        // memory.
        let (slowest_ns, share) = match self.server.asked.ddio {
            Some(true) => (to_cache_ns, 1.0 / most),
            _ => (to_memory_ns, least),
        };
        let fewest = self.counted_credits().map_or(1.0, |(_, credits)| credits.low / credits.value);
        let low = fewest * share * writes.gbps(slowest_ns + detours.most_ns - detours.ns);
        let high = most * writes.gbps(ns + detours.least_ns - detours.ns);
        let range = ((low / gbps).min(1.0), high / gbps);
        let says = format!(
            "{:.0} lines of 64 B in flight, {ns:.0} ns each to {where_to}; {:.0} ns is enough for 100 Gb/s{}",
            domains.device_write.credits,
            domains.device_write.break_even_ns(100.0),
            detours.says + self.beyond_the_published()
        );
        let source = Provenance::DataSheet(domains.source.clone());
        let mut with = vec![
            of("credits", domains.device_write.credits, "", &self.credits_from(domains)),
            // The wait is none of what was published.
            of("latency", self.least_ns(domains), "ns", &source),
        ];
        if wait_ns > 0.0 && self.server.asked.ddio != Some(true) {
            with.push(of("wait behind other cores", wait_ns, "ns", &self.waits_from()));
        }
        with.extend(detours.with);
        Ok(resource(ResourceName::DeviceWrites, gbps, range, says).with(with))
    }

    fn credits_from(&self, domains: &Domains) -> Provenance {
        let published = || Provenance::DataSheet(domains.source.clone());
        self.counted_credits().map_or_else(published, |(_, credits)| credits.origin())
    }

    /// Where the waits under load are from.
    fn waits_from(&self) -> Provenance {
        match &self.parameters.under_load {
            Some(_) => Provenance::Measured("latency under load, of this host".to_owned()),
            None => assumed("memory's load, by the model"),
        }
    }

    /// The shortest time of a line to the NIC's own processor, in nanoseconds.
    fn least_ns(&self, domains: &Domains) -> f64 {
        match self.server.asked.ddio {
            Some(false) => domains.device_write.unloaded_ns,
            _ => domains.device_write_to_cache_ns,
        }
    }

    /// The lower and the upper end as factors of what memory leaves the NICs' credits beside
    /// other cores. In red, where what is left is or may be less than the link brings, the lower
    /// end is the worst of the published slowdowns; cores that only read were never seen to
    /// cause it.
    fn off(&self, to_memory_gbps: f64, group: &Group) -> (f64, f64) {
        let Some((cores, work)) = self.server.asked.neighbours else { return ends(ALONE_HALF) };
        let (low, high) = ends(HALF);
        let link_gbps = self.server.link.as_ref().map_or(f64::INFINITY, |link| link.value);
        let may_be_red = RED_LEAST * to_memory_gbps < link_gbps * group.nics as f64;
        // Readers were never seen to cause it, as far as anybody looked.
        let could = work == CoreWork::ReadsAndWrites || cores > PUBLISHED_CORES;
        (if could && may_be_red { RED_LEAST } else { low }, high)
    }

    /// What is said of more neighbours than anybody has measured.
    fn beyond_the_published(&self) -> &'static str {
        match self.server.asked.neighbours {
            Some((cores, _)) if cores > PUBLISHED_CORES => {
                "; more neighbours than the six that were published: extrapolated"
            }
            _ => "",
        }
    }

    /// How long a line waits behind what else loads the memory, in nanoseconds. Copies of TCP's
    /// receivers are a part of it, where memory carries them.
    fn wait_ns(&self, domains: &Domains, traffic: Traffic, group: &Group) -> Result<f64, Gap> {
        let copies = (traffic == Traffic::Tcp).then_some(Copies::JUMBO_TCP);
        let mut all = self.beside(group, copies)?;
        if all.is_some_and(|all| !all.fits_alone()) {
            all = self.beside(group, None)?;
        }
        let domains = domains.of_devices(group.nics as f64);
        Ok(all.map_or(0.0, |all| all.left(&domains).wait_ns))
    }

    /// How many times longer copies beside neighbours make a byte of TCP for its receiver, where
    /// what the NIC wrote is in memory. `None` where nobody loads it, or that was not published.
    pub(super) fn copies_slower(&self, group: &Group) -> Option<f64> {
        let domains = self.domains()?;
        let all = self.beside(group, Some(Copies::JUMBO_TCP)).ok()??;
        let is_known = group.work == group.socket && all.fits_alone();
        is_known.then(|| all.copies_slower(&domains))
    }

    /// What neighbours take of this group's memory beside a NIC whose writes all go there, in GB/s;
    /// `None` without neighbours, or where that cannot be said.
    pub(super) fn neighbours_gb_s(&self, group: &Group) -> Option<f64> {
        let domains = self.domains()?.of_devices(group.nics as f64);
        let all = self.beside(group, None).ok()??;
        let is_known = group.work == group.socket && self.server.asked.ddio == Some(false);
        is_known.then(|| all.cores_gb_s(&all.left(&domains)))
    }

    /// The neighbours that were asked for, beside what the link brings.
    fn beside(&self, group: &Group, copies: Option<Copies>) -> Result<Option<Contention>, Gap> {
        let Some((cores, work)) = self.server.asked.neighbours else { return Ok(None) };
        let modules = self.server.modules.get(group.socket).map_or(&[][..], Vec::as_slice);
        let channels = modules.iter().filter(|modules| **modules > 0).count() as f64;
        let peak_gb_s = channels * self.server.channel_gb_s();
        if peak_gb_s <= 0.0 {
            let why =
                "the channels that other cores load are not known: memory.socket0=1,1,1/0,0,0";
            return Err(Gap::new(ResourceName::DeviceWrites, why));
        }
        let offered_gb_s = self.server.link.as_ref().map_or(0.0, |link| link.value / 8.0);
        let offered_gb_s = offered_gb_s * group.nics as f64;
        let device = DeviceWork::Writes;
        Ok(Some(Contention { cores, work, offered_gb_s, device, copies, peak_gb_s }))
    }
}
