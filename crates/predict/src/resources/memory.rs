//! `memory`: what the narrowest interleave set, or a measured copy, carries.

use super::{Gap, Group, Stated, assumed, ends, of, parameter, resource, symbols};
use crate::engine::Predictor;
use crate::server::Server;
use crate::sockets::{Pages, Theta};
use crate::traffic::Traffic;
use narrows_model::result::ResourceName;

/// Bytes on the bus for each payload byte when both ends are on this host and no byte stays in a
/// cache: two copies, each reads, fetches the line it is about to write, and writes.
const INSIDE_COLD: f64 = 6.0;

/// 80 % of left-out rows were within this of what memory carries; of other platforms, whose caches
/// may keep more or less of the traffic, m is taken as 1.5 to 3.1, which is assumed.
const MEMORY_HALF: f64 = 0.032;
const MEMORY_HALF_ELSEWHERE: f64 = 0.35;

impl Predictor {
    /// The socket whose memory is used, and whether it is another than the one that works.
    pub(super) fn used(&self, group: &Group, sets: &[Vec<usize>]) -> (usize, bool) {
        let has = |at: usize| sets.get(at).is_some_and(|sets| !sets.is_empty());
        if sets.is_empty() || has(group.work) {
            return (group.work, false);
        }
        let other = (0..sets.len()).find(|at| has(*at));
        (other.unwrap_or(group.work), other.is_some())
    }

    /// Gb/s that the narrowest of some sets carries.
    pub fn carried(&self, traffic: Traffic, near: &[usize], far: bool, sockets: usize) -> f64 {
        let pages = Pages { near, far, sockets, channel_gb_s: self.server.channel_gb_s() };
        self.theta(traffic).memory_gbps(&pages, traffic == Traffic::Udp, self.parameters.eta.value)
    }

    fn theta(&self, traffic: Traffic) -> Theta {
        let kernel = self.parameters.kernel(traffic).theta;
        match traffic {
            Traffic::Tcp | Traffic::Udp => kernel,
            _ => Theta { m: traffic.moved(self.server.message.value).2, g: 1.0, ..kernel },
        }
    }

    pub(super) fn memory(&self, traffic: Traffic, group: &Group, sets: &[Vec<usize>]) -> Stated {
        let (used, without) = self.used(group, sets);
        let remote = without || group.work != group.socket;
        let own = sets.get(used).map_or(&[][..], Vec::as_slice);
        let theta = self.theta(traffic);
        let mut with = vec![];
        let (gbps, mut says) = match (&self.parameters.copy_gb_s, sets.is_empty()) {
            (Some(copy), true) => {
                with.push(parameter("copy over the bus", "GB/s", copy));
                let words = format!("{:.1} GB/s cross the bus in a copy", copy.value);
                (8.0 * copy.value / theta.m, words)
            }
            (None, true) => {
                let gap = self.server.memory_gaps.first().map(String::as_str);
                let gap = gap.unwrap_or("neither its modules nor a copy are known");
                return Err(Gap::new(ResourceName::Memory, gap));
            }
            (_, false) if own.is_empty() => {
                return Err(Gap::new(ResourceName::Memory, "no processor has any"));
            }
            _ => {
                let far = sets.iter().enumerate().any(|(at, sets)| at != used && !sets.is_empty());
                let words: Vec<String> = own.iter().map(ToString::to_string).collect();
                with.extend(self.server.mts.as_ref().map(|mts| parameter("modules", "MT/s", mts)));
                with.push(parameter(symbols::ETA, "share", &self.parameters.eta));
                let words = format!(
                    "the narrowest of the sets of {} channels at {} MT/s",
                    words.join("+"),
                    self.server.mts.as_ref().map_or(0.0, |mts| mts.value)
                );
                (self.carried(traffic, own, far && !without, sets.len()), words)
            }
        };
        let kernel = self.parameters.kernel(traffic);
        let fitted = matches!(traffic, Traffic::Tcp | Traffic::Udp);
        let half = kernel.memory_half.filter(|_| fitted);
        let half = half.unwrap_or_else(|| half_of_memory(&self.server));
        let (least, most, _) = traffic.moved(self.server.message.value);
        let mut range = ends(self.parameters.eta_half.map_or(half, |own| own.hypot(half)));
        if !fitted {
            range = (range.0 * theta.m / most, range.1 * theta.m / least);
        }
        says += &format!(", {:.2} bytes of it a payload byte", theta.m);
        let m_from = if fitted { kernel.m_from.clone() } else { assumed("") };
        with.push(of(symbols::M, theta.m, "B/B", &m_from));
        // Processors whose work uses the same memory have it together.
        let sharing = self.groups().iter().filter(|other| self.used(other, sets).0 == used).count();
        let mut gbps = gbps / sharing.max(1) as f64;
        if sharing > 1 {
            says += &format!(", for the NICs of {sharing} processors");
        }
        // What is left beside neighbours is what credits get of it: `device-writes` has that.
        let taken_gb_s = self.neighbours_gb_s(group).filter(|_| !traffic.is_kernel());
        if self.server.asked.neighbours.is_some() && taken_gb_s.is_none() {
            says += ", without what the neighbours take";
        }
        if remote {
            says += ", on another processor than the NIC";
            if traffic.is_kernel() {
                gbps /= self.parameters.remote_loss.value;
                with.push(parameter("remote memory's cost", "x", &self.parameters.remote_loss));
            }
        }
        let mut one = resource(ResourceName::Memory, gbps, range, says).with(with);
        one.only_if = taken_gb_s
            .map(|gb_s| format!("the neighbours rest, which take {gb_s:.1} GB/s beside the NIC"));
        Ok(one)
    }

    /// Memory behind a path inside the host, if nothing stays in the caches.
    pub(super) fn memory_inside(&self) -> Stated {
        let copy = self.parameters.copy_gb_s.as_ref();
        let copy = copy.ok_or_else(|| Gap::new(ResourceName::Memory, "a copy was not measured"))?;
        let says = format!(
            "{:.1} GB/s cross the bus in a copy, {INSIDE_COLD} bytes of it a payload byte: two \
             copies, each read, fetch and write",
            copy.value
        );
        let with = vec![
            parameter("copy over the bus", "GB/s", copy),
            of(symbols::M, INSIDE_COLD, "B/B", &assumed("two copies that miss every cache")),
        ];
        let mut one =
            resource(ResourceName::Memory, 8.0 * copy.value / INSIDE_COLD, (1.0, 1.0), says);
        one.only_if = Some("the data is in no cache".to_owned());
        Ok(one.with(with))
    }
}

/// Half the 80 % range of what memory carries on a processor's family.
fn half_of_memory(server: &Server) -> f64 {
    let same = server.platform.is_some_and(|of| of.is_fitted);
    if same { MEMORY_HALF } else { MEMORY_HALF_ELSEWHERE }
}
