//! `device-writes`: what the root complex's credits carry while a line takes as long as it does.
//! No link is full where it is the bottleneck.

use super::{Gap, Group, Stated, assumed, of, resource};
use crate::contention::{Contention, DeviceWork};
use crate::domains::{self, Domains};
use crate::engine::Predictor;
use narrows_model::result::{Provenance, ResourceName};

impl Predictor {
    /// Of a family whose credits were published; of others only where somebody asked, by saying
    /// whether the cache takes a device's writes or who else loads memory.
    pub(super) fn device_writes(&self, group: &Group) -> Option<Stated> {
        let asked = &self.server.asked;
        let Some(domains) = domains::of(self.server.platform) else {
            let of = self.server.platform.map_or("this processor", |of| of.name.as_str());
            let why = format!(
                "credits of {of} for a device's writes were not published, and narrows measures \
                 none: `narrows credits` counts those of a core's reads alone"
            );
            let is_asked = asked.ddio.is_some() || asked.neighbours.is_some();
            return is_asked.then(|| Err(Gap::new(ResourceName::DeviceWrites, why)));
        };
        Some(self.credits(domains, group))
    }

    fn credits(&self, domains: &Domains, group: &Group) -> Stated {
        let writes = domains.device_write;
        let wait_ns = self.wait_ns(domains, group)?;
        let to_memory_ns = writes.unloaded_ns + wait_ns;
        let count = group.nics as f64;
        let to_memory = count * writes.gbps(to_memory_ns);
        let to_cache = count * writes.gbps(domains.device_write_to_cache_ns);
        let (gbps, ns, where_to) = match self.server.asked.ddio {
            Some(false) => (to_memory, to_memory_ns, "memory"),
            _ => (to_cache, domains.device_write_to_cache_ns, "the cache"),
        };
        // Where nobody says, the cache may not take them.
        let low = match self.server.asked.ddio {
            None => (to_memory / gbps).min(1.0),
            Some(_) => 1.0,
        };
        let says = format!(
            "{} lines of 64 B in flight, {ns:.0} ns each to {where_to}; {:.0} ns is enough for 100 Gb/s",
            writes.credits,
            writes.break_even_ns(100.0)
        );
        let source = Provenance::DataSheet(domains.source.clone());
        let with = vec![
            of("credits", writes.credits, "", &source),
            of("latency", ns, "ns", &source),
            of("wait behind other cores", wait_ns, "ns", &assumed("memory's load, by the model")),
        ];
        Ok(resource(ResourceName::DeviceWrites, gbps, (low, 1.0), says).with(with))
    }

    /// How long a line waits behind what else loads the memory, in nanoseconds.
    fn wait_ns(&self, domains: &Domains, group: &Group) -> Result<f64, Gap> {
        let Some((cores, work)) = self.server.asked.neighbours else { return Ok(0.0) };
        let modules = self.server.modules.get(group.socket).map_or(&[][..], Vec::as_slice);
        let channels = modules.iter().filter(|modules| **modules > 0).count() as f64;
        let peak_gb_s = channels * self.server.channel_gb_s();
        if peak_gb_s <= 0.0 {
            let why =
                "the channels that other cores load are not known: memory.socket0=1,1,1/0,0,0";
            return Err(Gap::new(ResourceName::DeviceWrites, why));
        }
        let offered_gb_s = self.server.link.as_ref().map_or(0.0, |link| link.value / 8.0);
        let device = DeviceWork::Writes;
        Ok(Contention { cores, work, offered_gb_s, device, peak_gb_s }.left(domains).wait_ns)
    }
}
