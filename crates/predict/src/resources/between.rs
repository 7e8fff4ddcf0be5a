//! `inter-socket`: the links between two processors, where work is on another than the NIC.

use super::{Gap, Stated, of, resource};
use crate::engine::Predictor;
use crate::traffic::Traffic;
use narrows_model::host::Host;
use narrows_model::result::{Provenance, ResourceName};

/// Share of a link between sockets that payload reaches (measured on one node with two links), and
/// bytes a transfer.
const SOCKET_LINK_SHARE: f64 = 0.825;
const SOCKET_LINK_BYTES: f64 = 2.0;

/// What the links of one processor to another can carry one way, headers and all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRate {
    /// Over all of its links.
    pub bytes_per_second: f64,
    /// How many links, the most of the family.
    pub links: u32,
    /// Transfers a second of each, in 10^9.
    pub gts: f64,
}

/// The rate of the links between a host's sockets, by its processors' family; `None` where the
/// family's is not known.
pub fn link_rate(host: &Host) -> Option<LinkRate> {
    let (links, gts) = narrows_dimm::platform::of(host)?.socket_links?;
    let bytes_per_second = f64::from(links) * gts * 1e9 * SOCKET_LINK_BYTES;
    Some(LinkRate { bytes_per_second, links, gts })
}

impl Predictor {
    pub(super) fn between(&self, traffic: Traffic) -> Stated {
        let Some((links, gts, from)) = &self.server.socket_links else {
            return Err(Gap::new(ResourceName::BetweenProcessors, "sockets.links=3x10.4"));
        };
        let gbps = links * gts * SOCKET_LINK_BYTES * 8.0 * SOCKET_LINK_SHARE;
        let says = format!("{links} links of 2 B at {gts} GT/s, of which {SOCKET_LINK_SHARE}");
        // A copy may cross once more than the device's own access does.
        let low = if traffic.is_kernel() { 0.42 } else { 0.85 };
        let measured = Provenance::Fitted("one Cascade Lake node with two links".to_owned());
        let share = of("payload share", SOCKET_LINK_SHARE, "share", &measured);
        let with = vec![of("links", *links, "", from), of("rate", *gts, "GT/s", from), share];
        Ok(resource(ResourceName::InterSocket, gbps, (low, 1.1), says).with(with))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Fact;

    #[test]
    fn the_rate_is_of_all_links_one_way_and_unknown_where_the_family_is() {
        let of = |model: &str| {
            let mut host = Host::default();
            host.cpu.model = Fact::known(model.to_owned(), "/proc/cpuinfo");
            link_rate(&host)
        };
        let two = of("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz").expect("Haswell-EP");
        // Two links of 9.6 GT/s, 2 bytes a transfer.
        assert_eq!((two.links, two.bytes_per_second), (2, 38.4e9));
        assert_eq!(of("Some other processor"), None);
    }
}
